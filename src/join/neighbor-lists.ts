/**
 * For every row its k nearest others, by distance, then row. Exact: equal to a scan for each row.
 * Equal codes are compared once, so many equal rows cost no more than the lists that they get.
 */

import { checkK, checkOptions, wrongValue } from '../base/check';
import { asyncForm, LONG_CALL, type LongCall, type Steps, syncForm } from '../base/steps';
import { keyOf, rowOf, Smallest, weightOf } from '../base/top-k';
import type { KernelName } from '../kernels/kernels';
import { BestLists } from './best-lists';
import { findNearest, MAX_JOINED } from './nearest-join';
import {
  type Distinct,
  distinctAt,
  distinctOf,
  maxDistanceOf,
  NONE,
  type RowSource,
  rowsOf,
  sizesOf,
} from './source';

/** Options of `neighborLists`. */
export interface NeighborListsOptions extends LongCall {
  /** Number of neighbours of each row; fewer where there are fewer other rows. */
  k?: number;
  /** Largest distance in bits of a neighbour, inclusive. */
  maxDistance?: number;
  /** Instead of `maxDistance`: the distance that catches 99 % of the pairs at this cosine. */
  minCosine?: number;
  /** Instead of `maxDistance`: the distance that estimates this Jaccard similarity. */
  minJaccard?: number;
  kernel?: KernelName;
}

const NEIGHBOR_LISTS_DEFAULTS = { k: 10 } as const;

/**
 * The neighbours of row r, nearest first, lie at `offsets[r]` to `offsets[r + 1] - 1` of `rows` and
 * `distances`. A removed or null row has none, and is in no list.
 */
export interface NeighborLists {
  readonly k: number;
  /** Number of rows that lists were made for. */
  readonly count: number;
  readonly offsets: Uint32Array;
  readonly rows: Uint32Array;
  readonly distances: Uint16Array;
}

const OPTIONS = ['k', 'maxDistance', 'minCosine', 'minJaccard', 'kernel', ...LONG_CALL];

/**
 * Finds the `k` nearest other rows of every row, by distance, then row.
 *
 * @example
 * const codes = new SimHasher({ bits: 64 }).hashAll([[1, 0], [0.9, 0.1], [0, 1]]);
 * const { offsets, rows } = neighborLists(codes, { k: 1 });
 * console.log(rows.subarray(offsets[0], offsets[1])); // Uint32Array(1) [ 1 ]
 */
export const neighborLists = /* @__PURE__ */ syncForm(listing);
/**
 * `neighborLists` with pauses for the event loop.
 *
 * @example
 * const codes = new SimHasher({ bits: 64 }).hashAll([[1, 0], [0.9, 0.1], [0, 1]]);
 * const { distances } = await neighborListsAsync(codes, { k: 1 });
 * console.log(distances); // Uint16Array(3) [ 0, 0, 32 ]
 */
export const neighborListsAsync = /* @__PURE__ */ asyncForm(listing);

/** The work of both functions above. */
function* listing(source: RowSource, options?: NeighborListsOptions): Steps<NeighborLists> {
  const given = checkOptions('options', options, OPTIONS);
  const rows = rowsOf('source', source);
  const k = checkK(given.k ?? NEIGHBOR_LISTS_DEFAULTS.k);
  // Without vectors, since no pair is checked: `minJaccard` is then the distance that estimates it.
  const maxDistance = maxDistanceOf({ ...rows, vectors: null }, given) ?? rows.codes.bits;
  const kernel = given.kernel ?? rows.kernel;
  const codes = yield* distinctOf(rows.codes, null, MAX_JOINED, kernel);
  const found = new BestLists(wantsOf(codes, k), maxDistance);
  yield* findNearest(codes, found, maxDistance, kernel);
  return yield* ofRows(codes, found, k);
}

/** Distinct codes or rows between two steps. */
const STEP_ROWS = 2 ** 12;
/** Most rows of all lists together, since offsets have 32 bits. */
const MAX_NEIGHBORS = 2 ** 32 - 1;

/** How many other codes the list of each distinct code needs: fewer if it has equal rows. */
export function wantsOf(codes: Distinct, k: number): Uint32Array {
  const most = Math.min(k, codes.count - 1);
  return sizesOf(codes).map((size) => Math.max(0, Math.min(most, k + 1 - size)));
}

/** Expands lists of near distinct codes to lists of near rows. */
export function* ofRows(codes: Distinct, found: BestLists, k: number): Steps<NeighborLists> {
  const { left } = codes;
  const rowCount = left.end;
  const sizes = sizesOf(codes);
  // All rows of a code have lists of one length: its other rows, and the rows of near codes.
  const lengths = new Uint32Array(codes.count);
  for (let distinct = 0; distinct < codes.count; distinct++) {
    let length = sizes[distinct] - 1;
    for (const key of found.inOrder(distinct)) length += sizes[rowOf(key)];
    lengths[distinct] = Math.min(k, length);
    if (distinct % STEP_ROWS === STEP_ROWS - 1) yield undefined;
  }
  const offsets = new Uint32Array(rowCount + 1);
  let total = 0;
  for (let row = 0; row < rowCount; row++) {
    const distinct = distinctAt(codes, row);
    if (distinct !== NONE) total += lengths[distinct];
    offsets[row + 1] = total;
  }
  if (total > MAX_NEIGHBORS) throw wrongValue('k', 'lists that have below 2^32 rows in all', k);
  const rows = new Uint32Array(total);
  const distances = new Uint16Array(rows.length);
  let written = 0;
  for (let distinct = 0; distinct < codes.count; distinct++) {
    const near = nearOf(codes, found, distinct, k + 1);
    for (let row = left.firstOf(distinct); row !== NONE; row = left.nextOf(row)) {
      let at = offsets[row];
      for (const key of near) {
        if (at === offsets[row + 1]) break;
        if (rowOf(key) === row) continue;
        rows[at] = rowOf(key);
        distances[at++] = weightOf(key);
      }
      if (++written % STEP_ROWS === 0) yield undefined;
    }
  }
  return { k, count: rowCount, offsets, rows, distances };
}

/** The nearest rows to a distinct code, its own included, as keys of (distance, row). */
function nearOf(
  { distinctOfRow, left }: Distinct,
  found: BestLists,
  distinct: number,
  want: number,
) {
  const distincts = found.inOrder(distinct);
  if (distinctOfRow === null) return distincts; // distinct code i is row i
  const near = new Smallest(want);
  // Rows of a code ascend, so the first that cannot enter ends the code.
  for (const key of [keyOf(0, distinct), ...distincts]) {
    const distance = weightOf(key);
    for (let row = left.firstOf(rowOf(key)); row !== NONE; row = left.nextOf(row)) {
      if (keyOf(distance, row) >= near.bound) break;
      near.take(distance, row);
    }
  }
  return near.result();
}
