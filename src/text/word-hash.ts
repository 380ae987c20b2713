/** The hash of a word, which is its dimension: xxHash64 of its UTF-8 bytes. */

import { wrongType } from '../base/check';
import { hashBytes } from '../kernels/xxhash';

const encoder = /* @__PURE__ */ new TextEncoder();

/**
 * The hash of a word, an unsigned 64-bit integer; half a surrogate pair counts as U+FFFD.
 *
 * @example
 * console.log(hashWord('tea')); // 4741855839676419641n
 */
export function hashWord(word: string): bigint {
  if (typeof word !== 'string') throw wrongType('word', 'a string', word);
  return hashBytes(encoder.encode(word), 0n);
}
