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
 * row is looked at further only where this estimate, raised by SURE_OF_SIDES errors, is within an
 * earlier limit. That rules out most rows, for half the work. It is compared in integers, by a
 * coarse scale of the row (see `coarseScale`):
 *
 *     (first sum x 2^shift - sideBase) x coarse scale / 2^15, rounded, is above the cut
 *
 * The limit is that which held when a round of partitions began, so that what is found does not
 * depend on the order of entries within a round, nor on how they are spread over memories; that
 * costs nothing measurable, since the first round, of the partitions nearest to the query, brings
 * the limit near its final value.
 */

import { keyOf, sortNear } from '../base/top-k';
import { HitState } from './hits';
import { homeOf, type LinearMemory } from './memory';

/**
 * Rows in blocks of 16, so that a register holds the same byte of all 16: of the first halves of
 * their codes byte 0 of each row, then byte 1, ..., then their 16 coarse scales as int16, the
 * second halves in the same way, and their 16 scales as float32. A row of scale 0 is skipped.
 */
export interface ResidualRows {
  /** An even number. */
  readonly bytesPerRow: number;
  readonly bytes: Uint8Array;
  /** The same bytes as float32, to read scales. */
  readonly floats: Float32Array;
}

export const BLOCK_ROWS = 16;
/** Bytes of a coarse scale, and of a scale. */
const COARSE_BYTES = 2;
export const SCALE_BYTES = 4;

/** Bytes that a row takes in its block. */
export const bytesOfRow = (bytesPerRow: number) => bytesPerRow + COARSE_BYTES + SCALE_BYTES;

/** Index in `bytes` of what lies behind `before` bytes of each row in the block of a row. */
const inBlock = (bytesPerRow: number, row: number, before: number) =>
  (row & ~15) * bytesOfRow(bytesPerRow) + before * BLOCK_ROWS;

/** Index of byte `i` of a row in `bytes`. */
export function residualByte(bytesPerRow: number, row: number, i: number): number {
  const before = 2 * i < bytesPerRow ? i : i + COARSE_BYTES;
  return inBlock(bytesPerRow, row, before) + (row & 15);
}

/** Index of the scale of a row in `floats`. */
export function residualScale(bytesPerRow: number, row: number): number {
  return inBlock(bytesPerRow, row, bytesPerRow + COARSE_BYTES) / SCALE_BYTES + (row & 15);
}

/** Index of the two bytes of the coarse scale of a row in `bytes`, the lower one first. */
export function coarseAt(bytesPerRow: number, row: number): number {
  return inBlock(bytesPerRow, row, bytesPerRow / 2) + COARSE_BYTES * (row & 15);
}

/**
 * The scale of a row as an integer of 15 bits: differences of length 1 have some 10,000, and no row
 * differs from its centroid by more than 2.
 */
export function coarseScale(bytesPerRow: number, scale: number): number {
  return Math.min(32_767, Math.round(scale * Math.sqrt(4 * bytesPerRow) * 2 ** 14));
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

/**
 * The numbers of both formulas, of which `sideBase` and `shift` are integers. A cut is `cutFactor`
 * times the difference that sides must make to 2,048 times the cosine.
 */
export function formulasOf({ tables, zero, factor }: ResidualTables) {
  const half = tables.length / 32;
  // Sums of sides are below 2^14 then, and differ from the base by less than 2^15.
  const shift = Math.max(0, Math.clz32(62 * half + 32) - 18);
  const sideFactor = SIDE_SCALE * factor;
  const raised = factor > 0 ? (SURE_OF_SIDES * SIDE_ERROR * ONE_WEIGHT) / sideFactor : 0;
  return {
    base: Math.fround(3 * zero),
    factor: Math.fround(factor),
    sideBase: Math.round((zero - raised) * 2 ** shift),
    shift,
    cutFactor: factor > 0 ? Math.fround((Math.sqrt(8 * half) * 2 ** (shift - 1)) / sideFactor) : 0,
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

/** Entries in one memory. A search names them by the codes that its ranges give them. */
export interface EntryList {
  readonly memory: ResidualRows;
  /** Where the row of an entry is, in memory whose rows have places. */
  positionOf?(code: number): number;
  rowOf(code: number): number;
}

/** What a search of entries found. */
interface FoundEntries {
  /** Keys of (weight, row) of all entries within the last limit, ascending. */
  readonly keys: Float64Array;
  /** The positions of these rows; null where they are not of one list that has positions. */
  readonly positions: Uint32Array | null;
}

/** Ranges of one call of the kernel. */
const MAX_RANGES = 4096;
/** Space for 16-bit sums and a limit, and for the numbers of the formulas before the tables. */
const WORK_BYTES = 112;
const FORMULA_BYTES = 32;
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

  found(): FoundEntries {
    const [only] = this.#looked;
    if (this.#looked.length === 1 && this.#kept.length === 0 && only.list.positionOf) {
      const { list, state } = only;
      const { codes, weights, count } = state.sorted();
      const keys = new Float64Array(count);
      const positions = new Uint32Array(count);
      for (let i = 0; i < count; i++) {
        positions[i] = only.list.positionOf(codes[i]);
        keys[i] = keyOf(weights[i], list.rowOf(codes[i]));
      }
      sortNear(keys, positions);
      return { keys, positions };
    }
    const limit = this.#last?.limit ?? 0;
    this.#take(limit);
    const end = keyOf(limit + 1, 0);
    const keys = Float64Array.from(this.#kept.filter((key) => key < end)).sort();
    return { keys, positions: null };
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
  const { base, factor, sideBase, shift, cutFactor } = formulasOf(query);
  const floats = new Float32Array(bytes.buffer, at, 5);
  const integers = new Int32Array(bytes.buffer, at, 5);
  floats[0] = base;
  floats[1] = factor;
  integers[2] = sideBase;
  integers[3] = shift;
  floats[4] = cutFactor;
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
    const { bytes: codes, bytesPerRow } = this.list.memory;
    const rangesAt = this.#workAt + WORK_BYTES;
    for (let from = 0; from < ranges.length; from += RANGE * MAX_RANGES) {
      const some = ranges.subarray(from, from + RANGE * MAX_RANGES);
      const count = some.length / RANGE;
      new Uint32Array(bytes.buffer, rangesAt, some.length).set(some);
      for (let done = 0; ; this.state.drain()) {
        done += kernels.entriesOfRound(
          codes.byteOffset,
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
