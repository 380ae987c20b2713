/** Reads rows of Parquet, a row group at a time, so that memory is what one row group takes. */

import { asFormatError, FormatError } from '../../base/format-error';
import { type Column, plainColumn, plainData } from '../../table/columns/make';
import { RowBatch } from '../../table/row-batch';
import type { ByteSource } from '../byte-source';
import { checkColumns, type FormatRows, type ReadOptions } from '../row-reader';
import { columnData, kindOfLeaf, leafType } from './columns';
import { readFooter } from './metadata';
import { Budget, LeafReader } from './pages';

/** Reads rows of Parquet; memory holds one row group. */
export async function parquetRows(source: ByteSource, options: ReadOptions): Promise<FormatRows> {
  const { name: file } = source;
  const bytes = await source.randomAccess(); // its schema comes last
  const { leaves, groups, rowCount } = await asParquet(file, () => readFooter(bytes));
  const names = leaves.map(({ name }) => name);
  const wanted = new Set(options.columns ?? names);
  checkColumns(wanted, names);
  const plans = leaves
    .map((leaf, i) => ({ leaf, i, name: leaf.name, kind: kindOfLeaf(leaf) }))
    .filter(({ name }) => wanted.has(name));
  const none = plans.map(({ name, kind }) => plainColumn(name, kind, plainData(kind, [])));
  const empty = RowBatch.ofColumns(none, 0, { file });

  const read: FormatRows['read'] = async (send) => {
    const deep = plans.find(({ leaf }) => leaf.maxRepetition > 1);
    if (deep !== undefined) {
      const advice = 'name the columns to read without it';
      throw new FormatError(`column "${deep.name}" has lists within lists: ${advice}`, file);
    }
    let firstRow = 0;
    for (const { rows, chunks } of groups.filter((group) => group.rows > 0)) {
      const own = plans.map(({ i }) => chunks[i]);
      bytes.willRead?.(own.map(({ start: at, byteCount: length }) => ({ at, length })));
      // Chunks may overlap, so the bytes of the file limit what they justify.
      const sum = own.reduce((all, { byteCount }) => all + byteCount, 0);
      const budget = new Budget(Math.min(bytes.byteCount, sum));
      const made: Column[] = [];
      for (const { leaf, name, kind, i } of plans) {
        const data = await asParquet(file, async () => {
          const { start, byteCount } = chunks[i];
          const content = new Uint8Array(byteCount);
          await bytes.readInto(content, start);
          const { turn } = leafType(leaf);
          const reader = new LeafReader(leaf, chunks[i], turn, new Budget(budget.bytes));
          return columnData(leaf, rows, reader.read(content), budget);
        });
        made.push(plainColumn(name, kind, data));
      }
      await send(RowBatch.ofColumns(made, rows, { firstRow, file }));
      firstRow += rows;
    }
    if (firstRow === 0) await send(empty);
  };
  return { columns: empty.columns, rowCount, read };
}

const asParquet = <T>(file: string, read: () => Promise<T>): Promise<T> =>
  asFormatError(file, read, 'cannot be read as Parquet');
