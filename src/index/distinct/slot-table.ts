/**
 * Slots by the hash of their code: open addressing, at most three quarters full. An entry is a slot
 * and, in the bits that slots leave free, as much of the hash, so that codes are seldom looked at
 * in vain. Made from the codes when it is needed, since a search needs none.
 */

import type { Steps } from '../../base/steps';
import type { CodeMemory } from '../../kernels/hamming/code-memory';

/** In place of a slot: no such code is there. */
export const NO_SLOT = 0xffff_ffff;
const LEAST_SIZE = 128;
/** Slots between two steps of making a table. */
const STEP_SLOTS = 2 ** 14;

export class SlotTable {
  readonly #memory: CodeMemory;
  readonly #entries: Uint32Array;
  /** Where the code that was looked for last belongs, and its hash. */
  #at = 0;
  #hash = 0;
  /** Where values go that are read for the caches alone. */
  sink = 0;

  private constructor(memory: CodeMemory, size: number) {
    this.#memory = memory;
    this.#entries = new Uint32Array(size).fill(NO_SLOT);
  }

  /** A table of the first `count` codes with room for `more`: they fit 31 bits. */
  static *of(memory: CodeMemory, count: number, more: number): Steps<SlotTable> {
    let size = LEAST_SIZE;
    while (3 * size < 4 * (count + more)) size *= 2;
    const table = new SlotTable(memory, size);
    const entries = table.#entries;
    const mask = size - 1;
    for (let slot = 0; slot < count; slot++) {
      const hash = hashOf(memory.codes, slot * memory.bytesPerCode, memory.bytesPerCode);
      let at = hash & mask;
      for (let hop = 1; entries[at] !== NO_SLOT; hop++) at = (at + hop) & mask;
      entries[at] = (hash & ~mask) | slot;
      if (slot % STEP_SLOTS === STEP_SLOTS - 1) yield undefined;
    }
    return table;
  }

  get bytes(): number {
    return this.#entries.byteLength;
  }

  /** True when so many codes fit. */
  holds(count: number): boolean {
    return 4 * count <= 3 * this.#entries.length;
  }

  /** Reads where codes belong, so that their cache misses overlap; `find` comes right after. */
  lookAhead(codes: Uint8Array): void {
    const entries = this.#entries;
    const mask = entries.length - 1;
    const { bytesPerCode } = this.#memory;
    let sink = 0;
    for (let at = 0; at < codes.length; at += bytesPerCode) {
      sink ^= entries[hashOf(codes, at, bytesPerCode) & mask];
    }
    this.sink ^= sink;
  }

  /** The slot of a code, or NO_SLOT. */
  find(code: Uint8Array): number {
    const entries = this.#entries;
    const mask = entries.length - 1;
    const hash = hashOf(code, 0, code.length);
    let at = hash & mask;
    let slot = NO_SLOT;
    for (let hop = 1; entries[at] !== NO_SLOT; at = (at + hop++) & mask) {
      if (((entries[at] ^ hash) & ~mask) !== 0) continue;
      if (!isEqual(this.#memory, entries[at] & mask, code)) continue;
      slot = entries[at] & mask;
      break;
    }
    this.#at = at;
    this.#hash = hash & ~mask;
    return slot;
  }

  /** Puts in the code that `find` did not find. */
  put(slot: number): void {
    this.#entries[this.#at] = this.#hash | slot;
  }
}

/** True when a slot has this code. */
export function isEqual(memory: CodeMemory, slot: number, code: Uint8Array): boolean {
  const { codes } = memory;
  let at = slot * memory.bytesPerCode;
  for (let i = 0; i < code.length; i++) if (codes[at++] !== code[i]) return false;
  return true;
}

/** Any hash will do: it decides nothing that is seen. */
function hashOf(bytes: Uint8Array, from: number, count: number): number {
  let hash = count;
  let at = from;
  for (const end = from + (count & ~3); at < end; at += 4) {
    const word = bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24);
    hash = Math.imul(hash ^ word, 0x9e37_79b1);
    hash ^= hash >>> 15;
  }
  for (; at < from + count; at++) hash = Math.imul(hash ^ bytes[at], 0x9e37_79b1);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b);
  return hash ^ (hash >>> 13);
}
