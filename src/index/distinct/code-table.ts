/**
 * Finds the position of a distinct code by its bytes: open addressing, at most three quarters full.
 * An entry holds the position and, in the bits that positions leave free, part of the hash, so that
 * codes are seldom compared in vain. Only additions need it; searches do not. The hash has a
 * secret, so codes cannot be chosen to collide.
 */

import { hashOfBytes, newSecret } from '../../base/secret';
import type { Steps } from '../../base/steps';
import { type CodeParts, FEW_BYTES } from './code-parts';

/** Returned by `find` for an unknown code; marks a free entry. */
export const NOT_FOUND = 0xffff_ffff;
const MIN_SIZE = 128;
/** Distinct codes entered between two steps. */
const STEP_CODES = 2 ** 14;

/** Rows of files with their codes and, if known, which of them share a code. */
export interface KnownCodes {
  /** The rows; NO_ROW for those to leave out. */
  readonly rows: Uint32Array;
  /** Codes of `rows`, one after another. */
  readonly codes: Uint8Array;
  readonly validity: Uint8Array | null;
  /** For each row the first row of the same code; null if it is itself, undefined if unknown. */
  readonly firsts?: Uint32Array | null;
}

/**
 * Positions of distinct codes by code. `put` must follow a `find` that found nothing, without
 * another call between them. A table does not grow: beyond what `holds` allows, another is built.
 */
export class CodeTable {
  readonly #codes: CodeParts;
  readonly #entries: Uint32Array;
  readonly #secret = newSecret();
  /** Where the last `find` ended, and the part of its hash that entries hold, for `put`. */
  #at = 0;
  #hash = 0;
  /** Results of reads that only warm the caches: stored so that engines do not remove the reads. */
  sink = 0;
  /** Entries that `find` has looked at since the table was built. */
  probes = 0;

  private constructor(codes: CodeParts, size: number) {
    this.#codes = codes;
    this.#entries = new Uint32Array(size).fill(NOT_FOUND);
  }

  /** Builds a table of the first `count` codes with room for `more`; positions must fit 31 bits. */
  static *of(codes: CodeParts, count: number, more: number): Steps<CodeTable> {
    let size = MIN_SIZE;
    while (3 * size < 4 * (count + more)) size *= 2;
    const table = new CodeTable(codes, size);
    const entries = table.#entries;
    const mask = size - 1;
    for (let distinct = 0; distinct < count; distinct++) {
      const hash = table.#hashOf(codes.codesAt(distinct), codes.placeOf(distinct));
      // Hops grow by one, so that runs of full entries do not merge; they reach every entry of a
      // table whose size is a power of two.
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

  /** True if a table of `count` codes is at most three quarters full. */
  holds(count: number): boolean {
    return 4 * count <= 3 * this.#entries.length;
  }

  /** Reads the entries where codes belong, so that their cache misses overlap; `find` follows. */
  lookAhead(codes: Uint8Array): void {
    const entries = this.#entries;
    const mask = entries.length - 1;
    const { bytesPerCode } = this.#codes;
    if (bytesPerCode > FEW_BYTES) return;
    let sink = 0;
    for (let at = 0; at < codes.length; at += bytesPerCode) {
      sink ^= entries[this.#hashOf(codes, at) & mask];
    }
    this.sink ^= sink;
  }

  /** The position of a code, or NOT_FOUND. */
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

  /** Enters the code that `find` has just not found. */
  put(distinct: number): void {
    this.#entries[this.#at] = this.#hash | distinct;
  }
}

/** True if the distinct code at this position equals `code`. */
export function isEqual(codes: CodeParts, distinct: number, code: Uint8Array): boolean {
  const bytes = codes.codesAt(distinct);
  let at = codes.placeOf(distinct);
  for (let i = 0; i < code.length; i++) if (bytes[at++] !== code[i]) return false;
  return true;
}
