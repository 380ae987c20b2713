/** The WebAssembly twin of joins.scalar.ts, see assembly/joins.ts; plain rooms are left to that. */

import { FREE_START, memoryOf, SCAN_BYTES } from '../memory';
import { HIT, type JoinMemory } from './join-memory';
import { type JoinKernel, scalarJoins } from './joins.scalar';

/** Below the codes: a state, the parts of a key, slots on their way out. */
const STATE_AT = FREE_START;
const PARTS_AT = STATE_AT + 32;
const PART_BYTES = 12;
const SLOTS_AT = PARTS_AT + PART_BYTES * 2048; // the widest code has 2,048 words
const SLOTS = (FREE_START + SCAN_BYTES - SLOTS_AT) / 4;

const wordsOf = ({ words }: JoinMemory) => words / 2;

export const wasmJoins: JoinKernel = {
  name: 'wasm',

  distinctInto(room, first, end, found, mask, slots) {
    const home = memoryOf(room.codes);
    if (home === undefined) return scalarJoins.distinctInto(room, first, end, found, mask, slots);
    let count = found;
    for (let from = first; from < end; from += SLOTS) {
      const to = Math.min(end, from + SLOTS);
      count = home.kernels.distinctInto(
        ...([room.codes.byteOffset, wordsOf(room), from, to, count] as const),
        ...([room.entries.byteOffset, mask, SLOTS_AT] as const),
      );
      slots.set(new Uint32Array(home.bytes.buffer, SLOTS_AT, to - from), from - first);
    }
    return count;
  },

  keysInto(room, first, end, key) {
    const home = memoryOf(room.codes);
    if (home === undefined) return scalarJoins.keysInto(room, first, end, key);
    const { parts, hashShift, lowBits } = key;
    const staged = parts.flatMap(({ word, left, right }) => [4 * word, left, right]);
    new Uint32Array(home.bytes.buffer, PARTS_AT, staged.length).set(staged);
    home.kernels.keysInto(
      ...([room.codes.byteOffset, wordsOf(room), first, end, PARTS_AT, parts.length] as const),
      ...([hashShift, lowBits, room.entries.byteOffset, room.counts.byteOffset] as const),
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

  runs(room, end, state) {
    const home = memoryOf(room.codes);
    if (home === undefined) return scalarJoins.runs(room, end, state);
    const registers = new Uint32Array(home.bytes.buffer, STATE_AT, 4);
    registers.set([state.place, 0, 0, state.budget]);
    const { maxDistance, rejects, fromCode, toCode } = state;
    const hitsAt = room.hits.byteOffset;
    state.next = home.kernels.joinRuns(
      ...([room.entries.byteOffset, state.next, end, room.codes.byteOffset] as const),
      ...([wordsOf(room), maxDistance, room.masks.byteOffset, rejects] as const),
      ...([fromCode, toCode, room.longestRun, room.gather.byteOffset, hitsAt] as const),
      ...([hitsAt + room.hits.byteLength, STATE_AT] as const),
    );
    state.place = registers[0];
    state.longEnd = registers[2];
    state.budget = registers[3] | 0;
    return (registers[1] - hitsAt) / (4 * HIT);
  },
};
