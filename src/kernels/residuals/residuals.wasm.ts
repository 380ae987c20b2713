/**
 * The WebAssembly kernel of residual codes, see residuals.assembly.ts. Rows must be in their
 * own linear memory, as those of a ResidualMemory are; others go to the scalar kernel.
 */

import { HitState } from '../hits/hit-state';
import type { Hits } from '../hits/hits';
import { type LinearMemory, memoryOf } from '../memory';
import {
  formulasOf,
  MAX_RESIDUAL_WEIGHT,
  NO_GAP,
  RANGE,
  type ResidualKernel,
  type ResidualRows,
  type ResidualSearch,
  type ResidualTables,
  scalarResiduals,
} from './residuals.scalar';

/** Ranges of one call of the kernel. */
const MAX_RANGES = 4096;
/** Bit of the kernel's result: a range is farther below the limit than the gap. */
const ENDED = 1 << 31;
/** Space for 16-bit sums and a limit, and for the numbers of the formulas before the tables. */
const WORK_BYTES = 112;
const FORMULA_BYTES = 16;

export const wasmResiduals: ResidualKernel = {
  name: 'wasm',

  search(from, query, want, gap = NO_GAP, limit = MAX_RESIDUAL_WEIGHT) {
    const memory = memoryOf(from.bytes);
    if (memory === undefined) return scalarResiduals.search(from, query, want, gap, limit);
    return new WasmResidualSearch(memory, from, query, { want, gap, limit });
  },
};

/** How many rows a search holds, and when it ends; see `ResidualKernel.search`. */
interface Reach {
  readonly want: number;
  readonly gap: number;
  readonly limit: number;
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

  constructor(
    memory: LinearMemory,
    { bytes: codes, secondAt, bytesPerRow }: ResidualRows,
    query: ResidualTables,
    { want, gap, limit }: Reach,
  ) {
    const { tables } = query;
    const queryBytes = FORMULA_BYTES + tables.length;
    const extraBytes = queryBytes + WORK_BYTES + 4 * RANGE * MAX_RANGES;
    this.#memory = memory;
    this.#state = new HitState(memory, limit, want, extraBytes);
    this.#gap = gap;
    this.#firstAt = codes.byteOffset;
    this.#secondAt = codes.byteOffset + secondAt;
    this.#half = bytesPerRow / 2;
    this.#queryAt = this.#state.extraAt;
    this.#workAt = this.#queryAt + queryBytes;
    const formulas = new Float32Array(memory.bytes.buffer, this.#queryAt, 4);
    const { base, factor, sideBase, sideFactor } = formulasOf(query);
    formulas[0] = base;
    formulas[1] = factor;
    formulas[2] = sideBase;
    formulas[3] = sideFactor;
    memory.bytes.set(tables, this.#queryAt + FORMULA_BYTES);
  }

  get limit(): number {
    return this.#state.limit;
  }

  get held(): number {
    return this.#state.held;
  }

  ranges(ranges: Uint32Array): number {
    for (let first = 0; first < ranges.length; first += RANGE * MAX_RANGES) {
      const some = ranges.subarray(first, first + RANGE * MAX_RANGES);
      const isSame = first > 0 && ranges[first + 3] === ranges[first - 1];
      const done = this.#some(some, isSame);
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

  seen(): Hits {
    return this.#state.drain();
  }

  hits(): Hits {
    return this.#state.sorted();
  }
}
