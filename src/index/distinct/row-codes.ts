/** Codes of rows as files hold them: one after another, with the first row of each equal code. */

import { type DistinctCodes, NULL_ROW } from './distinct-codes';

/** For each row the first row of its code; null where that is always the row itself. */
export function firstsOf(distinctCodes: DistinctCodes, rows: Uint32Array): Uint32Array | null {
  if (!distinctCodes.hasDuplicates) return null;
  const firsts = rows.map((row) => {
    const distinct = distinctCodes.distinctOf(row);
    return distinct === NULL_ROW ? row : distinctCodes.rowOf(distinct);
  });
  return firsts.every((one, i) => one === rows[i]) ? null : firsts;
}

/**
 * Copies of the codes of some rows, one after another, and a bitmap of those that are not null
 * (null if all are not). The rows must be live.
 */
export function codesOf(
  distinctCodes: DistinctCodes,
  rows: Uint32Array,
): { codes: Uint8Array; validity: Uint8Array | null } {
  const { bytesPerCode } = distinctCodes;
  const codes = new Uint8Array(rows.length * bytesPerCode);
  let validity: Uint8Array | null = null;
  for (let i = 0; i < rows.length; ) {
    const distinct = distinctCodes.distinctOf(rows[i]);
    if (distinct === NULL_ROW) {
      validity ??= new Uint8Array(Math.ceil(rows.length / 8)).fill(0xff);
      validity[i >> 3] &= ~(1 << (i & 7));
      i++;
      continue;
    }
    // Rows in the order of their codes, as after `optimize`, are copied run by run.
    const part = distinctCodes.partAt(distinct);
    const most = Math.min(rows.length, i + part.end - distinct);
    let end = i + 1;
    while (end < most && distinctCodes.distinctOf(rows[end]) === distinct + end - i) end++;
    const from = (distinct - part.first) * bytesPerCode;
    const own = part.memory.codes.subarray(from, from + (end - i) * bytesPerCode);
    codes.set(own, i * bytesPerCode);
    i = end;
  }
  return { codes, validity };
}
