/**
 * Finds the number of a distinct code: open addressing, at most three quarters full. An entry holds
 * the number and, in the bits that numbers leave free, a part of the hash, so that codes are seldom
 * compared in vain. Built from the codes when rows are added; a search needs none. The hash is
 * secret, so no codes can be chosen that collide.
 */

import { hashOfBytes, newSecret } from '../../base/secret';
import type { Steps } from '../../base/steps';
import type { CodeParts } from './code-parts';

/** `find` returns this when no such code is there. */
export const NOT_FOUND = 0xffff_ffff;
const MIN_SIZE = 128;
/** Distinct codes between two steps of making a table. */
const STEP_CODES = 2 ** 14;

/** Rows, and which of them share a code, as files hold them. */
export interface KnownCodes {
  /** Their numbers. */
  readonly rows: Uint32Array;
  /** One after another. */
  readonly codes: Uint8Array;
  readonly validity: Uint8Array | null;
  /** The first row with the same code; null where that is the row itself; undefined: not known. */
  readonly firsts?: Uint32Array | null;
}

/**
 * Numbers of distinct codes by code. `put` comes right after a `find` that found nothing, with no
 * other call between; who adds more than `holds` says must build another table.
 */
export class CodeTable {
  readonly #codes: CodeParts;
  readonly #entries: Uint32Array;
  readonly #secret = newSecret();
  /** Where the code that was looked for last belongs, and its hash. */
  #at = 0;
  #hash = 0;
  /** Where values go that are read for the caches alone. */
  sink = 0;
  /** Entries that `find` looked at so far. */
  probes = 0;

  private constructor(codes: CodeParts, size: number) {
    this.#codes = codes;
    this.#entries = new Uint32Array(size).fill(NOT_FOUND);
  }

  /** A table of the first `count` codes with room for `more`: they fit 31 bits. */
  static *of(codes: CodeParts, count: number, more: number): Steps<CodeTable> {
    let size = MIN_SIZE;
    while (3 * size < 4 * (count + more)) size *= 2;
    const table = new CodeTable(codes, size);
    const entries = table.#entries;
    const mask = size - 1;
    for (let distinct = 0; distinct < count; distinct++) {
      const hash = table.#hashOf(codes.codesAt(distinct), codes.placeOf(distinct));
      let at = hash & mask;
      for (let hop = 1; entries[at] !== NOT_FOUND; hop++) at = (at + hop) & mask;
      entries[at] = (hash & ~mask) | distinct;
      if (distinct % STEP_CODES === STEP_CODES - 1) yield undefined;
    }
    return table;
  }

  get bytes(): number {
    return this.#entries.byteLength;
  }

  /** True when so many codes fit. */
  holds(count: number): boolean {
    return 4 * count <= 3 * this.#entries.length;
  }

  /** Reads where codes belong, so that their cache misses overlap; `find` comes right after. */
  lookAhead(codes: Uint8Array): void {
    const entries = this.#entries;
    const mask = entries.length - 1;
    const { bytesPerCode } = this.#codes;
    let sink = 0;
    for (let at = 0; at < codes.length; at += bytesPerCode) {
      sink ^= entries[this.#hashOf(codes, at) & mask];
    }
    this.sink ^= sink;
  }

  /** The number of a code, or NOT_FOUND. */
  find(code: Uint8Array): number {
    const entries = this.#entries;
    const mask = entries.length - 1;
    const hash = this.#hashOf(code, 0);
    let at = hash & mask;
    let hop = 1;
    let distinct = NOT_FOUND;
    for (; entries[at] !== NOT_FOUND; at = (at + hop++) & mask) {
      if (((entries[at] ^ hash) & ~mask) !== 0) continue;
      if (!isEqual(this.#codes, entries[at] & mask, code)) continue;
      distinct = entries[at] & mask;
      break;
    }
    this.probes += hop;
    this.#at = at;
    this.#hash = hash & ~mask;
    return distinct;
  }

  #hashOf(codes: Uint8Array, from: number): number {
    return hashOfBytes(codes, from, this.#codes.bytesPerCode, this.#secret);
  }

  /** Puts in the code that `find` did not find. */
  put(distinct: number): void {
    this.#entries[this.#at] = this.#hash | distinct;
  }
}

/** True when the distinct code of this number equals `code`. */
export function isEqual(codes: CodeParts, distinct: number, code: Uint8Array): boolean {
  const bytes = codes.codesAt(distinct);
  let at = codes.placeOf(distinct);
  for (let i = 0; i < code.length; i++) if (bytes[at++] !== code[i]) return false;
  return true;
}
