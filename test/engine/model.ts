/**
 * What an index answers, by brute force: a list of rows, compared one by one. Every engine, place of
 * the bytes and number of segments must agree with it wherever a search misses nothing.
 */

import { lengthOf } from '../../src/base/length';

export interface ModelRow {
  readonly id: string;
  readonly vector: readonly number[];
}

/** Rows by their number; removed ones are undefined. Rows are never numbered again. */
export class Model {
  readonly rows: (ModelRow | undefined)[] = [];

  add(row: ModelRow): void {
    this.rows.push(row);
  }

  remove(row: number): void {
    this.rows[row] = undefined;
  }

  get live(): number[] {
    return this.rows.flatMap((row, number) => (row === undefined ? [] : [number]));
  }

  rowOf(id: string): number | undefined {
    const found = this.rows.findIndex((row) => row?.id === id);
    return found < 0 ? undefined : found;
  }

  /** The k rows of the highest cosines, of equal ones the lower rows. */
  nearest(query: readonly number[], k: number, accepts = (_row: number) => true): number[] {
    const cosines = this.rows.map((row) => cosine(row?.vector ?? [], query));
    return this.live
      .filter(accepts)
      .sort((a, b) => cosines[b] - cosines[a] || a - b)
      .slice(0, k);
  }
}

/** In the order of operations of the exact scan: the query at length 1, rows by their length. */
function cosine(vector: readonly number[], query: readonly number[]): number {
  const [length, queryLength] = [lengthOf(vector), lengthOf(query)];
  if (length === 0) return 0;
  let sum = 0;
  for (const [i, value] of vector.entries()) sum += value * (query[i] / queryLength);
  return Math.max(-1, Math.min(1, sum / length));
}
