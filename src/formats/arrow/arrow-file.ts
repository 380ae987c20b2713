/**
 * Arrow files and streams: codes and vectors of a path at once, or rows batch by batch, where large
 * batches are cut into smaller ones without a copy.
 */

import { checkArguments } from '../../base/arguments';
import type { Ids } from '../../base/ids';
import type { Codes } from '../../codes/codes';
import { openArrowFile, openArrowStream } from '../../table/arrow/batches';
import {
  type CodesFromArrowOptions,
  type CodesToArrowOptions,
  type CodesWithIds,
  codesFromArrow,
  codesToArrow,
  type VectorsFromArrowOptions,
  type VectorsWithIds,
  vectorsFromArrow,
} from '../../table/from-arrow';
import type { ByteSource } from '../byte-source';
import { readWhole, writeWhole } from '../file-io';
import { checkColumns, type FormatRows, type ReadOptions } from '../row-reader';

/**
 * Reads the codes of an Arrow file or stream. `I` is the type of the ids where the caller knows it;
 * it is not checked.
 *
 * @example
 * const made = await new SimHasher().hashAll([[1, 0], [0, 1]]);
 * await writeCodes('codes.arrow', made, { ids: ['a', 'b'] });
 * const { codes, ids } = await readCodes<string[]>('codes.arrow');
 * console.log(codes.count, ids); // 2 [ 'a', 'b' ]
 */
export async function readCodes<I extends Ids | null = Ids | null>(
  path: string,
  options?: Omit<CodesFromArrowOptions, 'file'>,
): Promise<CodesWithIds<I>> {
  return codesFromArrow(await readPath(path), { ...options, file: path });
}

/**
 * Reads the dense vectors of an Arrow file or stream. `I` as for `readCodes`.
 *
 * @example
 * const path = 'datasets/nouns/nouns.arrow';
 * const { vectors, ids } = await readVectors<string[]>(path, { id: 'word' });
 * console.log(vectors.dimensions, ids.length); // 100 17824
 */
export async function readVectors<I extends Ids | null = Ids | null>(
  path: string,
  options?: Omit<VectorsFromArrowOptions, 'file'>,
): Promise<VectorsWithIds<I>> {
  return vectorsFromArrow(await readPath(path), { ...options, file: path });
}

/** Writes codes as an Arrow file: whole, or not at all. An existing file is replaced. */
export async function writeCodes(
  path: string,
  codes: Codes,
  options?: CodesToArrowOptions,
): Promise<void> {
  checkArguments({ path }, { path: 'path' });
  await writeWhole(path, [codesToArrow(codes, options)]);
}

function readPath(path: string): Promise<Uint8Array> {
  checkArguments({ path }, { path: 'path' });
  return readWhole(path);
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
