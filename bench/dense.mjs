// How fast do dense vectors become codes? The three projections next to their scalar kernels, stored
// Gaussian vectors in JavaScript, and NumPy's and FAISS's matrix products on one thread.

import { Codes, SimHasher } from '../dist/index.js';
import { openPython } from './lib/python.mjs';
import { pairedVectors } from './lib/random.mjs';
import { StoredGaussian } from './lib/references.mjs';
import {
  announce,
  bytesText,
  mark,
  mustHold,
  printTable,
  short,
  span,
  times,
} from './lib/table.mjs';
import { pace, race, timed } from './lib/timing.mjs';

const SEED = 7;
const SHAPES = [
  { dimensions: 384, bits: 384, most: 8192 },
  { dimensions: 100, bits: 256, most: 16_384 },
  { dimensions: 1536, bits: 1024, most: 1024 },
];
/** Pairs at 60 degrees whose share of differing bits is checked for every entry. */
const CHECKED_PAIRS = 128;

const python = await openPython();
await announce(python);
const rows = [];
const marks = [];

for (const { dimensions, bits, most } of SHAPES) {
  const vectors = pairedVectors(most, dimensions, SEED);
  const first = (count) => ({ values: vectors.values.subarray(0, count * dimensions), dimensions });
  const hasher = (projection, kernel) => {
    const simhash = new SimHasher({ bits, seed: SEED, projection, kernel, dimensions });
    return (count) => simhash.hashAll(first(count)).bytes;
  };
  const stored = new StoredGaussian({ dimensions, bits, seed: SEED });
  const hashStored = (count) => {
    const codes = new Uint8Array((count * bits) / 8);
    for (let row = 0; row < count; row++) {
      const code = stored.hash(vectors.values.subarray(row * dimensions, (row + 1) * dimensions));
      codes.set(code, row * code.length);
    }
    return codes;
  };
  const entries = ['hadamard', 'signs', 'gaussian'].flatMap((projection) => [
    { name: `halfspace '${projection}'`, hash: hasher(projection) },
    { name: `scalar kernel '${projection}'`, hash: hasher(projection, 'scalar'), isScalar: true },
  ]);
  for (let i = 0; i < entries.length; i += 2) {
    const [ours, scalar] = entries.slice(i, i + 2).map(({ hash }) => Buffer.from(hash(4)));
    mustHold(ours.equals(scalar), entries[i + 1].name);
  }
  entries.push({ name: 'stored Gaussian vectors', hash: hashStored, bytes: stored.byteLength });
  const contestants = entries.map((entry) => {
    const { count, isSlow } = pace(entry.hash, most);
    const share = entry.isScalar
      ? null
      : shareOfPairs(entry.name, entry.hash(2 * CHECKED_PAIRS), bits);
    return { ...entry, count, isSlow, share, run: timed(() => entry.hash(count)) };
  });
  if (python) contestants.push(...(await pythonWays(vectors, bits)));

  const results = await race(contestants, 8);
  const rate = (ms, count) => (count / ms) * 1000;
  const rateOf = (name) => {
    const { ms, count } = results.find((one) => one.name === name);
    return rate(ms, count);
  };
  const ours = rateOf("halfspace 'hadamard'");
  for (const { name, bytes = 0, share, count, ms, low, high } of results) {
    const spread = span({ low: rate(high, count), high: rate(low, count) });
    const cells = [
      name,
      short(rate(ms, count)),
      spread,
      bytesText(bytes),
      share?.toFixed(3) ?? 'as above',
    ];
    rows.push([`${dimensions} to ${bits}`, ...cells, times(ours / rate(ms, count))]);
  }
  if (dimensions === 384) {
    marks.push(["vectors/s, 384 to 384 bits 'hadamard'", ours, { least: 150_000 }]);
    marks.push([
      "speed of 'signs', 384 to 384 bits",
      ours / rateOf("halfspace 'signs'"),
      { least: 10 },
    ]);
  }
}
printTable(
  'Dense float32 vectors to bits',
  [
    'shape',
    'method',
    'vectors/s',
    'p10..p90',
    'planes held',
    'share at 60°',
    "ours 'hadamard' / this",
  ],
  rows,
  2,
);
for (const one of marks) mark(...one);
python?.close();

async function pythonWays({ values, dimensions }, bits) {
  const count = values.length / dimensions;
  const { bytes } = await python.ask('vectors', { vectors: values, dimensions, bits, seed: SEED });
  const names = { numpy: 'NumPy product, packbits', faiss: 'FAISS IndexLSH, rotated' };
  const entries = [];
  for (const [engine, name] of Object.entries(names)) {
    const encoded = await python.encode(engine, 2 * CHECKED_PAIRS);
    const share = shareOfPairs(name, encoded.bytes, bits);
    const run = async () => (await python.ask('encode', { engine, count })).ms;
    entries.push({ name, count, bytes, share, run });
  }
  return entries;
}

/** Of pairs at 60 degrees a third of the bits should differ; printed, and refused beyond 5 sigma. */
function shareOfPairs(name, bytes, bits) {
  const codes = Codes.from(bytes.subarray(0, (2 * CHECKED_PAIRS * bits) / 8), { bits });
  let differing = 0;
  for (let pair = 0; pair < CHECKED_PAIRS; pair++)
    differing += codes.distance(2 * pair, 2 * pair + 1);
  const tosses = CHECKED_PAIRS * bits;
  const sigma = Math.sqrt(2 / 9 / tosses);
  mustHold(Math.abs(differing / tosses - 1 / 3) < 5 * sigma, `${name} does not measure angles`);
  return differing / tosses;
}
