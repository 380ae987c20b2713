/**
 * How far a plan was applied to shards: a file among the outputs for as long as that goes on. It
 * has checksums of the plan and of every shard, and of each output that is written. A stopped run
 * is resumed only where all of these are still the same, so outputs of two plans never mix.
 */

import { mkdir, open, readdir, rm } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { asFormatError, FormatError } from '../base/format-error';
import { fileChecksum } from '../stored/manifest';
import { checksumOf, ignore, readWhole, syncFolder, TEMPORARY, writeWhole } from './file-io';
import type { SkippedLine } from './row-reader';

/** Hidden, so that who reads the folder as shards does not see it. */
const NAME = '.halfspace-dedup.jsonl';
const VERSION = 1;

/** What is applied to what. */
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

/** What was reported of a shard. */
interface Reported {
  readonly skipped: number;
  readonly skippedLines: readonly SkippedLine[];
}

/** The first line of the file. */
interface Head {
  readonly version: number;
  readonly plan: string;
  /** Their outputs, within the folder. */
  readonly shards: readonly string[];
  readonly checksums: readonly string[];
  readonly rows: readonly number[];
}

/** Another line: an output that is written. */
interface Written extends Reported {
  readonly shard: number;
  readonly checksum: string;
}

export class ShardProgress {
  readonly #path: string;
  readonly #written = new Map<number, Written>();

  /** `rows` are the numbers of rows of the shards. */
  private constructor(
    private readonly run: ShardRun,
    readonly rows: readonly number[],
  ) {
    this.#path = join(run.folder, NAME);
  }

  static async begin(run: ShardRun, rows: readonly number[]): Promise<ShardProgress> {
    await mkdir(run.folder, { recursive: true });
    const progress = new ShardProgress(run, rows);
    await progress.#save();
    return progress;
  }

  /** Goes on with a run that was stopped, null where there is none; fails where it was another. */
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

  /** Whether a stopped run has left its outputs in a folder. */
  static async isIn(folder: string): Promise<boolean> {
    const names = await readdir(folder).catch(ignore(['ENOENT', 'ENOTDIR']));
    return names?.includes(NAME) === true;
  }

  /** What was reported of a shard whose output is there; null where it must be written. */
  async reportOf(shard: number): Promise<Reported | null> {
    const written = this.#written.get(shard);
    if (written === undefined) return null;
    const target = this.run.targets[shard];
    const found = await checksumOf(target, this.run.signal).catch(ignore(['ENOENT', 'ENOTDIR']));
    if (found === null) return null;
    if (found === written.checksum) return written;
    throw new FormatError(
      'changed since the run that is resumed wrote it: without this file it is written again',
      target,
    );
  }

  /** Enters an output that is at its place. */
  async add(shard: number, { skipped, skippedLines }: Reported): Promise<void> {
    const checksum = await checksumOf(this.run.targets[shard]);
    const written = { shard, checksum, skipped, skippedLines };
    this.#written.set(shard, written);
    const file = await open(this.#path, 'a');
    try {
      await file.writeFile(lineOf(written));
      await file.sync();
    } finally {
      await file.close();
    }
  }

  /** Ends a run that failed: where nothing is written, there is nothing to go on with. */
  async stop(): Promise<void> {
    if (this.#written.size === 0) await this.end();
  }

  /** Ends the run. */
  async end(): Promise<void> {
    await rm(this.#path, { force: true });
    await syncFolder(this.run.folder);
  }

  #save(): Promise<void> {
    const { plan, checksums } = this.run;
    const shards = namesOf(this.run);
    const head: Head = { version: VERSION, plan, shards, checksums, rows: this.rows };
    const lines = [head, ...this.#written.values()].map(lineOf);
    return writeWhole(this.#path, [Buffer.concat(lines)]);
  }
}

/** Paths of the outputs within the folder, however that is spelled. */
const namesOf = ({ folder, targets }: ShardRun) =>
  targets.map((target) => relative(folder, target));

/** A line: the checksum of the rest, and the rest. */
function lineOf(value: Head | Written): Uint8Array {
  const text = JSON.stringify(value);
  return Buffer.from(`${fileChecksum(Buffer.from(text))} ${text}\n`);
}

/** The lines of the file; the last one counts only with its end. */
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

/** Fails, with the file that differs, unless a stopped run was the same. */
function refuseOther(head: Head, run: ShardRun): void {
  const { folder, shards } = run;
  const advice = 'without resume (--resume), force (--force) writes all again';
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

/** Removes what a killed process has left of files that were to have these paths. */
async function removeTemporary(paths: readonly string[]): Promise<void> {
  for (const folder of new Set(paths.map((path) => dirname(path)))) {
    const own = new Set(paths.filter((path) => dirname(path) === folder).map((p) => basename(p)));
    for (const name of (await readdir(folder).catch(ignore(['ENOENT']))) ?? []) {
      const [, target] = TEMPORARY.exec(name) ?? [];
      if (target !== undefined && own.has(target)) await rm(join(folder, name), { force: true });
    }
  }
}
