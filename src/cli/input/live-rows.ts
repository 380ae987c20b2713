/** The numbers of an index's rows that are there, ascending. */

import type { SimHashIndex } from '../../node';

export function liveRows(index: SimHashIndex): Uint32Array {
  const rows = new Uint32Array(index.count);
  for (let row = 0, count = 0; count < rows.length; row++) {
    if (index.idOf(row) !== undefined) rows[count++] = row;
  }
  return rows;
}
