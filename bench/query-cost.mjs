// What does one query of an optimized index cost, stage by stage? Microseconds, the share of the whole,
// and a floor: the larger of bytes over bandwidth and SIMD instructions over their rate (of routing, the
// latter alone: caches hold centroids). Queries differ, so that caches are as cold as in use; of each
// query and stage the fastest of several rounds counts, since other work disturbs some. Numbers on the
// command line choose among the dimensions.

import { fromSource } from './lib/from-source.mjs';
import { generator } from './lib/random.mjs';
import { announce, printTable, short } from './lib/table.mjs';

const { SimHashIndex, partsOf, queryOf, exactBest, runSteps } = await fromSource(`
  export { SimHashIndex, partsOf } from '../../src/index/simhash-index';
  export { runSteps } from '../../src/base/steps';
  export { queryOf } from '../../src/index/query';
  export { exactBest } from '../../src/index/re-rank';
`);

const BITS = 256;
const K = 10;
const QUERIES = 200;
const ROUNDS = 15;
/** Five stages, and the whole search. */
const STAGES = 6;
const WHOLE = 5;
const SHAPES = [
  { dimensions: 100, count: 100_000, partitions: 1024, probes: 64, oversample: 12 },
  { dimensions: 384, count: 40_000, partitions: 1024, probes: 24, oversample: 5 },
  { dimensions: 784, count: 20_000, partitions: 1024, probes: 24, oversample: 5 },
  { dimensions: 1536, count: 10_000, partitions: 512, probes: 24, oversample: 5 },
];
/** SIMD instructions a microsecond: three a cycle at 3 GHz. */
const RATE = 9000;

await announce();
const bandwidth = bytesAMicrosecond();
const asked = process.argv.slice(2).map(Number);
const shapes = SHAPES.filter((shape) => asked.length === 0 || asked.includes(shape.dimensions));
const table = shapes.flatMap(costsOf);
printTable(
  `One query, k ${K}: microseconds by stage (floors at ${short(bandwidth / 1000)} GB/s)`,
  ['dimensions', 'stage', 'us', 'share', 'floor, us'],
  table,
  2,
);

function costsOf({ dimensions, count, partitions: wanted, probes, oversample }) {
  const { rows, queries } = clustered(count, dimensions);
  const options = { bits: BITS, projection: 'hadamard', dimensions, vectors: 'float32' };
  const index = new SimHashIndex(options);
  index.addAll(rows);
  index.optimize({ partitions: wanted, queries: 200, recall: 0.9, k: K });
  const parts = partsOf(index);
  const { partitions } = parts;
  if (partitions === null) throw new Error(`no partitions of ${count} x ${dimensions}`);
  const want = K * oversample;
  const setting = { k: K, method: 'partitions', probes, oversample };
  const seen = { codes: 0, ranked: 0 };

  /**
   * The times of the stages of a search. Partitions route and score in one call, so that routing is
   * timed once more by itself and taken off that call's time.
   */
  function stagesOf(query) {
    const clocks = [performance.now()];
    const lap = () => clocks.push(performance.now()) && clocks.at(-1) - clocks.at(-2);
    const ready = queryOf(parts, query);
    const point = partitions.space.queryOf([], ready.unit);
    const made = lap();
    partitions.residualCodes.tablesOf(ready.unit);
    const tables = lap();
    partitions.nearest({ point, unit: ready.unit }, probes);
    const route = lap();
    const weighed = runSteps(
      partitions.weighResiduals({ point, unit: ready.unit }, probes, want),
      {},
    );
    // The tables of this query are made already.
    const score = Math.max(0, lap() - route);
    const hits = weighed.search.hits();
    const select = lap();
    const work = { codesCompared: 0, candidates: 0, probes: 0 };
    const rowOf = (code) => parts.distinctCodes.rowOf(code);
    const estimateOf = (i) => 1 - hits.weights[i] / 2048;
    const found = { ...hits, rowOf, estimateOf, error: partitions.error };
    runSteps(exactBest(parts, ready, found, K, work), {});
    const ranking = lap();
    seen.codes += weighed.codes;
    seen.ranked += work.candidates;
    return [made + tables, route, score, select, ranking];
  }

  const fastest = queries.map(() => new Float64Array(STAGES).fill(Number.POSITIVE_INFINITY));
  for (let round = 0; round < ROUNDS; round++) {
    queries.forEach((query, q) => {
      stagesOf(query).forEach((time, i) => {
        fastest[q][i] = Math.min(fastest[q][i], time);
      });
    });
    queries.forEach((query, q) => {
      const start = performance.now();
      index.search(query, setting);
      fastest[q][WHOLE] = Math.min(fastest[q][WHOLE], performance.now() - start);
    });
  }
  const lowest = Array.from({ length: STAGES }, (_, i) =>
    fastest.reduce((sum, times) => sum + (1000 * times[i]) / QUERIES, 0),
  );
  const [prepare, route, score, select, ranking, whole] = lowest;
  const result = Math.max(0, whole - prepare - route - score - select - ranking);
  const codes = seen.codes / (ROUNDS * QUERIES);
  const ranked = seen.ranked / (ROUNDS * QUERIES);
  const width = partitions.space.width;
  const size = 2 ** Math.ceil(Math.log2(Math.max(128, dimensions)));
  const floors = [
    // Transforms of the code and of the residual codes' rotation, two additions an instruction.
    floor(8 * dimensions, (4 * Math.ceil(BITS / size) + 8) * (size / 2) * Math.log2(size)),
    // Products of values, or codes of two bits a value and products with four candidates a probe.
    partitions.routing.isCoded(probes)
      ? floor(0, (partitions.count * (width / 4) * 10) / 16 + (4 * probes * width * 3) / 8)
      : floor(0, (partitions.count * width * 3) / 8),
    // Of the first halves of residual codes: the second of few rows are looked at.
    floor(codes * (width / 8 + 4), (codes * (width / 8) * 10) / 16),
    floor(8 * want, 2 * want),
    floor(4 * ranked * dimensions, (ranked * dimensions * 4) / 2),
    floor(32 * K, 32 * K),
  ];
  const names = ['prepare', 'route', 'score', 'select', 're-rank', 'result'];
  const costs = [prepare, route, score, select, ranking, result];
  const lines = names.map((name, i) => [
    ...[dimensions, name, short(costs[i]), short(costs[i] / whole), short(floors[i])],
  ]);
  const fixed = prepare + route + select + result;
  return [
    ...lines,
    [dimensions, 'all', short(whole), '1', short(floors.reduce((sum, one) => sum + one))],
    [dimensions, 'without score and re-rank', short(fixed), short(fixed / whole), ''],
  ];
}

function floor(bytes, instructions) {
  return Math.max(bytes / bandwidth, instructions / RATE);
}

/** Bytes that a copy of what no cache holds reads and writes. */
function bytesAMicrosecond() {
  const [from, to] = [new Uint8Array(2 ** 27).fill(1), new Uint8Array(2 ** 27)];
  let most = 0;
  for (let round = 0; round < 5; round++) {
    const start = performance.now();
    to.set(from);
    most = Math.max(most, (2 * from.length) / (1000 * (performance.now() - start)));
  }
  return most;
}

/** Rows around 200 centres, with less and less variance by dimension, as images have. */
function clustered(count, dimensions) {
  const { below, normal } = generator(dimensions);
  const spread = Float64Array.from({ length: dimensions }, (_, i) => 1 / (1 + i / 16));
  const centres = Float64Array.from({ length: 200 * dimensions }, normal);
  const draw = (rows) => {
    const values = new Float32Array(rows * dimensions);
    for (let at = 0; at < values.length; at += dimensions) {
      const centre = dimensions * below(200);
      for (let i = 0; i < dimensions; i++) {
        values[at + i] = (centres[centre + i] + normal()) * spread[i];
      }
    }
    return values;
  };
  const asked = draw(QUERIES);
  return {
    rows: draw(count),
    queries: Array.from({ length: QUERIES }, (_, i) =>
      asked.subarray(i * dimensions, (i + 1) * dimensions),
    ),
  };
}
