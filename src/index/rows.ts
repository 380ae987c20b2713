/**
 * Rows of an index in memory, by position: their codes, vectors and ids. A segment holds them in
 * the order of its partitions, the tail in the order in which they were added. A row is never
 * numbered again: a column leads from a row to its position.
 */

import { ascending } from '../base/arrays';
import { CodeMemory } from '../kernels/code-memory';
import { NO_ROW, type RowCodes } from '../kernels/hits';
import type { DenseMatrix, SparseMatrix } from '../vectors/vectors';
import { type Id, IdLookup } from './ids';
import type { Query } from './query';
import type { RowsToPlace } from './space';
import type { DenseVectors } from './vectors/dense-vectors';
import type { RowVectors, UnitVector } from './vectors/row-vectors';
import { SparseVectors, vectorsOver } from './vectors/sparse-vectors';

/** What a row is: removed ones stay until their rows are merged with others. */
const LIVE = 0;
const NULL = 1;
const REMOVED = 2;

/** New rows, as the index checked and hashed them. */
export interface NewRows {
  readonly count: number;
  /** Codes of all rows, one after another; zeros of null rows. */
  readonly codes: Uint8Array;
  isNull(i: number): boolean;
  readonly ids: readonly Id[] | null;
  /** What the index holds of them; null where it holds none. */
  readonly vectors: DenseMatrix | SparseMatrix | null;
}

/** Rows `firstRow` to `endRow - 1` that are left, at positions 0 to `count - 1`. */
export class Rows {
  firstRow: number;
  endRow: number;
  count = 0;
  /** Codes by position; `rows` names the row, or NO_ROW where it is null or removed. */
  readonly codes: CodeMemory;
  /** By position; null where the index holds none. */
  readonly vectors: RowVectors | null;
  /** Rows that are there, null ones included. */
  liveCount = 0;
  #states: Uint8Array = new Uint8Array(64);
  /** Rows by position; null where they are in order without gaps, from `firstRow` on. */
  #rows: Uint32Array | null = null;
  /** Positions by row, from `firstRow` on; null where most rows are gone, or they ascend. */
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

  /** What another thread reads of the rows, in place where memory can be shared; without ids. */
  get state() {
    const { firstRow, endRow, count, codes, vectors } = this;
    return {
      firstRow,
      endRow,
      count,
      codes: codes.codes,
      named: codes.rows,
      bytesPerCode: codes.bytesPerCode,
      vectors: vectors?.state ?? null,
      rows: this.#rows,
      positions: this.#positions,
      ascending: this.#ascending,
      states: this.#states.subarray(0, count),
    };
  }

  /** The rows of another thread, to be searched. */
  static over(state: Rows['state']): Rows {
    const { firstRow, bytesPerCode, vectors } = state;
    const held = vectors && vectorsOver(vectors);
    const rows = new Rows(firstRow, bytesPerCode, held);
    rows.codes.codes = state.codes;
    rows.codes.rows = state.named;
    rows.#rows = state.rows;
    rows.#positions = state.positions;
    rows.#ascending = state.ascending;
    rows.#states = state.states;
    rows.endRow = state.endRow;
    rows.count = state.count;
    return rows;
  }

  /**
   * Appends new rows `first` to `end - 1` behind the last, in their order. Only where no row was
   * left out before.
   */
  append({ codes, isNull, ids, vectors }: NewRows, first: number, end: number): void {
    const { bytesPerCode } = this.codes;
    const count = end - first;
    this.#reserve(count);
    if (vectors !== null) this.vectors?.append(vectors, first, end, (row) => !isNull(row));
    const own = codes.subarray(first * bytesPerCode, end * bytesPerCode);
    this.codes.codes.set(own, this.count * bytesPerCode);
    for (let i = 0; i < count; i++) {
      const position = this.count + i;
      const isMissing = isNull(first + i);
      this.#states[position] = isMissing ? NULL : LIVE;
      this.codes.rows[position] = isMissing ? NO_ROW : this.endRow + i;
    }
    if (ids !== null) {
      this.#ids ??= [];
      for (let i = 0; i < count; i++) {
        this.#ids.push(ids[first + i]);
        this.#lookup?.set(ids[first + i], this.count + i);
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
    const states = new Uint8Array(Math.max(wanted, Math.ceil(1.25 * this.#states.length)));
    states.set(this.#states);
    this.#states = states;
  }

  /**
   * Copies live rows of other parts, in the given order: the first `coded` have codes, the others
   * are null. Numbers from `firstRow` to `endRow - 1` that none of them has were of removed rows.
   */
  static gathered(
    { sources, ...to }: Gathered,
    endRow: number,
    { source, position, coded }: Taken,
  ): Rows {
    const count = position.length;
    const rows = Rows.toFill(to, endRow, count, coded);
    const numbers = rows.#rows as Uint32Array;
    rows.#ids = sources.some((one) => one.#ids !== null) ? new Array(count) : null;
    for (let at = 0; at < count; at++) {
      const from = sources[source[at]];
      const row = from.rowAt(position[at]);
      numbers[at] = row;
      rows.codes.codes.set(from.codeAt(position[at]), at * to.bytesPerCode);
      if (at < coded) rows.codes.rows[at] = row;
      if (rows.#ids !== null && from.#ids !== null) rows.#ids[at] = from.#ids[position[at]];
    }
    rows.#takeVectors(sources, source, position);
    rows.endFilling();
    return rows;
  }

  /**
   * Allocates room for rows, of which the first `coded` have codes. Call `fill` for each batch of
   * them, then `endFilling`, which makes the rows findable.
   */
  static toFill(
    from: Omit<Gathered, 'sources'>,
    endRow: number,
    count: number,
    coded: number,
  ): Rows {
    const rows = new Rows(from.firstRow, from.bytesPerCode, from.vectors);
    rows.#reserve(count);
    rows.#rows = new Uint32Array(count);
    rows.#states.fill(NULL, coded, count);
    rows.vectors?.skip(count);
    rows.endRow = endRow;
    rows.count = count;
    rows.liveCount = count;
    return rows;
  }

  /** Rows at positions from `at` on, and their codes: none of null rows. */
  fill(
    at: number,
    rows: Uint32Array,
    codes: Uint8Array,
    ids: ((place: number) => Id) | null,
  ): void {
    this.#rows?.set(rows, at);
    this.codes.codes.set(codes, at * this.codes.bytesPerCode);
    if (codes.length > 0) this.codes.rows.set(rows, at);
    if (ids === null) return;
    this.#ids ??= new Array(this.count);
    for (let i = 0; i < rows.length; i++) this.#ids[at + i] = ids(i);
  }

  /**
   * Makes a column from row to position: one a row number, or a sorted one where few are left; none
   * where rows ascend, as they do without partitions.
   */
  endFilling(): void {
    const rows = this.#rows as Uint32Array;
    if (isAscending(rows)) return;
    const numbers = this.endRow - this.firstRow;
    if (numbers > MAX_GAPS * rows.length) {
      this.#ascending = ascending(rows.length).sort((a, b) => rows[a] - rows[b]);
      return;
    }
    this.#positions = new Uint32Array(numbers).fill(NO_ROW);
    for (let at = 0; at < rows.length; at++) this.#positions[rows[at] - this.firstRow] = at;
  }

  /** Copies vectors, some thousand at a time, so that memory holds few twice. */
  #takeVectors(sources: readonly Rows[], source: Taken['source'], position: Uint32Array): void {
    const { vectors } = this;
    if (vectors === null) return;
    const all = ascending(position.length);
    for (const [number, { vectors: from }] of sources.entries()) {
      const own = all.filter((at) => source[at] === number);
      for (let first = 0; from !== null && first < own.length; first += TAKEN_AT_ONCE) {
        const to = own.subarray(first, first + TAKEN_AT_ONCE);
        const rows = to.map((at) => position[at]);
        vectors.copyFrom(from, rows, to);
      }
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
    if (this.#rows === null) return row - this.firstRow;
    const [rows, order] = [this.#rows, this.#ascending];
    let [low, high] = [0, rows.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (rows[order === null ? middle : order[middle]] < row) low = middle + 1;
      else high = middle;
    }
    if (low === rows.length) return NO_ROW;
    const position = order === null ? low : order[low];
    return rows[position] === row ? position : NO_ROW;
  }

  /** The positions of the rows that are there, in the order of the rows. */
  livePositions(): Uint32Array {
    const all = this.#positions ?? this.#ascending ?? ascending(this.count);
    return all.filter((at) => at !== NO_ROW && this.#states[at] !== REMOVED);
  }

  /** Whether the position of each row is its number. */
  get isInOrder(): boolean {
    return this.#rows === null && this.firstRow === 0;
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

  get hasIds(): boolean {
    return this.#ids !== null;
  }

  /** The row of an id; undefined where there is none that is not removed. */
  rowOf(id: Id): number | undefined {
    if (this.#ids === null) {
      return typeof id === 'number' && this.positionOf(id) >= 0 ? id : undefined;
    }
    if (this.#lookup === null) {
      this.#lookup = new IdLookup();
      for (let i = 0; i < this.#ids.length; i++) {
        if (this.#states[i] !== REMOVED) this.#lookup.set(this.#ids[i], i);
      }
    }
    const position = this.#lookup.find(id);
    return position === undefined ? undefined : this.rowAt(position);
  }

  /** Numbers rows that were appended to an empty place, ascending, all below `endRow`. */
  number(rows: Uint32Array, endRow: number): void {
    for (let position = 0; position < rows.length; position++) {
      if (this.codes.rows[position] !== NO_ROW) this.codes.rows[position] = rows[position];
    }
    this.#rows = rows;
    this.endRow = endRow;
  }

  /** About how many bytes the rows take. */
  get bytes(): number {
    const columns = [this.#rows, this.#positions, this.#ascending, this.#states];
    const ids = this.#ids === null ? 0 : 8 * this.#ids.length + (this.#lookup?.bytes ?? 0);
    return columns.reduce(
      (sum, column) => sum + (column?.byteLength ?? 0),
      this.count * (this.codes.bytesPerCode + 4) + (this.vectors?.bytes ?? 0) + ids,
    );
  }

  /** Marks the row at a position as removed. */
  remove(position: number): void {
    if (this.#ids !== null) {
      this.#lookup?.remove(this.#ids[position], position);
      this.#ids[position] = undefined as never;
    }
    this.codes.rows[position] = NO_ROW;
    this.#states[position] = REMOVED;
    this.liveCount--;
  }
}

/** Exact similarities of rows with a comparable query: valid until the next call. */
export function similaritiesWith(
  vectors: RowVectors,
  rows: Uint32Array,
  { set, unit }: Query,
): Float64Array {
  if (set === undefined) return vectors.cosinesOf(rows, unit as UnitVector);
  const [sets, queries] = [vectors as SparseVectors, new SparseVectors()];
  queries.append(set, 0, 1, () => true);
  return Float64Array.from(rows, (row) => sets.jaccardOf(row, queries, 0));
}

/** What a space places of the rows at positions `first` to `end - 1`; views where it can be. */
export function rowsToPlace(
  { codes, rows: all, bytesPerCode }: RowCodes,
  held: RowVectors | null,
  [first, end]: readonly [first: number, end: number],
  byCodes: boolean,
): RowsToPlace {
  const rows = all.slice(first, end);
  if (byCodes) {
    const own = codes.subarray(first * bytesPerCode, end * bytesPerCode);
    return { rows, vectors: null, codes: own };
  }
  const vectors = (held as DenseVectors).rowsOfLengths(rows, first);
  return { rows, vectors, codes: null };
}

function isAscending(rows: Uint32Array): boolean {
  for (let i = 1; i < rows.length; i++) if (rows[i] <= rows[i - 1]) return false;
  return true;
}

/**
 * The column from row to position has an entry for every row number while there are at most this
 * many numbers for each row that is left; beyond, it is a sorted list.
 */
const MAX_GAPS = 2;
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
export interface Taken {
  readonly source: Uint32Array;
  readonly position: Uint32Array;
  readonly coded: number;
}
