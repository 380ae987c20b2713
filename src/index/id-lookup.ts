/**
 * Positions of rows by the hash of their id: a hash table with linear probing of 4 bytes a cell,
 * at most two thirds full, so that 6 to 12 bytes a row find an id. It holds no ids: the caller
 * compares them.
 */

import { newSecret, scrambled } from '../base/secret';
import type { Id } from './ids';

export class IdLookup {
  readonly #secret = newSecret();
  /** Positions plus 1; 0 where a cell is free. */
  #cells: Uint32Array;
  /** Hashes of what the cells hold, so that growing needs no ids. */
  #hashes: Int32Array;
  #count = 0;

  constructor(expected: number) {
    let size = 16;
    while (size * 2 < expected * 3) size *= 2;
    this.#cells = new Uint32Array(size);
    this.#hashes = new Int32Array(size);
  }

  get bytes(): number {
    return 8 * this.#cells.length;
  }

  /** Adds a position, also where its id is there already. */
  add(id: Id, position: number): void {
    if (3 * ++this.#count > 2 * this.#cells.length) this.#grow();
    this.#put(hashOfId(id, this.#secret), position + 1);
  }

  #put(hash: number, cell: number): void {
    const mask = this.#cells.length - 1;
    let at = hash & mask;
    while (this.#cells[at] !== 0) at = (at + 1) & mask;
    this.#cells[at] = cell;
    this.#hashes[at] = hash;
  }

  #grow(): void {
    const [cells, hashes] = [this.#cells, this.#hashes];
    this.#cells = new Uint32Array(2 * cells.length);
    this.#hashes = new Int32Array(2 * cells.length);
    for (let at = 0; at < cells.length; at++) if (cells[at] > 0) this.#put(hashes[at], cells[at]);
  }

  /** Removes what `add` added: what follows moves up, so that no cell is lost. */
  remove(id: Id, position: number): void {
    const mask = this.#cells.length - 1;
    let at = hashOfId(id, this.#secret) & mask;
    while (this.#cells[at] !== position + 1) {
      if (this.#cells[at] === 0) return;
      at = (at + 1) & mask;
    }
    this.#count--;
    for (let next = at; ; ) {
      next = (next + 1) & mask;
      if (this.#cells[next] === 0) break;
      // A cell may move to where its search begins or behind, not before.
      const isBehind = ((next - this.#hashes[next]) & mask) < ((next - at) & mask);
      if (isBehind) continue;
      this.#cells[at] = this.#cells[next];
      this.#hashes[at] = this.#hashes[next];
      at = next;
    }
    this.#cells[at] = 0;
  }

  /** The position of this id for which `isIt` is true; -1 where there is none. */
  find(id: Id, isIt: (position: number) => boolean): number {
    const hash = hashOfId(id, this.#secret);
    const mask = this.#cells.length - 1;
    for (let at = hash & mask; this.#cells[at] !== 0; at = (at + 1) & mask) {
      if (this.#hashes[at] === hash && isIt(this.#cells[at] - 1)) return this.#cells[at] - 1;
    }
    return -1;
  }
}

/** A hash under a secret, since ids come from outside. */
function hashOfId(id: Id, secret: Uint32Array): number {
  if (typeof id === 'number' && id === (id | 0)) return scrambled(id, secret);
  const text = String(id);
  let hash = secret[0] ^ text.length;
  const one = secret[1] | 1;
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(hash ^ text.charCodeAt(i), one);
    hash ^= hash >>> 15;
  }
  return scrambled(hash, secret);
}
