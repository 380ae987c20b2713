/**
 * Plans as files: rows like others, in the formats that rows have. A plan is applied by
 * writing a new file of the rows that it keeps: JSONL, shards of JSONL, CSV and text keep their
 * records byte for byte, Arrow and Parquet all their columns; another format of the output
 * converts.
 */

import { ascending } from '../base/arrays';
import {
  asFormatError,
  checkBoolean,
  checkIds,
  checkNames,
  checkOptions,
  checkPath,
  checkPaths,
  FormatError,
} from '../base/check';
import { LONG_CALL, type LongCall } from '../base/long-work';
import { checkPlan, checkPlanShape, checksOf, type DedupPlan } from '../near/plan';
import {
  doubtfulRows,
  eachPlanBatch,
  listedRows,
  PLAN_COLUMNS,
  type PlanTableOptions,
  planColumns,
  planOf,
} from '../near/plan-table';
import type { ColumnInfo } from '../table/columns/types';
import type { RowBatch } from '../table/row-batch';
import { createRows, type RowWriter } from './create-rows';
import { openOutput, type RowOutput } from './file-io';
import { OPEN_OPTIONS, type OpenRowsOptions, openRecords, openRows } from './open-rows';
import {
  type ColumnType,
  formatOfPath,
  isTabbed,
  OF_LINES,
  ROW_FORMATS,
  type RowFormat,
  type RowReader,
} from './row-reader';
import { shardsOf } from './shards';
import type { FileStates } from './web-source';

/** Writes a plan, a line for each row, in the format of the path. */
export async function writePlan(
  path: string,
  plan: DedupPlan,
  options?: PlanTableOptions,
): Promise<void> {
  const given = checkOptions(options, { ids: null, rows: ['all', 'groups'] });
  checkPath('path', path);
  checkPlanShape('plan', plan);
  const ids = given.ids && checkIds(given.ids, plan.count);
  const rows = given.rows === 'groups' ? doubtfulRows(plan) : listedRows(plan);
  const writer = await createRows(path, HOW_WRITTEN);
  const part = { ids, rows };
  await written(writer, () => eachPlanBatch(plan, part, (batch) => writer.write(batch)));
}

const HOW_WRITTEN = { force: true, header: { kind: 'plan' } } as const;

/** Writes lines again by the plan as it is now. Their order and other columns stay. */
export async function savePlan(path: string, plan: DedupPlan, lines: RowBatch): Promise<void> {
  const rows = Uint32Array.from(lines.values('row'), Number);
  const writer = await createRows(path, HOW_WRITTEN);
  await written(writer, () => writer.write(lines.with(planColumns(plan, rows, {}))));
}

/** Ends an output after `write`, or gives it up where that fails. */
async function written(
  output: Pick<RowOutput, 'close' | 'abort'>,
  write: () => Promise<void>,
): Promise<void> {
  try {
    await write();
    await output.close();
  } catch (error) {
    await output.abort();
    throw error;
  }
}

/**
 * Reads a plan that `writePlan` wrote, edited or not.
 *
 * @example
 * const codes = await new SimHasher({ bits: 64 }).hashAll([[1, 0], [0.9, 0.1], [0, 1]]);
 * await writePlan('plan.csv', await dedup(codes, { maxDistance: 10 }));
 * console.log((await readPlan('plan.csv')).kept); // Uint8Array(3) [ 1, 0, 1 ]
 */
export async function readPlan(path: string): Promise<DedupPlan> {
  checkPath('path', path);
  return (await readPlanLines(path)).plan;
}

/** A plan, and what its lines have besides. */
interface PlanLines {
  readonly plan: DedupPlan;
  /** By row its id as text, undefined for a row without a line; null if lines have no ids. */
  readonly ids: (string | null | undefined)[] | null;
  /** Checksums of the files, each once; none where it was made of something else. */
  readonly sources: ReadonlySet<string>;
  /** The lines in their order, with the columns that were read. */
  readonly lines: readonly RowBatch[];
}

/**
 * The same with the ids and sources of its lines, which may be in any order; refuses a plan for
 * more than `maxRows` rows, since those without a line take memory too. With `isWhole` the lines
 * have all their columns, so that decisions can be written to them.
 */
export async function readPlanLines(
  path: string,
  maxRows?: number,
  isWhole = false,
): Promise<PlanLines> {
  const file = await openRecords(path, {});
  await file.close();
  const names = file.columns.map(({ name }) => name);
  const has = (name: string) => names.includes(name);
  // Other columns may have anything; in cells of CSV digits may be a text.
  const read = isWhole ? names : [...PLAN_COLUMNS, 'id', 'source'].filter(has);
  const isText = (name: string) =>
    isWhole ? file.format === 'csv' && !PLAN_COLUMNS.includes(name) : name === 'id';
  const texts = read.filter(isText).map((name): [string, ColumnType] => [name, 'text']);
  const how = { columns: read, types: Object.fromEntries(texts) };
  const batches: RowBatch[] = [];
  for await (const batch of await openRows(path, how)) {
    // Spreadsheets leave lines of empty cells.
    const cells = file.format === 'csv' ? read.map((name) => batch.values(name)) : null;
    const isFilled = (line: number) => cells?.some((own) => own[line] !== null && own[line] !== '');
    batches.push(cells === null ? batch : batch.select(ascending(batch.count).filter(isFilled)));
  }
  const plan = planOf(batches, path, maxRows);
  const ids: PlanLines['ids'] = has('id') ? Array(plan.count).fill(undefined) : null;
  const sources = new Set<string>();
  for (const batch of batches) {
    const own = has('source') ? batch.values('source') : [];
    for (const one of own) if (one !== null && one !== '') sources.add(String(one));
    const [rows, names] = ids === null ? [[], []] : [batch.values('row'), batch.values('id')];
    for (const [i, row] of rows.entries()) {
      const id = names[i] === null ? null : String(names[i]);
      (ids as NonNullable<typeof ids>)[Number(row)] = id;
    }
  }
  return { plan, ids, sources, lines: batches };
}

/** How a plan is applied; options of `openRows` say how the source is read. */
export interface ApplyOptions extends OpenRowsOptions, LongCall {
  /**
   * The column with the codes of the plan, where it is not "code". Null where the plan was made of
   * something else in the file.
   */
  column?: string | null;
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
  ...LONG_CALL,
  column: null,
  ids: null,
  inputs: checkNames,
  outputFormat: ROW_FORMATS,
  force: checkBoolean,
} as const;

/**
 * Writes the rows that a plan keeps to a new file, also those of shards. The source is only read,
 * and must have the rows that the plan was made for.
 *
 * @example
 * import { readFile, writeFile } from 'node:fs/promises';
 * const codes = await new SimHasher({ bits: 64 }).hashAll([[1, 0], [0.9, 0.1], [0, 1]]);
 * await writeFile('codes.arrow', codesToArrow(codes));
 * await applyPlan(await dedup(codes, { maxDistance: 10 }), 'codes.arrow', 'kept.arrow');
 * console.log(codesFromArrow(await readFile('kept.arrow')).codes.count); // 2
 */
export async function applyPlan(
  plan: DedupPlan,
  source: string | readonly string[],
  output: string,
  options?: ApplyOptions,
): Promise<void> {
  const given = checkOptions(options, OPTIONS);
  checkPlanShape('plan', plan);
  checkPaths('source', source);
  checkPath('output', output);
  await applyChecked(plan, source, output, given);
}

interface CheckedOptions extends ApplyOptions {
  /** The source is as when the plan was made: lines of rows without an id are not parsed. */
  isUnchanged?: boolean;
  /** Those of the files on hosts that were read before. */
  states?: FileStates | undefined;
}

/** The same with options that were checked. */
export async function applyChecked(
  plan: DedupPlan,
  source: string | readonly string[],
  output: string,
  given: CheckedOptions,
): Promise<void> {
  const { outputFormat, inputs = [], force = true, ids, states } = given;
  const shards = given.format === 'text' ? null : await shardsOf(source);
  const files = shards ?? [source].flat();
  const options = { force, inputs: [...inputs, ...files] };
  const reader = await openRecords(source, given, { states });
  try {
    const format = outputFormat ?? formatOfPath(output) ?? reader.format;
    const isSame = format === reader.format && isTabbed(output) === isTabbed(files[0]);
    if (isSame && areRecords(reader, shards)) {
      await reader.close();
      const columns = given.columns ?? (ids === undefined ? [] : [ids.column]);
      const read = { ...given, columns, format: shards === null ? format : given.format };
      const target = await openOutput(output, options);
      await written(target, () => copyRecords(plan, source, read, target));
    } else {
      const writer = await createRows(output, { ...options, format, header: reader.header });
      await written(writer, async () => {
        const areCells = format === 'csv' && reader.format === 'csv';
        // Cells stay as they are written: 1.10 is not 1.1.
        const types = Object.fromEntries(reader.columns.map(({ name }) => [name, 'text'] as const));
        const rows = areCells ? await openRecords(source, { ...given, types }, { states }) : reader;
        await copyRows(plan, source, rows, given, writer);
      });
    }
  } finally {
    await reader.close();
  }
}

/** Passes on the batches of a source; fails where it has other ids than the plan, or rows. */
async function eachBatch(
  plan: DedupPlan,
  source: string | readonly string[],
  reader: RowReader,
  { signal, ids, onProgress }: CheckedOptions,
  take: (batch: RowBatch) => Promise<void>,
): Promise<void> {
  const name = [source].flat().join(', ');
  let count = 0;
  for await (const batch of reader) {
    signal?.throwIfAborted();
    if (ids !== undefined) checkSourceIds(batch, ids, name);
    count += batch.count;
    onProgress?.(Math.min(count, plan.count), plan.count);
    if (count <= plan.count) await take(batch);
  }
  if (count !== plan.count) asFormatError(name, () => checkPlan(plan, new Uint32Array(count)));
}

/** Writes the kept rows of a reader, and compares the checksums of codes, if there are any. */
async function copyRows(
  plan: DedupPlan,
  source: string | readonly string[],
  reader: RowReader,
  given: CheckedOptions,
  writer: RowWriter,
): Promise<void> {
  const { column } = given;
  const isArrow = reader.format === 'arrow' || reader.format === 'arrows';
  const isUsual = ({ name, fits }: ColumnInfo) => name === 'code' && fits.includes('code');
  const named = column === undefined ? reader.columns.find(isUsual)?.name : column;
  const code = isArrow ? (named ?? null) : null;
  const checks = new Uint32Array(code === null ? 0 : plan.count);
  await eachBatch(plan, source, reader, given, async (batch) => {
    if (code !== null) checks.set(await checksOf(batch.codes(code)), batch.firstRow);
    const isKept = (row: number) => plan.kept[batch.firstRow + row] === 1;
    await writer.write(batch.select(ascending(batch.count).filter(isKept)));
  });
  if (code !== null) asFormatError([source].flat().join(', '), () => checkPlan(plan, checks));
}

/**
 * True for rows that are lines, which are copied as they are. Of shards all must be JSONL: those of
 * CSV have a line of names each.
 */
function areRecords({ format, columns }: RowReader, shards: readonly string[] | null): boolean {
  if (shards !== null) return shards.every((shard) => formatOfPath(shard) === 'jsonl');
  const isFolder = columns.some(({ name }) => name === 'file');
  return OF_LINES.includes(format) && !(isFolder && format === 'text');
}

/** Fails where the source has another id than the plan's row. */
function checkSourceIds(
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

const LINE_FEED = 10;

/** Copies the bytes of kept records and, of CSV, of the line that names the columns. */
async function copyRecords(
  plan: DedupPlan,
  source: string | readonly string[],
  given: CheckedOptions,
  target: RowOutput,
): Promise<void> {
  const { ids, isUnchanged, states } = given;
  let kept: Uint8Array[] = [];
  // Row -1 is the line of names.
  let row = given.format === 'csv' ? -1 : 0;
  // The last line of a shard may have no line feed.
  let isEnded = true;
  const onRecord = (bytes: Buffer, start: number, end: number) => {
    if (row < 0 || plan.kept[row] === 1) {
      if (!isEnded) kept.push(Uint8Array.of(LINE_FEED));
      kept.push(bytes.subarray(start, end));
      isEnded = bytes[end - 1] === LINE_FEED;
    }
    row++;
  };
  const hasId = (at: number) => ids?.values[at] !== undefined;
  const isWanted = isUnchanged ? hasId : undefined;
  const reader = await openRecords(source, given, { onRecord, isWanted, states });
  await eachBatch(plan, source, reader, given, async () => {
    await target.write([Buffer.concat(kept)]);
    kept = [];
  });
}
