/**
 * Checks an index folder: the checksum of every file, and every invariant that opening takes on
 * trust. Problems are listed by file; nothing is changed. Files are read piece by piece, then block
 * by block; of all rows memory holds some bytes each.
 */

import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { asFormatError, checkOptions, FormatError, messageOf, wrongType } from '../base/check';
import { LONG_CALL, type LongCall } from '../base/long-work';
import { checksumOf } from '../formats/file-io';
import type { Id } from '../index/ids';
import type { VectorColumns } from '../index/vectors/row-vectors';
import { coarseScale, scalesOf } from '../kernels/residuals';
import { frequenciesFromArrow } from '../text/frequency-file';
import { COPIES, idAt, NO_PARTITION, vectorChecks } from './blocks';
import { COLUMN_ROWS, StoredColumns } from './columns';
import { type Content, openContent, RowSet, type StoredSegment, wholeFile } from './content';
import { FolderPlace } from './folder-place';
import { checkCopy, generationsIn, newestManifest } from './generations';
import { hashOfId } from './id-hashes';
import {
  checkFileChecksum,
  type FolderFile,
  filesOf,
  type Manifest,
  manifestName,
} from './manifest';
import { withPlace } from './place';
import { type BlockName, blockGroups, type LoadedBlock, Reader } from './reader';
import { StoredRows } from './stored-rows';

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
 * Checks all files of the newest generation. Where another process saves a generation meanwhile,
 * files of the one that was checked may be gone, so problems are looked for again in the new one.
 */
export async function verifyFolder(
  folder: string,
  options: LongCall | undefined,
): Promise<FolderHealth> {
  if (typeof folder !== 'string') throw wrongType('folder', 'a path', folder);
  const call = checkOptions(options, LONG_CALL);
  if (!(await stat(folder)).isDirectory()) throw new FormatError('a file, not a folder', folder);
  for (let left = MAX_TRIES; left > 0; left--) {
    const newest = (await generationsIn(folder)).at(-1);
    const health = await healthOf(folder, call);
    if (health.problems.length === 0) return health;
    if ((await generationsIn(folder)).at(-1) === newest) return health;
  }
  throw new Error(`${folder}: it changes too fast to be checked, try again later`);
}

/** The health of the newest generation. */
async function healthOf(folder: string, call: LongCall): Promise<FolderHealth> {
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
  const own = (await generationsIn(folder)).at(-1) ?? 1;
  const manifest = await attempt(manifestName(own), () => wholeManifest(folder));
  if (manifest === null) return { generation: 0, rows: 0, problems };
  // Each file is read for its checksum, then as searches read it.
  const total = filesOf(manifest).reduce((sum, { bytes }) => sum + 2 * bytes, 1);
  let done = 0;
  // Counts bytes that were read, at most all but one: only the end of the check reports the total.
  const passed = (bytes: number) => {
    call.signal?.throwIfAborted();
    done = Math.min(done + bytes, total - 1);
    call.onProgress?.(done, total);
  };
  for (const file of filesOf(manifest)) {
    await attempt(file.name, () => checkFile(folder, file, passed));
  }
  // Relations between files are checked only if every file is sound.
  if (problems.length === 0) await checkContent(folder, manifest, { attempt, passed });
  await attempt('manifest.json', () => checkCopy(folder, manifest));
  call.onProgress?.(total, total);
  return { generation: manifest.generation, rows: manifest.rows, problems };
}

/** The message of an error without the path, since problems name their file. */
function problemOf(error: unknown, path: string): string {
  if ((error as NodeJS.ErrnoException)?.code === 'ENOENT') return 'missing';
  const message = messageOf(error);
  return message.startsWith(`${path}: `) ? message.slice(path.length + 2) : message;
}

/** The manifest of the newest generation, checked; throws where there is none. */
async function wholeManifest(folder: string): Promise<Manifest> {
  const manifest = await newestManifest(folder);
  if (manifest === null) throw new Error('there is no manifest, so this is no index');
  return manifest;
}

/** Compares the size and checksum of a file with the manifest; throws what is wrong. */
export async function checkFile(
  folder: string,
  file: FolderFile,
  passed: (bytes: number) => void = () => undefined,
): Promise<void> {
  const path = join(folder, file.name);
  checkFileChecksum(await checksumOf(path, file.bytes, passed), file, path);
}

/** Checks what files say of each other, read as searches read them. */
async function checkContent(
  folder: string,
  manifest: Manifest,
  { attempt, passed }: { attempt: Attempt; passed: (bytes: number) => void },
): Promise<void> {
  const name = manifestName(manifest.generation);
  await withPlace(new FolderPlace(folder), async (place) => {
    const { frequencies } = manifest.files;
    if (frequencies !== undefined) {
      const file = join(folder, frequencies.name);
      await attempt(frequencies.name, async () => {
        frequenciesFromArrow(await wholeFile(place, manifest, frequencies), { file });
      });
    }
    const content = await attempt(name, () => openContent(place, manifest));
    if (content === null) return;
    const check = new ContentCheck(content, passed);
    let isSound = true;
    for (const segment of content.segments) {
      const found = await attempt((segment.files.blocks as FolderFile).name, async () => {
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
  readonly #columns: StoredColumns;
  readonly #passed: (bytes: number) => void;
  /** Of all live rows the hashes of their ids. */
  readonly #hashes: BigUint64Array;
  #live = 0;

  constructor(content: Content, passed: (bytes: number) => void) {
    this.#content = content;
    this.#reader = new Reader(content);
    this.#rows = new StoredRows(content, 0);
    this.#columns = new StoredColumns(content, this.#rows);
    this.#passed = passed;
    this.#hashes = new BigUint64Array(content.manifest.rows);
  }

  async segment(segment: StoredSegment): Promise<void> {
    const { blocks: table, count } = segment;
    const path = this.#reader.pathOf(segment.files.rows as FolderFile);
    const noted = {
      seen: new RowSet(),
      rowAt: new Uint32Array(count),
      secondAt: new Uint32Array(count).fill(NO_PARTITION),
      hashes: new BigUint64Array(count),
    };
    for (const group of blockGroups([segment], READ_BYTES, 'all')) {
      const blocks = await this.#reader.blocks(group, 'whole');
      // Readers of hosts read heads alone, by another checksum.
      await this.#reader.blocks(group, 'head');
      const vectors = await this.#reader.vectors(group);
      asFormatError(path, () => {
        for (const [i, loaded] of blocks.entries()) {
          if (!loaded.rows.isCopy) this.#checkBlock(loaded, vectors[i], noted);
        }
      });
      for (const { block } of group) this.#passed(table.bytes[block] + table.vectorsBytes[block]);
    }
    await this.#checkCopies(segment, noted);
    if (segment.files.hashes !== undefined) await this.#checkHashes(segment, noted.hashes);
    if (segment.files.columns !== undefined) await this.#checkColumns(segment);
  }

  /** Reads the carried columns, whose checksums are compared. */
  async #checkColumns(segment: StoredSegment): Promise<void> {
    const names = this.#content.manifest.columns.map(({ name }) => name);
    for (let first = 0; first < segment.count; first += COLUMN_ROWS) {
      const count = Math.min(COLUMN_ROWS, segment.count - first);
      const places = Uint32Array.from({ length: count }, (_, i) => first + i);
      await this.#columns.at(segment, places, names);
      this.#passed(((segment.files.columns as FolderFile).bytes * count) / segment.count);
    }
  }

  #checkBlock(
    { segment, block, rows: own }: LoadedBlock,
    vectors: VectorColumns,
    noted: Noted,
  ): void {
    const start = segment.blocks.starts[block];
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
    const checks = vectorChecks(vectors, own.count);
    if (checks?.some((check, i) => check !== own.checks?.[i])) {
      throw new Error(`block ${block}: the checksums of its vectors are of others`);
    }
    for (const value of vectors.vectors ?? []) {
      if (!Number.isFinite(value)) throw new Error(`block ${block}: a vector has ${value}`);
    }
    const { residuals } = own;
    for (let i = 0; residuals !== null && i < own.count; i++) {
      const { scale, coarse } = scalesOf(residuals, i);
      const isRight = Number.isFinite(scale) && scale >= 0;
      if (isRight && coarse === coarseScale(residuals.bytesPerRow, scale)) continue;
      throw new Error(`block ${block}: scale ${scale}, coarse ${coarse}`);
    }
  }

  /** Each row with a code has one copy, in the partition that the row names. */
  async #checkCopies(segment: StoredSegment, { rowAt, secondAt }: Noted): Promise<void> {
    const copied = new RowSet();
    let left = secondAt.filter((second) => second !== NO_PARTITION).length;
    const isOfCopies = ({ block }: BlockName) => segment.blocks.of[block] === COPIES;
    for (const group of blockGroups([segment], READ_BYTES, 'all', isOfCopies)) {
      for (const { rows: own } of await this.#reader.blocks(group, 'head')) {
        for (const [i, at] of own.links?.entries() ?? []) {
          const isRight = rowAt[at] === own.rows[i] && secondAt[at] === own.partition;
          if (!isRight || copied.has(at)) left = Number.NaN;
          copied.add(at);
          left--;
        }
      }
    }
    if (left === 0) return;
    const path = this.#reader.pathOf(segment.files.rows as FolderFile);
    throw new FormatError('damaged: its copies are not those of the rows', path);
  }

  /** The file of hashes leads from each id to its row. */
  async #checkHashes(segment: StoredSegment, hashes: BigUint64Array): Promise<void> {
    const file = segment.files.hashes as FolderFile;
    const sorted = await this.#rows.hashesOf(segment);
    asFormatError(this.#reader.pathOf(file), () => {
      if (sorted.length !== hashes.length) throw new Error(`${sorted.length} hashes of ids`);
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

/** The rows of a segment: by position each row, its second partition, and the hash of its id. */
interface Noted {
  readonly seen: RowSet;
  readonly rowAt: Uint32Array;
  readonly secondAt: Uint32Array;
  readonly hashes: BigUint64Array;
}
