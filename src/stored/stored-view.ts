/**
 * A stored index as the functions of a search in memory see it: the rows that the present search
 * knows, by cells of the cache or by blocks that passed. One search at a time uses it.
 */

import type { Id } from '../index/id-table';
import type { Query, SearchedCodes, SearchParts } from '../index/index-parts';
import type { UnitVector } from '../index/vectors/row-vectors';
import { distance } from '../kernels/hamming/hamming.scalar';
import { type HitSearch, NO_ROW } from '../kernels/hits/hits';
import type { ResidualSearch } from '../kernels/residuals/residuals.scalar';
import type { RowPlace } from './block-reader';
import type { StoredContent } from './content';
import type { PartitionCache } from './partition-cache';
import { StoredPartitions } from './stored-partitions';
import type { VectorCache } from './vector-cache';

/** A row that a search found in a block that is not held. */
export interface PassedRow extends RowPlace {
  readonly row: number;
  readonly id: Id;
  readonly code: Uint8Array;
}

/** Rows of each code, where searches see codes by number. */
export interface CodeGroups {
  /** Which of the codes a row has. */
  of(row: number): number;
  /** Rows of a code, ascending. */
  rows(code: number): readonly number[];
}

type Further = ReturnType<PartitionCache['furtherAt']>[number];

export class StoredView implements SearchParts {
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
  /** Cells of the rows that the present search has seen. */
  readonly #cells = new Map<number, number>();
  readonly #further = new Map<number, Further>();
  readonly #passed = new Map<number, PassedRow>();
  #groups: CodeGroups | null = null;

  constructor(content: StoredContent, cache: PartitionCache, vectors: VectorCache) {
    const { parts, centroids } = content;
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
    this.partitions = centroids && new NotingPartitions(content, centroids, cache, this);
  }

  /** Forgets the rows of the search before. */
  begin(): void {
    this.#cells.clear();
    this.#further.clear();
    this.#passed.clear();
    this.#groups = null;
    this.#vectorCache.begin();
  }

  /** Notes which row is at a cell that a search has found. */
  note(cell: number): void {
    this.#cells.set(this.#cache.codes.rows[cell], cell);
  }

  /** Notes a row of a block that passes. */
  notePassed(row: PassedRow): void {
    this.#passed.set(row.row, row);
  }

  /** How many rows of blocks that passed are noted. */
  get passedCount(): number {
    return this.#passed.size;
  }

  /** Forgets those that passed, but these. */
  keepPassed(rows: ReadonlySet<number>): void {
    for (const row of this.#passed.keys()) if (!rows.has(row)) this.#passed.delete(row);
  }

  /** By which codes the rows that passed are ranked. */
  set groups(groups: CodeGroups) {
    this.#groups = groups;
  }

  accepts(filter: (id: Id, row: number) => unknown, row: number): boolean {
    return Boolean(filter(this.#idOf(row), row));
  }

  canCompare(query: Query): boolean {
    return this.#content.parts.canCompare(query);
  }

  /** Throws MissingVectors where vectors are not in memory. */
  exactCosines({ unit }: Query, rows: Uint32Array): Float64Array {
    return this.#vectorCache.cosinesOf(rows, unit as UnitVector);
  }

  /** The same, of sets their Jaccard similarities. */
  exactSimilarities(query: Query, rows: Uint32Array): Float64Array {
    if (query.set === undefined) return this.exactCosines(query, rows);
    return this.#vectorCache.jaccardsOf(rows, query.set);
  }

  /** Where rows are that the present search has seen. */
  placeOf(row: number): RowPlace {
    const passed = this.#passed.get(row);
    if (passed !== undefined) return passed;
    return this.#cache.placeAt(this.#cellOf(row), this.#further.get(row));
  }

  #cellOf(row: number): number {
    return this.#cells.get(row) as number;
  }

  #idOf(row: number): Id {
    if (this.#content.header.ids === 'row') return row;
    const passed = this.#passed.get(row);
    const id = passed?.id ?? this.#cache.idAt(this.#cellOf(row), this.#further.get(row));
    return this.#content.header.ids === 'number' ? Number(id) : id;
  }

  #distance(row: number, code: Uint8Array): number {
    const passed = this.#passed.get(row);
    if (passed !== undefined) return distance(code, passed.code, 0);
    return distance(code, this.#cache.codes.codes, this.#cellOf(row) * code.length);
  }

  /** Further rows of a cell's code, noted. */
  #furtherAt(cell: number): readonly Further[] {
    const further = this.#cache.furtherAt(cell);
    for (const one of further) {
      this.#cells.set(one.row, cell);
      this.#further.set(one.row, one);
    }
    return further;
  }

  /** Rows of a code, ascending: of a group, or of a cell. */
  *#rowsOf(code: number): Generator<number> {
    if (this.#groups !== null) {
      yield* this.#groups.rows(code);
      return;
    }
    yield this.#cache.codes.rows[code];
    for (const { row } of this.#furtherAt(code)) yield row;
  }

  #codes(): SearchedCodes {
    const { header, parts } = this.#content;
    const cache = this.#cache;
    return {
      bytesPerCode: parts.distinctCodes.bytesPerCode,
      count: header.distinct ?? 0,
      rowCount: header.nextRow,
      hasDuplicates: header.shared ?? false,
      memory: cache.codes,
      noteCompared: () => undefined,
      distinctOf: (row) => this.#groups?.of(row) ?? this.#cellOf(row),
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
    };
  }
}

/** Partitions whose hits are noted by the rows that they stand for. */
class NotingPartitions extends StoredPartitions {
  readonly #view: StoredView;

  constructor(
    content: StoredContent,
    centroids: Int16Array,
    cache: PartitionCache,
    view: StoredView,
  ) {
    super(content, centroids, cache);
    this.#view = view;
  }

  override visit(partitions: Uint32Array, search: HitSearch): number {
    const codes = super.visit(partitions, search);
    const found = search.hits(); // more than once is harmless: nothing is taken out
    for (let i = 0; i < found.count; i++) {
      if (found.weights[i] <= search.limit) this.#view.note(found.codes[i]);
    }
    return codes;
  }

  override search(query: Float64Array, want: number, gap: number): ResidualSearch {
    const search = super.search(query, want, gap);
    const hits = () => {
      const found = search.hits();
      for (let i = 0; i < found.count; i++) this.#view.note(found.codes[i]);
      return found;
    };
    return {
      ranges: (ranges) => search.ranges(ranges),
      hits,
      get limit() {
        return search.limit;
      },
      get held() {
        return search.held;
      },
    };
  }
}
