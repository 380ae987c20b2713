/**
 * Reads and writes rows of CSV, as RFC 4180 has it. The first line names the columns. A column has
 * numbers where all of the first rows have numbers there, and lists of numbers only where the
 * caller says so. Numbers with leading zeros are texts. Writes it with line feeds: a null is an
 * empty cell, an empty text a quoted one; lists become JSON, bytes hexadecimal digits.
 *
 * Records and their cells are found in bytes, without making strings. udsv (230 MB/s) and
 * papaparse (80 MB/s) return strings, and neither the bytes of a record nor its line, which
 * `applyPlan` and errors need; cells that stay bytes are faster, too.
 */

import { FormatError } from '../base/check';
import { type BytesBuilder, withRoom } from '../table/columns/make';
import type { RowBatch } from '../table/row-batch';
import type { ByteSource } from './byte-source';
import { exactJson, type Fitter, fitter, hex, kindOf, misfit } from './column-kinds';
import { type ColumnPlan, RecordScan, RowAssembler, sendRecords } from './records';
import {
  checkColumnCount,
  checkColumns,
  type FormatRows,
  isTabbed,
  lineError,
  type ReadOptions,
} from './row-reader';

const QUOTE = 34;
const NEWLINE = 10;
const RETURN = 13;

const DELIMITERS = [',', ';', '\t', '|'];

/**
 * Visits the records of CSV, and finds the cells of each: the arrays are used again for the next,
 * so that records allocate nothing. Blank lines are no records.
 */
class CsvScan extends RecordScan {
  /** How many cells the record has. */
  count = 0;
  /** Where each cell begins and ends, without its quotes. */
  starts = new Int32Array(64);
  ends = new Int32Array(64);
  /** 0 for a plain cell, 1 for a quoted one, 2 where it has doubled quotes within. */
  quotes = new Uint8Array(64);
  protected lines = 0;
  protected readonly unended = 'a broken quote that is never closed, or ';
  #delimiter = 0;

  protected get isBlank(): boolean {
    return this.count === 1 && this.quotes[0] === 0 && this.starts[0] === this.ends[0];
  }

  /**
   * Reads the first block and the first record, which names the columns; the delimiter is guessed
   * from the first line. Throws where two names are equal.
   */
  async header(): Promise<string[]> {
    const { source } = this;
    await this.more();
    const delimiter = isTabbed(source.name) ? '\t' : guess(this.bytes);
    this.#delimiter = delimiter.charCodeAt(0);
    while (!this.step()) {
      if (!(await this.more()))
        throw new FormatError('no line that names the columns', source.name);
    }
    const names = Array.from({ length: this.count }, (_, i) => this.text(i) ?? '');
    const known = new Set<string>();
    const twice = names.find((name) => known.size === known.add(name).size);
    if (twice === undefined) return names;
    throw lineError(this.line, `two columns are called "${twice}"`, source.name);
  }

  /** The text of a cell; null where nothing stands between the delimiters, not even quotes. */
  text(cell: number): string | null {
    const text = this.bytes.toString('utf8', this.starts[cell], this.ends[cell]);
    if (this.quotes[cell] === 2) return text.replaceAll('""', '"');
    return text === '' && this.quotes[cell] === 0 ? null : text;
  }

  protected find(): number {
    this.count = 0;
    this.lines = 0;
    try {
      this.end = this.#cells();
    } catch (error) {
      throw lineError(this.nextLine, error, this.source.name);
    }
    return this.end;
  }

  /** Finds the cells of the record at `next`; returns where the next one begins, as `find` does. */
  #cells(): number {
    const { bytes, isLast } = this;
    const { length } = bytes;
    const delimiter = this.#delimiter;
    // Each round finds a cell and ends at the delimiter after it.
    for (let i = this.next; ; i++) {
      if (bytes[i] === QUOTE && i < length) {
        i = this.#quoted(i);
        if (i < 0) return -1;
        if (i === length) return length;
        if (bytes[i] === NEWLINE) return this.#after(i);
        if (bytes[i] === RETURN) {
          if (i + 1 === length) return isLast ? length : -1;
          if (bytes[i + 1] === NEWLINE) return this.#after(i + 1);
        }
        if (bytes[i] !== delimiter) throw new Error('a broken quote: text behind the closing one');
        continue;
      }
      const start = i;
      let byte = 0;
      while (i < length) {
        byte = bytes[i];
        if (byte === delimiter || byte === NEWLINE) break;
        i++;
      }
      if (i === length && !isLast) return -1;
      const isEnd = i === length || byte === NEWLINE;
      this.#push(start, isEnd && i > start && bytes[i - 1] === RETURN ? i - 1 : i, 0);
      if (i === length) return length;
      if (isEnd) return this.#after(i);
    }
  }

  #after(newline: number): number {
    this.lines++;
    return newline + 1;
  }

  /**
   * Adds the quoted cell at `at`, in which line feeds and delimiters are text. Returns the position
   * after its closing quote, or -1 where that is not among the bytes yet.
   */
  #quoted(at: number): number {
    const { bytes, isLast } = this;
    const { length } = bytes;
    let quotes = 1;
    for (let from = at + 1; ; quotes = 2) {
      const end = bytes.indexOf(QUOTE, from);
      if (end < 0 && isLast) throw new Error('a broken quote: it is never closed');
      if (end < 0 || (end + 1 === length && !isLast)) return -1;
      if (end + 1 < length && bytes[end + 1] === QUOTE) {
        from = end + 2;
        continue;
      }
      this.#push(at + 1, end, quotes);
      let feed = bytes.indexOf(NEWLINE, at);
      for (; feed >= 0 && feed < end; feed = bytes.indexOf(NEWLINE, feed + 1)) this.lines++;
      return end + 1;
    }
  }

  #push(start: number, end: number, quotes: number): void {
    this.starts = withRoom(this.starts, this.count + 1);
    this.ends = withRoom(this.ends, this.count + 1);
    this.quotes = withRoom(this.quotes, this.count + 1);
    this.starts[this.count] = start;
    this.ends[this.count] = end;
    this.quotes[this.count++] = quotes;
  }
}

/** The delimiter that is most often in the first line with cells, quoted ones left out. */
function guess(bytes: Buffer): string {
  const plain = bytes.toString('utf8', 0, GUESSED_BYTES).replaceAll(/"(?:[^"]|"")*"/g, '');
  const line = plain.split(/\r?\n/).find((one) => one !== '') ?? '';
  const counts = DELIMITERS.map((delimiter) => line.split(delimiter).length);
  return DELIMITERS[counts.indexOf(Math.max(...counts))];
}

/** A longer line of names is judged by its beginning. */
const GUESSED_BYTES = 2 ** 16;

/** Numbers as programs write them. 007 and +1 stay texts: they may be names of something. */
const NUMBER = /^-?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;
const INTEGER = /^-?\d+$/;

/** Numbers of this many digits are exact in float64. */
const SAFE_DIGITS = 15;

/** Numbers, as items of a list, also as numpy prints them: "1." and "+1e-3". */
const ITEM = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;

/** Reads rows of CSV; memory holds one block of bytes and one batch. */
export async function csvRows(source: ByteSource, options: ReadOptions): Promise<FormatRows> {
  const { types, kinds, batchRows } = options;
  const scan = new CsvScan(source, options);
  const names = await scan.header();
  checkColumnCount(names.length, source.name);
  // The header line, and all before it, are the first record.
  options.onRecord?.(scan.bytes, 0, scan.next);
  const wanted = options.columns ?? names;
  checkColumns(wanted, names);
  checkColumns(Object.keys(types), names);
  // Columns are given in the order in which the caller wants them.
  const places = new Map(names.map((name, cell) => [name, cell]));
  const cells = wanted.map((name) => places.get(name) as number);
  const first: unknown[][] = cells.map(() => []);
  await scan.ahead(() => {
    cells.forEach((cell, i) => {
      const text = cell < scan.count ? scan.text(cell) : null;
      first[i].push(text !== null && NUMBER.test(text) ? numberOf(text) : text);
    });
  });
  const plans = wanted.map((name, i) => {
    const kind = kindOf(name, first[i], types[name], kinds);
    return { name, kind: kind === 'json' ? ('text' as const) : kind };
  });
  const assembler = new RowAssembler(plans, source.name, batchRows);
  const columns = plans.map((plan, i) => ({
    ...plan,
    cell: cells[i],
    builder: assembler.builders[i],
    turn: fitter(plan, true),
  }));
  const cellValues: unknown[] = [];
  // Adds the scan's record to the builders: all of its cells, or none.
  const add = () => {
    const { bytes, starts, ends, quotes } = scan;
    if (scan.count !== names.length) {
      throw new Error(`${scan.count} cells, but ${names.length} columns are named`);
    }
    // Values that may be refused come first: nothing is appended until all of them are known.
    for (let i = 0; i < columns.length; i++) {
      const { kind, cell } = columns[i];
      if (kind === 'text') continue;
      const isEmpty = starts[cell] === ends[cell];
      cellValues[i] = isEmpty ? null : fitText(scan.text(cell) as string, columns[i]);
    }
    // Texts are copied as bytes, unless they have doubled quotes.
    for (let i = 0; i < columns.length; i++) {
      const { builder, cell, kind } = columns[i];
      if (kind !== 'text') builder.append(cellValues[i]);
      else if (quotes[cell] === 2) builder.append(scan.text(cell));
      else if (starts[cell] === ends[cell] && quotes[cell] === 0) builder.append(null);
      else (builder as BytesBuilder).appendBytes(bytes, starts[cell], ends[cell]);
    }
    return true;
  };
  return { empty: assembler.empty, read: (send) => sendRecords(scan, assembler, send, add) };
}

/** The value of a cell in a column of numbers or lists; throws if it does not fit. */
function fitText(text: string, { name, kind, turn }: ColumnPlan & { turn: Fitter }): unknown {
  if (typeof kind === 'object') {
    // "[0.1, 0.2]" or "[0.1 0.2]".
    const inner = /^\s*\[([^[\]]*)\]\s*$/.exec(text)?.[1].trim();
    const items = inner === '' ? [] : inner?.split(/\s*,\s*|\s+/);
    if (items?.every((item) => ITEM.test(item))) return items.map(Number);
    throw misfit(name, 'a list of numbers as "[0.1, 0.2]"', text);
  }
  if (NUMBER.test(text)) return turn(numberOf(text));
  throw misfit(name, 'a number', text);
}

/** The number of a text that is one; a bigint where float64 would round an integer. */
function numberOf(text: string): number | bigint {
  if (text.length <= SAFE_DIGITS || !INTEGER.test(text)) return Number(text);
  // An integer of more than 15 digits may still be exact in float64.
  const integer = BigInt(text);
  const number = Number(integer);
  return Number.isSafeInteger(number) ? number : integer;
}

/** Writes batches as lines of CSV: that of the names, and those of rows without line feeds. */
export function csvWriter(delimiter: string) {
  const needsQuotes = new RegExp(`["\\r\\n${delimiter === '\t' ? '\\t' : delimiter}]`);
  const cell = (value: unknown): string => {
    if (value === null || value === undefined) return '';
    if (value === '') return '""';
    const text =
      typeof value === 'string'
        ? value
        : value instanceof Uint8Array
          ? hex(value)
          : typeof value === 'number'
            ? String(value)
            : exactJson(value);
    return needsQuotes.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return {
    header: ({ columns }: RowBatch) => `${columns.map(({ name }) => cell(name)).join(delimiter)}\n`,
    rows(batch: RowBatch): string[] {
      const columns = batch.columns.map(({ name }) => batch.values(name));
      return Array.from({ length: batch.count }, (_, row) => {
        const line = columns.map((values) => cell(values[row])).join(delimiter);
        // A blank line would not be read as a row.
        return line === '' ? '""' : line;
      });
    },
  };
}
