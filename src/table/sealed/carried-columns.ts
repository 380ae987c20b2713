/**
 * The columns carried next to the rows of an index, to and from Arrow. An index folder has them in
 * separate files; an index in one file has them after its own columns. All batches of a file have
 * the same columns; each may have nulls, and dictionaries become plain columns.
 */

import { type DataType, type Field, Type } from 'apache-arrow';
import { asFormatError, FormatError } from '../../base/format-error';
import { bodiesOf, footerStart, readFooter, type Span, TAIL_BYTES } from '../arrow/messages';
import { asArrow } from '../arrow/source';
import { columnOf } from '../columns/make';
import { RowBatch } from '../row-batch';
import { checkColumn, headerText } from './seal';
import { openTable } from './sealed-table';

const KIND = 'columns';
/** The JSON in the schema of such a file. */
export const COLUMNS_HEADER = headerText({ kind: KIND });

/**
 * The columns that an index file carries, which are its last ones, in the order of its rows; null
 * if it carries none. Checksums are not compared, since the index was read from the same bytes.
 */
export function columnsOfIndex(bytes: Uint8Array, file: string): RowBatch | null {
  const { header, batches, schema } = openTable(bytes, file, { kind: 'index', isSound: true });
  const { carried: names = [] } = header;
  if (!Array.isArray(names) || names.length > schema.fields.length) {
    throw new FormatError(`"carried" expected names of columns, got ${names}`, file);
  }
  if (names.length === 0 || batches.length === 0) return null;
  const before = schema.fields.length - names.length;
  return asArrow(file, () => {
    const parts = batches.map((batch) => {
      const columns = names.map((name, i) => {
        const at = before + i;
        return columnOf(String(name), { field: schema.fields[at], data: batch.data.children[at] });
      });
      return RowBatch.ofColumns(columns, batch.numRows, { file });
    });
    return RowBatch.join(parts);
  });
}

/** Reads ranges of a file, in the order given. */
type ReadRanges = (ranges: readonly Span[]) => Promise<readonly Uint8Array[]>;

/**
 * Reads one column of such a file: its own buffers, the footer and the metadata of batches, and
 * nothing else. The column is compared with its checksums. The ranges are copied into an image of
 * the file; pages that are never touched take address space, but no memory.
 */
export async function carriedColumn(
  file: { readonly path: string; readonly bytes: number },
  name: string,
  read: ReadRanges,
): Promise<RowBatch[]> {
  const { path, bytes } = file;
  const image = new Uint8Array(bytes);
  const fill = async (ranges: readonly Span[]) => {
    const own = ranges.filter(({ length }) => length > 0);
    for (const [i, part] of (await read(own)).entries()) image.set(part, own[i].at);
  };
  const whole = (at: number) => ({ at, length: bytes - at });
  // One read has the footer of most files, and the start of the file.
  const guess = Math.max(0, bytes - FOOTER_BYTES);
  await fill([{ at: 0, length: Math.min(8, bytes) }, whole(guess)]);
  const start = asArrow(path, () => footerStart(image.subarray(-TAIL_BYTES), bytes));
  if (start < guess) await fill([whole(start)]);
  const { blocks } = asArrow(path, () => {
    return readFooter(image.subarray(start, -TAIL_BYTES), start);
  });
  await fill(blocks.map(({ offset, metadataBytes }) => ({ at: offset, length: metadataBytes })));
  const open = () => openTable(image, path, { kind: KIND, isSound: true });
  const { fields } = open().schema;
  const at = fields.findIndex((field) => field.name === name);
  // Buffers of a batch are listed column by column: skip those of the columns before.
  if (at < 0) throw new FormatError(`there is no column "${name}"`, path);
  const before = fields.slice(0, at).reduce((sum, field) => sum + bufferCount(field), 0);
  const end = before + bufferCount(fields[at]);
  const bodies = asArrow(path, () => bodiesOf(image));
  await fill(bodies.flatMap(({ buffers }) => buffers.slice(before, end)));
  return asFormatError(path, () => {
    let firstRow = 0;
    return open().batches.map((batch, i) => {
      checkColumn(batch, at, i);
      const place = { firstRow, file: path };
      firstRow += batch.numRows;
      const column = { field: fields[at], data: batch.data.children[at] };
      return RowBatch.ofColumns([column], batch.numRows, place);
    });
  });
}

/** Bytes at the end of a file that most footers fit into. */
const FOOTER_BYTES = 2 ** 15;

/** How many buffers a column has in a batch, as Arrow lists them, those of children included. */
function bufferCount({ type }: Field): number {
  const { typeId, children } = type as DataType;
  const own: Partial<Record<Type, number>> = {
    [Type.Null]: 0,
    [Type.Struct]: 1,
    [Type.FixedSizeList]: 1,
    [Type.Utf8]: 3,
    [Type.Binary]: 3,
    [Type.LargeUtf8]: 3,
    [Type.LargeBinary]: 3,
  };
  const below: readonly Field[] = typeId === Type.Dictionary ? [] : (children ?? []);
  return below.reduce((sum, child) => sum + bufferCount(child), own[typeId] ?? 2);
}
