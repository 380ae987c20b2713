/** Reads plain text: each line is a document or, in a folder, each file. */

import { isUtf8 } from 'node:buffer';
import { join } from 'node:path';
import { asFormatError, FormatError } from '../../base/format-error';
import { RowAssembler } from '../../table/row-batch';
import type { ByteSource } from '../byte-source';
import { readWhole } from '../file-io';
import { LineScan, sendRecords } from '../records';
import { checkColumns, type FormatRows, type ReadOptions } from '../row-reader';
import { filesOf } from '../shards';

/** Reads every line, empty ones too, as a row of the column "text". */
export async function textRows(source: ByteSource, options: ReadOptions): Promise<FormatRows> {
  checkColumns(options.columns ?? [], ['text']);
  // Without columns, rows are only counted.
  const names = options.columns ?? ['text'];
  const plans = names.map((name) => ({ name, kind: 'text' as const }));
  const assembler = new RowAssembler(plans, source.name, options.batchRows);
  const scan = new LineScan(source, options);
  const add = () => {
    const text = scan.text();
    for (const builder of assembler.builders) builder.append(text);
    return true;
  };
  return {
    columns: assembler.columns,
    read: (send) => sendRecords(scan, assembler, send, add),
  };
}

const FOLDER_COLUMNS = ['file', 'text'];

/** Reads the files of a folder and of those within it, by path; hidden ones are left out. */
export async function folderRows(folder: string, options: ReadOptions): Promise<FormatRows> {
  const wanted = options.columns ?? FOLDER_COLUMNS;
  checkColumns(wanted, FOLDER_COLUMNS);
  const files = await filesOf(folder);
  if (files.length === 0) throw new FormatError('a folder without files', folder);
  const plans = wanted.map((name) => ({ name, kind: 'text' as const }));
  const assembler = new RowAssembler(plans, folder, options.batchRows);
  const read: FormatRows['read'] = async (send) => {
    for (const file of files) {
      // A file is one row, so it is read as a whole.
      const path = join(folder, file);
      const bytes = await readWhole(path);
      asFormatError(path, () => {
        if (!isUtf8(bytes)) throw new Error('not UTF-8 text');
        // The decoder drops a byte order mark, which is no part of the text.
        const text = new TextDecoder().decode(bytes);
        wanted.forEach((name, i) => {
          assembler.builders[i].append(name === 'file' ? file : text);
        });
        assembler.count++;
      });
      if (assembler.isFullAfter(bytes.length)) await send(assembler.take());
    }
    if (assembler.hasRest) await send(assembler.take());
  };
  return { columns: assembler.columns, rowCount: files.length, read };
}
