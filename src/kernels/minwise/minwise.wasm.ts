/**
 * The WebAssembly kernel of minwise codes, see minwise.assembly.ts. A SetMemory without WebAssembly
 * goes to the scalar kernel.
 */

import { memoryOf } from '../memory';
import { type MinwiseKernel, scalarMinwise, seedHalves } from './minwise.scalar';

export const wasmMinwise: MinwiseKernel = {
  name: 'wasm',

  readWords(memory, count) {
    const { letters, word, hashes, hashCount } = memory;
    const home = memoryOf(letters);
    if (home === undefined) return scalarMinwise.readWords(memory, count);
    const to = hashes.byteOffset + 8 * hashCount;
    const { kernels } = home;
    memory.hashCount += kernels.wordHashesInto(letters.byteOffset, count, word.byteOffset, to);
  },

  readAscii(memory, count, toLower) {
    const { word, hashes, hashCount } = memory;
    const home = memoryOf(word);
    if (home === undefined) return scalarMinwise.readAscii(memory, count, toLower);
    const to = hashes.byteOffset + 8 * hashCount;
    memory.hashCount += home.kernels.asciiHashesInto(word.byteOffset, count, Number(toLower), to);
  },

  readShingles(memory, width) {
    const added = memory.hashCount - width + 1;
    if (added <= 0) return;
    memory.reserve(memory.memberCount + added);
    const { hashes, hashCount, members, memberCount } = memory;
    const home = memoryOf(members);
    if (home === undefined) return scalarMinwise.readShingles(memory, width);
    const to = members.byteOffset + 8 * memberCount;
    home.kernels.shinglesInto(hashes.byteOffset, hashCount, width, to);
    memory.memberCount += added;
  },

  codeInto(rule, memory, code) {
    const { members, memberCount, draws } = memory;
    const home = memoryOf(members);
    if (home === undefined || memberCount === 0) return scalarMinwise.codeInto(rule, memory, code);
    const { low, high } = seedHalves(rule.seed);
    home.kernels.minwiseInto(
      ...([members.byteOffset, memberCount, rule.bits, low, high] as const),
      ...([draws.byteOffset, memory.code.byteOffset] as const),
    );
    code.set(memory.code.subarray(0, code.length));
  },
};
