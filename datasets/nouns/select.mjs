// The rule by which a word is in the data set.

const MOST_FREQUENT = 100_000;
const MIN_LENGTH = 3;

/**
 * The nouns of one category among the most frequent words.
 *
 * @param words all words, the most frequent first
 * @param nouns map of noun to the set of its categories
 * @returns `{ word, category }` in the order of `words`
 */
export function selectNouns(words, nouns) {
  const selected = [];
  for (const word of words.slice(0, MOST_FREQUENT)) {
    const categories = nouns.get(word);
    // Two categories would make "same category" a matter of taste.
    if (word.length < MIN_LENGTH || categories?.size !== 1) continue;
    const [category] = categories;
    selected.push({ word, category });
  }
  return selected;
}
