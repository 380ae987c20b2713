/**
 * The ids of an index's rows, unique strings or integers; where none are given, each row is its own
 * id. Ids are found by row in an array, and rows by id in Maps that are built when first needed.
 */

import { wrongType, wrongValue } from '../base/check';
import { checkIds, type Ids } from '../base/ids';
import { newSecret, scrambled } from '../base/secret';
import { runSteps, type Steps } from '../base/steps';
import { NO_ROW } from '../kernels/hits';

export type Id = string | number | bigint;

/** The kind of an index's ids, which the first added rows decide: 'row' if they had none. */
export type IdKind = 'row' | 'number' | 'bigint' | 'string';

/** A Map holds at most 2^24 keys; further ids go into further Maps. */
const MAP_KEYS = 2 ** 24;
type IdMap = Map<string | number, number>;

/** Ids checked, or entered in a map, between two steps. */
const STEP_IDS = 2 ** 14;

/**
 * Ids in the order of rows. `check` must accept ids before `append` takes them. An index that is
 * filled and never asked for an id builds no Maps, if its ids are known to be unique.
 */
export class IdTable {
  #kind: IdKind | null;
  #ids: Id[] = [];
  #count = 0;
  /** Signs of the bigint ids so far, see `#checkSigns`. */
  readonly #signs = { hasNegative: false, hasHuge: false };
  #removals = 0;
  /** Rows by the keys of ids; null until they are needed. */
  #maps: IdMap[] | null = null;
  readonly #secret = newSecret();

  constructor(kind: IdKind | null = null) {
    this.#kind = kind;
  }

  /** Null while there are no rows. */
  get kind(): IdKind | null {
    return this.#kind;
  }

  /** Grows when rows are removed or numbered again: a search in steps then begins again. */
  get removals(): number {
    return this.#removals;
  }

  /** Estimated bytes: 8 for an id, 48 for its entry in a Map. */
  get bytes(): number {
    if (this.#kind === 'row') return 0;
    return this.#count * (8 + (this.#maps === null ? 0 : 48));
  }

  /**
   * Checks ids for `count` new rows against each other and, unless they may replace rows, against
   * those that are there; changes nothing. Returns null for rows without ids.
   */
  *check(ids: unknown, count: number, mayReplace = false): Steps<readonly Id[] | null> {
    if (ids === undefined || ids === null) {
      if (this.#kind !== null && this.#kind !== 'row') {
        throw wrongType('ids', `ids of kind ${this.#kind}, as the rows before have`, ids);
      }
      return null;
    }
    const checked = checkIds(typedIfBig(ids), count);
    if (count === 0) return [];
    const kind = kindOf(ids as Ids);
    if (this.#kind === 'row') {
      throw wrongType('ids', 'none, since the rows before have none', ids);
    }
    if (this.#kind !== null && kind !== this.#kind) {
      const name = count === 1 ? 'id' : 'ids[0]';
      throw wrongType(name, `a ${this.#kind}, as the ids before`, checked[0]);
    }
    const all = kind === 'string' ? (ids as readonly string[]) : Array.from(ids as Int32Array);
    if (kind === 'bigint') this.#checkSigns(all as readonly unknown[] as readonly bigint[]);
    if (!mayReplace && this.#maps === null && this.#count > 0) {
      const maps = yield* this.#mapped();
      this.#maps ??= maps; // a look-up meanwhile made its own
    }
    // A separate table finds repeated ids within the batch.
    const fresh = new IdTable(kind);
    fresh.#maps = [];
    for (let i = 0; i < count; i++) {
      const isThere = !mayReplace && this.rowOf(all[i]) !== undefined;
      if (isThere || !fresh.#put(all[i], i)) throw duplicate(i, all[i], count);
      if (i % STEP_IDS === STEP_IDS - 1) yield undefined;
    }
    return all;
  }

  /** Throws if ids do not fit one 64-bit column, which holds negative ids or ids from 2^63 on. */
  #checkSigns(ids: readonly bigint[]): void {
    let { hasNegative, hasHuge } = this.#signs;
    ids.forEach((id, i) => {
      hasNegative ||= id < 0n;
      hasHuge ||= id >= 2n ** 63n;
      if (hasNegative && hasHuge) {
        throw wrongValue(`ids[${i}]`, 'ids that one 64-bit type can hold', id);
      }
    });
  }

  /** Appends ids that `check` returned, for the next `count` rows. */
  append(ids: readonly Id[] | null, count: number): void {
    if (count === 0) return;
    this.#kind ??= ids === null ? 'row' : kindOf(ids);
    for (let i = 0; ids !== null && i < count; i++) {
      this.#ids.push(ids[i]);
      if (typeof ids[i] === 'bigint') this.#noteSign(ids[i] as bigint);
      if (this.#maps !== null) this.#put(ids[i], this.#count + i);
    }
    this.#count += count;
  }

  /** Appends rows without ids: removed ones, or ones whose ids, of this kind, will be restored. */
  skip(count: number, kind = this.#kind): void {
    this.#kind = kind;
    // One by one: V8 makes a hash table of an array whose length is set to more than 2^25.
    for (let i = 0; kind !== 'row' && i < count; i++) this.#ids.push(undefined as never);
    this.#count += count;
  }

  /**
   * Gives skipped rows their ids; those whose row is NO_ROW are left out. Throws if an id is there
   * already, unless `isUnique` says that it cannot be: then no Maps need to be built.
   */
  restore(ids: ArrayLike<Id>, rows: Uint32Array, isUnique: boolean): void {
    if (!isUnique) this.#maps ??= [];
    for (let i = 0; i < rows.length; i++) {
      if (rows[i] === NO_ROW) continue;
      const id = ids[i];
      this.#ids[rows[i]] = id;
      if (typeof id === 'bigint') this.#noteSign(id);
      if (!isUnique && !this.#put(id, rows[i])) throw duplicate(i, id, rows.length);
    }
  }

  /** Ids of some rows in the array type of one Arrow column; null where rows are their own ids. */
  columnOf(rows: Uint32Array): Ids | null {
    if (this.#kind === null || this.#kind === 'row') return null;
    const ids = Array.from(rows, (row) => this.#ids[row]);
    if (this.#kind !== 'bigint') return checkIds(ids, ids.length);
    const integers = ids as bigint[];
    return this.#signs.hasHuge ? BigUint64Array.from(integers) : BigInt64Array.from(integers);
  }

  #noteSign(id: bigint): void {
    if (id < 0n) this.#signs.hasNegative = true;
    else if (id >= 2n ** 63n) this.#signs.hasHuge = true;
  }

  /** The row of an id, or undefined. A row that is its own id is found after its removal, too. */
  rowOf(id: Id): number | undefined {
    if (this.#kind === 'row') {
      return typeof id === 'number' && Number.isInteger(id) && id >= 0 && id < this.#count
        ? id
        : undefined;
    }
    if (typeof id !== this.#kind) return undefined;
    this.#maps ??= runSteps(this.#mapped(), {});
    const key = this.#keyOf(id);
    for (const map of this.#maps) {
      const row = map.get(key);
      if (row !== undefined) return row;
    }
    return undefined;
  }

  /** Builds Maps of all ids, in steps. */
  *#mapped(): Steps<IdMap[]> {
    const maps: IdMap[] = [];
    for (let row = 0; row < this.#count; row++) {
      if (this.#ids[row] !== undefined) this.#put(this.#ids[row], row, maps);
      if (row % STEP_IDS === STEP_IDS - 1) yield undefined;
    }
    return maps;
  }

  /** Keeps these rows, ascending, and numbers them from 0 on. */
  keep(rows: Uint32Array): void {
    this.#removals++;
    this.#ids = Array.from(rows, (row) => this.#ids[row]);
    this.#count = rows.length;
    this.#maps = null;
  }

  /** The id of a row; undefined for a removed one that had an id. */
  idOf(row: number): Id {
    return this.#kind === 'row' ? row : this.#ids[row];
  }

  /** Frees the id of a row, so that a new row may have it. */
  remove(row: number): void {
    this.#removals++;
    if (this.#kind === 'row') return;
    for (const map of this.#maps ?? []) map.delete(this.#keyOf(this.#ids[row]));
    this.#ids[row] = undefined as never;
  }

  /** Enters an id into the last Map; returns false if any Map had it. */
  #put(id: Id, row: number, maps = this.#maps as IdMap[]): boolean {
    const key = this.#keyOf(id);
    let map = maps.at(-1);
    if (map === undefined || map.size >= MAP_KEYS) {
      map = new Map();
      maps.push(map);
    }
    const before = map.size;
    map.set(key, row);
    if (map.size === before) return false;
    for (let i = 0; i + 1 < maps.length; i++) if (maps[i].has(key)) return false;
    return true;
  }

  /**
   * The key of an id in a Map. Engines hash strings with a secret but numbers with a known
   * function, so that chosen numbers could all collide: small integers are scrambled by a secret of
   * this table, and all others become strings.
   */
  #keyOf(id: Id): string | number {
    if (typeof id === 'number' && id === (id | 0)) return scrambled(id, this.#secret);
    return String(id);
  }
}

function kindOf(ids: Ids | readonly Id[]): IdKind {
  return typeof ids[0] as IdKind;
}

/** Bigints of a plain array as a typed array, for `checkIds`; throws where one exceeds 64 bits. */
function typedIfBig(ids: unknown): unknown {
  if (!Array.isArray(ids) || typeof ids[0] !== 'bigint') return ids;
  ids.forEach((id, i) => {
    if (typeof id !== 'bigint') throw wrongType(`ids[${i}]`, 'all strings or all integers', id);
    if (BigInt.asIntN(64, id) !== id && BigInt.asUintN(64, id) !== id) {
      throw wrongValue(`ids[${i}]`, 'an integer of 64 bits', id);
    }
  });
  return BigInt64Array.from(ids);
}

function duplicate(index: number, id: Id, count: number): RangeError {
  const name = count === 1 ? 'id' : `ids[${index}]`;
  return wrongValue(name, 'an id that is not there yet', id);
}
