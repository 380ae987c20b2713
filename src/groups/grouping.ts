/**
 * Groups rows by near pairs. 'components': all rows that a chain of pairs connects, whose ends may
 * be far apart. 'star': each row with the first row in order that is near to it and in no other
 * star. 'complete': rows that are all near to each other, each row in the first such group. All go
 * through the rows in a given order, so the result does not depend on how pairs were found. The
 * width and the medoid of a group come from all pairs of its rows, or a sample of very many.
 */

import { ascending, keyOfBytes, toStarts } from '../base/arrays';
import { sortedInSteps } from '../base/sort-steps';
import { eachItem, type Steps, type Stream } from '../base/steps';
import { UnionFind } from '../base/union-find';
import type { Codes } from '../codes/codes';
import { groupedCodes } from '../join/pair-filter';
import { type PairBatch, pairSteps } from '../join/pairs';
import {
  distinctAt,
  distinctOf,
  isVerified,
  type Nearness,
  NONE,
  presentRows,
  type Rows,
  reorderedInSteps,
  sizesOf,
} from '../join/source';
import { distance } from '../kernels/hamming/hamming.scalar';
import { givenPairs, type RowPairs } from './given-pairs';
import { type Keep, orderBy } from './keep';

/** How near pairs become groups. */
export const GROUPINGS = ['star', 'components', 'complete'] as const;
export type Grouping = (typeof GROUPINGS)[number];

/** Checked options of a grouping. */
export interface GroupRequest {
  readonly grouping: Grouping;
  readonly keep: Keep;
  readonly near: GroupNearness;
}

/** Which rows are near, and the value of each row within which it is grouped; or the near pairs. */
type GroupNearness = Nearness & {
  readonly group?: Int32Array | undefined;
  readonly pairs?: RowPairs | undefined;
};

/** The rows of a group, ascending, and the one that is kept. */
interface GatheredRows {
  readonly rows: Uint32Array;
  readonly kept: number;
}

/** Rows between two steps; fewer where each is looked up by a key. */
const STEP_ROWS = 2 ** 15;
const KEYED_ROWS = 2 ** 12;

/**
 * The rows that are not null, in the order of preference. For medoids of stars, rows with many near
 * rows come first, so that the stars around them are large.
 */
export function* preferred(rows: Rows, request: GroupRequest): Steps<Uint32Array> {
  const present = presentRows(rows);
  if (request.keep !== 'medoid') return yield* orderBy(request.keep, present);
  return request.grouping === 'star' ? yield* byDegree(rows, present, request.near) : present;
}

/**
 * The groups of two or more rows of `order`. The first row in order is kept, or, of groups other
 * than stars, the medoid.
 */
export function* gather(
  rows: Rows,
  order: Uint32Array,
  { grouping, keep, near }: GroupRequest,
): Steps<GatheredRows[]> {
  const heads = yield* headsOf(grouping, rows, order, near);
  const { starts, members } = yield* sortedByHead(order, heads);
  const isMedoid = keep === 'medoid' && grouping !== 'star';
  const groups: GatheredRows[] = [];
  for (let i = 0; i < order.length; i++) {
    if (i % STEP_ROWS === STEP_ROWS - 1) yield undefined;
    const [from, to] = [starts[heads[i]], starts[heads[i] + 1]];
    if (to - from < 2 || members[from] !== order[i]) continue;
    const sorted = members.slice(from, to).sort();
    groups.push({ rows: sorted, kept: isMedoid ? medoidOf(rows.codes, sorted) : order[i] });
    if (isMedoid) yield undefined;
  }
  return groups;
}

/** Rows by head, in order: those of head h are `members[starts[h]]` up to `starts[h + 1] - 1`. */
function* sortedByHead(
  order: Uint32Array,
  heads: Uint32Array,
): Steps<{ starts: Uint32Array; members: Uint32Array }> {
  const starts = new Uint32Array(order.length + 1);
  for (let i = 0; i < heads.length; i++) {
    starts[heads[i]]++;
    if (i % STEP_ROWS === STEP_ROWS - 1) yield undefined;
  }
  toStarts(starts);
  const next = starts.slice();
  const members = new Uint32Array(order.length);
  for (let i = 0; i < order.length; i++) {
    members[next[heads[i]]++] = order[i];
    if (i % STEP_ROWS === STEP_ROWS - 1) yield undefined;
  }
  return { starts, members };
}

/** For each position of `order` the position of the head of its group. */
function* headsOf(
  grouping: Grouping,
  rows: Rows,
  order: Uint32Array,
  near: GroupNearness,
): Steps<Uint32Array> {
  const isExact = isEach(rows, near);
  if (isExact && near.pairs === undefined) {
    // Rows of equal code and vector join the group of the first of them, and are not compared.
    const first = yield* firstAlike(rows, order, near.group);
    const places = first.filter((place, i) => place === i);
    if (places.length < order.length) {
      const different = places.map((place) => order[place]);
      const heads = yield* headsOf(grouping, rows, different, near);
      const headOf = new Uint32Array(order.length);
      for (const [i, place] of places.entries()) headOf[place] = places[heads[i]];
      return first.map((place) => headOf[place]);
    }
  }
  const found = pairsOf(rows, order, near);
  if (grouping === 'components') return yield* components(found, order.length);
  if (grouping === 'star') return yield* stars(found, order.length, isExact);
  return yield* cliques(found, order.length, isExact);
}

/** True if pairs of equal codes come like all others; else only the first of these is paired. */
function isEach(rows: Rows, near: GroupNearness): boolean {
  return near.pairs !== undefined || isVerified(rows, near);
}

/** The near pairs as positions in the order, a < b, ascending. */
function* pairsOf(rows: Rows, order: Uint32Array, near: GroupNearness): Stream<PairBatch> {
  const { pairs, ...options } = near;
  if (pairs !== undefined) return yield* givenPairs(pairs, order);
  const group = near.group && Int32Array.from(order, (row) => (near.group as Int32Array)[row]);
  yield* pairSteps(yield* reorderedInSteps(rows, order), null, {
    ...options,
    equal: isEach(rows, near) ? 'all' : 'first',
    ...(group && { group }),
  });
}

/** For each position the first position whose row has the same code, vector and group. */
function* firstAlike(rows: Rows, order: Uint32Array, group?: Int32Array): Steps<Uint32Array> {
  const { codes, vectors } = rows;
  const first = ascending(order.length);
  const known = new Map<string, number[]>();
  for (let i = 0; i < order.length; i++) {
    if (i % KEYED_ROWS === KEYED_ROWS - 1) yield undefined;
    if (group !== undefined && group[order[i]] < 0) continue;
    const key = keyOfBytes(codeAt(codes, order[i])) + (group?.[order[i]] ?? '');
    const alike = known.get(key);
    const same = alike?.find((place) => vectors?.areEqual(order[place], order[i]));
    if (same !== undefined) first[i] = same;
    else if (alike === undefined) known.set(key, [i]);
    else alike.push(i);
  }
  return first;
}

/** Heads by union-find over all pairs. */
function* components(found: Stream<PairBatch>, count: number): Steps<Uint32Array> {
  const sets = new UnionFind(count);
  yield* eachItem(found, ({ a, b }) => {
    for (let i = 0; i < a.length; i++) sets.union(a[i], b[i]);
  });
  return yield* sets.all();
}

/** Heads of stars. Pairs ascend, so when those of a row come, it is known whether it is a head. */
function* stars(found: Stream<PairBatch>, count: number, isExact: boolean): Steps<Uint32Array> {
  const heads = new Uint32Array(count).fill(NONE);
  yield* eachItem(found, ({ a: firsts, b: seconds, distances }) => {
    for (let i = 0; i < firsts.length; i++) {
      const [a, b] = [firsts[i], seconds[i]];
      if (heads[a] === NONE) heads[a] = a;
      if (heads[b] !== NONE) continue;
      // Equal rows are paired only with the first of them, so they join what it joined.
      if (heads[a] === a) heads[b] = a;
      else if (distances[i] === 0 && !isExact) heads[b] = heads[a];
    }
  });
  for (let i = 0; i < count; i++) {
    if (heads[i] === NONE) heads[i] = i;
    if (i % STEP_ROWS === STEP_ROWS - 1) yield undefined;
  }
  return heads;
}

/**
 * Heads of complete groups: sorts the pairs by their second row and, row by row, looks for the
 * first group of which all rows are near to it, by counting the near rows of each group.
 */
function* cliques(found: Stream<PairBatch>, count: number, isExact: boolean): Steps<Uint32Array> {
  const firsts: Uint32Array[] = [];
  const seconds: Uint32Array[] = [];
  const equals: [first: number, equal: number][] = [];
  const starts = new Uint32Array(count + 1);
  yield* eachItem(found, ({ a, b, distances }) => {
    const isNear = (_: number, i: number) => isExact || distances[i] > 0;
    firsts.push(a.filter(isNear));
    seconds.push(b.filter(isNear));
    for (let i = 0; i < a.length; i++) {
      if (isNear(0, i)) starts[b[i]]++;
      else equals.push([a[i], b[i]]);
    }
  });
  const near = new Uint32Array(toStarts(starts));
  const next = starts.slice();
  for (const [batch, a] of firsts.entries()) {
    const b = seconds[batch];
    for (let i = 0; i < a.length; i++) near[next[b[i]]++] = a[i];
    yield undefined;
  }
  const heads = ascending(count);
  for (const [first, equal] of equals) heads[equal] = first; // until the head of `first` is known
  const sizes = new Uint32Array(count).fill(1);
  const met = new Map<number, number>();
  for (let row = 0; row < count; row++) {
    if (row % STEP_ROWS === STEP_ROWS - 1) yield undefined;
    if (heads[row] !== row) {
      heads[row] = heads[heads[row]];
      continue;
    }
    met.clear();
    for (let i = starts[row]; i < starts[row + 1]; i++) {
      const head = heads[near[i]];
      met.set(head, (met.get(head) ?? 0) + 1);
    }
    let head = row;
    for (const [other, count] of met) if (count === sizes[other] && other < head) head = other;
    heads[row] = head;
    if (head !== row) sizes[head]++;
  }
  return heads;
}

/** The rows by number of near rows, highest first. */
function* byDegree(rows: Rows, present: Uint32Array, near: GroupNearness): Steps<Uint32Array> {
  const { kernel } = rows;
  // Rows of equal codes in different groups are not near, so groups must be part of the code.
  const codes = near.group === undefined ? rows.codes : groupedCodes(rows.codes, near.group);
  const all = yield* distinctOf(codes, null, 0, kernel);
  const sizes = sizesOf(all);
  const sizeOf = (row: number) => sizes[distinctAt(all, row)];
  const isExact = isEach(rows, near);
  const degrees = new Float64Array(codes.count);
  yield* eachItem(pairsOf(rows, present, near), ({ a: firsts, b: seconds, distances }) => {
    for (let i = 0; i < firsts.length; i++) {
      const [a, b] = [present[firsts[i]], present[seconds[i]]];
      if (isExact) {
        degrees[a]++;
        degrees[b]++;
      } else if (distances[i] > 0) {
        degrees[a] += sizeOf(b);
        degrees[b] += sizeOf(a);
      }
    }
  });
  for (let i = 0; i < present.length && !isExact; i++) {
    if (i % STEP_ROWS === STEP_ROWS - 1) yield undefined;
    const row = present[i];
    const distinct = distinctAt(all, row);
    if (distinct === NONE) continue; // in no group, so near to none
    const first = all.left.firstOf(distinct);
    degrees[row] = first === row ? degrees[row] + sizes[distinct] : degrees[first];
  }
  return yield* sortedInSteps(present, (a, b) => degrees[b] - degrees[a] || a - b);
}

/** Largest group in which all codes are compared with all: in codes, and in bytes to read. */
const MAX_COMPARED = 1024;
const MAX_BYTES = 2 ** 23;
/**
 * In larger groups: how often the width is searched from the farthest row so far, and the fewest
 * rows that each candidate for the medoid is compared with.
 */
const SWEEPS = 4;
const MIN_REFERENCES = 16;

/** The largest distance within a group, in bits; a lower bound if `isExact` is false. */
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

/** The first row of the lowest sum of distances to the rows of its group, or a sample of them. */
function medoidOf(codes: Codes, rows: ArrayLike<number>): number {
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

/** True if all codes of a group of `count` rows can be compared with each other. */
function isSmall({ bytesPerCode }: Codes, count: number): boolean {
  return count <= MAX_COMPARED && (count * count * bytesPerCode) / 2 <= MAX_BYTES;
}

function codeAt({ bytes, bytesPerCode }: Codes, row: number): Uint8Array {
  return bytes.subarray(row * bytesPerCode, (row + 1) * bytesPerCode);
}

function distanceTo({ bytes, bytesPerCode }: Codes, code: Uint8Array, row: number): number {
  return distance(code, bytes, row * bytesPerCode);
}

/** The first row of each distinct code. */
function distinctRows(codes: Codes, rows: ArrayLike<number>): number[] {
  const seen = new Map<string, number>();
  for (let i = 0; i < rows.length; i++) {
    const key = keyOfBytes(codeAt(codes, rows[i]));
    if (!seen.has(key)) seen.set(key, rows[i]);
  }
  return [...seen.values()];
}
