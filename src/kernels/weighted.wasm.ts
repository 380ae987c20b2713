/**
 * The WebAssembly twin of weighted.scalar.ts, see assembly/weighted.ts. Codes and their rows must
 * live in one linear memory, as those of a CodeMemory do; others are looked at by the scalar twin.
 */

import { FREE_START, residenceOf, SCAN_BYTES } from './memory';
import { HitList, scalarWeighted, type WeightedKernel } from './weighted.scalar';

const STATE_AT = FREE_START;
/** Of the state, as u32. */
const LIMIT = 0;
const WANT = 1;
const HELD = 2;
const NEXT_HIT = 3;
const HITS_END = 4;
const COUNTS = 16;

export const wasmWeighted: WeightedKernel = {
  name: 'wasm',

  search(from, { tables, most }, want) {
    const home = residenceOf(from.codes);
    if (home === undefined || from.rows.buffer !== from.codes.buffer) {
      return scalarWeighted.search(from, { tables, most }, want);
    }
    const { kernels } = home;
    const { buffer } = home.bytes;
    const tablesAt = (STATE_AT + 4 * (COUNTS + most + 1) + 15) & ~15;
    const hitsAt = tablesAt + tables.length;
    const state = new Uint32Array(buffer, STATE_AT, COUNTS + most + 1).fill(0);
    state[LIMIT] = most;
    state[WANT] = want;
    state[NEXT_HIT] = hitsAt;
    state[HITS_END] = FREE_START + SCAN_BYTES;
    home.bytes.set(tables, tablesAt);
    const list = new HitList();
    const drain = () => {
      const pairs = new Uint32Array(buffer, hitsAt, (state[NEXT_HIT] - hitsAt) / 4);
      const limit = state[LIMIT];
      for (let i = 0; i < pairs.length; i += 2) {
        if (pairs[i + 1] <= limit) list.push(pairs[i], pairs[i + 1]);
      }
      state[NEXT_HIT] = hitsAt;
    };
    const codesAt = from.codes.byteOffset;
    const rowsAt = from.rows.byteOffset;
    const { bytesPerCode } = from;
    return {
      get limit() {
        return state[LIMIT];
      },
      get held() {
        return state[HELD];
      },
      range(first, end) {
        let next = first;
        for (;;) {
          next = kernels.weightedHits(
            ...([codesAt, next, end, bytesPerCode, tablesAt, rowsAt, STATE_AT] as const),
          );
          if (next >= end) return;
          drain();
        }
      },
      hits() {
        drain();
        return list;
      },
    };
  },
};
