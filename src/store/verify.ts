/**
 * Checks an index folder: every checksum of files, batches and columns, and every invariant that
 * opening takes on trust. Problems are listed by file; nothing is changed. Files are read batch by
 * batch and block by block; of all rows memory holds some bytes each.
 */

import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { checkOptions, wrongType } from '../base/check';
import { asFormatError, FormatError, messageOf } from '../base/format-error';
import { checkLongCall, LONG_CALL, type LongCall } from '../base/long-work';
import { ByteSource } from '../formats/byte-source';
import { eachPiece } from '../formats/file-io';
import type { Id } from '../index/ids';
import { type ByteFile, openArrowFile } from '../table/arrow/batches';
import type { Span } from '../table/arrow/messages';
import { FileChecksum } from '../table/sealed/file-checksum';
import { openTable } from '../table/sealed/sealed-table';
import { frequenciesFromArrow } from '../text/frequency-file';
import { blocksFromArrow, checkBlocks, idAt, NO_PARTITION, vectorChecks } from './blocks';
import { type Content, openContent, RowSet, type StoredSegment } from './content';
import { FolderPlace } from './folder-place';
import {
  checkCopy,
  generationsIn,
  newestManifest,
  readFolderFile,
  readManifest,
} from './generations';
import { bucketsFromArrow, hashOfId } from './id-hashes';
import {
  checkFileChecksum,
  type FileKind,
  type FolderFile,
  filesOf,
  type Manifest,
  manifestName,
} from './manifest';
import { withPlace } from './place';
import { blockGroups, type LoadedBlock, Reader } from './reader';
import { removedFromArrow } from './space-file';
import { StoredRows } from './stored-rows';

/** Which generation is opened, and how. */
export interface OpenIndexOptions extends LongCall {
  /** An older generation; the newest by default. */
  generation?: number | undefined;
}

/** What a check has found. */
export interface FolderHealth {
  /** The newest generation; 0 where no manifest can be read. */
  readonly generation: number;
  /** Rows of the index by its manifest. */
  readonly rows: number;
  /** None where the folder is sound. */
  readonly problems: readonly FolderProblem[];
}

export interface FolderProblem {
  /** The file's name in the folder. */
  readonly file: string;
  readonly message: string;
}

/** Runs a check; an error becomes a problem of this file, and null is returned. */
type Attempt = <T>(file: string, work: () => T | Promise<T>) => Promise<T | null>;

/** A folder may change this often while it is checked. */
const MAX_TRIES = 20;
/** Bytes of blocks that are read together. */
const READ_BYTES = 2 ** 22;

/**
 * Checks all files of a generation, the newest by default. Where another process saves a generation
 * meanwhile, files of the one that was checked may be gone, so problems are looked for again in the
 * new one.
 */
export async function verifyFolder(
  folder: string,
  options: OpenIndexOptions | undefined,
): Promise<FolderHealth> {
  const { generation, call } = await checkVerify(folder, options);
  for (let left = MAX_TRIES; left > 0; left--) {
    const newest = (await generationsIn(folder)).at(-1);
    const health = await healthOf(folder, generation, call);
    if (health.problems.length === 0 || generation !== undefined) return health;
    if ((await generationsIn(folder)).at(-1) === newest) return health;
  }
  throw new Error(`${folder}: it changes too fast to be checked, try again later`);
}

async function checkVerify(folder: string, options: OpenIndexOptions | undefined) {
  if (typeof folder !== 'string') throw wrongType('folder', 'a path', folder);
  const { generation, ...rest } = checkOptions('options', options, [...LONG_CALL, 'generation']);
  const call = checkLongCall(rest);
  if (!(await stat(folder)).isDirectory()) throw new FormatError('a file, not a folder', folder);
  return { generation, call };
}

/** The health of one generation, the newest by default. */
async function healthOf(
  folder: string,
  generation: number | undefined,
  call: LongCall,
): Promise<FolderHealth> {
  const problems: FolderProblem[] = [];
  const attempt: Attempt = async (file, work) => {
    try {
      return await work();
    } catch (error) {
      call.signal?.throwIfAborted(); // a stop is no damage
      problems.push({ file, message: problemOf(error, join(folder, file)) });
      return null;
    }
  };
  const own = generation ?? (await generationsIn(folder)).at(-1) ?? 1;
  const manifest = await attempt(manifestName(own), () => wholeManifest(folder, generation));
  if (manifest === null) return { generation: 0, rows: 0, problems };
  const total = bytesToRead(manifest);
  let done = 0;
  // Counts bytes that were read, at most all but one: only the end of the check reports the total.
  const passed = (bytes: number) => {
    call.signal?.throwIfAborted();
    done = Math.min(done + bytes, total - 1);
    call.onProgress?.(done, total);
  };
  const bodies: Bodies = new Map();
  for (const file of filesOf(manifest)) {
    await attempt(file.name, async () => {
      bodies.set(file.name, await checkFile(folder, file, passed));
    });
  }
  // Relations between files are checked only if every file is sound.
  if (problems.length === 0) await checkContent(folder, manifest, bodies, { attempt, passed });
  if (generation === undefined) await attempt('manifest.json', () => checkCopy(folder, manifest));
  call.onProgress?.(total, total);
  return { generation: manifest.generation, rows: manifest.rows, problems };
}

/** The message of an error without the path, since problems name their file. */
function problemOf(error: unknown, path: string): string {
  if ((error as NodeJS.ErrnoException)?.code === 'ENOENT') return 'missing';
  const message = messageOf(error);
  return message.startsWith(`${path}: `) ? message.slice(path.length + 2) : message;
}

/** The manifest of a generation, the newest by default, checked; throws where there is none. */
async function wholeManifest(folder: string, generation: number | undefined): Promise<Manifest> {
  if (generation !== undefined) return readManifest(folder, generation);
  const manifest = await newestManifest(folder);
  if (manifest === null) throw new Error('there is no manifest, so this is no index');
  return manifest;
}

/** Files of any size, which are checked batch by batch, and the kinds that their schemas state. */
const STREAMED: { readonly [kind in FileKind]?: string } = {
  rows: 'segment',
  copies: 'copies',
  vectors: 'vectors',
  hashes: 'hashes',
  columns: 'columns',
};

/** By name of a file, where the bodies of its batches lie. */
type Bodies = Map<string, readonly Span[]>;

/** Bytes that a check reads: those of segments three times, of carried columns twice. */
function bytesToRead(manifest: Manifest): number {
  return filesOf(manifest).reduce((sum, { kind, bytes }) => {
    return sum + bytes * (kind === 'columns' ? 2 : kind in STREAMED ? 3 : 1);
  }, 1);
}

/**
 * Checks the size and checksum of a file, those of its batches and columns, and its number of rows;
 * throws what is wrong. Returns where the bodies of its batches lie, if it is read batch by batch.
 */
export async function checkFile(
  folder: string,
  file: FolderFile,
  passed: (bytes: number) => void = () => undefined,
): Promise<readonly Span[]> {
  const path = join(folder, file.name);
  const isStreamed = file.kind in STREAMED;
  const { rows, bodies } = isStreamed
    ? await batchesOf(path, file, passed)
    : { rows: rowsIn(await readFolderFile(folder, file), file, path), bodies: [] };
  if (!isStreamed) passed(file.bytes);
  if (rows === file.rows) return bodies;
  throw new FormatError(`${rows} rows, the manifest says ${file.rows}`, path);
}

/**
 * Reads a file twice: for its checksum, then batch by batch for those of its columns. Memory holds
 * one batch.
 */
async function batchesOf(
  path: string,
  file: FolderFile,
  passed: (bytes: number) => void,
): Promise<{ rows: number; bodies: readonly Span[] }> {
  const checksum = new FileChecksum();
  await eachPiece(path, file.bytes, (piece) => {
    passed(piece.length);
    checksum.add(piece);
  });
  checkFileChecksum(checksum.text, file, path);
  const source = await ByteSource.open(path);
  try {
    const opened = await openArrowFile((await source?.randomAccess()) as ByteFile, path);
    const header = JSON.parse(opened.header ?? '{}');
    if (header.kind !== STREAMED[file.kind]) {
      throw new FormatError(`it holds no ${file.kind}, its schema does not say so`, path);
    }
    let [rows, rowsOfFirst] = [0, 0];
    await opened.read(async (batch) => {
      rowsOfFirst ||= batch.count;
      if (file.kind === 'columns' && rows % Math.max(1, rowsOfFirst) !== 0) {
        throw new FormatError('only the last of its batches may have fewer rows', path);
      }
      rows += batch.count;
      passed((file.bytes * batch.count) / Math.max(1, file.rows));
    });
    return { rows, bodies: opened.bodies };
  } finally {
    await source?.close();
  }
}

/** How many rows a file has that is read as a whole; reading it compares its checksums. */
function rowsIn(bytes: Uint8Array, { kind }: FolderFile, path: string): number {
  if (kind === 'blocks' || kind === 'places') return blocksFromArrow(bytes, path).count;
  if (kind === 'buckets') return bucketsFromArrow(bytes, path).count;
  if (kind === 'removed') return removedFromArrow(bytes, path).length;
  if (kind === 'frequencies') return frequenciesFromArrow(bytes, { file: path }).size;
  return openTable(bytes, path, { kind: 'space' }).count;
}

/** Checks what files say of each other. */
async function checkContent(
  folder: string,
  manifest: Manifest,
  bodies: Bodies,
  { attempt, passed }: { attempt: Attempt; passed: (bytes: number) => void },
): Promise<void> {
  const name = manifestName(manifest.generation);
  await withPlace(new FolderPlace(folder, manifest.generation), async (place) => {
    const content = await attempt(name, () => openContent(place, manifest));
    if (content === null) return;
    const check = new ContentCheck(content, passed);
    let isSound = true;
    for (const segment of content.segments) {
      const { files, rows, copies } = segment;
      const found = await attempt((files.blocks as FolderFile).name, async () => {
        const vectors = files.vectors && (bodies.get(files.vectors.name) ?? []);
        checkBlocks(rows.table, bodies.get(rows.file.name) ?? [], vectors ?? null);
        if (copies) checkBlocks(copies.table, bodies.get(copies.file.name) ?? [], null);
        await check.segment(segment);
        return true;
      });
      isSound &&= found === true;
    }
    if (isSound) await attempt(name, () => check.whole());
  });
}

/** Checks the rows of segments. Call `segment` for each, then `whole`; the first problem throws. */
class ContentCheck {
  readonly #content: Content;
  readonly #reader: Reader;
  readonly #rows: StoredRows;
  readonly #passed: (bytes: number) => void;
  /** Of all live rows the hashes of their ids. */
  readonly #hashes: BigUint64Array;
  #live = 0;

  constructor(content: Content, passed: (bytes: number) => void) {
    this.#content = content;
    this.#reader = new Reader(content);
    this.#rows = new StoredRows(content, 0);
    this.#passed = passed;
    this.#hashes = new BigUint64Array(content.manifest.rows);
  }

  async segment(segment: StoredSegment): Promise<void> {
    const { table, file } = segment.rows;
    const path = this.#reader.pathOf(file);
    const seen = new RowSet();
    const rowAt = new Uint32Array(segment.count);
    const secondAt = new Uint32Array(segment.count).fill(NO_PARTITION);
    const hashes = new BigUint64Array(segment.count);
    for (const group of blockGroups([segment], READ_BYTES, 'rows and vectors')) {
      const blocks = await this.#reader.blocks(group, 'whole');
      // Readers of hosts read heads alone, by another checksum.
      await this.#reader.blocks(group, 'head');
      const vectors = await this.#reader.vectors(group);
      asFormatError(path, () => {
        for (const [i, loaded] of blocks.entries()) {
          this.#checkBlock(loaded, vectors[i], { seen, rowAt, secondAt, hashes });
        }
      });
      for (const { block } of group) this.#passed(table.bytes[block] + table.vectorsBytes[block]);
    }
    if (segment.copies !== null) await this.#checkCopies(segment, rowAt, secondAt);
    if (segment.files.hashes !== undefined) await this.#checkHashes(segment, hashes);
  }

  #checkBlock(
    { list, block, rows: own }: LoadedBlock,
    vectors: Parameters<typeof vectorChecks>[0] | undefined,
    noted: { seen: RowSet; rowAt: Uint32Array; secondAt: Uint32Array; hashes: BigUint64Array },
  ): void {
    const start = list.table.starts[block];
    for (let i = 0; i < own.count; i++) {
      const row = own.rows[i];
      if (noted.seen.has(row)) throw new Error(`row ${row} is there twice`);
      noted.seen.add(row);
      noted.rowAt[start + i] = row;
      if (own.links !== null && own.partition !== NO_PARTITION) {
        noted.secondAt[start + i] = own.links[i];
      }
      const id = idAt(own.ids, i, row, false);
      noted.hashes[start + i] = hashOfId(id);
      if (this.#content.removed.has(row)) continue;
      if (this.#live < this.#hashes.length) this.#hashes[this.#live] = noted.hashes[start + i];
      this.#live++;
    }
    const checks = vectors && vectorChecks(vectors, own.count);
    if (checks?.some((check, i) => check !== own.checks?.[i])) {
      throw new Error(`block ${block}: the checksums of its vectors are of others`);
    }
    for (const value of vectors?.vectors ?? []) {
      if (!Number.isFinite(value)) throw new Error(`block ${block}: a vector has ${value}`);
    }
    for (const scale of own.scales ?? []) {
      if (!(Number.isFinite(scale) && scale >= 0))
        throw new Error(`block ${block}: scale ${scale}`);
    }
  }

  /** Throws unless each row with a code has one copy, in the partition that the row names. */
  async #checkCopies(
    segment: StoredSegment,
    rowAt: Uint32Array,
    secondAt: Uint32Array,
  ): Promise<void> {
    const list = segment.copies as NonNullable<StoredSegment['copies']>;
    for (let block = 0; block < list.table.count; block++) {
      const [{ rows: own }] = await this.#reader.blocks([{ segment, list, block }], 'whole');
      await this.#reader.blocks([{ segment, list, block }], 'head');
      asFormatError(this.#reader.pathOf(list.file), () => {
        for (let i = 0; i < own.count; i++) {
          const at = own.links?.[i] ?? 0;
          if (rowAt[at] !== own.rows[i] || secondAt[at] !== own.partition) {
            throw new Error('damaged: its copies are not those of the rows');
          }
          secondAt[at] = NO_PARTITION;
        }
      });
      this.#passed(list.table.bytes[block]);
    }
    if (secondAt.every((second) => second === NO_PARTITION)) return;
    const path = this.#reader.pathOf(list.file);
    throw new FormatError('damaged: its copies are not those of the rows', path);
  }

  /** The file of hashes leads from each id to its row. */
  async #checkHashes(segment: StoredSegment, hashes: BigUint64Array): Promise<void> {
    const file = segment.files.hashes as FolderFile;
    const sorted = await this.#rows.hashesOf(segment);
    asFormatError(this.#reader.pathOf(file), () => {
      const seen = new RowSet();
      let before = 0n;
      for (const { hash, position } of sorted) {
        const isRight = position < hashes.length && hashes[position] === hash;
        if (!isRight || hash < before || seen.has(position)) {
          throw new Error('its hashes of ids are not those of the rows, or out of order');
        }
        seen.add(position);
        before = hash;
      }
    });
    this.#passed(file.bytes);
  }

  /** After all segments: the number of live rows is right, and no two have one id. */
  async whole(): Promise<void> {
    const { manifest } = this.#content;
    if (this.#live !== manifest.rows) {
      throw new Error(`${this.#live} rows are there, it says ${manifest.rows}`);
    }
    const sorted = this.#hashes.sort();
    const twice = new Set<bigint>();
    for (let i = 1; i < sorted.length; i++) if (sorted[i] === sorted[i - 1]) twice.add(sorted[i]);
    if (twice.size === 0) return;
    // Different ids may have one hash: the ids themselves decide.
    const seen = new Set<Id>();
    await this.#rows.eachBlock(({ rows: { rows, ids, count } }) => {
      for (let i = 0; i < count; i++) {
        const given = idAt(ids, i, rows[i], false);
        // Segments may have the same integers in columns of 32 and of 64 bits.
        const id = typeof given === 'number' ? BigInt(given) : given;
        if (this.#content.removed.has(rows[i]) || !twice.has(hashOfId(id))) continue;
        if (seen.has(id)) throw new Error(`two rows have the id ${String(id)}`);
        seen.add(id);
      }
    });
  }
}
