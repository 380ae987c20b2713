/**
 * Reads texts as sets into a `SetMemory`: from letters to hashes of words, from hashes to the
 * numbers of shingles, which are the members. docs/format.md states the numbers.
 */

import { homeOf } from './memory';
import type { SetMemory } from './minwise';

/** Added to a letter of a script written without spaces. */
export const DENSE = 0x1_0000;

export const wordsKernel = {
  /**
   * Appends to `hashes` the xxHash64 of the UTF-8 bytes of each word in the first `count` letters.
   * A word is a run of letters below `DENSE`. In a run of letters from `DENSE` on, each pair of
   * neighbours is a word, or the only letter. A letter of 0 separates words.
   */
  readWords(memory: SetMemory, count: number): void {
    const { letters, word, hashes, hashCount } = memory;
    const { kernels } = homeOf(letters);
    const to = hashes.byteOffset + 8 * hashCount;
    memory.hashCount += kernels.wordHashesInto(letters.byteOffset, count, word.byteOffset, to);
  },

  /**
   * The same for a text of ASCII, the first `count` bytes of `word`, at most MAX_LETTERS: a word is
   * a run of letters and digits, with capital letters made small by `toLower`. May overwrite both.
   */
  readAscii(memory: SetMemory, count: number, toLower: boolean): void {
    const { word, hashes, hashCount } = memory;
    const { kernels } = homeOf(word);
    const to = hashes.byteOffset + 8 * hashCount;
    memory.hashCount += kernels.asciiHashesInto(word.byteOffset, count, Number(toLower), to);
  },

  /**
   * Appends to `members` the number of each run of `width` hashes (a shingle): the halves of the
   * hashes are the digits of `low` to base 0x9e3779b1 and of `high` to base 0x85ebca77, modulo
   * 2^32. Fewer than `width` hashes give no number.
   */
  readShingles(memory: SetMemory, width: number): void {
    const added = memory.hashCount - width + 1;
    if (added <= 0) return;
    memory.reserve(memory.memberCount + added);
    const { hashes, hashCount, members, memberCount } = memory;
    const { kernels } = homeOf(members);
    const to = members.byteOffset + 8 * memberCount;
    kernels.shinglesInto(hashes.byteOffset, hashCount, width, to);
    memory.memberCount += added;
  },
};
