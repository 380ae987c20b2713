/**
 * Records how far a plan was applied to shards, in a file next to the outputs that exists only
 * meanwhile. It has checksums of the plan, of every shard, and of each finished output. A stopped
 * run is resumed only if all of these are the same, so that outputs of two plans never mix.
 */

import { mkdir, open, readdir, rm } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { asFormatError, FormatError } from '../base/format-error';
import { fileChecksum } from '../stored/manifest';
import { checksumOf, ignore, readWhole, syncFolder, TEMPORARY, writeWhole } from './file-io';
import type { SkippedLine } from './row-reader';

/** Hidden, so that readers of the folder do not take it for a shard. */
const NAME = '.halfspace-dedup.jsonl';
const VERSION = 1;

/** One run: what is applied to what. */
interface ShardRun {
  /** The folder of the outputs. */
  readonly folder: string;
  /** Checksum of the plan and of how the shards are read. */
  readonly plan: string;
  readonly shards: readonly string[];
  /** The output of each shard. */
  readonly targets: readonly string[];
  /** The checksum of each shard. */
  readonly checksums: readonly string[];
  readonly signal?: AbortSignal | undefined;
}

/** What was reported about a shard. */
interface Reported {
  readonly skipped: number;
  readonly skippedLines: readonly SkippedLine[];
}

/** The first line of the file. */
interface Head {
  readonly version: number;
  readonly plan: string;
  /** The paths of their outputs within the folder. */
  readonly shards: readonly string[];
  readonly checksums: readonly string[];
  readonly rows: readonly number[];
}

/** Any other line: an output that was written. */
interface Written extends Reported {
  readonly shard: number;
  readonly checksum: string;
}

/** The file of one run; each finished output is a line that is appended and synced. */
export class ShardProgress {
  readonly #path: string;
  readonly #written = new Map<number, Written>();

  /** `rows` is how many rows each shard has. */
  private constructor(
    private readonly run: ShardRun,
    readonly rows: readonly number[],
  ) {
    this.#path = join(run.folder, NAME);
  }

  /** Begins a run; the file has no outputs yet. */
  static async begin(run: ShardRun, rows: readonly number[]): Promise<ShardProgress> {
    await mkdir(run.folder, { recursive: true });
    const progress = new ShardProgress(run, rows);
    await progress.#save();
    return progress;
  }

  /** Continues a stopped run; null where there is none. Throws where that was another run. */
  static async resume(run: ShardRun): Promise<ShardProgress | null> {
    const path = join(run.folder, NAME);
    const bytes = await readWhole(path).catch(ignore(['ENOENT', 'ENOTDIR']));
    if (bytes === null) return null;
    const [head, written] = asFormatError(path, () => parsed(bytes), 'cannot be read');
    refuseOther(head, run);
    const progress = new ShardProgress(run, head.rows);
    for (const one of written) progress.#written.set(one.shard, one);
    await removeTemporary([path, ...run.targets]);
    await progress.#save(); // without a line that was cut
    return progress;
  }

  /** Whether a folder has outputs of a run that was stopped. */
  static async isIn(folder: string): Promise<boolean> {
    const names = await readdir(folder).catch(ignore(['ENOENT', 'ENOTDIR']));
    return names?.includes(NAME) === true;
  }

  /** What was reported of a shard whose output is unchanged; null where it must be written. */
  async reportOf(shard: number): Promise<Reported | null> {
    const written = this.#written.get(shard);
    if (written === undefined) return null;
    const target = this.run.targets[shard];
    // An output that was deleted is written again.
    const found = await checksumOf(target, this.run.signal).catch(ignore(['ENOENT', 'ENOTDIR']));
    if (found === null) return null;
    if (found === written.checksum) return written;
    throw new FormatError(
      'changed since the run that is resumed wrote it: without this file it is written again',
      target,
    );
  }

  /** Notes an output that is at its place. */
  async add(shard: number, { skipped, skippedLines }: Reported): Promise<void> {
    const checksum = await checksumOf(this.run.targets[shard]);
    const written = { shard, checksum, skipped, skippedLines };
    this.#written.set(shard, written);
    // Synced before the next shard begins: what is noted is on the disk.
    const file = await open(this.#path, 'a');
    try {
      await file.writeFile(lineOf(written));
      await file.sync();
    } finally {
      await file.close();
    }
  }

  /** Ends a run that failed; the file stays where there are outputs to go on with. */
  async stop(): Promise<void> {
    if (this.#written.size === 0) await this.end();
  }

  /** Ends the run, and deletes its file. */
  async end(): Promise<void> {
    await rm(this.#path, { force: true });
    await syncFolder(this.run.folder);
  }

  /** Writes the file again, whole. */
  #save(): Promise<void> {
    const { plan, checksums } = this.run;
    const shards = namesOf(this.run);
    const head: Head = { version: VERSION, plan, shards, checksums, rows: this.rows };
    const lines = [head, ...this.#written.values()].map(lineOf);
    return writeWhole(this.#path, [Buffer.concat(lines)]);
  }
}

/** The paths of the outputs within the folder, however the folder is spelled. */
const namesOf = ({ folder, targets }: ShardRun) =>
  targets.map((target) => relative(folder, target));

/** A line: a checksum of 16 digits, a space, and JSON. */
function lineOf(value: Head | Written): Uint8Array {
  const text = JSON.stringify(value);
  return Buffer.from(`${fileChecksum(Buffer.from(text))} ${text}\n`);
}

/** Parses the file. A last line without its line feed was cut, and does not count. */
function parsed(bytes: Uint8Array): [Head, Written[]] {
  const lines = Buffer.from(bytes).toString().split('\n').slice(0, -1);
  const [head, ...written]: unknown[] = lines.map((line, i) => {
    const text = line.slice(17);
    if (fileChecksum(Buffer.from(text)) === line.slice(0, 16)) return JSON.parse(text);
    throw new Error(`line ${i + 1} is damaged`);
  });
  if (!isHead(head)) throw new Error(`it is not of version ${VERSION}`);
  return [head, written.filter((one) => isWritten(one, head.rows.length))];
}

function isHead(value: unknown): value is Head {
  const { version, plan, shards, checksums, rows } = (value ?? {}) as Partial<Head>;
  if (version !== VERSION || typeof plan !== 'string') return false;
  if (!Array.isArray(shards) || !Array.isArray(checksums) || !Array.isArray(rows)) return false;
  return rows.length === shards.length && rows.every((count) => Number.isSafeInteger(count));
}

function isWritten(value: unknown, count: number): value is Written {
  const { shard = -1, checksum, skipped, skippedLines } = (value ?? {}) as Partial<Written>;
  const isNamed = Number.isInteger(shard) && shard >= 0 && shard < count;
  const isReported = Number.isSafeInteger(skipped) && Array.isArray(skippedLines);
  return isNamed && typeof checksum === 'string' && isReported;
}

/** Fails, naming what differs, unless a stopped run had the same shards and the same plan. */
function refuseOther(head: Head, run: ShardRun): void {
  const { folder, shards } = run;
  const advice = 'without resume (--resume), force (--force) writes all again';
  // The first shard that differs from the stopped run, or the first one that only the stopped run
  // had.
  const names = namesOf(run);
  const other = names.find((name, i) => name !== head.shards[i]) ?? head.shards[names.length];
  if (other !== undefined) {
    throw new Error(
      `${folder}: the stopped run had other shards, or in another order: ${other}; ${advice}`,
    );
  }
  const changed = run.checksums.findIndex((checksum, i) => checksum !== head.checksums[i]);
  if (changed >= 0) {
    throw new FormatError(`changed since the stopped run began; ${advice}`, shards[changed]);
  }
  if (run.plan === head.plan) return;
  throw new Error(`${folder}: the stopped run was by another plan or other options; ${advice}`);
}

/** Deletes temporary files that a killed process has left for these paths. */
async function removeTemporary(paths: readonly string[]): Promise<void> {
  for (const folder of new Set(paths.map((path) => dirname(path)))) {
    const own = new Set(paths.filter((path) => dirname(path) === folder).map((p) => basename(p)));
    for (const name of (await readdir(folder).catch(ignore(['ENOENT']))) ?? []) {
      const [, target] = TEMPORARY.exec(name) ?? [];
      if (target !== undefined && own.has(target)) await rm(join(folder, name), { force: true });
    }
  }
}
