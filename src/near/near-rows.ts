/**
 * Which rows have another row near them, by keys that near rows share (src/hashing/min-bands.ts):
 * rows are sorted by each key in turn, and codes with equal keys are compared. Linear in the rows
 * where few rows share keys that are not near. Pairs are not listed: a row that is known to be near
 * another needs no more comparisons, so large groups of near rows cost little.
 */

import type { LongWork } from '../base/long-work';
import type { Codes } from '../codes/codes';
import { distance } from '../kernels/hamming';

/** Keys of rows: `count` for each row, one row after another. */
interface RowKeys {
  readonly keys: Uint32Array;
  readonly count: number;
}

/** Bits of a digit of the radix sort: three digits cover 32 bits. */
const DIGIT_BITS = 11;
const DIGIT_MASK = 0x7ff;
/** Comparisons between two steps. */
const STEP_COMPARISONS = 2 ** 18;
/** Comparisons that are always allowed, and the share of all pairs that is allowed beyond. */
const FEW_COMPARISONS = 2 ** 22;
const MAX_SHARE = 1 / 64;

/**
 * Flags (1) the rows that share a key with a row within a distance. Null if too many rows share
 * keys without being near: a join of the codes then costs less. Null rows are near to none.
 */
export async function nearRows(
  codes: Codes,
  { keys, count }: RowKeys,
  maxDistance: number,
  work: LongWork,
): Promise<Uint8Array | null> {
  const rows = codes.count;
  const isNear = new Uint8Array(rows);
  // Beyond this many comparisons the keys do not separate rows, and the caller should join.
  const most = Math.max(FEW_COMPARISONS, MAX_SHARE * ((rows * (rows - 1)) / 2));
  let left = most;
  let budget = STEP_COMPARISONS;
  const own = new Uint32Array(rows);
  const order = new Uint32Array(rows);
  const spare = new Uint32Array(rows);
  for (let band = 0; band < count; band++) {
    for (let row = 0; row < rows; row++) own[row] = keys[row * count + band];
    sortBy(own, order, spare);
    await work.step(band, count);
    for (let from = 0, to = 0; from < rows; from = to) {
      for (to = from + 1; to < rows && own[order[to]] === own[order[from]]; ) to++;
      for (let i = from; i < to && to > from + 1; i++) {
        const made = compare(codes, order.subarray(from, to), i - from, maxDistance, isNear);
        left -= made;
        budget -= made;
        if (left < 0) return null;
        if (budget > 0) continue;
        await work.step(band, count);
        budget = STEP_COMPARISONS;
      }
    }
  }
  return isNear;
}

/**
 * Compares a row with the others up to the first near one, unless it is flagged; returns the number
 * of comparisons. Earlier unflagged rows are skipped: they were compared with all others.
 */
function compare(
  codes: Codes,
  rows: Uint32Array,
  at: number,
  maxDistance: number,
  isNear: Uint8Array,
): number {
  const { bytes, bytesPerCode } = codes;
  const row = rows[at];
  if (isNear[row] === 1 || codes.isNull(row)) return 0;
  const code = bytes.subarray(row * bytesPerCode, (row + 1) * bytesPerCode);
  let made = 0;
  for (let i = 0; i < rows.length; i++) {
    const other = rows[i];
    if (i === at || (i < at && isNear[other] === 0) || codes.isNull(other)) continue;
    made++;
    if (distance(code, bytes, other * bytesPerCode) > maxDistance) continue;
    isNear[row] = isNear[other] = 1;
    break;
  }
  return made;
}

/** Writes the rows to `order`, sorted by key, equal keys by row (radix sort). */
function sortBy(keys: Uint32Array, order: Uint32Array, spare: Uint32Array): void {
  const counts = new Uint32Array(2 ** DIGIT_BITS);
  let [from, to] = [spare, order];
  for (let row = 0; row < keys.length; row++) from[row] = row;
  for (let shift = 0; shift < 32; shift += DIGIT_BITS) {
    counts.fill(0);
    for (let row = 0; row < keys.length; row++) counts[digitOf(keys[row], shift)]++;
    let sum = 0;
    for (let digit = 0; digit < counts.length; digit++) {
      sum += counts[digit];
      counts[digit] = sum - counts[digit];
    }
    for (let i = 0; i < from.length; i++) to[counts[digitOf(keys[from[i]], shift)]++] = from[i];
    [from, to] = [to, from];
  }
  // After three passes, an odd number, the result is in `order`.
}

function digitOf(key: number, shift: number): number {
  return (key >>> shift) & DIGIT_MASK;
}
