/**
 * Finds the records of CSV one after another in bytes, as RFC 4180 has them, and where each cell
 * lies, without making strings. udsv (230 MB/s) and papaparse (80 MB/s) return strings, and neither
 * the bytes of a record nor its line, which `applyPlan` and errors need; cells that stay bytes are
 * faster, too.
 */

import { FormatError } from '../../base/format-error';
import { withRoom } from '../../table/columns/make';
import { RecordScan } from '../records';
import { type Delimiter, lineError } from '../row-reader';

const QUOTE = 34;
const NEWLINE = 10;
const RETURN = 13;

/** The cells of one record. It is used again for the next, so that records allocate nothing. */
class CsvRecord {
  /** How many cells the last record has. */
  count = 0;
  /** Line feeds in it, the last one included. */
  lines = 0;
  /** Where each cell begins and ends, without its quotes. */
  starts = new Int32Array(64);
  ends = new Int32Array(64);
  /** 0 for a plain cell, 1 for a quoted one, 2 where it has doubled quotes within. */
  quotes = new Uint8Array(64);

  constructor(readonly delimiter: number) {}

  /**
   * Parses the record at `at`. Returns where the next one begins, or -1 where more bytes are
   * needed; `isLast` says that there are none.
   */
  parse(bytes: Buffer, at: number, isLast: boolean): number {
    const { length } = bytes;
    const { delimiter } = this;
    this.count = 0;
    this.lines = 0;
    // Each round parses a cell and ends at the delimiter after it.
    for (let i = at; ; i++) {
      if (bytes[i] === QUOTE && i < length) {
        i = this.#quoted(bytes, i, isLast);
        if (i < 0) return -1;
        if (i === length) return length;
        if (bytes[i] === NEWLINE) return this.#next(i);
        if (bytes[i] === RETURN) {
          if (i + 1 === length) return isLast ? length : -1;
          if (bytes[i + 1] === NEWLINE) return this.#next(i + 1);
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
      if (isEnd) return this.#next(i);
    }
  }

  #next(newline: number): number {
    this.lines++;
    return newline + 1;
  }

  /**
   * Adds the quoted cell at `at`, in which line feeds and delimiters are text. Returns the position
   * after its closing quote, or -1 where that is not among the bytes yet.
   */
  #quoted(bytes: Buffer, at: number, isLast: boolean): number {
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

  /** Makes the record an empty line. */
  setBlank(): void {
    this.count = 0;
    this.lines = 1;
    this.#push(0, 0, 0);
  }

  /** True of an empty line, which is no record. */
  get isBlank(): boolean {
    return this.count === 1 && this.quotes[0] === 0 && this.starts[0] === this.ends[0];
  }

  /** The text of a cell; null where nothing stands between the delimiters, not even quotes. */
  text(bytes: Buffer, cell: number): string | null {
    const text = bytes.toString('utf8', this.starts[cell], this.ends[cell]);
    if (this.quotes[cell] === 2) return text.replaceAll('""', '"');
    return text === '' && this.quotes[cell] === 0 ? null : text;
  }
}

const DELIMITERS: readonly Delimiter[] = [',', ';', '\t', '|'];

/** Visits the records of CSV. Blank lines are none. */
export class CsvScan extends RecordScan {
  record = new CsvRecord(0);
  protected readonly unended = 'a broken quote that is never closed, or ';

  protected get lines(): number {
    return this.record.lines;
  }

  protected get isBlank(): boolean {
    return this.record.isBlank;
  }

  /**
   * Reads the first block and the first record, which names the columns; without a delimiter it is
   * guessed from the first line. Throws where two names are equal.
   */
  async header(): Promise<string[]> {
    const { source, options } = this;
    await this.more();
    this.record = new CsvRecord((options.delimiter ?? guess(this.bytes)).charCodeAt(0));
    while (!this.step()) {
      if (!(await this.more()))
        throw new FormatError('no line that names the columns', source.name);
    }
    const { record } = this;
    const names = Array.from({ length: record.count }, (_, i) => record.text(this.bytes, i) ?? '');
    const known = new Set<string>();
    const twice = names.find((name) => known.size === known.add(name).size);
    if (twice === undefined) return names;
    throw lineError(this.line, `two columns are called "${twice}"`, source.name);
  }

  protected find(): number {
    const { record, bytes, isLast } = this;
    try {
      this.end = record.parse(bytes, this.next, isLast);
    } catch (error) {
      // Where a broken record ends is not known: its line is skipped.
      this.skips.skip(this.nextLine, error, this.source.name);
      const newline = bytes.indexOf(NEWLINE, this.next);
      if (newline < 0 && !isLast) return -1;
      record.setBlank();
      this.end = newline < 0 ? bytes.length : newline + 1;
    }
    return this.end;
  }
}

/** The delimiter that is most often in the first line, quoted cells left out. */
function guess(bytes: Buffer): Delimiter {
  const newline = bytes.indexOf(NEWLINE);
  const line = bytes.toString('utf8', 0, newline < 0 ? bytes.length : newline);
  const plain = line.replaceAll(/"(?:[^"]|"")*"/g, '');
  const counts = DELIMITERS.map((delimiter) => plain.split(delimiter).length);
  return DELIMITERS[counts.indexOf(Math.max(...counts))];
}
