/**
 * The ids of an index's rows: all are of one kind, which the first rows decide, and each belongs to
 * one row. Where none are given, each row is its own id.
 */

import { checkIds, type Ids, wrongType, wrongValue } from '../base/check';
import { newSecret, scrambled } from '../base/hash-tables';

/** The name of a row: all rows of an index have ids of one kind. */
export type Id = string | number | bigint;

/** The kind of an index's ids, which the first added rows decide: 'row' if they had none. */
export type IdKind = 'row' | 'number' | 'bigint' | 'string';

/**
 * An id as an index with ids of this kind holds it: up to 2^53 an integer is the same id as a
 * number and as a bigint. Null where no row of such an index can have the id.
 */
export function idOfKind(id: Id, kind: IdKind | null): Id | null {
  if (kind === null) return null;
  if (kind === 'string' || typeof id === 'string') return typeof id === kind ? id : null;
  if (typeof id === 'number') {
    if (!Number.isSafeInteger(id)) return null;
    return kind === 'bigint' ? BigInt(id) : id;
  }
  if (typeof id !== 'bigint') return null; // as a caller without types may give
  if (kind === 'bigint') return id;
  const number = Number(id);
  return Number.isSafeInteger(number) ? number : null;
}

/** Most rows of an index: larger 32-bit numbers have other meanings. */
export const MAX_ROWS = 0xffff_fff0;

const MIN_CELLS = 16;

/**
 * Positions of rows by the hash of their id: a hash table with linear probing of 8 bytes a cell,
 * at most two thirds full, that grows by a quarter, so that 12 to 15 bytes a row find an id. It
 * holds no ids: the caller compares them.
 */
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
    this.#put(secretHashOf(id, this.#secret), position + 1);
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
    let at = this.#homeOf(secretHashOf(id, this.#secret));
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
    const hash = secretHashOf(id, this.#secret);
    for (let at = this.#homeOf(hash); this.#cells[at] !== 0; at = this.#after(at)) {
      if (this.#hashes[at] === hash && isIt(this.#cells[at] - 1)) return this.#cells[at] - 1;
    }
    return -1;
  }
}

/** A hash under a secret, since ids come from outside. */
function secretHashOf(id: Id, secret: Uint32Array): number {
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

/** Ids that were checked, of rows that will be added. */
interface CheckedIds {
  readonly ids: readonly Id[] | null;
  /** Null where there are no rows, old or new. */
  readonly kind: IdKind | null;
}

/** The rules of the ids of one index. */
export class IdRules {
  /** Null while there were no rows. */
  kind: IdKind | null;

  constructor(kind: IdKind | null = null) {
    this.kind = kind;
  }

  /**
   * Checks the kinds of ids for `count` new rows against each other and those that are there.
   * Changes nothing: `take` does when the rows are added.
   */
  check(given: unknown, count: number): CheckedIds {
    if (count === 0) {
      if (given !== undefined && given !== null) checkIds(typedIfBig(given), count);
      return { ids: null, kind: this.kind };
    }
    if (given === undefined || given === null) {
      if (this.kind !== null && this.kind !== 'row') {
        throw wrongType('ids', `ids of kind ${this.kind}, as the rows before have`, given);
      }
      return { ids: null, kind: 'row' };
    }
    const checked = checkIds(typedIfBig(given), count);
    const kind = typeof (given as Ids)[0] as IdKind;
    if (this.kind === 'row') {
      throw wrongType('ids', 'none, since the rows before have none', given);
    }
    if (this.kind !== null && kind !== this.kind) {
      const name = count === 1 ? 'id' : 'ids[0]';
      throw wrongType(name, `a ${this.kind}, as the ids before`, checked[0]);
    }
    const ids = kind === 'string' ? (given as readonly string[]) : Array.from(given as Int32Array);
    if (kind === 'bigint') checkWidth(ids as readonly unknown[] as bigint[]);
    return { ids, kind };
  }

  /** Notes the ids of rows that are added. */
  take({ kind }: CheckedIds): void {
    this.kind ??= kind;
  }
}

/** Finds ids that are given twice, or that belong to a row already. */
export class IdsOnce {
  readonly #ids: readonly Id[];
  readonly #isThere: (id: Id) => boolean;
  readonly #seen: IdLookup;

  constructor(ids: readonly Id[], isThere: (id: Id) => boolean) {
    this.#ids = ids;
    this.#isThere = isThere;
    this.#seen = new IdLookup(ids.length);
  }

  /** Throws for one of the ids `first` to `end - 1`; ranges must follow one another. */
  check(first: number, end: number): void {
    const ids = this.#ids;
    for (let i = first; i < end; i++) {
      const id = ids[i];
      const isAgain = this.#seen.find(id, (at) => ids[at] === id) >= 0;
      if (isAgain || this.#isThere(id)) throw duplicate(i, id, ids.length);
      this.#seen.add(id, i);
    }
  }
}

/** Throws where an id is not a signed integer of 64 bits, as columns of files hold them. */
function checkWidth(ids: readonly bigint[]): void {
  ids.forEach((id, i) => {
    if (BigInt.asIntN(64, id) === id) return;
    throw wrongValue(`ids[${i}]`, 'an integer from -2^63 to 2^63 - 1, or a text', id);
  });
}

/** Bigints of a plain array as a typed array, for `checkIds`; their width is not checked. */
function typedIfBig(ids: unknown): unknown {
  if (!Array.isArray(ids) || typeof ids[0] !== 'bigint') return ids;
  ids.forEach((id, i) => {
    if (typeof id !== 'bigint') throw wrongType(`ids[${i}]`, 'all strings or all integers', id);
  });
  return BigInt64Array.from(ids);
}

/** The error for an id that is not new; of one row alone it has no position. */
export function duplicate(index: number, id: Id, count: number): RangeError {
  const name = count === 1 ? 'id' : `ids[${index}]`;
  return wrongValue(name, 'an id that is not there yet', id);
}
