/**
 * Makes searches of rows in files fast at a wanted recall, as `index/optimize.ts` says: rows are
 * placed in a space segment by segment, and the setting is chosen and measured with the new files
 * before they are published. Memory holds the rows of a segment, or of a part of one.
 */

import { checkOptions, wrongValue } from '../base/check';
import { LongWork } from '../base/long-work';
import type { IndexCore } from '../index/index-core';
import { OPTIMIZE_OPTIONS, type OptimizeOptions, type RecallReport } from '../index/index-options';
import { MemoryIndex } from '../index/memory-index';
import { checkWanted, type Optimizable, optimized, type Wanted } from '../index/optimize';
import type { Query } from '../index/query';
import { Evaluable, type EvaluationSearch, type Partitions, type RowPlace } from '../index/recall';
import { type Best, CosineSearch } from '../index/search';
import type { Space } from '../index/space';
import { type Chunk, chunksOf, type EvaluationQuery, type TakeChunks } from '../index/truth';
import type { DenseVectors } from '../index/vectors/dense-vectors';
import { NO_ROW } from '../kernels/hits';
import { blocksIn, layoutOf, NO_PARTITION } from './blocks';
import type { FolderChange } from './change';
import { type Content, noVectorsOf, RowSet, type StoredSegment } from './content';
import { FolderPlace, withContent } from './folder-place';
import { loadSegment } from './load-index';
import type { SegmentFiles } from './manifest';
import { mergeSegments } from './merge-segments';
import { withPlace } from './place';
import { type BlockName, blockGroups, blockNames, inGroups, type LoadedBlock } from './reader';
import { SearchQueue, together } from './stored-index';
import { StoredRows } from './stored-rows';
import { type NextSegment, writeSpace } from './write-index';
import { memoryOfRow, writeSegment } from './write-segment';

/**
 * The part of the memory limit that loaded rows of a segment may take; while they are placed they
 * are in memory twice, next to the space. So 10,000,000 × 384 with a limit of 1 GB took 1,431 MB at
 * most; with .3, 1,537.
 */
const LOAD_SHARE = 0.27;

/** Checks the options of `optimize` for rows that stay in files: these need dense vectors. */
export function checkWantedInFiles(core: IndexCore, options: OptimizeOptions): Wanted {
  checkOptions(options, OPTIMIZE_OPTIONS, 'optimize');
  if (core.dense === null) {
    const kind = core.vectors?.kind ?? 'none';
    throw wrongValue('vectors', "'float32' or 'int8' to optimize rows in files", kind);
  }
  return checkWanted(core, options);
}

/** Optimizes the rows of a change, whose segments become others; returns the report. */
export function optimizeStored(change: FolderChange, wanted: Wanted): Promise<RecallReport> {
  const work = new LongWork(change.call);
  const near = new FolderPlace(change.folder);
  return withPlace(near, async (place) => {
    const content = await change.opened(place);
    const own: Optimizable<StoredEvaluable> = {
      before: new StoredEvaluable(content, change.memory / 4),
      sampleBytes: change.memory / 4,
      place: async (space, placing) => {
        await placeAll(change, content, space, placing);
        return new StoredEvaluable(await change.opened(place), change.memory / 2);
      },
    };
    return (await optimized(own, wanted, work)).report;
  });
}

/** Places all rows in a space; neighbours that fit into one segment become one. */
async function placeAll(
  change: FolderChange,
  content: Content,
  space: Space | null,
  work: LongWork,
): Promise<void> {
  const { core, memory } = change;
  core.rows = new MemoryIndex(core.rows.options, space, core.rows.nextRow);
  change.files.space = await writeSpace(change.writer, space);
  const layout = layoutOf(change.header, space, 'Utf8');
  const mostRows = Math.max(1, Math.floor((LOAD_SHARE * memory) / memoryOfRow(layout)));
  const placed: NextSegment[] = [];
  for (const group of change.groups('whole')) {
    const segments = group.map((i) => content.segments[i]);
    const pieces: SegmentFiles[] = [];
    for (const part of segments.flatMap((segment) => cut(segment, mostRows))) {
      const held = await loadSegment(
        content,
        [part],
        noVectorsOf(content),
        false,
        work.call.signal,
      );
      const own = new MemoryIndex(core.rows.options, content.space, part.endRow, [held]);
      const index = await own.placed(space, work);
      for (const made of index.sealed()) {
        pieces.push(await writeSegment(change.writer, change.header, made, space, null, part));
      }
    }
    const files = await asOneSegment(change, pieces);
    if (files === null) continue;
    const all = await change.mergeColumns(files, segments, content);
    placed.push({ files: all, live: all.count });
  }
  change.segments = placed;
  change.removed = new RowSet(); // removed rows were left out
}

/** A segment in parts of some blocks of rows each, with so many rows. */
function cut(segment: StoredSegment, mostRows: number): StoredSegment[] {
  const { blocks } = segment;
  const rowsOf = ({ block }: BlockName) => blocks.rows[block];
  return inGroups(blockNames([segment]), rowsOf, mostRows).map((names) => {
    const [{ block: first }] = names;
    const count = names.reduce((sum, one) => sum + rowsOf(one), 0);
    return { ...segment, count, blocks: blocksIn(blocks, first, first + names.length) };
  });
}

/** Pieces as one segment; null where no row is left. */
async function asOneSegment(
  change: FolderChange,
  pieces: readonly SegmentFiles[],
): Promise<SegmentFiles | null> {
  if (pieces.length < 2) return pieces[0] ?? null;
  const manifest = { ...change.provisional(), columns: [], segments: pieces };
  return withContent(change.folder, manifest, (content) => {
    const merging = { content, segments: content.segments, signal: change.call.signal };
    return mergeSegments(change.writer, change.header, merging);
  });
}

/** Bytes of blocks that are read together. */
const CHUNK_BYTES = 2 ** 24;

/** An index that holds dense vectors, which all rows that are not null have. */
export class StoredEvaluable extends Evaluable {
  readonly rows: number;
  readonly #content: Content;
  readonly stored: StoredRows;
  readonly #queue: SearchQueue;
  /** Of each row from `first` on its partition, and its second one. */
  #partitions: { first: number; own: Uint16Array; seconds: Uint16Array } | null = null;

  /** `memory` is what searches may hold besides what the content takes. */
  constructor(content: Content, memory: number) {
    super(content.parts, content.space);
    this.#content = content;
    this.stored = new StoredRows(content, memory);
    this.#queue = new SearchQueue(this.stored);
    let rows = 0;
    for (const { blocks } of content.segments) {
      blocks.partitions.forEach((p, block) => {
        if (p !== NO_PARTITION) rows += blocks.rows[block];
      });
    }
    this.rows = rows;
  }

  get count(): number {
    return this.#content.manifest.rows;
  }

  protected async placeOf(row: number, { call }: LongWork): Promise<RowPlace> {
    return { ...(await this.stored.vectorOf(row, call.signal)), code: new Uint8Array() };
  }

  async partitionsOf(rows: Uint32Array): Promise<Partitions> {
    this.#partitions ??= await this.#allPartitions();
    const { first, own, seconds } = this.#partitions;
    const of = (partitions: Uint16Array) => rows.map((row) => partitions[row - first]);
    return { own: of(own), seconds: of(seconds) };
  }

  async #allPartitions() {
    const { segments } = this.#content;
    const first = segments[0]?.firstRow ?? 0;
    const count = (segments.at(-1)?.endRow ?? 0) - first;
    const own = new Uint16Array(count);
    const seconds = this.space?.parts.hasCopies ? new Uint16Array(count) : own;
    await this.stored.eachBlock(segments, ({ rows: { partition, rows, copies } }) => {
      for (const row of rows) own[row - first] = partition;
      for (const row of copies) seconds[row - first] = partition;
    });
    return { first, own, seconds };
  }

  /** All rows, some MiB at a time: their vectors lie in one memory, where the next ones follow. */
  protected async eachChunks(work: LongWork, take: TakeChunks): Promise<void> {
    const { segments } = this.#content;
    const groups = blockGroups(segments, true, undefined, CHUNK_BYTES);
    const how = { hasCodes: this.isByCode, hasVectors: true, signal: work.call.signal } as const;
    const vectors = noVectorsOf(this.#content) as DenseVectors;
    vectors.zeros.add((this.#content.parts.dense as DenseVectors).zeros);
    let room = 0;
    await this.stored.reader.each(groups, how, async (blocks) => {
      const count = blocks.reduce((sum, { rows }) => sum + rows.count, 0);
      vectors.skip(Math.max(0, count - room));
      room = Math.max(room, count);
      await take(this.#chunksOf(blocks, vectors, count));
    });
  }

  #chunksOf(blocks: readonly LoadedBlock[], vectors: DenseVectors, count: number): Chunk[] {
    const { removed, parts } = this.#content;
    const { bytesPerCode } = parts.hasher;
    const codes = new Uint8Array(count * bytesPerCode);
    const rows = new Uint32Array(count).fill(NO_ROW);
    let at = 0;
    for (const { rows: own, vectors: held } of blocks) {
      const first = at;
      vectors.restore(
        held,
        own.rows.map((_, place) => first + place),
      );
      codes.set(own.codes, first * bytesPerCode);
      for (let place = 0; place < own.count; place++, at++) {
        const isThere = own.partition !== NO_PARTITION && !removed.has(own.rows[place]);
        if (isThere) rows[at] = own.rows[place];
      }
    }
    return chunksOf({ codes, rows, bytesPerCode }, vectors, count);
  }

  async search(
    asked: readonly EvaluationQuery[],
    how: EvaluationSearch,
    work: LongWork,
  ): Promise<Best[]> {
    const find = async (i: number) => {
      const search = this.searchFor(this.stored, asked[i], how);
      return (await this.#queue.run(search, work.call.signal)).best;
    };
    return together(asked.length, find, work.quiet());
  }

  /** The exact cosines of rows, by row. */
  async cosinesOf(
    query: Query,
    rows: Uint32Array,
    work: LongWork,
  ): Promise<ReadonlyMap<number, number>> {
    const k = rows.length;
    const how = { probes: null, want: k, k, filter: null, rows };
    const counted = { codesCompared: 0, candidates: 0, probes: 0 };
    const search = new CosineSearch(this.stored, query, how, true, counted);
    const { best } = await this.#queue.run(search, work.call.signal);
    return new Map(Array.from(best.rows, (row, i) => [row, best.cosines[i]]));
  }
}
