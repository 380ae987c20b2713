/** Parses and checks numbers of bytes as people write them, such as limits of memory: `512MB`. */

import { wrongType, wrongValue } from './check';

/**
 * `800M`, `1.5 GB`, `2GiB` or a plain number as bytes, rounded down; null for any other text. Each
 * unit is a power of 1,024, with or without an i.
 */
export function parseBytes(text: string): number | null {
  const match = /^(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?$/i.exec(text.trim());
  if (match === null) return null;
  const power = ['', 'k', 'm', 'g', 't'].indexOf(match[2].toLowerCase());
  return Math.floor(Number(match[1]) * 1024 ** power);
}

/** Checks an option that takes bytes, at least 1: a whole number, or a text as `512MB`. */
export function checkByteCount(name: string, value: unknown): number {
  if (typeof value !== 'number' && typeof value !== 'string') {
    throw wrongType(name, 'a number of bytes, or a text as 512MB', value);
  }
  const bytes = typeof value === 'string' ? parseBytes(value) : value;
  if (bytes !== null && Number.isSafeInteger(bytes) && bytes > 0) return bytes;
  throw wrongValue(name, 'a number of bytes, or a text as 512MB', value);
}
