/**
 * The WebAssembly twin of sketches.scalar.ts, see assembly/sketches.ts. Rows must live in a
 * linear memory, as those of a SketchMemory do; others are looked at by the scalar twin.
 */

import { HitState } from '../hits/hit-state';
import { residenceOf } from '../memory';
import { MOST_SKETCH_WEIGHT, RANGE, type SketchKernel, scalarSketches } from './residuals.scalar';

/** Ranges of one call, and room for the sums of two blocks. */
const MOST_RANGES = 4096;
const SUMS_BYTES = 64;

export const wasmSketches: SketchKernel = {
  name: 'wasm',

  search(from, query, want) {
    const home = residenceOf(from.bytes);
    if (home === undefined) return scalarSketches.search(from, query, want);
    const { kernels, bytes } = home;
    const { tables, base, factor } = query;
    const roomBytes = tables.length + SUMS_BYTES + 4 * RANGE * MOST_RANGES;
    const state = new HitState(home, MOST_SKETCH_WEIGHT, want, roomBytes);
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
            done += kernels.hitsOfSketches(
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
