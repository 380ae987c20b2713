/**
 * What a search reads of an index, wherever its bytes are. In memory everything is at hand; of rows
 * in files a search says what it wants before its next step, and its caller loads that first. So
 * the same search runs over memory, files and a web host, and gives equal answers.
 */

import { grown, type Range } from '../base/arrays';
import type { RowCodes } from '../kernels/hits';
import { type EntryList, RANGE } from '../kernels/residuals';
import type { Query } from './query';
import type { Probes, Space } from './space';

/** What must be at hand before the next step of a search, all of it at once. */
export type Want =
  /** Entries, or codes and rows, of these partitions. */
  | { readonly kind: 'entries' | 'codes'; readonly partitions: Uint32Array }
  /** A block of codes of all rows. */
  | { readonly kind: 'block'; readonly block: number }
  /** The vectors, or the ids, of rows that the search has seen in this or another want. */
  | { readonly kind: 'vectors' | 'ids'; readonly rows: Uint32Array };

/** Codes at the places `first` to `end - 1`. */
export interface CodeRange extends Range {
  /** The address that places count from, where it is not that of all codes. */
  readonly codesAt?: number;
}

/** Rows whose codes lie in one memory: a segment, a tail, or a cache of stored ones. */
export interface SearchedPart {
  /** Codes by place; `rows` names the row, or NO_ROW where it is null, removed or not there. */
  readonly codes: RowCodes;
  /** Null in a space of codes, and without a space. */
  readonly entries: EntryList | null;
  /** Adds the entries of these partitions to the ranges of a call of the kernel. */
  addEntries(probes: Probes, to: Ranges): void;
  /** The places of the codes of these partitions. */
  codesIn(partitions: Uint32Array): CodeRange[];
  /** The row at a place that a search found. */
  rowAt(place: number): number;
  /** Writes the exact similarities of its rows among these to the same places of `out`. */
  similaritiesInto(rows: Uint32Array, query: Query, out: Float64Array): void;
}

/** Codes that a scan compares together. */
export interface Block extends Range {
  readonly codes: RowCodes;
  /** The part in memory that has all of these rows, and only them; null for rows in files. */
  readonly part: MemoryPart | null;
}

/** Rows in memory, for which tables are made and single rows are looked up. */
export interface MemoryPart extends SearchedPart {
  /** The place of a row that is there and not null; -1 where it is gone, null or elsewhere. */
  placeOf(row: number): number;
  /** The exact similarities of the rows at these places, valid until the next call. */
  similaritiesAt(places: Uint32Array, query: Query): Float64Array;
}

/** Rows behind the `least` are wanted too while their vectors are in memory, `most` in all. */
interface VectorsAhead {
  readonly least: number;
  readonly most: number;
  has(row: number): boolean;
}

/** One version of an index. */
export interface Searched {
  readonly bits: number;
  /** Null in an index without partitions. */
  readonly space: Space | null;
  readonly parts: readonly SearchedPart[];
  /** How many blocks a scan goes through, and each of them, when it is at hand. */
  readonly blockCount: number;
  blockAt(block: number): Block;
  /** Partitions in groups that fit into memory one at a time. */
  groupsOf(probes: Probes): readonly Probes[];
  /** How many vectors are wanted together, if so many are needed; null where all are at hand. */
  readonly vectorsAhead: VectorsAhead | null;
}

/** A search that goes on step by step, until `isDone`. */
export interface Stepped {
  readonly isDone: boolean;
  /** What the next step needs at hand. */
  readonly want: Want | null;
  step(): void;
  /** Releases the shared linear memories, which other searches may use before the next step. */
  suspend(): void;
}

/** Runs a search for which everything is at hand. */
export function run<T extends Stepped>(search: T): T {
  while (!search.isDone) search.step();
  return search;
}

/** What a search did, for `explain`. */
export interface Work {
  codesCompared: number;
  candidates: number;
  probes: number;
}

/** Ranges of entries for the kernel, as they are found. */
export class Ranges {
  #numbers: Uint32Array<ArrayBuffer> = new Uint32Array(64 * RANGE);
  #floats = new Float32Array(this.#numbers.buffer);
  #length = 0;
  /** How many entries are in the ranges. */
  entryCount = 0;

  /** Takes all ranges out. */
  clear(): this {
    this.#length = 0;
    this.entryCount = 0;
    return this;
  }

  /**
   * Entries `first` to `first + count - 1` of those whose halves are at `sides` and `secondHalves`
   * (see `entriesAt`), 2,048 times the product of query and centroid, the number that stands for
   * the first, and where the search lies that looks at them.
   */
  add(
    sides: number,
    secondHalves: number,
    capacity: number,
    first: number,
    count: number,
    product: number,
    code = first,
    room = 0,
  ): void {
    if (this.#length === this.#numbers.length) {
      this.#numbers = grown(this.#numbers);
      this.#floats = new Float32Array(this.#numbers.buffer);
    }
    this.#numbers[this.#length] = sides;
    this.#numbers[this.#length + 1] = secondHalves;
    this.#numbers[this.#length + 2] = capacity;
    this.#numbers[this.#length + 3] = first;
    this.#numbers[this.#length + 4] = code;
    this.#numbers[this.#length + 5] = count;
    this.#floats[this.#length + 6] = product;
    this.#numbers[this.#length + 7] = room;
    this.#length += RANGE;
    this.entryCount += count;
  }

  /** A view of all ranges so far. */
  get numbers(): Uint32Array {
    return this.#numbers.subarray(0, this.#length);
  }
}
