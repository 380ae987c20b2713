/**
 * Patterns of the caller's own: a function from a dimension to the bits of its pattern, as
 * ceil(bits / 8) bytes, lowest bit first. Reproduces published worked examples and the codes of
 * other programs.
 */

import { describe } from '../base/check';
import { bytesPerCode } from '../codes/codes';

/** A dimension is a number below 2^53 and a bigint from there on. */
export type PatternFunction = (dimension: number | bigint) => Uint8Array;

/** The pattern words of each dimension: word w of entry i at [w * entries + i]. */
export function patternWords(
  pattern: PatternFunction,
  dimensions: BigUint64Array,
  bits: number,
): BigUint64Array {
  const words = Math.ceil(bits / 64);
  const entries = dimensions.length;
  const out = new BigUint64Array(words * entries);
  const padded = new BigUint64Array(words);
  const paddedBytes = new Uint8Array(padded.buffer);
  for (let i = 0; i < entries; i++) {
    const dimension = dimensions[i];
    const isSafe = dimension <= BigInt(Number.MAX_SAFE_INTEGER);
    const bytes: unknown = pattern(isSafe ? Number(dimension) : dimension);
    if (!(bytes instanceof Uint8Array)) {
      throw new TypeError(`"pattern" expected to return a Uint8Array, got ${describe(bytes)}`);
    }
    if (bytes.length !== bytesPerCode(bits)) {
      throw new RangeError(
        `"pattern" expected to return ${bytesPerCode(bits)} bytes, ` +
          `got ${bytes.length} for dimension ${dimension}`,
      );
    }
    paddedBytes.set(bytes);
    for (let word = 0; word < words; word++) out[word * entries + i] = padded[word];
  }
  return out;
}
