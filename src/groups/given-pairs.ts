/**
 * Near pairs that come from elsewhere: a file, another program, an earlier join. They may be in any
 * order, with either row first, and repeated. If they are all pairs that a join finds, groups of
 * them equal those of the join.
 */

import { toStarts } from '../base/arrays';
import { checkAttached, wrongType, wrongValue } from '../base/check';
import { Item, type Stream } from '../base/steps';
import type { Codes } from '../codes/codes';
import type { PairBatch } from '../join/pairs';

/** Pair i is row `a[i]` with row `b[i]`. */
export interface RowPairs {
  readonly a: Uint32Array;
  readonly b: Uint32Array;
}

/** Pairs of a batch, unless one row has more; and pairs between two steps. */
const BATCH = 2 ** 16;

/** Throws unless each is a pair of two different rows that have codes. */
export function checkPairs(pairs: RowPairs, codes: Codes): void {
  for (const field of ['a', 'b'] as const) {
    const rows: unknown = pairs?.[field];
    if (!(rows instanceof Uint32Array)) throw wrongType(`pairs.${field}`, 'a Uint32Array', rows);
    checkAttached(`pairs.${field}`, rows);
    const isOther = (row: number) => row >= codes.count || codes.isNull(row);
    const at = rows.findIndex(isOther);
    if (at < 0) continue;
    throw wrongValue(`pairs.${field}[${at}]`, `a row of ${codes.count} with a code`, rows[at]);
  }
  const { a, b } = pairs;
  if (a.length !== b.length) throw wrongValue('pairs.b', `${a.length} rows, as "a"`, b.length);
  const same = a.findIndex((row, i) => row === b[i]);
  if (same >= 0) throw wrongValue(`pairs.b[${same}]`, 'another row than that of "a"', b[same]);
}

/**
 * The pairs as positions in `order`, which must contain all of their rows: each pair once, lower
 * position first, ascending. Distances are unknown, and 0.
 */
export function* givenPairs({ a, b }: RowPairs, order: Uint32Array): Stream<PairBatch> {
  const places = new Uint32Array(order.reduce((most, row) => Math.max(most, row), 0) + 1);
  order.forEach((row, place) => {
    places[row] = place;
  });
  const starts = new Uint32Array(order.length + 1);
  for (let i = 0; i < a.length; i++) starts[Math.min(places[a[i]], places[b[i]])]++;
  yield undefined;
  toStarts(starts);
  const next = starts.slice();
  const seconds = new Uint32Array(a.length);
  for (let i = 0; i < a.length; i++) {
    if (i % BATCH === 0) yield undefined;
    const [one, other] = [places[a[i]], places[b[i]]];
    seconds[next[Math.min(one, other)]++] = Math.max(one, other);
  }
  for (let place = 0, end = 0; place < order.length; place = end) {
    const from = starts[place];
    // A batch ends between two rows, since a row's pairs are sorted together.
    for (end = place + 1; end < order.length && starts[end + 1] - from <= BATCH; ) end++;
    const found = seconds.subarray(from, starts[end]);
    const firsts = new Uint32Array(found.length);
    for (let first = place; first < end; first++) {
      seconds.subarray(starts[first], starts[first + 1]).sort();
      firsts.fill(first, starts[first] - from, starts[first + 1] - from);
    }
    const isNew = (_: number, i: number) =>
      found[i] !== found[i - 1] || firsts[i] !== firsts[i - 1];
    const [own, others] = [firsts.filter(isNew), found.filter(isNew)];
    const distances = new Uint16Array(own.length);
    yield new Item({ a: own, b: others, distances, cosines: null, jaccards: null });
  }
}
