/**
 * The WebAssembly twin of cosines8.scalar.ts, see assembly/cosines8.ts. Rows and scales must live
 * in one linear memory, as those of a ByteMemory do; others are looked at by the scalar twin.
 */

import { type Cosines8Kernel, MOST_BYTE_WEIGHT, scalarCosines8 } from './cosines8.scalar';
import { HitState } from './hit-state';
import { residenceOf, SCAN_BYTES } from './memory';

/** Ranges of one call. */
const MOST_RANGES = 4096;
/** Room for ranges, hits and state. */
const LEAST_ROOM = 2 ** 17;

export const wasmCosines8: Cosines8Kernel = {
  name: 'wasm',

  search(from, query, want) {
    const { width } = from;
    const home = residenceOf(from.values);
    const fits = 2 * width + LEAST_ROOM <= SCAN_BYTES;
    if (home === undefined || from.scales.buffer !== from.values.buffer || !fits) {
      return scalarCosines8.search(from, query, want);
    }
    const { kernels, bytes } = home;
    const state = new HitState(home, MOST_BYTE_WEIGHT, want, 2 * width + 8 * MOST_RANGES);
    const queryAt = state.roomAt;
    const rangesAt = queryAt + 2 * width;
    new Int16Array(bytes.buffer, queryAt, width).set(query);
    const staged = new Uint32Array(bytes.buffer, rangesAt, 2 * MOST_RANGES);
    const rowsAt = from.values.byteOffset;
    const scalesAt = from.scales.byteOffset;
    return {
      get limit() {
        return state.limit;
      },
      get held() {
        return state.held;
      },
      ranges(pairs) {
        for (let from = 0; from < pairs.length; from += 2 * MOST_RANGES) {
          const some = pairs.subarray(from, from + 2 * MOST_RANGES);
          const count = some.length / 2;
          staged.set(some);
          for (let done = 0; ; state.drain()) {
            done += kernels.hitsOfRanges8(
              ...([rowsAt, scalesAt, rangesAt + 8 * done, count - done] as const),
              ...([width, queryAt, state.at] as const),
            );
            if (done === count) break;
          }
        }
      },
      hits: () => state.drain(),
    };
  },
};
