// An index of more rows than memory holds: time to build it, peak resident memory, size, recall; then what a process
// that opens the folder with the same limit gets: time to open, queries a second with the files in the page cache
// and dropped from it, peak of memory. Vectors are those of lib/like-sentences.mjs; the time to make them, and
// the true neighbours of the queries as they pass, is shown apart. `node bench/build.mjs 10000000 1GB` (rows, limit
// of memory; then a folder to build in) prints two tables.

import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { IndexFolder } from '../dist/node.js';
import { inChild, peak } from './lib/child.mjs';
import { likeSentences, nearestOfBatches } from './lib/like-sentences.mjs';
import { announce, printTable } from './lib/table.mjs';

const ROWS = Number(process.argv[2] ?? 300_000);
const MEMORY = process.argv[3] ?? '1GB';
const DIMENSIONS = 384;
const QUERIES = 100;
const K = 10;
const STEP = 20_000;

await announce();
const folder = join(mkdtempSync(join(process.argv[4] ?? tmpdir(), 'halfspace-build-')), 'rows.hs');
const draw = likeSentences(DIMENSIONS);
const queries = draw(QUERIES);
const nearest = nearestOfBatches(K);
let apartMs = 0;
const [start, cpu] = [performance.now(), process.cpuUsage()];
const { report } = await IndexFolder.build(folder, batches(), {
  ...{ bits: 256, dimensions: DIMENSIONS, projection: 'hadamard', vectors: 'int8' },
  ...{ memory: MEMORY, expectedRows: ROWS, optimize: { recall: 0.95 } },
});
const seconds = (performance.now() - start - apartMs) / 1000;
const { user, system } = process.cpuUsage(cpu);
const bytes = readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
printTable(
  `${ROWS} x ${DIMENSIONS}, int8, limit ${MEMORY}, recall .95 wanted`,
  [
    ...['build, s', 'CPU, s', 'rows/s', 'peak, MB', 'folder, MB', 'partitions', 'probes'],
    ...['recall said', 'vectors and truth, s'],
  ],
  [
    [
      ...[seconds, (user + system) / 1e6 - apartMs / 1000].map((value) => value.toFixed(1)),
      ...[ROWS / seconds, peak() / 2 ** 20, bytes / 2 ** 20].map(Math.round),
      ...[report.partitions, report.probes, report.recall.toFixed(3), (apartMs / 1000).toFixed(1)],
    ],
  ],
);
const child = fileURLToPath(new URL('lib/stored-child.mjs', import.meta.url));
const setting = { count: ROWS, dimensions: DIMENSIONS, queries: QUERIES, k: K };
const found = inChild(child, { folder, memory: MEMORY, ...setting });
const truth = nearest.rows().map((rows) => new Set(rows));
const recall =
  truth.reduce((sum, own, i) => sum + found.rows[i].filter((row) => own.has(row)).length, 0) /
  (K * QUERIES);
printTable(
  `The same folder opened with ${MEMORY}, ${QUERIES} queries one at a time, k ${K}`,
  [
    ...['open, ms', 'recall found', 'queries/s, files dropped from the page cache', 'files in it'],
    ...['KB a query', 'ranges a query', 'queries/s after 2,000 others', 'KB then', 'ranges then'],
    'peak of memory, MB',
  ],
  [
    [
      ...[Math.round(found.openMs), recall.toFixed(3)],
      found.dropped === null ? 'not permitted' : found.dropped.toFixed(1),
      found.cached.toFixed(1),
      ...[found.bytes / QUERIES / 1024, found.reads / QUERIES].map(Math.round),
      found.later.toFixed(1),
      ...[found.laterBytes / QUERIES / 1024, found.laterReads / QUERIES].map(Math.round),
      Math.round(found.peak / 2 ** 20),
    ],
  ],
);
rmSync(join(folder, '..'), { recursive: true });

function* batches() {
  for (let row = 0; row < ROWS; row += STEP) {
    const begun = performance.now();
    const vectors = draw(Math.min(STEP, ROWS - row));
    nearest.add(row, vectors, queries);
    apartMs += performance.now() - begun;
    yield { vectors };
  }
}
