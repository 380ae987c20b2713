// One engine in its own process, which answers requests to build, open and search. Memory is what the
// process has gained since the data were loaded: the caller's copy of the vectors is not in it, the
// engine's own copy is.

import { resident } from './child.mjs';
import { truthOf, vectorsOf } from './data-sets.mjs';
import { ENGINES } from './engines.mjs';
import { serve } from './json-child.mjs';

/** Queries whose times do not count: after the turns of others, caches are cold. */
const WARM_UP = 30;

let state;
await serve({ build, open, search });

async function build({ set, engine: name, parameters, path }) {
  const train = vectorsOf(set, 'train');
  const engine = await ENGINES[name](train.dimensions, parameters);
  const before = resident();
  const start = performance.now();
  const startCpu = process.cpuUsage();
  const index = engine.build(train);
  const seconds = (performance.now() - start) / 1000;
  const { user, system } = process.cpuUsage(startCpu);
  const bytes = resident() - before;
  engine.save(index, path);
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
  const index = engine.open(path);
  const seconds = (performance.now() - start) / 1000;
  state = { engine, index, queries, all: { values, dimensions }, truth, k };
  return { seconds, bytes: resident() - before };
}

/** Speed of `count` queries from the `first` on, one by one, or of all in one call; recall of these. */
function search({ effort, isBatch, first, count }) {
  const { engine, index, queries, all, truth, k } = state;
  const { one, many } = engine.search(index, effort, k);
  for (let i = 0; i < WARM_UP; i++) one(queries[i]);
  const some = isBatch ? queries : queries.slice(first, first + count);
  const found = [];
  const start = performance.now();
  if (isBatch) found.push(...many(all));
  else for (const query of some) found.push(one(query));
  const seconds = (performance.now() - start) / 1000;
  let hits = 0;
  found.forEach((result, i) => {
    const near = truth[isBatch ? i : first + i];
    for (const row of engine.rowsOf(result)) if (near.includes(row)) hits++;
  });
  return { perSecond: some.length / seconds, recall: hits / (k * some.length) };
}
