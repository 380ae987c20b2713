/**
 * Reads CSV, JSON lines and text by one loop: block by block, and in each block record by record. A
 * record that is broken or too long is an error that names its line. The time to find the end of a
 * record grows with its length alone. The values become batches in a `RowAssembler`.
 */

import { isUtf8 } from 'node:buffer';
import { join } from 'node:path';
import { asFormatError, FormatError } from '../base/check';
import { builderOf, type ColumnBuilder, plainColumn } from '../table/columns/make';
import type { ColumnKind } from '../table/columns/types';
import { RowBatch } from '../table/row-batch';
import { FileChecksum } from '../table/sealed/seal';
import { type ByteSource, joined } from './byte-source';
import { readWhole } from './file-io';
import {
  checkColumns,
  type FormatRows,
  lineError,
  type ReadOptions,
  type SendBatch,
} from './row-reader';
import { filesOf } from './shards';
import { type FileStates, noteChecksum } from './web-source';

const NEWLINE = 10;
const RETURN = 13;
const MARK = [0xef, 0xbb, 0xbf];

/** Bytes of the first block, whose records decide the types of columns. */
const FIRST_BYTES = 1 << 22;
/** Bytes of a later block, more where a record is longer. */
const BLOCK_BYTES = 1 << 20;
/** How many rows decide the types, before the first batch. */
const FIRST_ROWS = 5000;
/** A little below what the engine allows in one string. */
const MAX_CHARACTERS = 2 ** 29 - 1024;

/** Visits the records of a source, whose bytes are read block by block. */
export abstract class RecordScan {
  /** The block that has the current record. It may end within a record. */
  bytes: Buffer = Buffer.alloc(0);
  /** Where the record begins, where it ends without its line end, and where the next one begins. */
  start = 0;
  end = 0;
  next = 0;
  /** The number of the record's first line, from 1. */
  line = 1;
  protected nextLine = 1;
  protected isLast = false;
  #isText = true;
  #isFirst = true;

  constructor(
    readonly source: ByteSource,
    readonly options: ReadOptions,
  ) {}

  /** Finds the record at `next`, sets `end`; returns where the next begins, -1 for no whole one. */
  protected abstract find(): number;
  /** Line feeds in the record that was found. */
  protected abstract get lines(): number;
  /** True where the record that was found is none. */
  protected abstract get isBlank(): boolean;
  /** Why a record may be without an end, besides its length. */
  protected abstract readonly unended: string;

  /** Reads a block after the bytes that are left of this one; false at the end of the source. */
  async more(): Promise<boolean> {
    if (this.isLast) return false;
    const { source } = this;
    const rest = this.bytes.subarray(this.next);
    const { maxLineBytes } = this.options;
    if (rest.length > maxLineBytes) throw this.#tooLong(this.nextLine, this.unended);
    const parts: Uint8Array[] = rest.length > 0 ? [rest] : [];
    // At least as much as is left, so that a long record is copied only a few times.
    const wanted = Math.max(this.#isFirst ? FIRST_BYTES : BLOCK_BYTES, rest.length);
    for (let got = 0; got < wanted && !this.isLast; ) {
      const chunk = await source.next();
      this.isLast = chunk.length === 0;
      got += chunk.length;
      parts.push(chunk);
    }
    const all = joined(parts);
    this.bytes = Buffer.from(all.buffer, all.byteOffset, all.length);
    this.start = 0;
    // A byte order mark is no part of the first line.
    const isMarked = this.#isFirst && MARK.every((byte, i) => all[i] === byte);
    this.next = isMarked ? MARK.length : 0;
    this.#isFirst = false;
    const whole = this.isLast ? all.length : all.lastIndexOf(NEWLINE) + 1;
    this.#isText = isUtf8(all.subarray(0, whole));
    return true;
  }

  /** Goes to the next record of the block; false where it has no further whole one. */
  step(): boolean {
    const { bytes } = this;
    while (this.next < bytes.length) {
      const next = this.find();
      if (next < 0) return false;
      this.start = this.next;
      this.next = next;
      this.line = this.nextLine;
      this.nextLine += this.lines;
      if (this.end - this.start > this.options.maxLineBytes) throw this.#tooLong(this.line);
      if (this.isBlank) continue;
      if (this.#isText || isUtf8(bytes.subarray(this.start, next))) return true;
      throw lineError(this.line, 'not UTF-8 text', this.source.name);
    }
    return false;
  }

  #tooLong(line: number, why = ''): Error {
    const most = `${why}more than ${this.options.maxLineBytes} bytes`;
    return lineError(line, most, this.source.name);
  }

  /**
   * Calls `look` at each of the first records, which decide the types, and goes back before them.
   */
  async ahead(look: () => void): Promise<void> {
    // The first record may be longer than a block: more is read until one is whole.
    let from = { next: this.next, line: this.nextLine };
    const rewind = () => {
      this.next = from.next;
      this.nextLine = from.line;
    };
    while (!this.step()) {
      rewind();
      if (!(await this.more())) break;
      from = { next: this.next, line: this.nextLine };
    }
    rewind();
    for (let row = 0; row < FIRST_ROWS && this.step(); row++) look();
    rewind();
  }
}

/** Visits lines. A last line without a line end counts; after a last line end there is no line. */
export class LineScan extends RecordScan {
  protected readonly lines = 1;
  protected readonly isBlank = false;
  protected readonly unended = '';

  protected find(): number {
    const { bytes, next } = this;
    const found = bytes.indexOf(NEWLINE, next);
    if (found < 0 && !this.isLast) return -1;
    const end = found < 0 ? bytes.length : found;
    // A carriage return before a line feed belongs to the line end.
    this.end = end > next && bytes[end - 1] === RETURN ? end - 1 : end;
    return found < 0 ? end : found + 1;
  }

  /** The text of the line; throws where the engine has no string of that length. */
  text(): string {
    const { bytes, start, end } = this;
    const length = end - start;
    if (length > MAX_CHARACTERS) throw new Error(`${length} bytes are too long for a text`);
    return bytes.toString('utf8', start, end);
  }
}

/** A column to be built: its name, and the kind of its values. */
export interface ColumnPlan {
  readonly name: string;
  readonly kind: ColumnKind;
}

/** A batch ends after about this many bytes: fewer rows where they are wide. */
export const BATCH_BYTES = 1 << 23;

/** What a null takes in a column of numbers. */
const NULL_BYTES = 8;

/**
 * Builders for the columns of some rows, and the limits of a batch. It is used again for each
 * batch. A reader appends a value to each builder, then counts the row in `count`.
 */
export class RowAssembler {
  /** One for each column, in their order. */
  readonly builders: readonly ColumnBuilder[];
  readonly empty: RowBatch;
  readonly #plans: readonly ColumnPlan[];
  #firstRow = 0;

  /** Bytes of the source since the last batch. */
  #bytes = 0;

  /** A batch has `batchRows` rows at most; errors name `file`. */
  constructor(
    plans: readonly ColumnPlan[],
    readonly file: string,
    readonly batchRows: number,
  ) {
    this.#plans = plans;
    this.builders = plans.map(({ kind }) => builderOf(kind));
    this.empty = this.take();
  }

  /** Rows since the last batch. */
  count = 0;

  /**
   * Notes the bytes of the source that a row took, or those that a row of nulls takes. True once
   * the rows are enough for a batch.
   */
  isFullAfter(bytes: number): boolean {
    this.#bytes += Math.max(bytes, NULL_BYTES * this.builders.length);
    return this.count >= this.batchRows || (this.count > 0 && this.#bytes >= BATCH_BYTES);
  }

  /** The rows since the last batch, as a batch; the builders begin again without rows. */
  take(): RowBatch {
    const { count, file } = this;
    const columns = this.#plans.map(({ name, kind }, i) =>
      plainColumn(name, kind, this.builders[i].finish()),
    );
    const batch = RowBatch.ofColumns(columns, count, { firstRow: this.#firstRow, file });
    this.#firstRow += count;
    this.count = 0;
    this.#bytes = 0;
    return batch;
  }
}

/**
 * Sends all records as batches. `add` appends the record of the scan to the builders, all of it or
 * nothing; it returns false for one that is no row, and throws for one that cannot be read.
 */
export async function sendRecords(
  scan: RecordScan,
  assembler: RowAssembler,
  send: SendBatch,
  add: () => boolean,
): Promise<void> {
  const { onRecord } = scan.options;
  do {
    while (scan.step()) {
      try {
        if (!add()) continue;
        assembler.count++;
        onRecord?.(scan.bytes, scan.start, scan.next);
      } catch (error) {
        throw lineError(scan.line, error, scan.source.name);
      }
      if (assembler.isFullAfter(scan.next - scan.start)) await send(assembler.take());
    }
  } while (await scan.more());
  await send(assembler.take());
}

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
    empty: assembler.empty,
    read: (send) => sendRecords(scan, assembler, send, add),
  };
}

const FOLDER_COLUMNS = ['file', 'text'];

/** Reads the files of a folder and of those within it, by path; hidden ones are left out. */
export async function folderRows(
  folder: string,
  options: ReadOptions,
  states: FileStates = new Map(),
): Promise<FormatRows> {
  const wanted = options.columns ?? FOLDER_COLUMNS;
  checkColumns(wanted, FOLDER_COLUMNS);
  const files = await filesOf(folder);
  if (files.length === 0) throw new FormatError('a folder without files', folder);
  const plans = wanted.map((name) => ({ name, kind: 'text' as const }));
  const assembler = new RowAssembler(plans, folder, options.batchRows);
  const read: FormatRows['read'] = async (send) => {
    const sum = new FileChecksum();
    for (const file of files) {
      // A file is one row, so it is read as a whole.
      const path = join(folder, file);
      const bytes = await readWhole(path);
      sum.add(new TextEncoder().encode(`${file}\0${bytes.length}\0`));
      sum.add(bytes);
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
    noteChecksum(states, folder, sum.text);
    await send(assembler.take());
  };
  return { empty: assembler.empty, rowCount: files.length, read };
}
