/** Checks of arguments and options that have a form of their own: paths, names, bytes. */

import { wrongType, wrongValue } from './check';

/** A path. */
export function checkPath(name: string, value: unknown): void {
  if (!isText(value)) throw wrongType(name, 'a path', value);
}

/** A path or several. */
export function checkPaths(name: string, value: unknown): void {
  if (!isText(value)) checkTexts(name, 'a path or an array of paths', value);
}

/** An array of names. */
export function checkNames(name: string, value: unknown): void {
  checkTexts(name, 'an array of names', value);
}

/** Where rows may come from. */
export function checkSource(name: string, value: unknown): void {
  if (typeof (value as AsyncIterable<unknown>)?.[Symbol.asyncIterator] === 'function') return;
  if (!isText(value)) checkTexts(name, 'a path, paths, or an async iterable of bytes', value);
}

function checkTexts(name: string, expected: string, value: unknown): void {
  if (!Array.isArray(value)) throw wrongType(name, expected, value);
  const wrong = value.findIndex((item) => !isText(item));
  if (wrong >= 0) throw wrongType(`${name}[${wrong}]`, 'a string', value[wrong]);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

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
