/**
 * Writes rows to a file or a stream in any of the formats. A file is there whole or not at all: a
 * failure leaves nothing behind, and a file that exists or is an input is not overwritten.
 */

import { checkBoolean, checkNames, checkOptions, wrongType, wrongValue } from '../base/check';
import { arrowWriter, type SealHeader } from '../table/arrow/writer';
import { RowBatch } from '../table/row-batch';
import { csvWriter } from './csv';
import { openOutput, type RowOutput, streamOutput } from './file-io';
import { jsonRows } from './jsonl';
import { parquetEncoder } from './parquet/parquet-out';
import { formatOfPath, isTabbed, ROW_FORMATS, type RowEncoder, type RowFormat } from './row-reader';

/** How rows are written. */
export interface CreateRowsOptions {
  /** By default as the name says; a stream needs it. 'npy' and 'text' are only read. */
  format?: RowFormat;
  /**
   * Replaces an existing file.
   * @default false
   */
  force?: boolean;
  /** Files that the output must not be, by whatever name. */
  inputs?: readonly string[];
  /**
   * Metadata of an Arrow file, which then has checksums; other formats have none. That of another
   * file is JSON.
   * @internal
   */
  header?: SealHeader | string | undefined;
}

/** Takes rows batch by batch. Any failure ends the output and leaves nothing behind. */
export interface RowWriter {
  /** Rows written so far. */
  readonly rowCount: number;
  /** Resolves once the rows are taken; every batch has the columns of the first. */
  write(batch: RowBatch): Promise<void>;
  /** Ends the output: a file is there from now on. */
  close(): Promise<void>;
  /** Gives up: nothing is left of a file. */
  abort(): Promise<void>;
}

/** Formats that are written. */
export const OUTPUT_FORMATS = ['arrow', 'arrows', 'parquet', 'csv', 'jsonl'] as const;
/** A format that can be written. */
type OutputFormat = (typeof OUTPUT_FORMATS)[number];

const OPTIONS = {
  format: ROW_FORMATS,
  force: checkBoolean,
  inputs: checkNames,
  header: null,
} as const;

/**
 * Opens an output for rows: a path, '-' for the standard output, or a stream. The file appears at
 * `close`, whole; a failure leaves nothing behind.
 *
 * @example
 * const output = await createRows('rows.csv');
 * await output.write(RowBatch.of({ id: ['a', 'b'], size: [1, 2] }));
 * await output.close();
 * console.log(output.rowCount); // 2
 */
export async function createRows(
  target: string | NodeJS.WritableStream,
  options?: CreateRowsOptions,
): Promise<RowWriter> {
  const given = checkOptions(options, OPTIONS);
  const { force = false, inputs = [], header } = given;
  const stream = target === '-' ? process.stdout : target;
  if (typeof stream !== 'string' && typeof stream?.write !== 'function') {
    throw wrongType('target', 'a path or a writable stream', target);
  }
  const path = typeof stream === 'string' ? stream : null;
  const format = given.format ?? (path === null ? null : formatOfPath(path));
  if (format === null) {
    const unknown = `the name ${path} has no known extension; say which with format`;
    const problem = path === null ? 'a stream needs a format' : unknown;
    throw new RangeError(`${problem}: ${OUTPUT_FORMATS.join(', ')}`);
  }
  const written = OUTPUT_FORMATS.find((one) => one === format);
  if (written === undefined) {
    throw wrongValue('format', `one that is written: ${OUTPUT_FORMATS.join(', ')}`, format);
  }
  const output =
    typeof stream === 'string' ? await openOutput(stream, { force, inputs }) : streamOutput(stream);
  const delimiter = path !== null && isTabbed(path) ? '\t' : ',';
  try {
    return rowWriter(await encoderOf(written, header, delimiter), output);
  } catch (error) {
    await output.abort();
    throw error;
  }
}

/** Encodes batches and passes the bytes on. */
function rowWriter(encoder: RowEncoder, output: RowOutput): RowWriter {
  let isOpen = true;
  let rowCount = 0;
  /** The columns of the first batch, which all others must have. */
  let first: string | null = null;
  const abort = async () => {
    if (!isOpen) return;
    isOpen = false;
    await output.abort();
  };
  // A failure ends the output, and leaves nothing behind.
  const step = async (work: () => Promise<void>) => {
    if (!isOpen) throw new Error('the output was closed already');
    try {
      await work();
    } catch (error) {
      await abort();
      throw error;
    }
  };
  return {
    get rowCount() {
      return rowCount;
    },
    async write(batch) {
      if (!(batch instanceof RowBatch)) throw wrongType('batch', 'a RowBatch', batch);
      const names = JSON.stringify(batch.columns.map(({ name }) => name));
      first ??= names;
      await step(async () => {
        if (names !== first) throw new Error(`columns ${names} after ${first}`);
        await output.write(await encoder.encode(batch));
      });
      rowCount += batch.count;
    },
    async close() {
      await step(async () => {
        await output.write(await encoder.finish());
        await output.close();
      });
      isOpen = false;
    },
    abort,
  };
}

/** The encoder of a format. Libraries that only some formats need are loaded here. */
async function encoderOf(
  format: OutputFormat,
  header: SealHeader | string | undefined,
  delimiter: string,
): Promise<RowEncoder> {
  switch (format) {
    case 'arrow':
    case 'arrows':
      return arrowWriter(format === 'arrow' ? 'file' : 'stream', header ?? null);
    case 'parquet':
      return parquetEncoder();
    case 'csv': {
      const { header: names, rows } = csvWriter(delimiter);
      return linesOf(rows, names);
    }
    case 'jsonl':
      return linesOf(jsonRows);
  }
}

/** Characters that are encoded at once, far fewer than the longest string has. */
const MAX_CHARACTERS = 1 << 22;

/** Encodes each row as a line of text; `first` is the text before all rows. */
function linesOf(
  rows: (batch: RowBatch) => string[],
  first: (batch: RowBatch) => string = () => '',
): RowEncoder {
  let isFirst = true;
  return {
    encode(batch) {
      const parts: Uint8Array[] = [];
      let text = isFirst ? first(batch) : '';
      isFirst = false;
      for (const line of rows(batch)) {
        text += `${line}\n`;
        if (text.length < MAX_CHARACTERS) continue;
        parts.push(Buffer.from(text));
        text = '';
      }
      return [...parts, Buffer.from(text)];
    },
    finish: () => [],
  };
}
