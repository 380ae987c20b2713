/**
 * The shape of a group: its largest distance, and its medoid. Both compare all pairs of rows, or a
 * sample of them where the group is very large.
 */

import type { Codes } from '../codes/codes';
import { distance } from '../kernels/hamming/hamming.scalar';

/** Largest group whose codes are all compared with each other: in codes, and in bytes read. */
const MAX_COMPARED = 1024;
const MAX_BYTES = 2 ** 23;
/** In larger groups: sweeps from a farthest row to the next, and rows a medoid is compared with. */
const SWEEPS = 4;
const MIN_REFERENCES = 16;

/** The largest distance within a group; a lower bound when `isExact` is false. */
export function widestOf(
  codes: Codes,
  rows: ArrayLike<number>,
): [widest: number, isExact: boolean] {
  const all = distinctRows(codes, rows);
  let widest = 0;
  if (isSmall(codes, all.length)) {
    for (let i = 1; i < all.length; i++) {
      const code = codeAt(codes, all[i]);
      for (let j = 0; j < i; j++) widest = Math.max(widest, distanceTo(codes, code, all[j]));
    }
    return [widest, true];
  }
  let from = all[0];
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const code = codeAt(codes, from);
    for (const row of all) {
      const here = distanceTo(codes, code, row);
      if (here <= widest) continue;
      widest = here;
      from = row;
    }
  }
  return [widest, false];
}

/** The row whose distances to all rows of its group are least in sum; of equals the first. */
export function medoidOf(codes: Codes, rows: ArrayLike<number>): number {
  const references = Math.max(
    MIN_REFERENCES,
    Math.floor(MAX_BYTES / (rows.length * codes.bytesPerCode)),
  );
  const step = isSmall(codes, rows.length) ? 1 : Math.ceil(rows.length / references);
  let best = rows[0];
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < rows.length; i++) {
    const code = codeAt(codes, rows[i]);
    let sum = 0;
    for (let j = 0; j < rows.length && sum < least; j += step) {
      sum += distanceTo(codes, code, rows[j]);
    }
    if (sum >= least) continue;
    least = sum;
    best = rows[i];
  }
  return best;
}

function isSmall({ bytesPerCode }: Codes, count: number): boolean {
  return count <= MAX_COMPARED && (count * count * bytesPerCode) / 2 <= MAX_BYTES;
}

function codeAt({ bytes, bytesPerCode }: Codes, row: number): Uint8Array {
  return bytes.subarray(row * bytesPerCode, (row + 1) * bytesPerCode);
}

function distanceTo({ bytes, bytesPerCode }: Codes, code: Uint8Array, row: number): number {
  return distance(code, bytes, row * bytesPerCode);
}

/** One row a code. */
function distinctRows(codes: Codes, rows: ArrayLike<number>): number[] {
  const seen = new Map<string, number>();
  for (let i = 0; i < rows.length; i++) {
    const key = String.fromCharCode(...codeAt(codes, rows[i]).subarray(0, 4096));
    const rest = codes.bytesPerCode > 4096 ? codeAt(codes, rows[i]).subarray(4096).join() : '';
    if (!seen.has(key + rest)) seen.set(key + rest, rows[i]);
  }
  return [...seen.values()];
}
