/** An index in files as it is optimized: rows are read in passes, queries are searched. */

import type { LongWork } from '../base/long-work';
import type { Layout } from '../index/memory-index';
import { pointsOf, type RowsToPlace } from '../index/place';
import { queryOf } from '../index/query';
import type { Query } from '../index/query-parts';
import {
  type Evaluable,
  evaluationSearch,
  type Optimizable,
  type Partitions,
} from '../index/recall';
import type { Best, Setting } from '../index/search';
import type { Space } from '../index/space';
import { isHeldOut } from '../index/train';
import {
  chunkStarts,
  type EvaluationQuery,
  nearestByVectors,
  type Truth,
  type VectorChunk,
} from '../index/truth';
import type { DenseVectors } from '../index/vectors/dense-vectors';
import { withDigits } from '../index/vectors/rounding';
import { NO_ROW } from '../kernels/hits';
import { NO_PARTITION } from './blocks';
import { type Content, noVectorsOf } from './content';
import { type BlockName, blockGroups } from './reader';
import { SearchQueue } from './search-queue';
import { StoredRows } from './stored-rows';

/** Bytes of blocks that are read together. */
const READ_BYTES = 2 ** 24;
/** Queries that are searched for together. */
const TOGETHER = 128;

/** Writes all rows in the partitions of a space, and opens what was written. */
type Placing = (layout: Layout, work: LongWork) => Promise<StoredEvaluable>;

/** An index that holds dense vectors, which all rows that are not null have. */
export class StoredEvaluable implements Optimizable<StoredEvaluable> {
  readonly rows: number;
  readonly #content: Content;
  readonly #stored: StoredRows;
  readonly #queue: SearchQueue;
  /** Vectors of rows that are queries, by row. */
  readonly #queries = new Map<number, { vectors: DenseVectors; position: number }>();

  readonly #place: Placing;

  /** `memory` is what searches may hold, besides what the content takes. */
  constructor(content: Content, memory: number, place: Placing) {
    this.#content = content;
    this.#place = place;
    this.#stored = new StoredRows(content, memory);
    this.#queue = new SearchQueue(this.#stored);
    let rows = 0;
    for (const { rows: list } of content.segments) {
      list.table.partitions.forEach((p, block) => {
        if (p !== NO_PARTITION) rows += list.table.rows[block];
      });
    }
    this.rows = rows;
  }

  get count(): number {
    return this.#content.manifest.rows;
  }

  placed(layout: Layout, work: LongWork): Promise<StoredEvaluable> {
    return this.#place(layout, work);
  }

  get storage(): Evaluable['storage'] {
    return this.#content.parts.vectors?.kind ?? 'none';
  }

  get layout(): Evaluable['layout'] {
    return { space: this.#content.space, hasCopies: this.#content.manifest.index.copies };
  }

  /** Reads the vectors of rows that will be queries. */
  async loadQueries(rows: Uint32Array, work: LongWork): Promise<void> {
    const { signal } = work.call;
    for (const row of rows) {
      const { vectors, position } = await this.#vectorOf(row, signal);
      this.#queries.set(row, { vectors, position });
      await work.step();
    }
  }

  async #vectorOf(row: number, signal?: AbortSignal) {
    const name = await this.#stored.blockOf(row, signal);
    const vectors = noVectorsOf(this.#content) as DenseVectors;
    const [columns] = await this.#stored.reader.vectors([name], signal);
    const { dimensions } = vectors;
    const { place } = name;
    vectors.skip(1);
    const values = columns.vectors?.slice(place * dimensions, (place + 1) * dimensions) ?? null;
    const scales = columns.scales?.slice(place, place + 1) ?? null;
    vectors.restore({ vectors: values, scales, sparse: null }, Uint32Array.of(0));
    return { vectors, position: 0 };
  }

  /** A row that was loaded as a query: its vector as it may have been given. */
  queryOfRow(row: number): Query {
    const found = this.#queries.get(row);
    if (found === undefined) throw new RangeError(`row ${row} is not at hand`);
    const { vectors, position } = found;
    const { parts } = this.#content;
    const { zeros } = parts.dense as DenseVectors;
    const given =
      vectors.kind === 'int8'
        ? withDigits(vectors.valuesAt(position), zeros, row)
        : vectors.at(position);
    return queryOf(parts, given) as Query;
  }

  async partitionsOf(rows: Uint32Array): Promise<Partitions> {
    const { hasCopies } = this.layout;
    const own = new Uint32Array(rows.length);
    const seconds = hasCopies ? new Uint32Array(rows.length) : null;
    for (let i = 0; i < rows.length; i++) {
      const { list, block, place } = await this.#stored.blockOf(rows[i]);
      own[i] = list.table.partitions[block];
      if (seconds !== null) seconds[i] = await this.#stored.linkAt({ list, block, place });
    }
    return { own, seconds };
  }

  /** The points of rows. */
  async pointsOf(rows: Uint32Array, space: Space, work: LongWork): Promise<Int16Array> {
    const points = new Int16Array(rows.length * space.width);
    for (let i = 0; i < rows.length; i++) {
      const { vectors, position } = await this.#vectorOf(rows[i], work.call.signal);
      const values = vectors.valuesAt(position);
      const norms = Float64Array.of(vectors.normOf(position));
      const own = { rows: rows.subarray(i, i + 1), values, norms, codes: null };
      points.set(pointsOf(space, own), i * space.width);
      await work.step();
    }
    return points;
  }

  nearest(asked: readonly EvaluationQuery[], k: number, work: LongWork): Promise<Truth[]> {
    const { dimensions, kind } = this.#content.parts.dense as DenseVectors;
    const by = { k, dimensions, kind, total: this.rows };
    return nearestByVectors(this.#chunks(work), asked, by, work);
  }

  /** All vectors, some MiB at a time. */
  #chunks(work: LongWork): AsyncIterable<VectorChunk<DenseVectors>[]> {
    const groups = blockGroups(this.#content.segments, READ_BYTES, 'rows and vectors');
    let next = 0;
    const iterator: AsyncIterator<VectorChunk<DenseVectors>[]> = {
      next: async () => {
        if (next === groups.length) return { done: true, value: undefined };
        return { done: false, value: await this.#read(groups[next++], work.call.signal) };
      },
    };
    return { [Symbol.asyncIterator]: () => iterator };
  }

  async #read(
    group: readonly BlockName[],
    signal: AbortSignal | undefined,
  ): Promise<VectorChunk<DenseVectors>[]> {
    const { removed } = this.#content;
    const { reader } = this.#stored;
    const blocks = await reader.blocks(group, 'head', signal);
    const columns = await reader.vectors(group, signal);
    const vectors = noVectorsOf(this.#content) as DenseVectors;
    vectors.zeros.add((this.#content.parts.dense as DenseVectors).zeros);
    const count = blocks.reduce((sum, { rows }) => sum + rows.count, 0);
    vectors.skip(count);
    const rows = new Uint32Array(count).fill(NO_ROW);
    let at = 0;
    for (const [i, { rows: own }] of blocks.entries()) {
      const first = at;
      vectors.restore(
        columns[i],
        own.rows.map((_, place) => first + place),
      );
      for (let place = 0; place < own.count; place++, at++) {
        const isThere = own.partition !== NO_PARTITION && !removed.has(own.rows[place]);
        if (isThere) rows[at] = own.rows[place];
      }
    }
    reader.giveBack(blocks);
    const starts = chunkStarts(count);
    return starts.slice(0, -1).map((first, i) => {
      return { rows: rows.subarray(first, starts[i + 1]), vectors, first };
    });
  }

  async eachRow(
    take: (row: number, isHeldOut: boolean, own: () => RowsToPlace) => void,
    work: LongWork,
  ): Promise<void> {
    for (const group of blockGroups(this.#content.segments, READ_BYTES, 'rows and vectors')) {
      for (const { rows, vectors, first } of await this.#read(group, work.call.signal)) {
        for (let i = 0; i < rows.length; i++) {
          if (rows[i] === NO_ROW) continue;
          const values = vectors.valuesAt(first + i);
          take(rows[i], isHeldOut(values), () => {
            const norms = Float64Array.of(vectors.normOf(first + i));
            return { rows: rows.subarray(i, i + 1), values, norms, codes: null };
          });
        }
        await work.step();
      }
    }
  }

  async candidates(
    asked: readonly EvaluationQuery[],
    setting: Setting,
    work: LongWork,
  ): Promise<Uint32Array[]> {
    const found = await this.#together(asked, 1, setting, true, work);
    return found.map(({ rows }) => rows);
  }

  async search(
    asked: readonly EvaluationQuery[],
    k: number,
    setting: Setting,
    work: LongWork,
  ): Promise<{ found: Best[]; ms: number }> {
    const start = performance.now();
    const found = await this.#together(asked, k, setting, false, work);
    return { found, ms: (performance.now() - start) / Math.max(1, asked.length) };
  }

  async #together(
    asked: readonly EvaluationQuery[],
    k: number,
    setting: Setting,
    isUnranked: boolean,
    work: LongWork,
  ): Promise<Best[]> {
    const all: Best[] = [];
    for (let first = 0; first < asked.length; first += TOGETHER) {
      const some = asked.slice(first, first + TOGETHER).map(async ({ query }) => {
        const isExact = this.#content.parts.canCompare(query);
        const how = { k, setting, isExact, isUnranked };
        const search = evaluationSearch(this.#stored, query, how);
        return (await this.#queue.run(search, work.call.signal)).best;
      });
      all.push(...(await Promise.all(some)));
      await work.step();
    }
    return all;
  }
}
