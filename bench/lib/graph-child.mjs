// The measurements of one graph, in a process of their own. Memory is what the process has gained
// since the data were loaded: the caller's copy of the vectors is not in it, the graph's own copy
// is, since a graph cannot be searched without one.

import { answer, request, resident } from './child.mjs';
import { gloveTruth, gloveVectors } from './glove.mjs';
import { openEngine } from './graph-engines.mjs';
import { summary, timed } from './timing.mjs';

const K = 10;
const PASSES = 3;

const { verb, name, path, efforts } = request();
answer(await { build, search }[verb]());

async function build() {
  const train = gloveVectors('train');
  const engine = await openEngine(name, train.dimensions);
  const before = resident();
  const start = performance.now();
  const startCpu = process.cpuUsage();
  const graph = engine.build(train);
  const seconds = (performance.now() - start) / 1000;
  const { user, system } = process.cpuUsage(startCpu);
  const bytes = resident() - before;
  engine.save(graph, path);
  return { seconds, cpuSeconds: (user + system) / 1e6, bytes };
}

async function search() {
  const { values, dimensions } = gloveVectors('queries');
  const truth = gloveTruth(K);
  const engine = await openEngine(name, dimensions);
  const queries = truth.map((_, i) =>
    engine.prepare(values.subarray(i * dimensions, (i + 1) * dimensions)),
  );
  const before = resident();
  let bytes;
  const points = efforts.map((effort) => {
    globalThis.gc(); // a graph that was opened for another width
    const find = engine.open(path, effort);
    // The first pass, with cold caches, does not count for time.
    const found = queries.map((query) => engine.rowsOf(find(query, K)));
    bytes ??= resident() - before;
    const pass = timed(() => {
      let last;
      for (const query of queries) last = find(query, K);
      return last;
    });
    const { ms } = summary(Array.from({ length: PASSES }, pass));
    return { effort, recall: recall(found, truth), perSecond: (1000 * queries.length) / ms };
  });
  return { bytes, points };
}

function recall(found, truth) {
  const hits = found.map((rows, i) => rows.filter((row) => truth[i].includes(row)).length);
  return hits.reduce((sum, one) => sum + one, 0) / (K * truth.length);
}
