/**
 * Cosines of a query with residual codes. A residual code has two bits of each coordinate of a
 * row's rotated difference from its centroid: first the sides of zero on which they are, then which
 * half of its side each is in. Four bits at a time look up an integer in a table made for the
 * query; both halves of a code use the same tables. Then
 *
 *     sum = 2 x first sum + second sum
 *     cosine x 2,048 = (sum - base) x (scale x factor) + the product of query and centroid
 *
 * in float32, each operation rounded in this order, so that every engine gives equal results; the
 * weight of a row is 2,048 less that, truncated to an integer within 0..4,096.
 *
 * Sides alone estimate the cosine with an error of known size (Gao & Long, RaBitQ, SIGMOD 2024): a
 * row is looked at further only where this estimate, by the same formula with `sideBase` and
 * `sideFactor` and raised by SURE_OF_SIDES errors, is within an earlier limit. That rules out most
 * rows, for half the work. The limit is that which held when a round of partitions began, so that
 * what is found does not depend on the order of entries within a round, nor on how they are spread
 * over memories; that costs nothing measurable, since the first round, of the partitions nearest to
 * the query, brings the limit near its final value.
 */

import { keyOf, sortNear } from '../base/top-k';
import { HitState } from './hits';
import { homeOf, type LinearMemory } from './memory';

/**
 * Rows in blocks of 16, so that a register holds the same byte of all 16: of the first half of
 * their codes first byte 0 of each row, then byte 1, ..., behind the last bytes their 16 scales as
 * float32. From `secondAt` on follow blocks of the second halves. A row of scale 0 is skipped.
 */
export interface ResidualRows {
  /** An even number. */
  readonly bytesPerRow: number;
  readonly secondAt: number;
  readonly bytes: Uint8Array;
  /** The same bytes as float32, to read scales. */
  readonly floats: Float32Array;
}

export const BLOCK_ROWS = 16;
export const SCALE_BYTES = 4;

/** Index of byte `i` of a row in `bytes`. */
export function residualByte(
  { bytesPerRow, secondAt }: Pick<ResidualRows, 'bytesPerRow' | 'secondAt'>,
  row: number,
  i: number,
): number {
  const half = bytesPerRow / 2;
  const block = row & ~15;
  if (i < half) return block * (half + SCALE_BYTES) + i * BLOCK_ROWS + (row & 15);
  return secondAt + block * half + (i - half) * BLOCK_ROWS + (row & 15);
}

/** Index of the scale of a row in `floats`. */
export function residualScale(bytesPerRow: number, row: number): number {
  const half = bytesPerRow / 2;
  const block = (row & ~15) * (half + SCALE_BYTES) + half * BLOCK_ROWS;
  return block / SCALE_BYTES + (row & 15);
}

/** For each four sides, 16 integers of 0..31: what each value adds to a sum. */
export interface ResidualTables {
  readonly tables: Uint8Array;
  /** The sum of integers of a product of 0. */
  readonly zero: number;
  /** 2,048 over the integers that make 1. */
  readonly factor: number;
}

/**
 * The scale of sides alone over that of whole codes, whose levels are 1 and 3, and the standard
 * error of products by sides in units of the latter, both for coordinates of a Gaussian.
 */
const SIDE_SCALE = 2.2184;
const SIDE_ERROR = 1.336;
/** Standard errors by which an estimate by sides must fall short. */
const SURE_OF_SIDES = 1;

/** The numbers of both formulas, in float32. */
export function formulasOf({ zero, factor }: ResidualTables) {
  const raised = factor > 0 ? (SURE_OF_SIDES * SIDE_ERROR * ONE_WEIGHT) / (SIDE_SCALE * factor) : 0;
  return {
    base: Math.fround(3 * zero),
    factor: Math.fround(factor),
    sideBase: Math.fround(zero - raised),
    sideFactor: Math.fround(SIDE_SCALE * factor),
  };
}

/**
 * 32-bit numbers of a range of rows, those of one centroid: its first row, the code that this row
 * stands for (the next row stands for the next code), how many rows, and, as the bits of a float32,
 * 2,048 times the product of query and centroid.
 */
export const RANGE = 4;

/** The weight of a right angle; a weight is 2,048 (1 - cosine). */
export const ONE_WEIGHT = 2048;
export const MAX_RESIDUAL_WEIGHT = 2 * ONE_WEIGHT;
/** Two entries of at most 31 for each of 1,024 / 2 bytes fit a 16-bit sum. */
export const MAX_RESIDUAL_BYTES = 1024;

/** Entries in one memory, and the row of each. */
export interface EntryList {
  readonly memory: ResidualRows;
  rowOf(entry: number): number;
}

/** Ranges of one call of the kernel. */
const MAX_RANGES = 4096;
/** Space for 16-bit sums and a limit, and for the numbers of the formulas before the tables. */
const WORK_BYTES = 112;
const FORMULA_BYTES = 16;
/** Where in this space the limit of the round is. */
const BEFORE = 96;

/**
 * A search for the `want` entries of the lowest weights. Its state lies in the memories that it
 * looks at, so another search there may begin only after `suspend`.
 */
export class EntrySearch {
  readonly #query: ResidualTables;
  readonly #want: number;
  readonly #looked: Looked[] = [];
  #last: HitState | Suspended | null = null;
  /** Keys of (weight, row) that were taken out of the memories. */
  readonly #kept: number[] = [];
  #before = MAX_RESIDUAL_WEIGHT;

  constructor({ tables, zero, factor }: ResidualTables, want: number) {
    // A copy, since the tables of a space are overwritten by the next query.
    this.#query = { tables: tables.slice(), zero, factor };
    this.#want = want;
  }

  /** Begins a round: the limit of now holds for all that is looked at in it. */
  begin(): void {
    this.#before = this.#last === null ? MAX_RESIDUAL_WEIGHT : this.#last.limit;
  }

  /**
   * Looks at ranges of entries, `RANGE` numbers each: the first entry, a number that stands for it,
   * how many, and the bits of the float32 of 2,048 times the product of query and centroid. Entries
   * of scale 0 are skipped.
   */
  look(list: EntryList, ranges: Uint32Array): void {
    if (ranges.length === 0) return;
    let own = this.#looked.find((one) => one.list.memory === list.memory);
    if (own === undefined) {
      own = new Looked(list, this.#query, this.#want);
      this.#looked.push(own);
    }
    const { state } = own;
    if (this.#last !== null && this.#last !== state) state.carry(this.#last);
    own.look(ranges, this.#before);
    this.#last = state;
  }

  /** Takes all state out of the memories, which other searches may use then, or overwrite. */
  suspend(): void {
    if (this.#last === null) return;
    const { limit, held, counts } = this.#last;
    this.#last = { limit, held, counts: counts.slice() };
    this.#take(limit);
  }

  /** Keys of (weight, row) of all entries within the last limit, ascending. */
  keys(): Float64Array {
    const [only] = this.#looked;
    if (this.#looked.length === 1 && this.#kept.length === 0) {
      const { codes, weights, count } = only.state.sorted();
      const keys = new Float64Array(count);
      for (let i = 0; i < count; i++) keys[i] = keyOf(weights[i], only.list.rowOf(codes[i]));
      return sortNear(keys);
    }
    const limit = this.#last?.limit ?? 0;
    this.#take(limit);
    const end = keyOf(limit + 1, 0);
    return Float64Array.from(this.#kept.filter((key) => key < end)).sort();
  }

  #take(limit: number): void {
    for (const { list, state } of this.#looked) {
      const { codes, weights, count } = state.drain();
      for (let i = 0; i < count; i++) {
        if (weights[i] <= limit) this.#kept.push(keyOf(weights[i], list.rowOf(codes[i])));
      }
    }
    this.#looked.length = 0;
  }
}

/** What a search carries on when its memories are used by others. */
type Suspended = Pick<HitState, 'limit' | 'held' | 'counts'>;

/** Writes the numbers of the formulas of a query, and its tables behind them. */
function writeQuery({ bytes }: LinearMemory, at: number, query: ResidualTables): void {
  const { base, factor, sideBase, sideFactor } = formulasOf(query);
  const formulas = new Float32Array(bytes.buffer, at, 4);
  formulas[0] = base;
  formulas[1] = factor;
  formulas[2] = sideBase;
  formulas[3] = sideFactor;
  bytes.set(query.tables, at + FORMULA_BYTES);
}

/** One memory during a search. Behind the state lie the query, space for sums, and ranges. */
class Looked {
  readonly list: EntryList;
  readonly state: HitState;
  readonly #memory: LinearMemory;
  readonly #workAt: number;
  readonly #before: Int32Array;

  constructor(list: EntryList, query: ResidualTables, want: number) {
    const queryBytes = FORMULA_BYTES + query.tables.length;
    const extraBytes = queryBytes + WORK_BYTES + 4 * RANGE * MAX_RANGES;
    this.list = list;
    this.#memory = homeOf(list.memory.bytes);
    this.state = new HitState(this.#memory, MAX_RESIDUAL_WEIGHT, want, extraBytes);
    this.#workAt = this.state.extraAt + queryBytes;
    const { bytes } = this.#memory;
    this.#before = new Int32Array(bytes.buffer, this.#workAt + BEFORE, 1);
    writeQuery(this.#memory, this.state.extraAt, query);
  }

  /** Looks at the entries of a round that began with this limit. */
  look(ranges: Uint32Array, limit: number): void {
    this.#before[0] = limit;
    const { kernels, bytes } = this.#memory;
    const { bytes: codes, secondAt, bytesPerRow } = this.list.memory;
    const rangesAt = this.#workAt + WORK_BYTES;
    for (let from = 0; from < ranges.length; from += RANGE * MAX_RANGES) {
      const some = ranges.subarray(from, from + RANGE * MAX_RANGES);
      const count = some.length / RANGE;
      new Uint32Array(bytes.buffer, rangesAt, some.length).set(some);
      for (let done = 0; ; this.state.drain()) {
        done += kernels.entriesOfRound(
          codes.byteOffset,
          codes.byteOffset + secondAt,
          rangesAt + 4 * RANGE * done,
          count - done,
          bytesPerRow / 2,
          this.state.extraAt,
          this.#workAt,
          this.state.at,
        );
        if (done === count) break;
      }
    }
  }
}
