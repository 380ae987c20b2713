/**
 * Saves an index in memory to a folder as one new generation, and loads it. A segment of the index
 * is a segment of the folder: those that the folder has stay as they are, others are written next
 * to them. A save over a newer generation than the index knows is refused.
 */

import { lowerBound } from '../base/arrays';
import { checkBoolean, checkOptions, wrongType, wrongValue } from '../base/check';
import { LONG_CALL, type LongCall } from '../base/long-work';
import type { Segment } from '../index/segment';
import { coreOf, type SimHashIndex } from '../index/simhash-index';
import type { Space } from '../index/space';
import type { ColumnInfo } from '../table/columns/types';
import { checkBatch, type RowBatch } from '../table/row-batch';
import { FrequencyTable } from '../text/frequency-table';
import type { TextModel } from '../vectors/vectors';
import { FolderChange } from './change';
import { StoredColumns } from './columns';
import { LostError } from './content';
import { pathOf } from './folder-facts';
import { FolderPlace, withContent } from './folder-place';
import { holdsIndex, newestManifest, prepareFolder } from './generations';
import { loadIndex } from './load-index';
import type { Manifest, SegmentFiles, TextSettings } from './manifest';
import { Reader } from './reader';

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

/** The generation that an index was opened from, or saved to last, and what it has of the index. */
interface Origin {
  /** The real path of the folder. */
  readonly path: string;
  readonly manifest: Manifest;
  /** Of each segment in memory those that have its rows, until it is merged. */
  readonly segments: WeakMap<Segment, readonly SegmentFiles[]>;
  readonly space: Space | null;
}

const origins = new WeakMap<SimHashIndex, Origin>();

const OPTIONS = {
  columns: checkBatch,
  text: null,
  frequencies: null,
  replace: checkBoolean,
  ...LONG_CALL,
} as const;

/**
 * Saves an index to a folder, all or nothing. Writes only what changed where the index was opened
 * from or saved to this folder.
 */
export async function saveIndex(
  index: SimHashIndex,
  folder: string,
  options?: SaveIndexOptions,
): Promise<void> {
  const core = coreOf(index);
  if (typeof folder !== 'string') throw wrongType('folder', 'a path', folder);
  core.refuseIfBusy();
  const given = checkOptions(options, OPTIONS);
  checkGiven(given, index.count);
  await prepareFolder(folder);
  const base = await newestManifest(folder);
  const origin = await originIn(index, folder, base, given.replace === true);
  const how = { memory: Number.POSITIVE_INFINITY, call: given };
  const saved = await FolderChange.fresh(folder, base, core, how, (change) =>
    save(change, origin, given),
  );
  origins.set(index, { path: await pathOf(folder), ...saved });
}

function checkGiven({ columns, text, frequencies }: SaveIndexOptions, count: number) {
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
}

/**
 * What the newest generation has of the index; null in a new folder, and where the index
 * replaces another one. Throws where the index is of an older generation.
 */
async function originIn(
  index: SimHashIndex,
  folder: string,
  base: Manifest | null,
  replace: boolean,
): Promise<Origin | null> {
  if (base === null) return null;
  const origin = origins.get(index);
  if (origin?.path === (await pathOf(folder))) {
    if (origin.manifest.checksum === base.checksum) return origin;
    if (!replace) {
      throw new LostError(
        `${folder} is at generation ${base.generation}, this index is of generation ` +
          `${origin.manifest.generation}: open it again`,
      );
    }
  }
  if (replace) return null;
  throw holdsIndex(folder);
}

/** Writes the rows of an index; segments of `origin`, the generation before, stay as they are. */
async function save(
  change: FolderChange,
  origin: Origin | null,
  given: SaveIndexOptions,
): Promise<Omit<Origin, 'path'>> {
  const { core, folder } = change;
  const { rows, changes: stamp } = core;
  const before = origin?.manifest ?? null;
  const carried = await carriedBy(folder, before, given.columns, () => rows.liveRows());
  change.columns = carried?.columns ?? [];
  const segments: Origin['segments'] = new WeakMap();
  let done = 0;
  for (const segment of rows.sealed()) {
    given.signal?.throwIfAborted();
    const live = segment.rows.liveCount;
    if (live === 0) continue;
    const known = given.columns === undefined ? origin?.segments.get(segment) : undefined;
    const whole = known ? segment : rows.compacted(segment);
    const { rows: own } = whole;
    for (let at = 0; at < own.count; at++) if (own.isRemoved(at)) change.removed.add(own.rowAt(at));
    const next = known
      ? known.map((files) => ({ files, live: change.liveIn(files) })).filter(({ live }) => live > 0)
      : [await change.written(whole, await columnsOf(whole, carried))];
    segments.set(
      whole,
      next.map(({ files }) => files),
    );
    change.segments.push(...next);
    done += live;
    given.onProgress?.(done, rows.count);
  }
  const { space } = rows;
  const { space: spaceFile, frequencies: counted } = before?.files ?? {};
  if (spaceFile && origin?.space === space) change.files.space = spaceFile;
  else await change.writeSpace(space);
  if (given.frequencies) await change.writeFrequencies(given.frequencies);
  else if (counted) change.files.frequencies = counted;
  change.text = given.text ?? before?.text ?? null;
  // Rows that were optimized meanwhile are in the partitions of another space.
  if (core.changes !== stamp || core.rows !== rows) {
    throw new Error('the index was changed while it was saved, nothing was written');
  }
  const manifest = await change.publish(core.report);
  return { manifest, segments, space };
}

/** Columns by row, and their names and types. */
interface CarriedColumns {
  readonly columns: readonly ColumnInfo[];
  /** The columns of some rows, which ascend. */
  of(rows: Uint32Array): Promise<RowBatch>;
}

/**
 * The columns of all rows of an index that is saved: `whole` has a row for each of `liveRows`;
 * without it those in the files of `origin`. Null where none are carried.
 */
async function carriedBy(
  folder: string,
  origin: Manifest | null,
  whole: RowBatch | undefined,
  liveRows: () => Uint32Array,
): Promise<CarriedColumns | null> {
  if (whole !== undefined) {
    // `select` turns dictionaries into plain columns, as files have them.
    const { columns } = whole.select([]);
    if (columns.length === 0) return null;
    const live = liveRows();
    return {
      columns,
      of: async (rows) => whole.select(Uint32Array.from(rows, (row) => lowerBound(live, row))),
    };
  }
  const columns = origin?.columns ?? [];
  if (origin === null || columns.length === 0) return null;
  const names = columns.map(({ name }) => name);
  const nextRow = origin.segments.at(-1)?.endRow ?? 0;
  const last = liveRows().at(-1);
  if (last !== undefined && last >= nextRow) {
    const wanted = 'give "columns", a row for each of the index';
    throw new Error(`the folder carries columns (${names.join(', ')}): ${wanted}`);
  }
  return {
    columns,
    of: (rows) =>
      withContent(folder, origin, (content) =>
        new StoredColumns(new Reader(content)).batchOf(names, rows),
      ),
  };
}

/** The carried columns of the rows of a segment; null where none are carried. */
async function columnsOf({ rows }: Segment, carried: CarriedColumns | null) {
  const own = Uint32Array.from({ length: rows.count }, (_, at) => rows.rowAt(at)).sort();
  return carried && (await carried.of(own));
}

/** Loads the index of a folder's generation. */
export async function loadFolder(
  folder: string,
  manifest: Manifest,
  call: LongCall,
): Promise<SimHashIndex> {
  const place = new FolderPlace(folder);
  const index = await loadIndex(place, manifest, call);
  const { rows } = coreOf(index);
  // Segments of a folder are neighbours in one of the index.
  const filesOf = ({ rows: { firstRow, endRow } }: Segment) =>
    manifest.segments.filter((one) => one.firstRow >= firstRow && one.firstRow < endRow);
  const segments = new WeakMap(rows.sealed().map((one) => [one, filesOf(one)]));
  origins.set(index, { path: await pathOf(folder), manifest, segments, space: rows.space });
  return index;
}
