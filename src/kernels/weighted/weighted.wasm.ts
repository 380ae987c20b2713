/**
 * The WebAssembly kernel of weighted distances, see weighted.assembly.ts. It searches codes that
 * are in one linear memory with their rows, as those of a CodeMemory are; the scalar kernel
 * searches others.
 */

import { HitState } from '../hits/hit-state';
import { memoryOf } from '../memory';
import { scalarWeighted, type WeightedKernel } from './weighted.scalar';

export const wasmWeighted: WeightedKernel = {
  name: 'wasm',

  search(from, weights, want) {
    const { codes, rows, bytesPerCode } = from;
    const memory = memoryOf(codes);
    if (memory === undefined || rows.buffer !== codes.buffer) {
      return scalarWeighted.search(from, weights, want);
    }
    const state = new HitState(memory, weights.maxWeight, want, weights.tables.length);
    const { at, extraAt } = state;
    memory.bytes.set(weights.tables, extraAt);
    const { weightedHits } = memory.kernels;
    return state.search((first, end) =>
      weightedHits(codes.byteOffset, first, end, bytesPerCode, extraAt, rows.byteOffset, at),
    );
  },
};
