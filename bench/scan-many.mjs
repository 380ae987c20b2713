// What does a query cost when 100 are asked at once? Compared with one alone, the scalar kernel, FAISS.

import { openPython } from './lib/python.mjs';
import { uniformCodes } from './lib/random.mjs';
import { checkAgreement, ours, oursAtOnce, theirs } from './lib/scans.mjs';
import { announce, mark, printTable, short, span, times } from './lib/table.mjs';
import { race } from './lib/timing.mjs';

const ROWS = 1_000_000;
const AT_ONCE = 100;

const python = await openPython();
await announce(python);

const head = [
  'bits',
  'method',
  'queries',
  'ms a query',
  'p10..p90',
  'GB/s',
  'one alone / this',
  'FAISS / this',
];
const rows = [];
let gain = Number.NaN;
for (const bits of [64, 128, 256, 512, 1024]) {
  const codes = uniformCodes(ROWS, bits, 7);
  const queries = uniformCodes(AT_ONCE, bits, 8);
  const rivals = [];
  if (python) {
    await python.ask('codes', { codes: codes.bytes, queries: queries.bytes, bits });
    await checkAgreement(python, codes, queries, 2);
    rivals.push({ name: 'FAISS', ...theirs(python, 'faiss', queries) });
    rivals.push({
      name: 'FAISS',
      ...theirs(python, 'faiss', queries, { count: AT_ONCE, isSlow: true }),
    });
  }
  const raced = await race([
    { name: 'halfspace', count: 1, ...ours(codes, queries, 'auto') },
    { name: 'halfspace', ...oursAtOnce(codes, queries, AT_ONCE, 'auto', true) },
    { name: 'scalar kernel', ...oursAtOnce(codes, queries, 5, 'scalar', true) },
    ...rivals,
  ]);
  const results = raced.map(({ name, count, ms, low, high }) => {
    return { name, count, ms: ms / count, low: low / count, high: high / count };
  });
  const msOf = (name, count) =>
    results.find((one) => one.name === name && one.count === count)?.ms ?? Number.NaN;
  if (bits === 256) gain = msOf('halfspace', 1) / msOf('halfspace', AT_ONCE);
  for (const result of results) {
    const { name, count, ms } = result;
    const gigabytes = codes.bytes.length / ms / 1e6;
    const ratios = [msOf('halfspace', 1), msOf('FAISS', count === 1 ? 1 : AT_ONCE)];
    rows.push([bits, name, count, short(ms), span(result), short(gigabytes)]);
    rows.at(-1).push(...ratios.map((other) => times(other / ms)));
  }
}
printTable(`${AT_ONCE} queries at once over ${short(ROWS)} codes, top 10`, head, rows, 2);
mark('speed a query of 100 at once over one alone, 256 bits', gain, { least: 1 });
python?.close();
