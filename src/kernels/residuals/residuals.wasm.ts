/**
 * The WebAssembly kernel of residual codes, see residuals.assembly.ts. Rows must be in their
 * own linear memory, as those of a ResidualMemory are; others go to the scalar kernel.
 */

import { HitState } from '../hits/hit-state';
import type { Hits } from '../hits/hits';
import { type LinearMemory, memoryOf, SCAN_BYTES } from '../memory';
import {
  BLOCK_ROWS,
  type EarlierSearch,
  formulasOf,
  type HeldRows,
  MAX_RESIDUAL_WEIGHT,
  NO_GAP,
  RANGE,
  type ResidualKernel,
  type ResidualRows,
  type ResidualSearch,
  type ResidualTables,
  type RowRun,
  scalarResiduals,
  type TakeHeld,
  VISIT,
} from './residuals.scalar';

/** Ranges of one call of the kernel. */
const MAX_RANGES = 4096;
/** Bit of the kernel's result: a range is farther below the limit than the gap. */
const ENDED = 1 << 31;
/** Space for 16-bit sums and a limit, and for the numbers of the formulas before the tables. */
const WORK_BYTES = 112;
const FORMULA_BYTES = 16;
/** Where in this space the limit is. */
const BEFORE = 96;

export const wasmResiduals: ResidualKernel = {
  name: 'wasm',

  search(from, query, want, gap = NO_GAP, earlier) {
    const memory = memoryOf(from.bytes);
    if (memory === undefined) return scalarResiduals.search(from, query, want, gap, earlier);
    const search = new WasmResidualSearch(memory, from, query, want, gap);
    if (earlier !== undefined) search.goOn(earlier);
    return search;
  },

  holding(from, queries) {
    const memory = memoryOf(from.bytes);
    if (memory === undefined) return scalarResiduals.holding(from, queries);
    return new WasmHeldRows(memory, from, queries);
  },
};

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
