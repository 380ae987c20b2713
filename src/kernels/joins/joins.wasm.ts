/**
 * The WebAssembly kernel of joins, see joins.assembly.ts. A JoinMemory without WebAssembly goes to
 * the scalar kernel.
 */

import { memoryOf, SCAN_BYTES } from '../memory';
import { HIT, type JoinMemory } from './join-memory';
import { type JoinKernel, scalarJoins } from './joins.scalar';

/** From the scratch space on: a state, the parts of a key, and results of `distinctInto`. */
const PARTS_AT = 32;
const PART_BYTES = 12;
const DISTINCT_AT = PARTS_AT + PART_BYTES * 2048; // the widest code has 2,048 words
const MAX_DISTINCT = (SCAN_BYTES - DISTINCT_AT) / 4;

const wordsOf = ({ words }: JoinMemory) => words / 2;

export const wasmJoins: JoinKernel = {
  name: 'wasm',

  distinctInto(memory, first, end, found, mask, distinct) {
    const home = memoryOf(memory.codes);
    if (home === undefined)
      return scalarJoins.distinctInto(memory, first, end, found, mask, distinct);
    const secret = [...memory.secret] as [number, number, number];
    const distinctAt = home.free + DISTINCT_AT;
    let count = found;
    for (let from = first; from < end; from += MAX_DISTINCT) {
      const to = Math.min(end, from + MAX_DISTINCT);
      count = home.kernels.distinctInto(
        ...([memory.codes.byteOffset, wordsOf(memory), from, to, count] as const),
        ...([memory.entries.byteOffset, mask, ...secret, distinctAt] as const),
      );
      distinct.set(new Uint32Array(home.bytes.buffer, distinctAt, to - from), from - first);
    }
    return count;
  },

  keysInto(memory, first, end, key) {
    const home = memoryOf(memory.codes);
    if (home === undefined) return scalarJoins.keysInto(memory, first, end, key);
    const { parts, hashShift, lowBits } = key;
    const staged = parts.flatMap(({ word, left, right }) => [4 * word, left, right]);
    const partsAt = home.free + PARTS_AT;
    new Uint32Array(home.bytes.buffer, partsAt, staged.length).set(staged);
    home.kernels.keysInto(
      ...([memory.codes.byteOffset, wordsOf(memory), first, end, partsAt, parts.length] as const),
      ...([hashShift, lowBits, memory.entries.byteOffset, memory.counts.byteOffset] as const),
    );
  },

  scatter(from, first, end, to, { shift, mask }, offsets) {
    const home = memoryOf(from);
    const isHome = memoryOf(to) === home && memoryOf(offsets) === home;
    if (home === undefined || !isHome)
      return scalarJoins.scatter(from, first, end, to, { shift, mask }, offsets);
    home.kernels.scatter(
      ...([from.byteOffset, first, end, to.byteOffset, shift, mask, offsets.byteOffset] as const),
    );
  },

  runs(memory, end, state) {
    const home = memoryOf(memory.codes);
    if (home === undefined) return scalarJoins.runs(memory, end, state);
    const registers = new Uint32Array(home.bytes.buffer, home.free, 4);
    registers.set([state.place, 0, 0, state.budget]);
    const { maxDistance, rejects, fromCode, toCode } = state;
    const hitsAt = memory.hits.byteOffset;
    state.next = home.kernels.joinRuns(
      ...([memory.entries.byteOffset, state.next, end, memory.codes.byteOffset] as const),
      ...([wordsOf(memory), maxDistance, memory.masks.byteOffset, rejects] as const),
      ...([fromCode, toCode, memory.longestRun, memory.gather.byteOffset, hitsAt] as const),
      ...([hitsAt + memory.hits.byteLength, home.free] as const),
    );
    state.place = registers[0];
    state.longEnd = registers[2];
    state.budget = registers[3] | 0;
    return (registers[1] - hitsAt) / (4 * HIT);
  },
};
