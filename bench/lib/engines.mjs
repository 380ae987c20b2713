// Our index and the rivals of npm, each used as it documents itself: rows by cosine, built on one
// thread, saved, read again, searched with an effort.

import { readFileSync, writeFileSync } from 'node:fs';
import { indexFromArrow, indexToArrow, SimHashIndex } from '../../dist/index.js';

/** Our build, optimizing included, is for this recall. */
const WANTED = { recall: 0.95, k: 10 };

/**
 * `build(vectors)` gives an index, `save(index, path)` writes it and `open(path)` reads it. `search`
 * takes the index and an effort and gives `{ one, many }`: the neighbors of a query that went through
 * `prepare`, and of all queries in one call; `rowsOf` gives the rows of what `one` found, or of one
 * of those that `many` found.
 */
export const ENGINES = { halfspace, hnswlib, usearch };

async function halfspace(dimensions, parameters) {
  return {
    build(vectors) {
      const index = new SimHashIndex({ ...parameters, dimensions });
      index.addAll(vectors);
      const start = performance.now();
      index.optimize(WANTED);
      return { index, optimizeSeconds: (performance.now() - start) / 1000 };
    },
    save: ({ index }, path) => writeFileSync(path, indexToArrow(index)),
    open: (path) => indexFromArrow(readFileSync(path)),
    prepare: (vector) => vector,
    search(index, effort, k) {
      const options = { k, method: 'partitions', ...effort };
      return {
        one: (query) => index.search(query, options),
        many: (queries) => index.searchAll(queries, options),
      };
    },
    rowsOf: ({ rows }) => Array.from(rows),
  };
}

async function hnswlib(dimensions, parameters) {
  const { HierarchicalNSW } = (await import('hnswlib-node')).default;
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
    open(path) {
      const graph = new HierarchicalNSW('cosine', dimensions);
      graph.readIndexSync(path);
      return graph;
    },
    /** It takes plain arrays only. */
    prepare: (vector) => Array.from(vector),
    search(graph, { ef }, k) {
      graph.setEf(ef);
      return { one: (query) => graph.searchKnn(query, k) };
    },
    rowsOf: ({ neighbors }) => neighbors,
  };
}

async function usearch(dimensions, parameters) {
  const { Index, MetricKind, ScalarKind } = await import('usearch');
  const options = { dimensions, metric: MetricKind.Cos, quantization: ScalarKind.F32 };
  let [opened, openedEf] = [];
  return {
    build({ values }) {
      const graph = new Index({ ...options, ...parameters });
      const count = values.length / dimensions;
      const keys = BigUint64Array.from({ length: count }, (_, row) => BigInt(row));
      graph.add(keys, values, 1);
      return graph;
    },
    save: (graph, path) => graph.save(path),
    open: (path) => path,
    prepare: (vector) => vector,
    /** From Node, the width can only be set on a new index. */
    search(path, { ef }, k) {
      if (ef !== openedEf) {
        opened = new Index({ ...options, ...parameters, expansion_search: ef });
        opened.load(path);
        openedEf = ef;
      }
      return { one: (query) => opened.search(query, k, 1) };
    },
    rowsOf: ({ keys }) => Array.from(keys, Number),
  };
}
