/** The records of a CSV source one after another, with their lines and their bytes. */

import { isUtf8 } from 'node:buffer';
import { FormatError } from '../../base/format-error';
import { type ByteSource, joined } from '../byte-source';
import type { Delimiter, Skips } from '../row-reader';
import { lineError, skipMark } from '../text/lines';
import { CsvRecord } from './csv-record';

/** Bytes of a block; a longer record makes it larger. Blocks end anywhere, also in a record. */
const BLOCK_BYTES = 1 << 20;
/** What a record may have at most: beyond, a quote was left open. */
const MAX_BYTES = 2 ** 29;

const DELIMITERS: readonly Delimiter[] = [',', ';', '\t', '|'];

/** Steps through the records of a source, a block of bytes at a time. */
export class CsvScan {
  /** Bytes in which the record lies. */
  bytes: Buffer = Buffer.alloc(0);
  /** Where it begins and the next one does. */
  start = 0;
  next = 0;
  /** Its first line, from 1. */
  line = 1;
  record = new CsvRecord(0);
  #nextLine = 1;
  #isLast = false;
  #isText = true;

  constructor(
    readonly source: ByteSource,
    public skips: Skips,
  ) {}

  /** Reads the first block and takes the delimiter, guessed from the first line unless given. */
  async begin(delimiter: Delimiter | undefined): Promise<void> {
    await skipMark(this.source);
    await this.more();
    this.record = new CsvRecord((delimiter ?? guess(this.bytes)).charCodeAt(0));
  }

  /** Takes more bytes behind those that are not read yet; false when there are none. */
  async more(): Promise<boolean> {
    if (this.#isLast) return false;
    const rest = this.bytes.subarray(this.next);
    if (rest.length > MAX_BYTES) {
      throw lineError(this.#nextLine, 'a broken quote: it is never closed', this.source.name);
    }
    const parts: Uint8Array[] = [rest];
    // As much again as there is, so that a long record is not copied often.
    const wanted = Math.max(BLOCK_BYTES, rest.length);
    for (let got = 0; got < wanted; ) {
      const chunk = await this.source.next();
      if (chunk.length === 0) {
        this.#isLast = true;
        break;
      }
      got += chunk.length;
      parts.push(chunk);
    }
    const all = joined(parts);
    this.bytes = Buffer.from(all.buffer, all.byteOffset, all.length);
    this.start = 0;
    this.next = 0;
    this.#isText = isUtf8(this.bytes);
    return true;
  }

  /** Goes to the next record in the block; false at its end. Blank lines are left out. */
  step(): boolean {
    const { record, bytes } = this;
    while (this.next < bytes.length) {
      const next = this.#parse();
      if (next < 0) return false;
      this.start = this.next;
      this.next = next;
      this.line = this.#nextLine;
      this.#nextLine += record.lines;
      if (record.isBlank) continue;
      if (this.#isText || isUtf8(bytes.subarray(this.start, next))) return true;
      this.skips.skip(this.line, 'not UTF-8 text', this.source.name);
    }
    return false;
  }

  #parse(): number {
    const { record, bytes } = this;
    try {
      return record.parse(bytes, this.next, this.#isLast);
    } catch (error) {
      // Where the record ends is not known: it is taken to end with its line.
      this.skips.skip(this.#nextLine, error, this.source.name);
      const newline = bytes.indexOf(10, this.next);
      if (newline < 0 && !this.#isLast) return -1;
      record.count = 1;
      record.lines = 1;
      record.starts[0] = 0;
      record.ends[0] = 0;
      record.quotes[0] = 0;
      return newline < 0 ? bytes.length : newline + 1;
    }
  }

  /** Goes back to a position of this block. */
  rewind(to: { next: number; line: number }): void {
    this.next = to.next;
    this.#nextLine = to.line;
  }

  get position(): { next: number; line: number } {
    return { next: this.next, line: this.#nextLine };
  }

  /** The names in the first record. */
  async header(): Promise<string[]> {
    while (!this.step()) {
      if (!(await this.more()))
        throw new FormatError('no line that names the columns', this.source.name);
    }
    const names = Array.from({ length: this.record.count }, (_, i) => {
      return this.record.text(this.bytes, i) ?? '';
    });
    const twice = names.find((name, i) => names.indexOf(name) !== i);
    if (twice === undefined) return names;
    throw lineError(this.line, `two columns are called "${twice}"`, this.source.name);
  }
}

/** The delimiter that is most often in the first line, quoted cells left out. */
function guess(bytes: Buffer): Delimiter {
  const newline = bytes.indexOf(10);
  const line = bytes.toString('utf8', 0, newline < 0 ? bytes.length : newline);
  const plain = line.replaceAll(/"(?:[^"]|"")*"/g, '');
  const counts = DELIMITERS.map((delimiter) => plain.split(delimiter).length);
  return DELIMITERS[counts.indexOf(Math.max(...counts))];
}
