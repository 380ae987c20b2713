// How fast is the exact scan of 1,000,000 codes for the 10 nearest, one query alone and 100 at once?
// Compared with FAISS and USearch on one thread.

import { Codes, scan, scanAll } from '../dist/index.js';
import {
  announce,
  mustHold,
  printTable,
  race,
  short,
  sized,
  span,
  timed,
  times,
} from './lib/bench.mjs';
import { openPython } from './lib/python.mjs';
import { clusteredCodes, duplicateCodes, uniformCodes } from './lib/random.mjs';

const ROWS = sized(1_000_000, 20_000);
const QUERIES = 100;
const K = 10;
const KINDS = [
  ['64 bits', uniformCodes, 64],
  ['128 bits', uniformCodes, 128],
  ['256 bits', uniformCodes, 256],
  ['512 bits', uniformCodes, 512],
  ['1,024 bits', uniformCodes, 1024],
  ['256, clustered', clusteredCodes, 256],
  ['256, duplicates', duplicateCodes, 256],
];

const python = await openPython();
await announce(python);
const rows = [];
for (const [kind, make, bits] of KINDS) {
  const codes = make(ROWS, bits, 7);
  // Uniform queries are near nothing; rows with one bit flipped are near their cluster or copies.
  const queries = make === uniformCodes ? uniformCodes(QUERIES, bits, 8) : almostRows(codes);
  const raced = await race([...ours(codes, queries), ...(await theirs(codes, queries))]);
  const perQuery = raced.map(({ name, count, ms, low, high }) => {
    return { name, count, ms: ms / count, low: low / count, high: high / count };
  });
  for (const result of perQuery) {
    const { name, count, ms } = result;
    const faiss = perQuery.find((one) => one.name === 'FAISS' && one.count === count);
    rows.push([
      ...[kind, name, count, short(ms), span(result), short(codes.bytes.length / ms / 1e6)],
      faiss ? times(faiss.ms / ms) : '-',
    ]);
  }
}
printTable(
  `Scan of ${short(ROWS)} codes, top ${K}`,
  ['codes', 'method', 'queries', 'ms a query', 'p10..p90', 'GB/s', 'FAISS / this'],
  rows,
  2,
);
python?.close();

function ours(codes, queries) {
  return [
    {
      ...{ name: 'halfspace', count: 1 },
      run: timed((call) => scan(codes, queries.at(call % queries.count), { k: K })),
    },
    {
      ...{ name: 'halfspace', count: QUERIES, isSlow: true },
      run: timed(async () => await scanAll(codes, queries, { k: K })),
    },
  ];
}

/** The rivals, after they were found to give equal distances; they break ties differently. */
async function theirs(codes, queries) {
  if (!python) return [];
  await python.ask('codes', { codes: codes.bytes, queries: queries.bytes, bits: codes.bits });
  const by = (engine, count) => (call) =>
    python.ask('search', { engine, first: count === 1 ? call % QUERIES : 0, count, k: K });
  for (const engine of ['faiss', 'usearch']) {
    const { distances } = await by(engine, 1)(3);
    const expected = scan(codes, queries.at(3), { k: K }).distances;
    mustHold(String(distances) === String(expected), `distances of ${engine}`);
  }
  const run = (engine, count) => async (call) => (await by(engine, count)(call)).ms;
  return [
    { name: 'FAISS', count: 1, run: run('faiss', 1) },
    { name: 'FAISS', count: QUERIES, isSlow: true, run: run('faiss', QUERIES) },
    { name: 'USearch', count: 1, isSlow: true, run: run('usearch', 1) },
  ];
}

function almostRows(codes) {
  const queries = Codes.allocate(QUERIES, { bits: codes.bits });
  for (let row = 0; row < QUERIES; row++) {
    queries.at(row).set(codes.at(row * 97));
    queries.at(row)[0] ^= 1;
  }
  return queries;
}
