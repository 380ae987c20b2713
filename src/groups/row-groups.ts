/**
 * Groups of rows that belong together: by chains, around one row, or all near to all. Each group
 * states how wide it is, since chains join what is far apart.
 */

import { checkOneOf, checkOptions } from '../base/check';
import { asyncForm, eachItem, LONG_CALL, type LongCall, type Steps, syncForm } from '../base/steps';
import { distinctAt, distinctOf, NONE, sizesOf } from '../join/distinct';
import { pairSteps } from '../join/pairs';
import { type Nearness, presentRows, type RowSource, type Rows, rowsOf } from '../join/source';
import type { KernelName } from '../kernels/kernels';
import { medoidOf, widestOf } from './group-shape';
import { GROUPINGS, type Grouping, headsOf } from './grouping';
import { type Keep, keepName, orderBy } from './keep';

export interface GroupOptions extends LongCall {
  /** Most differing bits, inclusive. With `minCosine` it may be left out. */
  maxDistance?: number;
  /** Least exact cosine, inclusive; needs an index with vectors. */
  minCosine?: number;
  /** Share of the pairs at `minCosine` that a distance taken from it catches. */
  share?: number;
  /**
   * 'star': rows near to one that stands for them; 'components': rows joined by a chain of pairs;
   * 'complete': rows that are all near to each other.
   */
  grouping?: Grouping;
  /** Which row of a group is kept. */
  keep?: Keep;
  kernel?: KernelName;
}

export const GROUP_DEFAULTS = { grouping: 'star', keep: 'first' } as const;

/** A group of two rows or more. */
export interface RowGroup {
  /** Its least row. */
  readonly name: number;
  /** Its rows, ascending. */
  readonly rows: Uint32Array;
  /** The row that is kept. */
  readonly keeper: number;
  /** The largest distance of two of its rows; of a very large group at least that. */
  readonly widest: number;
  readonly isWidestExact: boolean;
}

export interface RowGroups {
  readonly grouping: Grouping;
  /** Number of rows, null and removed ones included. */
  readonly count: number;
  /** By row the name of its group, a row alone being its own; 0xffffffff for a null row. */
  readonly groupOf: Uint32Array;
  /** Groups of two rows or more, by name. */
  readonly groups: readonly RowGroup[];
}

export const GROUP_OPTIONS = [
  ...['maxDistance', 'minCosine', 'share', 'grouping', 'keep', 'kernel'],
  ...LONG_CALL,
];

/** Rows between two steps. */
const STEP_ROWS = 2 ** 15;

/**
 * Groups rows that are near to each other. Rows in no pair are in no group.
 *
 * @example
 * const codes = new SimHasher({ bits: 64 }).hashAll([[1, 0], [0.9, 0.1], [0, 1]]);
 * const { groups } = groupRows(codes, { maxDistance: 10 });
 * console.log(groups.length, groups[0].rows); // 1 Uint32Array(2) [ 0, 1 ]
 */
export const groupRows = /* @__PURE__ */ syncForm(grouping);
/**
 * `groupRows` with pauses for the event loop.
 *
 * @example
 * const codes = new SimHasher({ bits: 64 }).hashAll([[1, 0], [0.9, 0.1], [0, 1]]);
 * const { groupOf } = await groupRowsAsync(codes, { maxDistance: 10, grouping: 'components' });
 * console.log(groupOf); // Uint32Array(3) [ 0, 0, 2 ]
 */
export const groupRowsAsync = /* @__PURE__ */ asyncForm(grouping);

function grouping(source: RowSource, options: GroupOptions): Steps<RowGroups> {
  return groupSteps(rowsOf('source', source), options);
}

/** The same work for rows that are read already. */
export function* groupSteps(rows: Rows, options: GroupOptions): Steps<RowGroups> {
  const given = { ...GROUP_DEFAULTS, ...checkOptions('options', options, GROUP_OPTIONS) };
  const { codes } = rows;
  const grouping = checkOneOf('grouping', given.grouping, GROUPINGS);
  const kind = keepName(given.keep, codes.count);
  const near: Nearness = nearnessOf(given);
  const present = presentRows(rows);
  const keep = given.keep === 'medoid' ? 'first' : given.keep;
  const order =
    given.keep === 'medoid' && grouping === 'star'
      ? yield* byDegree(rows, present, near)
      : orderBy(keep, present);
  const heads = yield* headsOf(grouping, rows, order, near);
  const members = new Map<number, number[]>();
  for (let place = 0; place < order.length; place++) {
    const group = members.get(heads[place]);
    if (group === undefined) members.set(heads[place], [order[place]]);
    else group.push(order[place]);
    if (place % STEP_ROWS === STEP_ROWS - 1) yield undefined;
  }
  const groupOf = new Uint32Array(codes.count).fill(NONE);
  const groups: RowGroup[] = [];
  let done = 0;
  for (const group of members.values()) {
    const [first] = group; // the first in the order of `keep`
    const sorted = Uint32Array.from(group).sort();
    for (const row of sorted) groupOf[row] = sorted[0];
    if (++done % STEP_ROWS === 0) yield undefined;
    if (sorted.length === 1) continue;
    const [widest, isWidestExact] = widestOf(codes, sorted);
    const isMedoid = kind === 'medoid' && grouping !== 'star';
    const keeper = isMedoid ? medoidOf(codes, sorted) : first;
    groups.push({ name: sorted[0], rows: sorted, keeper, widest, isWidestExact });
    yield undefined;
  }
  groups.sort((a, b) => a.name - b.name);
  return { grouping, count: codes.count, groupOf, groups };
}

/** The options that say which rows are near. */
export function nearnessOf({ maxDistance, minCosine, share, kernel }: GroupOptions) {
  return { maxDistance, minCosine, share, kernel };
}

/** Rows with many near ones first: stars around them are large. */
function* byDegree(rows: Rows, present: Uint32Array, near: Nearness): Steps<Uint32Array> {
  const { codes, kernel } = rows;
  const all = yield* distinctOf(codes, null, 0, kernel);
  const sizes = sizesOf(all);
  const sizeOf = (row: number) => sizes[distinctAt(all, row)];
  const isByCosine = near.minCosine !== undefined;
  const degrees = new Float64Array(codes.count);
  const found = pairSteps(rows, null, { ...near, equal: isByCosine ? 'all' : 'first' });
  yield* eachItem(found, ({ a, b, distances }) => {
    for (let i = 0; i < a.length; i++) {
      if (isByCosine) {
        degrees[a[i]]++;
        degrees[b[i]]++;
      } else if (distances[i] > 0) {
        degrees[a[i]] += sizeOf(b[i]);
        degrees[b[i]] += sizeOf(a[i]);
      }
    }
  });
  const firsts = new Map<number, number>();
  for (const row of present) {
    const distinct = distinctAt(all, row);
    const first = firsts.get(distinct);
    if (first === undefined) {
      firsts.set(distinct, row);
      if (!isByCosine) degrees[row] += sizes[distinct];
    } else if (!isByCosine) degrees[row] = degrees[first];
  }
  return present.slice().sort((a, b) => degrees[b] - degrees[a] || a - b);
}
