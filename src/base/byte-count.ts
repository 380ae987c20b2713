/** Numbers of bytes as people write them. */

import { wrongType, wrongValue } from './check';

/** `800M`, `1.5 GB` or a plain number as bytes; null where it is none of these. */
export function parseBytes(text: string): number | null {
  const match = /^(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?$/i.exec(text.trim());
  if (match === null) return null;
  const power = ['', 'k', 'm', 'g', 't'].indexOf(match[2].toLowerCase());
  return Math.floor(Number(match[1]) * 1024 ** power);
}

/** A number of bytes from an option: a whole number, or a text as `512MB`. */
export function checkByteCount(name: string, value: unknown): number {
  if (typeof value !== 'number' && typeof value !== 'string') {
    throw wrongType(name, 'a number of bytes, or a text as 512MB', value);
  }
  const bytes = typeof value === 'string' ? parseBytes(value) : value;
  if (bytes !== null && Number.isSafeInteger(bytes) && bytes > 0) return bytes;
  throw wrongValue(name, 'a number of bytes, or a text as 512MB', value);
}
