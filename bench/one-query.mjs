// What do one query and one append cost? The stages of a query in memory, by what each adds to the time,
// next to copies of as many bytes. In a folder reads and writes are counted with their bytes and their
// time, and then as many bytes are read and written by plain calls: the floor.
// `node bench/one-query.mjs 100000` (rows, generated like sentences, × 384, int8).

import fs, { mkdtempSync, openSync, readdirSync, readSync, rmSync, statSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { announce, bytesText, printTable, short, sized, summary, words } from './lib/bench.mjs';
import { likeSentences, rowsOf } from './lib/like-sentences.mjs';
import { generator } from './lib/random.mjs';

const ROWS = Number(words[0] ?? sized(100_000, 5000));
const DIMENSIONS = 384;
const QUERIES = sized(300, 10);
const APPENDS = sized(40, 3);
const K = 10;
const HEAD = ['what', 'calls', 'bytes', 'µs, median', 'least'];
const { open, link } = fs.promises;

/** The calls since it was emptied: what, the file and the bytes. */
let calls = [];
const names = new Map();
await watchCalls();
const { openIndex, SimHashIndex, saveIndex } = await import('../dist/node.js');

await announce();
const home = mkdtempSync(join(tmpdir(), 'halfspace-one-'));
const folder = join(home, 'rows.hs');
const draw = likeSentences(DIMENSIONS);
const index = new SimHashIndex({
  ...{ bits: 256, projection: 'hadamard', dimensions: DIMENSIONS, vectors: 'int8' },
});
for (let row = 0; row < ROWS; row += 20_000)
  await index.addAll(await draw(Math.min(20_000, ROWS - row)));
const { probes, oversample } = await index.optimize({ recall: 0.95 });
await saveIndex(index, folder);
const queries = rowsOf(await draw(QUERIES));
const extra = rowsOf(await draw(APPENDS));
const size = readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);

let largest;
let file;
const random = generator(1);
let written = 0;
await stages();
await searches();
await appends();
rmSync(home, { recursive: true });

/** Queries with ever more of their stages, and copies of as many bytes of what they read. */
async function stages() {
  const { codesCompared, reranked } = index.search(queries[0], { k: K, explain: true }).explain;
  // Of an entry a side for each dimension, a bit, and 2 bytes of scale.
  const side = DIMENSIONS / 8 + 2;
  const codes = piecesOf(probes, Math.round((codesCompared / probes) * side), ROWS * side);
  const rows = piecesOf(reranked, DIMENSIONS, ROWS * DIMENSIONS);
  const made = await middle({ probes: 1, oversample: 1 });
  const scored = await middle({ probes, oversample: 1 });
  const ranked = await middle({ probes, oversample });
  printTable(
    'stages of a query in memory',
    ['stage', 'pieces × bytes', 'µs, median', 'to copy as much'],
    [
      ['prepared, one partition searched, result made', '', short(made), ''],
      ['more entries scored', codes.size, short(scored - made), short(await codes.copied())],
      ['more rows ranked', rows.size, short(ranked - scored), short(await rows.copied())],
    ],
  );

  async function middle(options) {
    const rounds = [];
    for (let round = 0; round < 9; round++) {
      const { micros } = await timesOf(queries, (query) =>
        index.search(query, { k: K, ...options }),
      );
      rounds.push(summary(micros).ms);
    }
    return summary(rounds).ms;
  }
}

/** So many pieces of so many bytes, at random places of `total` bytes. */
function piecesOf(count, bytes, total) {
  const all = Buffer.alloc(total, 1);
  const copy = Buffer.alloc(bytes);
  const places = Array.from({ length: 97 * count }, () => random.below(all.length - bytes));
  let at = 0;
  return {
    size: `${short(count)} × ${short(bytes)}`,
    async copied() {
      const { micros } = await timesOf(queries, () => {
        for (let i = 0; i < count; i++, at = (at + 1) % places.length) {
          all.copy(copy, 0, places[at], places[at] + bytes);
        }
      });
      return summary(micros).ms;
    },
  };
}

async function searches() {
  const inMemory = await timesOf(queries, (query) => index.search(query, { k: K }));
  const stored = await openIndex(folder, { memory: Math.round(0.2 * size) });
  const made = await timesOf(queries, async (query) => {
    const before = stored.figures;
    await stored.search(query, { k: K });
    const { reads, bytesRead } = stored.figures;
    const bytes = (bytesRead - before.bytesRead) / Math.max(1, reads - before.reads);
    for (let i = before.reads; i < reads; i++) calls.push({ what: 'read', bytes });
  });
  await stored.close();
  const plain = await timesOf(made.calls, readPlainly);
  printTable(`one query, ${short(ROWS)} × ${DIMENSIONS}, ${bytesText(size)} on disk`, HEAD, [
    rowOf('in memory', inMemory),
    rowOf('from the folder, a fifth of it held', made),
    rowOf('floor: as many plain reads, one after another', plain),
  ]);
}

async function appends() {
  const made = await timesOf(extra, async (vector) => {
    index.add(vector);
    await saveIndex(index, folder);
  });
  const plain = await timesOf(made.calls, (own) => writePlainly(own));
  printTable('one append, saved', HEAD, [
    rowOf('add and save', made),
    rowOf('floor: the same files, synced and linked', plain),
  ]);
  printTable(
    'its calls',
    ['call', 'file', 'bytes'],
    made.calls.at(-1).map(({ what, file, bytes }) => [what, basename(file), short(bytes)]),
  );
}

function rowOf(name, { micros, calls: all }) {
  const mean = (of) => short(all.reduce((sum, own) => sum + of(own), 0) / all.length);
  const bytes = mean((own) => own.reduce((sum, call) => sum + call.bytes, 0));
  const least = short(Math.min(...micros));
  return [name, mean((own) => own.length), bytes, short(summary(micros).ms), least];
}

/** By item the microseconds that `run` takes, and its calls. */
async function timesOf(items, run) {
  const micros = [];
  const all = [];
  for (const item of items) {
    calls = [];
    const start = performance.now();
    await run(item);
    micros.push(1000 * (performance.now() - start));
    all.push(calls);
  }
  return { micros, calls: all };
}

/** Reads as many ranges of the largest file, at other places. */
function readPlainly(made) {
  const paths = readdirSync(folder).map((name) => join(folder, name));
  const sizeOf = (path) => statSync(path).size;
  largest ??= paths.reduce((one, other) => (sizeOf(one) < sizeOf(other) ? other : one));
  file ??= openSync(largest);
  for (const { bytes } of made) {
    const length = Math.round(bytes);
    const from = random.below(Math.max(1, sizeOf(largest) - length));
    readSync(file, Buffer.allocUnsafe(length), 0, length, from);
    calls.push({ what: 'read', bytes: length });
  }
}

/** Writes as many bytes to as many files, syncs each, links the last, and syncs the folder. */
async function writePlainly(made) {
  const sizes = new Map();
  for (const { what, file, bytes } of made) {
    if (what.startsWith('write')) sizes.set(file, (sizes.get(file) ?? 0) + bytes);
  }
  let path = '';
  for (const bytes of sizes.values()) {
    path = join(home, `plain-${written++}`);
    const file = await open(path, 'wx');
    await file.write(Buffer.alloc(bytes));
    await file.sync();
    await file.close();
  }
  await link(path, `${path}-linked`);
  const place = await open(home, 'r');
  await place.sync();
  await place.close();
}

/** Replaces the calls of node:fs by ones that are counted. */
async function watchCalls() {
  const some = await open('/dev/null', 'r');
  const handle = Object.getPrototypeOf(some);
  await some.close();
  const note = (what, path, bytes) => calls.push({ what, file: path, bytes });
  const { write, writev, sync } = handle;
  handle.write = async function (...args) {
    const found = await write.apply(this, args);
    note('write', names.get(this.fd), found.bytesWritten);
    return found;
  };
  handle.writev = async function (...args) {
    const found = await writev.apply(this, args);
    note('writev', names.get(this.fd), found.bytesWritten);
    return found;
  };
  handle.sync = function () {
    note('sync', names.get(this.fd), 0);
    return sync.call(this);
  };
  fs.promises.open = async (path, ...args) => {
    const file = await open(path, ...args);
    names.set(file.fd, String(path));
    return file;
  };
  fs.promises.link = (path, other) => {
    note('link', String(other), 0);
    return link(path, other);
  };
  syncBuiltinESMExports();
}
