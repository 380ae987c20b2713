/**
 * Pairs of texts of known origin: texts, and copies of them in which a share of the words is
 * edited. Up to a share, a copy is the same text; with twice as many edits it is another one, which
 * only looks like it. Equal seeds give equal copies.
 */

import { drawnNumbers } from '../base/draw';
import type { LongWork } from '../base/long-work';
import { alea } from '../base/random';
import { measureOf } from '../codes/measure';
import { exactSimilarities, rowsOf, withVectors } from '../near/rows';
import type { TextHasher } from '../text/text-hasher';
import { DENSE_LETTER } from '../text/tokens';
import { packVectors } from '../vectors/vectors';
import type { ScoredPair } from './calibrate';

/** Factors of the largest share, by which the words of copies are edited in turn. */
export const PARTS = [0.1, 0.2, 0.5, 1];
/** The same factor for copies that are other texts. */
export const OTHER = 2;

/** What to plant. */
interface PlantOptions {
  /**
   * Largest share of the words that are edited in the same text, up to a half. Texts too short for
   * one edit at it have no copies.
   */
  readonly share: number;
  readonly seed: string;
}

/** An edited copy of a text. */
interface Copy {
  /** Position of the text that it is a copy of. */
  readonly original: number;
  readonly text: string;
  /** False where so many words are edited that it is another text. */
  readonly isSame: boolean;
}

/**
 * Two copies of each text that is long enough, one that is the same and one that is not. Each
 * edited word is, with equal chance, replaced by a word of the texts (drawn as often as it occurs
 * there), left out, followed by one more word, or exchanged with the next. A word is what stands
 * between blanks; in scripts without blanks it is a character.
 */
export function plantCopies(texts: readonly string[], { share, seed }: PlantOptions): Copy[] {
  const random = alea(seed);
  const pieces = texts.map(piecesOf);
  const places = pieces.map(wordPlaces);
  const vocabulary = pieces.flatMap((own, i) => places[i].map((at) => own[at]));
  const long = [...texts.keys()].filter((i) => share * places[i].length >= 1);
  return long.flatMap((original, i) =>
    [PARTS[i % PARTS.length], OTHER].map((factor) => {
      const edit = { places: places[original], vocabulary, random, share: factor * share };
      const text = editedOf(pieces[original], edit);
      return { original, text, isSame: factor !== OTHER };
    }),
  );
}

/**
 * Plants copies, and compares each exactly with its original, by the measure of the hasher. Its
 * codes of texts without tokens must be null; such texts are left out.
 */
export async function scoreCopies(
  texts: readonly string[],
  hasher: TextHasher,
  options: PlantOptions,
  work: LongWork,
): Promise<ScoredPair[]> {
  const copies = plantCopies(texts, options);
  if (copies.length === 0) return [];
  const all = [...texts, ...copies.map(({ text }) => text)];
  const codes = await hasher.hashAll(all, work.quiet().call);
  const vectors = packVectors(all.map((text) => hasher.vectorize(text)));
  const rows = withVectors(rowsOf('texts', codes), vectors);
  const originals = Uint32Array.from(copies, ({ original }) => original);
  const own = originals.map((_, i) => texts.length + i);
  const measure = measureOf(hasher.hasher.projection);
  const pairs = { a: originals, b: own };
  const similarities = await exactSimilarities(measure, [rows, rows], pairs, work.quiet());
  return copies.flatMap(({ isSame }, i) =>
    codes.isNull(originals[i])
      ? []
      : [{ similarity: codes.isNull(own[i]) ? measure.least : similarities[i], isSame }],
  );
}
/** Words and the blanks between them, in order. */
function piecesOf(text: string): string[] {
  return (text.match(/\s+|\S+/g) ?? []).flatMap((run) => {
    const characters = Array.from(run);
    return characters.some((one) => DENSE_LETTER.test(one)) ? characters : [run];
  });
}

/** Positions of the words among the pieces. */
function wordPlaces(pieces: readonly string[]): number[] {
  return pieces.flatMap((piece, at) => (/\S/.test(piece) ? [at] : []));
}

/** How a text is edited. */
interface Edit {
  /** Positions of the words among the pieces. */
  readonly places: readonly number[];
  readonly vocabulary: readonly string[];
  readonly share: number;
  readonly random: () => number;
}

/** A text with edits in a share of its words, at least one. */
function editedOf(pieces: readonly string[], { places, vocabulary, share, random }: Edit): string {
  const edited = [...pieces];
  const below = (limit: number) => Math.floor(random() * limit);
  const otherThan = (word: string) => {
    let other = word;
    for (let tries = 0; other === word && tries < 100; tries++) {
      other = vocabulary[below(vocabulary.length)];
    }
    return other;
  };
  const count = Math.max(1, Math.round(share * places.length));
  const drawn = drawnNumbers(places.length, count, below(2 ** 32));
  for (const i of drawn) {
    const at = places[i];
    const next = places[i + 1];
    const word = edited[at];
    const kind = below(4);
    if (kind === 0) edited[at] = '';
    else if (kind === 1) edited[at] = word + blankFor(word) + otherThan(word);
    else if (kind === 2 && next !== undefined && edited[next] !== word) {
      [edited[at], edited[next]] = [edited[next], word];
    } else edited[at] = otherThan(word);
  }
  return edited.join('');
}

const blankFor = (word: string) => (DENSE_LETTER.test(word) ? '' : ' ');
