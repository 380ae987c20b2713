/**
 * Rows of Parquet, a row group at a time, by hyparquet (MIT, kept by Hyperparam, no dependencies;
 * parquet-wasm is twice as fast, but 5 MB of wasm). Each column is packed as Arrow before the next
 * is read, so that memory is what one row group takes.
 */

import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import type { AsyncBuffer, FileMetaData, ParquetParsers } from 'hyparquet';
import { asFormatError, FormatError } from '../../base/format-error';
import type { ByteFile } from '../../table/arrow/batches';
import type { ColumnKind } from '../../table/columns/builder';
import { decodeLz4 } from '../../table/compression/lz4';
import { decodeZstd } from '../../table/compression/zstd';
import type { RowBatch } from '../../table/row-batch';
import { RowAssembler } from '../../table/row-batch';
import type { ByteSource } from '../byte-source';
import { exactJson } from '../jsonl/json-text';
import { checkColumns, type FormatRows, piecesOf, type ReadOptions } from '../row-reader';
import { kindOfTree } from './parquet-schema';

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Times as text that loses nothing. */
const PARSERS: Partial<ParquetParsers> = {
  timestampFromMilliseconds: (millis) => timeText(millis, 3),
  timestampFromMicroseconds: (micros) => timeText(micros, 6),
  timestampFromNanoseconds: (nanos) => timeText(nanos, 9),
  dateFromDays: (days) => timeText(BigInt(days) * 86_400n, 0).slice(0, -9),
  stringFromBytes: (bytes) => bytes && decoder.decode(bytes),
  jsonFromBytes: (bytes) => bytes && decoder.decode(bytes),
};

/**
 * Decoders of pages by Parquet's names, of what Node and this library have; Snappy is in hyparquet
 * itself. `length` is what the page must become.
 */
const CODECS = {
  GZIP: (page: Uint8Array, length: number) => gunzipSync(page, { maxOutputLength: length + 1 }),
  BROTLI: (page: Uint8Array, length: number) =>
    brotliDecompressSync(page, { maxOutputLength: length + 1 }),
  ZSTD: (page: Uint8Array, length: number) => decodeZstd(page, length),
  LZ4_RAW: (page: Uint8Array) => decodeLz4(frameOf([page])),
  LZ4: (page: Uint8Array) => decodeLz4(frameOf(hadoopBlocks(page) ?? [page])),
};

/** A time counted in powers of ten of a second. */
function timeText(value: bigint, digits: number): string {
  const per = 10n ** BigInt(digits);
  const rest = ((value % per) + per) % per;
  const date = new Date(Number((value - rest) / per) * 1000);
  if (Number.isNaN(date.getTime())) return String(value);
  const seconds = date.toISOString().slice(0, -5);
  return digits === 0 ? seconds : `${seconds}.${String(rest).padStart(digits, '0')}`;
}

/** Rows of Parquet; one row group is in memory. */
export async function parquetRows(source: ByteSource, options: ReadOptions): Promise<FormatRows> {
  const { parquetMetadataAsync, parquetScan, parquetSchema } = await import('hyparquet');
  const file = bufferOf(await source.randomAccess()); // its schema comes last
  const metadata = await asParquet(source.name, () =>
    parquetMetadataAsync(file, { geoparquet: false }),
  );
  const trees = parquetSchema(metadata).children;
  const names = trees.map(({ element }) => element.name);
  const wanted = options.columns ?? names;
  checkColumns(wanted, names);
  const plans = trees
    .filter(({ element }) => wanted.includes(element.name))
    .map((tree) => ({ name: tree.element.name, kind: kindOfTree(tree) }));
  const assembler = new RowAssembler(plans, source.name);
  const groups = groupsOf(metadata);

  async function* batches(): AsyncGenerator<RowBatch> {
    const scan = await asParquet(source.name, () =>
      parquetScan({
        ...{ file, metadata, columns: plans.map(({ name }) => name) },
        ...{ compressors: CODECS, parsers: PARSERS, utf8: false, useOffsetIndex: false },
      }),
    );
    for (const { rowStart, rowEnd } of groups) {
      for (let i = 0; i < plans.length; i++) {
        const { name, kind } = plans[i];
        const values = await asParquet(source.name, () =>
          scan.readColumn({ column: name, rowStart, rowEnd }),
        );
        if (values.length !== rowEnd - rowStart) {
          const expected = `column "${name}" has ${values.length} rows, not ${rowEnd - rowStart}`;
          throw new FormatError(`cannot be read as Parquet: ${expected}`, source.name);
        }
        const turn = turnOf(kind);
        for (let row = 0; row < values.length; row++) {
          const value = values[row];
          assembler.builders[i].append(value === null || value === undefined ? null : turn(value));
        }
      }
      assembler.count = rowEnd - rowStart;
      const group = assembler.take();
      yield* piecesOf(group, options.batchRows);
    }
    if (groups.length === 0) yield assembler.take();
  }
  return { columns: assembler.columns, rowCount: Number(metadata.num_rows), batches };
}

/** Row groups that have rows. */
function groupsOf(metadata: FileMetaData): { rowStart: number; rowEnd: number }[] {
  const groups: { rowStart: number; rowEnd: number }[] = [];
  let rowStart = 0;
  for (const { num_rows: rows } of metadata.row_groups) {
    const rowEnd = rowStart + Number(rows);
    if (rowEnd > rowStart) groups.push({ rowStart, rowEnd });
    rowStart = rowEnd;
  }
  return groups;
}

/** What the library gives, as the builder of the kind takes it. */
function turnOf(kind: ColumnKind): (value: unknown) => unknown {
  if (kind !== 'json') return (value) => value;
  return (value) => (typeof value === 'string' ? value : exactJson(value));
}

function bufferOf(file: ByteFile): AsyncBuffer {
  return {
    byteLength: file.byteCount,
    async slice(start, end = file.byteCount) {
      const bytes = new Uint8Array(end - start);
      await file.readInto(bytes, start);
      return bytes.buffer;
    },
  };
}

const asParquet = <T>(file: string, read: () => T): T =>
  asFormatError(file, read, 'cannot be read as Parquet');

/** LZ4 blocks in a frame: a magic, flags, an unchecked checksum, the blocks, an end mark. */
function frameOf(blocks: readonly Uint8Array[]): Uint8Array {
  const length = blocks.reduce((sum, block) => sum + 4 + block.length, 11);
  const frame = new Uint8Array(length);
  const view = new DataView(frame.buffer);
  view.setUint32(0, 0x184d2204, true);
  frame.set([0x40, 0x70], 4);
  let at = 7;
  for (const block of blocks) {
    view.setUint32(at, block.length, true);
    frame.set(block, at + 4);
    at += 4 + block.length;
  }
  return frame;
}

/** Hadoop writes the lengths before each block, highest byte first; null where they do not fit. */
function hadoopBlocks(page: Uint8Array): Uint8Array[] | null {
  const view = new DataView(page.buffer, page.byteOffset, page.length);
  const blocks: Uint8Array[] = [];
  for (let at = 0; at < page.length; ) {
    if (at + 8 > page.length) return null;
    const length = view.getUint32(at + 4);
    if (length === 0 || at + 8 + length > page.length) return null;
    blocks.push(page.subarray(at + 8, at + 8 + length));
    at += 8 + length;
  }
  return blocks;
}
