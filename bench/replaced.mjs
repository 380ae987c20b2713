// What do the methods cost that halfspace replaces, as dimensions grow? Sparse vectors of 200 entries to
// 64 bits: hashed patterns, f stored Gaussian vectors, one hash a bit. Each in a process of its own.

import { freemem } from 'node:os';
import { fileURLToPath } from 'node:url';
import { SimHasher } from '../dist/index.js';
import { answer, inChild, request, resident } from './lib/child.mjs';
import { firstRows, sparseRows } from './lib/random.mjs';
import { hashRows, PerBitHash, StoredGaussian } from './lib/references.mjs';
import { announce, bytesText, printTable, short, span, times } from './lib/table.mjs';
import { pace, race, timed } from './lib/timing.mjs';

const BITS = 64;
const SEED = 7;
const ENTRIES = 200;
const ROWS = 2000;
/** Beyond it the size is computed, not taken. */
const MOST_BYTES = Math.min(8 * 2 ** 30, freemem() / 2);
const METHODS = {
  halfspace: () => {
    const hasher = new SimHasher({ bits: BITS, seed: SEED });
    return (vectors, count) => hasher.hashAll(firstRows(vectors, count)).bytes;
  },
  'stored Gaussian vectors': (dimensions) => {
    const stored = new StoredGaussian({ dimensions, bits: BITS, seed: SEED });
    return (vectors, count) => hashRows(stored, vectors, count);
  },
  'one hash a bit': () => {
    const perBit = new PerBitHash({ bits: BITS, seed: SEED });
    return (vectors, count) => hashRows(perBit, vectors, count);
  },
};

/** In a child: time to set up, memory that the method adds and holds, time of a vector. */
async function measure({ entry, dimensions }) {
  const vectors = sparseRows(ROWS, ENTRIES, dimensions, SEED);
  const before = resident();
  const start = performance.now();
  const hash = METHODS[entry](dimensions);
  const setupMs = performance.now() - start;
  hash(vectors, 2);
  const after = resident();
  const { count } = pace((rows) => hash(vectors, rows), ROWS);
  const [{ ms, low, high }] = await race([{ run: timed(() => hash(vectors, count)) }], 8);
  const micros = [ms, low, high].map((one) => (1000 * one) / count);
  return { setupMs, added: after - before, micros };
}

const asked = request();
if (asked !== undefined) answer(await measure(asked));
else {
  await announce();
  const rows = [];
  for (const dimensions of [1e3, 1e4, 1e5, 1e6, 1e7, 1e8]) {
    let ours;
    for (const entry of Object.keys(METHODS)) {
      const planes = entry === 'stored Gaussian vectors' ? dimensions * BITS * 4 : 0;
      const cells = [dimensions.toLocaleString('en-US'), entry, bytesText(planes)];
      if (planes > MOST_BYTES) {
        rows.push([...cells, 'not run', '', '', '', '']);
        continue;
      }
      const result = inChild(fileURLToPath(import.meta.url), { entry, dimensions });
      const { setupMs, added, micros } = result;
      const [middle, low, high] = micros;
      ours ??= middle;
      rows.push([...cells, bytesText(added), short(setupMs), short(middle)]);
      rows.at(-1).push(span({ low, high }), times(middle / ours));
    }
  }
  printTable(
    `Sparse vectors of ${ENTRIES} entries to ${BITS} bits`,
    [
      ...['dimensions', 'method', 'planes, computed', 'rss added', 'ms to set up'],
      ...['µs a vector', 'p10..p90', 'this / ours'],
    ],
    rows,
    2,
  );
  console.log('\nrss added: measured; it moves by up to some MB by itself.');
}
