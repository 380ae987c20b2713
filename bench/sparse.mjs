// How fast do sparse vectors of 200 entries become codes? 'signs' and 'gaussian' next to their scalar
// kernels, the two methods that they replace, and the same codes as one writes them from npm packages.

import { SimHasher } from '../dist/index.js';
import { firstRows, sparseRows } from './lib/random.mjs';
import { hashRows, PerBitHash, StoredGaussian } from './lib/references.mjs';
import { PerBitMurmur, WordHash } from './lib/sign-hashes.mjs';
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

const ROWS = 10_000;
const ENTRIES = 200;
const DIMENSIONS = 100_000;
const SEED = 7;

await announce();
const vectors = sparseRows(ROWS, ENTRIES, DIMENSIONS, SEED);
const rows = [];
const marks = [];

for (const bits of [64, 256]) {
  const hasher = (projection, kernel) => {
    const simhash = new SimHasher({ bits, seed: SEED, projection, kernel });
    return (count) => simhash.hashAll(firstRows(vectors, count)).bytes;
  };
  const reference = (Reference) => {
    const entry = new Reference({ bits, seed: SEED, dimensions: DIMENSIONS });
    return (count) => hashRows(entry, vectors, count);
  };
  const entries = [
    { name: "halfspace 'signs'", hash: hasher('signs') },
    { name: "scalar kernel 'signs'", hash: hasher('signs', 'scalar') },
    { name: "halfspace 'gaussian'", hash: hasher('gaussian') },
    { name: "scalar kernel 'gaussian'", hash: hasher('gaussian', 'scalar') },
    {
      name: 'stored Gaussian vectors',
      hash: reference(StoredGaussian),
      bytes: DIMENSIONS * bits * 4,
    },
    { name: 'one xxHash64 a bit', hash: reference(PerBitHash) },
    { name: 'one 32-bit hash a bit', hash: reference(PerBitMurmur) },
    { name: "'signs' by xxhash-wasm", hash: reference(WordHash) },
  ];
  const codesOf = (name) => String(entries.find((entry) => entry.name === name).hash(20));
  mustHold(
    codesOf("halfspace 'signs'") === codesOf("scalar kernel 'signs'"),
    'scalar kernel of signs',
  );
  mustHold(codesOf("halfspace 'signs'") === codesOf("'signs' by xxhash-wasm"), 'xxhash-wasm');
  mustHold(codesOf("halfspace 'gaussian'") === codesOf("scalar kernel 'gaussian'"), 'gaussians');

  const results = await race(
    entries.map((entry) => {
      const { count, isSlow } = pace(entry.hash, ROWS);
      return { ...entry, count, isSlow, run: timed(() => entry.hash(count)) };
    }),
    8,
  );
  // Million entries a second.
  const rate = (ms, count) => (count * ENTRIES) / ms / 1000;
  const [ours] = results.map(({ ms, count }) => rate(ms, count));
  for (const { name, bytes = 0, count, ms, low, high } of results) {
    const speed = rate(ms, count);
    const spread = span({ low: rate(high, count), high: rate(low, count) });
    const micros = short((ms / count) * 1000);
    rows.push([bits, name, short(speed), spread, micros, bytesText(bytes), times(ours / speed)]);
  }
  if (bits === 64) {
    const [, scalar] = results.map(({ ms, count }) => rate(ms, count));
    marks.push(["million entries/s, 64 bits 'signs'", ours, { least: 40 }]);
    marks.push(["speed of the scalar kernel, 64 bits 'signs'", ours / scalar, { least: 5 }]);
  }
}
printTable(
  `Sparse vectors of ${ENTRIES} entries among ${short(DIMENSIONS)} dimensions`,
  [
    'bits',
    'method',
    'million entries/s',
    'p10..p90',
    'µs a vector',
    'planes held',
    "ours 'signs' / this",
  ],
  rows,
  2,
);
for (const one of marks) mark(...one);
