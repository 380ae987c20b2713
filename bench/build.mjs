// Building an index larger than memory: time, peak resident memory, size of the folder, recall. Vectors are
// generated batch by batch, as in stored.mjs: cluster centroids, one for each 1,000 rows (at most 20,000),
// unit Gaussians in 384 dimensions of which the i-th is scaled by (i + 1)^-0.35, and rows near them at .7 of
// that noise, as sentence embeddings are. `node bench/build.mjs 1000000 1GB` (rows, limit of memory; then a
// folder to build in) prints one table. The time of the generator is shown apart.

import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { IndexFolder } from '../dist/node.js';
import { generator } from './lib/random.mjs';
import { announce, printTable } from './lib/table.mjs';

const ROWS = Number(process.argv[2] ?? 300_000);
const MEMORY = process.argv[3] ?? '1GB';
const DIMENSIONS = 384;
const STEP = 20_000;
/** Noise is drawn from a table: a million Gaussians, from a random place on. */
const NOISE = 2 ** 20;

await announce();
const folder = join(mkdtempSync(join(process.argv[4] ?? tmpdir(), 'halfspace-build-')), 'rows.hs');
let generatorMs = 0;
const start = performance.now();
const index = await IndexFolder.build(folder, batches(), {
  ...{ bits: 256, dimensions: DIMENSIONS, projection: 'hadamard', vectors: 'int8' },
  ...{ memory: MEMORY, expectedRows: ROWS, optimize: { recall: 0.95 } },
});
const seconds = (performance.now() - start - generatorMs) / 1000;
const { maxRSS } = process.resourceUsage(); // in KiB
const bytes = readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
const { report } = index;
printTable(
  `${ROWS} x ${DIMENSIONS}, int8, limit ${MEMORY}, recall .95 wanted`,
  [
    'build, s',
    'rows/s',
    'peak, MB',
    'folder, MB',
    'partitions',
    'probes',
    'recall',
    'generator, s',
  ],
  [
    [
      seconds.toFixed(1),
      Math.round(ROWS / seconds),
      Math.round(maxRSS / 1024),
      Math.round(bytes / 2 ** 20),
      report?.partitions ?? 0,
      report?.probes ?? 0,
      report?.recall.toFixed(3) ?? '',
      (generatorMs / 1000).toFixed(1),
    ],
  ],
);
rmSync(join(folder, '..'), { recursive: true });

function* batches() {
  const { normal: gaussian, below } = generator(1);
  const clusters = Math.min(20_000, Math.ceil(ROWS / 1000));
  const scale = Float32Array.from({ length: DIMENSIONS }, (_, i) => (i + 1) ** -0.35);
  const middles = Float32Array.from({ length: clusters * DIMENSIONS }, (_, i) => {
    return gaussian() * scale[i % DIMENSIONS];
  });
  const noise = Float32Array.from({ length: NOISE + DIMENSIONS }, () => 0.7 * gaussian());
  for (let first = 0; first < ROWS; first += STEP) {
    const begun = performance.now();
    const values = new Float32Array(Math.min(STEP, ROWS - first) * DIMENSIONS);
    for (let at = 0; at < values.length; at += DIMENSIONS) {
      const from = DIMENSIONS * below(clusters);
      const drawn = below(NOISE);
      for (let i = 0; i < DIMENSIONS; i++) {
        values[at + i] = middles[from + i] + noise[drawn + i] * scale[i];
      }
    }
    generatorMs += performance.now() - begun;
    yield { vectors: { values, dimensions: DIMENSIONS } };
  }
}
