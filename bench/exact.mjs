// How long does an exact search take by the methods of an index, next to a scan and FAISS? One query
// at a time: the 10 nearest by distance, and all within distance 3.

import { SimHashIndex, scan } from '../dist/index.js';
import { nearDuplicates, queriesNear, textOf } from './lib/bands.mjs';
import { settle } from './lib/planner.mjs';
import { openPython } from './lib/python.mjs';
import { clusteredCodes, uniformCodes } from './lib/random.mjs';
import { announce, bytesText, mark, mustHold, printTable, short, span } from './lib/table.mjs';
import { race, timed } from './lib/timing.mjs';

/** Codes of 64 bits and of 256. */
const [MANY, WIDE] = process.env.BENCH_COUNTS?.split(',').map(Number) ?? [1e7, 1e6];
const K = 10;
const RADIUS = 3;
/** The planner settles on other queries than those that are timed and checked. */
const SETTLING = 250;
const MOST_SETTLING = 1200;
/** Rounds of the race in which a fast entry goes through all queries. */
const LAP = 6;
/** FAISS's tables get no more flips once a query takes so many times as long as FAISS's scan. */
const MOST_SCANS = 10;

const NEAREST = {
  queries: 50,
  search: (index, query, method) => index.search(query, { k: K, ...method }),
  scan: (codes, query) => scan(codes, query, { k: K }),
  faiss: { verb: 'search', count: 1, k: K },
  /** Distances are compared: FAISS breaks ties differently. */
  text: ({ distances }) => distances.join(),
  /** About log2 of the codes as the width of a table's key (Norouzi et al. 2012). */
  tables: ({ bits, count }) => Math.round(bits / Math.log2(count)),
};
const WITHIN = {
  queries: 240,
  search: (index, query, method) => index.within(query, { maxDistance: RADIUS, ...method }),
  scan: (codes, query) => scan(codes, query, { maxDistance: RADIUS }),
  faiss: { verb: 'within', distance: RADIUS },
  text: (found) => textOf(inOrder(found)),
  /** Four equal keys: no flips are needed (Manku et al. 2007). */
  tables: () => RADIUS + 1,
};
const DATA = [
  { kind: 'uniform', count: MANY, bits: 64, make: uniformCodes, tasks: [NEAREST, WITHIN] },
  { kind: 'clustered', count: MANY, bits: 64, make: clusteredCodes, tasks: [NEAREST] },
  { kind: 'near duplicates', count: MANY, bits: 64, make: nearCodes, tasks: [WITHIN] },
  { kind: 'uniform', count: WIDE, bits: 256, make: uniformCodes, tasks: [NEAREST] },
  { kind: 'clustered', count: WIDE, bits: 256, make: clusteredCodes, tasks: [NEAREST] },
];

const python = await openPython();
await announce(python);
const lines = new Map([
  [NEAREST, []],
  [WITHIN, []],
]);
const marks = [];
for (const { kind, count, bits, make, tasks } of DATA) {
  const codes = make(count, bits, 7);
  const sent = await python?.ask('codes', { codes: codes.bytes, queries: codes.at(0), bits });
  for (const task of tasks) {
    const isFar = kind === 'uniform' && task === NEAREST;
    const name = `${short(count)} × ${bits}, ${kind}`;
    const queries = isFar
      ? uniformQueries(SETTLING + task.queries, bits)
      : queriesNear(codes, SETTLING + task.queries, RADIUS, 8);
    const results = await contest(task, codes, queries, sent?.ms);
    const msOf = (entry) => results.find((one) => one.entry === entry)?.ms ?? Number.NaN;
    for (const { title, ms, low, high, addMs, tablesMs, bytes } of results) {
      const built = [addMs, tablesMs].map((one) => (one === undefined ? '-' : short(one / 1000)));
      const ratios = ['index, scan', 'FAISS flat'].map((entry) => short(msOf(entry) / ms));
      const times = [short(ms), span({ low, high })];
      lines.get(task).push([name, title, ...times, ...ratios, ...built, bytesText(bytes)]);
    }
    if (task === WITHIN && count >= 1e7) {
      marks.push([`speed of the scan, ${name}`, msOf('index, scan') / msOf('index, auto')]);
    }
  }
}
const head = ['codes', 'method', 'ms', 'p10..p90', 'scan / this', 'FAISS flat / this'];
const columns = [...head, 'add s', 'tables s', 'memory'];
printTable(`The ${K} nearest, one query`, columns, lines.get(NEAREST), 2);
printTable(`All within distance ${RADIUS}, one query`, columns, lines.get(WITHIN), 2);
for (const [what, ratio] of marks) mark(what, ratio, { least: 100 });
python?.close();

/** All entries in turns, after the planner has settled and all answers were found equal. */
async function contest(task, codes, queries, flatMs) {
  const index = new SimHashIndex({ bits: codes.bits });
  const addMs = timed(() => index.addAll(codes))();
  const { buildMs } = settle(
    index,
    (call) => task.search(index, queries[call % SETTLING], { explain: true }),
    MOST_SETTLING,
  );
  const timedQueries = queries.slice(SETTLING);
  const { truth, byTables } = checkOurs(task, index, codes, timedQueries);
  const { bands, total } = index.bytes;
  const share =
    byTables === 0 ? 'by scan' : `${short((100 * byTables) / task.queries)} % by tables`;
  const entries = [
    {
      ...{ entry: 'index, auto', title: `index, auto: ${share}`, addMs, bytes: total },
      ...{ tablesMs: bands > 0 ? buildMs : undefined, calls: byTables > 0 ? lap(task) : 3 },
      run: inTurn(timedQueries, (query) => task.search(index, query, { method: 'auto' })),
    },
    {
      ...{ entry: 'index, scan', addMs, bytes: total - bands },
      run: inTurn(timedQueries, (query) => task.search(index, query, { method: 'scan' })),
    },
    {
      ...{ entry: 'plain scan', bytes: codes.bytes.length },
      run: inTurn(timedQueries, (query) => task.scan(codes, query)),
    },
  ];
  if (python) entries.push(...(await faissEntries(task, codes, timedQueries, truth, flatMs)));
  const results = await race(entries);
  return results.map((one) => ({ title: one.entry, ...one }));
}

/** The scan's answers, after the methods were found to give equal ones. */
function checkOurs(task, index, codes, queries) {
  let byTables = 0;
  const truth = queries.map((query) => {
    const expected = task.scan(codes, query);
    const auto = task.search(index, query, { method: 'auto', explain: true });
    mustHold(textOf(auto) === textOf(expected), 'method auto and the plain scan');
    mustHold(
      textOf(task.search(index, query, { method: 'scan' })) === textOf(expected),
      'method scan',
    );
    if (auto.explain.method === 'bands') byTables++;
    return expected;
  });
  return { truth, byTables };
}

/** FAISS's scan, and its tables with the fewest flips that find all, or the recall that is printed. */
async function faissEntries(task, codes, queries, truth, flatMs) {
  const { bits } = codes;
  const bytes = Uint8Array.from(queries.flatMap((query) => [...query]));
  await python.ask('queries', { queries: bytes, bits });
  const ask = (request) => (first) => {
    const { verb, ...rest } = task.faiss;
    return python.ask(verb, { ...rest, first, ...request });
  };
  const entry = (run) => {
    let turn = 0;
    return async () => (await run(turn++ % task.queries)).ms;
  };
  const flat = ask({ engine: 'faiss' });
  const scanned = await tried(task, flat, truth);
  mustHold(scanned.isEqual, 'FAISS flat and the plain scan');

  const tables = task.tables(codes);
  const width = Math.floor(bits / tables);
  const built = await python.ask('multi_hash', { tables, width });
  let multi;
  let found = { recall: 0, ms: 0 };
  let flips = -1;
  while (found.recall < 1 && found.ms < MOST_SCANS * scanned.ms && flips < width) {
    multi = ask({ engine: 'multi', flips: ++flips });
    found = await tried(task, multi, truth);
  }
  mustHold(found.recall < 1 || found.isEqual, 'FAISS multi-hash and the plain scan');
  const recall = found.recall < 1 ? `, recall ${short(found.recall)}: not comparable` : '';
  const named = `${tables} × ${width} bits, ${flips} flips`;
  return [
    { entry: 'FAISS flat', run: entry(flat), addMs: flatMs, bytes: codes.bytes.length },
    {
      ...{ entry: 'FAISS multi-hash', title: `FAISS multi-hash, ${named}${recall}` },
      ...{ run: entry(multi), tablesMs: built.ms, bytes: built.bytes },
      calls: found.ms < scanned.ms / 2 ? lap(task) : 3,
    },
  ];
}

/** How much of the truth an index of FAISS finds, and its mean time. */
async function tried(task, run, truth) {
  let isEqual = true;
  let ms = 0;
  let hits = 0;
  let wanted = 0;
  for (const [i, expected] of truth.entries()) {
    const found = await run(i);
    isEqual &&= task.text(found) === task.text(expected);
    ms += found.ms / truth.length;
    hits += common(found.distances, expected.distances);
    wanted += expected.distances.length;
  }
  return { isEqual, ms, recall: hits / wanted };
}

/** How many of the wanted distances, each as often as wanted, are among those found. */
function common(found, wanted) {
  const left = new Map();
  for (const distance of wanted) left.set(distance, (left.get(distance) ?? 0) + 1);
  let hits = 0;
  for (const distance of found) {
    const count = left.get(distance) ?? 0;
    if (count === 0) continue;
    left.set(distance, count - 1);
    hits++;
  }
  return hits;
}

/** Calls in a turn, the first of which does not count. */
function lap({ queries }) {
  return 1 + Math.ceil(queries / LAP);
}

/** A run that takes the queries one after another, whatever other entries do. */
function inTurn(queries, work) {
  let turn = 0;
  return timed(() => work(queries[turn++ % queries.length]));
}

function inOrder({ rows, distances }) {
  const order = Array.from(rows.keys());
  order.sort((a, b) => distances[a] - distances[b] || rows[a] - rows[b]);
  return { rows: order.map((i) => rows[i]), distances: order.map((i) => distances[i]) };
}

function nearCodes(count, bits, seed) {
  return nearDuplicates(count, bits, RADIUS, seed);
}

function uniformQueries(count, bits) {
  const codes = uniformCodes(count, bits, 8);
  return Array.from({ length: count }, (_, row) => codes.at(row));
}
