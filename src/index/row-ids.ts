/**
 * The rules of ids: all ids of an index are of one kind, which the first rows decide, and each
 * belongs to one row. Where none are given, each row is its own id.
 */

import { wrongType, wrongValue } from '../base/check';
import { checkIds, type Ids } from '../base/ids';
import { IdLookup } from './id-lookup';
import type { Id, IdKind } from './ids';

/** Whether ids are negative, or of 2^63 and more: one 64-bit column holds one of these kinds. */
interface Signs {
  readonly hasNegative: boolean;
  readonly hasHuge: boolean;
}

const NO_SIGNS: Signs = { hasNegative: false, hasHuge: false };

/** Ids that were checked, of rows that will be added. */
interface CheckedIds {
  readonly ids: readonly Id[] | null;
  /** Null where there are no rows, old or new. */
  readonly kind: IdKind | null;
  readonly signs: Signs;
}

export class IdRules {
  /** Null while there were no rows. */
  kind: IdKind | null;
  #signs = NO_SIGNS;

  constructor(kind: IdKind | null = null) {
    this.kind = kind;
  }

  /**
   * Checks the kinds of ids for `count` new rows against each other and those that are there.
   * Changes nothing: `take` does when the rows are added.
   */
  check(given: unknown, count: number): CheckedIds {
    const signs = this.#signs;
    if (count === 0) {
      if (given !== undefined && given !== null) checkIds(typedIfBig(given), count);
      return { ids: null, kind: this.kind, signs };
    }
    if (given === undefined || given === null) {
      if (this.kind !== null && this.kind !== 'row') {
        throw wrongType('ids', `ids of kind ${this.kind}, as the rows before have`, given);
      }
      return { ids: null, kind: 'row', signs };
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
    const isBig = kind === 'bigint';
    return {
      ids,
      kind,
      signs: isBig ? signsOf(ids as readonly unknown[] as bigint[], signs) : signs,
    };
  }

  /** Notes the ids of rows that are added. */
  take({ kind, signs }: CheckedIds): void {
    this.kind ??= kind;
    this.#signs = signs;
  }

  /** Notes ids that come from files; throws where one 64-bit type cannot hold all of them. */
  learn(ids: readonly Id[]): void {
    if (this.kind === 'bigint') this.#signs = signsOf(ids as readonly bigint[], this.#signs);
  }

  /** Ids of rows as one Arrow column holds them; null where rows are their own ids. */
  columnOf(ids: readonly Id[]): Ids | null {
    if (this.kind === null || this.kind === 'row') return null;
    if (this.kind !== 'bigint') return checkIds(ids, ids.length);
    const integers = ids as readonly bigint[];
    return this.#signs.hasHuge ? BigUint64Array.from(integers) : BigInt64Array.from(integers);
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

function signsOf(ids: readonly bigint[], before: Signs): Signs {
  let { hasNegative, hasHuge } = before;
  ids.forEach((id, i) => {
    hasNegative ||= id < 0n;
    hasHuge ||= id >= 2n ** 63n;
    if (hasNegative && hasHuge) {
      throw wrongValue(`ids[${i}]`, 'ids that one 64-bit type can hold', id);
    }
  });
  return { hasNegative, hasHuge };
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

/** The error for an id that is not new; of one row alone it has no position. */
export function duplicate(index: number, id: Id, count: number): RangeError {
  const name = count === 1 ? 'id' : `ids[${index}]`;
  return wrongValue(name, 'an id that is not there yet', id);
}
