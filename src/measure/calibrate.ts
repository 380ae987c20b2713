/**
 * Which threshold of similarity fits a collection, judged by pairs of which is known whether they
 * are the same: labelled by a person, or copies that were made for this. One join at the lowest
 * threshold gives the groups that `dedup` would make at each threshold; next to these are the known
 * pairs that reach it, rightly and wrongly. Pairs that are not known count as neither.
 *
 * Copies have a share of their words edited. Up to a share, a copy is the same text; with twice as
 * many edits it is another one, which only looks like it. Equal seeds give equal copies.
 */

import { lowerBound } from '../base/arrays';
import { checkOptions, wrongType, wrongValue } from '../base/check';
import { LONG_CALL, type LongCall, LongWork } from '../base/long-work';
import { alea, drawnNumbers } from '../base/random';
import { checkLeast, JACCARD, measureOf, NEAR_COSINE, NEAR_JACCARD } from '../codes/measure';
import { type DedupOptions, nearApart } from '../near/dedup';
import { firstAlike } from '../near/groups';
import { eachPairs, type PairBatch } from '../near/pairs';
import {
  exactSimilarities,
  isVerified,
  type Nearness,
  presentRows,
  type RowSource,
  type Rows,
  reordered,
  rowsOf,
  withVectors,
} from '../near/rows';
import type { TextHasher } from '../text/text-hasher';
import { DENSE_LETTER } from '../text/tokens';
import { reaches } from '../vectors/vectors';

/** Pair i is row `a[i]` with another row `b[i]`. */
export interface KnownPairs {
  readonly a: Uint32Array;
  readonly b: Uint32Array;
  /** Whether the two rows are the same. */
  readonly same: readonly boolean[];
}

/** Options of `calibrate`; unknown ones throw. */
export interface CalibrateOptions extends LongCall {
  /** Pairs that a person has judged. */
  pairs: KnownPairs;
  /** Lowest cosine of the table; .88 by default. */
  minCosine?: number;
  /** Lowest Jaccard similarity of the table; .6 by default. For codes by projection 'minwise'. */
  minJaccard?: number;
  /** Text that does not make rows near, as for `dedup`: found at the lowest of the table. */
  common?: DedupOptions['common'];
  /** A vector for each row, where the source is codes. */
  vectors?: Nearness['vectors'];
}

/** What a threshold finds: all counts are of pairs and rows at this similarity or a higher one. */
export interface CalibrationLine {
  readonly threshold: number;
  /** Known pairs that are the same. */
  readonly found: number;
  /** Known pairs that are not the same. */
  readonly wrong: number;
  /** Groups of two rows or more that `dedup` makes, and rows that it drops. */
  readonly groups: number;
  readonly dropped: number;
}

/** The table of thresholds, and the one that fits the known pairs best. */
export interface Calibration {
  /** What thresholds are compared with; exact. */
  readonly measure: 'cosine' | 'jaccard';
  /** Rows with a code, and those of them that equal an earlier row: these are compared once. */
  readonly rows: number;
  readonly repeated: number;
  /** Known pairs that are the same, and known pairs that are not. */
  readonly same: number;
  readonly different: number;
  /** By threshold, ascending, up to 1. */
  readonly lines: readonly CalibrationLine[];
  /**
   * The threshold with the fewest mistakes, missed and wrong pairs, among those that may be
   * recommended; of equally good ones the highest, which drops the fewest rows. A Jaccard
   * similarity below .6, the default of the command `dedup`, is never recommended.
   */
  readonly recommended: number;
}

/** The similarity of two texts of which is known whether they are the same. */
interface ScoredPair {
  readonly similarity: number;
  readonly isSame: boolean;
}

/** Steps of the table: the smallest that gives at most MAX_LINES lines, which fit a bit mask. */
const STEPS = [0.01, 0.02, 0.05, 0.1];
const MAX_LINES = 21;

const OPTIONS = {
  pairs: null,
  minCosine: null,
  minJaccard: null,
  common: null,
  vectors: null,
  ...LONG_CALL,
};

/**
 * Says which threshold fits rows of which some pairs are known, by their exact similarities. The
 * source is codes with `vectors`, or an index that holds them.
 *
 * @example
 * const index = new SimHashIndex({ bits: 256, dimensions: 2, vectors: 'float32' });
 * await index.addAll([[1, 0], [0.9, 0.1], [0.9, 0.4]]);
 * const known = { a: Uint32Array.of(0, 0), b: Uint32Array.of(1, 2), same: [true, false] };
 * const { lines, recommended } = await calibrate(index, { pairs: known });
 * console.log(lines[0]?.found, lines[0]?.wrong, recommended); // 1 1 0.99
 */
export async function calibrate(
  source: RowSource,
  options: CalibrateOptions,
): Promise<Calibration> {
  const given = checkOptions(options, OPTIONS);
  const { pairs, vectors, minCosine, minJaccard, common, ...call } = given;
  const rows = withVectors(rowsOf('source', source), vectors);
  checkKnown(pairs, rows);
  const table = { near: { minCosine, minJaccard }, known: pairs, common };
  return calibrateRows(rows, table, new LongWork(call));
}

/** Throws unless these are pairs of two different rows with codes, and one of them is the same. */
function checkKnown(pairs: KnownPairs, { codes }: Rows): void {
  const { a, b, same } = pairs ?? {};
  if (!(a instanceof Uint32Array && b instanceof Uint32Array && Array.isArray(same))) {
    throw wrongType('pairs', 'rows "a" and "b" in Uint32Arrays, and an array "same"', pairs);
  }
  if (a.length !== b.length || a.length !== same.length) {
    const lengths = [a, b, same].map(({ length }) => length).join(', ');
    throw wrongValue('pairs', 'as many rows in "a" and "b" as there are in "same"', lengths);
  }
  const isRow = (row: number) => row < codes.count && !codes.isNull(row);
  const at = a.findIndex((row, i) => {
    return row === b[i] || !isRow(row) || !isRow(b[i]) || typeof same[i] !== 'boolean';
  });
  if (at >= 0) {
    const wanted = `two rows of ${codes.count} with codes, and true or false`;
    throw wrongValue(`pairs[${at}]`, wanted, `${a[at]}, ${b[at]}, ${same[at]}`);
  }
  if (!same.includes(true)) throw wrongValue('pairs.same', 'true for one pair or more', 'none');
}

/** What is known, and from which threshold on the table is made. */
interface TableOptions {
  /** The lowest threshold; `maxDistance` where candidates were found by it. */
  readonly near: Pick<Nearness, 'minCosine' | 'minJaccard' | 'maxDistance'>;
  readonly common?: DedupOptions['common'];
  /** Judged pairs of the rows. */
  readonly known?: KnownPairs | null;
  /** Pairs of other rows, already compared. */
  readonly scored?: readonly ScoredPair[];
  /** The lowest threshold that may be recommended. */
  readonly leastRecommended?: number;
}

/** Makes the table of rows, which must hold vectors. */
export async function calibrateRows(
  rows: Rows,
  { near, common, known = null, scored = [], leastRecommended }: TableOptions,
  work: LongWork,
): Promise<Calibration> {
  const { projection } = rows.codes.origin ?? {};
  const measure = measureOf(projection);
  const usual = measure === JACCARD ? NEAR_JACCARD : NEAR_COSINE;
  const { least: lowest } = checkLeast(near, projection) ?? { least: usual };
  const wanted = measure === JACCARD ? { minJaccard: lowest } : { minCosine: lowest };
  if (rows.vectors === null || !isVerified(rows, wanted)) {
    throw new Error('"calibrate" compares exactly: give "vectors", or an index that holds them');
  }
  const present = presentRows(rows);
  const quiet = work.quiet();
  const first = await firstAlike(rows, present, undefined, quiet);
  const distinct = present.filter((_, i) => first[i] === i);
  const tally = new ThresholdTally(thresholdsFrom(lowest), distinct.length);
  first.forEach((one, i) => {
    if (one !== i) tally.repeat(lowerBound(distinct, present[one]));
  });
  const least = { ...wanted, maxDistance: near.maxDistance };
  const isNear = (await nearApart(rows, least, common, quiet)) ?? (() => true);
  const all = [...scored];
  if (known !== null) {
    const similarities = await exactSimilarities(measure, [rows, rows], known, quiet);
    known.same.forEach((isSame, i) => {
      const areNear = isNear(known.a[i], known.b[i]);
      all.push({ isSame, similarity: areNear ? similarities[i] : measure.least });
    });
  }
  const take = ({ a, b, similarities }: PairBatch) => {
    for (let i = 0; i < a.length; i++) {
      if (!isNear(distinct[a[i]], distinct[b[i]])) continue;
      tally.join(a[i], b[i], (similarities as Float64Array)[i]);
    }
  };
  await eachPairs(await reordered(rows, distinct, work), null, least, take, work);
  const same = all.filter(({ isSame }) => isSame).length;
  const lines = tally.lines(all);
  return {
    measure: measure.name,
    rows: present.length,
    repeated: present.length - distinct.length,
    same,
    different: all.length - same,
    lines,
    recommended: fewestMistakes(lines, {
      known: all.length,
      same,
      least: leastRecommended ?? (measure === JACCARD ? NEAR_JACCARD : lowest),
    }),
  };
}

/** The lowest threshold, and above it the multiples of a step, up to 1. */
function thresholdsFrom(least: number): number[] {
  const isFew = (step: number) => (1 - least) / step <= MAX_LINES - 1 + 1e-9;
  const parts = Math.round(1 / (STEPS.find(isFew) ?? STEPS[STEPS.length - 1]));
  const thresholds = [least];
  for (let part = Math.floor(least * parts + 1e-9) + 1; part <= parts; part++) {
    thresholds.push(part / parts);
  }
  return thresholds;
}

/** The threshold with the fewest mistakes from `least` on; without known pairs the lowest. */
function fewestMistakes(
  lines: readonly CalibrationLine[],
  { known, same, least }: { known: number; same: number; least: number },
): number {
  const allowed = lines.filter(({ threshold }) => threshold >= least);
  const mistakes = ({ found, wrong }: CalibrationLine) => same - found + wrong;
  const best = allowed.reduce((best, one) =>
    known > 0 && mistakes(one) <= mistakes(best) ? one : best,
  );
  return best.threshold;
}

/**
 * Counts by threshold. Groups are the stars of `dedup`, which keeps the first row of each: pairs
 * come in the order of their rows, so when those of a row come, it is known at which thresholds it
 * stays. A bit for each threshold holds that, 8 bytes a row for all of them.
 */
class ThresholdTally {
  readonly #thresholds: readonly number[];
  /** By row the thresholds at which it joins an earlier row, and those at which a row joins it. */
  readonly #joins: Uint32Array;
  readonly #heads: Uint32Array;
  #repeats = 0;

  constructor(thresholds: readonly number[], rows: number) {
    this.#thresholds = thresholds;
    this.#joins = new Uint32Array(rows);
    this.#heads = new Uint32Array(rows);
  }

  /** Counts one more row that equals a row, and joins what this one joins. */
  repeat(row: number): void {
    this.#repeats++;
    this.#heads[row] = 2 ** this.#thresholds.length - 1;
  }

  /** At the thresholds that a pair reaches, and both rows are free, the second joins the first. */
  join(a: number, b: number, similarity: number): void {
    let reached = 0;
    for (const threshold of this.#thresholds) reached += Number(reaches(similarity, threshold));
    const joined = (2 ** reached - 1) & ~this.#joins[a] & ~this.#joins[b];
    this.#joins[b] |= joined;
    this.#heads[a] |= joined;
  }

  /** The lines, with how many of the known pairs reach each threshold. */
  lines(known: readonly ScoredPair[]): CalibrationLine[] {
    return this.#thresholds.map((threshold, i) => {
      let [groups, dropped] = [0, this.#repeats];
      for (let row = 0; row < this.#joins.length; row++) {
        const joins = (this.#joins[row] >>> i) & 1;
        dropped += joins;
        groups += (this.#heads[row] >>> i) & 1 & ~joins;
      }
      const near = known.filter(({ similarity }) => reaches(similarity, threshold));
      const found = near.filter(({ isSame }) => isSame).length;
      return { threshold, found, wrong: near.length - found, groups, dropped };
    });
  }
}

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
  const rows = withVectors(rowsOf('texts', codes), hasher.vectorsOf(all));
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
    else if (kind === 1) {
      edited[at] = word + (DENSE_LETTER.test(word) ? '' : ' ') + otherThan(word);
    } else if (kind === 2 && next !== undefined && edited[next] !== word) {
      [edited[at], edited[next]] = [edited[next], word];
    } else edited[at] = otherThan(word);
  }
  return edited.join('');
}
