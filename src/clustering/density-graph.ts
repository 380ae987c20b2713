/**
 * The graph from which clusters by density are made. A node is a distinct code, and edges join it
 * to near codes: to all within a distance, or to the nearest by short lists, which a join of the
 * codes finds. Its core distance is the smallest within which it has `minSamples` other rows. Two
 * nodes reach each other at the largest of their distance and both core distances (Campello,
 * Moulavi & Sander 2013).
 */

import { grown, toStarts } from '../base/arrays';
import type { Steps } from '../base/steps';
import { keyOf, rowOf, weightOf } from '../base/top-k';
import type { Codes } from '../codes/codes';
import { scanAll } from '../codes/scan';
import { join, methodFor } from '../join/join';
import {
  type Distinct,
  distinctOf,
  presentRows,
  reorderedInSteps,
  rowsOfCodes,
  sizesOf,
} from '../join/source';
import type { KernelName } from '../kernels/kernels';

/** Nodes with their rows and core distances, and the edges between them. */
export interface DensityGraph {
  readonly bits: number;
  /** The distinct codes, which are the nodes, and which of them each row has. */
  readonly nodes: Distinct;
  /** Number of rows of each node. */
  readonly weights: Uint32Array;
  /** Core distance of each node in bits; above `bits` where it has none. */
  readonly cores: Uint32Array;
  /** Each pair once, in no order. */
  readonly edges: Edges;
}

interface GraphSettings {
  /** Other rows that a row must have within its core distance, equal ones included. */
  readonly minSamples: number;
  /** All pairs within it are edges. Undefined: only pairs of which one lists the other. */
  readonly maxDistance: number | undefined;
  readonly kernel: KernelName | undefined;
}

/** Nodes and edges of a step. */
export const STEP_EDGES = 2 ** 16;
/**
 * Fewest codes of a list. On the nouns of datasets/nouns, lists of 16 gave the clusters of all
 * pairs; lists of 5 connected too few nodes.
 */
const MIN_LISTED = 16;
/** Rows whose core distances choose how far lists reach, and how many are scanned at once. */
const SAMPLE = 512;
const SCANNED = 32;
/**
 * Share of these rows that have `minSamples` others in reach; the rest will be noise. Not all,
 * since one outlier would make a join report nearly every pair.
 */
const WITHIN_REACH = 0.98;

/** The graph of some codes. */
export function* densityGraph(codes: Codes, settings: GraphSettings): Steps<DensityGraph> {
  const { minSamples, maxDistance, kernel } = settings;
  const reach = maxDistance ?? (yield* reachOfLists(codes, settings));
  const nodes = yield* distinctOf(codes, null, reach, kernel);
  const { count } = nodes;
  const weights = sizesOf(nodes);
  const edges = new Edges();
  if (maxDistance !== undefined) {
    yield* nearPairs(nodes, reach, kernel, (a, b, distance) => edges.add(a, b, distance));
  } else {
    const lists = new CodeLists(count, Math.min(count - 1, Math.max(minSamples, MIN_LISTED)));
    yield* nearPairs(nodes, reach, kernel, (a, b, distance) => {
      lists.offer(a, distance, b);
      lists.offer(b, distance, a);
    });
    yield* lists.addTo(edges);
  }
  const cores = yield* coresOf(codes.bits, weights, edges, minSamples);
  return { bits: codes.bits, nodes, weights, cores, edges };
}

/**
 * How far lists reach: the distance within which most rows of a sample, or all of few rows, have
 * `minSamples` others. Rows that have as many equal ones do not count, or a collection of copies
 * would have no reach.
 */
function* reachOfLists(codes: Codes, { minSamples, kernel }: GraphSettings): Steps<number> {
  const present = presentRows(rowsOfCodes(codes));
  if (present.length <= minSamples) return 0; // no row has others enough at any distance
  const size = Math.min(SAMPLE, present.length);
  const sample = Uint32Array.from({ length: size }, (_, i) => {
    return present[Math.floor((i * present.length) / size)];
  });
  const options = { k: minSamples + 1, ...(kernel && { kernel }) };
  const cores: number[] = [];
  for (let first = 0; first < size; first += SCANNED) {
    const some = sample.subarray(first, first + SCANNED);
    const { codes: queries } = yield* reorderedInSteps(rowsOfCodes(codes), some);
    for (const { distances } of scanAll(codes, queries, options)) {
      if (distances[minSamples] > 0) cores.push(distances[minSamples]);
    }
  }
  cores.sort((a, b) => a - b);
  const share = size === present.length ? 1 : WITHIN_REACH;
  return cores[Math.ceil(share * cores.length) - 1] ?? 0;
}

/** Calls `take` with each pair of nodes within a distance, in no order. */
function* nearPairs(
  nodes: Distinct,
  maxDistance: number,
  kernel: KernelName | undefined,
  take: (a: number, b: number, distance: number) => void,
): Steps<void> {
  const wanted = { maxDistance, kernel, range: () => [0, nodes.count] as const };
  yield* join(nodes, methodFor(nodes, maxDistance), wanted, (hits, count) => {
    for (let i = 0; i < 3 * count; i += 3) take(hits[i], hits[i + 1], hits[i + 2]);
  });
}

/**
 * The core distance of each node. In order of distance, the edge with which a node has reached rows
 * enough is as long as its core distance.
 */
function* coresOf(
  bits: number,
  weights: Uint32Array,
  edges: Edges,
  minSamples: number,
): Steps<Uint32Array> {
  const reached = weights.map((rows) => rows - 1);
  const cores = reached.map((rows) => (rows >= minSamples ? 0 : bits + 1));
  const reach = (node: number, rows: number, distance: number) => {
    reached[node] += rows;
    if (reached[node] >= minSamples) cores[node] = Math.min(cores[node], distance);
  };
  const order = yield* edges.inOrder(bits, (edge) => edges.at(edge)[2]);
  for (let i = 0; i < order.length; i++) {
    const [a, b, distance] = edges.at(order[i]);
    reach(a, weights[b], distance);
    reach(b, weights[a], distance);
    if (i % STEP_EDGES === STEP_EDGES - 1) yield undefined;
  }
  return cores;
}

/** For each node its nearest others, sorted by insertion: by distance, then number. */
class CodeLists {
  readonly #count: number;
  readonly #length: number;
  /** Keys of (distance, node), list after list; infinite where a list has fewer. */
  readonly #keys: Float64Array;
  /** By list a distance: farther nodes cannot enter. Most offers end at this short array. */
  readonly #limits: Uint16Array;

  constructor(count: number, length: number) {
    this.#count = count;
    this.#length = length;
    this.#limits = new Uint16Array(count).fill(0xffff);
    this.#keys = new Float64Array(count * length).fill(Number.POSITIVE_INFINITY);
  }

  /** Offers a node that the list was not offered before. */
  offer(list: number, distance: number, node: number): void {
    if (distance > this.#limits[list]) return;
    const keys = this.#keys;
    const start = list * this.#length;
    const key = keyOf(distance, node);
    const last = start + this.#length - 1;
    if (key >= keys[last]) return;
    let at = last;
    for (; at > start && keys[at - 1] > key; at--) keys[at] = keys[at - 1];
    keys[at] = key;
    this.#limits[list] = Math.min(0xffff, weightOf(keys[last]));
  }

  /** Adds an edge for each pair of which one lists the other. */
  *addTo(edges: Edges): Steps<void> {
    const length = this.#length;
    for (let node = 0; node < this.#count; node++) {
      for (const key of this.#keys.subarray(node * length, (node + 1) * length)) {
        if (key === Number.POSITIVE_INFINITY) break;
        const [other, distance] = [rowOf(key), weightOf(key)];
        const isListedThere = keyOf(distance, node) <= this.#keys[(other + 1) * length - 1];
        if (node < other || !isListedThere) edges.add(node, other, distance);
      }
      if (node % STEP_EDGES === STEP_EDGES - 1) yield undefined;
    }
  }
}

/** Pairs of nodes and their distances, in arrays that grow; an edge is its position there. */
class Edges {
  #a = new Uint32Array(1);
  #b = new Uint32Array(1);
  #distances = new Uint16Array(1);
  #count = 0;

  /** Both nodes of an edge and their distance. */
  at(edge: number): readonly [a: number, b: number, distance: number] {
    return [this.#a[edge], this.#b[edge], this.#distances[edge]];
  }

  /** The height of an edge: the largest of its distance and the core distances of its nodes. */
  heightOf(edge: number, cores: Uint32Array): number {
    return Math.max(this.#distances[edge], cores[this.#a[edge]], cores[this.#b[edge]]);
  }

  add(a: number, b: number, distance: number): void {
    if (this.#count === this.#a.length) {
      this.#a = grown(this.#a);
      this.#b = grown(this.#b);
      this.#distances = grown(this.#distances);
    }
    this.#a[this.#count] = a;
    this.#b[this.#count] = b;
    this.#distances[this.#count++] = distance;
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
