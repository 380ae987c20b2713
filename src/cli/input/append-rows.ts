/**
 * Rows of an input appended to an index folder: hashed by its settings, with columns of its types,
 * in one generation. With --replace they take the place of the rows of the same ids.
 */

import type {
  Codes,
  ColumnData,
  DenseMatrix,
  Ids,
  IndexFolder,
  RowBatch,
  SparseMatrix,
} from '../../node';
import { builderOf, type ColumnKind, finished } from '../../table/columns/builder';
import type { Call } from '../call';
import { carriedColumns, joinColumns, only } from './build-index';
import { type HashSource, openSource } from './hashing';
import { openFolder, refuseOtherSettings } from './index-folder';
import { joinCodes, joinIds, joinSparse, joinVectors } from './join';

export async function appendRows(call: Call, input: string, path: string): Promise<void> {
  const folder = await openFolder(call, path);
  refuseOtherSettings(call, folder);
  const source = await sourceLike(call, input, folder);
  if (call.has('replace') && source.idColumn === null) {
    call.fail(`${source.reader.file} has no ids to replace rows by: name their column by --id`);
  }
  const names = folder.columnInfo.map(({ name }) => name);
  const carried = names.length === 0 ? [] : carriedAs(call, source, names);
  await source.narrow(carried);
  const batches: RowBatch[] = [];
  const ids: Ids[] = [];
  const codes: Codes[] = [];
  const vectors: (DenseMatrix | SparseMatrix)[] = [];
  const { bits = 64, vectors: storage = 'none', mean } = folder.options;
  const needsVectors = storage !== 'none' || mean !== undefined;
  const hasher = await source.hashAs(folder.options);
  for await (const batch of source.reader) {
    for (const { firstRow, count, vectors: piece } of source.piecesOf(batch)) {
      if (count === 0) continue;
      if ('bytesPerCode' in piece) codes.push(piece);
      else if (needsVectors) vectors.push(piece);
      else codes.push(source.named(firstRow, () => hasher.hashAll(piece)));
    }
    const own = source.idsOf(batch);
    if (own !== null) ids.push(own);
    if (carried.length > 0) batches.push(only(batch, carried));
  }
  const rows = vectors.length > 0 ? joined(vectors) : joinCodes(codes, { bits });
  const joint = joinColumns(batches);
  const columns = joint && typedLike(joint, folder);
  const own = source.idColumn === null ? undefined : joinIds(ids);
  const replace = call.has('replace');
  const appended = call.long(`writing ${path}`, (long) =>
    folder.append(rows, own, { ...(columns !== null && { columns }), replace, ...long }),
  );
  await source.namedAsync(0, appended);
}

/**
 * Columns of the types that the folder has, where nothing is lost: integers are int64 in one input
 * and float64 in another, as they look like ids or not, and a column of nulls only has any type.
 */
function typedLike(batch: RowBatch, { columnInfo }: IndexFolder): RowBatch {
  const changed: Record<string, ColumnData> = {};
  for (const { name, type } of columnInfo) {
    const own = batch.columns.find((column) => column.name === name);
    if (own === undefined || own.type === type) continue;
    const values = batch.values(name) as (number | bigint | null)[];
    const known = values.filter((value) => value !== null);
    const kind = KINDS[type];
    if (known.length === 0 && kind !== undefined) changed[name] = nulls(name, kind, batch.count);
    const areNumbers = [own.type, type].every((one) => one === 'Int64' || one === 'Float64');
    if (known.length === 0 || !areNumbers) continue;
    if (!known.every((value) => Number.isSafeInteger(Number(value)))) continue;
    const turn = type === 'Int64' ? BigInt : Number;
    changed[name] = values.map((value) => (value === null ? null : turn(value)));
  }
  return batch.with(changed);
}

/** Types of carried columns, as batches name them, and what builds such a column. */
const KINDS: Record<string, ColumnKind> = {
  Int64: 'int64',
  Float64: 'float64',
  Bool: 'bool',
  Utf8: 'text',
};

function nulls(name: string, kind: ColumnKind, count: number): ColumnData {
  const builder = builderOf(kind);
  for (let row = 0; row < count; row++) builder.append(null);
  return finished(name, builder, kind);
}

function joined(parts: readonly (DenseMatrix | SparseMatrix)[]): DenseMatrix | SparseMatrix {
  return 'offsets' in parts[0]
    ? joinSparse(parts as readonly SparseMatrix[])
    : joinVectors(parts as readonly DenseMatrix[]);
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
