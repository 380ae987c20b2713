/**
 * The state of an index in memory: how it hashes, its rows, their ids, what `optimize` measured.
 * `SimHashIndex` checks what users give; layers above reach the state by `coreOf` and must not
 * change it.
 */

import { countNulls } from '../base/arrays';
import { Codes } from '../codes/codes';
import { NO_ROW } from '../kernels/hits';
import type { AnsweredIndex } from './answer';
import { type Id, IdRules, idOfKind } from './ids';
import { afterChanges, type CheckedOptions } from './index-options';
import { MemoryIndex, type MemoryOptions } from './memory-index';
import { noVectors, QueryParts } from './query';
import type { RowsToAppend } from './rows';
import type { Searched } from './searched';
import type { SpaceOrigin } from './train';
import type { HeldRows } from './vectors/row-vectors';

/** Rows whose vectors are copied together. */
const GATHERED = 4096;

export class IndexCore extends QueryParts implements AnsweredIndex {
  rows: MemoryIndex;
  ids = new IdRules();
  /** How often rows were added or removed: a long search then knows that it must begin again. */
  changes = 0;
  /** Name of the call that is changing the index; null if none is. */
  busy: string | null = null;
  /** Calls of user filters that have not returned, one within another. */
  #filtering = 0;

  constructor(options: CheckedOptions) {
    super(options);
    const { vectors } = options;
    const { bits, bytesPerCode, dimensions } = this.hasher;
    // Rounded values that became 0 are counted over all segments.
    const newVectors = () => noVectors(vectors, dimensions, this.dense?.zeros);
    this.rows = new MemoryIndex({
      bits,
      bytesPerCode,
      newVectors: vectors === 'none' ? null : (newVectors as MemoryOptions['newVectors']),
    });
  }

  /** What a space of this index is trained from. */
  get origin(): SpaceOrigin {
    const { bits, hasher, dense } = this;
    return {
      bits,
      dimensions: dense?.dimensions ?? null,
      seed: hasher.seed,
    };
  }

  get parts(): this {
    return this;
  }

  get nextRow(): number {
    return this.rows.nextRow;
  }

  get count(): number {
    return this.rows.count;
  }

  searched(): Searched {
    return this.rows.searched();
  }

  /** The index as it is now, for searches that run while `optimize` replaces rows and report. */
  version(): AnsweredIndex & { readonly parts: IndexCore; readonly rows: MemoryIndex } {
    const { rows, report } = this;
    const { nextRow, count } = rows;
    return {
      parts: this,
      rows,
      report,
      nextRow,
      count,
      searched: () => rows.searched(),
      accepts: (filter, row) => this.accepts(filter, row),
      withCodes: (some) => this.withCodes(some),
      idOf: (row) => this.idOf(row),
    };
  }

  withCodes(rows: readonly number[]): Uint32Array {
    return Uint32Array.from(rows.filter((row) => this.rows.hasCode(row)));
  }

  idOf(row: number): Id {
    return this.rows.idOf(row) as Id;
  }

  /** All rows by their numbers: a copy of the codes, and vectors, copied where they are spread. */
  held(): HeldRows {
    const { bits, hasher, isForeign, nextRow } = this;
    const parts = this.rows.parts.filter(({ rows }) => rows.count > 0);
    const origin = isForeign ? undefined : hasher.origin;
    const validity = new Uint8Array(Math.ceil(nextRow / 8));
    const codes = Codes.allocate(nextRow, { bits, validity, ...(origin && { origin }) });
    const isInPlace = parts.length === 1 && parts[0].rows.isInOrder;
    const vectors = isInPlace ? parts[0].rows.vectors : (this.rows.options.newVectors?.() ?? null);
    if (!isInPlace) vectors?.skip(nextRow);
    for (const { rows } of parts) {
      for (let position = 0; position < rows.count; position++) {
        const row = rows.codes.rows[position];
        if (row === NO_ROW) continue;
        validity[row >> 3] |= 1 << (row & 7);
        codes.bytes.set(rows.codeAt(position), row * codes.bytesPerCode);
      }
      for (
        let first = 0;
        !isInPlace && rows.vectors !== null && first < rows.count;
        first += GATHERED
      ) {
        const end = Math.min(rows.count, first + GATHERED);
        const places = Uint32Array.from({ length: end - first }, (_, i) => first + i);
        vectors?.restore(rows.vectors.gather(places), rows.codes.rows.slice(first, end));
      }
    }
    const isWhole = countNulls(validity, nextRow) === 0;
    return {
      codes: isWhole ? codes.withoutValidity() : codes,
      vectors,
    };
  }

  /** The row of an id that is there. */
  rowOf(id: Id): number | undefined {
    const own = idOfKind(id, this.ids.kind);
    return own === null ? undefined : this.rows.rowOf(own);
  }

  /** Appends checked rows. */
  append(rows: RowsToAppend, isLast = true): void {
    this.rows.append(rows, isLast);
    this.changes++;
    this.#note({ rowsAdded: rows.count });
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

  /** Calls a user's filter for a row. The filter may search this index; changes throw meanwhile. */
  accepts(filter: (id: Id, row: number) => unknown, row: number): boolean {
    this.#filtering++;
    try {
      return Boolean(filter(this.rows.idOf(row) as Id, row));
    } finally {
      this.#filtering--;
    }
  }
}
