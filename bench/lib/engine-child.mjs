// One engine in its own process, which answers requests to build, open and search. Memory is what the
// process has gained since the data were loaded: the caller's copy of the vectors is not in it, the
// engine's own copy is.

import { readFileSync, writeFileSync } from 'node:fs';
import { indexFromArrow, indexToArrow, SimHashIndex } from '../../dist/index.js';
import { resident } from './bench.mjs';
import { truthOf, vectorsOf } from './data-sets.mjs';
import { serve } from './python.mjs';

let state;

async function build({ set, engine: name, parameters, path }) {
  const train = vectorsOf(set, 'train');
  const engine = await ENGINES[name](train.dimensions, parameters);
  const before = resident();
  const start = performance.now();
  const startCpu = process.cpuUsage();
  const index = await engine.build(train);
  const seconds = (performance.now() - start) / 1000;
  const { user, system } = process.cpuUsage(startCpu);
  const bytes = resident() - before;
  await engine.save(index, path);
  const { optimizeSeconds } = index;
  return { seconds, cpuSeconds: (user + system) / 1e6, bytes, optimizeSeconds };
}

async function open({ set, engine: name, parameters, path, k }) {
  const { values, dimensions } = vectorsOf(set, 'queries');
  const truth = truthOf(set, k);
  const engine = await ENGINES[name](dimensions, parameters);
  const queries = truth.map((_, i) =>
    engine.prepare(values.subarray(i * dimensions, (i + 1) * dimensions)),
  );
  const before = resident();
  const start = performance.now();
  const index = await engine.open(path);
  const seconds = (performance.now() - start) / 1000;
  state = { engine, index, queries, all: { values, dimensions }, truth, k };
  return { seconds, bytes: resident() - before };
}

/**
 * Speed of `count` queries from the `first` on, one by one, or of all in one call; recall of these.
 * They are asked twice and the second time counts: after the turns of others, caches are cold.
 */
async function search({ effort, isBatch, first, count }) {
  const { engine, index, queries, all, truth, k } = state;
  const { one, many } = await engine.search(index, effort, k);
  const some = isBatch ? queries : queries.slice(first, first + count);
  for (const query of some) await one(query);
  const found = [];
  const start = performance.now();
  if (isBatch) found.push(...(await many(all)));
  else for (const query of some) found.push(await one(query));
  const seconds = (performance.now() - start) / 1000;
  let hits = 0;
  found.forEach((result, i) => {
    const near = truth[isBatch ? i : first + i];
    for (const row of engine.rowsOf(result)) if (near.includes(row)) hits++;
  });
  return { perSecond: some.length / seconds, recall: hits / (k * some.length) };
}

// --- Our index and the rivals of npm, each used as it documents itself.

/** Our build, optimizing included, is for this recall; other efforts are optimized for others. */
const WANTED = { recall: 0.95, k: 10 };

/**
 * `build(vectors)` gives an index, `save(index, path)` writes it and `open(path)` reads it. `search`
 * takes the index and an effort and gives `{ one, many }`: the neighbors of a query that went through
 * `prepare`, and of all queries in one call; `rowsOf` gives the rows of what `one` found, or of one
 * of those that `many` found.
 */
const ENGINES = { halfspace, hnswlib, usearch };

async function halfspace(dimensions, parameters) {
  return {
    async build(vectors) {
      const index = new SimHashIndex({ ...parameters, dimensions });
      await index.addAll(vectors);
      const start = performance.now();
      await index.optimize(WANTED);
      return { index, optimizeSeconds: (performance.now() - start) / 1000 };
    },
    save: ({ index }, path) => writeFileSync(path, indexToArrow(index)),
    open: (path) => ({
      path,
      byRecall: new Map([[WANTED.recall, indexFromArrow(readFileSync(path))]]),
    }),
    prepare: (vector) => vector,
    async search({ path, byRecall }, { recall }, k) {
      if (!byRecall.has(recall)) {
        const other = indexFromArrow(readFileSync(path));
        await other.optimize({ ...WANTED, recall });
        byRecall.set(recall, other);
      }
      const index = byRecall.get(recall);
      const options = { k };
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

await serve({ build, open, search });
