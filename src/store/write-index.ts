/**
 * Writes an index in memory as a generation of a folder. A segment of the index is a segment of the
 * generation: those that the generation before has stay as they are, others are written next to
 * them. A save over a newer generation than the index knows is refused.
 */

import { concatenated, lowerBound } from '../base/arrays';
import { checkBoolean, checkOptions, wrongType, wrongValue } from '../base/check';
import { LONG_CALL, type LongCall } from '../base/long-work';
import type { IndexCore } from '../index/index-core';
import type { Segment } from '../index/segment';
import { coreOf, type SimHashIndex } from '../index/simhash-index';
import type { Space } from '../index/space';
import { checkBatch, type RowBatch } from '../table/row-batch';
import { frequenciesToArrow } from '../text/frequency-file';
import { FrequencyTable } from '../text/frequency-table';
import type { TextModel } from '../vectors/vectors';
import type { FileWriter } from './blocks';
import { StoredColumns } from './columns';
import { LostError, openContent, RowSet } from './content';
import { type GenerationWriter, holdsIndex } from './generations';
import {
  type FolderFile,
  headerOf,
  type Manifest,
  type SegmentFiles,
  type TextSettings,
} from './manifest';
import type { Place } from './place';
import { Reader } from './reader';
import { removedToArrow, spaceToArrow } from './space-file';
import { writeSegment } from './write-segment';

export interface SaveIndexOptions extends LongCall {
  /** Columns to carry, with a row for each row of the index. */
  columns?: RowBatch;
  /**
   * How texts became vectors, for texts as queries: by their words, or by a sentence model. Kept
   * when it is not given again.
   */
  text?: TextSettings | TextModel;
  /** The table that weighted the texts. Kept when it is not given again. */
  frequencies?: FrequencyTable;
  /** Replaces an index that this one was not opened from. */
  replace?: boolean;
}

const OPTIONS = {
  columns: checkBatch,
  text: null,
  frequencies: null,
  replace: checkBoolean,
  ...LONG_CALL,
} as const;

/** Checks the options of a save of so many rows. */
export function checkSaveOptions(
  options: SaveIndexOptions | undefined,
  count: number,
): SaveIndexOptions {
  const given = checkOptions(options, OPTIONS);
  const { columns, text, frequencies } = given;
  if (columns !== undefined && columns.count !== count) {
    throw wrongValue('columns', `${count} rows, as the index has`, columns.count);
  }
  const made = text as Partial<TextSettings & TextModel> | undefined;
  if (text !== undefined && typeof (made?.tokens ?? made?.model) !== 'string') {
    throw wrongType('text', 'an object with "tokens" or "model"', text);
  }
  if (frequencies !== undefined && !(frequencies instanceof FrequencyTable)) {
    throw wrongType('frequencies', 'a FrequencyTable', frequencies);
  }
  return given;
}

/** The generation that an index was opened from, or saved to last, and what it has of the index. */
interface Origin {
  /** The real path of the folder. */
  readonly path: string;
  readonly manifest: Manifest;
  /** The segments in memory whose rows those of the generation have, until they are merged. */
  readonly segments: WeakSet<Segment>;
  readonly space: Space | null;
}

const origins = new WeakMap<SimHashIndex, Origin>();

/** Notes the generation that an index was loaded from. */
export function noteOrigin(index: SimHashIndex, path: string, manifest: Manifest): void {
  const { rows } = coreOf(index);
  const segments = new WeakSet(rows.sealed());
  origins.set(index, { path, manifest, segments, space: rows.space });
}

/** What a generation has of a segment in memory: neighbours become one when they are loaded. */
function filesOf({ segments }: Manifest, { rows: { firstRow, endRow } }: Segment): SegmentFiles[] {
  return segments.filter((one) => one.firstRow >= firstRow && one.firstRow < endRow);
}

/**
 * What the newest generation, `base`, has of the index; null where there is none, and where the
 * index replaces another one. Throws where the index is of an older generation.
 */
export function originOf(
  index: SimHashIndex,
  { name, path }: { name: string; path: string },
  base: Manifest | null,
  replace: boolean,
): Origin | null {
  if (base === null) return null;
  const origin = origins.get(index);
  if (origin?.path === path) {
    if (origin.manifest.checksum === base.checksum) return origin;
    if (!replace) {
      throw new LostError(
        `${name} is at generation ${base.generation}, this index is of generation ` +
          `${origin.manifest.generation}: open it again`,
      );
    }
  }
  if (replace) return null;
  throw holdsIndex(name);
}

/** A segment as the next generation has it, and how many of its rows are there. */
export interface NextSegment {
  readonly files: SegmentFiles;
  live: number;
}

/** How many rows of a segment are there. */
function liveIn({ firstRow, endRow, count }: SegmentFiles, removed: RowSet): number {
  return count - removed.within(firstRow, endRow).length;
}

/** Writes the list of the removed rows that segments have; undefined where there are none. */
export async function writeRemoved(
  writer: FileWriter,
  segments: readonly NextSegment[],
  removed: RowSet,
): Promise<FolderFile | undefined> {
  const lists = segments.map(({ files: { firstRow, endRow, count }, live }) =>
    live === count ? new Uint32Array() : removed.within(firstRow, endRow),
  );
  const rows = concatenated([new Uint32Array(), ...lists]);
  return rows.length === 0 ? undefined : writer.add('removed', removedToArrow(rows));
}

/** Writes the file of a space; undefined for none. */
export async function writeSpace(
  writer: FileWriter,
  space: Space | null,
): Promise<FolderFile | undefined> {
  return space === null ? undefined : writer.add('space', spaceToArrow(space));
}

/** Writes the table that weighted the texts. */
export function writeFrequencies(writer: FileWriter, table: FrequencyTable): Promise<FolderFile> {
  return writer.add('frequencies', frequenciesToArrow(table));
}

/**
 * Writes an index as the next generation of the folder with this path; of `origin`, the generation
 * before, whose files are at `place`, segments stay as they are.
 */
export async function writeIndex(
  writer: GenerationWriter,
  index: SimHashIndex,
  path: string,
  { origin, place }: { origin: Origin | null; place: Place },
  given: SaveIndexOptions,
): Promise<void> {
  const core = coreOf(index);
  core.refuseIfBusy();
  const { rows, changes: stamp } = core;
  const { space } = rows;
  const before = origin?.manifest ?? null;
  if (before === null) refuseLoss(origins.get(index)?.manifest, given);
  const carried = carriedBy(core, place, before, given.columns);
  const header = headerOf(core);
  const segments = new WeakSet<Segment>();
  const known = given.columns === undefined ? origin : null;
  const all: NextSegment[] = [];
  const removed = new RowSet();
  let done = 0;
  for (const segment of rows.sealed()) {
    given.signal?.throwIfAborted();
    const live = segment.rows.liveCount;
    if (live === 0) continue;
    const kept = known?.segments.has(segment) ? filesOf(known.manifest, segment) : null;
    const whole = kept ? segment : rows.compacted(segment);
    const { rows: own } = whole;
    for (let at = 0; at < own.count; at++) if (own.isRemoved(at)) removed.add(own.rowAt(at));
    const files = kept ?? [
      await writeSegment(writer, header, whole, space, await carried.of(whole)),
    ];
    const next = files.map((one) => ({ files: one, live: liveIn(one, removed) }));
    all.push(...next.filter(({ live }) => live > 0));
    segments.add(whole);
    done += live;
    given.onProgress?.(done, rows.count);
  }
  const { space: spaceFile, frequencies: counted } = before?.files ?? {};
  const files = {
    space: origin?.space === space ? spaceFile : await writeSpace(writer, space),
    frequencies: given.frequencies ? await writeFrequencies(writer, given.frequencies) : counted,
    removed: await writeRemoved(writer, all, removed),
  };
  // Rows that were optimized meanwhile are in the partitions of another space.
  if (core.changes !== stamp || core.rows !== rows) {
    throw new Error('the index was changed while it was saved, nothing was written');
  }
  given.signal?.throwIfAborted();
  const manifest = await writer.commit({
    rows: rows.count,
    index: { ...header, report: core.report },
    text: given.text ?? before?.text ?? null,
    columns: carried.columns,
    segments: all.map(({ files }) => files),
    files,
  });
  origins.set(index, { path, manifest, segments, space });
}

/** Throws where files that an index was opened from have what a save elsewhere would leave out. */
function refuseLoss(from: Manifest | undefined, given: SaveIndexOptions): void {
  if (from === undefined) return;
  const had = { columns: from.columns.length > 0, text: from.text, ...from.files };
  for (const name of ['columns', 'text', 'frequencies'] as const) {
    if (!had[name] || given[name] !== undefined) continue;
    throw new Error(`the index was opened with "${name}", which IndexFolder reads: give it again`);
  }
}

/**
 * The columns of an index that is saved: those given, with a row for each row that is there;
 * without them those in the files of the generation before, which are read once.
 */
function carriedBy(core: IndexCore, place: Place, before: Manifest | null, given?: RowBatch) {
  // `select` turns dictionaries into plain columns, as files have them.
  const columns = given?.select([]).columns ?? before?.columns ?? [];
  const names = columns.map(({ name }) => name);
  const live = columns.length === 0 ? new Uint32Array() : core.rows.liveRows();
  const nextRow = before?.segments.at(-1)?.endRow ?? 0;
  if (given === undefined && live.length > 0 && live[live.length - 1] >= nextRow) {
    const wanted = 'give "columns", a row for each of the index';
    throw new Error(`the folder carries columns (${names.join(', ')}): ${wanted}`);
  }
  const read = async () => {
    const content = await openContent(place, before as Manifest);
    return new StoredColumns(new Reader(content)).batchOf(names, live);
  };
  let all: Promise<RowBatch> | null = null;
  return {
    columns,
    /** Those of the rows of a segment; null where none are carried. */
    async of({ rows }: Segment): Promise<RowBatch | null> {
      if (columns.length === 0) return null;
      const own = Uint32Array.from({ length: rows.count }, (_, at) => rows.rowAt(at)).sort();
      all ??= given ? Promise.resolve(given) : read();
      return (await all).select(own.map((row) => lowerBound(live, row)));
    },
  };
}
