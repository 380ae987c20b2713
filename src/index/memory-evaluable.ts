/** An index in memory as its recall is measured: with trial rows, while they are tried. */

import type { LongWork } from '../base/long-work';
import type { IndexCore } from './index-core';
import type { Layout, MemoryIndex } from './memory-index';
import type { Query } from './query-parts';
import { Evaluable, type EvaluationSearch, type Partitions } from './recall';
import type { Best } from './search';
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
import type { SparseVectors } from './vectors/sparse-vectors';

export class MemoryEvaluable extends Evaluable<MemoryEvaluable> {
  readonly held: MemoryIndex;
  readonly #core: IndexCore;
  readonly rows: number;

  constructor(core: IndexCore, held: MemoryIndex) {
    super(core, held.layout);
    this.#core = core;
    this.held = held;
    this.rows = held.codedCount;
  }

  get count(): number {
    return this.held.count;
  }

  eachRun(take: (rows: RowsToPlace, isHeldOut: Uint8Array) => void, work: LongWork): Promise<void> {
    return this.held.eachRun(take, untrainedSpace(this.#core.origin).parts.kind === 'codes', work);
  }

  protected async rowToPlace(row: number, space: Space): Promise<RowsToPlace | null> {
    const found = this.held.find(row);
    if (found === null) return null;
    const { part, position } = found;
    return part.rows.toPlace(position, position + 1, space.parts.kind === 'codes');
  }

  async placed(layout: Layout, work: LongWork): Promise<MemoryEvaluable> {
    return new MemoryEvaluable(this.#core, await this.held.placed(layout, work));
  }

  async queryOfRow(row: number): Promise<Query> {
    const found = this.held.find(row);
    if (found === null) throw new RangeError(`there is no row ${row}`);
    const { position, part } = found;
    const { vectors } = part.rows;
    if (vectors !== null) return this.queryOfVector(vectors, position, row);
    return { code: part.rows.codeAt(position).slice(), sums: null, unit: null };
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

  async nearest(asked: readonly EvaluationQuery[], k: number, work: LongWork): Promise<Truth[]> {
    const { bits, dense } = this.#core;
    if (dense !== null) {
      const { dimensions, kind } = dense;
      const chunks = this.#chunks() as Iterable<VectorChunk<DenseVectors>[]>;
      const by = { k, dimensions, kind, total: this.rows };
      return (await nearestByVectors(chunks, asked, by, work)).map(({ truth }) => truth);
    }
    if (this.storage === 'sparse') {
      const chunks = this.#chunks() as Iterable<VectorChunk<SparseVectors>[]>;
      return nearestBySparse(chunks, asked, k, work);
    }
    return nearestByCodes([this.#codeChunks()], asked, { k, bits }, work);
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

  async search(
    asked: readonly EvaluationQuery[],
    how: EvaluationSearch,
    work: LongWork,
  ): Promise<{ found: Best[]; ms: number }> {
    const found: Best[] = [];
    let ms = 0;
    for (const { query } of asked) {
      const start = performance.now();
      found.push(run(this.searchFor(this.held.searched(), query, how)).best);
      ms += performance.now() - start;
      await work.step();
    }
    return { found, ms: ms / Math.max(1, asked.length) };
  }
}
