/**
 * Arrow files and streams: codes are written at once, rows are read batch by batch.
 */

import { checkArguments } from '../../base/arguments';
import type { Codes } from '../../codes/codes';
import { openArrowFile, openArrowStream } from '../../table/arrow/batches';
import { type CodesToArrowOptions, codesToArrow } from '../../table/from-arrow';
import type { ByteSource } from '../byte-source';
import { openOutput } from '../file-io';
import { checkColumns, type FormatRows, type ReadOptions } from '../row-reader';

/**
 * Writes codes as an Arrow file: whole, or not at all. An existing file is replaced.
 *
 * @example
 * import { readFile } from 'node:fs/promises';
 * const made = await new SimHasher().hashAll([[1, 0], [0, 1]]);
 * await writeCodes('codes.arrow', made, { ids: ['a', 'b'] });
 * const { codes, ids } = codesFromArrow<string[]>(await readFile('codes.arrow'));
 * console.log(codes.count, ids); // 2 [ 'a', 'b' ]
 */
export async function writeCodes(
  path: string,
  codes: Codes,
  options?: CodesToArrowOptions,
): Promise<void> {
  checkArguments({ path }, { path: 'path' });
  const bytes = codesToArrow(codes, options);
  const output = await openOutput(path, { force: true, inputs: [] });
  await output.write([bytes]).catch(async (error) => {
    await output.abort();
    throw error;
  });
  await output.close();
}

/** Rows of an Arrow file or stream, told apart by the first bytes. One batch is in memory. */
export async function arrowRows(source: ByteSource, options: ReadOptions): Promise<FormatRows> {
  const isFile = Buffer.from(await source.peek(6)).toString('latin1') === 'ARROW1';
  // The file format has its schema last: of a stream, all of it is held.
  const opened = isFile
    ? await openArrowFile(await source.randomAccess(), source.name)
    : await openArrowStream(source, source.name, options);
  const names = opened.columns.map(({ name }) => name);
  const wanted = new Set(options.columns ?? names);
  checkColumns(wanted, names);
  const dropped = names.filter((name) => !wanted.has(name));

  const read: FormatRows['read'] = async (send) => {
    let isFirst = true; // of a file of empty batches one is given
    await opened.read(async (batch) => {
      if (batch.count > 0 || isFirst)
        await send(dropped.length > 0 ? batch.without(dropped) : batch);
      isFirst = false;
    });
  };
  const columns = opened.columns.filter(({ name }) => wanted.has(name));
  const { rowCount, header } = opened;
  return { columns, rowCount, header, read };
}
