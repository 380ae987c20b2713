/**
 * Near-duplicates of known origin: texts, and copies of some of them in which a share of the words
 * is edited. Equal seeds give equal copies.
 */

import { drawnNumbers } from '../base/draw';
import { alea, shareAt } from '../base/random';
import type { LongCall } from '../base/steps';
import { pairs } from '../join/pairs';
import { TextHasher } from '../text/text-hasher';
import { characters, DENSE_LETTER } from '../text/tokens';
import { packVectors } from '../vectors/vectors';
import { type Half, plantedHalf } from './contest';

/**
 * Two texts of which neither is a copy are right to be found together if they have this share of
 * their runs of five letters in common: one measure for all settings.
 */
export const RIGHT = { letters: 5, minJaccard: 0.5 } as const;

/** Factors of the largest share, by which copies are edited in turn. */
export const PARTS = [0.1, 0.2, 0.5, 1];

/** What to plant in both halves of some texts. */
interface HalvesOptions extends Omit<PlantOptions, 'seed'>, LongCall {
  readonly seed: number;
  /** Rows of the input from which the texts were drawn. */
  readonly fileRows: number;
}

/** Divides texts into two halves by chance, and plants in each copies of its own texts. */
export async function plantedHalves(
  texts: readonly string[],
  { copies, share, seed, fileRows, ...call }: HalvesOptions,
): Promise<[Half<string>, Half<string>]> {
  const half = async (isHeld: boolean) => {
    const own = texts.filter((_, i) => shareAt(seed, i) >= 0.5 === isHeld);
    const planted = withCopies(own, { copies, share, seed: `planted ${seed} ${isHeld}` });
    const right = await rightPairs(own, call);
    const isRight = (a: number, b: number) => right.has(keyOf(a, b, own.length));
    const { texts: rows, originals } = planted;
    return plantedHalf({ rows, originals, isRight, scale: fileRows / Math.max(1, own.length) });
  };
  return [await half(false), await half(true)];
}

const keyOf = (a: number, b: number, count: number) => Math.min(a, b) * count + Math.max(a, b);

/** Pairs of texts that are right to be found, by exact similarity. */
async function rightPairs(texts: readonly string[], call: LongCall): Promise<Set<number>> {
  const { letters, minJaccard } = RIGHT;
  const tokens = characters(letters);
  const hasher = new TextHasher({ bits: 64, tokens, projection: 'minwise', empty: 'null' });
  const found = new Set<number>();
  if (texts.length < 2) return found;
  const vectors = packVectors(texts.map((text) => hasher.vectorize(text)));
  for await (const { a, b } of pairs(hasher.hashAll(texts), { minJaccard, vectors, ...call })) {
    a.forEach((one, i) => {
      found.add(keyOf(one, b[i], texts.length));
    });
  }
  return found;
}

/** Texts, with copies behind them. */
interface Planted {
  readonly texts: readonly string[];
  /** For each text the one that it is a copy of, or itself. */
  readonly originals: Uint32Array;
}

/** What to plant. */
interface PlantOptions {
  /** Most copies; a text has at most one. */
  readonly copies: number;
  /** Largest share of the words to edit. Texts too short for one edit at it have no copy. */
  readonly share: number;
  readonly seed: string;
}

/**
 * Plants copies. Each edited word is, with equal chance, replaced by a word of the texts (drawn as
 * often as it occurs there), left out, followed by one more word, or exchanged with the next. A
 * word is what stands between blanks; in scripts without blanks it is a character.
 */
export function withCopies(texts: readonly string[], options: PlantOptions): Planted {
  const { copies, share, seed } = options;
  const random = alea(seed);
  const pieces = texts.map(piecesOf);
  const places = pieces.map(wordPlaces);
  const vocabulary = pieces.flatMap((own, i) => places[i].map((at) => own[at]));
  const long = texts.flatMap((_, i) => (share * places[i].length >= 1 ? [i] : []));
  const drawn = drawnNumbers(long.length, copies, Math.floor(random() * 2 ** 32));
  const planted = drawn.map((at, i) => {
    const edited = editedOf(pieces[long[at]], {
      ...{ places: places[long[at]], vocabulary, random },
      share: share * PARTS[i % PARTS.length],
    });
    return { original: long[at], text: edited };
  });
  return {
    texts: [...texts, ...planted.map(({ text }) => text)],
    originals: Uint32Array.from([...texts.keys(), ...planted.map(({ original }) => original)]),
  };
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
