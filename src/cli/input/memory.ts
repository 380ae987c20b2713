/**
 * The peak of memory, predicted from the number of rows before the work begins; `--max-memory`
 * refuses what would need more, and says what to change.
 */

import { open } from 'node:fs/promises';
import { parseBytes } from '../../base/byte-count';
import type { Ids } from '../../base/ids';
import type { RowReader } from '../../node';
import type { RowBatch } from '../../table/row-batch';
import type { Call } from '../call';
import { bytesText, grouped } from '../output/figures';
import type { SourceKind } from './open-input';

/** What the program takes before it holds a row: the engine, Arrow, batches on their way. */
const PROGRAM_BYTES = 110 * 2 ** 20;
/** What lines take on their way until they are collected, as measured. */
const LINES_BYTES = 30 * 2 ** 20;
/** Batches that are on their way or wait to be collected; texts are strings there, too. */
const BATCHES = 3;
const TEXT_BATCHES = 5;
/** Looked at to find how long a line is. */
const SAMPLE_BYTES = 2 ** 18;
const OF_LINES: readonly string[] = ['csv', 'jsonl', 'text'];

/** Bytes by what they hold: `{ codes: 3200, ids: 800 }`. */
type Parts = Readonly<Record<string, number>>;

/**
 * Refuses when the parts are predicted to need more than `--max-memory`; of a stream, whose rows
 * are not known before, `isSoFar` says that these are the rows until now.
 */
export function checkMemory(
  call: Call,
  rows: number,
  { parts, advice, isSoFar = false }: { parts: Parts; advice: string; isSoFar?: boolean },
): void {
  const limit = limitOf(call, 'max-memory');
  if (limit === null) return;
  const all = { program: PROGRAM_BYTES, ...parts };
  const peak = Object.values(all).reduce((sum, bytes) => sum + bytes, 0);
  const told = Object.entries(all).flatMap(([name, bytes]) =>
    bytes > 0 ? [`${name} ${bytesText(bytes)}`] : [],
  );
  const which = isSoFar ? 'the first' : 'about';
  const sentence = `${which} ${grouped(rows)} rows need ${bytesText(peak)} (${told.join(', ')})`;
  if (peak > limit) call.fail(`${sentence}, more than --max-memory ${bytesText(limit)}: ${advice}`);
  if (!isSoFar) call.say(`${sentence} of at most ${bytesText(limit)}`);
}

/** The bytes of an option; null without it. */
export function limitOf(call: Call, name: 'max-memory' | 'memory'): number | null {
  const text = call.text(name);
  if (text === undefined) return null;
  const limit = parseBytes(text);
  return limit ?? call.misuse(`--${name} expected a size as 800M or 4G, got "${text}"`);
}

/** How many rows a reader will give: as the format tells, or by the length of the first lines. */
export async function rowsToCome(reader: RowReader): Promise<number | null> {
  const { rowCount, byteCount, format, file } = reader;
  if (rowCount !== null) return rowCount;
  if (byteCount === null || !OF_LINES.includes(format)) return null;
  const handle = await open(file, 'r').catch(() => null);
  if (handle === null) return null;
  try {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(SAMPLE_BYTES), 0, SAMPLE_BYTES, 0);
    let lines = 0;
    for (const byte of buffer.subarray(0, bytesRead)) if (byte === 10) lines++;
    return Math.ceil((byteCount / Math.max(1, bytesRead)) * Math.max(1, lines));
  } finally {
    await handle.close();
  }
}

/** What reading takes at once, besides the rows that stay; by a batch, as large as others. */
export function readingBytes(
  { format, heldBytes }: RowReader,
  kind: SourceKind,
  { byteLength }: Pick<RowBatch, 'byteLength'>,
): number {
  const lines = OF_LINES.includes(format) ? LINES_BYTES : 0;
  return heldBytes + lines + (kind === 'text' ? TEXT_BATCHES : BATCHES) * byteLength;
}

/** Bytes of ids, as measured, by the first of them; rows that go by numbers need none. */
export function idBytes(rows: number, first: Ids | null): number {
  if (first === null || first.length === 0) return 0;
  if (!Array.isArray(first)) return rows * 60;
  const characters = first.reduce((sum, id) => sum + id.length, 0);
  return rows * (110 + (2 * characters) / first.length);
}
