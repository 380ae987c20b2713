/**
 * Where the residual codes of partitions lie. An entry is a distinct code in one partition: in that
 * of its nearest centroid and, where partitions have copies, in a second one as well. Partition p
 * has the entries `starts[p]` to `starts[p + 1] - 1`: its own codes, then its copies, both in
 * ascending order. Entries of codes that were added since follow those of all partitions.
 */

import { type Hits, type Search, sortedHits } from '../../kernels/hits';
import { sharedValues } from '../../kernels/memory';
import { blocksOf } from '../../kernels/residual-memory';
import type { RowRun } from '../../kernels/residual-search';
import { RANGE } from '../../kernels/residuals';

/** Codes in their second partitions. Threads read the arrays in place. */
export interface Copies {
  /** By distinct code the second partition, and the entry there. */
  readonly partitions: Uint32Array;
  readonly entries: Uint32Array;
  /** By entry its distinct code, and by partition its first entry. */
  readonly codes: Uint32Array;
  readonly starts: Uint32Array;
}

/** The copies of codes whose second partitions are `seconds`; own ones begin at `starts`. */
export function copiesOf(starts: Uint32Array, seconds: Uint32Array): Copies {
  const count = starts.length - 1;
  const total = starts[count];
  const all = sharedValues(Uint32Array, count + 1);
  for (let distinct = 0; distinct < total; distinct++) all[seconds[distinct] + 1]++;
  for (let p = 0; p < count; p++) all[p + 1] += all[p] + starts[p + 1] - starts[p];
  const [partitions, entries] = [0, 1].map(() => sharedValues(Uint32Array, total));
  const codes = sharedValues(Uint32Array, 2 * total);
  const next = all.slice(0, count);
  for (let p = 0; p < count; p++) {
    for (let distinct = starts[p]; distinct < starts[p + 1]; distinct++)
      codes[next[p]++] = distinct;
  }
  for (let distinct = 0; distinct < total; distinct++) {
    const p = seconds[distinct];
    partitions[distinct] = p;
    codes[next[p]] = distinct;
    entries[distinct] = next[p]++;
  }
  return { partitions, entries, codes, starts: all };
}

/** What other threads need besides `starts` and copies. */
export interface AddedState {
  /** The partition of each entry that was added. */
  readonly added: readonly number[];
}

export class Entries {
  /** Entries of each distinct code. */
  readonly perCode: 1 | 2;
  readonly copies: Copies | null;
  /** By partition its first entry. */
  readonly starts: Uint32Array;
  /** By partition the place of its first entry in the memory: at a block. */
  readonly #places: Uint32Array;
  /** Distinct codes at the beginning, and their entries. */
  readonly #codes: number;
  readonly #count: number;
  /** By partition the entries added, and of each its partition. */
  readonly #addedIn: number[][];
  readonly #partitionOfAdded: number[] = [];
  #ranges = new Uint32Array(256);
  #rangesAsFloats = new Float32Array(this.#ranges.buffer);

  /** `starts` has the first distinct code of each partition. */
  constructor(starts: Uint32Array, copies: Copies | null, { added }: AddedState = { added: [] }) {
    const count = starts.length - 1;
    this.copies = copies;
    this.perCode = copies === null ? 1 : 2;
    this.starts = copies?.starts ?? starts;
    this.#places = blocksOf(this.starts);
    this.#codes = starts[count];
    this.#count = this.starts[count];
    this.#addedIn = Array.from({ length: count }, () => []);
    for (const p of added) this.#addTo(p);
  }

  get state(): AddedState {
    return { added: this.#partitionOfAdded };
  }

  /** Places of the memory up to the last entry. */
  get placeCount(): number {
    return this.#places[this.#addedIn.length] + this.#partitionOfAdded.length;
  }

  /** Distinct codes that were added. */
  get addedCount(): number {
    return this.#partitionOfAdded.length / this.perCode;
  }

  /** Adds the next distinct code in its partitions, as many as `perCode`. */
  add(partitions: readonly number[]): void {
    for (const p of partitions) this.#addTo(p);
  }

  #addTo(p: number): void {
    this.#addedIn[p].push(this.#count + this.#partitionOfAdded.length);
    this.#partitionOfAdded.push(p);
  }

  /** The distinct code of an entry. */
  codeOf(entry: number): number {
    if (entry < this.#count) return this.copies === null ? entry : this.copies.codes[entry];
    return this.#codes + Math.floor((entry - this.#count) / this.perCode);
  }

  /** The partition of an added distinct code; `which` is 1 for its copy. */
  partitionOfAdded(distinct: number, which: 0 | 1 = 0): number {
    return this.#partitionOfAdded[this.perCode * (distinct - this.#codes) + which];
  }

  /** The second partition of a distinct code, where there are copies. */
  secondOf(distinct: number): number {
    if (distinct >= this.#codes) return this.partitionOfAdded(distinct, 1);
    return (this.copies as Copies).partitions[distinct];
  }

  /** The place of a distinct code in its own partition `p`, where it is code number `position`. */
  placeOf(distinct: number, p: number, position: number): number {
    const added = distinct - this.#codes;
    if (added < 0) return this.#places[p] + position;
    return this.#places[this.#addedIn.length] + this.perCode * added;
  }

  /** The place of the copy of a distinct code. */
  placeOfCopy(distinct: number): number {
    const added = distinct - this.#codes;
    if (added >= 0) return this.#places[this.#addedIn.length] + this.perCode * added + 1;
    const { partitions, entries } = this.copies as Copies;
    const p = partitions[distinct];
    return this.#places[p] + entries[distinct] - this.starts[p];
  }

  #placeOfAdded(entry: number): number {
    return this.#places[this.#addedIn.length] + entry - this.#count;
  }

  /** The distinct codes of the copies in a partition that has so many own codes. */
  copiesIn(p: number, own: number): Uint32Array {
    const { codes = new Uint32Array() } = this.copies ?? {};
    return codes.subarray(this.starts[p] + own, this.starts[p + 1]);
  }

  /** How many entries a partition has. */
  countOf(p: number): number {
    return this.starts[p + 1] - this.starts[p] + this.#addedIn[p].length;
  }

  /** The codes of a partition: its own from `first` to `end - 1`, then others one by one. */
  eachCode(p: number, own: { first: number; end: number }, visit: CodeRange): void {
    visit(own.first, own.end);
    const from = this.starts[p] + own.end - own.first;
    for (let entry = from; entry < this.starts[p + 1]; entry++) {
      const code = this.codeOf(entry);
      visit(code, code + 1);
    }
    for (const entry of this.#addedIn[p]) {
      const code = this.codeOf(entry);
      visit(code, code + 1);
    }
  }

  /** The entries of a partition, in the order of a search, as runs of places. */
  runsOf(p: number): RowRun[] {
    const [first, code, next] = [this.#places[p], this.starts[p], this.starts[p + 1]];
    const added = this.#addedIn[p].map((entry) => {
      const place = this.#placeOfAdded(entry);
      return { first: place, end: place + 1, code: entry };
    });
    return [{ first, end: first + next - code, code }, ...added];
  }

  /**
   * The entries of partitions, nearest first, as ranges of the kernel that are valid until the next
   * call; `productOf(i)` is 2,048 times the product of the query with the shortened centroid.
   */
  rangesOf(order: Uint32Array, productOf: (i: number) => number): Uint32Array {
    let count = order.length;
    if (this.#partitionOfAdded.length > 0) for (const p of order) count += this.#addedIn[p].length;
    const length = RANGE * count;
    if (length > this.#ranges.length) {
      this.#ranges = new Uint32Array(2 * length);
      this.#rangesAsFloats = new Float32Array(this.#ranges.buffer);
    }
    const isWhole = count === order.length;
    let at = 0;
    for (let i = 0; i < order.length; i++) {
      const p = order[i];
      const product = productOf(i);
      const first = this.starts[p];
      at = this.#range(at, this.#places[p], first, this.starts[p + 1] - first, product);
      if (isWhole) continue;
      for (const entry of this.#addedIn[p]) {
        at = this.#range(at, this.#placeOfAdded(entry), entry, 1, product);
      }
    }
    return this.#ranges.subarray(0, length);
  }

  #range(at: number, place: number, entry: number, count: number, product: number): number {
    const ranges = this.#ranges;
    ranges[at] = place;
    ranges[at + 1] = entry;
    ranges[at + 2] = count;
    this.#rangesAsFloats[at + 3] = product;
    return at + RANGE;
  }

  /** Entries and partitions among the first so many of the ranges of an order. */
  visitedOf(order: Uint32Array, ranges: number): { codes: number; visited: number } {
    let codes = 0;
    for (let i = 0; i < ranges; i++) codes += this.#ranges[RANGE * i + 2];
    let visited = 0;
    for (let left = ranges; left > 0; visited++) left -= 1 + this.#addedIn[order[visited]].length;
    return { codes, visited };
  }
}

/** Takes distinct codes `first` to `end - 1`. */
type CodeRange = (first: number, end: number) => void;

/**
 * The `ask` lightest rows of a search that has seen entries and held `perCode` times as many, so
 * that none of these rows is missed: each once, with its lighter entry. `rowOf` names what entries
 * share, and `codeOf` what hits are of.
 */
export function withoutCopies(
  search: Search,
  ask: number,
  rowOf: (entry: number) => number,
  codeOf = (entry: number) => entry,
): Search {
  const all = sortedHits(search.hits(), search.limit);
  const seen = new Set<number>();
  const list = { codes: new Uint32Array(all.count), weights: new Uint32Array(all.count) };
  let [held, limit] = [0, search.limit];
  for (let i = 0; i < all.count && all.weights[i] <= limit; i++) {
    const row = rowOf(all.codes[i]);
    if (seen.has(row)) continue;
    seen.add(row);
    list.codes[held] = codeOf(all.codes[i]);
    list.weights[held++] = all.weights[i];
    if (held === ask) limit = all.weights[i]; // and all of equal weight
  }
  const hits: Hits = { ...list, count: held };
  return { limit, held, hits: () => hits };
}
