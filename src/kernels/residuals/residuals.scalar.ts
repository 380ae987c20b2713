/**
 * Cosines of a query with residual codes, the scalar kernel. A residual code has two bits of each
 * coordinate of a row's rotated difference from its centroid: first the sides of zero on which they
 * are, then which half of its side each is in. Four bits at a time look up an integer in a table
 * made for the query; both halves of a code use the same tables. Then
 *
 *     sum = 2 x first sum + second sum
 *     cosine x 2,048 = (sum - base) x (scale x factor) + the product of query and centroid
 *
 * in float32, each operation rounded in this order, so that every kernel gives equal results; the
 * weight of a row is 2,048 less that, truncated to an integer within 0..4,096.
 *
 * Sides alone estimate the cosine with an error of known size (Gao & Long, RaBitQ, SIGMOD 2024): a
 * row is looked at further only where this estimate, by the same formula with `sideBase` and
 * `sideFactor` and raised by SURE_OF_SIDES errors, is within the limit as it was when the search
 * came to the row's centroid. That rules out most rows, for half the work.
 */

import { copyOfHits, FallingLimit, type Hits, sortedHits } from '../hits/hits';

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

type Formulas = ReturnType<typeof formulasOf>;

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

/**
 * A search whose limit falls, see hits.ts; it holds all rows seen within the limit that the sides
 * did not rule out.
 */
export interface ResidualSearch {
  readonly limit: number;
  readonly held: number;
  /** The limit when the search came to the centroid of the last range. */
  readonly before: number;
  /**
   * Looks at the rows of some ranges, `RANGE` numbers each, those of the largest products first.
   * Ends before a range whose product with the query is more than the search's `gap` below the
   * limit, both in units of 1 / 2,048, once `want` rows are held, but never between two ranges of
   * equal products: those of one centroid are seen together. With `isSame` the first goes on with
   * the centroid of the last before. Returns how many ranges were seen.
   */
  ranges(ranges: Uint32Array, isSame?: boolean): number;
  /** Ends the search: the rows within the limit by weight, equal ones as they were seen. */
  hits(): Hits;
}

/** A search that goes on elsewhere, or later. */
export type EarlierSearch = Pick<ResidualSearch, 'limit' | 'before' | 'hits'>;

/** What a search has found so far, for one that goes on when others have used its memory. */
export function paused(search: EarlierSearch): EarlierSearch {
  const { limit, before } = search;
  const found = copyOfHits(search.hits());
  return { limit, before, hits: () => found };
}

/**
 * 32-bit numbers of a visit of rows by a query: the query's number, as the bits of a float32 2,048
 * times its product with the centroid of the rows, and its limit. A fourth is the kernel's.
 */
export const VISIT = 4;

/** 32-bit numbers of a held row: code, weight, and the bits of its `sideEstimate`, a float32. */
export const HELD = 3;

/**
 * Takes what a visit holds, by the visit's number: rows of HELD numbers each at `held[first]` to
 * `held[end - 1]`, valid during the call.
 */
export type TakeHeld = (visit: number, held: Uint32Array, first: number, end: number) => void;

/** Rows of one centroid: those from `first` to `end - 1`, of which the first stands for `code`. */
export interface RowRun {
  readonly first: number;
  readonly end: number;
  readonly code: number;
}

/** Many queries that look at the same rows, each with a limit that stays. */
export interface HeldRows {
  /**
   * Calls `take` with the rows that are within the limit of a visit and that their sides do not
   * rule out by it: never or several times for each visit, in the order of rows.
   */
  look(run: RowRun, visits: Uint32Array, take: TakeHeld): void;
}

/** How many queries `ResidualKernel.holding` takes: they and what they hold share a cache. */
export function mostHolding(bytesPerRow: number): number {
  return Math.floor(HOLDING_BYTES / (16 * bytesPerRow + 32));
}

const HOLDING_BYTES = 2 ** 19;

export interface ResidualKernel {
  readonly name: string;
  /** At most `mostHolding` queries; valid until another search begins in the same memory. */
  holding(from: ResidualRows, queries: readonly ResidualTables[]): HeldRows;
  /**
   * A search for the `want` rows of the largest cosines, which ends early by `gap`. It goes on
   * where `earlier` is, the same search among other rows.
   */
  search(
    from: ResidualRows,
    query: ResidualTables,
    want: number,
    gap?: number,
    earlier?: EarlierSearch,
  ): ResidualSearch;
}

/** Looks up the entries of half a residual code, that of the sides or, from `first` on, another. */
function sumOf(rows: ResidualRows, { tables }: ResidualTables, row: number, first = 0): number {
  let sum = 0;
  for (let i = 0; 2 * i < rows.bytesPerRow; i++) {
    const byte = rows.bytes[residualByte(rows, row, first + i)];
    sum += tables[32 * i + (byte & 15)] + tables[32 * i + 16 + (byte >> 4)];
  }
  return sum;
}

const cosineOf = (sum: number, scale: number, more: number) =>
  Math.fround(Math.fround(sum * scale) + more);

/**
 * What the sides of a row say, raised: it is looked at where this is above 2,047 less the limit.
 * `more` is 2,048 times the product of query and centroid, a float32.
 */
function sideEstimate(
  rows: ResidualRows,
  query: ResidualTables & Pick<Formulas, 'sideBase' | 'sideFactor'>,
  row: number,
  more: number,
  sides = sumOf(rows, query, row),
): number {
  const scale = rows.floats[residualScale(rows.bytesPerRow, row)];
  const first = Math.fround(sides - query.sideBase);
  return cosineOf(first, Math.fround(scale * query.sideFactor), more);
}

/** The weight of a right angle; a weight is 2,048 (1 - cosine). */
export const ONE_WEIGHT = 2048;
export const MAX_RESIDUAL_WEIGHT = 2 * ONE_WEIGHT;
/** A gap that ends no search. */
export const NO_GAP = 2 ** 20;
/** Two entries of at most 31 for each of 1,024 / 2 bytes fit a 16-bit sum. */
export const MAX_RESIDUAL_BYTES = 1024;

/** The weight of a row; null of a removed one, and where its sides rule it out by `before`. */
function weightOf(
  rows: ResidualRows,
  query: ResidualTables & Formulas,
  { row, more, before }: { row: number; more: number; before: number },
): number | null {
  const { bytesPerRow, floats } = rows;
  const scale = floats[residualScale(bytesPerRow, row)];
  if (scale === 0) return null;
  const sides = sumOf(rows, query, row);
  if (!(sideEstimate(rows, query, row, more, sides) > ONE_WEIGHT - before - 1)) return null;
  const sum = Math.fround(2 * sides + sumOf(rows, query, row, bytesPerRow / 2) - query.base);
  const cosine = Math.trunc(cosineOf(sum, Math.fround(scale * query.factor), more));
  return Math.min(Math.max(ONE_WEIGHT - cosine, 0), MAX_RESIDUAL_WEIGHT);
}

export const scalarResiduals: ResidualKernel = {
  name: 'scalar',

  holding(rows, all) {
    const queries = all.map((tables) => ({ ...tables, ...formulasOf(tables) }));
    const held = new Uint32Array(HELD);
    const floats = new Float32Array(held.buffer);
    return {
      look({ first, end, code }, visits, take) {
        const products = new Float32Array(visits.buffer, visits.byteOffset, visits.length);
        for (let at = 0; at < visits.length; at += VISIT) {
          const [query, more, limit] = [queries[visits[at]], products[at + 1], visits[at + 2]];
          for (let row = first; row < end; row++) {
            const weight = weightOf(rows, query, { row, more, before: limit });
            if (weight === null || weight > limit) continue;
            [held[0], held[1]] = [code + row - first, weight];
            floats[2] = sideEstimate(rows, query, row, more);
            take(at / VISIT, held, 0, HELD);
          }
        }
      },
    };
  },

  search(rows, tables, want, gap = NO_GAP, earlier) {
    const query = { ...tables, ...formulasOf(tables) };
    const hits = new FallingLimit(MAX_RESIDUAL_WEIGHT, want);
    const reach = Math.fround(gap);
    let before = hits.limit;
    if (earlier !== undefined) {
      before = earlier.before;
      hits.goOn(earlier.hits(), earlier.limit);
    }
    const take = (row: number, code: number, more: number) => {
      const weight = weightOf(rows, query, { row, more, before });
      if (weight !== null) hits.take(code, weight);
    };
    return {
      get limit() {
        return hits.limit;
      },
      get held() {
        return hits.held;
      },
      get before() {
        return before;
      },
      ranges(ranges, isSame = false) {
        const floats32 = new Float32Array(ranges.buffer, ranges.byteOffset, ranges.length);
        for (let at = 0; at < ranges.length; at += RANGE) {
          const [first, code, count] = ranges.subarray(at, at + RANGE);
          const more = floats32[at + 3];
          if (at === 0 ? !isSame : ranges[at + 3] !== ranges[at - 1]) {
            const below = Math.fround(ONE_WEIGHT - hits.limit - more);
            if (hits.held >= want && below > reach) return at / RANGE;
            before = hits.limit;
          }
          for (let i = 0; i < count; i++) take(first + i, code + i, more);
        }
        return ranges.length / RANGE;
      },
      hits: () => sortedHits(hits.list, hits.limit),
    };
  },
};
