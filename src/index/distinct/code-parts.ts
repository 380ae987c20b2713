/**
 * The codes of an index, with the first row of each, in parts of one memory each: a memory has at
 * most 4 GiB, and an index may have more. Every part but the last holds 2 ** shift codes, so that a
 * shift and a mask lead from the position of a code to its place.
 */

import { gatherCodes } from '../../codes/gather';
import { CodeMemory } from '../../kernels/code-memory';
import { FallingLimit, type HitSearch, type RowCodes, type Search } from '../../kernels/hits';
import { PART_BYTES } from '../../kernels/memory';

/** What a `CodeTable` can find: at most 2 ** 31 entries, of which three quarters are in use. */
const MAX_CODES = 0.75 * 2 ** 31;
const MIN_SHIFT = 6;
/** The bytes of longer codes cost more than what is saved by a look ahead, or by a plain loop. */
export const FEW_BYTES = 128;

/** The part that holds codes `first` to `end - 1`; in `memory` they are counted from 0. */
export interface CodePart {
  readonly memory: RowCodes;
  readonly first: number;
  readonly end: number;
}

/** Codes by position. Views are valid until `reserve` grows a memory. */
export class CodeParts {
  readonly bytesPerCode: number;
  /** Memory i holds codes i * 2 ** shift to (i + 1) * 2 ** shift - 1. */
  readonly memories: CodeMemory[] = [];
  readonly shift: number;
  readonly #mask: number;
  #capacity = 0;

  constructor(bytesPerCode: number, count = 1, shift = shiftOf(bytesPerCode)) {
    this.bytesPerCode = bytesPerCode;
    this.shift = shift;
    this.#mask = 2 ** shift - 1;
    this.reserve(count);
  }

  /** The codes of another thread, for reading only. */
  static over({ bytesPerCode, shift, memories }: CodeParts['state']): CodeParts {
    const parts = new CodeParts(bytesPerCode, 0, shift);
    parts.memories.push(...(memories as CodeMemory[]));
    return parts;
  }

  /** What other threads read: views of the memories. */
  get state() {
    const { bytesPerCode, shift } = this;
    const memories: RowCodes[] = this.memories.map(({ codes, rows }) => {
      return { bytesPerCode, codes, rows };
    });
    return { bytesPerCode, shift, memories };
  }

  /**
   * Makes room for `count` codes; new ones have no row. Throws where there is no memory for so
   * many, without loss of the codes that are there. Views of codes may become invalid.
   */
  reserve(count: number): void {
    if (count <= this.#capacity) return;
    if (count > MAX_CODES) {
      throw new RangeError(
        `an index in memory has room for ${MAX_CODES} distinct codes, not for ${count}: ` +
          'build a folder in its place',
      );
    }
    const { bytesPerCode, memories } = this;
    const most = 2 ** this.shift;
    while (this.#capacity < count) {
      const isFull = this.#capacity === most * memories.length;
      const base = most * (memories.length - (isFull ? 0 : 1));
      const own = Math.min(most, count - base);
      if (isFull) memories.push(new CodeMemory(bytesPerCode, own, most));
      else memories[memories.length - 1].reserve(own);
      this.#capacity = base + memories[memories.length - 1].rows.length;
    }
  }

  /** The part that contains a code. */
  partAt(code: number): CodePart {
    const i = code >>> this.shift;
    const first = i * 2 ** this.shift;
    return { memory: this.memories[i], first, end: first + 2 ** this.shift };
  }

  /** A view of a code's bytes, valid until codes are added. */
  codeAt(code: number): Uint8Array {
    const from = this.placeOf(code);
    return this.codesAt(code).subarray(from, from + this.bytesPerCode);
  }

  /** The bytes in which those of a code begin at `placeOf(code)`. */
  codesAt(code: number): Uint8Array {
    return this.memories[code >>> this.shift].codes;
  }

  /** Offset in bytes of a code in `codesAt(code)`. */
  placeOf(code: number): number {
    return (code & this.#mask) * this.bytesPerCode;
  }

  /** Writes the bytes of a code, those of `codes` from `from` on. */
  setCode(code: number, codes: Uint8Array, from: number): void {
    const held = this.codesAt(code);
    const to = this.placeOf(code);
    const { bytesPerCode } = this;
    if (bytesPerCode > FEW_BYTES) held.set(codes.subarray(from, from + bytesPerCode), to);
    else for (let i = 0; i < bytesPerCode; i++) held[to + i] = codes[from + i];
  }

  /** The first row of a code, or NO_ROW. */
  rowOf(code: number): number {
    return this.memories[code >>> this.shift].rows[code & this.#mask];
  }

  /** Sets the first row of a code, NO_ROW for none: kernels then skip the code. */
  setRow(code: number, row: number): void {
    this.memories[code >>> this.shift].rows[code & this.#mask] = row;
  }

  /**
   * Copies the codes at `places` to `to`, one after another; where a place is beyond the last code,
   * the bytes in `to` stay.
   */
  gatherInto(to: Uint8Array, places: Uint32Array): void {
    this.memories.forEach(({ codes }, i) => {
      const first = i * 2 ** this.shift;
      // Places before this part wrap to large numbers, which `gatherCodes` skips.
      const own = first === 0 ? places : places.map((place) => place - first);
      gatherCodes(codes, to, this.bytesPerCode, own);
    });
  }

  /** A search over all parts. `begin` starts the search of one memory when it is first needed. */
  search(begin: (from: RowCodes) => HitSearch, maxWeight: number, want: number): PartsSearch {
    return new PartsSearch(this, begin, maxWeight, want);
  }
}

/** The largest power of two of codes that takes at most PART_BYTES, as its exponent. */
function shiftOf(bytesPerCode: number): number {
  return Math.max(MIN_SHIFT, 31 - Math.clz32(PART_BYTES / bytesPerCode));
}

/** A search for the `want` lightest codes of all parts, with one kernel search for each part. */
class PartsSearch {
  readonly #parts: CodeParts;
  readonly #begin: (from: RowCodes) => HitSearch;
  readonly #searches: HitSearch[] = [];
  readonly #maxWeight: number;
  readonly #want: number;

  constructor(
    parts: CodeParts,
    begin: (from: RowCodes) => HitSearch,
    maxWeight: number,
    want: number,
  ) {
    this.#parts = parts;
    this.#begin = begin;
    this.#maxWeight = maxWeight;
    this.#want = want;
  }

  /** Compares codes `from` to `to - 1`. */
  range(from: number, to: number): void {
    for (let next = from; next < to; ) {
      const { memory, first, end } = this.#parts.partAt(next);
      const i = next >>> this.#parts.shift;
      this.#searches[i] ??= this.#begin(memory);
      this.#searches[i].range(next - first, Math.min(to, end) - first);
      next = end;
    }
  }

  /** The result over all parts: each has its own limit, so their hits are taken again by one. */
  end(): Search {
    if (this.#parts.memories.length === 1)
      return this.#searches[0] ?? this.#begin(this.#parts.memories[0]);
    const all = new FallingLimit(this.#maxWeight, this.#want);
    this.#searches.forEach((search, i) => {
      const { codes, weights, count } = search.hits();
      const { limit } = search;
      const first = i * 2 ** this.#parts.shift;
      for (let j = 0; j < count; j++) {
        if (weights[j] <= limit) all.take(first + codes[j], weights[j]);
      }
    });
    const { limit, held, list } = all;
    return { limit, held, hits: () => list };
  }
}
