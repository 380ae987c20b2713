/**
 * Positions of rows by the hash of their id: a hash table with linear probing of 8 bytes a cell,
 * at most two thirds full, that grows by a quarter, so that 12 to 15 bytes a row find an id. It
 * holds no ids: the caller compares them.
 */

import { newSecret, scrambled } from '../base/secret';
import type { Id } from './ids';

const MIN_CELLS = 16;

export class IdLookup {
  readonly #secret = newSecret();
  /** Positions plus 1; 0 where a cell is free. */
  #cells: Uint32Array;
  /** Hashes of what the cells hold, so that growing needs no ids. */
  #hashes: Int32Array;
  #count = 0;

  constructor(expected: number) {
    const size = Math.max(MIN_CELLS, Math.ceil((expected * 3) / 2));
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
    let at = this.#homeOf(hash);
    while (this.#cells[at] !== 0) at = this.#after(at);
    this.#cells[at] = cell;
    this.#hashes[at] = hash;
  }

  /** The cell where the search for a hash begins. */
  #homeOf(hash: number): number {
    return Math.floor(((hash >>> 0) / 2 ** 32) * this.#cells.length);
  }

  #after(at: number): number {
    return at + 1 < this.#cells.length ? at + 1 : 0;
  }

  /** How many cells lie between two, in the order of the search. */
  #distance(from: number, to: number): number {
    return to >= from ? to - from : to - from + this.#cells.length;
  }

  #grow(): void {
    const [cells, hashes] = [this.#cells, this.#hashes];
    const size = Math.ceil(1.25 * cells.length);
    this.#cells = new Uint32Array(size);
    this.#hashes = new Int32Array(size);
    for (let at = 0; at < cells.length; at++) if (cells[at] > 0) this.#put(hashes[at], cells[at]);
  }

  /** Removes what `add` added: what follows moves up, so that no cell is lost. */
  remove(id: Id, position: number): void {
    let at = this.#homeOf(hashOfId(id, this.#secret));
    while (this.#cells[at] !== position + 1) {
      if (this.#cells[at] === 0) return;
      at = this.#after(at);
    }
    this.#count--;
    for (let next = at; ; ) {
      next = this.#after(next);
      if (this.#cells[next] === 0) break;
      // A cell may move to where its search begins or behind, not before.
      const home = this.#homeOf(this.#hashes[next]);
      const isBehind = this.#distance(home, next) < this.#distance(at, next);
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
    for (let at = this.#homeOf(hash); this.#cells[at] !== 0; at = this.#after(at)) {
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
