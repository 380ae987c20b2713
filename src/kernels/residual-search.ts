/**
 * Searches of residual codes by a limit that falls with every row, which end early by a gap: those
 * of the partitions of `index/` and `stored/`. residuals.ts states the formulas.
 */

import { copyOfHits, HitState, type Hits } from './hits';
import { homeOf, type LinearMemory, SCAN_BYTES } from './memory';
import {
  BEFORE,
  BLOCK_ROWS,
  FORMULA_BYTES,
  MAX_RANGES,
  MAX_RESIDUAL_WEIGHT,
  RANGE,
  type ResidualRows,
  type ResidualTables,
  WORK_BYTES,
  writeQuery,
} from './residuals';

/** A gap that ends no search. */
export const NO_GAP = 2 ** 20;

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
type TakeHeld = (visit: number, held: Uint32Array, first: number, end: number) => void;

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

/** Bit of the kernel's result: a range is farther below the limit than the gap. */
const ENDED = 1 << 31;

export const residualKernel = {
  /** At most `mostHolding` queries; valid until another search begins in the same memory. */
  holding(from: ResidualRows, queries: readonly ResidualTables[]): HeldRows {
    return new WasmHeldRows(homeOf(from.bytes), from, queries);
  },

  /**
   * A search for the `want` rows of the largest cosines, which ends early by `gap`. It goes on
   * where `earlier` is, the same search among other rows.
   */
  search(
    from: ResidualRows,
    query: ResidualTables,
    want: number,
    gap: number = NO_GAP,
    earlier?: EarlierSearch,
  ): ResidualSearch {
    const search = new WasmResidualSearch(homeOf(from.bytes), from, query, want, gap);
    if (earlier !== undefined) search.goOn(earlier);
    return search;
  },
};

export type ResidualKernel = typeof residualKernel;

/** A search whose formulas, tables, sums and ranges lie behind the state of its hits. */
class WasmResidualSearch implements ResidualSearch {
  readonly #memory: LinearMemory;
  readonly #state: HitState;
  readonly #gap: number;
  /** Addresses of both halves of the residual codes, and bytes of half a code. */
  readonly #firstAt: number;
  readonly #secondAt: number;
  readonly #half: number;
  readonly #queryAt: number;
  readonly #workAt: number;
  readonly #before: Int32Array;

  constructor(
    memory: LinearMemory,
    { bytes: codes, secondAt, bytesPerRow }: ResidualRows,
    query: ResidualTables,
    want: number,
    gap: number,
  ) {
    const { tables } = query;
    const queryBytes = FORMULA_BYTES + tables.length;
    const extraBytes = queryBytes + WORK_BYTES + 4 * RANGE * MAX_RANGES;
    this.#memory = memory;
    this.#state = new HitState(memory, MAX_RESIDUAL_WEIGHT, want, extraBytes);
    this.#gap = gap;
    this.#firstAt = codes.byteOffset;
    this.#secondAt = codes.byteOffset + secondAt;
    this.#half = bytesPerRow / 2;
    this.#queryAt = this.#state.extraAt;
    this.#workAt = this.#queryAt + queryBytes;
    this.#before = new Int32Array(memory.bytes.buffer, this.#workAt + BEFORE, 1);
    writeQuery(memory, this.#queryAt, query);
  }

  get limit(): number {
    return this.#state.limit;
  }

  get held(): number {
    return this.#state.held;
  }

  get before(): number {
    return this.#before[0];
  }

  /** See `ResidualKernel.search`. */
  goOn(earlier: EarlierSearch): void {
    this.#before[0] = earlier.before;
    this.#state.goOn(earlier.hits(), earlier.limit);
  }

  ranges(ranges: Uint32Array, isSame = false): number {
    for (let first = 0; first < ranges.length; first += RANGE * MAX_RANGES) {
      const some = ranges.subarray(first, first + RANGE * MAX_RANGES);
      const goesOn = first === 0 ? isSame : ranges[first + 3] === ranges[first - 1];
      const done = this.#some(some, goesOn);
      if (RANGE * done < some.length) return first / RANGE + done;
    }
    return ranges.length / RANGE;
  }

  /** As many ranges as one call takes; returns how many were seen before the search ended. */
  #some(ranges: Uint32Array, isSame: boolean): number {
    const { kernels, bytes } = this.#memory;
    const rangesAt = this.#workAt + WORK_BYTES;
    const count = ranges.length / RANGE;
    new Uint32Array(bytes.buffer, rangesAt, ranges.length).set(ranges);
    for (let done = 0, begun = Number(isSame); ; begun = 1, this.#state.drain()) {
      const result = kernels.hitsOfResiduals(
        this.#firstAt,
        this.#secondAt,
        rangesAt + 4 * RANGE * done,
        count - done,
        this.#half,
        this.#queryAt,
        this.#gap,
        begun,
        this.#workAt,
        this.#state.at,
      );
      done += result & ~ENDED;
      if (done === count || (result & ENDED) !== 0) return done;
    }
  }

  hits(): Hits {
    return this.#state.sorted();
  }
}

/** Rows of one call of the kernel: they stay in the cache while all queries look at them. */
const ROWS_A_LOOK = 1024;

/** Queries, visits and held rows, one behind another in the scratch space of the rows' memory. */
class WasmHeldRows implements HeldRows {
  readonly #memory: LinearMemory;
  readonly #rows: ResidualRows;
  readonly #queryBytes: number;
  readonly #queriesAt: number;
  readonly #visitsAt: number;

  constructor(memory: LinearMemory, rows: ResidualRows, queries: readonly ResidualTables[]) {
    this.#memory = memory;
    this.#rows = rows;
    this.#queryBytes = FORMULA_BYTES + 16 * rows.bytesPerRow;
    this.#queriesAt = memory.free + WORK_BYTES;
    this.#visitsAt = this.#queriesAt + queries.length * this.#queryBytes;
    for (const [i, query] of queries.entries()) {
      writeQuery(memory, this.#queriesAt + i * this.#queryBytes, query);
    }
  }

  look({ first, end, code }: RowRun, visits: Uint32Array, take: TakeHeld): void {
    const own = new Uint32Array(this.#memory.bytes.buffer, this.#visitsAt, visits.length);
    own.set(visits);
    for (let at = 0; at < own.length; at += VISIT) {
      own[at] = this.#queriesAt + own[at] * this.#queryBytes;
    }
    for (let row = first; row < end; ) {
      const next = Math.min(end, (row & ~(BLOCK_ROWS - 1)) + ROWS_A_LOOK);
      this.#lookAt({ first: row, end: next, code: code + row - first }, own, take);
      row = next;
    }
  }

  #lookAt({ first, end, code }: RowRun, visits: Uint32Array, take: TakeHeld): void {
    const { kernels, bytes, free } = this.#memory;
    const { bytes: codes, secondAt, bytesPerRow } = this.#rows;
    const heldAt = visits.byteOffset + visits.byteLength;
    const held = new Uint32Array(bytes.buffer, 0, (free + SCAN_BYTES) / 4);
    const count = visits.length / VISIT;
    for (let visit = 0; visit < count; ) {
      const done = kernels.heldOfResiduals(
        codes.byteOffset,
        codes.byteOffset + secondAt,
        first,
        end,
        code,
        bytesPerRow / 2,
        visits.byteOffset + 4 * VISIT * visit,
        count - visit,
        free,
        heldAt,
        free + SCAN_BYTES,
      );
      let at = heldAt;
      for (const stop = visit + done; visit < stop; visit++) {
        const next = visits[VISIT * visit + 3];
        if (next > at) take(visit, held, at / 4, next / 4);
        at = next;
      }
    }
  }
}
