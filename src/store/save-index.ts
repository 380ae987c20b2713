/**
 * Saves an index in memory to a folder as one new generation, and loads it. A segment of the index
 * is a segment of the folder: those that the folder has stay as they are, others are written next
 * to them. A save over a newer generation than the index knows is refused.
 */

import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { checkOptions, wrongType, wrongValue } from '../base/check';
import { asFormatError } from '../base/format-error';
import { checkLongCall, LONG_CALL, type LongCall } from '../base/long-work';
import { ignore } from '../formats/file-io';
import type { IndexCore } from '../index/index-core';
import { MemoryIndex } from '../index/memory-index';
import { IdRules } from '../index/row-ids';
import type { Segment } from '../index/segment';
import { coreOf, SimHashIndex } from '../index/simhash-index';
import { RowBatch } from '../table/row-batch';
import { frequenciesToArrow } from '../text/frequency-file';
import { FrequencyTable } from '../text/frequency-table';
import { type CarriedColumns, carriedBy, writeColumns } from './carried';
import { type Content, openContent } from './content';
import { FolderPlace } from './folder-place';
import { GenerationWriter, newestManifest, prepareFolder } from './generations';
import { headerOf, optionsOf } from './header';
import { loadSegment } from './load-segment';
import {
  type FileKind,
  type FolderFile,
  filesOf,
  type Manifest,
  manifestName,
  type SegmentFiles,
  type TextSettings,
} from './manifest';
import { Reader } from './reader';
import { removedToArrow, spaceToArrow } from './space-file';
import { checkFile } from './verify';
import { writeSegment } from './write-segment';

export interface SaveIndexOptions extends LongCall {
  /** Columns to carry, with a row for each row of the index. */
  columns?: RowBatch;
  /** How texts became vectors, for texts as queries. Kept when it is not given again. */
  text?: TextSettings;
  /** The table that weighted the texts. Kept when it is not given again. */
  frequencies?: FrequencyTable;
  /** Replaces an index that this one was not opened from. */
  replace?: boolean;
}

/** The generation that an index was opened from, or saved to last. */
interface Origin {
  /** The real path of the folder. */
  readonly path: string;
  readonly manifest: Manifest;
}

const origins = new WeakMap<SimHashIndex, Origin>();
/** By segment in memory the files that have it, until it is merged or the files are gone. */
const saved = new WeakMap<Segment, SegmentFiles>();

const OPTIONS = ['columns', 'text', 'frequencies', 'replace', ...LONG_CALL];

/**
 * Saves an index to a folder, all or nothing. Writes only what changed where the index was opened
 * from or saved to this folder.
 */
export async function saveIndex(
  index: SimHashIndex,
  folder: string,
  options?: SaveIndexOptions,
): Promise<void> {
  if (!(index instanceof SimHashIndex)) throw wrongType('index', 'a SimHashIndex', index);
  if (typeof folder !== 'string') throw wrongType('folder', 'a path', folder);
  const core = coreOf(index);
  core.refuseIfBusy();
  const given = checkLongCall(checkOptions('options', options, OPTIONS));
  checkGiven(given, index.count);
  await prepareFolder(folder);
  const base = await newestManifest(folder);
  const origin = await originIn(index, folder, base, given.replace === true);
  const writer = new GenerationWriter(folder, base);
  try {
    const manifest = await new Save(core, folder, origin, given, writer).write();
    origins.set(index, { path: await pathOf(folder), manifest });
  } catch (error) {
    throw await writer.abandon(error);
  }
}

function checkGiven({ columns, text, frequencies, replace }: SaveIndexOptions, count: number) {
  if (columns !== undefined && !(columns instanceof RowBatch)) {
    throw wrongType('columns', 'a RowBatch', columns);
  }
  if (columns !== undefined && columns.count !== count) {
    throw wrongValue('columns', `${count} rows, as the index has`, columns.count);
  }
  if (text !== undefined && typeof text?.tokens !== 'string') {
    throw wrongType('text', 'an object with "tokens"', text);
  }
  if (frequencies !== undefined && !(frequencies instanceof FrequencyTable)) {
    throw wrongType('frequencies', 'a FrequencyTable', frequencies);
  }
  if (replace !== undefined && typeof replace !== 'boolean') {
    throw wrongType('replace', 'true or false', replace);
  }
}

/** The real path of a folder, one for all names that it has. */
async function pathOf(folder: string): Promise<string> {
  return (await realpath(folder).catch(ignore(['ENOENT']))) ?? folder;
}

/**
 * The newest generation, where the index has its rows; null in a new folder, and where the index
 * replaces another one. Throws where the index is of an older generation.
 */
async function originIn(
  index: SimHashIndex,
  folder: string,
  base: Manifest | null,
  replace: boolean,
): Promise<Manifest | null> {
  if (base === null) return null;
  const origin = origins.get(index);
  if (origin?.path === (await pathOf(folder))) {
    if (origin.manifest.checksum === base.checksum) return base;
    if (!replace) {
      throw new Error(
        `${folder} is at generation ${base.generation}, this index is of generation ` +
          `${origin.manifest.generation}: open it again`,
      );
    }
  }
  if (replace) return null;
  throw new Error(`${folder} holds an index, "replace: true" puts this one in its place`);
}

/** One save of an index. */
class Save {
  readonly #core: IndexCore;
  readonly #folder: string;
  /** The generation whose files may stay; null for none. */
  readonly #origin: Manifest | null;
  readonly #given: SaveIndexOptions;
  readonly #writer: GenerationWriter;
  readonly #stamp: number;

  constructor(
    core: IndexCore,
    folder: string,
    origin: Manifest | null,
    given: SaveIndexOptions,
    writer: GenerationWriter,
  ) {
    this.#core = core;
    this.#folder = folder;
    this.#origin = origin;
    this.#given = given;
    this.#writer = writer;
    this.#stamp = core.changes;
  }

  async write(): Promise<Manifest> {
    const { rows, ids } = this.#core;
    const { space, hasCopies } = rows.layout;
    const counts = { ids: ids.kind, nextRow: rows.nextRow, copies: hasCopies };
    const header = headerOf(this.#core, counts);
    const inMemory = [...rows.sealed()];
    const known = new Set(this.#origin?.segments.map(({ files }) => files.rows?.name));
    const carried = await carriedBy(this.#folder, this.#origin, this.#given.columns, {
      live: rows.liveRows(),
    });
    const segments: SegmentFiles[] = [];
    const removed: number[] = [];
    let done = 0;
    for (const [i, segment] of inMemory.entries()) {
      this.#given.signal?.throwIfAborted();
      const before = saved.get(segment);
      const mayStay = before !== undefined && known.has(before.files.rows?.name);
      if (mayStay && this.#given.columns === undefined) {
        segments.push(before);
        removed.push(...removedIn(segment));
      } else {
        inMemory[i] = rows.compacted(segment);
        segments.push(await this.#add(inMemory[i], header, carried));
      }
      done += segment.rows.liveCount;
      this.#given.onProgress?.(done, rows.count);
    }
    const files = await this.#others(removed, space !== null);
    if (this.#core.changes !== this.#stamp) {
      throw new Error('the index was changed while it was saved, nothing was written');
    }
    // Read back before the commit: only what opens is published.
    for (const file of this.#writer.added) await checkFile(this.#folder, file);
    const manifest = await this.#writer.commit({
      rows: rows.count,
      index: header,
      columns: carried?.columns ?? [],
      segments,
      files,
      text: this.#given.text ?? this.#origin?.text ?? null,
    });
    for (const [i, segment] of inMemory.entries()) saved.set(segment, segments[i]);
    return manifest;
  }

  async #add(
    segment: Segment,
    header: Manifest['index'],
    carried: CarriedColumns | null,
  ): Promise<SegmentFiles> {
    const { space } = this.#core.rows.layout;
    const made = await writeSegment(this.#writer, header, segment, space);
    if (carried === null) return made;
    const own = liveIn(segment);
    const columns = await writeColumns(this.#writer, await carried.of(own), own.length);
    return { ...made, files: { ...made.files, columns } };
  }

  /** The files of the whole index: those that are still true stay. */
  async #others(removed: readonly number[], hasSpace: boolean) {
    const { space } = this.#core.rows.layout;
    const files: { [kind in FileKind]?: FolderFile } = {};
    if (hasSpace && space !== null) {
      const known = this.#origin?.files.space;
      const isSame = known !== undefined && spaceNames.get(known.checksum) === space.name;
      if (isSame) files.space = known;
      else {
        const { bytes, rows } = spaceToArrow(space);
        files.space = await this.#writer.add('space', bytes, rows);
        spaceNames.set(files.space.checksum, space.name);
      }
    }
    if (removed.length > 0) {
      const rows = Uint32Array.from(removed).sort();
      files.removed = await this.#writer.add('removed', removedToArrow(rows), rows.length);
    }
    const { frequencies } = this.#given;
    if (frequencies !== undefined) {
      const bytes = frequenciesToArrow(frequencies);
      files.frequencies = await this.#writer.add('frequencies', bytes, frequencies.size);
    } else if (this.#origin?.files.frequencies !== undefined) {
      files.frequencies = this.#origin.files.frequencies;
    }
    return files;
  }
}

/** By checksum of a file of a space, which this process wrote or read, the name of the space. */
const spaceNames = new Map<string, string>();

/** Rows of a segment that are removed, and those that are there, ascending. */
function removedIn({ rows }: Segment): number[] {
  const removed: number[] = [];
  for (let at = 0; at < rows.count; at++) if (rows.isRemoved(at)) removed.push(rows.rowAt(at));
  return removed;
}

function liveIn({ rows }: Segment): Uint32Array {
  return Uint32Array.from({ length: rows.count }, (_, at) => rows.rowAt(at)).sort();
}

/** Loads the index of a folder's generation. */
export async function loadIndex(
  folder: string,
  manifest: Manifest,
  call: LongCall,
): Promise<SimHashIndex> {
  const path = join(folder, manifestName(manifest.generation));
  const place = new FolderPlace(folder, manifest.generation);
  try {
    // A file of the wrong size is found before anything is read.
    for (const file of filesOf(manifest)) await place.read(file, []);
    const content = await openContent(place, manifest, { signal: call.signal });
    const index = asFormatError(path, () => new SimHashIndex(optionsOf(manifest.index)));
    const core = coreOf(index);
    core.isForeign = content.parts.isForeign;
    core.report = content.parts.report;
    if (content.parts.dense !== null) core.dense?.zeros.add(content.parts.dense.zeros);
    core.ids = new IdRules(manifest.index.ids);
    const segments = await loadSegments(content, core, call);
    const layout = { space: content.space, hasCopies: manifest.index.copies };
    core.rows = MemoryIndex.of(core.rows.options, layout, segments, manifest.index.nextRow);
    if (index.count !== manifest.rows) {
      asFormatError(path, () => {
        throw new Error(`${index.count} rows were found, it says ${manifest.rows}`);
      });
    }
    const { space } = manifest.files;
    if (space && content.space) spaceNames.set(space.checksum, content.space.name);
    origins.set(index, { path: await pathOf(folder), manifest });
    return index;
  } finally {
    await place.close();
  }
}

async function loadSegments(content: Content, core: IndexCore, call: LongCall): Promise<Segment[]> {
  const reader = new Reader(content);
  const segments: Segment[] = [];
  let done = 0;
  for (const stored of content.segments) {
    const vectors = core.rows.options.newVectors?.() ?? null;
    const segment = await loadSegment(content, reader, stored, vectors, call.signal);
    const { rows } = segment;
    if (core.ids.kind === 'bigint') {
      core.ids.learn(Array.from({ length: rows.count }, (_, at) => rows.idAt(at, 0)));
    }
    saved.set(segment, content.manifest.segments[stored.number]);
    segments.push(segment);
    done += stored.count;
    call.onProgress?.(Math.min(done, content.manifest.rows), content.manifest.rows);
  }
  return segments;
}
