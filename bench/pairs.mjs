// How long do all pairs within a distance take? Uniform codes and skewed ones, each in a process of its
// own; next to FAISS, which looks up each code in its tables. The exponent of a fit shows the growth.

import { fileURLToPath } from 'node:url';
import { pairs } from '../dist/index.js';
import {
  announce,
  answer,
  bytesText,
  inChild,
  mustHold,
  peak,
  printTable,
  request,
  resetPeak,
  resident,
  short,
  sized,
  summary,
  times,
} from './lib/bench.mjs';
import { openPython } from './lib/python.mjs';
import { nearDuplicates, uniformCodes } from './lib/random.mjs';

const [MILLION, TEN_MILLION] = sized([1e6, 1e7], [20_000, 40_000]);
/** Codes that FAISS looks up; its time for all is in proportion. */
const LOOKED_UP = sized(20_000, 2000);
const KINDS = {
  uniform: uniformCodes,
  'near duplicates': (...given) => nearDuplicates(...given, 3),
  /** The first 16 bits of half of the rows are the same. */
  'half share 16 bits': (count, bits, seed) => {
    const codes = uniformCodes(count, bits, seed);
    for (let row = 0; row < count / 2; row++) codes.at(row).set([1, 2]);
    return codes;
  },
};
const WIDTHS = [
  { bits: 64, maxDistance: 3 },
  { bits: 128, maxDistance: 8 },
  { bits: 256, maxDistance: 16 },
];

const given = request();
if (given === undefined) await printAll();
else answer(await timesOf(given));

async function printAll() {
  const python = await openPython();
  await announce(python);
  const script = fileURLToPath(import.meta.url);
  const [narrow, ...wider] = WIDTHS;
  const cases = [
    { kind: 'uniform', count: MILLION, ...narrow, runs: 5 },
    { kind: 'half share 16 bits', count: MILLION, ...narrow, runs: 5 },
    { kind: 'near duplicates', count: MILLION, ...narrow, runs: 1 },
    { kind: 'uniform', count: TEN_MILLION, ...narrow, runs: 3 },
    ...wider.map((width) => ({ kind: 'uniform', count: MILLION, ...width, runs: 3 })),
  ];
  const results = cases.map((one) => ({ ...one, ...inChild(script, one) }));
  printTable(
    'All pairs, median of the runs; memory is the most in use in addition to the codes',
    ['codes', 'bits', 'within', 'seconds', 'pairs', 'memory', 'of the codes'],
    results.map(({ kind, count, bits, maxDistance, seconds, found, bytes, codesBytes }) => [
      ...[`${short(count)} ${kind}`, bits, maxDistance, short(seconds)],
      ...[found.toLocaleString('en-US'), bytesText(bytes), times(bytes / codesBytes)],
    ]),
  );
  const parts = [8, 4, 2, 1].map((part) => MILLION / part);
  printTable(
    'Seconds by the number of uniform codes, and the exponent of a fit',
    ['bits', 'within', ...parts.map(short), 'exponent'],
    WIDTHS.map((width) => {
      const seconds = parts.map(
        (count) => inChild(script, { kind: 'uniform', count, ...width, runs: 3 }).seconds,
      );
      const cells = [...seconds.map(short), exponent(parts, seconds).toFixed(2)];
      return [width.bits, width.maxDistance, ...cells];
    }),
  );
  if (python) await printFaiss(python, results[0]);
  python?.close();
}

async function printFaiss(python, ours) {
  const codes = uniformCodes(MILLION, 64, 7);
  const queries = codes.bytes.slice(0, 8 * LOOKED_UP);
  await python.ask('codes', { codes: codes.bytes, queries, bits: 64 });
  const built = await python.ask('multi_hash', { tables: 4, width: 16 });
  const { ms, found } = await python.ask('within_all', { first: 0, count: LOOKED_UP, distance: 3 });
  mustHold(found - LOOKED_UP <= 2 * ours.found, 'FAISS and ours'); // each code finds itself
  const seconds = ((ms / LOOKED_UP) * MILLION + built.ms) / 1000;
  printTable(
    `FAISS, tables of 4 × 16 bits: ${short(LOOKED_UP)} of ${short(MILLION)} codes looked up`,
    ['µs a code', 'seconds for all, tables included', 'FAISS / ours'],
    [[short((1000 * ms) / LOOKED_UP), short(seconds), times(seconds / ours.seconds)]],
    0,
  );
}

/** In a child: time, peak of memory, and how many pairs were found. */
async function timesOf({ kind, count, bits, maxDistance, runs }) {
  await countOf(uniformCodes(20_000, bits, 1), maxDistance); // compiles the kernels
  const codes = KINDS[kind](count, bits, 7);
  const before = resident();
  resetPeak();
  const seconds = [];
  let found = 0;
  for (let run = 0; run < runs; run++) {
    const start = performance.now();
    found = await countOf(codes, maxDistance);
    seconds.push((performance.now() - start) / 1000);
  }
  const bytes = peak() - before;
  return { seconds: summary(seconds).ms, found, bytes, codesBytes: codes.bytes.length };
}

async function countOf(codes, maxDistance) {
  let found = 0;
  for await (const { a } of pairs(codes, { maxDistance })) found += a.length;
  return found;
}

/** Of time by count, by least squares over logarithms. */
function exponent(counts, seconds) {
  const [xs, ys] = [counts.map(Math.log), seconds.map(Math.log)];
  const mean = (all) => all.reduce((sum, one) => sum + one, 0) / all.length;
  const [x, y] = [mean(xs), mean(ys)];
  const above = xs.reduce((sum, one, i) => sum + (one - x) * (ys[i] - y), 0);
  return above / xs.reduce((sum, one) => sum + (one - x) ** 2, 0);
}
