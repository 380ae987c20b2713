/**
 * A stored index as the search functions of an index in memory see it (`SearchParts`). Each search
 * has its own view, which knows the rows that the search has found: by their cells in the partition
 * cache, or by copies of what blocks contain about them.
 */

import { FormatError } from '../base/format-error';
import type { Steps } from '../base/steps';
import type { Id } from '../index/id-table';
import type { Query, SearchedCodes, SearchParts } from '../index/index-parts';
import type { UnitVector } from '../index/vectors/row-vectors';
import { distance } from '../kernels/hamming';
import { type Hits, NO_ROW } from '../kernels/hits';
import type { PassedRow, RowPlace } from './block-reader';
import type { StoredContent } from './content';
import { Need } from './needs';
import type { PartitionCache } from './partition-cache';
import type { PassedRows } from './passed-rows';
import { type Notes, type Router, StoredPartitions } from './stored-partitions';
import type { VectorCache } from './vector-cache';

/** Most vectors that are read at once when many rows are all ranked. */
const MAX_READ = 4096;

/** What all searches of an index share. */
export interface Shared {
  readonly content: StoredContent;
  readonly router: Router | null;
  readonly cache: PartitionCache;
  readonly vectors: VectorCache;
}

type Further = ReturnType<PartitionCache['furtherAt']>[number];

/**
 * What one search sees. A code is a cell, or a number that the view gives after rows have passed.
 */
export class StoredView implements SearchParts, Notes {
  readonly bits: number;
  readonly hasher: SearchParts['hasher'];
  readonly mean: SearchParts['mean'];
  readonly kernel: SearchParts['kernel'];
  readonly isForeign: boolean;
  readonly report: SearchParts['report'];
  readonly measure: SearchParts['measure'];
  readonly vectors: SearchParts['vectors'];
  readonly ids: SearchParts['ids'];
  readonly distinctCodes: SearchedCodes;
  readonly partitions: StoredPartitions | null;
  readonly #content: StoredContent;
  readonly #cache: PartitionCache;
  readonly #vectorCache: VectorCache;
  /**
   * For each row that the search has found, its cell. Other partitions may take the cell while the
   * search waits.
   */
  readonly #cells = new Map<number, number>();
  /** For each row, which of the further rows of its cell's code it is. */
  readonly #further = new Map<number, Further>();
  /** For each row, a copy of what is known about it; its cell is then not needed. */
  readonly #passed = new Map<number, PassedRow>();
  /**
   * For each row, its code, if it was read with its vector because partitions are held without
   * codes.
   */
  readonly #codeOf = new Map<number, Uint8Array>();
  /** Rows of partitions that have passed; codes are then their numbers in this list. */
  #found: PassedRows | null = null;
  /** After blocks have passed: the rows of each code, ascending, and the code of each row. */
  #rowsOfCode: Map<number, readonly number[]> | null = null;
  readonly #codeOfRow = new Map<number, number>();

  /** With `isMeasured`, ids and codes of rows are unknown. */
  constructor({ content, router, cache, vectors }: Shared, isMeasured = false) {
    const { parts } = content;
    this.#content = content;
    this.#cache = cache;
    this.#vectorCache = vectors;
    this.bits = parts.bits;
    this.hasher = parts.hasher;
    this.mean = parts.mean;
    this.kernel = parts.kernel;
    this.isForeign = parts.isForeign;
    this.report = parts.report;
    this.measure = parts.measure;
    this.vectors = parts.vectors;
    this.ids = { idOf: (row) => this.#idOf(row), removals: 0 };
    this.distinctCodes = this.#codes();
    const how = { notes: this, isMeasured };
    this.partitions = router && new StoredPartitions(content, router, cache, how);
  }

  noteCells({ codes, weights, count }: Hits, limit: number): void {
    const { rows } = this.#cache.codes;
    this.#found = null;
    this.#codeOfRow.clear();
    for (let i = 0; i < count; i++) {
      if (weights[i] <= limit) this.#cells.set(rows[codes[i]], codes[i]);
    }
  }

  noteRows(rows: PassedRows, { codes, weights, count }: Hits, limit: number): void {
    this.#found = rows;
    this.#codeOfRow.clear();
    for (let i = 0; i < count; i++) {
      if (weights[i] > limit) continue;
      for (const row of rows.numbersOf(codes[i])) this.#codeOfRow.set(row, codes[i]);
    }
  }

  /** Notes a row of a block that passes. */
  notePassed(row: PassedRow): void {
    this.#passed.set(row.row, row);
  }

  /** How many rows of blocks that passed are noted. */
  get passedCount(): number {
    return this.#passed.size;
  }

  /** Forgets the rows of passed blocks except these. */
  keepPassed(rows: ReadonlySet<number>): void {
    for (const row of this.#passed.keys()) if (!rows.has(row)) this.#passed.delete(row);
  }

  /** Sets the rows of each code after blocks have passed; a code is then its index in `groups`. */
  setCodes(groups: readonly { readonly rows: readonly number[] }[]): void {
    this.#rowsOfCode = new Map(groups.map(({ rows }, code) => [code, rows]));
    groups.forEach(({ rows }, code) => {
      for (const row of rows) this.#codeOfRow.set(row, code);
    });
  }

  accepts(filter: (id: Id, row: number) => unknown, row: number): boolean {
    return Boolean(filter(this.#idOf(row), row));
  }

  canCompare(query: Query): boolean {
    return this.#content.parts.canCompare(query);
  }

  /** Waits until the vectors of these rows, which the search has found, are in memory. */
  *loaded(rows: Uint32Array): Steps<void> {
    let missing = this.#vectorCache.missing(rows);
    this.#vectorCache.hits += rows.length - missing.length;
    // Again after each read: another search may have taken a cell meanwhile.
    for (; missing.length > 0; missing = this.#vectorCache.missing(rows)) {
      this.#keepCells();
      const wanted = new Map(Array.from(rows, (row) => [row, this.placeOf(row)]));
      yield new Need(this.#vectorCache, wanted);
    }
    // Codes are copied, since their cells may be taken before distances are computed.
    for (const row of rows) {
      const code = this.#vectorCache.codeOf(row);
      if (code !== null) this.#codeOf.set(row, code.slice());
    }
  }

  /** `exactSimilarities` of any number of rows, whose vectors are read some at a time. */
  *allSimilarities(query: Query, rows: Uint32Array): Steps<Float64Array> {
    const all = new Float64Array(rows.length);
    const most = Math.max(1, Math.min(this.#vectorCache.ahead, MAX_READ));
    for (let first = 0; first < rows.length; first += most) {
      const some = rows.subarray(first, first + most);
      yield* this.loaded(some);
      all.set(this.exactSimilarities(query, some), first);
    }
    return all;
  }

  /**
   * Copies what is known about rows by their cells, which other partitions may take from now on.
   */
  #keepCells(): void {
    for (const [row, cell] of this.#cells) {
      this.#passed.set(row, this.#cache.rowAt(cell, this.#further.get(row)));
    }
    this.#cells.clear();
  }

  /** The exact cosines of rows whose vectors are in memory. */
  exactCosines({ unit }: Query, rows: Uint32Array): Float64Array {
    return this.#vectorCache.cosinesOf(rows, unit as UnitVector);
  }

  /** The same; for a query that is a set, the Jaccard similarities. */
  exactSimilarities(query: Query, rows: Uint32Array): Float64Array {
    if (query.set === undefined) return this.exactCosines(query, rows);
    return this.#vectorCache.jaccardsOf(rows, query.set);
  }

  /** The place of a row that the search has found. */
  placeOf(row: number): RowPlace {
    const passed = this.#passedOf(row);
    if (passed !== undefined) return passed;
    return this.#cache.placeAt(this.#cellOf(row), this.#further.get(row));
  }

  /** The copy of what is known about a row; undefined if only its cell is known. */
  #passedOf(row: number): PassedRow | undefined {
    const code = this.#found === null ? undefined : this.#codeOfRow.get(row);
    if (code === undefined) return this.#passed.get(row);
    return this.#found?.rowsOf(code).find((one) => one.row === row);
  }

  /** A row that is not known at all means damage: it is in two places of the files. */
  #cellOf(row: number): number {
    const cell = this.#cells.get(row);
    if (cell !== undefined) return cell;
    throw new FormatError(`damaged: row ${row} is in two places`, this.#content.files.place);
  }

  #idOf(row: number): Id {
    if (this.#content.header.ids === 'row') return row;
    const passed = this.#passedOf(row);
    const id = passed?.id
      ? passed.id()
      : this.#cache.idAt(this.#cellOf(row), this.#further.get(row));
    return this.#content.header.ids === 'number' ? Number(id) : id;
  }

  /** The number of bits in which the code of a row differs from `code`. */
  #distance(row: number, code: Uint8Array): number {
    const own = this.#codeOf.get(row) ?? this.#passedOf(row)?.code;
    if (own !== undefined) return distance(code, own, 0);
    return distance(code, this.#cache.codes.codes, this.#cellOf(row) * code.length);
  }

  /** The further rows of a cell's code; remembers their cells. */
  #furtherAt(cell: number): readonly Further[] {
    const further = this.#cache.furtherAt(cell);
    for (const one of further) {
      this.#cells.set(one.row, cell);
      this.#further.set(one.row, one);
    }
    return further;
  }

  /** The rows of a code, ascending. */
  *#rowsOf(code: number): Generator<number> {
    const known = this.#found?.numbersOf(code) ?? this.#rowsOfCode?.get(code);
    if (known !== undefined || this.#rowsOfCode !== null) {
      yield* known ?? [];
      return;
    }
    yield this.#cache.codes.rows[code];
    for (const { row } of this.#furtherAt(code)) yield row;
  }

  /** The distinct codes, with the members that a search uses. */
  #codes(): SearchedCodes {
    const { header, parts } = this.#content;
    const cache = this.#cache;
    return {
      bytesPerCode: parts.hasher.bytesPerCode,
      count: header.distinct ?? 0,
      rowCount: header.nextRow,
      hasDuplicates: header.shared ?? false,
      noteCompared: () => undefined,
      distinctOf: (row) => this.#codeOfRow.get(row) ?? this.#cellOf(row),
      rowOf: (code) => this.#found?.rowOf(code) ?? cache.codes.rows[code],
      firstRow: (code, filter) => {
        for (const row of this.#rowsOf(code)) {
          if (filter === null || filter.accepts(row)) return row;
        }
        return NO_ROW;
      },
      eachRow: (code, visit) => {
        for (const row of this.#rowsOf(code)) if (!visit(row)) return;
      },
      distancesOf: (rows, code) => Uint16Array.from(rows, (row) => this.#distance(row, code)),
      gather: () => {
        throw new Error('rows of a filter are found by blocks');
      },
      partAt: () => {
        throw new Error('codes are not in memory');
      },
    };
  }
}
