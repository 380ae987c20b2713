// How fast is the exact scan of 1,000,000 codes for the 10 nearest to one query?
// Compared with its scalar kernel, the floor (a plain read of as many bytes), FAISS and USearch on one thread.

import { plainRead } from './lib/plain-read.mjs';
import { openPython } from './lib/python.mjs';
import { clusteredCodes, duplicateCodes, uniformCodes } from './lib/random.mjs';
import { checkAgreement, npmHamming, ours, theirs } from './lib/scans.mjs';
import { announce, mark, printTable, short, span, times } from './lib/table.mjs';
import { race, timed } from './lib/timing.mjs';

const ROWS = 1_000_000;
const QUERIES = 64;

async function contest(python, codes, queries, isFull) {
  const rivals = [];
  if (python) {
    await python.ask('codes', { codes: codes.bytes, queries: queries.bytes, bits: codes.bits });
    await checkAgreement(python, codes, queries, 3, isFull ? ['faiss', 'usearch'] : ['faiss']);
    rivals.push({ name: 'FAISS', ...theirs(python, 'faiss', queries) });
    if (isFull) {
      rivals.push({ name: 'USearch', ...theirs(python, 'usearch', queries, { isSlow: true }) });
    }
  }
  if (isFull)
    rivals.push({ name: 'npm hamming-distance (1 % of rows)', ...npmHamming(codes, queries) });
  return race([
    { name: 'plain read', run: timed(plainRead(codes.bytes)) },
    { name: 'halfspace', ...ours(codes, queries, 'auto') },
    { name: 'halfspace popcnt64', ...ours(codes, queries, 'popcnt64') },
    { name: 'halfspace popcnt8', ...ours(codes, queries, 'popcnt8') },
    { name: 'scalar kernel', ...ours(codes, queries, 'scalar', true) },
    ...rivals,
  ]);
}

const python = await openPython();
await announce(python);

const head = ['codes', 'method', 'ms', 'p10..p90', 'GB/s', 'of plain read', 'FAISS / this'];
const rows = [];
const speeds = {};
const kinds = [
  ['64 bits', uniformCodes, 64],
  ['128 bits', uniformCodes, 128],
  ['256 bits', uniformCodes, 256],
  ['512 bits', uniformCodes, 512],
  ['1,024 bits', uniformCodes, 1024],
  ['256, clustered', clusteredCodes, 256],
  ['256, duplicates', duplicateCodes, 256],
];
for (const [kind, make, bits] of kinds) {
  const codes = make(ROWS, bits, 7);
  // Uniform queries are near nothing; rows with one bit flipped are near their cluster or copies.
  const queries = make === uniformCodes ? uniformCodes(QUERIES, bits, 8) : almostRows(codes);
  const results = await contest(python, codes, queries, kind === '256 bits');
  const msOf = (name) => results.find((one) => one.name === name)?.ms ?? Number.NaN;
  speeds[kind] = [msOf('plain read'), msOf('FAISS')].map((ms) => ms / msOf('halfspace'));
  for (const result of results) {
    const { name, ms } = result;
    const gigabytes = codes.bytes.length / ms / 1e6;
    const ratios = [short(msOf('plain read') / ms), times(msOf('FAISS') / ms)];
    rows.push([kind, name, short(ms), span(result), short(gigabytes), ...ratios]);
  }
}
printTable(`Scan of ${short(ROWS)} codes, one query, top 10`, head, rows, 2);
mark('speed of a plain read, 256 bits', speeds['256 bits'][0], { least: 0.5 });
mark('speed of FAISS, 256 bits', speeds['256 bits'][1], { least: 3 });
python?.close();

function almostRows(codes) {
  const queries = uniformCodes(QUERIES, codes.bits, 0);
  for (let row = 0; row < QUERIES; row++) {
    queries.at(row).set(codes.at(row * 997));
    queries.at(row)[0] ^= 1;
  }
  return queries;
}
