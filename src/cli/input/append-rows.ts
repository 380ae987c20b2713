/**
 * Rows of an input appended to an index folder: hashed by its settings, with columns of its types,
 * in one generation. With --replace they take the place of the rows of the same ids.
 */

import {
  Codes,
  type ColumnData,
  type DenseMatrix,
  type Ids,
  type IndexFolder,
  type RowBatch,
  type SparseMatrix,
} from '../../node';
import { builderOf, type ColumnKind, finished } from '../../table/columns/builder';
import type { Call } from '../call';
import { carriedColumns, joinColumns, only } from './build-index';
import { type HashSource, openSource, type Piece } from './hashing';
import { openFolder, refuseOtherSettings } from './index-folder';
import { joinDense, joinIds, joinSparse } from './join';

/** Appends the rows of `input` to the index in `path`: all of them, or none where one is wrong. */
export async function appendRows(call: Call, input: string, path: string): Promise<void> {
  const folder = await openFolder(call, path);
  refuseOtherSettings(call, folder);
  const source = await sourceLike(call, input, folder);
  const replace = call.has('replace');
  if (replace && source.idColumn === null) {
    call.fail(`${source.reader.file} has no ids to replace rows by: name their column by --id`);
  }
  const names = folder.columnInfo.map(({ name }) => name);
  const carried = names.length === 0 ? [] : carriedAs(call, source, names);
  await source.narrow(carried);
  const batches: RowBatch[] = [];
  const ids: Ids[] = [];
  const parts: Piece['vectors'][] = [];
  const { bits = 64, vectors: storage = 'none', mean } = folder.options;
  const needsVectors = storage !== 'none' || mean !== undefined;
  const hasher = source.hashAs(folder.options);
  for await (const batch of source.reader) {
    for (const { firstRow, count, vectors } of source.piecesOf(batch)) {
      if (count === 0) continue;
      const isReady = needsVectors || 'bytesPerCode' in vectors;
      parts.push(isReady ? vectors : source.named(firstRow, () => hasher.hashAll(vectors)));
    }
    ids.push(source.idsOf(batch) ?? []);
    if (carried.length > 0) batches.push(only(batch, carried));
  }
  const joint = joinColumns(batches);
  const columns = joint && typedLike(joint, folder);
  const own = source.idColumn === null ? undefined : joinIds(ids);
  await call.long(`writing ${path}`, (long) =>
    source.named(0, () => folder.append(joined(parts, bits), own, { columns, replace, ...long })),
  );
}

/** Vectors or codes, all of one kind, as one; no codes of `bits` where there are no rows. */
function joined(parts: readonly Piece['vectors'][], bits: number): Piece['vectors'] {
  const [first] = parts;
  if (first === undefined || 'bytesPerCode' in first) return Codes.join(parts as Codes[], { bits });
  return 'offsets' in first
    ? joinSparse(parts as readonly SparseMatrix[])
    : joinDense(parts as readonly DenseMatrix[]);
}

/** Types of carried columns, as batches name them, and what builds such a column. */
const KINDS: Record<string, ColumnKind> = {
  Int64: 'int64',
  Float64: 'float64',
  Bool: 'bool',
  Utf8: 'text',
};

/**
 * Columns of the types that the folder has, where nothing is lost: integers are int64 in one input
 * and float64 in another, as they look like ids or not, and a column of nulls only has any type.
 */
function typedLike(batch: RowBatch, { columnInfo }: IndexFolder): RowBatch {
  const changed: Record<string, ColumnData> = {};
  for (const { name, type } of columnInfo) {
    const own = batch.columns.find((column) => column.name === name);
    if (own === undefined || own.type === type) continue;
    const kind = KINDS[type];
    const values = batch.values(name) as (number | bigint | null)[];
    const known = values.filter((value) => value !== null);
    const areNumbers = [own.type, type].every((one) => one === 'Int64' || one === 'Float64');
    const isExact = areNumbers && known.every((value) => Number.isSafeInteger(Number(value)));
    if (kind === undefined || !(known.length === 0 || isExact)) continue;
    const builder = builderOf(kind);
    const turn = type === 'Int64' ? BigInt : Number;
    for (const value of values) builder.append(value === null ? null : turn(value));
    changed[name] = finished(name, builder, kind);
  }
  return batch.with(changed);
}

/** The columns that the folder carries: the input must have them all. */
function carriedAs(call: Call, source: HashSource, names: readonly string[]): readonly string[] {
  const { reader } = source;
  const missing = names.filter((name) => !reader.columns.some((column) => column.name === name));
  if (missing.length > 0) {
    call.fail(`${reader.file}: the index carries ${missing.join(', ')}, which this input has not`);
  }
  return call.has('columns') ? carriedColumns(call, source) : names;
}

/** The input of rows like those of the folder; texts are read by its settings. */
export async function sourceLike(
  call: Call,
  input: string | undefined,
  folder: IndexFolder,
): Promise<HashSource> {
  if (folder.text === null) {
    return openSource(call, input, { kinds: ['code', 'vector', 'sparse'] });
  }
  const text = { settings: folder.text, frequencies: await folder.frequencies() };
  return openSource(call, input, { kinds: ['text', 'code', 'sparse'], text });
}
