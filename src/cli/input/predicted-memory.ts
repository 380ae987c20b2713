/**
 * The peak of memory, predicted from the number of rows before the work begins; `--max-memory`
 * refuses what would need more, and says what to change.
 */

import type { Ids } from '../../base/ids';
import { OF_LINES } from '../../formats/row-format';
import type { RowReader } from '../../node';
import type { RowBatch } from '../../table/row-batch';
import type { Call } from '../call';
import { bytesText, grouped } from '../output/figures';
import { limitOf, PROGRAM_BYTES } from './memory-limit';
import type { SourceKind } from './open-input';

// How far the peak of a run may lie from what these say: test/cli/memory.test.ts, within 20 %. They
// were measured with Node 20 on one thread, by medians of three runs.

/** Bytes of lines that wait to be collected. */
const LINES_BYTES = 20 * 2 ** 20;
/** Batches in memory at once. Of texts they are strings too, of which many wait to be collected. */
const BATCHES = 3;
const TEXT_BATCHES = 3;
const TEXT_BYTES = 35 * 2 ** 20;
/** Bytes of another reading of the rows, besides what it holds of them. */
const AGAIN_BYTES = 15 * 2 ** 20;
/** A larger batch has a long text, of which more copies wait: of one reading, of another. */
const LONG_BYTES = 32 * 2 ** 20;
const LONG_COPIES = { once: 1.5, again: 3 } as const;

/** Bytes by what they hold: `{ codes: 3200, ids: 800 }`. */
type Parts = Readonly<Record<string, number>>;

interface Prediction {
  readonly parts: Parts;
  readonly advice: string;
  /** These are the rows of a stream until now. */
  readonly isSoFar?: boolean;
  /** More is needed that is not known yet. */
  readonly isLeast?: boolean;
}

/**
 * Refuses when the parts are predicted to need more than `--max-memory`, else says what they need.
 */
export function checkMemory(
  call: Call,
  rows: number,
  { parts, advice, isSoFar = false, isLeast = false }: Prediction,
): void {
  const limit = limitOf(call, 'max-memory');
  if (limit === null) return;
  const all = { program: PROGRAM_BYTES, ...parts };
  const peak = Object.values(all).reduce((sum, bytes) => sum + bytes, 0);
  const listed = Object.entries(all).flatMap(([name, bytes]) =>
    bytes > 0 ? [`${name} ${bytesText(bytes)}`] : [],
  );
  const which = isSoFar ? 'the first' : 'about';
  const least = isLeast ? 'at least ' : '';
  const need = `${least}${bytesText(peak)} (${listed.join(', ')})`;
  const sentence = `${which} ${grouped(rows)} rows need ${need}`;
  if (peak > limit) call.fail(`${sentence}, more than --max-memory ${bytesText(limit)}: ${advice}`);
  if (!isSoFar) call.say(`${sentence} of at most ${bytesText(limit)}`);
}

/**
 * About how many rows a reader gives, null of a stream: fewer than the first lines show where the
 * first batch has longer ones.
 */
export function rowsToCome(reader: RowReader, batch: RowBatch): number | null {
  const { rowCount, expectedRows, byteCount } = reader;
  if (rowCount !== null || expectedRows === null || byteCount === null) return expectedRows;
  const perRow = batch.byteLength / Math.max(1, batch.count);
  return Math.min(expectedRows, Math.ceil(byteCount / Math.max(1, perRow)));
}

/**
 * Bytes of reading at its peak, besides the rows that stay, of which each takes `bytesPerRow`; rows
 * of a row group do not stay yet while it is read. A batch shows how large others are.
 */
export function readingBytes(
  { format, heldBytes, heldRows }: RowReader,
  kind: SourceKind,
  { byteLength }: Pick<RowBatch, 'byteLength'>,
  bytesPerRow = 0,
): number {
  if (heldRows > 0) return Math.max(heldBytes - heldRows * bytesPerRow, heldBytes / 5);
  const lines = OF_LINES.includes(format) ? LINES_BYTES : 0;
  const texts = TEXT_BYTES + TEXT_BATCHES * byteLength + LONG_COPIES.once * longBytes(byteLength);
  return heldBytes + lines + (kind === 'text' ? texts : BATCHES * byteLength);
}

/** Bytes of another reading, of which a batch shows how large others are. */
export function againBytes({ byteLength }: Pick<RowBatch, 'byteLength'>): number {
  return AGAIN_BYTES + LONG_COPIES.again * longBytes(byteLength);
}

function longBytes(byteLength: number): number {
  return Math.max(0, byteLength - LONG_BYTES);
}

/** Whether a batch has a long text, which takes memory that the first rows do not show. */
export const isLong = ({ byteLength }: Pick<RowBatch, 'byteLength'>) => longBytes(byteLength) > 0;

/** Bytes of ids, as measured, by the first of them; rows that go by numbers need none. */
export function idBytes(rows: number, first: Ids | null): number {
  if (first === null || first.length === 0) return 0;
  if (!Array.isArray(first)) return rows * 60;
  const characters = first.reduce((sum, id) => sum + id.length, 0);
  return rows * (110 + (2 * characters) / first.length);
}
