/**
 * The graph that groups by density are cut from: codes joined to near codes, each with its core
 * distance, at which it has so many neighbours. Equal codes are one node. Two nodes reach each
 * other at the largest of their distance and both core distances (Campello, Moulavi & Sander 2013).
 */

import { ascending } from '../base/arrays';
import { eachItem, type Steps } from '../base/steps';
import { Codes } from '../codes/codes';
import { scanAll } from '../codes/scan';
import { pairSteps } from '../join/pairs';
import { distinctOf, NONE, rowsOfCodes } from '../join/source';
import type { KernelName } from '../kernels/kernels';
import { connect, Edges, STEP_EDGES } from './density-connect';

/** Nodes with their rows and core distances, and the edges between them. */
export interface DensityGraph {
  readonly bits: number;
  /** Distinct codes. */
  readonly count: number;
  /** By row, its node; NONE for a null one. */
  readonly nodeOfRow: Uint32Array;
  /** Rows of each node. */
  readonly weights: Uint32Array;
  /** Distance within which a row has so many others; beyond `bits` where it never has. */
  readonly cores: Uint32Array;
  /** Edges in no order, some of them twice. */
  readonly edges: Edges;
}

interface GraphSettings {
  /** Other rows that a row has within its core distance. */
  readonly minSamples: number;
  /** All pairs within it are edges; else the nearest ones, and those of a least spanning tree. */
  readonly maxDistance: number | undefined;
  readonly kernel: KernelName | undefined;
}

/** Bytes of codes compared between two steps, and queries. */
const STEP_BYTES = 2 ** 28;
const MAX_QUERIES = 64;
const STEP_ROWS = 2 ** 16;

/** The graph of some codes; exact either way. */
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

/** Each node and the nearest ones, as many as are sure to have rows enough. */
function* nearestGraph({ codes, weights }: Nodes, { minSamples, kernel }: GraphSettings) {
  const { count, bits, bytesPerCode } = codes;
  const k = Math.min(minSamples, count - 1);
  const cores = new Uint32Array(count).fill(bits + 1);
  const beyond = new Uint32Array(count).fill(bits + 1);
  const edges = new Edges(count * k);
  const atOnce = Math.floor(STEP_BYTES / (count * bytesPerCode));
  const step = Math.max(1, Math.min(MAX_QUERIES, atOnce));
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
  // Where rows are too few, none has neighbours enough, and no edge is of use.
  if (cores.every((core) => core <= bits)) yield* connect(codes, { cores, beyond, edges }, kernel);
  return { cores, edges };
}

/** All pairs of nodes within a distance; core distances beyond are not known. */
function* pairGraph({ codes, weights }: Nodes, settings: GraphSettings) {
  const { minSamples, maxDistance, kernel } = settings;
  const edges = new Edges(codes.count);
  const found = pairSteps(rowsOfCodes(codes, kernel), null, { maxDistance: maxDistance as number });
  yield* eachItem(found, ({ a, b, distances }) => {
    for (let i = 0; i < a.length; i++) edges.add(a[i], b[i], distances[i]);
  });
  const cores = new Uint32Array(codes.count).fill(codes.bits + 1);
  const reached = weights.map((weight) => weight - 1);
  reached.forEach((count, node) => {
    if (count >= minSamples) cores[node] = 0;
  });
  const reach = (node: number, weight: number, distance: number) => {
    reached[node] += weight;
    if (reached[node] >= minSamples) cores[node] = Math.min(cores[node], distance);
  };
  const order = yield* edges.inOrder(codes.bits, (edge) => edges.at(edge)[2]);
  for (let i = 0; i < order.length; i++) {
    const [a, b, distance] = edges.at(order[i]);
    reach(a, weights[b], distance);
    reach(b, weights[a], distance);
    if (i % STEP_EDGES === STEP_EDGES - 1) yield undefined;
  }
  return { cores, edges };
}
