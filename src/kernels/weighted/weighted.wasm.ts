/**
 * The WebAssembly twin of weighted.scalar.ts, see assembly/weighted.ts. Codes and their rows must
 * live in one linear memory, as those of a CodeMemory do; others are looked at by the scalar twin.
 */

import { HitState, searchInRanges } from '../hits/hit-state';
import { residenceOf } from '../memory';
import { scalarWeighted, type WeightedKernel } from './weighted.scalar';

export const wasmWeighted: WeightedKernel = {
  name: 'wasm',

  search(from, { tables, most }, want) {
    const home = residenceOf(from.codes);
    if (home === undefined || from.rows.buffer !== from.codes.buffer) {
      return scalarWeighted.search(from, { tables, most }, want);
    }
    const state = new HitState(home, most, want, tables.length);
    home.bytes.set(tables, state.roomAt);
    const codesAt = from.codes.byteOffset;
    const rowsAt = from.rows.byteOffset;
    const { bytesPerCode } = from;
    const { weightedHits } = home.kernels;
    return searchInRanges(state, (first, end) => {
      return weightedHits(codesAt, first, end, bytesPerCode, state.roomAt, rowsAt, state.at);
    });
  },
};
