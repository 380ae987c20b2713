// What each contender needs to find the neighbors of a data set: time and memory to build, recall and
// speed by effort, one query a call and all queries in one. Indexes that take minutes to build are kept
// in bench/.cache with their time and memory; a file's name has version, parameters and data.

import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sized } from './bench.mjs';
import { buildDataSet, checksumOf, pathOf, vectorsOf } from './data-sets.mjs';
import { findPython, JsonChild, pythonChild } from './python.mjs';

const script = fileURLToPath(new URL('engine-child.mjs', import.meta.url));
const cache = fileURLToPath(new URL('../.cache/', import.meta.url));

export const K = 10;
/** All contenders take turns in each round, so that noise of the machine falls on all alike. */
const ROUNDS = sized(3, 1);
/** Queries of a round after the first, which measures all of them, and so the recall. */
const SOME_QUERIES = 250;
const ALL_QUERIES = 1000;
/** Larger efforts are not tried above this recall. */
const ENOUGH_RECALL = 0.994;
/** Efforts that differ by less do not differ. */
const SAME_RECALL = 0.001;

/**
 * `{ name, version, parameters, built, opened, single, batch }` of each that is installed. `built` has
 * `{ seconds, cpuSeconds, bytes }`, `opened` `{ seconds, bytes }` of reading its file; `single` and
 * `batch` are lists of `{ effort, recall, perSecond, slowest, fastest }`, without those that another
 * effort exceeds in both recall and speed.
 */
export async function contest(set, { isRebuilt = false, names = null } = {}) {
  const { python, contenders } = await contendersOf(set, names);
  const runners = [];
  for (const one of contenders) {
    if (!one.graph && (isRebuilt || one.isRebuilt || !existsSync(`${one.path}.json`))) {
      await buildIndex(one, set, python);
    }
    runners.push(await start(one, set, python));
  }
  for (let round = 0; round < ROUNDS; round++) {
    console.error(`${set}: round ${round + 1} of ${ROUNDS}`);
    await searchAll(runners, round);
    if (round === 0) for (const runner of runners) runner.results = worthwhile(runner.results);
  }
  for (const { child } of runners) child.close();
  return runners.map(({ child, results, ...rest }) => ({
    ...rest,
    single: frontier(summaries(results.filter(({ isBatch }) => !isBatch))),
    batch: frontier(summaries(results.filter(({ isBatch }) => isBatch))),
  }));
}

/** Builds the indexes that are kept and not there yet. */
export async function buildKept(set, names = null) {
  const { python, contenders } = await contendersOf(set, names);
  for (const one of contenders) {
    const isMissing = !one.graph && !one.isRebuilt && !existsSync(`${one.path}.json`);
    if (isMissing) await buildIndex(one, set, python);
  }
}

/** Those that are installed, each with its `version` and the `path` of its index. */
async function contendersOf(set, names) {
  await buildDataSet(set);
  const python = findPython();
  const { dimensions } = vectorsOf(set, 'queries');
  const versions =
    python === null ? null : await askOnce(childOf('python', python), 'versions', {});
  const all = contendersFor(set, dimensions).filter(({ name }) => names?.includes(name) ?? true);
  const contenders = all.flatMap((one) => {
    const version = versionOf(one, versions);
    if (version !== null) return [{ ...one, version, path: pathOfIndex(one, version, set) }];
    const loud = `**NO ${one.name}**: it is not installed, or could not be compiled.`;
    console.error(loud);
    console.log(`\n${loud}`);
    return [];
  });
  return { python, contenders };
}

function pathOfIndex({ name, graph, parameters }, version, set) {
  const builder = graph === undefined ? [name, version] : [graph, versionOf({ name: graph })];
  const words = [...builder, ...Object.values(parameters), set, checksumOf(set)];
  return join(cache, words.join('-').replaceAll(/[^\w.-]/g, '_'));
}

/** The contender with its index opened in a child. */
async function start(one, set, python) {
  const { host, engine, parameters, graph, path } = one;
  const built = graph ? null : JSON.parse(readFileSync(`${path}.json`, 'utf8'));
  const child = childOf(host, python);
  const data =
    host === 'node' ? { set } : { queries: pathOf(set, 'queries'), truth: pathOf(set, 'truth') };
  const opened = await child.ask('open', { ...data, engine, parameters, path, k: K });
  const results = one.efforts.flatMap((effort) => [
    { effort, isBatch: false, rounds: [] },
    ...(one.hasNoBatch ? [] : [{ effort, isBatch: true, rounds: [] }]),
  ]);
  return { ...one, built, opened, child, results };
}

/** Builds an index in a child and records its costs; the record is written last. */
async function buildIndex({ name, host, engine, parameters, path }, set, python) {
  console.error(`${set}: ${name} builds ...`);
  mkdirSync(cache, { recursive: true });
  const unfinished = `${path}.${process.pid}`;
  const data = host === 'node' ? { set } : { train: pathOf(set, 'train') };
  const request = { ...data, engine, parameters, path: unfinished };
  const built = await askOnce(childOf(host, python), 'build', request);
  rmSync(path, { recursive: true, force: true });
  renameSync(unfinished, path);
  writeFileSync(`${path}.json`, `${JSON.stringify(built, null, 2)}\n`);
}

function childOf(host, python) {
  if (host === 'python') return pythonChild(python, 'neighbors.py');
  return new JsonChild(process.execPath, ['--expose-gc', script]);
}

async function askOnce(child, verb, request) {
  const answer = await child.ask(verb, request);
  child.close();
  return answer;
}

/** Each effort of each contender once, in turns; in the first round, until the recall is enough. */
async function searchAll(runners, round) {
  const most = Math.max(...runners.map(({ results }) => results.length));
  for (let at = 0; at < most; at++) {
    for (const runner of runners) {
      const result = runner.results[at];
      if (result === undefined) continue;
      if (round === 0 && isEnough(runner.results, result)) continue;
      const { effort, isBatch } = result;
      const isAll = isBatch || round === 0;
      const count = isAll ? ALL_QUERIES : SOME_QUERIES;
      const first = isAll ? 0 : ((round - 1) * SOME_QUERIES) % ALL_QUERIES;
      result.rounds.push(await runner.child.ask('search', { effort, isBatch, first, count }));
    }
  }
}

/** Without efforts that another exceeds by far, so that time goes to those that matter. */
function worthwhile(results) {
  const measured = results.filter(({ rounds }) => rounds.length > 0);
  return measured.filter((one) => {
    const [{ recall, perSecond }] = one.rounds;
    return !measured.some(
      ({ isBatch, rounds: [other] }) =>
        isBatch === one.isBatch && other.recall >= recall && other.perSecond > 1.5 * perSecond,
    );
  });
}

/**
 * Whether a smaller effort in every parameter has found enough, or the last two with the same first
 * parameter have found the same.
 */
function isEnough(results, { effort, isBatch }) {
  const smaller = results.filter(
    (other) =>
      other.isBatch === isBatch &&
      other.rounds.length > 0 &&
      Object.keys(effort).every((key) => other.effort[key] <= effort[key]),
  );
  if (smaller.some(({ rounds }) => rounds[0].recall >= ENOUGH_RECALL)) return true;
  const [first] = Object.keys(effort);
  const alike = smaller.filter((other) => other.effort[first] === effort[first]).slice(-2);
  const [one, other] = alike.map(({ rounds }) => rounds[0].recall);
  return other !== undefined && other - one < SAME_RECALL;
}

/** Recall is of the first round, which has all queries; speed is the median of the rounds. */
function summaries(results) {
  return results
    .filter(({ rounds }) => rounds.length > 0)
    .map(({ effort, rounds }) => {
      const speeds = rounds.map(({ perSecond }) => perSecond).sort((a, b) => a - b);
      const [slowest, fastest] = [speeds[0], speeds[speeds.length - 1]];
      const perSecond = speeds[speeds.length >> 1];
      return { effort, recall: rounds[0].recall, perSecond, slowest, fastest };
    });
}

/** Points that no other exceeds in both recall and speed, by recall. */
function frontier(points) {
  return points
    .filter(
      (one) =>
        !points.some((other) => other.recall > one.recall && other.perSecond > one.perSecond),
    )
    .sort((a, b) => a.recall - b.recall);
}

// --- Who takes part: parameters of the build, and the efforts of a search, cheap ones first. What a
// rival's documentation or its authors' benchmarks use, where there is such a thing.

/** Recalls that our index is optimized for. */
const WANTED = [0.8, 0.85, 0.9, 0.92, 0.94, 0.95, 0.96, 0.97, 0.98, 0.985, 0.99, 0.995];
const EF = [10, 16, 24, 40, 64, 100, 160, 250, 400, 700, 1200].map((ef) => ({ ef }));

/** Every first with every second, by their product. */
const grid = (names, firsts, seconds) =>
  firsts
    .flatMap((one) => seconds.map((other) => ({ [names[0]]: one, [names[1]]: other })))
    .sort((a, b) => a[names[0]] * a[names[1]] - b[names[0]] * b[names[1]]);

/** Numbers that depend on the rows and dimensions: lists of IVF, leaves of ScaNN. */
const TUNED = {
  glove: { lists: 1024, leaves: 1500 },
  images: { lists: 256, leaves: 400 },
  sentences: { lists: 1024, leaves: 1500 },
  nouns: { lists: 64, leaves: 100 },
};

/**
 * `{ name, host, parameters, efforts, graph }`: `host` is the process that it runs in, `graph` the
 * contender whose file it reads where it builds none; `isRebuilt` where it is quick to build.
 */
function contendersFor(set, dimensions) {
  const { lists, leaves } = TUNED[set];
  const faissHnsw = (M) => ({
    name: `FAISS HNSW${M}`,
    host: 'python',
    engine: 'faiss_hnsw',
    parameters: { M, efConstruction: 200 },
    efforts: EF,
  });
  return [
    {
      name: 'halfspace',
      host: 'node',
      engine: 'halfspace',
      parameters: { bits: 256, projection: 'hadamard', vectors: 'float32' },
      efforts: WANTED.map((recall) => ({ recall })),
      isRebuilt: true,
    },
    {
      name: 'ScaNN',
      host: 'python',
      engine: 'scann',
      parameters: { leaves, soar: 1.5, dimensionsPerBlock: 2 },
      efforts: grid(['leaves', 'reorder'], [4, 8, 16, 32, 64, 128, 256, 512], [40, 100, 250]),
    },
    {
      name: 'FAISS IVF-PQ',
      host: 'python',
      engine: 'faiss_ivf',
      parameters: { factory: `IVF${lists},PQ${dimensions / 2}x4fs,Refine(SQfp16)` },
      efforts: grid(['nprobe', 'k_factor'], [4, 8, 16, 32, 64, 128, 256, 512], [4, 10, 25]),
      isRebuilt: true,
    },
    faissHnsw(16),
    faissHnsw(32),
    {
      name: 'hnswlib-node',
      host: 'node',
      engine: 'hnswlib',
      parameters: { m: 16, efConstruction: 200 },
      efforts: EF,
      hasNoBatch: true,
    },
    {
      name: 'hnswlib',
      host: 'python',
      engine: 'hnswlib',
      parameters: { m: 16, efConstruction: 200 },
      efforts: EF,
      graph: 'hnswlib-node',
    },
    {
      name: 'usearch',
      host: 'node',
      engine: 'usearch',
      // expansion_add is usearch's own default, written out.
      parameters: { connectivity: 16, expansion_add: 128 },
      efforts: EF,
      hasNoBatch: true,
    },
  ];
}

/** The installed version of a package of npm or PyPI, or null. */
function versionOf({ name, host, engine }, pythonVersions) {
  if (host === 'python') return pythonVersions?.[engine.split('_')[0]] ?? null;
  const folder = name === 'halfspace' ? '../..' : `../node_modules/${name}`;
  const about = new URL(`${folder}/package.json`, import.meta.url);
  return existsSync(about) ? JSON.parse(readFileSync(about, 'utf8')).version : null;
}
