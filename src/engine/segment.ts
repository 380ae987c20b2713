/**
 * Where the rows of an index in memory are: segments, whose rows lie in the order of the partitions
 * of the space, and the tail of rows that were added since, in their order. Rows of the tail get
 * entries before the next search, and are found by it as others are. `merged` makes a segment of
 * segments and tail: it concatenates lists of partitions, and never assigns a row again.
 */

import type { DenseVectors } from '../index/vectors/dense-vectors';
import type { RowVectors } from '../index/vectors/row-vectors';
import { NO_ROW } from '../kernels/hits';
import { Entries, firstEntries, Ranges } from './entries';
import { Rows, type RowsToAppend } from './rows';
import type { Space } from './space';

/** Codes of positions `first` to `end - 1`. */
interface CodeRange {
  readonly first: number;
  readonly end: number;
}

/** A partition that a search visits: how often its rows must be looked at is up to the rows. */
export interface Probe {
  readonly p: number;
  /** 2,048 times the product of the query and the shortened centroid. */
  readonly product: number;
}

/** Rows that have partitions. */
export interface Placed {
  /** Whether rows are only ever removed. */
  readonly isImmutable: boolean;
  readonly rows: Rows;
  /** The entries of the rows; null in a space of codes. */
  readonly entries: Entries | null;
  /** The partition of the row at a position. */
  partitionOf(position: number): number;
  /** The second partition; -1 without copies. */
  secondOf(position: number): number;
  /** The entry of the row at a position in its partition, or in the second one. */
  entryOf(position: number, isSecond: boolean): number;
  /** The entries that a search of these partitions looks at, in the order of the partitions. */
  entriesIn(probes: readonly Probe[]): Uint32Array;
  /** The codes that it looks at. */
  codesIn(probes: readonly Probe[]): CodeRange[];
  /** Removes the row at a position. */
  remove(position: number): void;
}

/** By position the second entry of each row, and its partition. */
interface Copies {
  readonly entries: Uint32Array;
  readonly seconds: Uint32Array;
}

/** An immutable segment, but for rows that are removed. */
export class Segment implements Placed {
  readonly isImmutable = true;
  readonly rows: Rows;
  readonly entries: Entries | null;
  /** The first position of each partition, and at last that of null rows. */
  readonly #starts: Uint32Array;
  /** The first entry of each partition, and how many it has, copies included. */
  readonly #firsts: Uint32Array;
  readonly #counts: Uint32Array;
  /** Null without copies. */
  readonly #copies: Copies | null;

  constructor(
    rows: Rows,
    made: {
      entries: Entries | null;
      starts: Uint32Array;
      firsts: Uint32Array;
      counts: Uint32Array;
      copies: Copies | null;
    },
  ) {
    this.rows = rows;
    this.entries = made.entries;
    this.#starts = made.starts;
    this.#firsts = made.firsts;
    this.#counts = made.counts;
    this.#copies = made.copies;
  }

  partitionOf(position: number): number {
    let [low, high] = [0, this.#starts.length - 2];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#starts[middle] <= position) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  secondOf(position: number): number {
    return this.#copies === null ? -1 : this.#copies.seconds[position];
  }

  entryOf(position: number, isSecond: boolean): number {
    if (isSecond) return this.#copies?.entries[position] ?? -1;
    const p = this.partitionOf(position);
    return this.#firsts[p] + position - this.#starts[p];
  }

  entriesIn(probes: readonly Probe[]): Uint32Array {
    const ranges = new Ranges();
    for (const { p, product } of probes) {
      if (this.#counts[p] > 0) ranges.add(this.#firsts[p], this.#counts[p], product);
    }
    return ranges.numbers;
  }

  codesIn(probes: readonly Probe[]): CodeRange[] {
    return probes.map(({ p }) => ({ first: this.#starts[p], end: this.#starts[p + 1] }));
  }

  remove(position: number): void {
    const { rows, entries } = this;
    if (entries !== null && !rows.isNull(position)) {
      entries.remove(this.entryOf(position, false));
      if (this.#copies !== null) entries.remove(this.entryOf(position, true));
    }
    rows.remove(position);
  }
}

/** Rows that are assigned to partitions together: their points take some MiB. */
const ASSIGNED_AT_ONCE = 1024;

/** Rows in the order in which they were added. */
export class Tail implements Placed {
  readonly isImmutable = false;
  readonly rows: Rows;
  readonly #space: Space | null;
  readonly #hasCopies: boolean;
  entries: Entries | null;
  /** Rows that have partitions: positions 0 to `#assigned - 1`. */
  #assigned = 0;
  #partitions: Uint32Array = new Uint32Array(64);
  #seconds: Uint32Array | null;

  /** Rows of a segment are assigned in the same way when the index gets another space. */
  constructor(rows: Rows, space: Space | null, hasCopies: boolean) {
    this.rows = rows;
    this.#space = space;
    this.#hasCopies = hasCopies;
    this.entries =
      space !== null && space.bytesPerEntry > 0 ? new Entries(space.bytesPerEntry, 0) : null;
    this.#seconds = hasCopies ? new Uint32Array(64) : null;
  }

  append(rows: RowsToAppend): void {
    this.rows.append(rows);
  }

  /** Gives rows that were added since their partitions and entries. */
  assign(): void {
    while (this.#space !== null && this.#assigned < this.rows.count) {
      const first = this.#assigned;
      const end = Math.min(this.rows.count, first + ASSIGNED_AT_ONCE);
      this.#assignSome(this.#space, first, end);
      this.#assigned = end;
    }
  }

  #assignSome(space: Space, first: number, end: number): void {
    const points = pointsOf(this.rows, space, first, end);
    const own = space.nearestTo(points);
    this.#partitions = roomFor(this.#partitions, end);
    this.#partitions.set(own, first);
    if (this.#seconds !== null) {
      this.#seconds = roomFor(this.#seconds, end);
      this.#seconds.set(space.secondsOf(points, own), first);
    }
    if (this.entries === null) return;
    this.entries.reserve(this.#entriesPerRow * end);
    const vectors = this.rows.vectors as DenseVectors;
    for (let position = first; position < end; position++) {
      const norm = vectors.normOf(position);
      const isThere = this.rows.codes.rows[position] !== NO_ROW && norm > 0;
      const rotated = isThere ? space.rotated(vectors.valuesAt(position), norm) : null;
      for (let i = 0; i < this.#entriesPerRow; i++) {
        const entry = this.#entriesPerRow * position + i;
        const p = i === 0 ? this.#partitions[position] : this.secondOf(position);
        const made = rotated === null ? NO_ENTRY : space.encode(rotated, p);
        this.entries.set(
          entry,
          position,
          made.code ?? new Uint8Array(space.bytesPerEntry),
          made.scale,
        );
      }
    }
  }

  get #entriesPerRow(): number {
    return this.#hasCopies ? 2 : 1;
  }

  partitionOf(position: number): number {
    return this.#partitions[position];
  }

  secondOf(position: number): number {
    return this.#seconds === null ? -1 : this.#seconds[position];
  }

  entryOf(position: number, isSecond: boolean): number {
    return this.#entriesPerRow * position + Number(isSecond);
  }

  entriesIn(probes: readonly Probe[]): Uint32Array {
    const products = new Map(probes.map(({ p, product }) => [p, product]));
    const ranges = new Ranges();
    for (let position = 0; position < this.#assigned; position++) {
      const product = products.get(this.#partitions[position]);
      if (product !== undefined) ranges.add(this.entryOf(position, false), 1, product);
      const second = this.#seconds === null ? undefined : products.get(this.#seconds[position]);
      if (second !== undefined) ranges.add(this.entryOf(position, true), 1, second);
    }
    return ranges.numbers;
  }

  codesIn(probes: readonly Probe[]): CodeRange[] {
    const visited = new Set(probes.map(({ p }) => p));
    const ranges: { first: number; end: number }[] = [];
    for (let position = 0; position < this.#assigned; position++) {
      if (!visited.has(this.#partitions[position])) continue;
      const last = ranges.at(-1);
      if (last?.end === position) last.end++;
      else ranges.push({ first: position, end: position + 1 });
    }
    return ranges;
  }

  remove(position: number): void {
    if (this.entries !== null && position < this.#assigned) {
      for (let i = 0; i < this.#entriesPerRow; i++) {
        this.entries.remove(this.#entriesPerRow * position + i);
      }
    }
    this.rows.remove(position);
  }
}

/** Of a row without a direction: searches skip it. */
const NO_ENTRY = { code: null, scale: 0 };

/** The points of rows at positions `first` to `end - 1`; zeros of null rows. */
export function pointsOf(rows: Rows, space: Space, first: number, end: number): Int16Array {
  const points = new Int16Array((end - first) * space.width);
  const vectors = rows.vectors as DenseVectors;
  for (let position = first; position < end; position++) {
    const at = (position - first) * space.width;
    if (rows.codes.rows[position] === NO_ROW) continue;
    if (space.parts.kind === 'codes') space.pointOfCode(rows.codeAt(position), points, at);
    else space.pointOfVector(vectors.valuesAt(position), vectors.normOf(position), points, at);
  }
  return points;
}

function roomFor(values: Uint32Array, count: number): Uint32Array {
  if (count <= values.length) return values;
  const more = new Uint32Array(Math.max(count, 2 * values.length));
  more.set(values);
  return more;
}

/** What a merged segment is made in. */
interface Merging {
  readonly bytesPerCode: number;
  /** An empty place for vectors; null where the index holds none. */
  readonly vectors: RowVectors | null;
  /** Null where rows have no partitions: they stay in their order then. */
  readonly space: Space | null;
  readonly hasCopies: boolean;
}

/**
 * The live rows of neighbours as one segment. Removed rows are left out; all others keep their
 * numbers, partitions and entries.
 */
export function merged(parts: readonly Placed[], { space, hasCopies, ...to }: Merging): Segment {
  const count = parts.reduce((sum, { rows }) => sum + rows.liveCount, 0);
  const partitions = space?.count ?? 1;
  // Counting sort by partition; null rows last. Within a partition rows ascend, since parts do.
  const starts = new Uint32Array(partitions + 2);
  const each = (take: (part: number, position: number, p: number) => void) => {
    for (const [i, { rows, partitionOf }] of parts.entries()) {
      for (let position = 0; position < rows.count; position++) {
        if (rows.isRemoved(position)) continue;
        const isNull = rows.isNull(position);
        take(
          i,
          position,
          isNull ? partitions : space === null ? 0 : partitionOf.call(parts[i], position),
        );
      }
    }
  };
  each((_, __, p) => starts[p + 1]++);
  for (let p = 0; p <= partitions; p++) starts[p + 1] += starts[p];
  const next = starts.slice();
  const source = new Uint8Array(count);
  const position = new Uint32Array(count);
  each((part, at, p) => {
    source[next[p]] = part;
    position[next[p]++] = at;
  });
  const coded = starts[partitions];
  const [first, last] = [parts[0].rows, parts[parts.length - 1].rows];
  const gathered = { sources: parts.map(({ rows }) => rows), firstRow: first.firstRow, ...to };
  const rows = Rows.gathered(gathered, last.endRow, { source, position, coded });
  const placed = { starts: starts.subarray(0, partitions + 1), source, position, coded };
  if (space === null || space.bytesPerEntry === 0) {
    const counts = new Uint32Array(partitions);
    return new Segment(rows, {
      ...{ entries: null, copies: null, starts: placed.starts, counts },
      firsts: new Uint32Array(partitions + 1),
    });
  }
  return new Segment(rows, mergedEntries(parts, placed, space, hasCopies));
}

/** The entries of merged rows: of each partition those of its rows, and copies of others behind. */
function mergedEntries(
  parts: readonly Placed[],
  { starts, source, position, coded }: Taken,
  space: Space,
  hasCopies: boolean,
) {
  const seconds = new Uint32Array(hasCopies ? coded : 0);
  for (let at = 0; at < seconds.length; at++)
    seconds[at] = parts[source[at]].secondOf(position[at]);
  const counts = Uint32Array.from({ length: space.count }, (_, p) => starts[p + 1] - starts[p]);
  for (const p of seconds) counts[p]++;
  const firsts = firstEntries(counts);
  const entries = new Entries(space.bytesPerEntry, firsts[space.count]);
  const code = new Uint8Array(space.bytesPerEntry);
  const take = (at: number, entry: number, isSecond: boolean) => {
    const from = parts[source[at]];
    const scale = (from.entries as Entries).copyInto(from.entryOf(position[at], isSecond), code);
    entries.set(entry, at, code, scale);
  };
  for (let p = 0; p < space.count; p++) {
    for (let at = starts[p]; at < starts[p + 1]; at++) take(at, firsts[p] + at - starts[p], false);
  }
  if (!hasCopies) return { entries, starts, firsts, counts, copies: null };
  const next = Uint32Array.from(counts, (_, p) => firsts[p] + starts[p + 1] - starts[p]);
  const copies = Uint32Array.from(seconds, (p, at) => {
    take(at, next[p], true);
    return next[p]++;
  });
  return { entries, starts, firsts, counts, copies: { entries: copies, seconds } };
}

/** Where merged rows come from, in the order of their partitions. */
interface Taken {
  readonly starts: Uint32Array;
  readonly source: Uint8Array;
  readonly position: Uint32Array;
  readonly coded: number;
}
