/**
 * Completes a graph of nearest neighbours, so that it contains an exact minimum spanning tree over
 * mutual reachability; and the edges of such graphs. Listed edges join nodes, in order of height,
 * while no missing edge can be lower. The parts that remain are joined in rounds by the lowest edge
 * out of each, which is searched among all codes (Borůvka 1926). Without these edges noise would
 * join clusters too early.
 */

import { grown, toStarts } from '../base/arrays';
import type { Steps } from '../base/steps';
import { UnionFind } from '../base/union-find';
import type { Codes } from '../codes/codes';
import { reorderedInSteps, rowsOfCodes } from '../join/source';
import { hammingKernel, type KernelName } from '../kernels/kernels';

/** Edges of a step. */
export const STEP_EDGES = 2 ** 16;
/** Bytes of codes that are compared in a step, and queries of a step, at most. */
const STEP_BYTES = 2 ** 28;
const MAX_QUERIES = 64;

/** Queries of a step that compares each with `bytes` bytes of codes. */
export function queriesPerStep(bytes: number): number {
  return Math.max(1, Math.min(MAX_QUERIES, Math.floor(STEP_BYTES / bytes)));
}

/** Pairs of nodes and their distances, in arrays that grow; an edge is its position there. */
export class Edges {
  #a: Uint32Array;
  #b: Uint32Array;
  #distances: Uint16Array;
  #count = 0;

  /** Has room for `capacity` edges at first. */
  constructor(capacity: number) {
    this.#a = new Uint32Array(capacity + 1);
    this.#b = new Uint32Array(capacity + 1);
    this.#distances = new Uint16Array(capacity + 1);
  }

  /** Both nodes of an edge and their distance. */
  at(edge: number): readonly [a: number, b: number, distance: number] {
    return [this.#a[edge], this.#b[edge], this.#distances[edge]];
  }

  /** The height of an edge: the largest of its distance and the core distances of its nodes. */
  heightOf(edge: number, cores: Uint32Array): number {
    return Math.max(this.#distances[edge], cores[this.#a[edge]], cores[this.#b[edge]]);
  }

  add(a: number, b: number, distance: number): void {
    if (this.#count === this.#a.length) this.#grow();
    this.#a[this.#count] = a;
    this.#b[this.#count] = b;
    this.#distances[this.#count++] = distance;
  }

  #grow(): void {
    this.#a = grown(this.#a);
    this.#b = grown(this.#b);
    this.#distances = grown(this.#distances);
  }

  /** The edges of height 0 to `most`, by height, then as they were added: a counting sort. */
  *inOrder(most: number, heightOf: (edge: number) => number): Steps<Uint32Array> {
    const starts = new Uint32Array(most + 1);
    for (let edge = 0; edge < this.#count; edge++) {
      const height = heightOf(edge);
      if (height <= most) starts[height]++;
      if (edge % STEP_EDGES === STEP_EDGES - 1) yield undefined;
    }
    const order = new Uint32Array(toStarts(starts));
    for (let edge = 0; edge < this.#count; edge++) {
      const height = heightOf(edge);
      if (height <= most) order[starts[height]++] = edge;
      if (edge % STEP_EDGES === STEP_EDGES - 1) yield undefined;
    }
    return order;
  }
}

/** A graph to which `connect` adds edges. */
interface Growing {
  readonly cores: Uint32Array;
  /** For each node the smallest distance that an edge of it which is not listed can have. */
  readonly beyond: Uint32Array;
  readonly edges: Edges;
}

/** Adds the missing edges of a minimum spanning tree. Every node must have a core distance. */
export function* connect(codes: Codes, graph: Growing, kernel?: KernelName): Steps<void> {
  const { cores, edges } = graph;
  const sets = yield* sureParts(codes, graph);
  for (;;) {
    const parts = yield* partsOf(sets);
    if (parts.length === 1) return;
    const sorted = yield* inOrder(codes, cores, parts);
    const largest = parts.reduce((one, other) => (other.length > one.length ? other : one));
    const isJoined = new Uint8Array(codes.count);
    let first = 0;
    for (const part of parts) {
      const end = first + part.length;
      // A part that another one has joined in this round waits for the next. The largest part need
      // not search, since all others join it or each other.
      if (part !== largest && isJoined[part[0]] === 0) {
        const [from, to, distance] = yield* leastStep(sorted, first, end, kernel);
        const [a, b] = [sorted.order[from], sorted.order[to]];
        isJoined[sets.find(b)] = 1;
        edges.add(a, b, distance);
        sets.union(a, b);
      }
      first = end;
    }
  }
}

/**
 * Joins nodes by those listed edges that must be in a minimum spanning tree: of one of the two
 * sides no missing edge can be lower. `bounds` has for each set the lowest height of a missing
 * edge.
 */
function* sureParts({ count, bits }: Codes, { cores, beyond, edges }: Growing): Steps<UnionFind> {
  const heightOf = (edge: number) => edges.heightOf(edge, cores);
  const sets = new UnionFind(count);
  const bounds = beyond.slice();
  // An edge that is skipped is above the bounds of both its sides, and so are all that follow.
  const order = yield* edges.inOrder(bits, heightOf);
  for (let i = 0; i < order.length; i++) {
    if (i % STEP_EDGES === 0) yield undefined;
    const edge = order[i];
    const [a, b] = edges.at(edge);
    const [one, other] = [sets.find(a), sets.find(b)];
    if (heightOf(edge) > Math.max(bounds[one], bounds[other])) continue;
    sets.union(one, other);
    bounds[sets.find(one)] = Math.min(bounds[one], bounds[other]);
  }
  return sets;
}

/** The nodes of each set, ascending. */
function* partsOf(sets: UnionFind): Steps<number[][]> {
  const parts = new Map<number, number[]>();
  const roots = yield* sets.all();
  for (let node = 0; node < roots.length; node++) {
    const root = roots[node]; // the least node, so the part begins with it
    if (root === node) parts.set(root, [node]);
    else parts.get(root)?.push(node);
    if (node % STEP_EDGES === STEP_EDGES - 1) yield undefined;
  }
  return [...parts.values()];
}

/** Codes and their core distances part by part; `order` has the node at each position. */
interface Sorted {
  readonly bytes: Uint8Array;
  readonly bytesPerCode: number;
  readonly bits: number;
  readonly cores: Uint32Array;
  readonly order: Uint32Array;
}

function* inOrder(codes: Codes, cores: Uint32Array, parts: number[][]): Steps<Sorted> {
  const order = new Uint32Array(codes.count);
  const sorted = new Uint32Array(codes.count);
  let count = 0;
  for (const part of parts) {
    for (const node of part) {
      sorted[count] = cores[node];
      order[count++] = node;
      if (count % STEP_EDGES === 0) yield undefined;
    }
  }
  const { bytes, bytesPerCode, bits } = (yield* reorderedInSteps(rowsOfCodes(codes), order)).codes;
  return { bytes, bytesPerCode, bits, order, cores: sorted };
}

/** The lowest edge from a node at positions `first` to `end - 1` to one at other positions. */
function* leastStep(
  { bytes, bytesPerCode, bits, cores }: Sorted,
  first: number,
  end: number,
  kernel?: KernelName,
): Steps<[from: number, to: number, distance: number]> {
  const count = cores.length;
  const hamming = hammingKernel(kernel, bytesPerCode);
  const step = queriesPerStep(bytes.length);
  let least = bits + 1;
  let found: [number, number, number] = [first, first, 0];
  for (let from = first; from < end; from += step) {
    const to = Math.min(end, from + step);
    // No edge of a node is lower than its core distance: a limit of 0 skips nodes that cannot win.
    const limits = Uint32Array.from(cores.subarray(from, to), (core) => (core < least ? least : 0));
    const queries = bytes.subarray(from * bytesPerCode, to * bytesPerCode);
    const take = (query: number, other: number, distance: number) => {
      const height = Math.max(distance, cores[other], cores[from + query]);
      if (height >= least) return;
      least = height;
      found = [from + query, other, distance];
      limits.forEach((limit, i) => {
        limits[i] = limit > 0 && cores[from + i] < least ? least : 0;
      });
    };
    for (const [start, stop] of [
      [0, first],
      [end, count],
    ]) {
      if (stop > start) hamming.hitsOfMany(bytes, start, stop - start, queries, limits, take);
    }
    yield undefined;
  }
  return found;
}
