/**
 * Groups rows by the pairs within a distance. 'components': all that a chain of pairs connects,
 * whose ends may be far apart. 'star': each row with the first in order that is within the distance
 * of it and in no other star. 'complete': all rows of a group within the distance of each other,
 * each row in the first such group. All go through the rows in a given order, so that the answer
 * does not depend on how pairs were found.
 */

import { eachItem, type Steps, type Stream } from '../base/steps';
import { UnionFind } from '../base/union-find';
import { NONE } from '../join/distinct';
import { type PairBatch, pairSteps } from '../join/pairs';
import { type Nearness, type Rows, reordered } from '../join/source';

export const GROUPINGS = ['star', 'components', 'complete'] as const;
export type Grouping = (typeof GROUPINGS)[number];

/** For each row of `order` the head of its group, both by their place in the order. */
export function* headsOf(
  grouping: Grouping,
  rows: Rows,
  order: Uint32Array,
  near: Nearness,
): Steps<Uint32Array> {
  const found = pairSteps(reordered(rows, order), null, {
    ...near,
    equal: near.minCosine === undefined ? 'first' : 'all',
  });
  if (grouping === 'components') return yield* components(found, order.length);
  const isByCosine = near.minCosine !== undefined;
  if (grouping === 'star') return yield* stars(found, order.length, isByCosine);
  return yield* cliques(found, order.length, isByCosine);
}

function* components(found: Stream<PairBatch>, count: number): Steps<Uint32Array> {
  const sets = new UnionFind(count);
  yield* through(found, (a, b) => sets.union(a, b));
  return Uint32Array.from({ length: count }, (_, place) => sets.find(place));
}

/** Pairs come in the order of their first place, which is decided when its pairs come. */
function* stars(found: Stream<PairBatch>, count: number, isByCosine: boolean): Steps<Uint32Array> {
  const heads = new Uint32Array(count).fill(NONE);
  yield* through(found, (a, b, distance) => {
    if (heads[a] === NONE) heads[a] = a;
    if (heads[b] !== NONE) return;
    // Equal rows are paired only with the first of them, so what it joined, they join.
    if (heads[a] === a) heads[b] = a;
    else if (distance === 0 && !isByCosine) heads[b] = heads[a];
  });
  return heads.map((head, place) => (head === NONE ? place : head));
}

/** Sorts pairs by their second place, and counts with how many of each group it is near. */
function* cliques(
  found: Stream<PairBatch>,
  count: number,
  isByCosine: boolean,
): Steps<Uint32Array> {
  const firsts: Uint32Array[] = [];
  const seconds: Uint32Array[] = [];
  const equals: [first: number, equal: number][] = [];
  const starts = new Uint32Array(count + 1);
  yield* eachItem(found, ({ a, b, distances }) => {
    const isNear = (_: number, i: number) => isByCosine || distances[i] > 0;
    firsts.push(a.filter(isNear));
    seconds.push(b.filter(isNear));
    for (let i = 0; i < a.length; i++) {
      if (isNear(0, i)) starts[b[i]]++;
      else equals.push([a[i], b[i]]);
    }
  });
  let sum = 0;
  for (let place = 0; place <= count; place++) {
    sum += starts[place];
    starts[place] = sum; // where they end, until all are there
  }
  const near = new Uint32Array(sum);
  for (let batch = firsts.length - 1; batch >= 0; batch--) {
    const [a, b] = [firsts[batch], seconds[batch]];
    for (let i = a.length - 1; i >= 0; i--) near[--starts[b[i]]] = a[i];
  }
  const heads = Uint32Array.from({ length: count }, (_, place) => place);
  for (const [first, equal] of equals) heads[equal] = first; // decided with it, below
  const sizes = new Uint32Array(count).fill(1);
  const met = new Map<number, number>();
  for (let place = 0; place < count; place++) {
    if (heads[place] !== place) {
      heads[place] = heads[heads[place]];
      continue;
    }
    met.clear();
    for (let i = starts[place]; i < starts[place + 1]; i++) {
      const head = heads[near[i]];
      met.set(head, (met.get(head) ?? 0) + 1);
    }
    let head = place;
    for (const [other, count] of met) if (count === sizes[other] && other < head) head = other;
    heads[place] = head;
    if (head !== place) sizes[head]++;
  }
  return heads;
}

function through(
  found: Stream<PairBatch>,
  take: (a: number, b: number, distance: number) => void,
): Steps<void> {
  return eachItem(found, ({ a, b, distances }) => {
    for (let i = 0; i < a.length; i++) take(a[i], b[i], distances[i]);
  });
}
