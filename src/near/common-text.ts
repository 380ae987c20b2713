/**
 * What many texts share, a template or a licence, and what is left of each text without it. Texts
 * that fill one template differently are similar as a whole and share little of the rest; a copy
 * of a text shares most of its rest, also where words of the template were edited. So near texts
 * must be similar as a whole, and have half of the shorter rest in common.
 */

import { keyOfBytes } from '../base/arrays';
import { checkNumber, wrongType } from '../base/check';
import { HashCounts } from '../base/hash-counts';
import type { LongWork } from '../base/long-work';
import { halvesOf, SparseVectors } from '../index/vectors/sparse-vectors';
import type { OrderedPairs } from './pair-order';
import type { DedupPlan } from './plan';
import type { Rows } from './rows';

/** A share of the rows above which a member is common, or the common members. */
type Common = number | BigUint64Array;

/** A member is common in more rows than this, whatever the share: a text may have some copies. */
const MIN_ROWS = 10;
/** Rows with fewer members that are not common are nothing but common text. */
const MIN_REST = 4;
/** Least share of the members of the shorter rest that near rows must have in common. */
const LEAST_OVERLAP = 0.5;

/** Bits of the number of buckets in which members are counted before they are counted exactly. */
const MIN_BUCKET_BITS = 8;
const MAX_BUCKET_BITS = 22;
/** Rows between two steps. */
const STEP_ROWS = 2 ** 10;

/** Throws unless this is a share of rows, or an array of members. */
export function checkCommon(common: unknown): Common {
  if (common instanceof BigUint64Array) return common;
  if (typeof common !== 'number') throw wrongType('common', 'a share or a BigUint64Array', common);
  return checkNumber('common', common, 0, 1);
}

export class CommonText {
  /** By row its members that are not common. */
  readonly #rests = new SparseVectors();
  readonly #restSizes: Uint32Array;
  /** By row the number of all members. */
  readonly #sizes: Uint32Array;

  /**
   * Of rows whose vectors are sets. A share is one of all rows with a code; rows of equal codes
   * count as one row of those that have a member.
   */
  static async of(rows: Rows, common: Common, work: LongWork): Promise<CommonText> {
    const text = new CommonText(rows.codes.count);
    const members =
      typeof common === 'number' ? await frequentIn(rows, common, work) : countsOf(common);
    await text.#fill(rows, members, work);
    return text;
  }

  private constructor(count: number) {
    this.#sizes = new Uint32Array(count);
    this.#restSizes = new Uint32Array(count);
  }

  async #fill(rows: Rows, common: HashCounts, work: LongWork): Promise<void> {
    const sets = rows.vectors as SparseVectors;
    const { count } = rows.codes;
    for (let first = 0; first < count; first += STEP_ROWS) {
      const end = Math.min(count, first + STEP_ROWS);
      const offsets = new Uint32Array(end - first + 1);
      let entries = 0;
      for (let row = first; row < end; row++) entries += sizeOf(sets, row);
      const halves = new Uint32Array(2 * entries);
      let at = 0;
      for (let row = first; row < end; row++) {
        const { part, from, to } = sets.entriesOf(row);
        const before = at;
        for (let i = from; i < to; i++) {
          if (part.weights[i] === 0) continue;
          this.#sizes[row]++;
          const [low, high] = [part.halves[2 * i], part.halves[2 * i + 1]];
          if (common.countOf(low, high) > 0) continue;
          halves[2 * at] = low;
          halves[2 * at++ + 1] = high;
        }
        this.#restSizes[row] = at - before;
        offsets[row - first + 1] = at;
      }
      const indices = new BigUint64Array(halves.buffer, 0, at);
      const values = new Float32Array(at).fill(1);
      this.#rests.append({ offsets, indices, values }, 0, end - first, () => true);
      await work.step();
    }
  }

  /** True where a row is nothing but common text. */
  isBare(row: number): boolean {
    return this.#sizes[row] > 0 && this.#restSizes[row] < MIN_REST;
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

  /** True if two rows that are similar as a whole are near without the common text too. */
  areNear(a: number, b: number): boolean {
    const [ours, theirs] = [this.isBare(a), this.isBare(b)];
    return ours || theirs ? ours && theirs : this.overlapOf(a, b) >= LEAST_OVERLAP;
  }

  /** The near pairs of a batch whose rows are positions in `order`. */
  nearOf({ a, b, distances }: OrderedPairs, order: Uint32Array): OrderedPairs {
    const isNear = Uint8Array.from(a, (one, i) => Number(this.areNear(order[one], order[b[i]])));
    const filter = (_: number, i: number) => isNear[i] === 1;
    return { a: a.filter(filter), b: b.filter(filter), distances: distances.filter(filter) };
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

function sizeOf(sets: SparseVectors, row: number): number {
  const { from, to } = sets.entriesOf(row);
  return to - from;
}

/** The members of an array, each counted. */
function countsOf(members: BigUint64Array): HashCounts {
  const counts = new HashCounts();
  counts.reserve(2 * members.length);
  const halves = halvesOf(members);
  for (let i = 0; i < halves.length; i += 2) counts.add(halves[i], halves[i + 1], 1);
  return counts;
}

/** The members that were counted more often, in a table with room: others are seen soon. */
function above(counts: HashCounts, most: number): HashCounts {
  let size = 0;
  counts.each((_, __, count) => {
    if (count > most) size++;
  });
  const found = new HashCounts();
  found.reserve(2 * size);
  counts.each((low, high, count) => {
    if (count > most) found.add(low, high, count);
  });
  return found;
}

/** The members that occur in more than this share of the rows. */
async function frequentIn(rows: Rows, share: number, work: LongWork): Promise<HashCounts> {
  const { codes } = rows;
  const sets = rows.vectors as SparseVectors;
  const bits = 32 - Math.clz32(sets.entryCount);
  const shift = 32 - Math.max(MIN_BUCKET_BITS, Math.min(MAX_BUCKET_BITS, bits));
  const buckets = new Uint32Array(2 ** (32 - shift));
  const bucketOf = (low: number, high: number) => Math.imul(low ^ high, 0x85eb_ca77) >>> shift;
  const seen = new Set<string>();
  const counted: number[] = [];
  let present = 0;
  for (let row = 0; row < codes.count; row++) {
    if (row % STEP_ROWS === STEP_ROWS - 1) await work.step();
    if (codes.isNull(row)) continue;
    present++;
    const { part, from, to } = sets.entriesOf(row);
    const key = from === to ? '' : keyOfBytes(codes.at(row));
    if (key === '' || seen.has(key)) continue;
    seen.add(key);
    counted.push(row);
    for (let i = from; i < to; i++) {
      buckets[bucketOf(part.halves[2 * i], part.halves[2 * i + 1])]++;
    }
  }
  const most = Math.max(MIN_ROWS, share * present);
  // Only members of buckets that hold enough can be frequent: a small part is counted exactly.
  const counts = new HashCounts();
  for (const [i, row] of counted.entries()) {
    if (i % STEP_ROWS === STEP_ROWS - 1) await work.step();
    const { part, from, to } = sets.entriesOf(row);
    for (let i = from; i < to; i++) {
      const [low, high] = [part.halves[2 * i], part.halves[2 * i + 1]];
      if (part.weights[i] !== 0 && buckets[bucketOf(low, high)] > most) {
        counts.add(low, high, 1);
      }
    }
  }
  return above(counts, most);
}
