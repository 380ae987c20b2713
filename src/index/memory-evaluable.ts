/** An index in memory as its recall is measured: with trial rows, while they are tried. */

import type { LongWork } from '../base/long-work';
import type { KernelName } from '../kernels/kernels';
import type { IndexCore } from './index-core';
import type { Layout, MemoryIndex } from './memory-index';
import { queryOf } from './query';
import type { Query } from './query-parts';
import { type Evaluable, evaluationSearch, type Optimizable, type Partitions } from './recall';
import type { Best, Setting } from './search';
import { run } from './searched';
import type { RowsToPlace, Space } from './space';
import { untrainedSpace } from './train';
import {
  type CodeChunk,
  chunkStarts,
  type EvaluationQuery,
  nearestByCodes,
  nearestBySparse,
  nearestByVectors,
  type Truth,
  type VectorChunk,
} from './truth';
import type { DenseVectors } from './vectors/dense-vectors';
import { withDigits } from './vectors/rounding';
import type { SparseVectors } from './vectors/sparse-vectors';

export class MemoryEvaluable implements Optimizable<MemoryEvaluable> {
  readonly held: MemoryIndex;
  readonly #core: IndexCore;
  readonly rows: number;

  constructor(core: IndexCore, held: MemoryIndex) {
    this.#core = core;
    this.held = held;
    this.rows = held.codedCount;
  }

  get count(): number {
    return this.held.count;
  }

  get storage(): Evaluable['storage'] {
    return this.#core.vectors?.kind ?? 'none';
  }

  get layout(): MemoryIndex['layout'] {
    return this.held.layout;
  }

  eachRow(
    take: (row: number, isHeldOut: boolean, own: () => RowsToPlace) => void,
    work: LongWork,
  ): Promise<void> {
    return this.held.eachRow(take, untrainedSpace(this.#core.origin).parts.kind === 'codes', work);
  }

  async pointsOf(rows: Uint32Array, space: Space): Promise<Int16Array> {
    return this.held.pointsOf(rows, space);
  }

  /** All rows are at hand. */
  async loadQueries(): Promise<void> {}

  async placed(layout: Layout, work: LongWork): Promise<MemoryEvaluable> {
    return new MemoryEvaluable(this.#core, await this.held.placed(layout, work));
  }

  /** A row that has a code as a query: its vector as it may have been given, or its code. */
  queryOfRow(row: number): Query {
    const found = this.held.find(row);
    if (found === null) throw new RangeError(`there is no row ${row}`);
    const { rows } = found.part;
    const { vectors } = rows;
    if (vectors?.kind === 'int8') {
      // Random digits in place of the lost ones: it is as far from what is held as new queries are.
      const { zeros } = vectors as DenseVectors;
      const given = withDigits((vectors as DenseVectors).valuesAt(found.position), zeros, row);
      return queryOf(this.#core, given) as Query;
    }
    if (vectors !== null) return queryOf(this.#core, vectors.at(found.position)) as Query;
    return { code: rows.codeAt(found.position).slice(), sums: null, unit: null };
  }

  async partitionsOf(rows: Uint32Array): Promise<Partitions> {
    const { hasCopies } = this.layout;
    const own = new Uint32Array(rows.length);
    const seconds = hasCopies ? new Uint32Array(rows.length) : null;
    for (let i = 0; i < rows.length; i++) {
      const found = this.held.find(rows[i]);
      if (found === null) continue;
      own[i] = found.part.partitionOf(found.position);
      if (seconds !== null) seconds[i] = found.part.secondOf(found.position);
    }
    return { own, seconds };
  }

  nearest(asked: readonly EvaluationQuery[], k: number, work: LongWork): Promise<Truth[]> {
    const { kernel: choice, bits } = this.#core;
    const kernel = choice as KernelName;
    const { dense } = this.#core;
    if (dense !== null) {
      const { dimensions, kind } = dense;
      const chunks = this.#chunks() as Iterable<VectorChunk<DenseVectors>[]>;
      return nearestByVectors(chunks, asked, { k, dimensions, kind, total: this.rows }, work);
    }
    if (this.storage === 'sparse') {
      const chunks = this.#chunks() as Iterable<VectorChunk<SparseVectors>[]>;
      return nearestBySparse(chunks, asked, k, work);
    }
    return nearestByCodes([this.#codeChunks()], asked, { k, bits, kernel }, work);
  }

  /** Chunks of the held vectors, those of a part as one group. */
  #chunks(): VectorChunk<DenseVectors | SparseVectors>[][] {
    return this.held.parts.map(({ rows }) => {
      const starts = chunkStarts(rows.count);
      return starts.slice(0, -1).map((first, i) => ({
        rows: rows.codes.rows.subarray(first, starts[i + 1]),
        vectors: rows.vectors as DenseVectors | SparseVectors,
        first,
      }));
    });
  }

  #codeChunks(): CodeChunk[] {
    return this.held.parts.flatMap(({ rows: { codes, count } }) => {
      const starts = chunkStarts(count);
      return starts.slice(0, -1).map((first, i) => ({
        codes: codes.codes,
        rows: codes.rows,
        bytesPerCode: codes.bytesPerCode,
        first,
        end: starts[i + 1],
      }));
    });
  }

  async candidates(
    asked: readonly EvaluationQuery[],
    setting: Setting,
    work: LongWork,
  ): Promise<Uint32Array[]> {
    const all: Uint32Array[] = [];
    for (const { query } of asked) {
      all.push(this.#search(query, 1, setting, true).rows);
      await work.step();
    }
    return all;
  }

  async search(
    asked: readonly EvaluationQuery[],
    k: number,
    setting: Setting,
    work: LongWork,
  ): Promise<{ found: Best[]; ms: number }> {
    const found: Best[] = [];
    let ms = 0;
    for (const { query } of asked) {
      const start = performance.now();
      found.push(this.#search(query, k, setting, false));
      ms += performance.now() - start;
      await work.step();
    }
    return { found, ms: ms / Math.max(1, asked.length) };
  }

  #search(query: Query, k: number, setting: Setting, isUnranked: boolean): Best {
    const isExact = this.#core.canCompare(query);
    const asked = { k, setting, isExact, isUnranked };
    return run(evaluationSearch(this.held.searched(), query, asked)).best;
  }
}
