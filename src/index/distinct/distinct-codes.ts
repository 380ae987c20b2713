/**
 * The distinct codes of an index: equal codes are held once, with the list of rows that have them,
 * so that a million equal rows cost a search as much as one. A distinct code is named by its
 * position, `distinct`. One whose rows are all removed stays, empty, until the codes are put in
 * another order: at the latest when more than half are empty.
 */

import { isValid } from '../../base/bitmap';
import { runSteps, type Steps } from '../../base/steps';
import { CodeMemory } from '../../kernels/code-memory';
import { distance } from '../../kernels/hamming';
import { NO_ROW, type RowCodes } from '../../kernels/hits';
import { grownShared, sharedValues } from '../../kernels/memory';
import { type CodePart, CodeParts } from './code-parts';
import { CodeTable, isEqual, type KnownCodes, NOT_FOUND } from './code-table';
import { SharedRows } from './shared-rows';

/** In `#distinctOfRow`: a row without a code, and a removed row. */
export const NULL_ROW = 0xffff_ffff;
const REMOVED = 0xffff_fffe;
/** Most rows of an index: larger 32-bit numbers have other meanings. */
export const MAX_ROWS = 0xffff_fff0;

/** Distinct codes, and rows, between two steps of a change of order. */
const STEP_CODES = 2 ** 15;
const STEP_ROWS = 2 ** 20;
/**
 * The table of codes is freed when searches since the last added row have compared this many times
 * the distinct codes: building it again costs less than that. The number grows by the factor each
 * time, so that an index that is searched and added to by turns soon stops rebuilding it.
 */
const COMPARISONS_BEFORE_FREE = 256;
const COMPARISONS_FACTOR = 8;

/** Codes by position, and the rows of each. Views of codes are valid until codes are added. */
export class DistinctCodes {
  readonly bytesPerCode: number;
  #codes: CodeParts;
  #count = 0;
  /** Distinct codes whose rows are all removed. */
  emptyCount = 0;
  #distinctOfRow: Uint32Array = sharedValues(Uint32Array, 64);
  #rowCount = 0;
  #liveCount = 0;
  /** The rows of each distinct code beyond its first. */
  #more = new SharedRows();
  readonly #isOf = (row: number, distinct: number) => this.#distinctOfRow[row] === distinct;
  /** Finds equal codes for new rows; null before the first, and after many searches. */
  #table: CodeTable | null = null;
  /** Codes compared by searches since a row was added. */
  #compared = 0;
  #maxCompared = COMPARISONS_BEFORE_FREE;
  #gathered: CodeMemory | null = null;

  constructor(bytesPerCode: number) {
    this.bytesPerCode = bytesPerCode;
    this.#codes = new CodeParts(bytesPerCode);
  }

  /** The codes of another thread, to search. */
  static over(state: DistinctCodes['state']): DistinctCodes {
    const other = new DistinctCodes(state.codes.bytesPerCode);
    other.#codes = CodeParts.over(state.codes);
    [other.#count, other.#rowCount] = [state.count, state.rowCount];
    other.#distinctOfRow = state.distinctOfRow;
    other.#more = SharedRows.over(state.more);
    return other;
  }

  /** What searches on other threads read: views of the large arrays. */
  get state() {
    const counts = { count: this.#count, rowCount: this.#rowCount };
    const [distinctOfRow, more] = [this.#distinctOfRow, this.#more.state];
    return { codes: this.#codes.state, ...counts, distinctOfRow, more };
  }

  /** Number of distinct codes, empty ones included. */
  get count(): number {
    return this.#count;
  }

  /** The distinct codes that have rows, ascending. */
  nonEmpty(): Uint32Array {
    const used = new Uint32Array(this.#count - this.emptyCount);
    for (let distinct = 0, count = 0; distinct < this.#count; distinct++) {
      if (!this.isEmpty(distinct)) used[count++] = distinct;
    }
    return used;
  }

  /** Number of rows ever added: the next row. */
  get rowCount(): number {
    return this.#rowCount;
  }

  /** Number of rows that are not removed, null ones included. */
  get liveCount(): number {
    return this.#liveCount;
  }

  /** Counts compared codes; after many, the table of codes is freed, since only `add` needs it. */
  noteCompared(codes: number): void {
    this.#compared += codes;
    if (this.#table === null || this.#compared <= this.#maxCompared * this.#count) return;
    this.#table = null;
    this.#maxCompared *= COMPARISONS_FACTOR;
  }

  /** All distinct codes with their first rows, and room behind them. */
  get codes(): CodeParts {
    return this.#codes;
  }

  get bytes(): number {
    const hashed = (this.#table?.bytes ?? 0) + this.#more.bytes;
    return this.#count * (this.bytesPerCode + 4) + 4 * this.#rowCount + hashed;
  }

  /** The part of memory that contains a distinct code. */
  partAt(distinct: number): CodePart {
    return this.#codes.partAt(distinct);
  }

  codeAt(distinct: number): Uint8Array {
    return this.#codes.codeAt(distinct);
  }

  /** The distinct code of a row; a number above all of them for a null or removed row. */
  distinctOf(row: number): number {
    return this.#distinctOfRow[row];
  }

  /** Distances in bits from a code to rows that have codes. */
  distancesOf(rows: Uint32Array, code: Uint8Array): Uint16Array {
    const codes = this.#codes;
    const distances = new Uint16Array(rows.length);
    for (let i = 0; i < rows.length; i++) {
      const distinct = this.#distinctOfRow[rows[i]];
      distances[i] = distance(code, codes.codesAt(distinct), codes.placeOf(distinct));
    }
    return distances;
  }

  isLive(row: number): boolean {
    return row < this.#rowCount && this.#distinctOfRow[row] !== REMOVED;
  }

  /** True of a live row that is not null. */
  hasCode(row: number): boolean {
    return row < this.#rowCount && this.#distinctOfRow[row] < REMOVED;
  }

  /** The rows that are not removed, ascending. */
  liveRows(): Uint32Array {
    return this.#rowsWhere((row) => this.isLive(row));
  }

  /** The rows that have codes, ascending. */
  rowsWithCodes(): Uint32Array {
    return this.#rowsWhere((row) => this.hasCode(row));
  }

  #rowsWhere(isWanted: (row: number) => boolean): Uint32Array {
    const rows = new Uint32Array(this.#liveCount);
    let count = 0;
    for (let row = 0; row < this.#rowCount; row++) if (isWanted(row)) rows[count++] = row;
    return rows.subarray(0, count);
  }

  /** Allocates room for `count` more rows, each of which may have a new code. */
  reserve(count: number): void {
    this.#codes.reserve(this.#count + count);
    this.#reserveRows(this.#rowCount + count);
  }

  /** Warms caches for codes that `add` takes next, given one after another. */
  lookAhead(codes: Uint8Array): void {
    this.#table?.lookAhead(codes);
  }

  /** Appends a row, null without a code; returns it. */
  add(code: Uint8Array | null): number {
    this.#reserveRows(this.#rowCount + 1);
    const row = this.#rowCount++;
    this.#compared = 0;
    this.#put(row, code);
    return row;
  }

  /** Gives a row its code: one that is known, or a new distinct code. */
  #put(row: number, code: Uint8Array | null): void {
    this.#liveCount++;
    if (code === null) {
      this.#distinctOfRow[row] = NULL_ROW;
      return;
    }
    if (!this.#table?.holds(this.#count + 1)) runSteps(this.tableSteps(1), {});
    const table = this.#table as CodeTable;
    const found = table.find(code);
    if (found === NOT_FOUND) {
      table.put(this.#append(row, code));
      return;
    }
    this.#distinctOfRow[row] = found;
    if (this.isEmpty(found)) {
      this.#codes.setRow(found, row);
      this.emptyCount--;
    } else this.#more.add(found, row);
  }

  /** Appends the code of a row, at `codes[from]`; returns the new distinct code. */
  #append(row: number, codes: Uint8Array, from = 0): number {
    const distinct = this.#count++;
    const all = this.#codes;
    all.reserve(this.#count);
    all.setCode(distinct, codes, from);
    all.setRow(distinct, row);
    this.#distinctOfRow[row] = distinct;
    return distinct;
  }

  /**
   * Restores rows of a file in place of skipped ones, but those that are NO_ROW; rows of equal
   * codes must come in ascending order. With `firsts` no table is needed, and a row whose code is
   * not that of its first throws. `takenOver`, one map for all calls, holds by a removed first row
   * the distinct code of the later rows with its code.
   */
  restore({ rows, codes, validity, firsts }: KnownCodes, takenOver: Map<number, number>): void {
    const { bytesPerCode } = this;
    const isKnown = firsts !== undefined;
    if (isKnown) this.#table = null;
    this.#codes.reserve(this.#count + rows.length);
    for (let i = 0; i < rows.length; i++) {
      const row = rows[i];
      if (row === NO_ROW) continue;
      if (this.#distinctOfRow[row] !== REMOVED || row >= this.#rowCount)
        throw new Error(`row ${row} is there twice, or its number is too high`);
      const from = i * bytesPerCode;
      const first = firsts?.[i] ?? row;
      if (!isValid(validity, i)) this.#put(row, null);
      else if (!isKnown) this.#put(row, codes.subarray(from, from + bytesPerCode));
      else {
        this.#liveCount++;
        if (first === row) this.#append(row, codes, from);
        else {
          const code = codes.subarray(from, from + bytesPerCode);
          this.#distinctOfRow[row] = this.#distinctOfKnown(row, first, code, takenOver);
        }
      }
    }
  }

  /** The distinct code of a row of which the file says that `first` has the same code. */
  #distinctOfKnown(
    row: number,
    first: number,
    code: Uint8Array,
    takenOver: Map<number, number>,
  ): number {
    if (first >= row) throw new Error(`row ${row}: its code cannot be that of row ${first}`);
    const known =
      this.#distinctOfRow[first] < REMOVED ? this.#distinctOfRow[first] : takenOver.get(first);
    if (known !== undefined) {
      if (!isEqual(this.#codes, known, code)) {
        throw new Error(`row ${row}: its code is not that of row ${first}`);
      }
      this.#more.add(known, row);
      return known;
    }
    // The first row is removed: this one takes over, and further rows of the code find it.
    const distinct = this.#append(row, code);
    takenOver.set(first, distinct);
    return distinct;
  }

  /** Appends rows that count as removed until they are restored. */
  skip(count: number): void {
    this.#reserveRows(this.#rowCount + count);
    this.#distinctOfRow.fill(REMOVED, this.#rowCount, this.#rowCount + count);
    this.#rowCount += count;
  }

  /** Removes a live row; if it was the first of its code, the next one becomes the first. */
  remove(row: number): void {
    const distinct = this.#distinctOfRow[row];
    this.#distinctOfRow[row] = REMOVED;
    this.#liveCount--;
    if (distinct === NULL_ROW) return;
    const hadDuplicates = this.hasDuplicates;
    if (this.rowOf(distinct) === row) {
      this.#codes.setRow(distinct, this.#more.takeFirst(distinct, this.#isOf, NO_ROW));
    } else this.#more.noteRemoved(distinct, this.#isOf);
    if (this.isEmpty(distinct)) this.emptyCount++;
    if (hadDuplicates && !this.hasDuplicates) this.#more = new SharedRows();
  }

  /** The first live row of a distinct code, or NO_ROW. */
  rowOf(distinct: number): number {
    return this.#codes.rowOf(distinct);
  }

  /** The first accepted row of a distinct code, or NO_ROW. */
  firstRow(distinct: number, filter: { accepts(row: number): boolean } | null): number {
    if (distinct >= this.#count) return NO_ROW;
    let first = this.rowOf(distinct);
    if (filter === null || first === NO_ROW || filter.accepts(first)) return first;
    first = NO_ROW;
    this.#more.each(distinct, this.#isOf, (row) => {
      if (!filter.accepts(row)) return true;
      first = row;
      return false;
    });
    return first;
  }

  /** Visits the live rows of a distinct code, ascending, until one visit returns false. */
  eachRow(distinct: number, visit: (row: number) => boolean): void {
    if (distinct >= this.#count) return; // of a row that was removed meanwhile
    const first = this.rowOf(distinct);
    if (first === NO_ROW || !visit(first)) return;
    this.#more.each(distinct, this.#isOf, visit);
  }

  /** True when all rows of a distinct code are removed. */
  isEmpty(distinct: number): boolean {
    return this.rowOf(distinct) === NO_ROW;
  }

  /** True when some distinct code has more than one row. */
  get hasDuplicates(): boolean {
    return this.#more.size > 0;
  }

  /** The distinct codes of some rows, each with its first row. Valid until the next call. */
  gather(rows: readonly number[]): RowCodes & { count: number } {
    const distinctCodes = new Set<number>();
    for (const row of rows) if (this.hasCode(row)) distinctCodes.add(this.#distinctOfRow[row]);
    this.#gathered ??= new CodeMemory(this.bytesPerCode);
    this.#gathered.reserve(distinctCodes.size);
    const { codes, rows: firstRows } = this.#gathered;
    let count = 0;
    for (const distinct of distinctCodes) {
      codes.set(this.codeAt(distinct), count * this.bytesPerCode);
      firstRows[count++] = this.rowOf(distinct);
    }
    return { bytesPerCode: this.bytesPerCode, codes, rows: firstRows, count };
  }

  /**
   * A copy with the distinct codes in this order; those left out must be empty. With `kept`, all
   * live rows ascending, row i of the copy is row `kept[i]`; without it, rows stay.
   */
  *rearranged(order: Uint32Array, kept: Uint32Array | null = null): Steps<DistinctCodes> {
    const { bytesPerCode } = this;
    const other = new DistinctCodes(bytesPerCode);
    other.#codes = new CodeParts(bytesPerCode, order.length);
    other.#count = order.length;
    other.#rowCount = kept?.length ?? this.#rowCount;
    other.#liveCount = this.#liveCount;
    other.#distinctOfRow = sharedValues(Uint32Array, other.#rowCount);
    const copies = other.#codes;
    const places = new Uint32Array(this.#count);
    for (let first = 0; first < order.length; ) {
      const part = copies.partAt(first);
      const end = Math.min(order.length, part.end, first + STEP_CODES);
      const to = part.memory.codes.subarray(copies.placeOf(first));
      this.#codes.gatherInto(to, order.subarray(first, end));
      for (; first < end; first++) places[order[first]] = first;
      yield undefined;
    }
    for (let row = 0; row < other.#rowCount; row++) {
      const before = this.#distinctOfRow[kept === null ? row : kept[row]];
      const distinct = before < REMOVED ? places[before] : before;
      other.#distinctOfRow[row] = distinct;
      if (distinct < REMOVED && !other.isEmpty(distinct)) other.#more.add(distinct, row);
      else if (distinct < REMOVED) copies.setRow(distinct, row);
      if (row % STEP_ROWS === STEP_ROWS - 1) yield undefined;
    }
    return other;
  }

  #reserveRows(count: number): void {
    if (count <= this.#distinctOfRow.length) return;
    const room = Math.max(count, Math.ceil(1.25 * this.#distinctOfRow.length));
    this.#distinctOfRow = grownShared(this.#distinctOfRow, room);
  }

  /**
   * Makes room in the table for `more` codes, in steps; nothing changes before the last. If
   * `expected` codes will come, room is made for them at once instead of at each doubling.
   */
  *tableSteps(more: number, expected = more): Steps<void> {
    if (this.#table?.holds(this.#count + more)) return;
    const room = Math.max(more, Math.min(expected, 3 * this.#count));
    this.#table = yield* CodeTable.of(this.#codes, this.#count, room);
  }
}
