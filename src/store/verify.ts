/**
 * Checks an index folder: the checksum of every file, and every invariant that opening takes on
 * trust. Problems are listed by file; nothing is changed. Files are read piece by piece, then block
 * by block; of all rows memory holds some bytes each.
 */

import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ascending } from '../base/arrays';
import { asFormatError, checkOptions, FormatError, messageOf, wrongType } from '../base/check';
import { LONG_CALL, type LongCall } from '../base/long-work';
import { coarseScale, scalesOf } from '../kernels/residuals';
import { frequenciesFromArrow } from '../text/frequency-file';
import { idAt, NO_PARTITION, vectorChecks, type WrittenBlock } from './blocks';
import { COLUMN_ROWS, StoredColumns } from './columns';
import { openContent, RowSet, type StoredSegment, wholeFile } from './content';
import { FolderPlace } from './folder-place';
import { checkCopy, checkFile, generationsIn, neededManifest } from './generations';
import { eachBucket, hashFile, hashOfId, refuseEqualIds } from './id-hashes';
import { type FolderFile, filesOf, type Manifest, manifestName } from './manifest';
import { withPlace } from './place';
import { blockGroups, bytesOfBlock, copiedIn, type LoadedBlock, Reader } from './reader';

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
  const manifest = await attempt(manifestName(own), () => neededManifest(folder));
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
  // Of the system's `EACCES: permission denied, open '…'` only the words.
  const message = messageOf(error).replace(/^E[A-Z]+: (.+), [a-z]+(?: '.*')?$/s, '$1');
  return message.startsWith(`${path}: `) ? message.slice(path.length + 2) : message;
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
    const reader = new Reader(content);
    let live = 0;
    for (const segment of content.segments) {
      const { name } = segment.files.blocks as FolderFile;
      live += (await attempt(name, () => checkSegment(reader, segment, passed))) ?? Number.NaN;
    }
    if (Number.isNaN(live)) return;
    await attempt(name, async () => {
      if (live === manifest.rows) return refuseEqualIds(reader);
      throw new Error(`${live} rows are there, it says ${manifest.rows}`);
    });
  });
}

/** The rows of a segment by position, and the copies of them. */
interface Noted {
  readonly seen: RowSet;
  readonly rowAt: Uint32Array;
  readonly hashes: BigUint64Array;
  /** The partition of each row with a code, and that of its copy. */
  readonly partitionOf: Uint32Array;
  readonly secondOf: Uint32Array;
  readonly copyOf: Uint32Array;
}

/** Checks the rows of a segment; the first problem throws. Returns how many are there. */
async function checkSegment(
  reader: Reader,
  segment: StoredSegment,
  passed: (bytes: number) => void,
): Promise<number> {
  const { count, files } = segment;
  const path = reader.pathOf(files.rows as FolderFile);
  const noted = {
    seen: new RowSet(),
    rowAt: new Uint32Array(count),
    hashes: new BigUint64Array(count),
    partitionOf: new Uint32Array(count),
    secondOf: new Uint32Array(count).fill(NO_PARTITION),
    copyOf: new Uint32Array(count),
  };
  const how = { hasCodes: true, hasVectors: true } as const;
  await reader.each(blockGroups([segment], true), how, (blocks) => {
    for (const block of blocks) {
      asFormatError(path, () => noteRows(block, noted));
      passed(bytesOfBlock(block, true));
    }
  });
  const { rowAt, partitionOf, secondOf, copyOf } = noted;
  const { copies } = reader.content.manifest.index;
  const isRight = (second: number, at: number) =>
    copies && partitionOf[at] !== NO_PARTITION
      ? second !== NO_PARTITION && copyOf[at] === rowAt[at]
      : second === NO_PARTITION;
  if (!secondOf.every(isRight)) throw new FormatError(OTHER_COPIES, path);
  if (files.hashes) await checkHashes(reader, segment, noted.hashes);
  passed(files.hashes?.bytes ?? 0);
  // Reads the carried columns, whose checksums are compared.
  const columns = new StoredColumns(reader);
  const names = reader.content.manifest.columns.map(({ name }) => name);
  for (let first = 0; first < count && files.columns; first += COLUMN_ROWS) {
    const places = ascending(Math.min(COLUMN_ROWS, count - first)).map((i) => first + i);
    await columns.at(segment, places, names);
    passed((files.columns.bytes * places.length) / count);
  }
  return rowAt.filter((row) => !reader.content.removed.has(row)).length;
}

/** The file of hashes is the one that is written for these rows. */
async function checkHashes(reader: Reader, segment: StoredSegment, hashes: BigUint64Array) {
  const { buckets, files } = segment;
  await eachBucket(reader, segment, () => undefined); // compares checksums
  const { buckets: made } = hashFile(hashes);
  const { checksums } = buckets.bodies.rows;
  const isSame = (one: WrittenBlock, i: number) => one.bodies.rows?.checksum === checksums[i];
  if (made.length === buckets.count && made.every(isSame)) return;
  const what = 'its hashes of ids are not those of the rows, or out of order';
  throw new FormatError(what, reader.pathOf(files.hashes as FolderFile));
}

const OTHER_COPIES = 'damaged: its copies are not those of the rows';

function noteRows(loaded: LoadedBlock, noted: Noted): void {
  const { segment, block, rows: own, vectors } = loaded;
  const start = segment.blocks.starts[block];
  for (let i = 0; i < own.count; i++) {
    const row = own.rows[i];
    if (noted.seen.has(row)) throw new Error(`row ${row} is there twice`);
    noted.seen.add(row);
    noted.rowAt[start + i] = row;
    noted.partitionOf[start + i] = own.partition;
    if (own.positions !== null && own.positions[i] !== start + i) throw new Error(OTHER_COPIES);
    noted.hashes[start + i] = hashOfId(idAt(own.ids, i, row, false));
  }
  for (const [i, at] of copiedIn(loaded).entries()) {
    if (noted.secondOf[at] !== NO_PARTITION) throw new Error(OTHER_COPIES);
    noted.secondOf[at] = own.partition;
    noted.copyOf[at] = own.copies[i];
  }
  const checks = vectorChecks(vectors, own.count);
  if (checks?.some((check, i) => check !== own.checks?.[i])) {
    throw new Error(`block ${block}: the checksums of its vectors are of others`);
  }
  for (const value of vectors.vectors ?? []) {
    if (!Number.isFinite(value)) throw new Error(`block ${block}: a vector has ${value}`);
  }
  const { residuals } = own;
  for (let i = 0; residuals !== null && i < residuals.capacity; i++) {
    const { scale, coarse } = scalesOf(residuals, i);
    const isRight = Number.isFinite(scale) && scale >= 0;
    if (isRight && coarse === coarseScale(residuals.bytesPerRow, scale)) continue;
    throw new Error(`block ${block}: scale ${scale}, coarse ${coarse}`);
  }
}
