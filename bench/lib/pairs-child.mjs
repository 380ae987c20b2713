// All pairs of one collection in a fresh process: time, peak of memory, and what was found.

import { pairs } from '../../dist/index.js';
import { nearDuplicates } from './bands.mjs';
import { answer, peak, request, resetPeak, resident } from './child.mjs';
import { uniformCodes } from './random.mjs';

const KINDS = {
  uniform: uniformCodes,
  'near duplicates': (count, bits, seed) => nearDuplicates(count, bits, 3, seed),
  /** The first 16 bits of half of the rows are the same. */
  'half share 16 bits': (count, bits, seed) => {
    const codes = uniformCodes(count, bits, seed);
    for (let row = 0; row < count / 2; row++) codes.at(row).set([1, 2]);
    return codes;
  },
};

const given = request();
if (given !== undefined) answer(measured(given));

function measured({ kind, count, bits, maxDistance, runs }) {
  all(uniformCodes(20_000, bits, 1), { maxDistance }); // compiles the kernels
  const codes = KINDS[kind](count, bits, 7);
  const before = resident();
  resetPeak();
  let plan;
  const seconds = [];
  let found = 0;
  for (let run = 0; run < runs; run++) {
    const start = performance.now();
    found = all(codes, { maxDistance, onStart: (given) => (plan = given) });
    seconds.push((performance.now() - start) / 1000);
  }
  seconds.sort((a, b) => a - b);
  return {
    ...{ seconds: seconds[runs >> 1], fastest: seconds[0], slowest: seconds[runs - 1], found },
    ...{ plan, bytes: peak() - before, codesBytes: codes.bytes.length },
  };
}

function all(codes, options) {
  let found = 0;
  for (const { a } of pairs(codes, options)) found += a.length;
  return found;
}
