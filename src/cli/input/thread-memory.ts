/** The memory that threads take besides that of the rows, as measured. */

/** Bytes of a thread that makes codes of texts as sets, and of one that looks for centroids. */
export const SET_THREAD_BYTES = 20 * 2 ** 20;
export const CENTROID_THREAD_BYTES = 30 * 2 ** 20;
/** Bytes of a thread that makes codes of vectors, and about those of the vectors of one part. */
export const DENSE_THREAD_BYTES = 10 * 2 ** 20;
export const PART_BYTES = 2 ** 18;
/** Bytes of a thread that makes codes of texts as vectors, and for each word that it knows. */
const VECTOR_THREAD_BYTES = 28 * 2 ** 20;
const BYTES_PER_WORD = 370;
/** Words after which a thread forgets all that it knows, as src/text/vocabulary.ts does. */
const MAX_WORDS = 2 ** 18;
/** Characters of texts in which words are counted. */
const SAMPLE_CHARACTERS = 2 ** 20;

/** Bytes of a thread that makes codes of such texts as vectors. */
export function vectorThreadBytes(texts: readonly string[]): number {
  return VECTOR_THREAD_BYTES + BYTES_PER_WORD * Math.min(MAX_WORDS, distinctWords(texts));
}

/**
 * About how many distinct words texts have: by how many times as many twice the characters have, in
 * their first million, which is the same for each doubling (Heaps' law).
 */
function distinctWords(texts: readonly string[]): number {
  const known = new Set<string>();
  let [characters, half] = [0, 0];
  const all = texts.reduce((sum, text) => sum + text.length, 0);
  for (const text of texts) {
    if (characters >= SAMPLE_CHARACTERS) break;
    const part = text.slice(0, SAMPLE_CHARACTERS);
    for (const word of part.split(/\s+/)) known.add(word);
    characters += part.length;
    if (characters <= SAMPLE_CHARACTERS / 2) half = known.size;
  }
  const growth = half === 0 ? 2 : Math.min(2, known.size / half);
  let words = known.size;
  for (let read = characters; read < all; read *= 2) {
    words *= 1 + (growth - 1) * Math.min(1, (all - read) / read);
  }
  return words;
}
