// What does an index cost where its bytes are? The same index in memory, in its folder with a limit of
// memory that holds everything and with one of a fifth, and on a web host that waits 20 ms before it
// answers: time to open, queries a second, ranges or requests and bytes a query, recall. Rows are generated
// like sentences (lib/like-sentences.mjs). `node bench/folders.mjs 300000` (rows).

import { mkdtempSync, openSync, readdirSync, readSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openIndex, openIndexUrl, SimHashIndex, saveIndex } from '../dist/node.js';
import { announce, bytesText, measured, printTable, short, sized, words } from './lib/bench.mjs';
import { likeSentences, nearestOfBatches, rowsOf } from './lib/like-sentences.mjs';

const ROWS = Number(words[0] ?? sized(300_000, 5000));
const DIMENSIONS = 384;
const QUERIES = sized(200, 20);
const K = 10;
const ROUNDS = sized(5, 1);
const STEP = 20_000;
const DELAY_MS = 20;

await announce();
const folder = join(mkdtempSync(join(tmpdir(), 'halfspace-folders-')), 'rows.hs');
const draw = likeSentences(DIMENSIONS);
const asked = await draw(QUERIES);
const queries = rowsOf(asked);
const index = new SimHashIndex({
  ...{ bits: 256, projection: 'hadamard', dimensions: DIMENSIONS, vectors: 'int8' },
});
const nearest = nearestOfBatches(K);
for (let row = 0; row < ROWS; row += STEP) {
  const rows = await draw(Math.min(STEP, ROWS - row));
  await nearest.add(row, rows, asked);
  await index.addAll(rows);
}
await index.optimize({ recall: 0.95 });
await saveIndex(index, folder);
const truth = nearest.rows();
const size = readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
const host = await serve(folder);
const places = [];
await open('in memory', () => index);
for (const share of [1.5, 0.2]) {
  const memory = Math.round(share * size);
  await open(`folder, ${bytesText(memory)}`, () => openIndex(folder, { memory }));
}
await open('web host', () =>
  openIndexUrl(`${host.url}/rows.hs`, { memory: Math.round(1.5 * size) }),
);
for (let round = 0; round < ROUNDS; round++) for (const place of places) await run(place, round);
printTable(
  `${short(ROWS)} × ${DIMENSIONS}, int8, ${bytesText(size)} on disk; one query at a time, k ${K}`,
  ['place', 'open, ms', 'recall', 'first round, queries/s', 'best', 'ranges a query', 'KB a query'],
  places.map(({ name, openMs, recall, speeds, reads, bytes }) => [
    ...[name, short(openMs), recall.toFixed(3), short(speeds[0]), short(Math.max(...speeds))],
    ...[short(reads / QUERIES), short(bytes / QUERIES / 1000)],
  ]),
);
for (const { opened } of places) await opened.close?.();
host.close();
rmSync(join(folder, '..'), { recursive: true });

async function open(name, work) {
  const { result, seconds } = await measured(work);
  places.push({ name, opened: result, openMs: 1000 * seconds, speeds: [], reads: 0, bytes: 0 });
}

/** Reads and bytes are those of the first round, when nothing is in memory yet. */
async function run(place, round) {
  const before = place.opened.figures;
  let hits = 0;
  const start = performance.now();
  for (const [i, query] of queries.entries()) {
    const { rows } = await place.opened.search(query, { k: K });
    for (const row of rows) if (truth[i].includes(row)) hits++;
  }
  place.speeds.push((1000 * QUERIES) / (performance.now() - start));
  place.recall = hits / (K * QUERIES);
  if (round > 0 || before === undefined) return;
  place.reads = place.opened.figures.reads - before.reads;
  place.bytes = place.opened.figures.bytesRead - before.bytesRead;
}

/** A static host of the folder's parent that knows ranges. */
async function serve(path) {
  const server = createServer(async (incoming, answer) => {
    await new Promise((resolve) => setTimeout(resolve, DELAY_MS));
    const file = join(
      path,
      '..',
      decodeURIComponent(new URL(incoming.url, 'http://host').pathname),
    );
    const total = statSync(file, { throwIfNoEntry: false })?.size;
    if (total === undefined) return answer.writeHead(404).end();
    const range = /^bytes=(\d+)-(\d*)$/.exec(incoming.headers.range ?? '');
    const first = Number(range?.[1] ?? 0);
    const last = Math.min(total - 1, Number(range?.[2] || total - 1));
    const bytes = Buffer.alloc(last - first + 1);
    readSync(openSync(file), bytes, 0, bytes.length, first);
    answer.writeHead(range ? 206 : 200, {
      ...{ 'Accept-Ranges': 'bytes', ETag: `"${total}"`, 'Content-Length': bytes.length },
      ...(range && { 'Content-Range': `bytes ${first}-${last}/${total}` }),
    });
    answer.end(incoming.method === 'HEAD' ? undefined : bytes);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => server.close() && server.closeAllConnections();
  return { url: `http://127.0.0.1:${server.address().port}`, close };
}
