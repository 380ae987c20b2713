/**
 * Rows out, to a file or a stream, in any of the formats. A file is there whole or not at all: what
 * fails leaves nothing behind, and what exists or is an input is not written over.
 */

import { checkOneOf, checkOptions, wrongType, wrongValue } from '../base/check';
import type { CodeHeader } from '../table/arrow/writer';
import { RowBatch } from '../table/row-batch';
import { encoderOf, isOutputFormat, OUTPUT_FORMATS, type OutputFormat } from './encoders';
import { openOutput, type RowOutput, StreamOutput } from './file-io';
import type { RowEncoder } from './row-format';
import { formatOfPath, ROW_FORMATS, type RowFormat } from './row-format';

/** How rows are written. */
export interface CreateRowsOptions {
  /** By the name's extension by default; a stream needs it. */
  format?: RowFormat;
  /**
   * Replaces an existing file.
   * @default false
   */
  force?: boolean;
  /** Files that the output must not be, by whatever name. */
  inputs?: readonly string[];
  /** How the codes of an Arrow file were made: seals it, as `codesToArrow` does. */
  header?: CodeHeader;
}

/** Takes rows batch by batch. Whatever fails ends the output and leaves nothing behind. */
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

const OPTIONS = ['format', 'force', 'inputs', 'header'];

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
  const given = checkOptions('options', options, OPTIONS);
  const { force = false, inputs = [], header } = given;
  const isStream = typeof target !== 'string' || target === '-';
  if (
    isStream &&
    target !== '-' &&
    typeof (target as NodeJS.WritableStream)?.write !== 'function'
  ) {
    throw wrongType('target', 'a path or a writable stream', target);
  }
  const format = given.format ?? (isStream ? null : formatOfPath(target as string));
  if (format === null) {
    const formats = OUTPUT_FORMATS.join(', ');
    throw new RangeError(
      isStream
        ? `a stream needs a format (--to): ${formats}`
        : `the name ${target} has no known extension; say which with format (--to): ${formats}`,
    );
  }
  checkOneOf('format', format, ROW_FORMATS);
  checkOutputFormat(format);
  if (header !== undefined && format !== 'arrow' && format !== 'arrows') {
    throw wrongValue('header', "a format 'arrow' or 'arrows'", format);
  }
  const output = isStream
    ? new StreamOutput(target === '-' ? process.stdout : (target as NodeJS.WritableStream))
    : await openOutput(target as string, { force, inputs });
  return writerTo(output, format, { header, delimiter: delimiterOf(target) });
}

/** A writer of rows to an output that is open already. */
export async function writerTo(
  output: RowOutput,
  format: RowFormat,
  options: { header?: CodeHeader | string; delimiter?: string } = {},
): Promise<RowWriter> {
  try {
    return new Rows(await encoderOf(checkOutputFormat(format), options), output);
  } catch (error) {
    await output.abort();
    throw error;
  }
}

function checkOutputFormat(format: RowFormat): OutputFormat {
  if (isOutputFormat(format)) return format;
  throw wrongValue('format', `one that is written: ${OUTPUT_FORMATS.join(', ')}`, format);
}

/** A tab where the name says so. */
function delimiterOf(target: unknown): string {
  return typeof target === 'string' && /\.(tsv|tab)$/i.test(target) ? '\t' : ',';
}

class Rows implements RowWriter {
  readonly #encoder: RowEncoder;
  readonly #output: RowOutput;
  #isOpen = true;
  rowCount = 0;

  constructor(encoder: RowEncoder, output: RowOutput) {
    this.#encoder = encoder;
    this.#output = output;
  }

  async write(batch: RowBatch): Promise<void> {
    if (!(batch instanceof RowBatch)) throw wrongType('batch', 'a RowBatch', batch);
    await this.#step(async () => this.#output.write(await this.#encoder.encode(batch)));
    this.rowCount += batch.count;
  }

  async close(): Promise<void> {
    await this.#step(async () => {
      await this.#output.write(await this.#encoder.finish());
      await this.#output.close();
    });
    this.#isOpen = false;
  }

  async abort(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    await this.#output.abort();
  }

  /** What fails ends the output, and leaves nothing behind. */
  async #step(work: () => Promise<void>): Promise<void> {
    if (!this.#isOpen) throw new Error('the output was closed already');
    try {
      await work();
    } catch (error) {
      await this.abort();
      throw error;
    }
  }
}
