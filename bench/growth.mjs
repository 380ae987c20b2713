// Does time grow in proportion to rows and to entries? Shown by the exponent of a fit, over two decades
// or more, after the fit has refused a function that is quadratic.

import {
  Codes,
  codesFromArrow,
  codesToArrow,
  hammingDistance,
  SimHasher,
  scan,
} from '../dist/index.js';
import { firstRows, pairedVectors, sparseRows, uniformCodes } from './lib/random.mjs';
import { announce, mustHold, printTable, short } from './lib/table.mjs';
import { summary, timed } from './lib/timing.mjs';

/** Linear up to here: caches that run over add a little, a quadratic function is at 2. */
const MOST = 1.15;
const BITS = 256;

await announce();
const codes = uniformCodes(4_000_000, BITS, 7);
const query = uniformCodes(1, BITS, 8).at(0);
const few = uniformCodes(1600, BITS, 9);
const dense = pairedVectors(40_000, 384, 7);
const sparse = sparseRows(20_000, 200, 1_000_000, 7);
const firstCodes = (count) => Codes.from(codes.bytes.subarray(0, count * 32), { bits: BITS });
const firstDense = (count) => ({ values: dense.values.subarray(0, count * 384), dimensions: 384 });
const hasher = (projection, dimensions) =>
  new SimHasher({ bits: projection === 'signs' ? 64 : 384, projection, ...dimensions });
const signs = hasher('signs');
const hadamard = hasher('hadamard', { dimensions: 384 });

const FUNCTIONS = [
  {
    name: 'quadratic: all pairs of rows',
    sizes: spread(16, 1600),
    prepare: (count) => () => allPairs(count),
  },
  { name: 'scan, rows', sizes: spread(40_000, 4_000_000), prepare: prepareScan },
  {
    name: "hashAll 'hadamard' 384 to 384, rows",
    sizes: spread(100, 40_000),
    prepare: (count) => () => hadamard.hashAll(firstDense(count)),
  },
  {
    name: "hashAll 'signs' 384 to 64, rows",
    sizes: spread(100, 10_000),
    prepare: (count) => () => signs.hashAll(firstDense(count)),
  },
  {
    name: "hashAll 'signs' sparse, rows of 200 entries",
    sizes: spread(100, 20_000),
    prepare: (count) => () => signs.hashAll(firstRows(sparse, count)),
  },
  {
    name: "hash 'signs' sparse, entries of one vector",
    sizes: spread(5000, 1_000_000),
    prepare: prepareEntries,
  },
  { name: 'codesFromArrow, rows', sizes: spread(10_000, 2_000_000), prepare: prepareArrow },
];

const rows = [];
for (const { name, sizes, prepare } of FUNCTIONS) {
  const points = sizes.map((size) => ({ size, ms: timeOfCall(prepare(size)) }));
  const exponent = slope(points);
  const isLinear = exponent <= MOST;
  mustHold(rows.length > 0 || !isLinear, 'the fit takes a quadratic function for a linear one');
  const [{ size: least, ms: leastMs }] = points;
  const { size: most, ms: mostMs } = points.at(-1);
  const ranges = [`${short(least)}..${short(most)}`, `${short(leastMs)}..${short(mostMs)}`];
  rows.push([name, ...ranges, exponent.toFixed(3), isLinear ? 'linear' : 'NOT linear']);
}
printTable(
  `Growth: time ~ size^exponent, linear up to ${MOST}`,
  ['what', 'sizes', 'ms', 'exponent', 'verdict'],
  rows,
);

function prepareScan(count) {
  const some = firstCodes(count);
  return () => scan(some, query);
}

function prepareArrow(count) {
  const file = codesToArrow(firstCodes(count));
  return () => codesFromArrow(file);
}

function prepareEntries(entries) {
  const indices = Uint32Array.from({ length: entries }, (_, i) => 4 * i);
  const vector = { indices, values: sparse.values.subarray(0, entries) };
  return () => signs.hash(vector);
}

function allPairs(count) {
  let sum = 0;
  for (let a = 0; a < count; a++) {
    for (let b = 0; b < a; b++) sum += hammingDistance(few.at(a), few.at(b));
  }
  return sum;
}

/** Seven sizes, each the same multiple of the one before. */
function spread(least, most) {
  return Array.from({ length: 7 }, (_, i) => Math.round(least * (most / least) ** (i / 6)));
}

/** Median time of a call; short calls are timed several at a time. */
function timeOfCall(work) {
  const run = timed(work);
  for (const start = performance.now(); performance.now() - start < 100; ) run();
  const once = run();
  const calls = Math.max(1, Math.ceil(2 / once));
  const samples = Array.from({ length: 7 }, () => {
    let ms = 0;
    for (let i = 0; i < calls; i++) ms += run();
    return ms / calls;
  });
  return summary(samples).ms;
}

/** Least squares of log time on log size. */
function slope(points) {
  const xs = points.map(({ size }) => Math.log(size));
  const ys = points.map(({ ms }) => Math.log(ms));
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [x, y] = [mean(xs), mean(ys)];
  const across = xs.reduce((sum, value, i) => sum + (value - x) * (ys[i] - y), 0);
  return across / xs.reduce((sum, value) => sum + (value - x) ** 2, 0);
}
