// Is this build as fast as another one, such as that of an older commit? The same work by both, in
// turns, each in a process of its own, since two that share one collect each other's garbage.
// `node bench/builds.mjs FOLDER`, a checkout of the other with its dist/; with `glove`, `images`,
// `sentences` or `nouns` behind it searches of this set, at two recalls.

import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import {
  announce,
  isSmall,
  printTable,
  race,
  short,
  sized,
  span,
  timed,
  words,
} from './lib/bench.mjs';
import { buildDataSet, vectorsOf as rowsOf, truthOf } from './lib/data-sets.mjs';
import { generator } from './lib/random.mjs';

const [given, set] = words;
if (given === undefined) throw new Error('name the folder of the other build');
const self = fileURLToPath(import.meta.url);
const roots = [fileURLToPath(new URL('..', import.meta.url)), resolve(given)];
const ROUNDS = 20;
const CODES = sized(1_000_000, 10_000);

/** Works by name: a function that takes a build and returns what is timed. */
const WORKS = {
  'scan, 64 bits': (build) => scanned(build, 64),
  'scan, 256 bits': (build) => scanned(build, 256),
  'scan of 100, 256 bits': (build) => {
    const [codes, queries] = [codesOf(build, CODES, 256, 7), codesOf(build, 100, 256, 8)];
    return () => build.scanAll(codes, queries, { k: 10 });
  },
  'sparse, signs': (build) => hashed(build, { bits: 256 }, sparseOf(sized(2000, 50), 200)),
  'dense, hadamard': (build) => {
    const options = { bits: 384, projection: 'hadamard', dimensions: 384 };
    return hashed(build, options, vectorsOf(sized(8192, 100), 384));
  },
  'dense, signs': (build) =>
    hashed(build, { bits: 256, dimensions: 100 }, vectorsOf(sized(8192, 100), 100)),
  'pairs within 3': (build) => {
    const codes = codesOf(build, CODES, 64, 7);
    return async () => {
      let count = 0;
      for await (const { a } of build.pairs(codes, { maxDistance: 3 })) count += a.length;
      return count;
    };
  },
  'index of codes': (build) => {
    const codes = codesOf(build, CODES / 5, 256, 7);
    return () => new build.SimHashIndex({ bits: 256 }).addAll(codes);
  },
  'search by distance': async (build) => {
    const codes = codesOf(build, CODES / 5, 256, 7);
    const index = new build.SimHashIndex({ bits: 256 });
    await index.addAll(codes);
    const queries = Array.from({ length: 100 }, (_, i) => codes.at(i));
    return () => queries.map((query) => index.search(query, { k: 10, rank: 'hamming' }));
  },
  'search, exact': async (build) => {
    const { values, dimensions } = vectorsOf(sized(50_000, 5000), 64);
    const index = indexOf(build, dimensions);
    await index.addAll({ values, dimensions });
    await index.optimize({ recall: 0.95 });
    const queries = Array.from({ length: 300 }, (_, i) => values.slice(64 * i, 64 * (i + 1)));
    return () => queries.map((query) => index.search(query, { k: 10 }));
  },
};

const SEARCHES = ['.95', '.99'].flatMap((recall) =>
  ['one a call', 'in one call'].map((how) => `${recall}, ${how}`),
);

/** 1,000 queries of the set, with the recall that they find as `found`. */
async function searchesOf(build, name) {
  const [recall, how] = name.split(', ');
  const [train, queries, truth] = [rowsOf(set, 'train'), rowsOf(set, 'queries'), truthOf(set, 10)];
  const { values, dimensions } = queries;
  const count = Math.min(1000, truth.length);
  const each = Array.from({ length: count }, (_, i) =>
    values.subarray(dimensions * i, dimensions * (i + 1)),
  );
  const index = indexOf(build, dimensions);
  await index.addAll(train);
  await index.optimize({ recall: Number(recall) });
  const hits = each.map((query, i) => {
    const own = new Set(index.search(query, { k: 10 }).rows);
    return Array.from(truth[i]).filter((row) => own.has(row)).length;
  });
  const all = { values: values.subarray(0, dimensions * count), dimensions };
  const work =
    how === 'one a call'
      ? () => each.map((query) => index.search(query, { k: 10 }))
      : () => index.searchAll(all, { k: 10, threads: 1 });
  return Object.assign(work, { found: hits.reduce((sum, one) => sum + one, 0) / (10 * count) });
}

function codesOf({ Codes }, count, bits, seed) {
  const { word } = generator(seed);
  const bytes = new Uint8Array((count * bits) / 8);
  const words = new Uint32Array(bytes.buffer);
  for (let i = 0; i < words.length; i++) words[i] = word();
  return Codes.from(bytes, { bits });
}

/** Vectors around 300 centers. */
function vectorsOf(count, dimensions) {
  const { normal, below } = generator(5);
  const centers = Array.from({ length: 300 * dimensions }, normal);
  const values = new Float32Array(count * dimensions);
  for (let row = 0; row < count; row++) {
    const center = dimensions * below(300);
    for (let i = 0; i < dimensions; i++)
      values[row * dimensions + i] = centers[center + i] + 0.7 * normal();
  }
  return { values, dimensions };
}

function sparseOf(count, entries) {
  const { below, unit } = generator(6);
  return Array.from({ length: count }, () => {
    const indices = [...new Set(Array.from({ length: entries }, () => below(100_000)))];
    return { indices, values: indices.map(() => unit() - 0.5) };
  });
}

function scanned(build, bits) {
  const [codes, queries] = [codesOf(build, CODES, bits, 7), codesOf(build, 10, bits, 8)];
  return () => Array.from({ length: 10 }, (_, i) => build.scan(codes, queries.at(i), { k: 10 }));
}

function hashed({ SimHasher }, options, batch) {
  const hasher = new SimHasher({ seed: 7, ...options });
  return async () => await hasher.hashAll(batch);
}

function indexOf({ SimHashIndex }, dimensions) {
  return new SimHashIndex({ bits: 256, projection: 'hadamard', dimensions, vectors: 'float32' });
}

function commandsIn(folder) {
  const vectors = join(folder, 'vectors.jsonl');
  const { normal } = generator(9);
  const line = (id) => JSON.stringify({ id, v: Array.from({ length: 64 }, normal) });
  writeFileSync(
    vectors,
    Array.from({ length: sized(20_000, 500) }, (_, id) => `${line(id)}\n`).join(''),
  );
  const out = join(folder, 'out.jsonl');
  const call = (root, given) =>
    timed(() => {
      rmSync(out, { force: true });
      execFileSync(process.execPath, [join(root, 'dist/cli.js'), ...given, '-q', '-o', out]);
    });
  return {
    'command, fingerprint': (root) => call(root, ['fingerprint', vectors, '--bits', '256']),
    'command, dedup': (root) =>
      call(root, ['dedup', vectors, '--bits', '64', '--max-distance', '3']),
  };
}

if (process.send === undefined) await compare();
else await serve();

/** In the process of a build: prepares the work of a name, or without one runs the last of them. */
async function serve() {
  const build = await import(pathToFileURL(join(given, 'dist/index.js')).href);
  let run;
  process.on('message', async ({ name }) => {
    if (name === undefined) return process.send(await run());
    const work = await (name in WORKS ? WORKS[name](build) : searchesOf(build, name));
    run = timed(work);
    process.send(work.found ?? null);
  });
  process.send('ready');
}

/** The process of a build: `prepare` returns the recall of searches, `run` the milliseconds. */
async function started(root) {
  const child = fork(self, [root, ...words.slice(1), ...(isSmall ? ['--small'] : [])]);
  child.on('exit', (code) => code && process.exit(code));
  await once(child, 'message');
  const ask = async (message) => {
    child.send(message);
    const [answer] = await once(child, 'message');
    return answer;
  };
  return {
    prepare: (name) => ask({ name }),
    run: () => ask({}),
    stop: () => child.disconnect(),
  };
}

async function compare() {
  await announce();
  const rows = [];
  const contest = async (name, runs, found = []) => {
    const two = runs.map((run, i) => ({ name: i, run, calls: 2 }));
    const [own, other] = await race(two, ROUNDS);
    rows.push({ name, found, own, other, ratio: other.ms / own.ms });
  };
  if (set !== undefined) await buildDataSet(set);
  const builds = await Promise.all(roots.map(started));
  for (const name of set === undefined ? Object.keys(WORKS) : SEARCHES) {
    const found = [];
    for (const { prepare } of builds) found.push(await prepare(name));
    const runs = builds.map(({ run }) => run);
    await contest(name, runs, set === undefined ? [] : found.map(short));
  }
  for (const { stop } of builds) stop();
  if (set === undefined) await eachCommand(contest);
  const [what, work, finds] =
    set === undefined
      ? ['', 'work', []]
      : [`, 1,000 queries of ${set}`, 'recall wanted', ['found by this', 'by the other']];
  printTable(
    `Milliseconds by this build and by the other${what}`,
    [work, ...finds, ...['this', 'p10..p90', 'other', 'p10..p90', 'other / this']],
    rows.map(({ name, found, own, other, ratio }) => [
      ...[name, ...found, short(own.ms), span(own), short(other.ms), span(other), short(ratio)],
    ]),
  );
  const mean = Math.exp(rows.reduce((sum, { ratio }) => sum + Math.log(ratio), 0) / rows.length);
  const lowest = short(Math.min(...rows.map(({ ratio }) => ratio)));
  console.log(`\nGeometric mean of other / this: ${short(mean)}; the lowest: ${lowest}.`);
}

async function eachCommand(contest) {
  const folder = mkdtempSync(join(tmpdir(), 'halfspace-builds-'));
  try {
    for (const [name, start] of Object.entries(commandsIn(folder))) {
      await contest(name, roots.map(start));
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}
