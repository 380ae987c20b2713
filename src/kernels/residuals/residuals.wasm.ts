/**
 * The WebAssembly twin of sketches.scalar.ts, see assembly/sketches.ts. Rows must live in a
 * linear memory, as those of a ResidualMemory do; others are looked at by the scalar twin.
 */

import { HitState } from '../hits/hit-state';
import { residenceOf } from '../memory';
import {
  MAX_RESIDUAL_WEIGHT,
  RANGE,
  type ResidualKernel,
  scalarResiduals,
} from './residuals.scalar';

/** Ranges of one call, and room for the sums of two blocks. */
const MOST_RANGES = 4096;
const SUMS_BYTES = 64;

export const wasmResiduals: ResidualKernel = {
  name: 'wasm',

  search(from, query, want) {
    const home = residenceOf(from.bytes);
    if (home === undefined) return scalarResiduals.search(from, query, want);
    const { kernels, bytes } = home;
    const { tables, base, factor } = query;
    const roomBytes = tables.length + SUMS_BYTES + 4 * RANGE * MOST_RANGES;
    const state = new HitState(home, MAX_RESIDUAL_WEIGHT, want, roomBytes);
    const sumsAt = state.roomAt + tables.length;
    const rangesAt = sumsAt + SUMS_BYTES;
    bytes.set(tables, state.roomAt);
    return {
      get limit() {
        return state.limit;
      },
      get held() {
        return state.held;
      },
      ranges(ranges) {
        for (let first = 0; first < ranges.length; first += RANGE * MOST_RANGES) {
          const some = ranges.subarray(first, first + RANGE * MOST_RANGES);
          const count = some.length / RANGE;
          new Uint32Array(bytes.buffer, rangesAt, some.length).set(some);
          for (let done = 0; ; state.drain()) {
            done += kernels.hitsOfResiduals(
              ...([from.bytes.byteOffset, rangesAt + 4 * RANGE * done, count - done] as const),
              from.bytesPerRow,
              ...([state.roomAt, base, factor, sumsAt, state.at] as const),
            );
            if (done === count) break;
          }
        }
      },
      hits: () => state.drain(),
    };
  },
};
