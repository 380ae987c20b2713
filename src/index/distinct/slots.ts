/**
 * The distinct codes of an index: equal codes are held once, in a slot, with the rows that have
 * them, so that a million equal rows cost a search as much as one. A slot whose rows are all
 * removed stays, empty, until the slots are put in another order.
 */

import { isValid } from '../../base/bitmap';
import { runSteps, type Steps } from '../../base/steps';
import { CodeMemory } from '../../kernels/hamming/code-memory';
import { distance } from '../../kernels/hamming/hamming.scalar';
import { NO_ROW, type RowCodes } from '../../kernels/hits/hits';
import { SharedRows } from './shared-rows';
import { isEqual, NO_SLOT, SlotTable } from './slot-table';

/** In place of a row's slot: it has no code, or is removed. */
export const NULL_ROW = 0xffff_ffff;
const REMOVED = 0xffff_fffe;
/** Most rows of an index: beyond are the marks above. */
export const MOST_ROWS = 0xffff_fff0;

/** Rows, and which of them share a code. */
export interface KnownCodes {
  readonly codes: Uint8Array;
  readonly count: number;
  readonly validity: Uint8Array | null;
  /** The first row with the same code; null where none of these has the code of another. */
  readonly firsts: Uint32Array | null;
}

/** Slots, and rows, between two steps of putting them in another order. */
const STEP_SLOTS = 2 ** 15;
const STEP_ROWS = 2 ** 20;
/**
 * Codes that searches compare for each slot before the table goes: to make it anew takes less. Each
 * time that it was needed again, many times as many.
 */
const COMPARED = 256;
const PATIENCE = 8;

export class Slots {
  readonly bytesPerCode: number;
  #memory: CodeMemory;
  #count = 0;
  #slotOfRow = new Uint32Array(64);
  #rowCount = 0;
  #liveCount = 0;
  /** The rows of a slot beyond its first. */
  #more = new SharedRows();
  readonly #isOf = (row: number, slot: number) => this.#slotOfRow[row] === slot;
  /** Null until a code is added. */
  #table: SlotTable | null = null;
  /** Codes compared by searches since a row was added. */
  #compared = 0;
  #mostCompared = COMPARED;
  #gathered: CodeMemory | null = null;

  constructor(bytesPerCode: number) {
    this.bytesPerCode = bytesPerCode;
    this.#memory = new CodeMemory(bytesPerCode);
  }

  /** Slots, empty ones included. */
  get count(): number {
    return this.#count;
  }

  /** Rows ever added. */
  get rowCount(): number {
    return this.#rowCount;
  }

  /** Rows that are there, those without a code included. */
  get liveCount(): number {
    return this.#liveCount;
  }

  /** A search compared so many codes; where only searches go on, no table is kept. */
  noteCompared(codes: number): void {
    this.#compared += codes;
    if (this.#table === null || this.#compared <= this.#mostCompared * this.#count) return;
    this.#table = null;
    this.#mostCompared *= PATIENCE;
  }

  /** The codes of all slots and behind them room; `rows` holds each slot's first row. */
  get memory(): CodeMemory {
    return this.#memory;
  }

  get bytes(): number {
    const table = this.#table?.bytes ?? 0;
    const more = this.#more.bytes;
    return this.#count * (this.bytesPerCode + 4) + 4 * this.#rowCount + table + more;
  }

  codeAt(slot: number): Uint8Array {
    return this.#memory.codes.subarray(slot * this.bytesPerCode, (slot + 1) * this.bytesPerCode);
  }

  /** The slot of a row; NULL_ROW when it has no code. */
  slotOf(row: number): number {
    return this.#slotOfRow[row];
  }

  /** Distances from a code to rows that have one. */
  distancesOf(rows: Uint32Array, code: Uint8Array): Uint16Array {
    const { codes } = this.#memory;
    const distances = new Uint16Array(rows.length);
    for (let i = 0; i < rows.length; i++) {
      distances[i] = distance(code, codes, this.#slotOfRow[rows[i]] * this.bytesPerCode);
    }
    return distances;
  }

  isLive(row: number): boolean {
    return row < this.#rowCount && this.#slotOfRow[row] !== REMOVED;
  }

  /** True of a live row that is not null. */
  hasCode(row: number): boolean {
    return row < this.#rowCount && this.#slotOfRow[row] < REMOVED;
  }

  /** The numbers of rows that are there, ascending. */
  liveRows(): Uint32Array {
    const rows = new Uint32Array(this.#liveCount);
    let count = 0;
    for (let row = 0; row < this.#rowCount; row++) if (this.isLive(row)) rows[count++] = row;
    return rows;
  }

  /** Those of them that are not null. */
  rowsWithCodes(): Uint32Array {
    const rows = new Uint32Array(this.#liveCount);
    let count = 0;
    for (let row = 0; row < this.#rowCount; row++) if (this.hasCode(row)) rows[count++] = row;
    return rows.slice(0, count);
  }

  /** Makes room for so many more rows. */
  reserve(count: number): void {
    this.#memory.reserve(this.#count + count);
    this.#reserveRows(this.#rowCount + count);
  }

  /** Codes that are about to be added, one after another. */
  lookAhead(codes: Uint8Array): void {
    this.#table?.lookAhead(codes);
  }

  /** Appends the next row; returns its number. */
  add(code: Uint8Array | null): number {
    this.#reserveRows(this.#rowCount + 1);
    const row = this.#rowCount++;
    this.#liveCount++;
    this.#compared = 0;
    if (code === null) {
      this.#slotOfRow[row] = NULL_ROW;
      return row;
    }
    if (!this.#table?.holds(this.#count + 1)) runSteps(this.tableSteps(1), {});
    const table = this.#table as SlotTable;
    const found = table.find(code);
    if (found === NO_SLOT) {
      const slot = this.#newSlot(row, code);
      table.put(slot);
      return row;
    }
    this.#slotOfRow[row] = found;
    if (this.#memory.rows[found] === NO_ROW) this.#memory.rows[found] = row;
    else this.#more.add(found, row);
    return row;
  }

  #newSlot(row: number, code: Uint8Array): number {
    const slot = this.#count++;
    this.#memory.reserve(this.#count);
    this.#memory.codes.set(code, slot * this.bytesPerCode);
    this.#memory.rows[slot] = row;
    this.#slotOfRow[row] = slot;
    return slot;
  }

  /**
   * Appends rows of which a file tells what `add` would have to find out: whose code is whose. The
   * table of codes is made when the next row is added. Throws where a row has not the code of its
   * first; `heirs` are the slots of those whose first is removed.
   */
  addKnown(known: KnownCodes, heirs: Map<number, number>): void {
    const { codes, count, validity, firsts } = known;
    const { bytesPerCode } = this;
    this.#table = null;
    this.#memory.reserve(this.#count + count);
    this.#reserveRows(this.#rowCount + count);
    const { codes: held, rows } = this.#memory;
    let run = 0; // of codes that are new, from here on, the rows before are done
    const copyRun = (end: number) => {
      const bytes = codes.subarray(run * bytesPerCode, end * bytesPerCode);
      held.set(bytes, this.#count * bytesPerCode);
      const row = this.#rowCount + run;
      for (let i = 0; i < end - run; i++) {
        rows[this.#count + i] = row + i;
        this.#slotOfRow[row + i] = this.#count + i;
      }
      this.#count += end - run;
    };
    for (let i = 0; i < count && (validity !== null || firsts !== null); i++) {
      const row = this.#rowCount + i;
      const isThere = isValid(validity, i);
      const first = isThere && firsts !== null ? firsts[i] : row;
      if (isThere && first === row) continue;
      copyRun(i);
      run = i + 1;
      const code = codes.subarray(i * bytesPerCode, run * bytesPerCode);
      this.#slotOfRow[row] = isThere ? this.#slotOfKnown(row, first, code, heirs) : NULL_ROW;
    }
    copyRun(count);
    this.#rowCount += count;
    this.#liveCount += count;
  }

  /** The slot of a row that has the code of an earlier one. */
  #slotOfKnown(row: number, first: number, code: Uint8Array, heirs: Map<number, number>): number {
    if (first >= row) throw new Error(`row ${row}: its code cannot be that of row ${first}`);
    const known = this.#slotOfRow[first] < REMOVED ? this.#slotOfRow[first] : heirs.get(first);
    if (known !== undefined) {
      if (!isEqual(this.#memory, known, code)) {
        throw new Error(`row ${row}: its code is not that of row ${first}`);
      }
      this.#more.add(known, row);
      return known;
    }
    const slot = this.#newSlot(row, code);
    heirs.set(first, slot);
    return slot;
  }

  /** The first row with the code of each of some rows; null where that is always the row itself. */
  firstsOf(rows: Uint32Array): Uint32Array | null {
    if (!this.hasDuplicates) return null;
    const isOwn = (row: number) => this.#slotOfRow[row] === NULL_ROW;
    const first = (row: number) => (isOwn(row) ? row : this.#memory.rows[this.#slotOfRow[row]]);
    const firsts = rows.map(first);
    return firsts.every((one, i) => one === rows[i]) ? null : firsts;
  }

  /** The codes of some rows one after another, and which are not null; null where all are there. */
  codesOf(rows: Uint32Array): { codes: Uint8Array; validity: Uint8Array | null } {
    const { bytesPerCode } = this;
    const codes = new Uint8Array(rows.length * bytesPerCode);
    let validity: Uint8Array | null = null;
    for (let i = 0; i < rows.length; ) {
      const slot = this.#slotOfRow[rows[i]];
      if (slot === NULL_ROW) {
        validity ??= new Uint8Array(Math.ceil(rows.length / 8)).fill(0xff);
        validity[i >> 3] &= ~(1 << (i & 7));
        i++;
        continue;
      }
      let end = i + 1;
      while (end < rows.length && this.#slotOfRow[rows[end]] === slot + end - i) end++;
      const from = slot * bytesPerCode;
      const run = this.#memory.codes.subarray(from, from + (end - i) * bytesPerCode);
      codes.set(run, i * bytesPerCode);
      i = end;
    }
    return { codes, validity };
  }

  /** Rows that are not there, in place of removed ones. */
  skip(count: number): void {
    this.#reserveRows(this.#rowCount + count);
    this.#slotOfRow.fill(REMOVED, this.#rowCount, this.#rowCount + count);
    this.#rowCount += count;
  }

  remove(row: number): void {
    const slot = this.#slotOfRow[row];
    this.#slotOfRow[row] = REMOVED;
    this.#liveCount--;
    if (slot === NULL_ROW) return;
    const { rows } = this.#memory;
    const hadDuplicates = this.hasDuplicates;
    if (rows[slot] === row) rows[slot] = this.#more.takeFirst(slot, this.#isOf, NO_ROW);
    else this.#more.noteRemoved(slot, this.#isOf);
    if (hadDuplicates && !this.hasDuplicates) this.#more = new SharedRows();
  }

  /** The first row of a slot that a filter accepts, or NO_ROW. */
  firstRow(slot: number, filter: { accepts(row: number): boolean } | null): number {
    if (slot >= this.#count) return NO_ROW;
    let first = this.#memory.rows[slot];
    if (filter === null || first === NO_ROW || filter.accepts(first)) return first;
    first = NO_ROW;
    this.#more.each(slot, this.#isOf, (row) => {
      if (!filter.accepts(row)) return true;
      first = row;
      return false;
    });
    return first;
  }

  /** Visits the live rows of a slot, ascending, until one visit returns false. */
  eachRow(slot: number, visit: (row: number) => boolean): void {
    if (slot >= this.#count) return; // of a row that was removed on the way
    const first = this.#memory.rows[slot];
    if (first === NO_ROW || !visit(first)) return;
    this.#more.each(slot, this.#isOf, visit);
  }

  /** True when all rows of a slot are removed. */
  isEmpty(slot: number): boolean {
    return this.#memory.rows[slot] === NO_ROW;
  }

  /** True when some slot has more than one row. */
  get hasDuplicates(): boolean {
    return this.#more.size > 0;
  }

  /** The codes of some rows, each code once with its first row. Valid until the next call. */
  gather(rows: readonly number[]): RowCodes & { count: number } {
    const slots = new Set<number>();
    for (const row of rows) if (this.hasCode(row)) slots.add(this.#slotOfRow[row]);
    this.#gathered ??= new CodeMemory(this.bytesPerCode);
    this.#gathered.reserve(slots.size);
    const { codes, rows: firstRows } = this.#gathered;
    let count = 0;
    for (const slot of slots) {
      codes.set(this.codeAt(slot), count * this.bytesPerCode);
      firstRows[count++] = this.#memory.rows[slot];
    }
    return { bytesPerCode: this.bytesPerCode, codes, rows: firstRows, count };
  }

  /** The same rows with slots in another order, `order` naming these; those left out are empty. */
  *rearranged(order: Uint32Array): Steps<Slots> {
    const { bytesPerCode } = this;
    const other = new Slots(bytesPerCode);
    other.#memory = new CodeMemory(bytesPerCode, order.length);
    other.#count = order.length;
    other.#rowCount = this.#rowCount;
    other.#liveCount = this.#liveCount;
    other.#slotOfRow = this.#slotOfRow.slice(0, this.#rowCount);
    const { codes, rows } = this.#memory;
    const places = new Uint32Array(this.#count);
    for (let place = 0; place < order.length; place++) {
      const from = order[place] * bytesPerCode;
      other.#memory.codes.set(codes.subarray(from, from + bytesPerCode), place * bytesPerCode);
      other.#memory.rows[place] = rows[order[place]];
      places[order[place]] = place;
      if (place % STEP_SLOTS === STEP_SLOTS - 1) yield undefined;
    }
    for (let row = 0; row < this.#rowCount; row++) {
      if (this.hasCode(row)) other.#slotOfRow[row] = places[this.#slotOfRow[row]];
      if (row % STEP_ROWS === STEP_ROWS - 1) yield undefined;
    }
    other.#more = yield* this.#more.renumbered(places);
    return other;
  }

  #reserveRows(count: number): void {
    if (count <= this.#slotOfRow.length) return;
    const grown = new Uint32Array(Math.max(count, Math.ceil(1.25 * this.#slotOfRow.length)));
    grown.set(this.#slotOfRow);
    this.#slotOfRow = grown;
  }

  /**
   * Room in the table for so many more codes, made in steps; until the end nothing changes. Where
   * `expected` are to come, it is not made anew for each doubling.
   */
  *tableSteps(more: number, expected = more): Steps<void> {
    if (this.#table?.holds(this.#count + more)) return;
    const room = Math.max(more, Math.min(expected, 3 * this.#count));
    this.#table = yield* SlotTable.of(this.#memory, this.#count, room);
  }
}
