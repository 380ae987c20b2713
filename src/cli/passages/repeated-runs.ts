/**
 * Which runs of words several documents have, in memory that does not grow with the documents.
 * Of the runs of `width` words some are drawn by winnowing (Schleimer, Wilkerson & Aiken 2003): the
 * least by hash of each `WINDOW` neighbours, so that documents with `width + WINDOW - 1` words in
 * common have a drawn run in common. A first reading counts drawn runs up to two by a part of their
 * hash, a second one enters those that may be repeated into a table.
 */

import { mixed } from '../../base/random';
import type { WordPlaces } from './word-places';

/** Neighbouring runs of which one is drawn; two of 17 are, on average. */
export const WINDOW = 16;
/** Places of the filter: with 40,000,000 runs that occur once, 7 of 100 pass it in error. */
const MAX_FILTER_BITS = 29;
/** Places of the table; when it is three quarters full, half of all runs are drawn no longer. */
const MAX_PLACES = 2 ** 23;
const BYTES_PER_PLACE = 28;

/** The drawn runs of a text: the number of the first word of each, and its hash. */
export interface Drawn {
  readonly at: number[];
  readonly low: number[];
  readonly high: number[];
}

/** Bases of the polynomials that hash runs of hashes of words. */
const BASES = [0x9e37_79b1, 0x85eb_ca77] as const;

/** Calls `visit` with each run of `width` words in order: its first word, halves of its hash. */
export function eachRun(
  { low, high, count }: WordPlaces,
  width: number,
  visit: (at: number, low: number, high: number) => void,
): void {
  const [lowBase, highBase] = BASES;
  let [lowPower, highPower] = [1, 1]; // of the word that leaves the run
  for (let i = 0; i < width; i++) {
    lowPower = Math.imul(lowPower, lowBase);
    highPower = Math.imul(highPower, highBase);
  }
  let [lowHash, highHash] = [0, 0];
  for (let i = 0; i < count; i++) {
    lowHash = (Math.imul(lowHash, lowBase) + low[i]) | 0;
    highHash = (Math.imul(highHash, highBase) + high[i]) | 0;
    const left = i - width;
    if (left >= 0) {
      lowHash = (lowHash - Math.imul(low[left], lowPower)) | 0;
      highHash = (highHash - Math.imul(high[left], highPower)) | 0;
    }
    if (left >= -1) visit(left + 1, lowHash >>> 0, highHash >>> 0);
  }
}

/** Draws runs by robust winnowing: of equal ones the drawn one stays, else the last is drawn. */
export function drawnRuns(places: WordPlaces, width: number): Drawn {
  const drawn: Drawn = { at: [], low: [], high: [] };
  const last = places.count - width;
  // The runs of the window, each at its number modulo WINDOW, and their hashes by which one wins.
  const column = () => new Uint32Array(WINDOW);
  const [lows, highs, orders] = [column(), column(), column()];
  let least = 0;
  eachRun(places, width, (at, low, high) => {
    const own = at % WINDOW;
    [lows[own], highs[own], orders[own]] = [low, high, mixed(low)];
    const hasLeft = least <= at - WINDOW;
    if (hasLeft || orders[own] < orders[least % WINDOW]) least = at;
    for (let i = at - 1; hasLeft && i > at - WINDOW; i--) {
      if (orders[i % WINDOW] < orders[least % WINDOW]) least = i;
    }
    if ((at < WINDOW - 1 && at < last) || drawn.at.at(-1) === least) return;
    drawn.at.push(least);
    drawn.low.push(lows[least % WINDOW]);
    drawn.high.push(highs[least % WINDOW]);
  });
  return drawn;
}

/** Counts runs up to two; several runs may share a place. */
export class RunFilter {
  readonly #shift: number;
  readonly #counts: Uint8Array;
  /** Places that two runs or more have. */
  repeated = 0;

  /** `bytes` are those of the texts, null where they are not known. */
  constructor(bytes: number | null) {
    // A place a byte: 50 a drawn run, ten where the bytes are compressed to a fifth.
    const wanted = Math.min(bytes ?? 2 ** MAX_FILTER_BITS, 2 ** MAX_FILTER_BITS);
    const bits = Math.max(16, 32 - Math.clz32(wanted - 1));
    this.#shift = 32 - bits;
    this.#counts = new Uint8Array(2 ** (bits - 2));
  }

  get byteLength(): number {
    return this.#counts.length;
  }

  add(high: number): void {
    const place = mixed(high) >>> this.#shift;
    const count = (this.#counts[place >>> 2] >>> (2 * (place & 3))) & 3;
    if (count === 2) return;
    if (count === 1) this.repeated++;
    this.#counts[place >>> 2] += 1 << (2 * (place & 3));
  }

  mayRepeat(high: number): boolean {
    const place = mixed(high) >>> this.#shift;
    return ((this.#counts[place >>> 2] >>> (2 * (place & 3))) & 3) === 2;
  }
}

const WANTED_BITS = 20;

/** Runs, some others with them, as bits: most runs of a text need no place in the table. */
export class WantedRuns {
  readonly #bits = new Uint8Array(2 ** (WANTED_BITS - 3));

  add(high: number): void {
    const bit = mixed(high) >>> (32 - WANTED_BITS);
    this.#bits[bit >>> 3] |= 1 << (bit & 7);
  }

  has(high: number): boolean {
    const bit = mixed(high) >>> (32 - WANTED_BITS);
    return (this.#bits[bit >>> 3] & (1 << (bit & 7))) !== 0;
  }
}

/** By place the fields of a run. */
class Columns {
  readonly low: Uint32Array;
  readonly high: Uint32Array;
  /** How many documents have the run; 0 of a free place. */
  readonly documents: Uint32Array;
  /** The first document that has it, and the word at which it begins there. */
  readonly firstRow: Uint32Array;
  readonly firstAt: Uint32Array;
  readonly lastRow: Uint32Array;
  /** Equal for runs of the same documents that are equally far from each other in all of them. */
  readonly group: Uint32Array;

  constructor(readonly size: number) {
    const column = () => new Uint32Array(size);
    [this.low, this.high, this.documents, this.group] = [column(), column(), column(), column()];
    [this.firstRow, this.firstAt, this.lastRow] = [column(), column(), column()];
  }

  /** Where a run is, or the free place for it. */
  find(low: number, high: number): number {
    let place = mixed(high) & (this.size - 1);
    while (this.documents[place] > 0 && (this.low[place] !== low || this.high[place] !== high)) {
      place = (place + 1) & (this.size - 1);
    }
    return place;
  }

  /** Frees a place; runs behind it that are not at the place of their hash move up. */
  free(place: number): void {
    const last = this.size - 1;
    let free = place;
    for (let from = (free + 1) & last; this.documents[from] > 0; from = (from + 1) & last) {
      const own = mixed(this.high[from]) & last;
      // It is looked for from its own place on, so it stays behind that.
      if (((from - own) & last) < ((from - free) & last)) continue;
      this.#move(from, free);
      free = from;
    }
    this.documents[free] = 0;
    this.group[free] = 0;
  }

  #move(from: number, to: number): void {
    this.low[to] = this.low[from];
    this.high[to] = this.high[from];
    this.documents[to] = this.documents[from];
    this.group[to] = this.group[from];
    this.firstRow[to] = this.firstRow[from];
    this.firstAt[to] = this.firstAt[from];
    this.lastRow[to] = this.lastRow[from];
  }
}

/** The runs that may be repeated, and in how many documents each is. */
export class RunTable {
  readonly columns: Columns;
  /** One of 2^level drawn runs is in the table. */
  level = 0;
  #count = 0;

  constructor(
    private readonly filter: RunFilter,
    maxPlaces = MAX_PLACES,
  ) {
    const wanted = 2 ** (32 - Math.clz32(Math.min(4 * filter.repeated + 15, 2 ** 30)));
    this.columns = new Columns(Math.min(maxPlaces, wanted));
  }

  get byteLength(): number {
    return this.columns.size * BYTES_PER_PLACE;
  }

  /** False of runs that are drawn no longer since the table is small. */
  isDrawn(low: number): boolean {
    return (low & (2 ** this.level - 1)) === 0;
  }

  /** Enters the runs of the next document; of a run that it has twice the first counts. */
  add(row: number, { at, low, high }: Drawn): void {
    for (let i = 0; i < at.length; i++) {
      if (!this.filter.mayRepeat(high[i]) || !this.isDrawn(low[i])) continue;
      const { columns } = this;
      const place = columns.find(low[i], high[i]);
      const isNew = columns.documents[place] === 0;
      if (!isNew && columns.lastRow[place] === row) continue;
      if (isNew) {
        columns.low[place] = low[i];
        columns.high[place] = high[i];
        columns.firstRow[place] = row;
        columns.firstAt[place] = at[i];
      }
      columns.documents[place]++;
      columns.lastRow[place] = row;
      columns.group[place] += mixed(mixed(row + 1) ^ (at[i] - columns.firstAt[place]));
      if (isNew && ++this.#count > 0.75 * columns.size) this.#thin();
    }
  }

  /** The place of a run that two documents or more have; -1 of others. */
  repeated(low: number, high: number): number {
    const place = this.columns.find(low, high);
    return this.columns.documents[place] > 1 ? place : -1;
  }

  /** Half of the runs leave; no second table is needed. */
  #thin(): void {
    const { columns } = this;
    this.level++;
    for (let place = 0; place < columns.size; place++) {
      // Another one may have moved to the place.
      while (columns.documents[place] > 0 && !this.isDrawn(columns.low[place])) {
        columns.free(place);
        this.#count--;
      }
    }
  }
}
