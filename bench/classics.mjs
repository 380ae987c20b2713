// All 64-bit codes within distance 3: how do the methods of the classic articles compare? A scan,
// 43,745 look-ups, 64 lists of bits, and the tables of Norouzi et al. (2012).

import { hitsText, nearDuplicates, queriesNear } from './lib/bands.mjs';
import { bitLists, enumeration, linearScan, RADIUS, tables } from './lib/classics.mjs';
import { uniformCodes } from './lib/random.mjs';
import { announce, bytesText, mark, mustHold, printTable, short, span } from './lib/table.mjs';
import { summary, timed } from './lib/timing.mjs';

const COUNTS = process.env.BENCH_COUNTS?.split(',').map(Number) ?? [1e6, 1e7];
const QUERIES = 600;
const ROUNDS = 5;
const CHECKED = 40;

/** Slow methods run fewer queries. */
const METHODS = [
  { name: '64 lists of bits', make: bitLists, most: 5 },
  { name: '43,745 look-ups', make: enumeration, most: 60 },
  { name: '4 tables', make: (codes) => tables(codes, 4) },
];

await announce();
for (const count of COUNTS) {
  for (const [kind, make] of [
    ['uniform', () => uniformCodes(count, 64, 7)],
    ['near duplicates', () => nearDuplicates(count, 64, RADIUS, 7)],
  ]) {
    contest(`${kind}, ${short(count)} codes`, make());
  }
}

function contest(title, codes) {
  const queries = queriesNear(codes, QUERIES, RADIUS, 8);
  const scan = linearScan(codes);
  const expected = queries.slice(0, CHECKED).map((query) => hitsText(scan.search(query)));
  const scans = [];
  const rows = METHODS.map(({ name, make, most = QUERIES }) => {
    const start = performance.now();
    const entry = make(codes);
    const buildMs = performance.now() - start;
    const checked = Math.min(CHECKED, most);
    for (let i = 0; i < checked; i++) {
      mustHold(hitsText(entry.search(queries[i])) === expected[i], `${name} and the scan`);
    }
    const beside = takeTurns(entry, scan, queries.slice(0, most));
    scans.push(...beside.scans);
    const { ms, low, high } = summary(beside.entries);
    const scanMs = summary(beside.scans).ms;
    return {
      cells: [
        ...[name, short(buildMs), bytesText(entry.bytes), short(1000 * ms)],
        ...[span({ low: 1000 * low, high: 1000 * high }), ...beside.work.map(short)],
        short(scanMs / ms),
      ],
      name,
      ratio: scanMs / ms,
    };
  });
  const { ms, low, high } = summary(scans);
  const scanRow = [
    'scan',
    0,
    '0 B',
    short(1000 * ms),
    span({ low: 1000 * low, high: 1000 * high }),
  ];
  const head = ['method', 'build ms', 'memory', 'µs a query', 'p10..p90', 'look-ups', 'candidates'];
  const cells = [[...scanRow, '-', short(codes.count), 1], ...rows.map((row) => row.cells)];
  printTable(`Within distance 3: ${title}`, [...head, 'scan / this'], cells);
  const four = rows.find(({ name }) => name === '4 tables');
  if (codes.count >= 1e7) mark(`speed of the scan, 4 tables, ${title}`, four.ratio, { least: 100 });
}

/** Times of a method's queries and of scans, in turns, after a warm-up; and its mean work a query. */
function takeTurns(entry, scan, queries) {
  const times = { entries: [], scans: [], work: [] };
  const some = Math.ceil(queries.length / ROUNDS);
  let lookUps = 0;
  let candidates = 0;
  for (let i = 0; i < Math.min(3 * queries.length, QUERIES); i++) entry.search(queries[i % some]);
  for (let round = 0; round < ROUNDS; round++) {
    for (let i = 0; i < 4; i++) times.scans.push(timed(() => scan.search(queries[i]))());
    for (const query of queries.slice(round * some, (round + 1) * some)) {
      times.entries.push(timed(() => entry.search(query))());
      lookUps += entry.found?.lookUps ?? entry.lookUps;
      candidates += entry.found?.compared ?? Number.NaN;
    }
  }
  times.work = [lookUps / queries.length, candidates / queries.length];
  return times;
}
