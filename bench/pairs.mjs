// How long do all pairs within a distance take? Uniform codes and skewed ones, each in a process of
// its own; next to FAISS, which looks up each code in its tables. Growth as exponents of a fit.

import { fileURLToPath } from 'node:url';
import { inChild } from './lib/child.mjs';
import { openPython } from './lib/python.mjs';
import { uniformCodes } from './lib/random.mjs';
import { announce, bytesText, mark, mustHold, printTable, short, times } from './lib/table.mjs';

const child = fileURLToPath(new URL('lib/pairs-child.mjs', import.meta.url));
const [MILLION, TEN_MILLION] = process.env.BENCH_COUNTS?.split(',').map(Number) ?? [1e6, 1e7];
/** Codes that FAISS looks up; its time for all is in proportion. */
const LOOKED_UP = 20_000;

const python = await openPython();
await announce(python);
const cases = [
  { kind: 'uniform', count: MILLION, bits: 64, maxDistance: 3, runs: 5 },
  { kind: 'half share 16 bits', count: MILLION, bits: 64, maxDistance: 3, runs: 5 },
  { kind: 'near duplicates', count: MILLION, bits: 64, maxDistance: 3, runs: 1 },
  { kind: 'uniform', count: TEN_MILLION, bits: 64, maxDistance: 3, runs: 3 },
  { kind: 'uniform', count: MILLION, bits: 128, maxDistance: 8, runs: 3 },
  { kind: 'uniform', count: MILLION, bits: 256, maxDistance: 16, runs: 3 },
];
const results = cases.map((one) => ({ ...one, ...inChild(child, one) }));
printTable(
  'All pairs, median of the runs',
  [
    ...['codes', 'bits', 'within', 'seconds', 'fastest..slowest', 'pairs'],
    ...['tables', 'compared, expected', 'expected s', 'memory', 'of the codes'],
  ],
  results.map(({ kind, count, bits, maxDistance, seconds, fastest, slowest, found, ...one }) => [
    ...[`${short(count)} ${kind}`, bits, maxDistance, short(seconds)],
    ...[`${short(fastest)}..${short(slowest)}`, found.toLocaleString('en-US')],
    ...[one.plan.tables, short(one.plan.comparisons), short(one.plan.expectedSeconds)],
    ...[bytesText(one.bytes), times(one.bytes / one.codesBytes)],
  ]),
);
console.log('\nMemory: the most that was in use besides the codes.');

const [uniform, shared, , large, wide, wider] = results;
mark('seconds, 1,000,000 × 64 within 3', uniform.seconds, { most: 0.3 });
mark('seconds, 10,000,000 × 64 within 3', large.seconds, { most: 6 });
mark('memory by the codes, 10,000,000 × 64', large.bytes / large.codesBytes, { most: 6 });
mark('seconds, 1,000,000 × 128 within 8', wide.seconds, { most: 5 });
mark('seconds, 1,000,000 × 256 within 16', wider.seconds, { most: 5 });
mark('time by that of uniform codes, half share 16 bits', shared.seconds / uniform.seconds, {
  most: 3,
});

const growth = [
  { bits: 64, maxDistance: 3 },
  { bits: 128, maxDistance: 8 },
  { bits: 256, maxDistance: 16 },
].map((one) => {
  const counts = [MILLION / 8, MILLION / 4, MILLION / 2, MILLION];
  const seconds = counts.map(
    (count) => inChild(child, { kind: 'uniform', count, ...one, runs: 3 }).seconds,
  );
  return [one.bits, one.maxDistance, ...seconds.map(short), exponent(counts, seconds).toFixed(2)];
});
printTable(
  'Seconds by the number of uniform codes, and the exponent of a fit',
  ['bits', 'within', ...[8, 4, 2, 1].map((part) => short(MILLION / part)), 'exponent'],
  growth,
);

if (python) {
  const codes = uniformCodes(MILLION, 64, 7);
  await python.ask('codes', {
    codes: codes.bytes,
    queries: codes.bytes.slice(0, 8 * LOOKED_UP),
    bits: 64,
  });
  const built = await python.ask('multi_hash', { tables: 4, width: 16 });
  const asked = { first: 0, count: LOOKED_UP, distance: 3 };
  const { ms, found } = await python.ask('within_all', asked);
  // Each code finds itself.
  mustHold(found - LOOKED_UP <= 2 * uniform.found, 'FAISS and ours');
  const seconds = ((ms / LOOKED_UP) * MILLION + built.ms) / 1000;
  printTable(
    `FAISS, tables of 4 × 16 bits: ${short(LOOKED_UP)} of ${short(MILLION)} codes looked up`,
    ['µs a code', 'seconds for all, tables included', 'FAISS / ours'],
    [[short((1000 * ms) / LOOKED_UP), short(seconds), times(seconds / uniform.seconds)]],
    0,
  );
  mark('speed of FAISS, 1,000,000 × 64 within 3', seconds / uniform.seconds, { least: 100 });
}
python?.close();

/** Of time by count, by least squares over logarithms. */
function exponent(counts, seconds) {
  const [xs, ys] = [counts.map(Math.log), seconds.map(Math.log)];
  const mean = (all) => all.reduce((sum, one) => sum + one, 0) / all.length;
  const [x, y] = [mean(xs), mean(ys)];
  const above = xs.reduce((sum, one, i) => sum + (one - x) * (ys[i] - y), 0);
  return above / xs.reduce((sum, one) => sum + (one - x) ** 2, 0);
}
