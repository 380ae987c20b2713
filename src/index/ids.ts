/**
 * The ids of an index's rows: all are of one kind, which the first rows decide, and each belongs to
 * one row. Where none are given, each row is its own id.
 */

import { checkIds, wrongType, wrongValue } from '../base/check';
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

/** A Map holds at most 2^24 entries, so that a lookup has several of at most so many. */
const MAP_IDS = 2 ** 23;
/** Bytes that a Map takes for an entry, about. */
const BYTES_PER_ID = 40;

/**
 * Positions of rows by id. An engine hashes texts under a secret, but numbers by a function that
 * anyone can compute, so that ids could be chosen which all collide: its Maps get other numbers.
 */
export class IdLookup {
  readonly #secret = newSecret();
  readonly #maps: Map<string | number, number>[] = [new Map()];

  /** What stands for an id, one to one. */
  #keyOf(id: Id): string | number {
    if (typeof id === 'string') return id;
    const isInt32 = typeof id === 'number' && id === (id | 0);
    return isInt32 ? scrambled(id, this.#secret) : String(id);
  }

  get bytes(): number {
    return BYTES_PER_ID * this.#maps.reduce((sum, { size }) => sum + size, 0);
  }

  /** The position of an id; undefined where there is none. */
  find(id: Id): number | undefined {
    const key = this.#keyOf(id);
    for (const map of this.#maps) {
      const position = map.get(key);
      if (position !== undefined) return position;
    }
    return undefined;
  }

  /** Sets the position of an id, in place of the one before. */
  set(id: Id, position: number): void {
    const key = this.#keyOf(id);
    let map = this.#maps.find((one) => one.has(key)) ?? this.#maps[this.#maps.length - 1];
    if (map.size === MAP_IDS && !map.has(key)) {
      map = new Map();
      this.#maps.push(map);
    }
    map.set(key, position);
  }

  /** Removes an id that has this position. */
  remove(id: Id, position: number): void {
    const key = this.#keyOf(id);
    for (const map of this.#maps) if (map.get(key) === position) map.delete(key);
  }
}

/**
 * Checks the ids of `count` new rows, in an index with ids of this kind. Returns them as the index
 * holds them, null for rows that are their own ids, and the kind that the index has then.
 */
export function newIds(
  kind: IdKind | null,
  given: unknown,
  count: number,
): { readonly ids: readonly Id[] | null; readonly kind: IdKind | null } {
  if (given === undefined || given === null) {
    if (count > 0 && kind !== null && kind !== 'row') {
      const name = count === 1 ? 'id' : 'ids';
      throw wrongType(name, `ids of kind ${kind}, as the rows before have`, given);
    }
    return { ids: null, kind: count === 0 ? kind : 'row' };
  }
  const ids = Array.from<Id>(checkIds(typedIfBig(given), count));
  if (count === 0) return { ids: null, kind };
  const first = (given as readonly Id[])[0];
  const own = typeof first as IdKind;
  if (kind !== null && own !== kind) {
    const name = count === 1 ? 'id' : 'ids[0]';
    const isNone = kind === 'row';
    const wanted = isNone ? 'none, as the rows before have none' : `a ${kind}, as the ids before`;
    throw wrongType(name, wanted, first);
  }
  return { ids: own === 'number' ? Array.from(ids, Number) : ids, kind: own };
}

/** Bigints as a typed array, for `checkIds`; throws where one is no signed integer of 64 bits. */
function typedIfBig(given: unknown): unknown {
  const isBig = given instanceof BigUint64Array;
  if (!isBig && !(Array.isArray(given) && typeof given[0] === 'bigint')) return given;
  return BigInt64Array.from(given as Iterable<unknown> & ArrayLike<unknown>, (id, i) => {
    if (typeof id !== 'bigint') throw wrongType(`ids[${i}]`, 'all strings or all integers', id);
    if (BigInt.asIntN(64, id) === id) return id;
    throw wrongValue(`ids[${i}]`, 'an integer from -2^63 to 2^63 - 1, or a text', id);
  });
}

/**
 * Returns a function that throws for one of the ids `first` to `end - 1` which is given twice, or
 * which `isThere` finds; ranges must follow one another.
 */
export function idsOnce(ids: readonly Id[], isThere: (id: Id) => boolean) {
  const seen = new IdLookup();
  return (first: number, end: number): void => {
    for (let i = first; i < end; i++) {
      const id = ids[i];
      if (seen.find(id) !== undefined || isThere(id)) throw duplicate(i, id, ids.length);
      seen.set(id, i);
    }
  };
}

/** The error for an id that is not new; of one row alone it has no position. */
export function duplicate(index: number, id: Id, count: number): RangeError {
  const name = count === 1 ? 'id' : `ids[${index}]`;
  return wrongValue(name, 'an id that is not there yet', id);
}
