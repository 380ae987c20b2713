// How long does an exact search of an index by distance take, next to a scan and FAISS? One query at a
// time: the 10 nearest, and all within distance 3. The index chooses between tables and a scan.

import { SimHashIndex, scan } from '../dist/index.js';
import {
  announce,
  bytesText,
  measured,
  mustHold,
  printTable,
  race,
  short,
  sized,
  span,
  timed,
} from './lib/bench.mjs';
import { openPython } from './lib/python.mjs';
import { clusteredCodes, nearDuplicates, queriesNear, uniformCodes } from './lib/random.mjs';

const K = 10;
const RADIUS = 3;
const QUERIES = sized(240, 12);
/** Searches before those that are timed: the index builds its tables in them. */
const SETTLING = sized(400, 10);
const [MANY, WIDE] = sized([1e7, 1e6], [20_000, 20_000]);

const NEAREST = {
  title: `The ${K} nearest, one query`,
  search: (index, query, more) => index.search(query, { k: K, rank: 'hamming', ...more }),
  scan: (codes, query) => scan(codes, query, { k: K }),
  faiss: { verb: 'search', count: 1, k: K },
};
const WITHIN = {
  title: `All within distance ${RADIUS}, one query`,
  search: (index, query, more) => index.within(query, { maxDistance: RADIUS, ...more }),
  scan: (codes, query) => scan(codes, query, { maxDistance: RADIUS }),
  faiss: { verb: 'within', distance: RADIUS },
};
const CASES = [
  [NEAREST, 'uniform', MANY, 64, uniformCodes],
  [NEAREST, 'clustered', MANY, 64, clusteredCodes],
  [NEAREST, 'uniform', WIDE, 256, uniformCodes],
  [NEAREST, 'clustered', WIDE, 256, clusteredCodes],
  [WITHIN, 'uniform', MANY, 64, uniformCodes],
  [WITHIN, 'near duplicates', MANY, 64, (...given) => nearDuplicates(...given, RADIUS)],
];

const python = await openPython();
await announce(python);
const lines = new Map();
for (const [task, kind, count, bits, make] of CASES) {
  const codes = make(count, bits, 7);
  const queries = queriesOf(task, kind, codes);
  for (const { name, ms, low, high, built, bytes } of await contest(task, codes, queries)) {
    const of = lines.get(task) ?? lines.set(task, []).get(task);
    of.push([
      ...[`${short(count)} × ${bits}, ${kind}`, name, short(ms), span({ low, high })],
      ...[built === undefined ? '-' : short(built), bytesText(bytes)],
    ]);
  }
}
for (const [{ title }, rows] of lines) {
  printTable(title, ['codes', 'method', 'ms', 'p10..p90', 'to build, s', 'memory'], rows, 2);
}
python?.close();

/** All entries in turns, after the tables were built and all answers were found equal. */
async function contest(task, codes, queries) {
  const index = new SimHashIndex({ bits: codes.bits });
  const [settling, asked] = [queries.slice(0, SETTLING), queries.slice(SETTLING)];
  const { seconds } = await measured(async () => {
    await index.addAll(codes);
    for (const query of settling) task.search(index, query);
  });
  const expected = asked.map((query) => task.scan(codes, query));
  asked.forEach((query, i) => {
    mustHold(textOf(task.search(index, query)) === textOf(expected[i]), 'the index and the scan');
  });
  const entry = (name, work, more) => ({
    ...{ name, calls: 1 + asked.length / 6, ...more },
    run: timed((call) => work(asked[call % asked.length])),
  });
  const entries = [
    entry('index', (query) => task.search(index, query), {
      ...{ built: seconds, bytes: index.bytes },
    }),
    entry('scan', (query) => task.scan(codes, query), { bytes: codes.bytes.length, calls: 3 }),
  ];
  if (python) entries.push(...(await faiss(task, codes, asked, expected)));
  return race(entries, 6);
}

/** FAISS's scan, and for a radius its tables, which need no flips with a block more than the radius. */
async function faiss(task, codes, queries, expected) {
  const { verb, ...asked } = task.faiss;
  const { ms } = await python.ask('codes', {
    ...{ codes: codes.bytes, bits: codes.bits },
    queries: Uint8Array.from(queries.flatMap((query) => [...query])),
  });
  const entry = async (name, engine, more) => {
    const ask = (first) => python.ask(verb, { ...asked, engine, first: first % queries.length });
    for (const [i, { distances }] of expected.entries()) {
      const found = (await ask(i)).distances.sort((a, b) => a - b);
      mustHold(String(found) === String([...distances].sort((a, b) => a - b)), name);
    }
    return { name, ...more, run: async (call) => (await ask(call)).ms };
  };
  const flat = { built: ms / 1000, bytes: codes.bytes.length };
  const entries = [await entry('FAISS flat', 'faiss', flat)];
  if (task === WITHIN) {
    const blocks = { tables: RADIUS + 1, width: codes.bits / (RADIUS + 1) };
    const built = await python.ask('multi_hash', blocks);
    const more = { built: built.ms / 1000, bytes: built.bytes, calls: 1 + queries.length / 6 };
    entries.push(await entry('FAISS multi-hash', 'multi', more));
  }
  return entries;
}

/** Uniform queries to uniform codes are near none of them. */
function queriesOf(task, kind, codes) {
  const count = SETTLING + QUERIES;
  if (kind !== 'uniform' || task === WITHIN) return queriesNear(codes, count, RADIUS, 8);
  const drawn = uniformCodes(count, codes.bits, 8);
  return Array.from({ length: count }, (_, row) => drawn.at(row));
}

/** Rows and distances, by distance, then row. */
function textOf({ rows, distances }) {
  const order = Array.from(rows.keys());
  order.sort((a, b) => distances[a] - distances[b] || rows[a] - rows[b]);
  return order.map((i) => `${rows[i]}:${distances[i]}`).join();
}
