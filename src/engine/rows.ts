/**
 * Rows of an index in memory, by position: their codes, vectors and ids. A segment holds them in
 * the order of its partitions, the tail in the order in which they were added. A row is never
 * numbered again: a column leads from a row to its position.
 */

import { ascending } from '../base/arrays';
import type { Id } from '../index/id-table';
import type { RowVectors } from '../index/vectors/row-vectors';
import { CodeMemory } from '../kernels/code-memory';
import { NO_ROW } from '../kernels/hits';
import { IdLookup } from './id-lookup';

/** What a row is: removed ones stay until their rows are merged with others. */
const LIVE = 0;
const NULL = 1;
const REMOVED = 2;

/** New rows, as the index checked and hashed them. */
export interface RowsToAppend {
  readonly count: number;
  /** Codes of all rows, one after another; zeros of null rows. */
  readonly codes: Uint8Array;
  isNull(i: number): boolean;
  readonly ids: readonly Id[] | null;
  /** Appends the vectors of all rows; null where the index holds none. */
  readonly appendVectors: ((to: RowVectors) => void) | null;
}

/** Rows `firstRow` to `endRow - 1` that are left, at positions 0 to `count - 1`. */
export class Rows {
  readonly firstRow: number;
  endRow: number;
  count = 0;
  /** Codes by position; `rows` names the row, or NO_ROW where it is null or removed. */
  readonly codes: CodeMemory;
  /** By position; null where the index holds none. */
  readonly vectors: RowVectors | null;
  /** Rows that are there, null ones included. */
  liveCount = 0;
  #states = new Uint8Array(64);
  /** Rows by position; null where they are in order without gaps, from `firstRow` on. */
  #rows: Uint32Array | null = null;
  /** Positions by row, from `firstRow` on; null where most rows are gone, or in order. */
  #positions: Uint32Array | null = null;
  /** Positions by ascending row, where most rows between the first and the last are gone. */
  #ascending: Uint32Array | null = null;
  /** By position; null where rows are their own ids. */
  #ids: Id[] | null = null;
  #lookup: IdLookup | null = null;

  constructor(firstRow: number, bytesPerCode: number, vectors: RowVectors | null) {
    this.firstRow = firstRow;
    this.endRow = firstRow;
    this.codes = new CodeMemory(bytesPerCode);
    this.vectors = vectors;
  }

  /** Appends rows behind the last, in their order. Only where no row was left out before. */
  append({ count, codes, isNull, ids, appendVectors }: RowsToAppend): void {
    const { bytesPerCode } = this.codes;
    this.#reserve(count);
    if (this.vectors !== null) appendVectors?.(this.vectors);
    this.codes.codes.set(codes, this.count * bytesPerCode);
    for (let i = 0; i < count; i++) {
      const position = this.count + i;
      const isMissing = isNull(i);
      this.#states[position] = isMissing ? NULL : LIVE;
      this.codes.rows[position] = isMissing ? NO_ROW : this.endRow + i;
    }
    if (ids !== null) {
      this.#ids ??= [];
      for (let i = 0; i < count; i++) {
        this.#ids.push(ids[i]);
        this.#lookup?.add(ids[i], this.count + i);
      }
    }
    this.count += count;
    this.liveCount += count;
    this.endRow += count;
  }

  #reserve(count: number): void {
    const wanted = this.count + count;
    this.codes.reserve(wanted);
    if (wanted <= this.#states.length) return;
    const states = new Uint8Array(Math.max(wanted, 2 * this.#states.length));
    states.set(this.#states);
    this.#states = states;
  }

  /**
   * Takes live rows of others, in this order: rows that follow `coded` in it are null. Rows between
   * `firstRow` and `endRow` that none of them is are gone.
   */
  static gathered(from: Gathered, endRow: number, order: Taken): Rows {
    const { firstRow, bytesPerCode, vectors } = from;
    const rows = new Rows(firstRow, bytesPerCode, vectors);
    rows.#take(from.sources, endRow, order);
    return rows;
  }

  #take(sources: readonly Rows[], endRow: number, { source, position, coded }: Taken): void {
    const count = position.length;
    this.#reserve(count);
    this.#rows = new Uint32Array(count);
    this.#ids = sources.some((one) => one.#ids !== null) ? new Array(count) : null;
    const { bytesPerCode } = this.codes;
    for (let to = 0; to < count; to++) {
      const from = sources[source[to]];
      const at = position[to];
      const row = from.rowAt(at);
      const code = from.codes.codes.subarray(at * bytesPerCode, (at + 1) * bytesPerCode);
      this.codes.codes.set(code, to * bytesPerCode);
      this.codes.rows[to] = to < coded ? row : NO_ROW;
      this.#states[to] = to < coded ? LIVE : NULL;
      this.#rows[to] = row;
      if (this.#ids !== null && from.#ids !== null) this.#ids[to] = from.#ids[at];
    }
    this.#takeVectors(sources, source, position);
    this.#findPositions(this.#rows, endRow);
    this.count = count;
    this.liveCount = count;
    this.endRow = endRow;
  }

  /** Makes a column from row to position: one a row number, or a sorted one where few are left. */
  #findPositions(rows: Uint32Array, endRow: number): void {
    const numbers = endRow - this.firstRow;
    if (numbers > MAX_GAPS * rows.length) {
      this.#ascending = ascending(rows.length).sort((a, b) => rows[a] - rows[b]);
      return;
    }
    this.#positions = new Uint32Array(numbers).fill(NO_ROW);
    for (let at = 0; at < rows.length; at++) this.#positions[rows[at] - this.firstRow] = at;
  }

  /** Copies vectors, some thousand at a time, so that memory holds few twice. */
  #takeVectors(sources: readonly Rows[], source: Uint8Array, position: Uint32Array): void {
    const { vectors } = this;
    if (vectors === null) return;
    vectors.skip(position.length);
    for (const [number, { vectors: from }] of sources.entries()) {
      let to: number[] = [];
      const flush = () => {
        if (from === null || to.length === 0) return;
        const own = Uint32Array.from(to, (at) => position[at]);
        vectors.restore(from.gather(own), Uint32Array.from(to));
        to = [];
      };
      for (let at = 0; at < position.length; at++) {
        if (source[at] !== number) continue;
        to.push(at);
        if (to.length === TAKEN_AT_ONCE) flush();
      }
      flush();
    }
  }

  /** The position of a row that is there, null or not; -1 where it is gone or of others. */
  positionOf(row: number): number {
    if (!(row >= this.firstRow && row < this.endRow)) return -1;
    const position = this.#find(row);
    return position === NO_ROW || this.#states[position] === REMOVED ? -1 : position;
  }

  #find(row: number): number {
    if (this.#positions !== null) return this.#positions[row - this.firstRow];
    if (this.#rows === null || this.#ascending === null) return row - this.firstRow;
    const [rows, order] = [this.#rows, this.#ascending];
    let [low, high] = [0, order.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (rows[order[middle]] < row) low = middle + 1;
      else high = middle;
    }
    return low < order.length && rows[order[low]] === row ? order[low] : NO_ROW;
  }

  /** The row at a position, removed or not. */
  rowAt(position: number): number {
    return this.#rows === null ? this.firstRow + position : this.#rows[position];
  }

  isNull(position: number): boolean {
    return this.#states[position] === NULL;
  }

  isRemoved(position: number): boolean {
    return this.#states[position] === REMOVED;
  }

  codeAt(position: number): Uint8Array {
    const { codes, bytesPerCode } = this.codes;
    return codes.subarray(position * bytesPerCode, (position + 1) * bytesPerCode);
  }

  idAt(position: number, row: number): Id {
    return this.#ids === null ? row : this.#ids[position];
  }

  /** The row of an id; undefined where there is none that is not removed. */
  rowOf(id: Id): number | undefined {
    if (this.#ids === null) {
      return typeof id === 'number' && this.positionOf(id) >= 0 ? id : undefined;
    }
    if (this.#lookup === null) {
      this.#lookup = new IdLookup(this.#ids.length);
      for (let i = 0; i < this.#ids.length; i++) {
        if (this.#states[i] !== REMOVED) this.#lookup.add(this.#ids[i], i);
      }
    }
    const ids = this.#ids;
    const position = this.#lookup.find(id, (at) => ids[at] === id && !this.isRemoved(at));
    return position < 0 ? undefined : this.rowAt(position);
  }

  /** Marks the row at a position as removed. */
  remove(position: number): void {
    this.codes.rows[position] = NO_ROW;
    this.#states[position] = REMOVED;
    this.liveCount--;
  }
}

/** Row numbers for each row that is left, up to which a column has an entry for each number. */
const MAX_GAPS = 4;
/** Rows whose vectors are copied together. */
const TAKEN_AT_ONCE = 4096;

/** Where rows are taken from, and an empty place for their vectors. */
interface Gathered {
  readonly sources: readonly Rows[];
  readonly firstRow: number;
  readonly bytesPerCode: number;
  readonly vectors: RowVectors | null;
}

/** For each new position the number of a source and the position there; `coded` are not null. */
interface Taken {
  readonly source: Uint8Array;
  readonly position: Uint32Array;
  readonly coded: number;
}
