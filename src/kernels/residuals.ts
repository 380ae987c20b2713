/**
 * Cosines of a query with residual codes. A residual code has two bits of each coordinate of a
 * row's rotated difference from its centroid: first the sides of zero on which they are, then which
 * half of its side each is in. Four bits at a time look up an integer in a table made for the
 * query; both halves of a code use the same tables. Then
 *
 *     sum = 2 x first sum + second sum
 *     cosine x 2,048 = (sum - base) x (scale x factor) + the product of query and centroid
 *
 * in float32, each operation rounded in this order, so that every engine gives equal results; the
 * whole weight of a row is 2,048 less that, truncated to an integer within 0..4,096.
 *
 * Sides alone estimate the cosine with an error of known size (Gao & Long, RaBitQ, SIGMOD 2024).
 * Raised by SURE_OF_SIDES errors, that is the weight by sides, from integers and a coarse scale of
 * the row (see `coarseScale`):
 *
 *     product = (first sum x 2^shift - sideBase) x coarse scale / 2^15, rounded
 *     weight by sides = 2,047 - the product of query and centroid - product / cutFactor, raised
 *         to the next integer
 *
 * The weight of a row is the higher of both. So a row whose sides weigh more than the limit of now
 * is not looked at further, which rules out most rows for half the work, and what is found does not
 * depend on the order of entries, nor on how they are spread over memories.
 */

import { keyOf, rowsOf, weightsOf } from '../base/top-k';
import { homeOf, type LinearMemory, type Room } from './memory';
import { searchKernels } from './search-kernels';

/**
 * Rows in blocks of 16, so that a register holds the same byte of all 16: of the first halves of
 * their codes byte 0 of each row, then byte 1, ..., then their 16 coarse scales as int16. Behind
 * those of all blocks lie the second halves in the same way, with their 16 scales as float32: most
 * are never read, so the first halves are what caches hold. A row of scale 0 is skipped. The last
 * block may have fewer rows, as in files, and then no space for others.
 */
export interface Residuals {
  /** An even number. */
  readonly bytesPerRow: number;
  /** Rows that there is room for. */
  readonly capacity: number;
  readonly bytes: Uint8Array;
}

export const BLOCK_ROWS = 16;

/** The rows of so many whole blocks that `count` rows fit. */
export const wholeBlocks = (count: number) => Math.ceil(count / BLOCK_ROWS) * BLOCK_ROWS;

/** Bytes of a coarse scale, and of a scale. */
const COARSE_BYTES = 2;
const SCALE_BYTES = 4;

/** Bytes that a row takes. */
export const bytesOfRow = (bytesPerRow: number) => bytesPerRow + COARSE_BYTES + SCALE_BYTES;

type Layout = Pick<Residuals, 'bytesPerRow' | 'capacity'>;

/** Rows of the block of a row. */
const lanesOf = ({ capacity }: Layout, row: number) => Math.min(BLOCK_ROWS, capacity - (row & ~15));

/** Index in `bytes` of the first half of the block of a row. */
const sidesAt = ({ bytesPerRow }: Layout, row: number) =>
  (row & ~15) * (bytesPerRow / 2 + COARSE_BYTES);

/** The same of the second half. */
export const secondHalfAt = ({ bytesPerRow, capacity }: Layout, row: number) =>
  capacity * (bytesPerRow / 2 + COARSE_BYTES) + (row & ~15) * (bytesPerRow / 2 + SCALE_BYTES);

/** Index of byte `i` of a row in `bytes`. */
export function residualByte(rows: Layout, row: number, i: number): number {
  const half = rows.bytesPerRow / 2;
  const at = i < half ? sidesAt(rows, row) : secondHalfAt(rows, row);
  return at + (i % half) * lanesOf(rows, row) + (row & 15);
}

/** Index in `bytes` of the scale of a row, a float32. */
function scaleAt(rows: Layout, row: number): number {
  const half = (rows.bytesPerRow / 2) * lanesOf(rows, row);
  return secondHalfAt(rows, row) + half + SCALE_BYTES * (row & 15);
}

/** The same of its coarse scale, an int16. */
function coarseAt(rows: Layout, row: number): number {
  const half = (rows.bytesPerRow / 2) * lanesOf(rows, row);
  return sidesAt(rows, row) + half + COARSE_BYTES * (row & 15);
}

/** Room for so many rows, all of scale 0. */
export function newResiduals(bytesPerRow: number, capacity: number): Residuals {
  return { bytesPerRow, capacity, bytes: new Uint8Array(capacity * bytesOfRow(bytesPerRow)) };
}

/** Copies rows `first` to `first + count - 1` with their scales, whole blocks at once. */
export function copyResiduals(
  from: Residuals,
  first: number,
  to: Residuals,
  at: number,
  count: number,
): void {
  const whole = (first | at) % BLOCK_ROWS === 0 ? count - (count % BLOCK_ROWS) : 0;
  for (const halfAt of whole > 0 ? [sidesAt, secondHalfAt] : []) {
    const own = from.bytes.subarray(halfAt(from, first), halfAt(from, first + whole));
    to.bytes.set(own, halfAt(to, at));
  }
  for (let i = whole; i < count; ) {
    const [row, place] = [first + i, at + i];
    const rows = Math.min(count - i, BLOCK_ROWS - (row & 15), BLOCK_ROWS - (place & 15));
    copyWithin(from, row, to, place, rows);
    i += rows;
  }
}

/** Copies rows of one block to rows of one. */
function copyWithin(from: Residuals, row: number, to: Residuals, at: number, rows: number): void {
  const [given, bytes] = [from.bytes, to.bytes];
  const half = from.bytesPerRow / 2;
  const [step, toStep] = [lanesOf(from, row), lanesOf(to, at)];
  for (const first of [0, half]) {
    let [source, target] = [residualByte(from, row, first), residualByte(to, at, first)];
    for (let byte = 0; byte < half; byte++, source += step, target += toStep) {
      for (let i = 0; i < rows; i++) bytes[target + i] = given[source + i];
    }
  }
  const [coarse, scale] = [coarseAt(from, row), scaleAt(from, row)];
  bytes.set(given.subarray(coarse, coarse + COARSE_BYTES * rows), coarseAt(to, at));
  bytes.set(given.subarray(scale, scale + SCALE_BYTES * rows), scaleAt(to, at));
}

/** The scale of a row, and that which is coarse. */
export function scalesOf(rows: Residuals, row: number): { scale: number; coarse: number } {
  const { buffer, byteOffset } = rows.bytes;
  const view = new DataView(buffer, byteOffset);
  return {
    scale: view.getFloat32(scaleAt(rows, row), true),
    coarse: view.getInt16(coarseAt(rows, row), true),
  };
}

/** The bytes of residual codes as `setScale` writes them. */
export const viewOf = ({ bytes }: Residuals) => new DataView(bytes.buffer, bytes.byteOffset);

/** Sets both scales of a row. */
export function setScale(rows: Residuals, row: number, scale: number, view = viewOf(rows)): void {
  view.setFloat32(scaleAt(rows, row), scale, true);
  view.setInt16(coarseAt(rows, row), coarseScale(rows.bytesPerRow, scale), true);
}

/**
 * The scale of a row as an integer of 15 bits: differences of length 1 have some 10,000, and no row
 * differs from its centroid by more than 2.
 */
export function coarseScale(bytesPerRow: number, scale: number): number {
  return Math.min(32_767, Math.round(scale * Math.sqrt(4 * bytesPerRow) * 2 ** 14));
}

/** For each four sides, 16 integers of 0..31: what each value adds to a sum. */
export interface ResidualTables {
  readonly tables: Uint8Array;
  /** The sum of integers of a product of 0. */
  readonly zero: number;
  /** 2,048 over the integers that make 1. */
  readonly factor: number;
}

/**
 * The scale of sides alone over that of whole codes, whose levels are 1 and 3, and the standard
 * error of products by sides in units of the latter, both for coordinates of a Gaussian.
 */
const SIDE_SCALE = 2.2184;
const SIDE_ERROR = 1.336;
/**
 * Standard errors by which an estimate by sides is raised. With 1 in place of 1.25 a search of
 * GloVe looks at a tenth less of the second halves, and finds .958 in place of .960 of the rows.
 */
const SURE_OF_SIDES = 1.25;

/**
 * The numbers of both formulas, of which `sideBase` and `shift` are integers. A cut is `cutFactor`
 * times the difference that sides must make to 2,048 times the cosine.
 */
export function formulasOf({ tables, zero, factor }: ResidualTables) {
  const half = tables.length / 32;
  // Sums of sides are below 2^14 then, and differ from the base by less than 2^15.
  const shift = Math.max(0, Math.clz32(62 * half + 32) - 18);
  const sideFactor = SIDE_SCALE * factor;
  const raised = factor > 0 ? (SURE_OF_SIDES * SIDE_ERROR * ONE_WEIGHT) / sideFactor : 0;
  return {
    base: Math.fround(3 * zero),
    factor: Math.fround(factor),
    sideBase: Math.round((zero - raised) * 2 ** shift),
    shift,
    cutFactor: factor > 0 ? Math.fround((Math.sqrt(8 * half) * 2 ** (shift - 1)) / sideFactor) : 0,
  };
}

/**
 * 32-bit numbers of a range of rows, those of one centroid: where they are (`EntriesAt`), the first
 * row of the range, the code that this row stands for (the next row stands for the next code), how
 * many rows, as the bits of a float32 2,048 times the product of query and centroid, and where the
 * search lies behind the first of those that are looked at together.
 */
export const RANGE = 8;

/** Where rows are: the addresses of both halves in their memory, and for how many is room. */
export type EntriesAt = readonly [sides: number, secondHalves: number, capacity: number];

export function entriesAt(layout: Layout, address: number): EntriesAt {
  return [address, address + secondHalfAt(layout, 0), layout.capacity];
}

/** The weight of a right angle; a weight is 2,048 (1 - cosine). */
export const ONE_WEIGHT = 2048;
export const MAX_RESIDUAL_WEIGHT = 2 * ONE_WEIGHT;
/** Two entries of at most 31 for each of 1,024 / 2 bytes fit a 16-bit sum. */
export const MAX_RESIDUAL_BYTES = 1024;

/** Entries in one memory. A search names them by the codes that its ranges give them. */
export interface EntryList {
  readonly memory: Pick<Residuals, 'bytes' | 'bytesPerRow'>;
  /** By code the position of the row; null where codes are positions, undefined without any. */
  readonly positions?: Uint32Array | null;
  rowOf(code: number): number;
}

/** The entries within the last limit that a search found, by weight. */
export interface FoundEntries {
  readonly weights: Uint32Array;
  /** Null where positions in the one list of entries that there is say which rows they are. */
  readonly rows: Uint32Array | null;
  readonly positions: Uint32Array | null;
}

/** Ranges of one call of the kernel, and the bytes of its searches and their sums. */
const MAX_RANGES = 4096;
const WORK_BYTES = 23_808;
const HEAD_BYTES = WORK_BYTES + 4 * RANGE * MAX_RANGES;
/** Places in a query: the address of its state, and its tables. */
const QUERY_STATE = 20;
const FORMULA_BYTES = 32;

/** Indices of u32 in the state of a search; see residuals.assembly.ts. */
const LIMIT = 0;
const WANT = 1;
const HELD = 2;
const HITS = 3;
const NEXT_HIT = 4;
const HITS_END = 5;
const COUNTS = 8;
/** Weights that are counted together, as a shift. */
const BIN = 4;
/** All u32 of a state: a multiple of 4. */
const STATE_LENGTH = (COUNTS + (MAX_RESIDUAL_WEIGHT >> BIN) + 4) & ~3;
/** Bytes of a hit, and hits in the room of one of several searches: a chunk of rows at least. */
const HIT = 8;
const hitsOf = (want: number) => 4 * want + 256;
/** Bytes of the rooms of several searches, and how many there are at most. */
export const ROOMS_BYTES = 2 ** 23;
const MAX_ROOMS = 1024;

/** Bytes of the state of one of several searches, its query and its hits. */
const roomBytesOf = (bytesPerRow: number, want: number) =>
  4 * STATE_LENGTH + FORMULA_BYTES + 16 * bytesPerRow + HIT * hitsOf(want);

/**
 * A search for the `want` entries of the lowest weights. The limit falls as lighter ones are seen;
 * found are `want` entries and all others of the weight of the last one. The state lies in the
 * memories that it looks at, so another search there may begin only after `suspend`, or with its
 * own room.
 */
export class EntrySearch {
  readonly want: number;
  readonly #tablesOf: () => ResidualTables;
  readonly #looked: Looked[] = [];
  /** Limit, held hits and counts where the last memory had them. */
  #last: Uint32Array | null = null;
  /** Keys of (weight, row), and the tables, where they were taken out of the memories. */
  readonly #kept: number[] = [];
  #tables: ResidualTables | null = null;

  /** `tablesOf` makes the tables of the query, which are copied before it is called again. */
  constructor(tablesOf: () => ResidualTables, want: number) {
    this.#tablesOf = tablesOf;
    this.want = want;
  }

  /** Looks at ranges of entries, `RANGE` numbers each. Entries of scale 0 are skipped. */
  look(list: EntryList, ranges: Uint32Array): void {
    if (ranges.length === 0) return;
    const rooms = EntryRooms.ofOne(list);
    rooms.look(list, ranges, [this.enter(list, rooms.at(0))]);
  }

  /** Goes on in the memory of a list, where its state is in a room. */
  enter(list: EntryList, room: Room): Looked {
    let own = this.#looked.find((one) => one.list.memory === list.memory);
    if (own === undefined) {
      const tables = this.#tables ?? this.#looked[0]?.tables ?? this.#tablesOf();
      own = new Looked(list, tables, this.want, room, this.#kept);
      this.#looked.push(own);
    }
    const { state } = own;
    if (this.#last !== null && this.#last !== state) {
      state[LIMIT] = this.#last[LIMIT];
      state[HELD] = this.#last[HELD];
      state.set(this.#last.subarray(COUNTS), COUNTS);
    }
    this.#last = state;
    return own;
  }

  /** Takes all state out of the memories, which other searches may use then, or overwrite. */
  suspend(): void {
    if (this.#last === null) return;
    this.#last = this.#last.slice();
    const own = this.#looked[0]?.tables;
    if (own !== undefined) this.#tables = { ...own, tables: own.tables.slice() };
    this.#drain();
  }

  /** With `isOfRows` rows, of equal weights ascending; else what is at hand, in any order. */
  found(isOfRows: boolean): FoundEntries {
    const isOne = this.#looked.length === 1 && this.#kept.length === 0;
    const sorted = isOne && !isOfRows ? this.#looked[0].sorted() : null;
    if (sorted !== null) {
      this.#looked.length = 0;
      return sorted;
    }
    this.#drain();
    const end = keyOf((this.#last?.[LIMIT] ?? 0) + 1, 0);
    const keys = Float64Array.from(this.#kept.filter((key) => key < end)).sort();
    const weights = weightsOf(keys);
    const count = wantedOf(weights, this.want);
    const rows = rowsOf(keys.subarray(0, count));
    return { weights: weights.subarray(0, count), rows, positions: null };
  }

  #drain(): void {
    for (const one of this.#looked) one.drain(this.#last?.[LIMIT] ?? 0);
    this.#looked.length = 0;
  }
}

/** How many of some ascending weights do not exceed that of the last of `want`. */
function wantedOf(weights: Uint32Array, want: number): number {
  let count = Math.min(want, weights.length);
  while (count < weights.length && weights[count] === weights[want - 1]) count++;
  return count;
}

/**
 * One memory during a search. Its room there has the state, the numbers of the formulas and the
 * tables, and hits: pairs (code, weight).
 */
class Looked {
  readonly list: EntryList;
  readonly state: Uint32Array;
  /** The tables, in the room. */
  readonly tables: ResidualTables;
  readonly #memory: LinearMemory;
  readonly #kept: number[];

  /** Moves hits to `kept`, as keys of (weight, row). */
  constructor(list: EntryList, query: ResidualTables, want: number, room: Room, kept: number[]) {
    this.list = list;
    this.#kept = kept;
    this.#memory = homeOf(list.memory.bytes);
    const { bytes } = this.#memory;
    const queryAt = room.at + 4 * STATE_LENGTH;
    const tablesAt = queryAt + FORMULA_BYTES;
    this.state = new Uint32Array(bytes.buffer, room.at, STATE_LENGTH).fill(0);
    this.state[LIMIT] = MAX_RESIDUAL_WEIGHT;
    this.state[WANT] = want;
    this.state[HITS] = tablesAt + query.tables.length;
    this.state[NEXT_HIT] = this.state[HITS];
    this.state[HITS_END] = room.at + room.byteLength;
    const { base, factor, sideBase, shift, cutFactor } = formulasOf(query);
    const floats = new Float32Array(bytes.buffer, queryAt, 5);
    const integers = new Int32Array(bytes.buffer, queryAt, FORMULA_BYTES / 4);
    floats[0] = base;
    floats[1] = factor;
    integers[2] = sideBase;
    integers[3] = shift;
    floats[4] = cutFactor;
    integers[QUERY_STATE / 4] = room.at;
    bytes.set(query.tables, tablesAt);
    this.tables = { ...query, tables: bytes.subarray(tablesAt, this.state[HITS]) };
  }

  /** Codes and weights of the hits. */
  get #hits(): Uint32Array {
    const first = this.state[HITS];
    return new Uint32Array(this.state.buffer, first, (this.state[NEXT_HIT] - first) / 4);
  }

  /** Moves the hits within a limit out of the memory. */
  drain(limit = this.state[LIMIT]): void {
    const hits = this.#hits;
    for (let i = 0; i < hits.length; i += 2) {
      if (hits[i + 1] <= limit) this.#kept.push(keyOf(hits[i + 1], this.list.rowOf(hits[i])));
    }
    this.state[NEXT_HIT] = this.state[HITS];
  }

  /** Ends a search of this memory alone: its hits by weight; null where there are too many. */
  sorted(): FoundEntries | null {
    if (!searchKernels(this.#memory).sortHits(this.state.byteOffset)) return null;
    const hits = this.#hits;
    const all = new Uint32Array(hits.length / 2);
    for (let i = 0; i < all.length; i++) all[i] = hits[2 * i + 1];
    const weights = all.subarray(0, wantedOf(all, this.state[WANT]));
    const names = new Uint32Array(weights.length);
    const { positions } = this.list;
    for (let i = 0; i < names.length; i++) {
      const code = hits[2 * i];
      if (positions === undefined) names[i] = this.list.rowOf(code);
      else names[i] = positions === null ? code : positions[code];
    }
    return positions === undefined
      ? { weights, rows: names, positions: null }
      : { weights, rows: null, positions: names };
  }
}

/** Space of a memory in which searches look at its entries together, each with its room. */
export class EntryRooms {
  readonly roomBytes: number;
  /** How many there are. */
  readonly count: number;
  readonly #at: number;

  private constructor({ at, byteLength }: Room, roomBytes = byteLength - HEAD_BYTES) {
    this.roomBytes = roomBytes;
    this.count = Math.min(MAX_ROOMS, Math.floor((byteLength - HEAD_BYTES) / roomBytes));
    this.#at = at;
  }

  /** The room of search `i`. */
  at(i: number): Room {
    return { at: this.#at + HEAD_BYTES + i * this.roomBytes, byteLength: this.roomBytes };
  }

  /** For one search, which has all the space of the thread. */
  static ofOne({ memory }: EntryList): EntryRooms {
    return new EntryRooms(homeOf(memory.bytes).room);
  }

  /** For searches that want so many entries; null where the memory has no space for two. */
  static of({ memory }: EntryList, want: number): EntryRooms | null {
    const { bytes, bytesPerRow } = memory;
    const room = homeOf(bytes).spareOf(ROOMS_BYTES);
    const rooms = room && new EntryRooms(room, roomBytesOf(bytesPerRow, want));
    return rooms === null || rooms.count < 2 ? null : rooms;
  }

  /** Looks at ranges of searches whose states are in the rooms. */
  look(list: EntryList, ranges: Uint32Array, searches: readonly (Looked | undefined)[]): void {
    const memory = homeOf(list.memory.bytes);
    const kernels = searchKernels(memory);
    const half = list.memory.bytesPerRow / 2;
    const rangesAt = this.#at + WORK_BYTES;
    const numbers = new Uint32Array(memory.bytes.buffer, rangesAt, RANGE * MAX_RANGES);
    const queryAt = this.at(0).at + 4 * STATE_LENGTH;
    for (let from = 0; from < ranges.length; from += numbers.length) {
      const some = ranges.subarray(from, from + numbers.length);
      const count = some.length / RANGE;
      numbers.set(some);
      for (let done = 0; ; ) {
        const next = rangesAt + 4 * RANGE * done;
        done += kernels.weighEntries(next, count - done, half, queryAt, this.#at);
        if (done === count) break;
        searches[numbers[RANGE * done + RANGE - 1] / this.roomBytes]?.drain();
      }
    }
  }
}
