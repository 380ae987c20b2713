// The contestants of a scan for the 10 nearest of many codes, and the check that they agree.

import { createRequire } from 'node:module';
import { Codes, scan, scanAll } from '../../dist/index.js';
import { mustHold } from './table.mjs';
import { timed } from './timing.mjs';

const K = 10;
const hammingDistance = createRequire(import.meta.url)('hamming-distance');

/** Ours by one kernel, a query a call. */
export function ours(codes, queries, kernel, isSlow = false) {
  const run = timed((call) => scan(codes, queries.at(call % queries.count), { k: K, kernel }));
  return { run, isSlow };
}

/** Ours for the first `count` queries at once. */
export function oursAtOnce(codes, queries, count, kernel, isSlow = false) {
  const bytes = queries.bytes.subarray(0, count * queries.bytesPerCode);
  const first = Codes.from(bytes, { bits: codes.bits });
  return { run: timed(() => scanAll(codes, first, { k: K, kernel })), count, isSlow };
}

/** A rival in Python for `count` queries at once: 'faiss' or 'usearch'. */
export function theirs(python, engine, queries, { count = 1, isSlow = false } = {}) {
  const run = async (call) => {
    const first = count === 1 ? call % queries.count : 0;
    return (await python.ask('search', { engine, first, count, k: K })).ms;
  };
  return { run, count, isSlow };
}

/** The npm package that most of those who need a Hamming distance install; for 1 % of the rows. */
export function npmHamming(codes, queries) {
  const rows = Math.ceil(codes.count / 100);
  const at = (bytes, row) => Buffer.from(bytes.buffer, bytes.byteOffset + row * width, width);
  const width = codes.bytesPerCode;
  const run = timed(() => {
    const distances = Array.from({ length: rows }, (_, row) =>
      hammingDistance(at(codes.bytes, row), at(queries.bytes, 0)),
    );
    return distances.sort((a, b) => a - b).slice(0, K);
  });
  return { run: (call) => run(call) * (codes.count / rows), isSlow: true };
}

/** Distances of all kernels and rivals must be equal; FAISS breaks ties differently, so rows are not. */
export async function checkAgreement(python, codes, queries, count, engines = ['faiss']) {
  for (let row = 0; row < count; row++) {
    const [expected, ...others] = ['scalar', 'auto', 'popcnt8', 'popcnt64'].map((kernel) =>
      scan(codes, queries.at(row), { k: K, kernel }),
    );
    for (const { rows, distances } of others) {
      mustHold(String(rows) === String(expected.rows), 'rows of our kernels');
      mustHold(String(distances) === String(expected.distances), 'distances of our kernels');
    }
    for (const engine of python ? engines : []) {
      const { distances } = await python.ask('search', { engine, first: row, count: 1, k: K });
      mustHold(String(distances) === String(expected.distances), `distances of ${engine}`);
    }
  }
}
