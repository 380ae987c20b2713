/**
 * The state of an index in memory: how it hashes, its rows, their ids, what `optimize` measured.
 * `SimHashIndex` checks what users give; layers above reach the state by `coreOf` and must not
 * change it.
 */

import { ascending, countNulls } from '../base/arrays';
import { Codes } from '../codes/codes';
import type { AnsweredIndex } from './answer';
import { type Id, type IdKind, idOfKind } from './ids';
import { afterChanges, type CheckedOptions } from './index-options';
import { MemoryIndex } from './memory-index';
import { noVectors, QueryParts } from './query';
import type { NewRows } from './rows';
import type { HeldRows, RowVectors } from './vectors/row-vectors';

/** Rows whose vectors are copied together. */
const GATHERED = 4096;

export class IndexCore extends QueryParts {
  rows: MemoryIndex;
  /** The kind of the ids; null while there were no rows. */
  idKind: IdKind | null = null;
  /** How often rows were added or removed: a long search then knows that it must begin again. */
  changes = 0;
  /** Name of the call that is changing the index; null if none is. */
  busy: string | null = null;
  /** Calls of user filters that have not returned, one within another. */
  #filtering = 0;

  constructor(options: CheckedOptions) {
    super(options);
    const { bits, bytesPerCode, dimensions } = this.hasher;
    this.rows = new MemoryIndex({
      bits,
      bytesPerCode,
      // Rounded values that became 0 are counted over all segments.
      newVectors: () => noVectors(options.vectors, dimensions, this.dense?.zeros),
    });
  }

  /** The index as it is now, for searches, which run while `optimize` replaces rows and report. */
  version(): AnsweredIndex & { readonly parts: IndexCore; readonly rows: MemoryIndex } {
    const { rows, report } = this;
    const { nextRow, count } = rows;
    // Rows that are their own ids need no look-up: two places that no cache has.
    const idOf =
      this.idKind === 'row' ? (row: number) => row : (row: number) => rows.idOf(row) as Id;
    return {
      parts: this,
      rows,
      report,
      nextRow,
      count,
      searched: () => rows.searched(),
      accepts: (filter, row) => this.#accepts(filter, idOf(row), row),
      withCodes: (some) => {
        const { parts } = rows;
        return Uint32Array.from(some.filter((row) => parts.some((one) => one.placeOf(row) >= 0)));
      },
      idOf,
    };
  }

  /** All rows by their numbers: a copy of the codes, and vectors, copied where they are spread. */
  held(): HeldRows {
    const { bits, hasher, isForeign } = this;
    const { nextRow } = this.rows;
    const parts = this.rows.parts.filter(({ rows }) => rows.count > 0);
    const inPlace = parts.length === 1 && parts[0].rows.isInOrder ? parts[0].rows.vectors : null;
    const { codes: bytes, validity, vectors } = this.copyOf(ascending(nextRow), inPlace);
    const origin = isForeign ? undefined : hasher.origin;
    const codes = Codes.from(bytes, { bits, validity, ...(origin && { origin }) });
    return { codes, vectors };
  }

  /**
   * Copies the codes and vectors of rows, in this order: null and zeros where there is none. With
   * `vectors` in their place these are not copied.
   */
  copyOf(rows: Uint32Array, inPlace: RowVectors | null = null) {
    const { bytesPerCode } = this.hasher;
    const codes = new Uint8Array(rows.length * bytesPerCode);
    const validity = new Uint8Array(Math.ceil(rows.length / 8));
    const vectors = inPlace ?? this.rows.options.newVectors();
    if (inPlace === null) vectors?.skip(rows.length);
    for (const { rows: own } of this.rows.parts) {
      const there = ascending(rows.length).filter((i) => own.positionOf(rows[i]) >= 0);
      for (let first = 0; first < there.length; first += GATHERED) {
        const to = there.subarray(first, first + GATHERED);
        const positions = to.map((i) => own.positionOf(rows[i]));
        if (inPlace === null && own.vectors !== null) {
          vectors?.restore(own.vectors.gather(positions), to);
        }
        for (const [i, position] of positions.entries()) {
          if (own.isNull(position)) continue;
          validity[to[i] >> 3] |= 1 << (to[i] & 7);
          codes.set(own.codeAt(position), to[i] * bytesPerCode);
        }
      }
    }
    const isWhole = countNulls(validity, rows.length) === 0;
    return { codes, validity: isWhole ? null : validity, vectors };
  }

  /** The row of an id that is there. */
  rowOf(id: Id): number | undefined {
    const own = idOfKind(id, this.idKind);
    return own === null ? undefined : this.rows.rowOf(own);
  }

  /** Appends checked rows; see `MemoryIndex.append`. */
  append(rows: NewRows, isLast = true, first = 0, end = rows.count): void {
    this.rows.append(rows, isLast, first, end);
    this.changes++;
    this.#note({ rowsAdded: end - first });
  }

  /** Removes a row that is there. */
  remove(row: number): void {
    this.rows.remove(row);
    this.changes++;
    this.#note({ rowsRemoved: 1 });
  }

  #note(changes: { rowsAdded?: number; rowsRemoved?: number }): void {
    if (this.report !== null) this.report = afterChanges(this.report, changes);
  }

  /** Throws while a long call changes the index, and inside a filter. */
  refuseIfBusy(): void {
    if (this.busy !== null) throw new Error(`${this.busy}() is still at work on this index`);
    if (this.#filtering > 0) throw new Error('a filter must not change the index that it filters');
  }

  /** Calls a user's filter. It may search this index; changes throw meanwhile. */
  #accepts(filter: (id: Id, row: number) => unknown, id: Id, row: number): unknown {
    this.#filtering++;
    try {
      return filter(id, row);
    } finally {
      this.#filtering--;
    }
  }
}
