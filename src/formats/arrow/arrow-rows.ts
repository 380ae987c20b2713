/** Rows of Arrow files and streams, large batches cut into smaller ones without a copy. */

import { openArrowFile, openArrowStream } from '../../table/arrow/batches';
import type { RowBatch } from '../../table/row-batch';
import type { ByteSource } from '../byte-source';
import { checkColumns, type FormatRows, type ReadOptions } from '../row-reader';

const MAGIC = 'ARROW1';

/** Rows of an Arrow file or stream, told apart by the first bytes. One batch is in memory. */
export async function arrowRows(source: ByteSource, options: ReadOptions): Promise<FormatRows> {
  const isFile = Buffer.from(await source.peek(MAGIC.length)).toString('latin1') === MAGIC;
  // The file format has its schema last: of a stream, all of it is held.
  const opened = isFile
    ? await openArrowFile(await source.randomAccess(), source.name)
    : await openArrowStream(source, source.name);
  const names = opened.columns.map(({ name }) => name);
  const wanted = options.columns ?? names;
  checkColumns(wanted, names);
  const dropped = names.filter((name) => !wanted.includes(name));

  async function* batches(): AsyncGenerator<RowBatch> {
    let isFirst = true;
    for await (const batch of opened.batches()) {
      const kept = dropped.length > 0 ? batch.without(dropped) : batch;
      for (let first = 0; first < kept.count; first += options.batchRows) {
        yield kept.slice(first, Math.min(kept.count, first + options.batchRows));
        isFirst = false;
      }
      if (kept.count === 0 && isFirst) yield kept;
      isFirst = false;
    }
  }
  const columns = opened.columns.filter(({ name }) => wanted.includes(name));
  return { columns, rowCount: opened.rowCount, header: opened.header, batches };
}
