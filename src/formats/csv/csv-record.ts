/**
 * One record of CSV at a time, as RFC 4180 has it, found in bytes: where each cell lies, without a
 * string being made. udsv (230 MB/s) and papaparse (80 MB/s) give strings, and neither the bytes of
 * a record nor its line, which `applyPlan` and errors need; cells that stay bytes are faster, too.
 */

import { grown } from '../../table/columns/builder';

const QUOTE = 34;
const NEWLINE = 10;
const RETURN = 13;

/** The cells of one record. It is used again for the next: nothing is allocated per record. */
export class CsvRecord {
  /** Cells of the record that was parsed last. */
  count = 0;
  /** Line feeds within it. */
  lines = 0;
  starts = new Int32Array(64);
  ends = new Int32Array(64);
  /** 1 for a quoted cell, 2 where it has doubled quotes within. */
  quotes = new Uint8Array(64);

  constructor(readonly delimiter: number) {}

  /**
   * Parses the record at `at`. Gives where the next one begins, or -1 when more bytes are needed;
   * `isLast` says that there are none.
   */
  parse(bytes: Buffer, at: number, isLast: boolean): number {
    const { length } = bytes;
    const { delimiter } = this;
    this.count = 0;
    this.lines = 0;
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
   * Adds the quoted cell at `at`; line feeds and delimiters within it are text. Returns where the
   * closing quote is followed by something, or -1 when that is not among the bytes yet.
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
      for (
        let i = bytes.indexOf(NEWLINE, at);
        i >= 0 && i < end;
        i = bytes.indexOf(NEWLINE, i + 1)
      ) {
        this.lines++;
      }
      return end + 1;
    }
  }

  #push(start: number, end: number, quotes: number): void {
    this.starts = grown(this.starts, this.count + 1);
    this.ends = grown(this.ends, this.count + 1);
    this.quotes = grown(this.quotes, this.count + 1);
    this.starts[this.count] = start;
    this.ends[this.count] = end;
    this.quotes[this.count++] = quotes;
  }

  /** True of a line without anything, which is no record. */
  get isBlank(): boolean {
    return this.count === 1 && this.quotes[0] === 0 && this.starts[0] === this.ends[0];
  }

  /** A cell as text; null where nothing stands between the delimiters. */
  text(bytes: Buffer, cell: number): string | null {
    const text = bytes.toString('utf8', this.starts[cell], this.ends[cell]);
    if (this.quotes[cell] === 2) return text.replaceAll('""', '"');
    return text === '' && this.quotes[cell] === 0 ? null : text;
  }
}
