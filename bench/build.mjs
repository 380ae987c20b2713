// An index of more rows than memory holds: time to build it, peak of memory, size, stated recall; then a
// fresh process opens the folder with the same limit: time to open, recall, queries a second with the files
// dropped from the page cache, in it, and after 2,000 other queries. Rows are those of
// lib/like-sentences.mjs. `node bench/build.mjs 10000000 1GB` (rows, limit of memory, folder to build in).

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { IndexFolder, openIndex } from '../dist/node.js';
import {
  announce,
  answer,
  inChild,
  peak,
  printTable,
  request,
  short,
  sized,
  words,
} from './lib/bench.mjs';
import { likeSentences, nearestOfBatches, rowsOf } from './lib/like-sentences.mjs';

const DIMENSIONS = 384;
const QUERIES = sized(100, 10);
/** Queries that others are searched after, so that memory holds what searches usually want. */
const OTHERS = sized(2000, 50);
const K = 10;
const STEP = 20_000;

const given = request();
if (given === undefined) await buildAndSearch();
else answer(await searched(given));

async function buildAndSearch() {
  const rows = Number(words[0] ?? sized(300_000, 20_000));
  const memory = words[1] ?? '1GB';
  await announce();
  const folder = join(mkdtempSync(join(words[2] ?? tmpdir(), 'halfspace-build-')), 'rows.hs');
  const draw = likeSentences(DIMENSIONS);
  const queries = await draw(QUERIES);
  const nearest = nearestOfBatches(K);
  let apartMs = 0; // to make the vectors and to find the true neighbours
  const [start, cpu] = [performance.now(), process.cpuUsage()];
  const { report } = await IndexFolder.build(folder, batches(), {
    ...{ bits: 256, dimensions: DIMENSIONS, projection: 'hadamard', vectors: 'int8' },
    ...{ memory, optimize: { recall: 0.95 } },
  });
  const seconds = (performance.now() - start - apartMs) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  const files = readdirSync(folder).map((name) => statSync(join(folder, name)).size);
  const found = inChild(fileURLToPath(import.meta.url), { folder, memory });
  const hits = nearest.rows().map((own, i) => own.filter((row) => found.rows[i].includes(row)));
  const mb = (bytes) => `${short(bytes / 1e6)} MB`;
  printTable(
    `${short(rows)} × ${DIMENSIONS}, int8, limit ${memory}, recall .95 wanted; ${QUERIES} queries, k ${K}`,
    ['what', 'figure'],
    [
      ['build', `${short(seconds)} s, ${short((user + system - 1000 * apartMs) / 1e6)} CPU s`],
      ['peak of memory · files', `${mb(peak())} · ${mb(files.reduce((sum, one) => sum + one, 0))}`],
      [
        'recall stated · found',
        `${report.recall.toFixed(3)} · ${short(hits.flat().length / (K * QUERIES))}`,
      ],
      ['open', `${short(found.openMs)} ms, peak ${mb(found.peak)}`],
      ['queries/s, files dropped', found.dropped === null ? 'not permitted' : short(found.dropped)],
      ['queries/s, files in the page cache', short(found.cached)],
      [`queries/s, after ${short(OTHERS)} others`, short(found.later)],
    ],
  );
  rmSync(join(folder, '..'), { recursive: true });

  async function* batches() {
    for (let row = 0; row < rows; row += STEP) {
      const begun = performance.now();
      const vectors = await draw(Math.min(STEP, rows - row));
      await nearest.add(row, vectors, queries);
      apartMs += performance.now() - begun;
      yield { vectors };
    }
  }
}

/** In the child: three rounds over a folder that was just opened. */
async function searched({ folder, memory }) {
  const draw = likeSentences(DIMENSIONS);
  const queries = rowsOf(await draw(QUERIES));
  const isDropped = drop();
  const first = await round();
  const { openMs, speed, rows } = await round();
  const last = await round(rowsOf(await draw(OTHERS)));
  return {
    ...{ openMs, rows, dropped: isDropped ? first.speed : null },
    ...{ cached: speed, later: last.speed, peak: peak() },
  };

  async function round(others = []) {
    const opening = performance.now();
    const index = await openIndex(folder, { memory });
    const openMs = performance.now() - opening;
    for (const query of others) await index.search(query, { k: K });
    const start = performance.now();
    const rows = [];
    for (const query of queries) rows.push((await index.search(query, { k: K })).ids.map(Number));
    const speed = (1000 * queries.length) / (performance.now() - start);
    await index.close();
    return { openMs, speed, rows };
  }
}

/** Whether the pages of files were dropped from memory, as the system permits. */
function drop() {
  try {
    execFileSync('sh', ['-c', 'sync; echo 3 > /proc/sys/vm/drop_caches'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
