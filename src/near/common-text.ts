/**
 * What many texts share, a template or a licence, and what is left of each text without it. Texts
 * that fill one template differently are similar as a whole and share little of the rest; a copy
 * of a text shares most of its rest, also where words of the template were edited. So near texts
 * must be similar as a whole, and have half of the shorter rest in common.
 */

import { HashCounts } from '../base/hash-counts';
import type { LongWork } from '../base/long-work';
import { halvesOf, SparseVectors } from '../index/vectors/sparse-vectors';
import type { DedupPlan } from './plan';
import type { Rows } from './rows';
import { eachMember } from './templates';

/** Rows with fewer members that are not common are nothing but common text. */
const MIN_REST = 4;
/** A row of which this share is common text may be near to others for that alone. */
const TEMPLATED = 0.5;
/** Least share of the members of the shorter rest that near rows must have in common. */
const LEAST_OVERLAP = 0.5;
/** Rows between two steps. */
const STEP_ROWS = 2 ** 10;

/** The common members of a row, and whether it is compared with others. */
interface CommonRows {
  readonly commonOf: (row: number) => HashCounts;
  readonly isCompared: (row: number) => boolean;
}

export class CommonText {
  /** By row its members that are not common. */
  readonly #rests = new SparseVectors();
  readonly #restSizes: Uint32Array;
  /** By row the number of all members. */
  readonly #sizes: Uint32Array;

  /** Of rows whose vectors are sets. Holds what is left of rows that are compared or templated. */
  static async of(rows: Rows, own: CommonRows, work: LongWork): Promise<CommonText> {
    const { count } = rows.codes;
    const text = new CommonText(count);
    for (let first = 0; first < count; first += STEP_ROWS) {
      const end = Math.min(count, first + STEP_ROWS);
      text.#take(rows.vectors as SparseVectors, own, first, end);
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
    { commonOf, isCompared }: CommonRows,
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
      const start = at;
      eachMember(sets, row, (low, high) => {
        this.#sizes[row]++;
        if (common.countOf(low, high) > 0) return;
        halves[2 * at] = low;
        halves[2 * at++ + 1] = high;
        this.#restSizes[row]++;
      });
      if (!isCompared(row) && !this.isTemplated(row)) at = start;
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
