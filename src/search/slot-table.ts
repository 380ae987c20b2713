/**
 * Slots by the hash of their code: open addressing, at most three quarters full. Made from the
 * codes when it is needed, since a search needs none.
 */

import type { CodeMemory } from '../kernels/code-memory';
import type { Steps } from '../long-call';

/** In place of a slot: no such code is there. */
export const NO_SLOT = 0xffff_ffff;
const LEAST_SIZE = 128;
/** Slots between two steps of making a table. */
const STEP_SLOTS = 2 ** 14;

export class SlotTable {
  readonly #memory: CodeMemory;
  readonly #slots: Uint32Array;
  /** Where the code that was looked for last belongs. */
  #at = 0;

  private constructor(memory: CodeMemory, size: number) {
    this.#memory = memory;
    this.#slots = new Uint32Array(size).fill(NO_SLOT);
  }

  /** A table of the first `count` codes with room for `more`. */
  static *of(memory: CodeMemory, count: number, more: number): Steps<SlotTable> {
    let size = LEAST_SIZE;
    while (3 * size < 4 * (count + more)) size *= 2;
    const table = new SlotTable(memory, size);
    const mask = size - 1;
    for (let slot = 0; slot < count; slot++) {
      let at = hashOf(memory.codes, slot * memory.bytesPerCode, memory.bytesPerCode) & mask;
      while (table.#slots[at] !== NO_SLOT) at = (at + 1) & mask;
      table.#slots[at] = slot;
      if (slot % STEP_SLOTS === STEP_SLOTS - 1) yield undefined;
    }
    return table;
  }

  get bytes(): number {
    return this.#slots.byteLength;
  }

  /** True when so many codes fit. */
  holds(count: number): boolean {
    return 4 * count <= 3 * this.#slots.length;
  }

  /** The slot of a code, or NO_SLOT. */
  find(code: Uint8Array): number {
    const slots = this.#slots;
    const mask = slots.length - 1;
    let at = hashOf(code, 0, code.length) & mask;
    while (slots[at] !== NO_SLOT && !isEqual(this.#memory, slots[at], code)) at = (at + 1) & mask;
    this.#at = at;
    return slots[at];
  }

  /** Puts in the code that `find` did not find. */
  put(slot: number): void {
    this.#slots[this.#at] = slot;
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
