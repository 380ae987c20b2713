/**
 * The WebAssembly kernel of joins, see joins.assembly.ts. A JoinMemory without WebAssembly goes to
 * the scalar kernel.
 */

import { memoryOf } from '../memory';
import { HIT, type JoinMemory } from './join-memory';
import { type JoinKernel, scalarJoins } from './joins.scalar';

/** The scratch space begins with a state; the parts of a key follow. */
const PARTS_AT = 32;
const PART_BYTES = 12;
/** A thread's own arrays begin here or later: the widest code has 2,048 words, a part each. */
export const JOIN_WORK_AT = PARTS_AT + PART_BYTES * 2048;

/** 64-bit words of a code. */
const words64Of = ({ words }: JoinMemory) => words / 2;
/** The linear memory of a join, or undefined without WebAssembly. */
const homeOf = ({ arrays }: JoinMemory) => memoryOf(arrays.codes);

export const wasmJoins: JoinKernel = {
  name: 'wasm',

  keysInto(memory, first, end, key, counts) {
    const home = homeOf(memory);
    if (home === undefined) return scalarJoins.keysInto(memory, first, end, key, counts);
    const { codes, entries } = memory.arrays;
    const { parts, hashShift, lowBits } = key;
    const staged = parts.flatMap(({ word, left, right }) => [4 * word, left, right]);
    const partsAt = home.free + PARTS_AT;
    new Uint32Array(home.bytes.buffer, partsAt, staged.length).set(staged);
    home.kernels.keysInto(
      ...([codes.byteOffset, words64Of(memory), first, end, partsAt, parts.length] as const),
      ...([hashShift, lowBits, entries.byteOffset, counts.byteOffset] as const),
    );
  },

  hashesInto(memory, first, end, hash, counts) {
    const home = homeOf(memory);
    if (home === undefined) return scalarJoins.hashesInto(memory, first, end, hash, counts);
    const { codes, entries } = memory.arrays;
    const secret = [...hash.secret] as [number, number, number];
    home.kernels.hashesInto(
      ...([codes.byteOffset, words64Of(memory), first, end, ...secret, hash.shift] as const),
      ...([entries.byteOffset, counts.byteOffset] as const),
    );
  },

  scatter(memory, first, end, shift, offsets) {
    const home = homeOf(memory);
    if (home === undefined) return scalarJoins.scatter(memory, first, end, shift, offsets);
    const { entries, sorted } = memory.arrays;
    const places = [entries.byteOffset, first, end, sorted.byteOffset] as const;
    home.kernels.scatter(...places, shift, offsets.byteOffset);
  },

  sortLow(memory, first, end, digit) {
    const home = homeOf(memory);
    if (home === undefined) return scalarJoins.sortLow(memory, first, end, digit);
    const { entries, sorted } = memory.arrays;
    const places = [sorted.byteOffset, first, end, entries.byteOffset] as const;
    home.kernels.sortLow(...places, digit.shift, digit.bits, memory.lows.byteOffset);
  },

  equalsInto(memory, first, end, shift) {
    const home = homeOf(memory);
    if (home === undefined) return scalarJoins.equalsInto(memory, first, end, shift);
    const { codes, entries, firsts } = memory.arrays;
    const places = [codes.byteOffset, words64Of(memory), entries.byteOffset, first, end] as const;
    return home.kernels.equalsInto(...places, shift, firsts.byteOffset);
  },

  numberInto(memory, first, end, found) {
    const home = homeOf(memory);
    if (home === undefined) return scalarJoins.numberInto(memory, first, end, found);
    const { codes, firsts } = memory.arrays;
    const places = [codes.byteOffset, words64Of(memory), firsts.byteOffset] as const;
    return home.kernels.numberInto(...places, first, end, found);
  },

  runs(memory, end, state) {
    const home = homeOf(memory);
    if (home === undefined) return scalarJoins.runs(memory, end, state);
    const { codes, entries, masks } = memory.arrays;
    // The state of joins.assembly.ts: position, end of the hits, end of a long run, budget.
    const registers = new Uint32Array(home.bytes.buffer, home.free, 4);
    registers.set([state.place, 0, 0, state.budget]);
    const { maxDistance, rejects, fromCode, toCode } = state;
    const hitsAt = memory.hits.byteOffset;
    state.next = home.kernels.joinRuns(
      ...([entries.byteOffset, state.next, end, codes.byteOffset] as const),
      ...([words64Of(memory), maxDistance, masks.byteOffset, rejects] as const),
      ...([fromCode, toCode, memory.longestRun, memory.gather.byteOffset, hitsAt] as const),
      ...([hitsAt + memory.hits.byteLength, home.free] as const),
    );
    state.place = registers[0];
    state.longEnd = registers[2];
    state.budget = registers[3] | 0;
    return (registers[1] - hitsAt) / (4 * HIT);
  },
};
