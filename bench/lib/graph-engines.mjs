// The rivals that search by graphs (HNSW, Malkov & Yashunin 2016), each used as it documents itself:
// a graph of rows by cosine, made on one thread, saved, read again, searched with a width `ef`.

import { existsSync, readFileSync } from 'node:fs';

export const PARAMETERS = {
  'hnswlib-node': { m: 16, efConstruction: 200 },
  // expansion_add is usearch's own default, written out.
  usearch: { connectivity: 16, expansion_add: 128 },
};

const ENGINES = { 'hnswlib-node': hnswlib, usearch };

/** The installed version, or null. */
export function versionOf(name) {
  const about = new URL(`../node_modules/${name}/package.json`, import.meta.url);
  return existsSync(about) ? JSON.parse(readFileSync(about, 'utf8')).version : null;
}

/**
 * What each can: `build(vectors)` gives a graph, `save(graph, path)` writes it, `open(path, ef)`
 * gives a search of (query, k) and `rowsOf` the rows in its answer. A query is a vector that went
 * through `prepare`.
 */
export function openEngine(name, dimensions) {
  return ENGINES[name](dimensions, PARAMETERS[name]);
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
