/**
 * Where the rows of an index in memory are: segments, whose rows lie in the order of the partitions
 * of the space, and the tail of rows that were added since, in their order. Rows of the tail get
 * entries before the next search, and are found by it as others are. `merged` makes a segment of
 * segments and tail: it concatenates lists of partitions, and never assigns a row again.
 */

import { ascending, byGroup, grown, type Range, runOf, valuesAt } from '../base/arrays';
import type { LongWork } from '../base/long-work';
import { NO_ROW, type RowCodes } from '../kernels/hits';
import { ResidualMemory } from '../kernels/residual-memory';
import {
  copyResiduals,
  type EntriesAt,
  type EntryList,
  entriesAt,
  type Residuals,
  setScale,
  wholeBlocks,
} from '../kernels/residuals';
import { runJob } from '../threads/parallel';
import type { Query } from './query';
import { Rows, rowsToPlace, similaritiesWith, type Taken } from './rows';
import type { MemoryPart, Ranges } from './searched';
import {
  PLACED_AT_ONCE,
  PLACING,
  type PlacedRows,
  type Probes,
  place,
  type RowsToPlace,
  type Space,
} from './space';
import type { RowVectors } from './vectors/row-vectors';

/**
 * Entries of rows in partitions: the residual code and its scale, in the memory that the kernel
 * reads, and with copies the position of the row. A row has one entry in its partition, and one in
 * its second partition where the index has copies. Entries of a segment lie partition by partition,
 * each beginning with a block; those of the tail lie in the order of its rows.
 */
export class Entries implements EntryList {
  readonly memory: ResidualMemory;
  /** The position of the row of each entry; null where ranges name entries by positions. */
  readonly positions: Uint32Array | null;
  readonly #rows: Pick<Rows, 'rowAt'>;

  constructor(
    memory: ResidualMemory,
    rows: Pick<Rows, 'rowAt'>,
    positions: Uint32Array | null = null,
  ) {
    this.#rows = rows;
    this.memory = memory;
    this.positions = positions;
  }

  /** What another thread reads. */
  get state() {
    return { memory: this.memory.state, positions: this.positions };
  }

  /** The entries of another thread, to be searched. */
  static over({ memory, positions }: Entries['state'], rows: Pick<Rows, 'rowAt'>): Entries {
    return new Entries(ResidualMemory.over(memory), rows, positions);
  }

  rowOf(code: number): number {
    return this.#rows.rowAt(this.positions === null ? code : this.positions[code]);
  }

  get where(): EntriesAt {
    return entriesAt(this.memory, this.memory.bytes.byteOffset);
  }

  get bytes(): number {
    return this.memory.byteLength + (this.positions?.byteLength ?? 0);
  }

  /** Copies the entries of these numbers to `to`, from row `at` on. */
  copyTo(to: Residuals, at: number, numbers: Uint32Array): void {
    for (let i = 0, end = 0; i < numbers.length; i = end) {
      do end++;
      while (end < numbers.length && numbers[end] === numbers[i] + end - i);
      copyResiduals(this.memory, numbers[i], to, at + i, end - i);
    }
  }

  /** An entry that searches skip from now on. */
  remove(entry: number): void {
    setScale(this.memory, entry, 0);
  }
}

/** The first entry of each partition, each at a block, where they have so many; last, their end. */
export function firstEntries(counts: Uint32Array): Uint32Array {
  const starts = new Uint32Array(counts.length + 1);
  for (let p = 0; p < counts.length; p++) {
    starts[p + 1] = starts[p] + wholeBlocks(counts[p]);
  }
  return starts;
}

/** By position the second entry of each row, and its partition. */
interface Copies {
  readonly entries: Uint32Array;
  readonly seconds: Uint32Array;
}

/** Rows in memory that have partitions. The place of a row is its position. */
export abstract class Placed implements MemoryPart {
  readonly rows: Rows;
  /** The entries of the rows; null in a space of codes. */
  abstract readonly entries: Entries | null;
  /** The partition of the row at a position. */
  abstract partitionOf(position: number): number;
  /** The second partition; -1 without copies. */
  abstract secondOf(position: number): number;
  /** The entry of the row at a position in its partition, or in the second one. */
  abstract entryOf(position: number, isSecond: boolean): number;
  abstract addEntries(probes: Probes, to: Ranges): void;
  abstract codesIn(partitions: Uint32Array): Range[];
  /** Removes the row at a position. */
  abstract remove(position: number): void;

  constructor(rows: Rows) {
    this.rows = rows;
  }

  get codes(): RowCodes {
    return this.rows.codes;
  }

  rowAt(place: number): number {
    return this.rows.codes.rows[place];
  }

  placeOf(row: number): number {
    const position = this.rows.positionOf(row);
    return position < 0 || this.rows.isNull(position) ? -1 : position;
  }

  similaritiesInto(rows: Uint32Array, query: Query, out: Float64Array): void {
    const { vectors } = this.rows;
    if (vectors === null) return;
    const positions = rows.map((row) => this.rows.positionOf(row));
    // A row that is elsewhere is at -1, which is NO_ROW.
    const here = positions.filter((position) => position !== NO_ROW);
    const found = similaritiesWith(vectors, here, query);
    for (let i = 0, next = 0; i < rows.length; i++) {
      if (positions[i] !== NO_ROW) out[i] = found[next++];
    }
  }

  similaritiesAt(places: Uint32Array, query: Query): Float64Array {
    return similaritiesWith(this.rows.vectors as RowVectors, places, query);
  }
}

/** An immutable segment, but for rows that are removed. */
export class Segment extends Placed {
  readonly entries: Entries | null;
  /** The first position of each partition, and at last that of null rows. */
  readonly #starts: Uint32Array;
  /** The first entry of each partition, and how many it has, copies included. */
  readonly #firsts: Uint32Array;
  readonly #counts: Uint32Array;
  /** Null until it is asked for. */
  #copies: Copies | null = null;

  constructor(
    rows: Rows,
    made: {
      entries: Entries | null;
      starts: Uint32Array;
      firsts: Uint32Array;
      counts: Uint32Array;
    },
  ) {
    super(rows);
    this.entries = made.entries;
    this.#starts = made.starts;
    this.#firsts = made.firsts;
    this.#counts = made.counts;
  }

  /** What another thread reads of the segment. */
  get state() {
    return {
      rows: this.rows.state,
      entries: this.entries?.state ?? null,
      starts: this.#starts,
      firsts: this.#firsts,
      counts: this.#counts,
    };
  }

  /** The segment of another thread, to be searched. */
  static over({ rows: state, entries, ...lists }: Segment['state']): Segment {
    const rows = Rows.over(state);
    const own = entries && Entries.over(entries, rows);
    return new Segment(rows, { ...lists, entries: own });
  }

  /**
   * The positions of the rows of a partition. The number after the last partition stands for null
   * rows.
   */
  positionsIn(p: number): Range {
    const end = p + 1 < this.#starts.length ? this.#starts[p + 1] : this.rows.count;
    return { first: this.#starts[p], end };
  }

  /** The entries of rows that have this partition as their second one. */
  copiesIn(p: number): Range {
    const first = this.#firsts[p] + this.#starts[p + 1] - this.#starts[p];
    return { first, end: this.#firsts[p] + this.#counts[p] };
  }

  partitionOf(position: number): number {
    return runOf(this.#starts, position);
  }

  /** Where copies are; null without. */
  #allCopies(): Copies | null {
    const { positions } = this.entries ?? { positions: null };
    if (this.#copies !== null || positions === null) return this.#copies;
    const { count } = this.rows;
    const made = { entries: new Uint32Array(count), seconds: new Uint32Array(count) };
    for (let p = 0; p < this.#counts.length; p++) {
      const { first, end } = this.copiesIn(p);
      for (let entry = first; entry < end; entry++) {
        made.entries[positions[entry]] = entry;
        made.seconds[positions[entry]] = p;
      }
    }
    this.#copies = made;
    return made;
  }

  secondOf(position: number): number {
    return this.#allCopies()?.seconds[position] ?? -1;
  }

  entryOf(position: number, isSecond: boolean): number {
    if (isSecond) return this.#allCopies()?.entries[position] ?? -1;
    const p = this.partitionOf(position);
    return this.#firsts[p] + position - this.#starts[p];
  }

  addEntries({ partitions, products, rooms }: Probes, to: Ranges): void {
    if (this.entries === null) return;
    const codes = this.entries.positions ? this.#firsts : this.#starts;
    const [sides, seconds, capacity] = this.entries.where;
    for (let i = 0; i < partitions.length; i++) {
      const p = partitions[i];
      const [first, count] = [this.#firsts[p], this.#counts[p]];
      if (count === 0) continue;
      to.add(sides, seconds, capacity, first, count, products[i], codes[p], rooms?.[i]);
    }
  }

  codesIn(partitions: Uint32Array): Range[] {
    const ranges: Range[] = [];
    for (const p of partitions) ranges.push({ first: this.#starts[p], end: this.#starts[p + 1] });
    return ranges;
  }

  remove(position: number): void {
    const { rows, entries } = this;
    if (entries !== null && !rows.isNull(position)) {
      entries.remove(this.entryOf(position, false));
      if (entries.positions !== null) entries.remove(this.entryOf(position, true));
    }
    rows.remove(position);
  }
}

/** Rows in the order in which they were added. */
export class Tail extends Placed {
  readonly entries: Entries | null = null;
  readonly #space: Space | null;
  /** Rows that have partitions: positions 0 to `#assigned - 1`. */
  #assigned = 0;
  #partitions: Uint32Array = new Uint32Array(64);
  #seconds: Uint32Array | null;

  /** Rows of a segment are assigned in the same way when the index gets another space. */
  constructor(rows: Rows, space: Space | null) {
    super(rows);
    this.#space = space;
    if (space !== null && space.bytesPerEntry > 0) {
      this.entries = new Entries(new ResidualMemory(space.bytesPerEntry), rows);
    }
    this.#seconds = space?.parts.hasCopies ? new Uint32Array(64) : null;
  }

  /** Gives rows that were added since their partitions and entries. */
  assign(): void {
    const space = this.#space;
    if (space === null) return;
    while (this.#assigned < this.rows.count) {
      this.#take(place(space, this.#next(0)));
    }
  }

  /** The same of many rows, which threads share. */
  async assignAll(work: LongWork): Promise<void> {
    const space = this.#space;
    if (space === null) return;
    const first = this.#assigned;
    await runJob(
      {
        task: PLACING,
        state: space.parts,
        count: Math.ceil((this.rows.count - first) / PLACED_AT_ONCE),
        part: (i) => this.#next(first + i * PLACED_AT_ONCE - this.#assigned),
        here: (rows) => place(space, rows),
        take: (placed, i) => {
          // A search that came first has given all rows their partitions.
          if (this.#assigned === first + i * PLACED_AT_ONCE) this.#take(placed);
          return [this.#assigned - first, this.rows.count - first];
        },
      },
      work,
    );
  }

  /** The rows to place after the next `ahead` unplaced ones, at most PLACED_AT_ONCE of them. */
  #next(ahead: number): RowsToPlace {
    const first = this.#assigned + ahead;
    const end = Math.min(this.rows.count, first + PLACED_AT_ONCE);
    const { codes, vectors } = this.rows;
    return rowsToPlace(codes, vectors, [first, end], this.#space?.parts.kind === 'codes');
  }

  /**
   * Stores the partitions and entries of the next unplaced rows; rows that were removed meanwhile
   * get no entries.
   */
  #take({ partitions, seconds, entries }: PlacedRows): void {
    const first = this.#assigned;
    const end = first + partitions.length;
    if (end > this.#partitions.length) {
      this.#partitions = grown(this.#partitions, 2 * end);
      this.#seconds = this.#seconds && grown(this.#seconds, 2 * end);
    }
    this.#partitions.set(partitions, first);
    this.#seconds?.set(seconds as Uint32Array, first);
    if (this.entries !== null && entries !== null) {
      const { codes, scales } = entries;
      const each = this.#entriesPerRow;
      for (let i = 0; i < scales.length; i++) {
        if (this.rows.codes.rows[first + Math.floor(i / each)] === NO_ROW) scales[i] = 0;
      }
      const { memory } = this.entries;
      memory.reserve(each * end);
      memory.setRows(each * first, codes, scales);
    }
    this.#assigned = end;
  }

  get #entriesPerRow(): number {
    return this.#space?.entriesPerRow ?? 1;
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

  addEntries({ partitions, products }: Probes, to: Ranges): void {
    const { entries } = this;
    if (entries === null) return;
    const [sides, seconds, capacity] = entries.where;
    const productOf = new Map<number, number>();
    for (let i = 0; i < partitions.length; i++) productOf.set(partitions[i], products[i]);
    for (let position = 0; position < this.#assigned; position++) {
      for (const isSecond of this.#seconds === null ? [false] : [false, true]) {
        const p = isSecond ? this.secondOf(position) : this.#partitions[position];
        const product = productOf.get(p);
        if (product === undefined) continue;
        const entry = this.entryOf(position, isSecond);
        to.add(sides, seconds, capacity, entry, 1, product, position);
      }
    }
  }

  codesIn(partitions: Uint32Array): Range[] {
    const visited = new Set(partitions);
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
    for (let i = 0; i < this.#entriesPerRow && position < this.#assigned; i++) {
      this.entries?.remove(this.#entriesPerRow * position + i);
    }
    this.rows.remove(position);
  }
}

/** What `merged` needs besides the parts that it merges. */
interface Merging {
  readonly bytesPerCode: number;
  /** An empty place for vectors; null where the index holds none. */
  readonly vectors: RowVectors | null;
  /** Null where rows have no partitions: they stay in their order then. */
  readonly space: Space | null;
}

/**
 * The live rows of neighbours as one segment. Removed rows are left out; all others keep their
 * numbers, partitions and entries.
 */
export function merged(parts: readonly Placed[], { space, ...to }: Merging): Segment {
  const partitions = space?.count ?? 1;
  const groupAt = (part: Placed, position: number) => {
    if (part.rows.isNull(position)) return partitions; // behind all others
    return space === null ? 0 : part.partitionOf(position);
  };
  const count = parts.reduce((sum, { rows }) => sum + rows.liveCount, 0);
  const group = new Uint32Array(count);
  const source = new Uint32Array(count);
  const position = new Uint32Array(count);
  let next = 0;
  for (const [i, part] of parts.entries()) {
    for (const at of part.rows.livePositions()) {
      group[next] = groupAt(part, at);
      source[next] = i;
      position[next++] = at;
    }
  }
  // Within a partition rows ascend, since parts do.
  const { starts: all, members } = byGroup(group, partitions + 1);
  const starts = all.subarray(0, partitions + 1);
  const taken = {
    source: valuesAt(source, members),
    position: valuesAt(position, members),
    coded: starts[partitions],
  };
  const [first, last] = [parts[0].rows, parts[parts.length - 1].rows];
  const gathered = { sources: parts.map(({ rows }) => rows), firstRow: first.firstRow, ...to };
  const rows = Rows.gathered(gathered, last.endRow, taken);
  const hasEntries = space !== null && space.bytesPerEntry > 0;
  const lists = hasEntries
    ? mergedEntries(rows, parts, { starts, ...taken }, space)
    : {
        entries: null,
        firsts: new Uint32Array(partitions + 1),
        counts: new Uint32Array(partitions),
      };
  return new Segment(rows, { starts, ...lists });
}

/** The entries of merged rows: of each partition those of its rows, and copies of others behind. */
function mergedEntries(
  rows: Rows,
  parts: readonly Placed[],
  { starts, source, position, coded }: Placing,
  space: Space,
) {
  const { hasCopies } = space.parts;
  const seconds = new Uint32Array(hasCopies ? coded : 0);
  for (let at = 0; at < seconds.length; at++)
    seconds[at] = parts[source[at]].secondOf(position[at]);
  const counts = Uint32Array.from({ length: space.count }, (_, p) => starts[p + 1] - starts[p]);
  for (const p of seconds) counts[p]++;
  const firsts = firstEntries(counts);
  const { count, bytesPerEntry } = space;
  const memory = new ResidualMemory(bytesPerEntry, firsts[count]);
  const entries = new Entries(memory, rows, hasCopies ? new Uint32Array(firsts[count]) : null);
  /** Makes entries of merged rows, from a number on. */
  const take = (own: Uint32Array, entry: number, isSecond: boolean) => {
    entries.positions?.set(own, entry);
    for (let i = 0, end = 0; i < own.length; i = end) {
      const from = parts[source[own[i]]];
      while (end < own.length && parts[source[own[end]]] === from) end++;
      const numbers = own.subarray(i, end).map((at) => from.entryOf(position[at], isSecond));
      from.entries?.copyTo(memory, entry + i, numbers);
    }
  };
  const all = ascending(coded);
  const { starts: seconded, members } = byGroup(seconds, count);
  for (let p = 0; p < count; p++) {
    const behind = firsts[p] + starts[p + 1] - starts[p];
    take(all.subarray(starts[p], starts[p + 1]), firsts[p], false);
    take(members.subarray(seconded[p], seconded[p + 1]), behind, true);
  }
  return { entries, firsts, counts };
}

/** Where merged rows come from, in the order of their partitions. */
interface Placing extends Taken {
  readonly starts: Uint32Array;
}
