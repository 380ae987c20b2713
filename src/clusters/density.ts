/**
 * Clusters by density, where the number of clusters is not known: single linkage over the distances
 * at which rows reach each other through dense regions (HDBSCAN*: Campello, Moulavi & Sander 2013).
 * Clusters are the branches of the largest mass in a tree over lists of the nearest codes, and over
 * all pairs of a sample; parts that neither connects join at its top, at infinite distance. Heights
 * are integers, and all pairs of one height join at once, so that their order does not matter.
 */

import { ascending } from '../base/arrays';
import { checkOptions } from '../base/check';
import { LONG_CALL, type LongCall, LongWork } from '../base/long-work';
import { keyOf, rowOf, weightOf } from '../base/top-k';
import type { Codes } from '../codes/codes';
import { scanAll } from '../codes/scan';
import { HIT } from '../kernels/joins';
import { Components } from '../near/groups';
import { join } from '../near/join';
import { type DistinctCodes, distinctAt, distinctOf, NONE } from '../near/pair-order';
import { presentRows, type RowSource, reordered, rowsOf, rowsOfCodes } from '../near/rows';
import { pointsOfRows } from './cluster';
import { type Cluster, labelsOf, summaries } from './describe';

export interface DensityOptions extends LongCall {
  /** Smallest number of rows of a cluster. */
  minClusterSize?: number;
  /** How many others must be near a row in a dense region. */
  minSamples?: number;
}

const DENSITY_DEFAULTS = { minClusterSize: 5, minSamples: 5 } as const;

export interface DensityClusters {
  /** The cluster of each row; -1 for noise, and for rows that are null or removed. */
  readonly labels: Int32Array;
  /**
   * In order of their first row. Their centroids are the directions of the sums of their rows'
   * vectors, or of their bits (±1) where the source has no vectors.
   */
  readonly clusters: Cluster[];
}

const OPTIONS = {
  minClusterSize: { min: 2, max: 2 ** 32 },
  minSamples: { min: 1, max: 2 ** 16 },
  ...LONG_CALL,
} as const;

/**
 * Groups rows by density (HDBSCAN*): finds the number of clusters, and rows that are noise. Each
 * cluster is cut where its mass is largest: the sum over its rows of the density, 1 / (1 +
 * distance), at which they joined it, less the density at which it joins another cluster. All rows
 * together are a cluster only if they never split in two.
 *
 * @example
 * const vectors = [[1, 0], [0.9, 0.1], [0, 1], [0.1, 0.9], [-1, -1]];
 * const codes = await new SimHasher({ bits: 64 }).hashAll(vectors);
 * const options = { minClusterSize: 2, minSamples: 1 };
 * console.log((await clusterByDensity(codes, options)).labels); // Int32Array(5) [ 0, 0, 1, 1, -1 ]
 */
export async function clusterByDensity(
  source: RowSource,
  options?: DensityOptions,
): Promise<DensityClusters> {
  const given = { ...DENSITY_DEFAULTS, ...checkOptions(options, OPTIONS) };
  const { minClusterSize, minSamples, ...call } = given;
  const work = new LongWork(call);
  const all = rowsOf('source', source);
  const points = pointsOfRows(all);
  const { rows } = points;
  if (rows.length === 0) throw new Error('clusterByDensity() needs rows, the source has none');
  const graph = await densityGraph(all.codes, minSamples, work);
  const tree = new Tree(graph, minClusterSize);
  for (const [height, pairs] of graph.pairsAt.entries()) {
    if (pairs.length > 0) tree.join(pairs, height);
    await work.step();
  }
  const clusterOfNode = tree.groups();
  const numbers = new Map<number, number>(); // clusters are numbered by their first row
  const clusterOf = new Int32Array(rows.length).fill(-1);
  rows.forEach((row, i) => {
    const cluster = clusterOfNode[distinctAt(graph.nodes, row)];
    if (cluster === NONE) return;
    if (!numbers.has(cluster)) numbers.set(cluster, numbers.size);
    clusterOf[i] = numbers.get(cluster) as number;
  });
  const described = { count: numbers.size, centroids: null };
  const clusters = await summaries(points, clusterOf, described, work.quiet());
  return { labels: labelsOf(points, clusterOf), clusters };
}

/** A part of the tree with rows enough, from where it forms to where it joins another. */
interface Branch {
  parent: Branch | null;
  /** Largest sum of masses of groups among the branches that joined to form it. */
  massBelow: number;
  hasBranches: boolean;
  /** Rows so far. */
  size: number;
  /** Sum over its rows of the density at which they joined it. */
  density: number;
  /** True where its own mass is at least `massBelow`, so that it is better than its branches. */
  isGroup: boolean;
  /** Its position in the list of branches. */
  readonly id: number;
}

/** The density at a height: 1 at height 0, where rows are equal, and less above. */
const densityAt = (height: number) => 1 / (1 + height);

/** The tree while it grows from low heights to high ones. A set is named by its root, a node. */
class Tree {
  readonly #minimum: number;
  readonly #sets: Components;
  /** By root the rows of a set. */
  readonly #sizes: Uint32Array;
  /** In the order in which they formed, each before its parent. */
  readonly #branches: Branch[] = [];
  /** By root the branch of a set that has rows enough. */
  readonly #branchOfRoot = new Map<number, Branch>();
  /** Sets as they were while they had no branch, by which nodes find the branch they joined. */
  readonly #early: Components;
  /** By root of an early set the smallest branch that its nodes are in; null for none. */
  readonly #branchOfEarly: (Branch | null)[];

  constructor({ nodes: { count }, weights }: DensityGraph, minimum: number) {
    this.#minimum = minimum;
    this.#sets = new Components(count);
    this.#sizes = weights.slice();
    this.#early = new Components(count);
    this.#branchOfEarly = new Array(count).fill(null);
  }

  /** Joins the nodes of all pairs of one height, one after another in `pairs`. */
  join(pairs: readonly number[], height: number): void {
    const roots = new Set<number>();
    for (const node of pairs) roots.add(this.#sets.find(node));
    for (let i = 0; i < pairs.length; i += 2) this.#sets.union(pairs[i], pairs[i + 1]);
    const parts = new Map<number, number[]>();
    for (const root of roots) {
      const whole = this.#sets.find(root);
      const known = parts.get(whole);
      if (known === undefined) parts.set(whole, [root]);
      else known.push(root);
    }
    for (const [whole, roots] of parts) this.#grow(whole, roots, densityAt(height));
  }

  /**
   * Updates branches after sets have become one, `whole`: a new branch where two or more join, or
   * where the rows are enough for the first time; else the only branch grows.
   */
  #grow(whole: number, roots: number[], density: number): void {
    const size = roots.reduce((sum, root) => sum + this.#sizes[root], 0);
    const branches = roots.flatMap((root) => this.#branchOfRoot.get(root) ?? []);
    const small = roots.filter((root) => !this.#branchOfRoot.has(root));
    let [branch] = branches;
    if (branches.length !== 1 && size >= this.#minimum) {
      branch = this.#branch(size, density);
      for (const one of branches) this.#close(one, branch, density);
    } else if (branches.length === 1) {
      branch.density += (size - branch.size) * density;
      branch.size = size;
    }
    for (const root of roots) this.#branchOfRoot.delete(root);
    this.#sizes[whole] = size;
    if (branch !== undefined) this.#branchOfRoot.set(whole, branch);
    for (const root of small) {
      if (branch === undefined) this.#early.union(whole, root);
      else this.#branchOfEarly[root] = branch;
    }
  }

  /** A new branch, whose rows all join it at this density. */
  #branch(size: number, density: number): Branch {
    const branch: Branch = {
      parent: null,
      massBelow: 0,
      hasBranches: false,
      isGroup: true,
      size,
      density: size * density,
      id: this.#branches.length,
    };
    this.#branches.push(branch);
    return branch;
  }

  /**
   * Ends a branch where it joins others. Its mass is the sum over its rows of the density at which
   * they joined it, less that at which it ends.
   */
  #close(branch: Branch, parent: Branch | null, density: number): void {
    const mass = branch.density - branch.size * density;
    branch.isGroup = mass >= branch.massBelow;
    branch.parent = parent;
    if (parent === null) return;
    parent.hasBranches = true;
    parent.massBelow += Math.max(mass, branch.massBelow);
  }

  /**
   * The group of each node, NONE for noise: those groups of the tree, none within another, whose
   * sum of masses is the largest. All rows are one group only if they never split.
   */
  groups(): Uint32Array {
    const open = [...this.#branchOfRoot.values()];
    for (const branch of open) this.#close(branch, null, 0);
    if (open.length === 1 && open[0].hasBranches) open[0].isGroup = false;
    const groupOf = new Uint32Array(this.#branches.length);
    for (let i = groupOf.length - 1; i >= 0; i--) {
      const { parent, isGroup } = this.#branches[i]; // parents come first, having formed later
      const outer = parent === null ? NONE : groupOf[parent.id];
      groupOf[i] = outer === NONE && isGroup ? i : outer;
    }
    return this.#early.result().map((root) => {
      const branch = this.#branchOfEarly[root];
      return branch === null ? NONE : groupOf[branch.id];
    });
  }
}

/**
 * The graph from which clusters are made. A node is a distinct code, and edges join it to the
 * nearest codes, by short lists: a join of the codes finds those within a reach, a scan the rest of
 * lists with too few rows. A sample, in which all nodes are joined, tells at which heights clusters
 * join that no list connects. The core distance of a node is the smallest within which it has
 * `minSamples` other rows. Two nodes reach each other at the largest of their distance and both
 * core distances.
 */
interface DensityGraph {
  /** The distinct codes, which are the nodes, and which of them each row has. */
  readonly nodes: DistinctCodes;
  /** Number of rows of each node. */
  readonly weights: Uint32Array;
  /**
   * By height, up to the number of bits, the pairs that join there, one after another. A node of
   * several rows is a pair with itself at its core distance, at which its rows join.
   */
  readonly pairsAt: readonly number[][];
}

/** Nodes of a step. */
const STEP_NODES = 2 ** 16;
/**
 * Fewest codes of a list. On the nouns of datasets/nouns, lists of 16 gave the clusters of all
 * pairs; lists of 5 connected too few nodes.
 */
const MIN_LISTED = 16;
/** Rows whose core distances choose how far lists reach, and nodes of which all pairs are edges. */
const SAMPLE = 512;
/**
 * Share of these rows that have `minSamples` others in reach; a scan finds those of the rest. Not
 * all, since one outlier would make a join report nearly every pair.
 */
const WITHIN_REACH = 0.98;

/** The graph of some codes. */
export async function densityGraph(
  codes: Codes,
  minSamples: number,
  work: LongWork,
): Promise<DensityGraph> {
  const reach = await reachOfLists(codes, minSamples, work);
  const nodes = await distinctOf(codes, null, reach, work.quiet());
  const { count } = nodes;
  const { starts } = nodes.left;
  const weights = new Uint32Array(count).map((_, node) =>
    starts === null ? 1 : starts[node + 1] - starts[node],
  );
  const near = { maxDistance: reach, range: () => [0, count] as const };
  const lists = new CodeLists(weights, minSamples, reach);
  const take = (hits: Uint32Array, found: number) => {
    for (let i = 0; i < HIT * found; i += HIT) {
      lists.offer(hits[i], hits[i + 2], hits[i + 1]);
      lists.offer(hits[i + 1], hits[i + 2], hits[i]);
    }
  };
  const [joining, scanning] = work.inParts([4, 1]);
  await join(nodes, near, take, joining);
  const firstRows = weights.map((_, node) => nodes.left.firstOf(node));
  const { codes: all } = await reordered(rowsOfCodes(codes), firstRows, work);
  const some = async (nodes: Uint32Array) => (await reordered(rowsOfCodes(all), nodes, work)).codes;
  const short = await lists.short(work);
  const scanned = { k: lists.length + 1, ...scanning.call };
  for (const [i, near] of (await scanAll(all, await some(short), scanned)).entries()) {
    near.rows.forEach((other, at) => {
      if (near.distances[at] > reach) lists.offer(short[i], near.distances[at], other);
    });
  }
  const cores = await lists.cores(work);
  const pairsAt = await lists.pairs(cores, codes.bits, work);
  const sample = evenly(ascending(count));
  const sampled = await some(sample);
  for (const [i, near] of (await scanAll(sampled, sampled, { k: SAMPLE })).entries()) {
    near.rows.forEach((j, at) => {
      const [a, b] = [sample[i], sample[j]];
      if (a < b) pairsAt[Math.max(near.distances[at], cores[a], cores[b])]?.push(a, b);
    });
  }
  return { nodes, weights, pairsAt };
}

/** A sample of some rows or nodes, in their order; all if they are few. */
function evenly(all: Uint32Array): Uint32Array {
  const length = Math.min(SAMPLE, all.length);
  return Uint32Array.from({ length }, (_, i) => all[Math.floor((i * all.length) / length)]);
}

/**
 * How far lists reach: the distance within which most rows of a sample, or all of few rows, have
 * `minSamples` others. Rows that have as many equal ones do not count, or a collection of copies
 * would have no reach.
 */
async function reachOfLists(codes: Codes, minSamples: number, work: LongWork): Promise<number> {
  const rows = rowsOfCodes(codes);
  const present = presentRows(rows);
  if (present.length <= minSamples) return 0; // no row has others enough at any distance
  const sample = evenly(present);
  const { codes: queries } = await reordered(rows, sample, work);
  const cores = (await scanAll(codes, queries, { k: minSamples + 1 }))
    .map(({ distances }) => distances[minSamples])
    .filter((core) => core > 0)
    .sort((a, b) => a - b);
  const share = sample.length === present.length ? 1 : WITHIN_REACH;
  return cores[Math.ceil(share * cores.length) - 1] ?? 0;
}

/** For each node its nearest others, sorted by insertion: by distance, then number. */
class CodeLists {
  /** Most nodes of a list. */
  readonly length: number;
  readonly #weights: Uint32Array;
  readonly #minSamples: number;
  /** The distance within which every list was offered all nodes. */
  readonly #reach: number;
  /** Keys of (distance, node), list after list; infinite where a list has fewer. */
  readonly #keys: Float64Array;
  /** By list a distance: farther nodes cannot enter. Most offers end at this short array. */
  readonly #limits: Uint16Array;

  constructor(weights: Uint32Array, minSamples: number, reach: number) {
    const count = weights.length;
    this.length = Math.min(count - 1, Math.max(minSamples, MIN_LISTED));
    this.#weights = weights;
    this.#minSamples = minSamples;
    this.#reach = reach;
    this.#limits = new Uint16Array(count).fill(0xffff);
    this.#keys = new Float64Array(count * this.length).fill(Number.POSITIVE_INFINITY);
  }

  /** Offers a node that the list was not offered before. */
  offer(list: number, distance: number, node: number): void {
    if (distance > this.#limits[list]) return;
    const keys = this.#keys;
    const start = list * this.length;
    const key = keyOf(distance, node);
    const last = start + this.length - 1;
    if (key >= keys[last]) return;
    let at = last;
    for (; at > start && keys[at - 1] > key; at--) keys[at] = keys[at - 1];
    keys[at] = key;
    this.#limits[list] = Math.min(0xffff, weightOf(keys[last]));
  }

  /** Nodes of lists with too few rows for a core distance; none where all rows are too few. */
  async short(work: LongWork): Promise<Uint32Array> {
    const cores = await this.cores(work);
    const isNone = this.#weights.reduce((sum, weight) => sum + weight, 0) <= this.#minSamples;
    return ascending(isNone ? 0 : cores.length).filter((node) => cores[node] === NONE);
  }

  /** The core distance of each node, NONE where its list has too few rows. */
  async cores(work: LongWork): Promise<Uint32Array> {
    const cores = new Uint32Array(this.#weights.length);
    for (let node = 0; node < cores.length; node++) {
      cores[node] = this.#coreOf(node);
      if (node % STEP_NODES === STEP_NODES - 1) await work.step();
    }
    return cores;
  }

  /**
   * By height, up to `highest`, each pair of which one lists the other, at the largest of their
   * distance and core distances, and each node of several rows with itself.
   */
  async pairs(cores: Uint32Array, highest: number, work: LongWork): Promise<number[][]> {
    const { length } = this;
    const pairsAt = Array.from({ length: highest + 1 }, (): number[] => []);
    for (let node = 0; node < cores.length; node++) {
      if (this.#weights[node] > 1) pairsAt[cores[node]]?.push(node, node);
      for (const key of this.#keys.subarray(node * length, (node + 1) * length)) {
        if (key === Number.POSITIVE_INFINITY) break;
        const [other, distance] = [rowOf(key), weightOf(key)];
        const isListedThere =
          distance <= this.#reach && keyOf(distance, node) <= this.#keys[(other + 1) * length - 1];
        const height = Math.max(distance, cores[node], cores[other]);
        if (node < other || !isListedThere) pairsAt[height]?.push(node, other);
      }
      if (node % STEP_NODES === STEP_NODES - 1) await work.step();
    }
    return pairsAt;
  }

  /** Where a node's own rows and those of its list become `minSamples` others, or NONE. */
  #coreOf(node: number): number {
    let [core, left] = [0, this.#minSamples + 1 - this.#weights[node]];
    for (let at = node * this.length; left > 0; at++) {
      const isInside = at < (node + 1) * this.length;
      if (!isInside || this.#keys[at] === Number.POSITIVE_INFINITY) return NONE;
      core = weightOf(this.#keys[at]);
      left -= this.#weights[rowOf(this.#keys[at])];
    }
    return core;
  }
}
