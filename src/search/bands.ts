/**
 * Multi-index hashing: hash tables over blocks of bits, in which all codes within a distance, or
 * the nearest ones, are found by looking up the query's keys and their neighbours. Exact: after
 * step r every code within distance r has been offered, once (Norouzi, Punjani & Fleet 2012).
 */

import { checkBits, checkInteger, wrongType, wrongValue } from '../check';
import { bytesPerCode, checkValidity } from '../codes/codes';
import { checkLongCall, type LongCall } from '../long-call';
import {
  type BandLayout,
  binomial,
  bucketBits,
  checkLayout,
  guaranteedDistance,
  isDisjoint,
} from './band-layout';
import type { Collector } from './nearest';

export interface BandsOptions {
  bits: number;
  /** How many codes there are; the bytes may have room for more. */
  count: number;
  layout: BandLayout;
  /** Bit r is 0 where slot r has no code; such slots are left out. */
  validity?: Uint8Array | null;
}

export interface BandSearchOptions {
  /** The last distance that is searched to the end; by default as far as the collector needs. */
  maxRadius?: number;
  /** Most work units, look-ups plus candidates, that may be spent; by default any number. */
  budget?: number;
}

/** How a search went. */
export interface BandSearch {
  /** Whether every hit of use has been offered; otherwise scan, with a new collector. */
  readonly isComplete: boolean;
  /** Every code within this distance has been offered; -1 when not even equal ones. */
  readonly radius: number;
  readonly lookUps: number;
  /** Entries of the buckets that were looked up; each is compared with the query. */
  readonly candidates: number;
}

interface Table {
  /** Number of key bits. */
  readonly width: number;
  readonly isDirect: boolean;
  readonly bucketBits: number;
  /** What flipping a key bit does to the bucket number: buckets are XOR-linear in the key. */
  readonly flips: Uint32Array;
  readonly keyBits: Uint16Array;
  /** Bytes of a code with key bits, and what each of their 256 values adds to the bucket. */
  readonly touched: Uint16Array;
  readonly addends: Uint32Array;
  /** The key bits as words of a code. */
  readonly words: Uint16Array;
  readonly masks: Int32Array;
  /** Bucket b holds `slots[offsets[b]]` to `slots[offsets[b + 1] - 1]`, ascending. */
  readonly offsets: Uint32Array;
  slots: Uint32Array;
}

/** Candidates that are gathered before they are compared, so that their cache misses overlap. */
const BATCH = 1024;
/** A bucket of so many is compared where it is. */
const LARGE = 64;
/** Work between two yields of a build, in bytes touched: a few milliseconds. */
const PART = 1 << 20;

export class Bands {
  readonly bits: number;
  readonly count: number;
  readonly layout: BandLayout;
  readonly guaranteedDistance: number;
  readonly #isDisjoint: boolean;
  readonly #bytesPerCode: number;
  readonly #tables: Table[] = [];
  #codes: Uint8Array;
  #words: Int32Array | null = null;
  // Of the search that runs.
  readonly #query: Int32Array;
  readonly #xor: Int32Array;
  readonly #batch = new Uint32Array(BATCH);
  #outer = new Uint16Array(0);
  #accs = new Uint32Array(0);
  #table = 0;
  #flipped = 0;
  #limit = 0;
  #collector!: Collector;

  private constructor(codes: Uint8Array, options: BandsOptions) {
    this.bits = options.bits;
    this.count = options.count;
    this.layout = options.layout;
    this.#bytesPerCode = bytesPerCode(this.bits);
    this.#isDisjoint = isDisjoint(this.layout);
    this.guaranteedDistance = guaranteedDistance(this.layout);
    this.#codes = codes;
    this.#query = new Int32Array(Math.ceil(this.#bytesPerCode / 4));
    this.#xor = new Int32Array(this.#query.length);
    this.moveTo(codes);
  }

  /** Tells where the codes are now; those of the build must be the same. */
  moveTo(codes: Uint8Array): void {
    this.#codes = codes;
    const isAligned = this.#bytesPerCode % 4 === 0 && codes.byteOffset % 4 === 0;
    const isSmall = codes.byteLength < 2 ** 31;
    this.#words =
      isAligned && isSmall
        ? new Int32Array(codes.buffer, codes.byteOffset, codes.byteLength >> 2)
        : null;
  }

  static build(codes: Uint8Array, options: BandsOptions & LongCall): Bands {
    checkLongCall(options);
    const steps = Bands.buildSteps(codes, options);
    const total = 2 * options.count * options.layout.length;
    for (;;) {
      options.signal?.throwIfAborted();
      const { done, value } = steps.next();
      if (done) return value as Bands;
      options.onProgress?.(value as number, total);
    }
  }

  static *buildSteps(codes: Uint8Array, options: BandsOptions): Generator<number, Bands> {
    checkBits(options.bits);
    checkInteger('count', options.count, 0, 2 ** 32 - 1);
    checkLayout(options.layout, options.bits);
    checkValidity(options.validity, options.count);
    const bands = new Bands(codes, options);
    for (let t = 0; t < options.layout.length; t++) {
      const table = makeTable(options, t);
      for (const done of fill(table, codes, options, bytesPerCode(options.bits))) {
        yield 2 * t * options.count + done;
      }
      bands.#tables.push(table);
    }
    const widest = Math.max(...bands.#tables.map(({ width }) => width));
    bands.#outer = new Uint16Array(widest + 1);
    bands.#accs = new Uint32Array(widest + 1);
    return bands;
  }

  get bytes(): number {
    return this.#tables.reduce(
      (sum, { offsets, slots, addends }) =>
        sum + offsets.byteLength + slots.byteLength + addends.byteLength,
      0,
    );
  }

  search(query: Uint8Array, collector: Collector, options: BandSearchOptions = {}): BandSearch {
    const { maxRadius = this.bits, budget = Number.POSITIVE_INFINITY } = options;
    loadWords(query, this.#query);
    this.#collector = collector;
    this.#limit = collector.limit;
    const count = this.#tables.length;
    const reach = this.#isDisjoint ? this.bits : this.guaranteedDistance;
    let radius = -1;
    let lookUps = 0;
    let candidates = 0;
    while (this.#limit > radius + 1) {
      if (radius >= maxRadius || radius >= reach) break;
      let first = 0;
      let last = count - 1;
      let flipped = 0;
      let next = reach;
      if (this.#isDisjoint) {
        next = radius + 1;
        first = last = next % count;
        flipped = Math.floor(next / count);
      }
      let isOver = false;
      for (let t = first; t <= last; t++) {
        const ways = binomial(this.#tables[t].width, flipped);
        if (lookUps + candidates + ways > budget) {
          isOver = true;
          break;
        }
        lookUps += ways;
        const found = this.#visit(t, flipped, budget - lookUps - candidates, query);
        candidates += found;
        if (lookUps + candidates > budget) {
          isOver = true;
          break;
        }
      }
      if (isOver) break;
      radius = next;
    }
    return { isComplete: this.#limit <= radius + 1, radius, lookUps, candidates };
  }

  #visit(t: number, flipped: number, budget: number, query: Uint8Array): number {
    const { offsets, slots, flips, width, isDirect, touched, addends } = this.#tables[t];
    if (flipped > width) return 0;
    this.#table = t;
    this.#flipped = flipped;
    let key = 0;
    for (let i = 0; i < touched.length; i++) key ^= addends[256 * i + query[touched[i]]];
    let candidates = 0;
    if (flipped === 0) {
      const start = offsets[key];
      const end = offsets[key + 1];
      candidates = end - start;
      if (candidates <= budget) this.#compare(slots, start, end);
      return candidates;
    }
    const batch = this.#batch;
    const outer = this.#outer;
    const accs = this.#accs;
    const depth = flipped - 1;
    accs[0] = key;
    for (let i = 0; i < depth; i++) {
      outer[i] = i;
      accs[i + 1] = accs[i] ^ flips[i];
    }
    let held = 0;
    for (;;) {
      const acc = accs[depth];
      for (let j = depth === 0 ? 0 : outer[depth - 1] + 1; j < width; j++) {
        const bucket = acc ^ flips[j];
        let start = offsets[bucket];
        const end = offsets[bucket + 1];
        if (start === end) continue;
        const size = end - start;
        candidates += size;
        if (held + size > BATCH || size >= LARGE) {
          if (candidates > budget) return candidates;
          if (size >= LARGE) {
            this.#compare(slots, start, end);
            continue;
          }
          this.#compare(batch, 0, held);
          held = 0;
        }
        while (start < end) batch[held++] = slots[start++];
      }
      if (!isDirect && depth > 0) {
        if (candidates > budget) return candidates;
        this.#compare(batch, 0, held);
        held = 0;
      }
      let i = depth - 1;
      while (i >= 0 && outer[i] === width - flipped + i) i--;
      if (i < 0) break;
      outer[i]++;
      accs[i + 1] = accs[i] ^ flips[outer[i]];
      for (i++; i < depth; i++) {
        outer[i] = outer[i - 1] + 1;
        accs[i + 1] = accs[i] ^ flips[outer[i]];
      }
    }
    if (candidates <= budget) this.#compare(batch, 0, held);
    return candidates;
  }

  #compare(slots: Uint32Array, from: number, to: number): void {
    if (this.#words === null) this.#compareBytes(slots, from, to);
    else if (this.#query.length === 2) this.#compare64(this.#words, slots, from, to);
    else this.#compareWords(this.#words, slots, from, to);
  }

  #compare64(words: Int32Array, slots: Uint32Array, from: number, to: number): void {
    const low = this.#query[0];
    const high = this.#query[1];
    let limit = this.#limit;
    for (let i = from; i < to; i++) {
      const at = slots[i] << 1;
      let a = words[at] ^ low;
      let b = words[at + 1] ^ high;
      a -= (a >>> 1) & 0x55555555;
      b -= (b >>> 1) & 0x55555555;
      a = (a & 0x33333333) + ((a >>> 2) & 0x33333333);
      b = (b & 0x33333333) + ((b >>> 2) & 0x33333333);
      a += b;
      a = (a & 0x0f0f0f0f) + ((a >>> 4) & 0x0f0f0f0f);
      const distance = Math.imul(a, 0x01010101) >>> 24;
      if (distance < limit) {
        this.#xor[0] = words[at] ^ low;
        this.#xor[1] = words[at + 1] ^ high;
        limit = this.#offer(slots[i], distance);
      }
    }
  }

  #compareWords(words: Int32Array, slots: Uint32Array, from: number, to: number): void {
    const query = this.#query;
    const count = query.length;
    const xor = this.#xor;
    let limit = this.#limit;
    for (let i = from; i < to; i++) {
      const at = Math.imul(slots[i], count);
      let distance = 0;
      for (let w = 0; w < count; w++) distance += bitCount(words[at + w] ^ query[w]);
      if (distance < limit) {
        for (let w = 0; w < count; w++) xor[w] = words[at + w] ^ query[w];
        limit = this.#offer(slots[i], distance);
      }
    }
  }

  #compareBytes(slots: Uint32Array, from: number, to: number): void {
    const query = this.#query;
    const xor = this.#xor;
    for (let i = from; i < to; i++) {
      const at = slots[i] * this.#bytesPerCode;
      loadWords(this.#codes.subarray(at, at + this.#bytesPerCode), xor);
      let distance = 0;
      for (let w = 0; w < query.length; w++) {
        xor[w] ^= query[w];
        distance += bitCount(xor[w]);
      }
      if (distance < this.#limit) this.#offer(slots[i], distance);
    }
  }

  #offer(slot: number, distance: number): number {
    if (!this.#isFirst()) return this.#limit;
    this.#collector.take(slot, distance);
    this.#limit = this.#collector.limit;
    return this.#limit;
  }

  #isFirst(): boolean {
    const flipped = this.#flipped;
    const tables = this.#tables;
    if (!tables[this.#table].isDirect && !this.#isKey()) return false;
    const end = flipped === 0 ? this.#table : tables.length;
    for (let t = 0; t < end; t++) {
      const differing = this.#differing(tables[t]);
      if (differing < flipped || (differing === flipped && t < this.#table)) return false;
    }
    return true;
  }

  #differing({ words, masks }: Table): number {
    let count = 0;
    for (let i = 0; i < words.length; i++) count += bitCount(this.#xor[words[i]] & masks[i]);
    return count;
  }

  #isKey(): boolean {
    const table = this.#tables[this.#table];
    if (this.#differing(table) !== this.#flipped) return false;
    for (let i = 0, j = 0; i < this.#flipped - 1; i++, j++) {
      while (((this.#xor[table.keyBits[j] >> 5] >>> (table.keyBits[j] & 31)) & 1) === 0) j++;
      if (j !== this.#outer[i]) return false;
    }
    return true;
  }
}

function bitCount(word: number): number {
  let a = word - ((word >>> 1) & 0x55555555);
  a = (a & 0x33333333) + ((a >>> 2) & 0x33333333);
  return Math.imul((a + (a >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

function loadWords(code: Uint8Array, words: Int32Array): void {
  words.fill(0);
  for (let i = 0; i < code.length; i++) words[i >> 2] |= code[i] << (8 * (i & 3));
}

function makeTable({ layout, bits, count }: BandsOptions, t: number): Table {
  const keyBits: number[] = [];
  for (const run of layout[t]) for (let i = 0; i < run.bits; i++) keyBits.push(run.firstBit + i);
  const width = keyBits.length;
  const bucket = bucketBits(width, count);
  const flips = bucket.isDirect
    ? Uint32Array.from(keyBits, (_, j) => 1 << j)
    : hashedFlips(width, bucket.bits);
  const touched = [...new Set(keyBits.map((bit) => bit >> 3))].sort((a, b) => a - b);
  const addends = new Uint32Array(256 * touched.length);
  const masks = new Int32Array(Math.ceil(bits / 32));
  keyBits.forEach((bit, j) => {
    masks[bit >> 5] |= 1 << (bit & 31);
    const at = 256 * touched.indexOf(bit >> 3);
    for (let byte = 0; byte < 256; byte++) {
      if ((byte >> (bit & 7)) & 1) addends[at + byte] ^= flips[j];
    }
  });
  const words = [...masks.keys()].filter((w) => masks[w] !== 0);
  return {
    width,
    isDirect: bucket.isDirect,
    bucketBits: bucket.bits,
    flips,
    keyBits: Uint16Array.from(keyBits),
    touched: Uint16Array.from(touched),
    addends,
    words: Uint16Array.from(words),
    masks: Int32Array.from(words, (w) => masks[w]),
    offsets: new Uint32Array(2 ** bucket.bits + 1),
    slots: new Uint32Array(0),
  };
}

function hashedFlips(width: number, bits: number): Uint32Array {
  const seen = new Set([0]);
  for (let i = 1; seen.size <= width; i++) {
    let h = Math.imul(i, 0x9e3779b9);
    h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
    h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
    h ^= h >>> 16;
    seen.add(h >>> (32 - bits));
  }
  seen.delete(0);
  return Uint32Array.from(seen);
}

function* fill(table: Table, codes: Uint8Array, { count, validity }: BandsOptions, width: number) {
  const { offsets, touched } = table;
  const rows = Math.ceil(PART / (16 + touched.length));
  for (let from = 0; from < count; from += rows) {
    const to = Math.min(count, from + rows);
    countKeys(table, codes, width, from, to, validity ?? null);
    yield to;
  }
  let sum = 0;
  for (let from = 0; from < offsets.length; from += PART) {
    const to = Math.min(offsets.length, from + PART);
    for (let b = from; b < to; b++) {
      sum += offsets[b];
      offsets[b] = sum;
    }
    yield count;
  }
  table.slots = new Uint32Array(sum);
  for (let to = count; to > 0; to -= rows) {
    const from = Math.max(0, to - rows);
    placeSlots(table, codes, width, from, to, validity ?? null);
    yield 2 * count - from;
  }
}

function countKeys(
  { offsets, touched, addends }: Table,
  codes: Uint8Array,
  width: number,
  from: number,
  to: number,
  validity: Uint8Array | null,
) {
  for (let row = from, at = from * width; row < to; row++, at += width) {
    if (validity !== null && ((validity[row >> 3] >> (row & 7)) & 1) === 0) continue;
    let key = 0;
    for (let i = 0; i < touched.length; i++) key ^= addends[256 * i + codes[at + touched[i]]];
    offsets[key]++;
  }
}

function placeSlots(
  { offsets, touched, addends, slots }: Table,
  codes: Uint8Array,
  width: number,
  from: number,
  to: number,
  validity: Uint8Array | null,
) {
  for (let row = to - 1, at = row * width; row >= from; row--, at -= width) {
    if (validity !== null && ((validity[row >> 3] >> (row & 7)) & 1) === 0) continue;
    let key = 0;
    for (let i = 0; i < touched.length; i++) key ^= addends[256 * i + codes[at + touched[i]]];
    slots[--offsets[key]] = row;
  }
}

void wrongType;
void wrongValue;
