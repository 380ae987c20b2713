/**
 * The graph from which clusters by density are made. A node is a distinct code, and edges join it
 * to near codes: to all within a distance, or to the nearest by short lists, which a join of the
 * codes finds. Its core distance is the smallest within which it has `minSamples` other rows. Two
 * nodes reach each other at the largest of their distance and both core distances (Campello,
 * Moulavi & Sander 2013).
 */

import { grown, toStarts } from '../base/arrays';
import type { LongWork } from '../base/long-work';
import { keyOf, rowOf, weightOf } from '../base/top-k';
import type { Codes } from '../codes/codes';
import { scanAll } from '../codes/scan';
import { HIT } from '../kernels/joins';
import { type DistinctCodes, distinctOf, NONE } from '../near/distinct-codes';
import { join } from '../near/join';
import { presentRows, reordered, rowsOfCodes } from '../near/rows';

/** Nodes with their rows and core distances, and the edges between them. */
export interface DensityGraph {
  readonly bits: number;
  /** The distinct codes, which are the nodes, and which of them each row has. */
  readonly nodes: DistinctCodes;
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
}

/** Nodes and edges of a step. */
export const STEP_EDGES = 2 ** 16;
/**
 * Fewest codes of a list. On the nouns of datasets/nouns, lists of 16 gave the clusters of all
 * pairs; lists of 5 connected too few nodes.
 */
const MIN_LISTED = 16;
/** Rows whose core distances choose how far lists reach. */
const SAMPLE = 512;
/**
 * Share of these rows that have `minSamples` others in reach; the rest will be noise. Not all,
 * since one outlier would make a join report nearly every pair.
 */
const WITHIN_REACH = 0.98;

/** The graph of some codes. */
export async function densityGraph(
  codes: Codes,
  settings: GraphSettings,
  work: LongWork,
): Promise<DensityGraph> {
  const { minSamples, maxDistance } = settings;
  const reach = maxDistance ?? (await reachOfLists(codes, settings, work));
  const nodes = await distinctOf(codes, null, reach, work.quiet());
  const { count } = nodes;
  const weights = weightsOf(nodes);
  const edges = new Edges();
  const near = { maxDistance: reach, range: () => [0, count] as const };
  if (maxDistance !== undefined) {
    const take = (hits: Uint32Array, found: number) => {
      for (let i = 0; i < HIT * found; i += HIT) edges.add(hits[i], hits[i + 1], hits[i + 2]);
    };
    await join(nodes, near, take, work);
  } else {
    const lists = new CodeLists(count, Math.min(count - 1, Math.max(minSamples, MIN_LISTED)));
    const take = (hits: Uint32Array, found: number) => {
      for (let i = 0; i < HIT * found; i += HIT) {
        lists.offer(hits[i], hits[i + 2], hits[i + 1]);
        lists.offer(hits[i + 1], hits[i + 2], hits[i]);
      }
    };
    await join(nodes, near, take, work);
    await lists.addTo(edges, work);
  }
  const cores = await coresOf(codes.bits, weights, edges, minSamples, work);
  return { bits: codes.bits, nodes, weights, cores, edges };
}

/** For each distinct code the number of rows that have it. */
function weightsOf({ distinctOfRow, count }: DistinctCodes): Uint32Array {
  const weights = new Uint32Array(count).fill(distinctOfRow === null ? 1 : 0);
  for (const distinct of distinctOfRow ?? []) if (distinct !== NONE) weights[distinct]++;
  return weights;
}

/**
 * How far lists reach: the distance within which most rows of a sample, or all of few rows, have
 * `minSamples` others. Rows that have as many equal ones do not count, or a collection of copies
 * would have no reach.
 */
async function reachOfLists(
  codes: Codes,
  { minSamples }: GraphSettings,
  work: LongWork,
): Promise<number> {
  const rows = rowsOfCodes(codes);
  const present = presentRows(rows);
  if (present.length <= minSamples) return 0; // no row has others enough at any distance
  const size = Math.min(SAMPLE, present.length);
  const sample = Uint32Array.from({ length: size }, (_, i) => {
    return present[Math.floor((i * present.length) / size)];
  });
  const { codes: queries } = await reordered(rows, sample, work);
  const cores = (await scanAll(codes, queries, { k: minSamples + 1 }))
    .map(({ distances }) => distances[minSamples])
    .filter((core) => core > 0)
    .sort((a, b) => a - b);
  const share = size === present.length ? 1 : WITHIN_REACH;
  return cores[Math.ceil(share * cores.length) - 1] ?? 0;
}

/**
 * The core distance of each node. In order of distance, the edge with which a node has reached rows
 * enough is as long as its core distance.
 */
async function coresOf(
  bits: number,
  weights: Uint32Array,
  edges: Edges,
  minSamples: number,
  work: LongWork,
): Promise<Uint32Array> {
  const reached = weights.map((rows) => rows - 1);
  const cores = reached.map((rows) => (rows >= minSamples ? 0 : bits + 1));
  const reach = (node: number, rows: number, distance: number) => {
    reached[node] += rows;
    if (reached[node] >= minSamples) cores[node] = Math.min(cores[node], distance);
  };
  const order = await edges.inOrder(bits, (edge) => edges.at(edge)[2], work);
  for (let i = 0; i < order.length; i++) {
    const [a, b, distance] = edges.at(order[i]);
    reach(a, weights[b], distance);
    reach(b, weights[a], distance);
    if (i % STEP_EDGES === STEP_EDGES - 1) await work.step();
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
  async addTo(edges: Edges, work: LongWork): Promise<void> {
    const length = this.#length;
    for (let node = 0; node < this.#count; node++) {
      for (const key of this.#keys.subarray(node * length, (node + 1) * length)) {
        if (key === Number.POSITIVE_INFINITY) break;
        const [other, distance] = [rowOf(key), weightOf(key)];
        const isListedThere = keyOf(distance, node) <= this.#keys[(other + 1) * length - 1];
        if (node < other || !isListedThere) edges.add(node, other, distance);
      }
      if (node % STEP_EDGES === STEP_EDGES - 1) await work.step();
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
  async inOrder(
    most: number,
    heightOf: (edge: number) => number,
    work: LongWork,
  ): Promise<Uint32Array> {
    const starts = new Uint32Array(most + 1);
    for (let edge = 0; edge < this.#count; edge++) {
      const height = heightOf(edge);
      if (height <= most) starts[height]++;
      if (edge % STEP_EDGES === STEP_EDGES - 1) await work.step();
    }
    const order = new Uint32Array(toStarts(starts));
    for (let edge = 0; edge < this.#count; edge++) {
      const height = heightOf(edge);
      if (height <= most) order[starts[height]++] = edge;
      if (edge % STEP_EDGES === STEP_EDGES - 1) await work.step();
    }
    return order;
  }
}
