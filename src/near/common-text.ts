/**
 * What many texts share, a template or a licence, and what is left of each text without it. Texts
 * that fill one template differently are similar as a whole and share little of the rest; a copy
 * of a text shares most of its rest, also where words of the template were edited. So near texts
 * must be similar as a whole, and have half of the shorter rest in common.
 *
 * A filling has the whole text of its template, and adds own text in its gaps. A version of a text
 * lacks about as much of what the versions share as it adds, since an edit takes the place of what
 * was there. So a group is a template where its rows lack little of what most of them share,
 * compared with what they add, and have a gap in common: a place inside of the text at which nearly
 * all add something. Reprints add headings and ends, or each a notice in another place.
 */

import { byGroup, keyOfBytes } from '../base/arrays';
import { wrongType, wrongValue } from '../base/check';
import { HashCounts } from '../base/hash-tables';
import type { LongWork } from '../base/long-work';
import { halvesOf, SparseVectors } from '../index/vectors/sparse-vectors';
import type { DedupPlan } from './plan';
import type { Rows } from './rows';

/** Rows with fewer members that are not common are nothing but common text. */
const MIN_REST = 4;
/** A row of which this share is common text may be near to others for that alone. */
const TEMPLATED = 0.5;
/** Least share of the members of the shorter rest that near rows must have in common. */
const LEAST_OVERLAP = 0.5;
/** Rows between two steps. */
const STEP_ROWS = 2 ** 10;

export class CommonText {
  /** By row its members that are not common. */
  readonly #rests = new SparseVectors();
  readonly #restSizes: Uint32Array;
  /** By row the number of all members. */
  readonly #sizes: Uint32Array;

  /** Of rows whose vectors are sets; `commonOf` gives the members of a row that are common. */
  static async of(
    rows: Rows,
    commonOf: (row: number) => HashCounts,
    work: LongWork,
  ): Promise<CommonText> {
    const { count } = rows.codes;
    const text = new CommonText(count);
    for (let first = 0; first < count; first += STEP_ROWS) {
      const end = Math.min(count, first + STEP_ROWS);
      text.#take(rows.vectors as SparseVectors, commonOf, first, end);
      await work.step();
    }
    return text;
  }

  private constructor(count: number) {
    this.#sizes = new Uint32Array(count);
    this.#restSizes = new Uint32Array(count);
  }

  /** Takes the rows `first` to `end - 1`, which follow those taken before. */
  #take(
    sets: SparseVectors,
    commonOf: (row: number) => HashCounts,
    first: number,
    end: number,
  ): void {
    let entries = 0;
    for (let row = first; row < end; row++) {
      const { from, to } = sets.entriesOf(row);
      entries += to - from;
    }
    const offsets = new Uint32Array(end - first + 1);
    const halves = new Uint32Array(2 * entries);
    let at = 0;
    for (let row = first; row < end; row++) {
      const common = commonOf(row);
      sets.eachMember(row, (low, high) => {
        this.#sizes[row]++;
        if (common.countOf(low, high) > 0) return;
        halves[2 * at] = low;
        halves[2 * at++ + 1] = high;
        this.#restSizes[row]++;
      });
      offsets[row - first + 1] = at;
    }
    const indices = new BigUint64Array(halves.buffer, 0, at);
    const values = new Float32Array(at).fill(1);
    this.#rests.append({ offsets, indices, values }, 0, end - first, () => true);
  }

  /** True where a row is nothing but common text. */
  isBare(row: number): boolean {
    return this.#sizes[row] > 0 && this.#restSizes[row] < MIN_REST;
  }

  /** True where a row has so much common text that it may be near to others for that alone. */
  isTemplated(row: number): boolean {
    return this.shareOf(row) >= TEMPLATED;
  }

  /** The share of a row's members that are common: 1 for a bare row, 0 for one without members. */
  shareOf(row: number): number {
    const size = this.#sizes[row];
    if (size === 0) return 0;
    return this.isBare(row) ? 1 : 1 - this.#restSizes[row] / size;
  }

  /** The share of the members of the shorter rest that two rows have in common; of none it is 0. */
  overlapOf(a: number, b: number): number {
    const [ours, theirs] = [this.#restSizes[a], this.#restSizes[b]];
    if (ours === 0 || theirs === 0) return 0;
    const jaccard = this.#rests.jaccardOf(a, this.#rests, b);
    const both = Math.round((jaccard * (ours + theirs)) / (1 + jaccard));
    return both / Math.min(ours, theirs);
  }

  /** By which rests near rows are found, and how much of the smaller one they share. */
  get rests() {
    return { vectors: this.#rests, least: LEAST_OVERLAP };
  }

  /** Whether the rests of two rows have enough in common. */
  areNear(a: number, b: number): boolean {
    return this.overlapOf(a, b) >= LEAST_OVERLAP;
  }

  /** What a plan says of the common text of its rows. */
  measured({ count, duplicateOf }: DedupPlan): Required<Pick<DedupPlan, 'rests' | 'commons'>> {
    const [rests, commons] = [new Float64Array(count), new Float64Array(count)];
    for (let row = 0; row < count; row++) {
      commons[row] = this.shareOf(row);
      const other = duplicateOf[row];
      rests[row] = other === row ? 1 : this.overlapOf(row, other);
    }
    return { rests, commons };
  }
}

/** The members of an array, each counted. */
export function countsOfMembers(members: BigUint64Array): HashCounts {
  const counts = new HashCounts();
  counts.reserve(2 * members.length);
  const halves = halvesOf(members);
  for (let i = 0; i < halves.length; i += 2) counts.add(halves[i], halves[i + 1], 1);
  return counts;
}

/** Fewest different rows of a group that can be a template; of more, so many are looked at. */
const MIN_ROWS = 8;
const MAX_ROWS = 32;
/**
 * A row of a template lacks less than the first share of the members that it lacks or adds, and all
 * rows together less than the second. Of texts that are edited at random most lack .33 to .5.
 */
const MAX_LACKING = 0.25;
const MAX_LACKING_OF_ALL = 0.4;
/**
 * What more than this share of a template's rows have, and more rows than a few, is its text: gaps
 * repeat values, and a filling may have some copies.
 */
const COMMON_SHARE = 0.1;
const FEW_ROWS = 3;
/**
 * A gap has at least the first share of the text before and behind it, and own text in the second
 * share of some rows. Each of 122 families of manuals has one to 18 gaps, and none of five families
 * of licences and of lists of changes has one.
 */
const END_SHARE = 0.05;
const FILLED_SHARE = 0.75;
const PLACED_ROWS = 8;

/**
 * Reads the texts of ascending rows and passes on the members of each in the order of its text, as
 * `take(members, row)`. Members may repeat.
 */
export type EachText = (
  rows: readonly number[],
  take: (members: BigUint64Array, row: number) => void,
) => void | Promise<void>;

/** A group that may be a template: some of its rows, and in how many of these its text is. */
interface Likely {
  readonly rows: Uint32Array;
  readonly sample: readonly number[];
  readonly text: HashCounts;
}

/**
 * Among groups of rows whose vectors are sets, given by the head of each row, those that are
 * templates: by head the members that are its text, and all of these; and 1 for rows of groups as
 * large that are versions of one text.
 */
export async function templatesIn(
  heads: Uint32Array,
  { codes, vectors }: Rows,
  eachText: EachText,
  work: LongWork,
) {
  const areVersions = new Uint8Array(heads.length);
  const setVersions = (rows: Uint32Array) => {
    for (const row of rows) areVersions[row] = 1;
  };
  const likely: Likely[] = [];
  const { starts, members } = byGroup(heads, heads.length);
  for (let head = 0; head < heads.length; head++) {
    const rows = members.subarray(starts[head], starts[head + 1]);
    if (rows.length < MIN_ROWS) continue;
    const alike = new Map(Array.from(rows, (row) => [keyOfBytes(codes.at(row)), row]));
    if (alike.size < MIN_ROWS) continue;
    const sample = spread([...alike.values()], MAX_ROWS);
    const counts = countsOf(vectors as SparseVectors, sample);
    await work.step();
    const most = Math.max(FEW_ROWS, COMMON_SHARE * sample.length);
    if (lackLittle(vectors as SparseVectors, sample, counts)) {
      const text = new HashCounts();
      counts.each((low, high, count) => {
        if (count > most) text.add(low, high, count);
      });
      likely.push({ rows, sample, text });
    } else setVersions(rows);
  }
  const all = new HashCounts();
  const templates = new Map<number, HashCounts>();
  const haveGaps = await haveGapsIn(likely, eachText);
  for (const [i, { rows, text }] of likely.entries()) {
    if (haveGaps[i]) {
      templates.set(heads[rows[0]], text);
      text.each((low, high) => all.add(low, high, 1));
    } else setVersions(rows);
    await work.step();
  }
  return { all, templates, areVersions };
}

/** At most so many of these rows, from the first to the last. */
function spread(rows: readonly number[], most: number): number[] {
  const count = Math.min(rows.length, most);
  return Array.from({ length: count }, (_, i) => rows[Math.floor((i * rows.length) / count)]);
}

/** By group whether its rows have a gap in common. */
async function haveGapsIn(likely: readonly Likely[], eachText: EachText): Promise<boolean[]> {
  const groupOf = new Map<number, number>();
  likely.forEach(({ sample }, group) => {
    for (const row of spread(sample, PLACED_ROWS)) groupOf.set(row, group);
  });
  if (groupOf.size === 0) return [];
  /** By group, and by the member before a place, how many rows have own text there. */
  const filled = likely.map(() => new Map<bigint, number>());
  await eachText(
    [...groupOf.keys()].sort((a, b) => a - b),
    (members, row) => {
      const group = groupOf.get(row);
      if (group === undefined) throw wrongValue('row', 'one of those of the call', row);
      if (!(members instanceof BigUint64Array)) {
        throw wrongType('members', 'a BigUint64Array', members);
      }
      for (const place of ownPlaces(members, likely[group])) {
        filled[group].set(place, (filled[group].get(place) ?? 0) + 1);
      }
    },
  );
  const isGap = (rows: number) => rows >= FILLED_SHARE * PLACED_ROWS;
  return filled.map((places) => [...places.values()].some(isGap));
}

/** The shared members inside of a text that own members follow. */
function ownPlaces(members: BigUint64Array, { text, sample }: Likely): Set<bigint> {
  const halves = halvesOf(members);
  const isShared = new Uint8Array(members.length);
  let size = 0;
  for (let i = 0; i < isShared.length; i++) {
    const count = text.countOf(halves[2 * i], halves[2 * i + 1]);
    isShared[i] = Number(count > sample.length / 2);
    size += isShared[i];
  }
  const end = Math.max(1, Math.floor(END_SHARE * size));
  const places = new Set<bigint>();
  let before = 0;
  for (let i = 0; i < isShared.length; i++) {
    before += isShared[i];
    const isPlace = isShared[i] === 1 && isShared[i + 1] === 0;
    if (isPlace && before >= end && before <= size - end) places.add(members[i]);
  }
  return places;
}

/** In how many of the rows each member is. */
function countsOf(sets: SparseVectors, rows: readonly number[]): HashCounts {
  const counts = new HashCounts();
  const { from, to } = sets.entriesOf(rows[0]);
  counts.reserve(Math.ceil((1 + rows.length / 8) * (to - from)));
  for (const row of rows) sets.eachMember(row, (low, high) => counts.add(low, high, 1));
  return counts;
}

/** Compares what rows lack of the members that most of them have with what they add to these. */
function lackLittle(sets: SparseVectors, rows: readonly number[], counts: HashCounts): boolean {
  let shared = 0;
  counts.each((_, __, count) => {
    if (count > rows.length / 2) shared++;
  });
  let [lacking, all] = [0, 0];
  const shares: number[] = [];
  for (const row of rows) {
    let [own, size] = [0, 0];
    sets.eachMember(row, (low, high) => {
      size++;
      if (counts.countOf(low, high) <= rows.length / 2) own++;
    });
    const missing = shared - (size - own);
    if (missing + own > 0) shares.push(missing / (missing + own));
    lacking += missing;
    all += missing + own;
  }
  const median = shares.sort((a, b) => a - b)[shares.length >> 1] ?? 1;
  return median < MAX_LACKING && lacking < MAX_LACKING_OF_ALL * all;
}
