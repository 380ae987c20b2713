// What does an index on a static web host cost a page? Round trips, requests and bytes until the first
// answer, and of each further query, from a host on this machine that waits 20 ms before it answers.
// A round trip is a wait for answers that the next request depends on; six requests run at a time.
// Arguments are pairs of rows and dimensions; folders are kept in bench/.cache.

import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { SimHashIndex, saveIndex } from '../dist/node.js';
import { likeSentences, nearestOfBatches, rowsOf } from './lib/like-sentences.mjs';
import { announce, printTable, short } from './lib/table.mjs';
import { summary } from './lib/timing.mjs';

const K = 10;
const RECALL = 0.95;
const QUERIES = 200;
const DELAY_MS = 20;
const MEMORY = '512MB';
const SHAPES = [100_000, 384, 100_000, 1024];

const cache = fileURLToPath(new URL('.cache/', import.meta.url));
const { HttpFiles, openStored, startHost } = await fromSource();
await announce();
const given = process.argv.slice(2).map(Number);
const shapes = given.length > 0 ? given : SHAPES;
const table = [];
for (let i = 0; i < shapes.length; i += 2) table.push(...(await costs(shapes[i], shapes[i + 1])));
printTable(
  `An index over HTTP, ${DELAY_MS} ms a request: k ${K}, int8, ${MEMORY}; medians (middle 80 %)`,
  ['rows x dimensions', 'what', 'recall', 'round trips', 'requests', 'MB', 'ms'],
  table,
  2,
);

/** Parts of the library that the package does not export, and the host of the tests. */
async function fromSource() {
  const outfile = `${cache}http-parts.mjs`;
  const contents = `
    export { HttpFiles } from '../src/stored/http-files';
    export { openStored } from '../src/stored/open-stored';
    export { startHost } from '../test/stored/web-host';
  `;
  const resolveDir = fileURLToPath(new URL('.', import.meta.url));
  await build({
    stdin: { contents, resolveDir, loader: 'ts' },
    ...{ bundle: true, outfile, format: 'esm', platform: 'node', packages: 'external' },
  });
  return import(outfile);
}

async function costs(count, dimensions) {
  const { folder, queries, truth } = await built(count, dimensions);
  const host = await startHost(folder);
  host.behave = () => new Promise((resolve) => setTimeout(() => resolve(false), DELAY_MS));
  const files = counting(new HttpFiles(host.url));
  const costOf = async (work) => {
    const [requests, bytes, trips] = [host.asked.length, host.bytes, files.trips];
    const start = performance.now();
    const result = await work();
    return {
      result,
      ms: performance.now() - start,
      trips: files.trips - trips,
      requests: host.asked.length - requests,
      bytes: host.bytes - bytes,
    };
  };
  let index;
  const first = await costOf(async () => {
    index = await openStored(files, { memory: MEMORY });
    return index.search(queries[0], { k: K });
  });
  const further = [];
  for (const query of queries) {
    further.push(await costOf(() => index.search(query, { k: K })));
  }
  further.shift(); // it is in memory
  await index.close();
  await host.close();
  const found = further.map(({ result: { rows } }, i) => {
    return rows.filter((row) => truth[i + 1].includes(row)).length / K;
  });
  const recall = found.reduce((sum, one) => sum + one, 0) / found.length;
  const line = (what, share, costs) => [
    `${count.toLocaleString('en')} x ${dimensions}`,
    ...[what, share === null ? '-' : share.toFixed(3)],
    ...['trips', 'requests', 'bytes', 'ms'].map((key) => {
      const unit = key === 'bytes' ? 1e6 : 1;
      const { ms, low, high } = summary(costs.map((one) => one[key] / unit));
      return costs.length === 1 ? short(ms) : `${short(ms)} (${short(low)} to ${short(high)})`;
    }),
  ];
  return [line('opened, first answer', null, [first]), line('each query', recall, further)];
}

/** Files that count round trips: reads that begin while no other runs. */
function counting(files) {
  let running = 0;
  const counted = {
    place: files.place,
    isFar: files.isFar,
    trips: 0,
    manifest: (...args) => during(() => files.manifest(...args)),
    read: (...args) => during(() => files.read(...args)),
    close: () => files.close(),
  };
  async function during(work) {
    if (running++ === 0) counted.trips++;
    try {
      return await work();
    } finally {
      running--;
    }
  }
  return counted;
}

/** The folder of an index of so many rows; queries, and their true neighbours. */
async function built(count, dimensions) {
  const folder = `${cache}http-${count}-${dimensions}.hs`;
  const draw = likeSentences(dimensions);
  const asked = draw(QUERIES);
  const queries = rowsOf(asked);
  const truthFile = `${folder}.truth.json`;
  if (existsSync(truthFile)) {
    return { folder, queries, truth: JSON.parse(readFileSync(truthFile, 'utf8')) };
  }
  const index = existsSync(folder) ? null : emptyIndex(dimensions);
  const nearest = nearestOfBatches(K);
  for (let row = 0; row < count; row += 50_000) {
    const rows = draw(Math.min(count - row, 50_000));
    index?.addAll(rows);
    nearest.add(row, rows, asked);
  }
  const truth = nearest.rows();
  if (index !== null) {
    await index.optimizeAsync({ k: K, recall: RECALL });
    mkdirSync(cache, { recursive: true });
    await saveIndex(index, `${folder}.tmp`);
    renameSync(`${folder}.tmp`, folder);
  }
  writeFileSync(truthFile, JSON.stringify(truth));
  return { folder, queries, truth };
}

function emptyIndex(dimensions) {
  return new SimHashIndex({ bits: 256, projection: 'hadamard', dimensions, vectors: 'int8' });
}
