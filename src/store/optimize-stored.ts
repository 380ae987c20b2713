/**
 * Makes searches of rows in files fast at a wanted recall: a space is trained on a sample, rows are
 * placed in it segment by segment, and the setting is chosen and measured with the new files before
 * they are published. Memory holds the rows of a segment, or of a part of one.
 */

import { checkOptions, wrongType, wrongValue } from '../base/check';
import { LongWork } from '../base/long-work';
import { alea } from '../base/random';
import { COPY_NEIGHBORS, COPY_QUERIES, copiesPay } from '../index/copies';
import type { IndexCore } from '../index/index-core';
import type { OptimizeOptions, RecallReport } from '../index/index-options';
import { MemoryIndex } from '../index/memory-index';
import { checkWanted, type Wanted } from '../index/optimize';
import { pointsOf } from '../index/place';
import { reportOf } from '../index/report';
import type { Segment } from '../index/segment';
import { EvaluationSource, settle, shuffled } from '../index/settle';
import { bytesPerEntryOf, type Space } from '../index/space';
import {
  HELD_OUT_CLASSES,
  MIN_PARTITIONED_ROWS,
  sampleSize,
  trainSpace,
  untrainedSpace,
  usualPartitions,
} from '../index/train';
import { allocateIntegers } from '../k-means/points';
import type { FolderChange } from './change';
import { type Content, noVectorsOf, openContent, type StoredSegment } from './content';
import { FolderPlace } from './folder-place';
import { loadSegment } from './load-segment';
import type { SegmentFiles } from './manifest';
import { mergeSegments } from './merge-segments';
import { Reader } from './reader';
import { RowSet } from './row-set';
import { spaceToArrow } from './space-file';
import { StoredEvaluable } from './stored-evaluable';
import { layoutOf, memoryOfRow, writeSegment } from './write-segment';

const OPTIMIZED = ['recall', 'k', 'partitions', 'copies', 'seed', 'queries'];
/** Rows of a segment that are loaded take at most this share of a limit; they are there twice. */
const LOAD_SHARE = 0.4;
/** Times that a setting is chosen again: so many more evaluation queries may be needed. */
const MAX_QUERY_TIMES = 3;

/** Checks the options of `optimize` for rows that stay in files: these need dense vectors. */
export function checkWantedInFiles(core: IndexCore, options: OptimizeOptions): Wanted {
  checkOptions('optimize', options, OPTIMIZED);
  if (core.dense === null) {
    const kind = core.vectors?.kind ?? 'none';
    throw wrongValue('vectors', "'float32' or 'int8' to optimize rows in files", kind);
  }
  if (options.queries !== undefined && typeof options.queries !== 'number') {
    throw wrongType('queries', 'a number of rows, where rows stay in files', options.queries);
  }
  return checkWanted(core, options);
}

/**
 * Optimizes the rows of a change, whose segments become others; returns the report. `given` is the
 * space in whose partitions rows are already: then only the setting is chosen and measured.
 */
export async function optimizeStored(
  change: FolderChange,
  wanted: Wanted,
  given: Space | null = null,
): Promise<RecallReport> {
  const work = new LongWork(change.call);
  await change.merge('removed');
  const place = new FolderPlace(change.folder, change.base?.generation ?? null);
  try {
    const before = await openContent(place, change.provisional());
    const evaluable = new StoredEvaluable(before, change.memory / 4);
    const trained = given === null ? await train(change, evaluable, wanted, work) : null;
    const held = trained?.held ?? (await heldRows(evaluable, work));
    const seed = Number(BigInt.asUintN(32, wanted.seed));
    const source = await sourceOf(evaluable, held, wanted, seed, work);
    if (trained !== null) {
      const { space } = trained;
      const hasCopies =
        wanted.copies ?? (await payCopies(change, evaluable, trained, source, wanted, work));
      const { core } = change;
      const layout = { space, hasCopies: hasCopies && space.count > 1 };
      core.rows = new MemoryIndex(core.rows.options, layout, core.rows.nextRow);
      change.spaceFile = await addSpace(change, space);
      change.replaceSegments(await placeAll(change, before, space, work));
    }
    const after = await openContent(place, change.provisional());
    const trial = new StoredEvaluable(after, change.memory / 2);
    const { choice, figures } = await settle(trial, source, wanted, work);
    const { k, recall } = wanted;
    const heldOutShare = after.space === null ? 1 : 1 / HELD_OUT_CLASSES;
    const reported = { wanted: { k, recall, seed }, choice, figures, byRows: null, heldOutShare };
    return reportOf(trial, after.manifest.rows, reported);
  } finally {
    await place.close();
  }
}

export async function addSpace(change: FolderChange, space: Space) {
  const { bytes, rows } = spaceToArrow(space);
  return change.writer.add('space', bytes, rows);
}

interface Trained {
  readonly space: Space;
  readonly sample: Int16Array;
  /** Rows that are held out. */
  readonly held: Uint32Array;
}

/** Trains a space on a sample of the rows; null where there are too few rows for one. */
async function train(
  { core }: FolderChange,
  evaluable: StoredEvaluable,
  { partitions, seed }: Wanted,
  work: LongWork,
): Promise<Trained | null> {
  const coded = evaluable.rows;
  if (coded === 0 || (partitions === undefined && coded < MIN_PARTITIONED_ROWS)) return null;
  const count = partitions ?? usualPartitions(coded);
  const untrained = untrainedSpace(core.origin);
  const { width } = untrained;
  const most = Math.min(coded, sampleSize(count));
  const sample = allocateIntegers(most, width);
  const random = alea(String(seed));
  const held: number[] = [];
  let seen = 0;
  await evaluable.eachVector((row, values, norm, isHeld) => {
    if (isHeld) held.push(row);
    else {
      // Each of the rows seen so far is in the sample with the same probability (Vitter 1985).
      const at = seen < most ? seen : Math.floor(random() * (seen + 1));
      seen++;
      if (at >= most) return;
      const own = { rows: Uint32Array.of(row), values, norms: Float64Array.of(norm), codes: null };
      sample.set(pointsOf(untrained, own), at * width);
    }
  }, work);
  const points = sample.subarray(0, Math.min(seen, most) * width);
  const training = { partitions: count, seed: String(seed) };
  const space = await trainSpace(untrained, points, training, work);
  return { space, sample: points, held: Uint32Array.from(held).sort() };
}

async function heldRows(evaluable: StoredEvaluable, work: LongWork): Promise<Uint32Array> {
  const [held, all]: number[][] = [[], []];
  await evaluable.eachVector((row, _, __, isHeld) => {
    all.push(row);
    if (isHeld) held.push(row);
  }, work);
  return Uint32Array.from(held.length < 2 ? all : held).sort();
}

/** Held-out rows in random order as queries. */
async function sourceOf(
  evaluable: StoredEvaluable,
  held: Uint32Array,
  { k, queries }: Wanted,
  seed: number,
  work: LongWork,
): Promise<EvaluationSource> {
  const order = shuffled(held, seed).subarray(0, MAX_QUERY_TIMES * queries);
  await evaluable.loadQueries(order, work);
  return EvaluationSource.of(
    { source: 'rows', truth: 'cosine', isTrained: false },
    order,
    {
      ahead: queries,
      queryAt: (row) => ({ row, query: evaluable.queryOfRow(row) }),
      truthAt: null,
    },
    (asked, own) => evaluable.nearest(asked, k, own),
  );
}

/** Whether searches gain by copies, by the neighbours of evaluation queries. */
async function payCopies(
  { core }: FolderChange,
  evaluable: StoredEvaluable,
  { space, sample }: Trained,
  source: EvaluationSource,
  { recall }: Wanted,
  work: LongWork,
): Promise<boolean> {
  if (core.dense === null || bytesPerEntryOf(core.dense.dimensions) === 0) return false;
  const asked = await source.first(COPY_QUERIES, work);
  const near = asked.flatMap(({ truth }) => Array.from(truth.rows.subarray(0, COPY_NEIGHBORS)));
  const points = await evaluable.pointsOf(Uint32Array.from(near), space, work);
  return copiesPay(space, { asked, points, rows: evaluable.rows, sample }, recall);
}

/** Places all rows in a space; a segment becomes one with the same rows. */
async function placeAll(
  change: FolderChange,
  content: Content,
  space: Space,
  work: LongWork,
): Promise<{ files: SegmentFiles; live: number }[]> {
  const { core, memory } = change;
  const layout = layoutOf(change.header, space, 'Utf8');
  const mostRows = Math.max(1, Math.floor((LOAD_SHARE * memory) / memoryOfRow(layout, core.dense)));
  const placed: { files: SegmentFiles; live: number }[] = [];
  const reader = new Reader(content);
  for (const segment of content.segments) {
    const pieces: SegmentFiles[] = [];
    for (const part of cut(segment, mostRows)) {
      const held = await loadSegment(content, reader, part, noVectorsOf(content), work.call.signal);
      const own = MemoryIndex.of(core.rows.options, noSpace(content), [held], segment.endRow);
      const index = await own.placed(core.rows.layout, work);
      for (const made of index.sealed()) {
        pieces.push(await writeSegment(change.writer, change.header, ranged(made, segment), space));
      }
    }
    const files = await joined(change, pieces);
    if (files === null) continue;
    const columns = segment.files.columns;
    const all = columns === undefined ? files.files : { ...files.files, columns };
    placed.push({ files: { ...files, files: all }, live: files.files.rows?.rows ?? 0 });
  }
  return placed;
}

/** The layout that rows have in files before they are placed. */
function noSpace({ space, manifest }: Content) {
  return { space, hasCopies: manifest.index.copies };
}

/** A segment in memory that covers the numbers of one in files. */
function ranged(made: Segment, { firstRow, endRow }: StoredSegment): Segment {
  made.rows.cover(firstRow, endRow);
  return made;
}

/** A segment in parts of some blocks each, with about so many rows. */
function cut(segment: StoredSegment, mostRows: number): StoredSegment[] {
  if (segment.count <= mostRows) return [segment];
  const { table, file } = segment.rows;
  const parts: StoredSegment[] = [];
  for (let first = 0, end = 0; first < table.count; first = end) {
    let rows = 0;
    while (end < table.count && (rows === 0 || rows + table.rows[end] <= mostRows)) {
      rows += table.rows[end++];
    }
    const of = <T extends { subarray(first: number, end: number): T }>(values: T): T =>
      values.subarray(first, end);
    const start = table.starts[first];
    const own = {
      ...{ layout: table.layout, count: end - first },
      ...{ partitions: of(table.partitions), rows: of(table.rows) },
      starts: of(table.starts).map((at) => at - start),
      ...{ at: of(table.at), bytes: of(table.bytes), checksums: of(table.checksums) },
      ...{ vectorsAt: of(table.vectorsAt), vectorsBytes: of(table.vectorsBytes) },
      ...{ vectorsChecksums: of(table.vectorsChecksums), headChecksums: of(table.headChecksums) },
    };
    parts.push({ ...segment, count: rows, rows: { file, table: own }, copies: null });
  }
  return parts;
}

/** Pieces of a segment as one; null where no row is left. */
async function joined(
  change: FolderChange,
  pieces: readonly SegmentFiles[],
): Promise<SegmentFiles | null> {
  if (pieces.length < 2) return pieces[0] ?? null;
  const place = new FolderPlace(change.folder, null);
  try {
    const manifest = { ...change.provisional(), columns: [], segments: pieces };
    const content = await openContent(place, manifest);
    const merging = {
      ...{ content, reader: new Reader(content), segments: content.segments },
      ...{ removed: new RowSet(), signal: change.call.signal },
    };
    return await mergeSegments(change.writer, change.header, merging);
  } finally {
    await place.close();
  }
}
