/**
 * The WebAssembly kernel of residual codes, see residuals.assembly.ts. Rows must be in their
 * own linear memory, as those of a ResidualMemory are; others go to the scalar kernel.
 */

import { HitState } from '../hits/hit-state';
import { memoryOf } from '../memory';
import {
  formulasOf,
  MAX_RESIDUAL_WEIGHT,
  NO_GAP,
  RANGE,
  type ResidualKernel,
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
    const { kernels, bytes } = memory;
    const { tables } = query;
    const queryBytes = FORMULA_BYTES + tables.length;
    const extraBytes = queryBytes + WORK_BYTES + 4 * RANGE * MAX_RANGES;
    const state = new HitState(memory, limit, want, extraBytes);
    const queryAt = state.extraAt;
    const workAt = queryAt + queryBytes;
    const rangesAt = workAt + WORK_BYTES;
    const { base, factor, sideBase, sideFactor } = formulasOf(query);
    new Float32Array(bytes.buffer, queryAt, 4).set([base, factor, sideBase, sideFactor]);
    bytes.set(tables, queryAt + FORMULA_BYTES);
    const [firstAt, half] = [from.bytes.byteOffset, from.bytesPerRow / 2];
    return {
      get limit() {
        return state.limit;
      },
      get held() {
        return state.held;
      },
      ranges(ranges) {
        for (let first = 0; first < ranges.length; first += RANGE * MAX_RANGES) {
          const some = ranges.subarray(first, first + RANGE * MAX_RANGES);
          const count = some.length / RANGE;
          new Uint32Array(bytes.buffer, rangesAt, some.length).set(some);
          const isSame = first > 0 && ranges[first + 3] === ranges[first - 1];
          for (let done = 0, begun = Number(isSame); ; begun = 1, state.drain()) {
            const nextAt = rangesAt + 4 * RANGE * done;
            const now = kernels.hitsOfResiduals(
              ...([firstAt, firstAt + from.secondAt, nextAt, count - done, half] as const),
              ...([queryAt, gap, begun, workAt, state.at] as const),
            );
            done += now & ~ENDED;
            if ((now & ENDED) !== 0) return first / RANGE + done;
            if (done === count) break;
          }
        }
        return ranges.length / RANGE;
      },
      seen: () => state.drain(),
      hits: () => state.sorted(),
    };
  },
};
