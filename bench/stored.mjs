// An index in a folder, searched where it is: queries a second next to the same index in memory, with a
// limit that holds everything and with smaller ones; time to open, ranges and bytes a query, resident
// memory. Vectors are those of lib/like-sentences.mjs. The rounds of all places are interleaved.
// `node --expose-gc bench/stored.mjs 300000` (rows) prints one table.

import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openIndex, SimHashIndex, saveIndex } from '../dist/node.js';
import { resident } from './lib/child.mjs';
import { likeSentences, rowsOf } from './lib/like-sentences.mjs';
import { announce, printTable } from './lib/table.mjs';

const ROWS = Number(process.argv[2] ?? 300_000);
const DIMENSIONS = 384;
const QUERIES = 200;
const STEP = 20_000;
const ROUNDS = 5;

await announce();
const folder = join(mkdtempSync(join(tmpdir(), 'halfspace-stored-')), 'rows.hs');
const queries = await build();
const bytes = readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
const places = [];
await open('in memory', undefined);
for (const share of [1.5, 0.5, 0.2]) {
  await open(`limit ${Math.round((share * bytes) / 2 ** 20)} MB`, Math.round(share * bytes));
}
for (let round = 0; round < ROUNDS; round++) for (const place of places) await run(place);
printTable(
  `${ROWS} x ${DIMENSIONS}, int8, ${Math.round(bytes / 2 ** 20)} MB on disk; one query at a time, k 10`,
  ['place', 'open, ms', 'queries/s', 'of memory', 'ranges a query', 'KB a query'],
  places.map(({ name, openMs, best, figures }) => [
    name,
    Math.round(openMs),
    Math.round(best),
    (best / places[0].best).toFixed(2),
    figures === null ? '' : (figures.reads / QUERIES).toFixed(1),
    figures === null ? '' : (figures.bytes / QUERIES / 1024).toFixed(0),
  ]),
);
console.log(`resident at the end: ${Math.round(resident() / 2 ** 20)} MB`);
rmSync(join(folder, '..'), { recursive: true });

async function build() {
  const draw = likeSentences(DIMENSIONS);
  const queries = rowsOf(draw(QUERIES));
  const index = new SimHashIndex({ bits: 256, dimensions: DIMENSIONS, vectors: 'int8' });
  for (let row = 0; row < ROWS; row += STEP) index.addAll(draw(Math.min(STEP, ROWS - row)));
  const start = performance.now();
  const report = index.optimize({ recall: 0.95 });
  const optimized = performance.now();
  await saveIndex(index, folder);
  const saved = performance.now();
  console.log(
    `optimize ${((optimized - start) / 1000).toFixed(1)} s (${report.method}, ${report.partitions} ` +
      `partitions, ${report.probes} probes), save ${((saved - optimized) / 1000).toFixed(1)} s`,
  );
  return queries;
}

async function open(name, memory) {
  const start = performance.now();
  const index = await openIndex(folder, memory === undefined ? {} : { memory });
  places.push({ name, index, openMs: performance.now() - start, best: 0, figures: null });
}

async function run(place) {
  const { index } = place;
  const before = index.figures;
  const start = performance.now();
  for (const query of queries) await index.search(query);
  place.best = Math.max(place.best, (1000 * QUERIES) / (performance.now() - start));
  const after = index.figures;
  if (after !== undefined) {
    place.figures = {
      reads: after.reads - before.reads,
      bytes: after.bytesRead - before.bytesRead,
    };
  }
}
