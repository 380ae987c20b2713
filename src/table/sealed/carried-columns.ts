/**
 * The columns that an index folder carries beside its rows, in and out of Arrow files. Batches of
 * one file have the same columns; each may be null, and dictionaries become plain columns.
 */

import { type Field, RecordBatch, Schema } from 'apache-arrow';
import { arrowBytes } from '../arrow/bytes';
import { asFormatError, openArrow } from '../arrow/source';
import { plainOf } from '../columns/pick';
import { RowBatch } from '../row-batch';
import { FORMAT_VERSION, KEY, openSealed, sealedBatch } from './seal';

const KIND = 'columns';
const BATCH_ROWS = 65_536;

/** The bytes of an Arrow file. Throws where batches differ in names or types of columns. */
export function columnsToArrow(batches: readonly RowBatch[]): Uint8Array {
  const parts = batches.flatMap((batch) => plainParts(batch));
  const fields = parts[0].schema.fields.map((field) => field.clone({ nullable: true }) as Field);
  const header = JSON.stringify({ version: FORMAT_VERSION, kind: KIND });
  const schema = new Schema(fields, new Map([[KEY, header]]));
  let row = 0;
  const sealed = parts.map((part, i) => {
    refuseOthers(part.schema.fields, fields);
    const batch = sealedBatch(schema, part.data.children, row, i === parts.length - 1);
    row += part.numRows;
    return batch;
  });
  return arrowBytes('file', schema, sealed);
}

/** Batches of at most so many rows, without dictionaries and views, which cannot be cut. */
function plainParts(batch: RowBatch): RecordBatch[] {
  const parts: RecordBatch[] = [];
  const isPlain = batch.toArrow().schema.fields.every(({ type }) => plainOf(type) === type);
  for (let first = 0; first === 0 || first < batch.count; first += BATCH_ROWS) {
    const count = Math.min(BATCH_ROWS, batch.count - first);
    const part = isPlain
      ? batch.slice(first, first + count)
      : batch.select(Uint32Array.from({ length: count }, (_, i) => first + i));
    parts.push(part.toArrow());
  }
  return parts;
}

function refuseOthers(given: readonly Field[], fields: readonly Field[]): void {
  const tell = (list: readonly Field[]) => list.map(({ name, type }) => `${name}: ${type}`);
  const [got, wanted] = [tell(given).join(', '), tell(fields).join(', ')];
  if (got === wanted) return;
  throw new Error(`columns ${got} do not fit to columns ${wanted}`);
}

export interface ColumnsFromArrowOptions {
  /** Only these columns. */
  readonly names?: readonly string[] | undefined;
  /** True when the bytes are known to be those that were written. */
  readonly isSound?: boolean;
}

export function columnsFromArrow(
  bytes: Uint8Array,
  file: string,
  { names, isSound = false }: ColumnsFromArrowOptions = {},
): RowBatch[] {
  const opened = openArrow(bytes, file);
  return asFormatError(file, () => {
    const header = openSealed(isSound ? { ...opened, isWhole: false } : opened);
    if ((header as unknown as { kind: string })?.kind !== KIND)
      throw new Error('no carried columns');
    let firstRow = 0;
    return opened.batches.map((batch) => {
      const at = { firstRow, file };
      firstRow += batch.numRows;
      const whole = RowBatch.fromArrow(withoutHeader(batch), at);
      if (names === undefined) return whole;
      const others = whole.columns.filter(({ name }) => !names.includes(name));
      return whole.without(others.map(({ name }) => name));
    });
  });
}

/** The header is the file's, not the columns'. */
function withoutHeader(batch: RecordBatch): RecordBatch {
  return new RecordBatch(new Schema(batch.schema.fields), batch.data);
}
