/**
 * Applies a plan: writes a new file of the rows that it keeps. JSONL, CSV and text keep their
 * records byte for byte, Arrow and Parquet all their columns; another format of the output
 * converts. The source is only read, and must have the rows that the plan was made for.
 */

import { mkdir, rm } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { checkArguments, checkDeclared } from '../base/arguments';
import { MAX_BITS } from '../base/check';
import { asFormatError, FormatError } from '../base/format-error';
import { checkLongCall, type LongCall } from '../base/long-work';
import type { BitOrder } from '../codes/codes';
import { checkPlan, checkPlanShape, checksOf, type DedupPlan } from '../near/plan';
import type { ColumnInfo } from '../table/columns/types';
import type { RowBatch } from '../table/row-batch';
import { writerTo } from './create-rows';
import { isThere, openOutput, type RowOutput } from './file-io';
import { OPEN_OPTIONS, type OpenRowsOptions, openRecords } from './open-rows';
import { formatOfPath, OF_LINES, ROW_FORMATS, type RowFormat } from './row-format';
import type { RowReader, SkippedLine } from './row-reader';
import { shardsOf } from './shards';
import { type FileStates, isAddress } from './web-source';

/** How a plan is applied; options of `openRows` say how the source is read. */
export interface ApplyOptions extends OpenRowsOptions, LongCall {
  /**
   * The column with the codes of the plan, where it is not "code". Null where the plan was made of
   * something else in the file.
   */
  column?: string | null;
  /** Bits of a code in `column`, where they are not 8 x its bytes. */
  bits?: number;
  /** Which bit of a byte the maker packs first. */
  bitOrder?: BitOrder;
  /**
   * Ids of the plan's rows, which this column of the source must have. An undefined id is not
   * compared.
   */
  ids?: { readonly column: string; readonly values: ArrayLike<string | null | undefined> };
  /** Files that the output must not be, by whatever name. The source is one. */
  inputs?: readonly string[];
  /** By default that of the extension, else of the source. */
  outputFormat?: RowFormat;
  /**
   * Replaces an output that exists.
   * @default true
   */
  force?: boolean;
}

const OPTIONS = {
  ...OPEN_OPTIONS,
  signal: 'any',
  onProgress: 'any',
  threads: 'any',
  column: 'any',
  bits: { min: 1, max: MAX_BITS },
  bitOrder: ['lsb', 'msb'],
  ids: 'any',
  inputs: 'names',
  outputFormat: ROW_FORMATS,
  force: 'boolean',
} as const;

/** What was read, and which lines were left out where `onError` is 'skip'. */
export type Applied = Pick<RowReader, 'file' | 'skipped' | 'skippedLines'>;

/**
 * Writes the rows that a plan keeps to a new file; of shards to a folder. Shards keep their names.
 * The source is only read, and must have the rows that the plan was made for.
 *
 * @example
 * const codes = await new SimHasher({ bits: 64 }).hashAll([[1, 0], [0.9, 0.1], [0, 1]]);
 * await writeCodes('codes.arrow', codes);
 * await applyPlan(await dedup(codes, { maxDistance: 10 }), 'codes.arrow', 'kept.arrow');
 * console.log((await readCodes('kept.arrow')).codes.count); // 2
 */
export async function applyPlan(
  plan: DedupPlan,
  source: string | readonly string[],
  output: string,
  options?: ApplyOptions,
): Promise<Applied> {
  const given = checkLongCall(checkDeclared(options, OPTIONS));
  checkPlanShape('plan', plan);
  checkArguments({ source, output }, { source: 'paths', output: 'path' });
  return applyChecked(plan, source, output, given);
}

interface CheckedOptions extends ApplyOptions {
  /**
   * Checksums by file, if the source still has the bytes that the plan was made of: lines of rows
   * without an id are then not parsed.
   */
  unchanged?: ReadonlyMap<string, string> | undefined;
  /** Those of the files on hosts that were read before. */
  states?: FileStates | undefined;
}

/** The same with options that were checked. */
export async function applyChecked(
  plan: DedupPlan,
  source: string | readonly string[],
  output: string,
  given: CheckedOptions,
): Promise<Applied> {
  const isFile = formatOfPath(output) !== null || given.outputFormat !== undefined;
  const shards = given.format === 'text' ? null : await shardsOf(source);
  if (shards !== null && !isFile) return applyToShards(plan, shards, output, given);
  const inputs = [...(shards ?? []), ...(given.inputs ?? [])];
  return applyToOne(plan, source, output, { ...given, inputs, isSharded: shards !== null });
}

/**
 * Writes a shard for each one of the source, of the same name, to the folder `output`. A failure
 * removes the shards that were written: some of them alone would look like all.
 */
async function applyToShards(
  plan: DedupPlan,
  shards: readonly string[],
  output: string,
  given: CheckedOptions,
): Promise<Applied> {
  const { inputs = [], force = true, onProgress } = given;
  const targets = targetsOf(shards, output);
  for (const target of force ? [] : targets) {
    if (await isThere(target)) {
      throw new Error(`the output ${target} exists; force (--force) replaces it`);
    }
  }
  const counts = await rowsOfShards(plan, shards, given);
  // The ids were compared, and the rows counted; codes are those of one file.
  const alone = { ids: undefined, onProgress: undefined, outputFormat: undefined, column: null };
  const applied = { file: output, skipped: 0, skippedLines: [] as SkippedLine[] };
  let first = 0;
  let written = 0;
  try {
    for (const [i, shard] of shards.entries()) {
      await mkdir(dirname(targets[i]), { recursive: true });
      const part = planOfRows(plan, first, first + counts[i]);
      const { skipped, skippedLines } = await applyToOne(part, shard, targets[i], {
        ...given,
        ...alone,
        force,
        isSharded: false,
        inputs: [...shards, ...inputs],
      });
      written++;
      applied.skipped += skipped;
      for (const { line, reason } of skippedLines) {
        applied.skippedLines.push({ line, reason: `${reason}, ${shard}` });
      }
      first += counts[i];
      onProgress?.(first, plan.count);
    }
  } catch (error) {
    for (const target of targets.slice(0, written)) await rm(target, { force: true });
    throw error;
  }
  return applied;
}

/** Reads all shards, which must have the rows of the plan; returns how many each has. */
async function rowsOfShards(
  plan: DedupPlan,
  shards: readonly string[],
  given: CheckedOptions,
): Promise<number[]> {
  const { ids, signal } = given;
  const columns = given.columns ?? (ids === undefined ? [] : [ids.column]);
  const counts: number[] = [];
  let total = 0;
  for (const shard of shards) {
    const before = total;
    const isWanted = wantedRows(given, (row) => ids?.values[before + row] !== undefined);
    const inner = { isWanted, states: given.states };
    for await (const batch of await openRecords(shard, { ...given, columns }, inner)) {
      signal?.throwIfAborted();
      if (ids !== undefined) checkIds(batch.startingAt(total), ids, shard);
      total += batch.count;
    }
    counts.push(total - before);
  }
  checkRows(plan, { source: `${shards.length} shards`, count: total, checks: null });
  return counts;
}

/** Which rows of a source are parsed; undefined for all. */
function wantedRows({ unchanged, onError }: CheckedOptions, hasId: (row: number) => boolean) {
  return unchanged !== undefined && onError !== 'skip' ? hasId : undefined;
}

/** The part of a plan for rows `first` to `end - 1`, as far as it is needed to apply it. */
function planOfRows(plan: DedupPlan, first: number, end: number): DedupPlan {
  const { kept, checks } = plan;
  const own = { kept: kept.slice(first, end), checks: checks.slice(first, end) };
  return { ...plan, ...own, count: end - first };
}

/** The outputs of shards, under the same names; a .zst becomes a .gz, since ZSTD is not written. */
function targetsOf(sources: readonly string[], output: string): string[] {
  // Of an address the host is the first folder.
  const pathOf = (one: string) => one.replace(/^\w+:\/\/|[?#].*$/gs, '');
  const shards = sources.map((one) => (isAddress(one) ? pathOf(one) : one));
  // The deepest folder that has all shards: outputs keep their paths below it.
  let base = dirname(shards[0]);
  while (!shards.every((file) => file.startsWith(join(base, sep)) || base === '.')) {
    base = dirname(base);
  }
  const nameOf = (shard: string) => relative(base, shard).replace(/\.zst$/i, '.gz');
  const targets = shards.map((shard) => join(output, nameOf(shard)));
  const twice = targets.findIndex((target, i) => targets.indexOf(target) < i);
  if (twice < 0) return targets;
  throw new FormatError(`another shard is to become ${targets[twice]} too`, sources[twice]);
}

/**
 * Writes one output. Rows of several shards are always encoded, since each shard may have a header
 * line.
 */
async function applyToOne(
  plan: DedupPlan,
  source: string | readonly string[],
  output: string,
  given: CheckedOptions & { isSharded: boolean },
): Promise<Applied> {
  const { signal, onProgress, column, bits, bitOrder, ids, inputs = [], ...rest } = given;
  const { outputFormat, force, isSharded, unchanged: _, states, ...read } = rest;
  const name = typeof source === 'string' ? source : source.join(', ');
  const look = (batch: RowBatch) => {
    signal?.throwIfAborted();
    if (ids !== undefined) checkIds(batch, ids, name);
    onProgress?.(Math.min(batch.firstRow + batch.count, plan.count), plan.count);
  };
  const place = { force: force ?? true, inputs: [...inputs, ...[source].flat()] };
  const target = await openOutput(output, place);
  try {
    const reader = await openRecords(source, read, { states });
    const format = outputFormat ?? formatOfPath(output) ?? reader.format;
    const isFolder = reader.columns.some(({ name }) => name === 'file');
    const areRecords = OF_LINES.includes(format) && !isSharded;
    if (format === reader.format && areRecords && !(isFolder && format === 'text')) {
      await reader.close();
      const columns = read.columns ?? (ids === undefined ? [] : [ids.column]);
      const copied = await copyRecords(plan, name, {
        read: { ...read, columns, format },
        target,
        look,
        states,
        isWanted: wantedRows(given, (row) => ids?.values[row] !== undefined),
      });
      await target.close();
      return copied;
    }
    const isArrow = reader.format === 'arrow' || reader.format === 'arrows';
    const code = isArrow && column !== null ? codesOf(reader.columns, column) : null;
    const header = format === 'arrow' || format === 'arrows' ? reader.header : undefined;
    const writer = await writerTo(target, format, { header });
    const checks = new Uint32Array(plan.count);
    let count = 0;
    for await (const batch of reader) {
      count += batch.count;
      look(batch);
      if (count > plan.count) continue;
      if (code !== null)
        checks.set(checksOf(batch.codes(code, { bits, bitOrder })), batch.firstRow);
      await writer.write(batch.select(keptRows(plan, batch)));
    }
    checkRows(plan, { source: name, count, checks: code === null ? null : checks });
    await writer.close();
    return reader;
  } catch (error) {
    await target.abort();
    throw error;
  }
}

/** The column of codes, where there is one. */
function codesOf(columns: readonly ColumnInfo[], column: string | undefined): string | null {
  return (
    column ??
    columns.find(({ name, fits }) => name === 'code' && fits.includes('code'))?.name ??
    null
  );
}

function keptRows(plan: DedupPlan, { firstRow, count }: RowBatch): number[] {
  const rows: number[] = [];
  for (let row = 0; row < count; row++) if (plan.kept[firstRow + row] === 1) rows.push(row);
  return rows;
}

/** Fails where the source has another id than the plan's row. */
function checkIds(
  batch: RowBatch,
  { column, values }: NonNullable<ApplyOptions['ids']>,
  source: string,
): void {
  const own = batch.values(column);
  for (let i = 0, row = batch.firstRow; i < own.length && row < values.length; i++, row++) {
    if (values[row] === undefined || String(own[i]) === String(values[row])) continue;
    const wanted = `the plan was made for ${values[row]}`;
    throw new FormatError(`row ${row}: its "${column}" is ${own[i]}, ${wanted}`, source);
  }
}

/** Fails where a source has more or fewer rows than the plan, or other codes. */
function checkRows(
  plan: DedupPlan,
  found: { source: string; count: number; checks: Uint32Array | null },
): void {
  const { source, count, checks } = found;
  asFormatError(source, () => {
    if (count !== plan.count) checkPlan(plan, new Uint32Array(count));
    if (checks !== null) checkPlan(plan, checks);
  });
}

/** Copies the bytes of kept records and, of CSV, of the line that names the columns. */
async function copyRecords(
  plan: DedupPlan,
  source: string,
  copy: {
    readonly read: OpenRowsOptions;
    readonly target: RowOutput;
    readonly look: (batch: RowBatch) => void;
    readonly states: FileStates | undefined;
    readonly isWanted: ((row: number) => boolean) | undefined;
  },
): Promise<Applied> {
  const { read, target, look, states, isWanted } = copy;
  let kept: Uint8Array[] = [];
  // Row -1 is the line of names.
  let row = read.format === 'csv' ? -1 : 0;
  // Only the columns that are read decide whether a line is skipped; whole lines are copied.
  const onRecord = (bytes: Buffer, start: number, end: number) => {
    if (row < 0 || plan.kept[row] === 1) kept.push(bytes.subarray(start, end));
    row++;
  };
  const reader = await openRecords(source, read, { onRecord, isWanted, states });
  let count = 0;
  for await (const batch of reader) {
    count += batch.count;
    look(batch);
    await target.write([Buffer.concat(kept)]);
    kept = [];
  }
  checkRows(plan, { source, count, checks: null });
  return reader;
}
