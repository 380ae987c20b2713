/** The codes of rows as files hold them, and which rows share the code of an earlier one. */

import { type DistinctCodes, NULL_ROW } from './distinct-codes';

/** The first row with the code of each of some rows; null where that is always the row itself. */
export function firstsOf(distinctCodes: DistinctCodes, rows: Uint32Array): Uint32Array | null {
  if (!distinctCodes.hasDuplicates) return null;
  const firsts = rows.map((row) => {
    const distinct = distinctCodes.distinctOf(row);
    return distinct === NULL_ROW ? row : distinctCodes.rowOf(distinct);
  });
  return firsts.every((one, i) => one === rows[i]) ? null : firsts;
}

/** The codes of some rows one after another, and which are not null; null where all are there. */
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
