/** `--max-memory` as a number, and as a limit for what is in memory before rows can be counted. */

import { parseBytes } from '../../base/byte-count';
import type { HoldLimit } from '../../formats/hold-limit';
import type { Call } from '../call';
import { CommandError } from '../errors';
import { bytesText } from '../output/figures';

/** Bytes of the program before it holds a row: the engine, Arrow, compiled code. */
export const PROGRAM_BYTES = 85 * 2 ** 20;

/** The bytes of an option; null without it. */
export function limitOf(call: Call, name: 'max-memory' | 'memory'): number | null {
  const text = call.text(name);
  if (text === undefined) return null;
  const limit = parseBytes(text);
  return limit ?? call.misuse(`--${name} expected a size as 800M or 4G, got "${text}"`);
}

/**
 * The limit for a source that cannot be read in pieces, by `--max-memory`: it is refused before its
 * bytes are in memory, which they are before rows can be counted.
 */
export function holdLimit(call: Call): HoldLimit | undefined {
  const limit = limitOf(call, 'max-memory');
  if (limit === null) return undefined;
  return {
    bytes: limit - PROGRAM_BYTES,
    refusal: (name, bytes) => {
      const need = `at least ${bytesText(PROGRAM_BYTES + bytes)}`;
      const parts = `program ${bytesText(PROGRAM_BYTES)}, reading ${bytesText(bytes)}`;
      const why = `it needs ${need} (${parts}), more than --max-memory ${bytesText(limit)}`;
      const advice = 'take a file that is not compressed, of shorter lines, or allow more';
      return new CommandError(`${name}: ${why}: ${advice}`, 1);
    },
  };
}
