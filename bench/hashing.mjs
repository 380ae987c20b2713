// How fast do vectors become codes? Sparse vectors of 200 entries and dense ones, by each projection,
// next to stored Gaussian vectors, and NumPy's and FAISS's products on one thread.

import { Codes, SimHasher } from '../dist/index.js';
import {
  announce,
  bytesText,
  mustHold,
  pace,
  printTable,
  race,
  short,
  sized,
  span,
  timed,
} from './lib/bench.mjs';
import { openPython } from './lib/python.mjs';
import { generator, pairedVectors, sparseRows } from './lib/random.mjs';

const SEED = 7;
const SPARSE = { rows: sized(10_000, 300), entries: 200, dimensions: 100_000 };
const DENSE = [
  { dimensions: 384, bits: 384, most: sized(8192, 256) },
  { dimensions: 100, bits: 256, most: sized(16_384, 256) },
  { dimensions: 1536, bits: 1024, most: sized(1024, 256) },
];
/** Pairs at 60 degrees, a third of whose bits should differ. */
const PAIRS = 128;

const python = await openPython();
await announce(python);
await sparse();
await dense();
python?.close();

async function sparse() {
  const { rows, entries, dimensions } = SPARSE;
  const vectors = sparseRows(rows, entries, dimensions, SEED);
  const first = (count) => ({ ...vectors, offsets: vectors.offsets.subarray(0, count + 1) });
  const lines = [];
  for (const bits of [64, 256]) {
    const contestants = contestantsOf(['signs', 'gaussian'], { bits }, first);
    contestants.push(
      storedGaussian(dimensions, bits, (count, add) => {
        for (let row = 0; row < count; row++) {
          for (let i = vectors.offsets[row]; i < vectors.offsets[row + 1]; i++) {
            add(row, vectors.indices[i], vectors.values[i]);
          }
        }
      }),
    );
    const rate = (ms, count) => (count * entries) / ms / 1000;
    lines.push(...(await raced(contestants, rows, rate)).map((line) => [bits, ...line]));
  }
  printTable(
    `Sparse vectors of ${entries} entries among ${short(dimensions)} dimensions`,
    ['bits', 'method', 'million entries/s', 'p10..p90', 'planes held'],
    lines,
    2,
  );
}

async function dense() {
  const lines = [];
  for (const { dimensions, bits, most } of DENSE) {
    const { values } = pairedVectors(most, dimensions, SEED);
    const first = (count) => ({ values: values.subarray(0, count * dimensions), dimensions });
    const projections = ['hadamard', 'signs', 'gaussian'];
    const contestants = contestantsOf(projections, { bits, dimensions }, first);
    contestants.push(
      storedGaussian(dimensions, bits, (count, add) => {
        for (let row = 0; row < count; row++) {
          for (let i = 0; i < dimensions; i++) add(row, i, values[row * dimensions + i]);
        }
      }),
    );
    for (const { name, hash } of contestants) checkAngles(name, await hash(2 * PAIRS), bits);
    if (python) contestants.push(...(await pythonMethods(values, dimensions, bits)));
    const rate = (ms, count) => (count / ms) * 1000;
    const results = await raced(contestants, most, rate);
    lines.push(...results.map((line) => [`${dimensions} to ${bits}`, ...line]));
  }
  printTable(
    'Dense float32 vectors to bits',
    ['shape', 'method', 'vectors/s', 'p10..p90', 'planes held'],
    lines,
    2,
  );
}

function contestantsOf(projections, options, first) {
  return projections.map((projection) => {
    const hasher = new SimHasher({ ...options, seed: SEED, projection });
    const hash = async (count) => (await hasher.hashAll(first(count))).bytes;
    return { name: `'${projection}'`, hash };
  });
}

/** The usual method: a Gaussian vector for each bit, stored. `each` gives all entries of the rows. */
function storedGaussian(dimensions, bits, each) {
  const { normal } = generator(SEED);
  const planes = Float32Array.from({ length: dimensions * bits }, normal);
  const hash = (count) => {
    const sums = new Float64Array(count * bits);
    each(count, (row, dimension, value) => {
      const [to, from] = [row * bits, dimension * bits];
      for (let bit = 0; bit < bits; bit++) sums[to + bit] += planes[from + bit] * value;
    });
    const codes = new Uint8Array((count * bits) / 8);
    for (let i = 0; i < sums.length; i++) if (sums[i] > 0) codes[i >> 3] |= 1 << (i & 7);
    return codes;
  };
  return { name: 'stored Gaussian vectors', hash, bytes: planes.byteLength };
}

async function raced(contestants, most, rate) {
  const paced = [];
  for (const one of contestants) {
    if (one.run) paced.push(one);
    else {
      const { count, isSlow } = await pace(one.hash, most);
      paced.push({ ...one, count, isSlow, run: timed(() => one.hash(count)) });
    }
  }
  return (await race(paced, 8)).map(({ name, bytes = 0, count, ms, low, high }) => {
    const spread = span({ low: rate(high, count), high: rate(low, count) });
    return [name, short(rate(ms, count)), spread, bytesText(bytes)];
  });
}

async function pythonMethods(values, dimensions, bits) {
  const count = values.length / dimensions;
  const { bytes } = await python.ask('vectors', { vectors: values, dimensions, bits, seed: SEED });
  const names = { numpy: 'NumPy product, packbits', faiss: 'FAISS IndexLSH, rotated' };
  const methods = [];
  for (const [engine, name] of Object.entries(names)) {
    checkAngles(name, (await python.encode(engine, 2 * PAIRS)).bytes, bits);
    const run = async () => (await python.ask('encode', { engine, count })).ms;
    methods.push({ name, count, bytes, run });
  }
  return methods;
}

/** Refuses a share of differing bits beyond five standard deviations of a third. */
function checkAngles(name, bytes, bits) {
  const codes = Codes.from(bytes.subarray(0, (2 * PAIRS * bits) / 8), { bits });
  let differing = 0;
  for (let pair = 0; pair < PAIRS; pair++) differing += codes.distance(2 * pair, 2 * pair + 1);
  const tosses = PAIRS * bits;
  const sigma = Math.sqrt(2 / 9 / tosses);
  mustHold(Math.abs(differing / tosses - 1 / 3) < 5 * sigma, `${name} does not measure angles`);
}
