/**
 * Bytes cut into lines, in blocks of many. A line may be as long as memory allows; what it takes to
 * find its end does not grow with the square of its length.
 */

import { isUtf8 } from 'node:buffer';
import { FormatError } from '../../base/format-error';
import type { ByteSource } from '../byte-source';

const NEWLINE = 10;
const RETURN = 13;

/** Whole lines: line i lies at `starts[i]` to `ends[i]`, its end mark left out. */
export interface LineBlock {
  readonly bytes: Buffer;
  readonly starts: readonly number[];
  readonly ends: readonly number[];
  /** Number of the first line, from 1. */
  readonly firstLine: number;
  /** False where some bytes are no UTF-8. */
  readonly isText: boolean;
}

/** The lines of a source; a last one without an end mark counts, nothing behind one does not. */
export async function* lineBlocks(source: ByteSource): AsyncGenerator<LineBlock> {
  let pending: Uint8Array[] = [];
  let firstLine = 1;
  await skipMark(source);
  for (;;) {
    const chunk = await source.next();
    const isLast = chunk.length === 0;
    const cut = isLast ? 0 : chunk.lastIndexOf(NEWLINE) + 1;
    if (cut === 0 && !isLast) {
      pending.push(chunk);
      continue;
    }
    const bytes = Buffer.concat([...pending, chunk.subarray(0, cut)]);
    pending = [chunk.subarray(cut)];
    if (bytes.length > 0) {
      const block = blockOf(bytes, firstLine);
      firstLine += block.starts.length;
      yield block;
    }
    if (isLast) return;
  }
}

function blockOf(bytes: Buffer, firstLine: number): LineBlock {
  const starts: number[] = [];
  const ends: number[] = [];
  for (let start = 0; start < bytes.length; ) {
    const found = bytes.indexOf(NEWLINE, start);
    const end = found < 0 ? bytes.length : found;
    starts.push(start);
    ends.push(end > start && bytes[end - 1] === RETURN ? end - 1 : end);
    start = end + 1;
  }
  return { bytes, starts, ends, firstLine, isText: isUtf8(bytes) };
}

const MARK = [0xef, 0xbb, 0xbf];

/** A byte order mark is not part of the first line. */
export async function skipMark(source: ByteSource): Promise<void> {
  const head = await source.peek(MARK.length);
  if (MARK.every((byte, i) => head[i] === byte)) await source.take(MARK.length);
}

/** The text of some bytes that may be none. */
export function textOf(bytes: Buffer, start: number, end: number): string {
  if (end - start > MAX_CHARACTERS) throw new Error(`${end - start} bytes are too long for a text`);
  return bytes.toString('utf8', start, end);
}

/** A little below what the engine allows in one string. */
const MAX_CHARACTERS = 2 ** 29 - 1024;

/** Fails where a line is no UTF-8. */
export function checkUtf8(bytes: Buffer, start: number, end: number): void {
  if (!isUtf8(bytes.subarray(start, end))) throw new Error('not UTF-8 text');
}

/** An error at a line of a file. */
export function lineError(line: number, message: string, file: string): FormatError {
  return new FormatError(`line ${line}: ${message}`, file);
}
