// Library calls in fresh processes, with which the command is compared.

import { openIndex, pairs, readCodes, readVectors } from '../../dist/node.js';
import { answer, request } from './child.mjs';

const VERBS = {
  async vectors(path) {
    const start = performance.now();
    await readVectors(path, { column: 'vector' });
    return performance.now() - start;
  },
  /** Of codes that are in memory. */
  async pairs(path) {
    const { codes } = await readCodes(path);
    const start = performance.now();
    let found = 0;
    for (const { a } of pairs(codes, { maxDistance: 3 })) found += a.length;
    if (found === 0) throw new Error('no pairs');
    return performance.now() - start;
  },
  async open(path) {
    const start = performance.now();
    await openIndex(path);
    return performance.now() - start;
  },
};

const { verb, path } = request();
answer({ ms: await VERBS[verb](path) });
