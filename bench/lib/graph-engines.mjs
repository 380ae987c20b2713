// Our index and the rivals that search by graphs (HNSW, Malkov & Yashunin 2016), each used as it
// documents itself: rows by cosine, built on one thread, saved, read again, searched with an effort:
// the width `ef` of a graph's search, or the partitions that ours visits.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { indexFromArrow, indexToArrow, SimHashIndex } from '../../dist/index.js';

export const PARAMETERS = {
  halfspace: { bits: 256, projection: 'hadamard', vectors: 'float32' },
  'hnswlib-node': { m: 16, efConstruction: 200 },
  // expansion_add is usearch's own default, written out.
  usearch: { connectivity: 16, expansion_add: 128 },
};

export const EFFORTS = {
  halfspace: [8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384],
  'hnswlib-node': [10, 20, 40, 60, 80, 120, 160, 320, 640, 1000],
  usearch: [10, 20, 40, 80, 120, 160, 320, 640, 1000],
};

/** Our build, optimizing included, is for this recall. */
const WANTED = { recall: 0.95, k: 10 };
/** Rows re-ranked for each of k, by partitions visited: about what `optimize` chooses. */
const oversampleOf = (probes) => Math.round(1.3 * Math.sqrt(probes));

const ENGINES = { halfspace, 'hnswlib-node': hnswlib, usearch };

/** The installed version, or null. */
export function versionOf(name) {
  const folder = name === 'halfspace' ? '../..' : `../node_modules/${name}`;
  const about = new URL(`${folder}/package.json`, import.meta.url);
  return existsSync(about) ? JSON.parse(readFileSync(about, 'utf8')).version : null;
}

/**
 * What each can: `build(vectors)` gives a graph, `save(graph, path)` writes it, `open(path, effort)`
 * gives a search of (query, k) and `rowsOf` the rows in its answer. A query is a vector that went
 * through `prepare`.
 */
export function openEngine(name, dimensions) {
  return ENGINES[name](dimensions, PARAMETERS[name]);
}

async function halfspace(dimensions, parameters) {
  let opened;
  return {
    build(vectors) {
      const index = new SimHashIndex({ ...parameters, dimensions });
      index.addAll(vectors);
      index.optimize(WANTED);
      return index;
    },
    save: (index, path) => writeFileSync(path, indexToArrow(index)),
    prepare: (vector) => vector,
    open(path, probes) {
      opened ??= indexFromArrow(readFileSync(path));
      const options = { method: 'partitions', probes, oversample: oversampleOf(probes) };
      return (query, k) => opened.search(query, { k, ...options });
    },
    rowsOf: ({ rows }) => Array.from(rows),
  };
}

async function hnswlib(dimensions, parameters) {
  const { HierarchicalNSW } = (await import('hnswlib-node')).default;
  let opened;
  return {
    build({ values }) {
      const graph = new HierarchicalNSW('cosine', dimensions);
      const maxElements = values.length / dimensions;
      graph.initIndex({ maxElements, ...parameters, randomSeed: 100 });
      for (let row = 0; row < maxElements; row++) {
        const vector = values.subarray(row * dimensions, (row + 1) * dimensions);
        graph.addPoint(Array.from(vector), row);
      }
      return graph;
    },
    save: (graph, path) => graph.writeIndexSync(path),
    /** It takes plain arrays only. */
    prepare: (vector) => Array.from(vector),
    open(path, ef) {
      if (opened === undefined) {
        opened = new HierarchicalNSW('cosine', dimensions);
        opened.readIndexSync(path);
      }
      opened.setEf(ef);
      return (query, k) => opened.searchKnn(query, k);
    },
    rowsOf: ({ neighbors }) => neighbors,
  };
}

async function usearch(dimensions, parameters) {
  const { Index, MetricKind, ScalarKind } = await import('usearch');
  const options = { dimensions, metric: MetricKind.Cos, quantization: ScalarKind.F32 };
  return {
    build({ values }) {
      const graph = new Index({ ...options, ...parameters });
      const count = values.length / dimensions;
      const keys = BigUint64Array.from({ length: count }, (_, row) => BigInt(row));
      graph.add(keys, values, 1);
      return graph;
    },
    save: (graph, path) => graph.save(path),
    prepare: (vector) => vector,
    /** From Node, the width can only be set on a new index. */
    open(path, ef) {
      const graph = new Index({ ...options, ...parameters, expansion_search: ef });
      graph.load(path);
      return (query, k) => graph.search(query, k, 1);
    },
    rowsOf: ({ keys }) => Array.from(keys, Number),
  };
}
