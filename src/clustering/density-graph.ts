/**
 * The graph from which clusters by density are made. A node is a distinct code, and edges join it
 * to near codes. Its core distance is the smallest within which it has `minSamples` other rows. Two
 * nodes reach each other at the largest of their distance and both core distances (Campello,
 * Moulavi & Sander 2013).
 */

import { ascending } from '../base/arrays';
import { eachItem, type Steps } from '../base/steps';
import { Codes } from '../codes/codes';
import { scanAll } from '../codes/scan';
import { pairSteps } from '../join/pairs';
import { distinctOf, NONE, rowsOfCodes } from '../join/source';
import type { KernelName } from '../kernels/kernels';
import { connect, Edges, queriesPerStep, STEP_EDGES } from './density-connect';

/** Nodes with their rows and core distances, and the edges between them. */
export interface DensityGraph {
  readonly bits: number;
  /** Distinct codes. */
  readonly count: number;
  /** The node of each row; NONE for a null row. */
  readonly nodeOfRow: Uint32Array;
  /** Number of rows of each node. */
  readonly weights: Uint32Array;
  /** Core distance of each node in bits; above `bits` where it has none. */
  readonly cores: Uint32Array;
  /** Edges in no order, some of them twice. */
  readonly edges: Edges;
}

interface GraphSettings {
  /** Other rows that a row must have within its core distance, equal ones included. */
  readonly minSamples: number;
  /** All pairs within it are edges. Undefined: nearest pairs, and a minimum spanning tree. */
  readonly maxDistance: number | undefined;
  readonly kernel: KernelName | undefined;
}

const STEP_ROWS = 2 ** 16;

/** The graph of some codes. It has all edges that clusters depend on, so these are exact. */
export function* densityGraph(codes: Codes, settings: GraphSettings): Steps<DensityGraph> {
  const nodes = yield* nodesOf(codes, settings.kernel);
  const isAll = settings.maxDistance !== undefined;
  const found = yield* isAll ? pairGraph(nodes, settings) : nearestGraph(nodes, settings);
  const { nodeOfRow, weights } = nodes;
  return { bits: codes.bits, count: weights.length, nodeOfRow, weights, ...found };
}

interface Nodes {
  readonly codes: Codes;
  readonly nodeOfRow: Uint32Array;
  readonly weights: Uint32Array;
}

/** Copies the distinct codes, which become the nodes, and counts the rows of each. */
function* nodesOf(codes: Codes, kernel?: KernelName): Steps<Nodes> {
  const { count, distinctOfRow } = yield* distinctOf(codes, null, 0, kernel);
  const nodeOfRow = distinctOfRow ?? ascending(codes.count);
  const weights = new Uint32Array(count);
  const distinct = Codes.allocate(count, { bits: codes.bits });
  for (let row = 0; row < codes.count; row++) {
    const node = nodeOfRow[row];
    if (node !== NONE && weights[node]++ === 0) distinct.at(node).set(codes.at(row));
    if (row % STEP_ROWS === STEP_ROWS - 1) yield undefined;
  }
  return { codes: distinct, nodeOfRow, weights };
}

/**
 * Edges from each node to its `minSamples` nearest nodes, which have rows enough for its core
 * distance, and the other edges of a minimum spanning tree.
 */
function* nearestGraph({ codes, weights }: Nodes, { minSamples, kernel }: GraphSettings) {
  const { count, bits, bytesPerCode } = codes;
  const k = Math.min(minSamples, count - 1);
  const cores = new Uint32Array(count).fill(bits + 1);
  // For each node the smallest distance of an edge that is not listed.
  const beyond = new Uint32Array(count).fill(bits + 1);
  const edges = new Edges(count * k);
  const step = queriesPerStep(count * bytesPerCode);
  for (let first = 0; first < count; first += step) {
    const end = Math.min(count, first + step);
    const bytes = codes.bytes.subarray(first * bytesPerCode, end * bytesPerCode);
    const queries = Codes.from(bytes, { bits });
    const found = scanAll(codes, queries, { k: k + 1, ...(kernel && { kernel }) });
    found.forEach(({ rows, distances }, i) => {
      const node = first + i;
      let reached = weights[node] - 1;
      if (k < count - 1) beyond[node] = distances[distances.length - 1];
      if (reached >= minSamples) cores[node] = 0;
      rows.forEach((other, j) => {
        if (other === node) return;
        edges.add(node, other, distances[j]);
        reached += weights[other];
        if (reached >= minSamples) cores[node] = Math.min(cores[node], distances[j]);
      });
    });
    yield [end, count] as const;
  }
  // With too few rows no node has a core distance, and no edge matters.
  if (cores.every((core) => core <= bits)) yield* connect(codes, { cores, beyond, edges }, kernel);
  return { cores, edges };
}

/** Edges of all pairs of nodes within a distance; a larger core distance counts as none. */
function* pairGraph({ codes, weights }: Nodes, settings: GraphSettings) {
  const { minSamples, maxDistance, kernel } = settings;
  const edges = new Edges(codes.count);
  const found = pairSteps(rowsOfCodes(codes, kernel), null, { maxDistance: maxDistance as number });
  yield* eachItem(found, ({ a, b, distances }) => {
    for (let i = 0; i < a.length; i++) edges.add(a[i], b[i], distances[i]);
  });
  const cores = new Uint32Array(codes.count).fill(codes.bits + 1);
  const reached = new Uint32Array(codes.count);
  for (let node = 0; node < codes.count; node++) {
    reached[node] = weights[node] - 1;
    if (reached[node] >= minSamples) cores[node] = 0;
    if (node % STEP_ROWS === STEP_ROWS - 1) yield undefined;
  }
  const reach = (node: number, weight: number, distance: number) => {
    reached[node] += weight;
    if (reached[node] >= minSamples) cores[node] = Math.min(cores[node], distance);
  };
  // In order of distance: the edge with which a node has reached rows enough is its core distance.
  const order = yield* edges.inOrder(codes.bits, (edge) => edges.at(edge)[2]);
  for (let i = 0; i < order.length; i++) {
    const [a, b, distance] = edges.at(order[i]);
    reach(a, weights[b], distance);
    reach(b, weights[a], distance);
    if (i % STEP_EDGES === STEP_EDGES - 1) yield undefined;
  }
  return { cores, edges };
}
