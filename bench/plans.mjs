// Does the planner of an index ever lose to a plain scan? The same queries by method 'auto', after it
// has settled, and by method 'scan'; and what it takes to settle, with the tables that it builds.

import { SimHashIndex } from '../dist/index.js';
import { nearDuplicates, queriesNear, textOf } from './lib/bands.mjs';
import { settle } from './lib/planner.mjs';
import { clusteredCodes, duplicateCodes, uniformCodes } from './lib/random.mjs';
import { announce, mark, mustHold, printTable, short } from './lib/table.mjs';

/** Bytes of codes in the large indexes, and rows of the small ones. */
const [BYTES, FEW] = process.env.BENCH_COUNTS?.split(',').map(Number) ?? [32e6, 20_000];
const QUERIES = 300;
/** Queries of one index before it is the other's turn. */
const BLOCK = 20;
const LEAST_MS = 300;
const SETTLING = 300;
const MOST_SETTLING = 1000;
const CHECKED = 40;
const K = 10;
/** What 'auto' may take, in times of the scan. */
const MOST = 1.1;
/** Lines above that are measured twice more, the median counts, unless noise cannot be why. */
const BEYOND_NOISE = 2;
/** No run of a line goes on for longer, once it has asked enough to decide. */
const MOST_MS = 4000;

const KINDS = [
  ['uniform', uniformCodes],
  ['clustered', clusteredCodes],
  ['near duplicates', (count, bits, seed) => nearDuplicates(count, bits, 3, seed)],
  ['duplicates', duplicateCodes],
];

await announce();
const rows = [];
let worst = 0;
for (const bits of [64, 128, 256, 1024]) {
  const tasks = [
    [`${K} nearest`, (index, query, method) => index.search(query, { k: K, ...method })],
    ...[bits / 16, 3].map((maxDistance) => [
      `within ${maxDistance}`,
      (index, query, method) => index.within(query, { maxDistance, ...method }),
    ]),
  ];
  for (const count of [Math.floor((8 * BYTES) / bits), FEW]) {
    for (const [kind, make] of KINDS) {
      const codes = make(count, bits, 7);
      const queries = queriesOf(kind, codes);
      const scanned = indexOf(codes);
      for (const [name, search] of tasks) {
        const line = contest(codes, scanned, queries, search);
        const verdict = line.ratio <= MOST ? 'passed' : '**MISSED**';
        const cells = [line.auto, line.scan, line.ratio].map(short);
        const settling = [line.calls, line.settlingMs, line.settlingRatio].map(short);
        const tables = [line.buildMs, line.bands / 1e6].map((one) => (one > 0 ? short(one) : '-'));
        const share = line.byTables > 0 ? `${short(100 * line.byTables)} %` : '-';
        const what = [bits, short(count), kind, name];
        rows.push([...what, verdict, ...cells, share, ...settling, ...tables]);
        worst = Math.max(worst, line.ratio);
      }
    }
  }
}
const head = ['bits', 'codes', 'kind', 'search', `≤ ${short(MOST)}`, 'auto ms', 'scan ms'];
const settling = ['settling', 'in ms', '/ scans', 'build ms', 'tables MB'];
printTable(
  "Method 'auto' next to method 'scan', mean of a query",
  [...head, 'auto / scan', 'by tables', ...settling],
  rows,
  5,
);
mark('worst time of method auto, in times of the scan', worst, { most: MOST });

/** An index for 'auto' alone, since its planner would learn from scans what its own searches do not show. */
function contest(codes, scanned, queries, search) {
  const index = indexOf(codes);
  const settling = settle(
    index,
    (call) => search(index, queries[call % SETTLING], { explain: true }),
    MOST_SETTLING,
    MOST_MS,
  );
  const some = queries.slice(SETTLING);
  for (const query of some.slice(0, CHECKED)) {
    const [auto, scan] = [search(index, query), search(scanned, query, { method: 'scan' })];
    mustHold(textOf(auto) === textOf(scan), 'auto and the scan');
  }
  const runs = [beside(index, scanned, some, search)];
  while (runs[0].ratio > MOST && runs[0].ratio < BEYOND_NOISE && runs.length < 3) {
    runs.push(beside(index, scanned, some, search));
  }
  const run = runs.sort((a, b) => a.ratio - b.ratio)[runs.length >> 1];
  const { calls, ms: settlingMs, buildMs, bands } = settling;
  return {
    ...{ ...run, calls, settlingMs, buildMs, bands },
    settlingRatio: settlingMs / calls / run.scan,
  };
}

/**
 * Mean times of a query by both plans in turns: of all queries, not the median, but for the slowest
 * tenth of the blocks of each, where something else ran.
 */
function beside(index, scanned, queries, search) {
  const entries = [
    { method: 'auto', index, blocks: [] },
    { method: 'scan', index: scanned, blocks: [] },
  ];
  const [auto, scan] = entries;
  let asked = 0;
  let byTables = 0;
  const block = ({ method, index: one }) => {
    const start = performance.now();
    for (let i = 0; i < BLOCK; i++) {
      const query = queries[(asked + i) % queries.length];
      if (search(one, query, { method, explain: true }).explain.method === 'bands') byTables++;
    }
    return performance.now() - start;
  };
  for (const entry of entries) block(entry);
  byTables = 0;
  let spent = 0;
  const isEnough = () => spent > MOST_MS || (asked >= QUERIES && spent > LEAST_MS);
  for (; asked < 10 * BLOCK || !isEnough(); asked += BLOCK) {
    const turn = (asked / BLOCK) % 2 === 0 ? entries : entries.toReversed();
    for (const entry of turn) {
      entry.blocks.push(block(entry));
      spent += entry.blocks.at(-1);
    }
  }
  const [autoMs, scanMs] = [auto, scan].map(({ blocks }) => meanButSlowest(blocks) / BLOCK);
  return { auto: autoMs, scan: scanMs, ratio: autoMs / scanMs, byTables: byTables / asked };
}

function meanButSlowest(samples) {
  const kept = samples.sort((a, b) => a - b).slice(0, Math.ceil(0.9 * samples.length));
  return kept.reduce((sum, one) => sum + one, 0) / kept.length;
}

function indexOf(codes) {
  const index = new SimHashIndex({ bits: codes.bits });
  index.addAll(codes);
  return index;
}

/** Uniform queries are near nothing; the others are rows with up to three bits flipped. */
function queriesOf(kind, codes) {
  const count = SETTLING + QUERIES;
  if (kind !== 'uniform') return queriesNear(codes, count, 3, 8);
  const queries = uniformCodes(count, codes.bits, 8);
  return Array.from({ length: count }, (_, row) => queries.at(row));
}
