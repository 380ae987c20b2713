/** Reads plain text: each line is a document or, in a folder, each file. */

import { join } from 'node:path';
import { asFormatError, FormatError } from '../../base/format-error';
import type { RowBatch } from '../../table/row-batch';
import { RowAssembler } from '../../table/row-batch';
import type { ByteSource } from '../byte-source';
import { checkUtf8, lineBlocks, textOf } from '../byte-source';
import { readWhole } from '../file-io';
import { checkColumns, type FormatRows, type ReadOptions } from '../row-reader';
import { filesOf } from '../shards';

/** Reads every line, empty ones too, as a row of the column "text". */
export async function textRows(source: ByteSource, options: ReadOptions): Promise<FormatRows> {
  checkColumns(options.columns ?? [], ['text']);
  // Without columns, rows are only counted.
  const hasText = options.columns?.length !== 0;
  const plans = hasText ? [{ name: 'text', kind: 'text' as const }] : [];
  const assembler = new RowAssembler(plans, source.name, options.batchRows);

  async function* batches(): AsyncGenerator<RowBatch> {
    for await (const block of lineBlocks(source, options.maxLineBytes)) {
      for (let i = 0; i < block.starts.length; i++) {
        const line = block.firstLine + i;
        try {
          if (!block.isText) checkUtf8(block.bytes, block.starts[i], block.ends[i]);
          const text = textOf(block.bytes, block.starts[i], block.ends[i]);
          if (hasText) assembler.builders[0].append(text);
          assembler.count++;
          // A record is the line with its line end.
          options.onRecord?.(
            block.bytes,
            block.starts[i],
            block.starts[i + 1] ?? block.bytes.length,
          );
        } catch (error) {
          options.skips.skip(line, error, source.name);
        }
        if (assembler.isFullAfter(block.ends[i] - block.starts[i])) yield assembler.take();
      }
    }
    yield* assembler.rest();
  }
  return { columns: assembler.columns, batches };
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

  async function* batches(): AsyncGenerator<RowBatch> {
    for (const file of files) {
      // A file is one row, so it is read as a whole.
      const { buffer, byteLength } = await readWhole(join(folder, file));
      const read = Buffer.from(buffer, 0, byteLength);
      asFormatError(join(folder, file), () => {
        checkUtf8(read, 0, read.length);
        // A byte order mark is no part of the text.
        const text = textOf(read, 0, read.length).replace(/^\uFEFF/, '');
        wanted.forEach((name, i) => {
          assembler.builders[i].append(name === 'file' ? file : text);
        });
        assembler.count++;
      });
      if (assembler.isFullAfter(read.length)) yield assembler.take();
    }
    yield* assembler.rest();
  }
  return { columns: assembler.columns, rowCount: files.length, batches };
}
