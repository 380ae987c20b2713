/**
 * One search of multi-index hashing: it enumerates the keys at some distance from the query's,
 * gathers the candidates of their buckets, and offers those near enough, each code once, which is
 * told from the codes themselves. Time is cache misses, so memory is read in batches, twice.
 */

import type { Collector } from '../../codes/nearest';
import { binomial } from '../../codes/pigeonhole';
import { bitCount } from '../../kernels/hamming/hamming.scalar';
import { unitsOf } from './band-layout';
import type { BandTable, CodeSource } from './band-table';

/** Buckets and candidates are gathered, then read twice, so that their cache misses overlap. */
const BUCKETS = 128;
const BATCH = 512;

/** Its parts, of use for one search after another. */
export class BandLookUps {
  limit = 0;
  lookUps = 0;
  candidates = 0;
  compared = 0;
  readonly #tables: readonly BandTable[];
  readonly #query: Int32Array;
  /** In what a hit differs from the query. */
  readonly #xor: Int32Array;
  readonly #buckets = new Uint32Array(BUCKETS);
  readonly #batch = new Uint32Array(BATCH);
  /** The flipped key bits but the last, ascending, and the buckets after the first, second ... */
  readonly #flipped: Uint16Array;
  readonly #partial: Uint32Array;
  readonly #home: Uint32Array;
  #flips = 0;
  #table = 0;
  #held = 0;
  #budget = 0;
  #code: Uint8Array = new Uint8Array();
  /** The codes of each memory, as words where that is possible. */
  readonly #views: CodeView[] = [];
  #shift = 0;
  #collector!: Collector;
  /** Where values go that are read for the caches alone. */
  sink = 0;

  constructor(tables: readonly BandTable[], bytes: number) {
    const widest = Math.max(...tables.map(({ width }) => width));
    this.#tables = tables;
    this.#home = new Uint32Array(tables.length);
    this.#query = new Int32Array(Math.ceil(bytes / 4));
    this.#xor = new Int32Array(this.#query.length);
    this.#flipped = new Uint16Array(widest + 1);
    this.#partial = new Uint32Array(widest + 1);
  }

  start(source: CodeSource, code: Uint8Array, collector: Collector, budget: number): void {
    const { memories } = source;
    for (let i = 0; i < memories.length; i++) {
      const { codes } = memories[i];
      if (codes !== this.#views[i]?.bytes) this.#views[i] = viewOf(codes, code.length);
    }
    this.#shift = source.shift;
    this.#code = code;
    this.#query.fill(0);
    for (let i = 0; i < code.length; i++) this.#query[i >> 2] |= code[i] << (8 * (i & 3));
    this.#collector = collector;
    this.limit = collector.limit;
    this.#budget = budget;
    this.lookUps = 0;
    this.candidates = 0;
    this.compared = 0;
    this.#findHome();
  }

  /** The buckets of the query's own keys, and a first look at them all. */
  #findHome(): void {
    const tables = this.#tables;
    const home = this.#home;
    const code = this.#code;
    let sink = 0;
    for (let t = 0; t < tables.length; t++) {
      const { touched, addends, offsets } = tables[t];
      let bucket = 0;
      for (let i = 0; i < touched.length; i++) bucket ^= addends[256 * i + code[touched[i]]];
      home[t] = bucket;
      sink ^= offsets[bucket];
    }
    for (let t = 0; t < tables.length; t++) {
      const { offsets, members } = tables[t];
      sink ^= members[offsets[home[t]]];
    }
    this.sink ^= sink;
  }

  /** Looks up all keys of a table with so many bits flipped; false when over budget. */
  visit(t: number, flips: number): boolean {
    const { width, isDirect, flipOf, prefilter } = this.#tables[t];
    const ways = binomial(width, flips);
    const { lookUp } = unitsOf(prefilter !== null);
    if (ways * lookUp > this.#budget) return false;
    this.#budget -= ways * lookUp;
    this.lookUps += ways;
    if (ways === 0) return true;
    this.#table = t;
    this.#flips = flips;
    this.#held = 0;
    const flipped = this.#flipped;
    const partial = this.#partial;
    const buckets = this.#buckets;
    let bucket = this.#home[t];
    if (flips === 0) {
      buckets[0] = bucket;
      return this.#lookUp(1) && this.#compareBatch();
    }
    partial[0] = bucket;
    const last = flips - 1;
    for (let i = 0; i < last; i++) {
      flipped[i] = i;
      partial[i + 1] = partial[i] ^ flipOf[i];
    }
    let pending = 0;
    for (;;) {
      bucket = partial[last];
      for (let j = last === 0 ? 0 : flipped[last - 1] + 1; j < width; j++) {
        buckets[pending++] = bucket ^ flipOf[j];
        if (pending < BUCKETS) continue;
        if (!this.#lookUp(pending)) return false;
        pending = 0;
      }
      // A hit in a hashed table is known for its key by the flips, which are about to change.
      if (!isDirect && last > 0) {
        if (!this.#lookUp(pending) || !this.#compareBatch()) return false;
        pending = 0;
      }
      let i = last - 1;
      while (i >= 0 && flipped[i] === width - flips + i) i--;
      if (i < 0) break;
      flipped[i]++;
      partial[i + 1] = partial[i] ^ flipOf[flipped[i]];
      while (++i < last) {
        flipped[i] = flipped[i - 1] + 1;
        partial[i + 1] = partial[i] ^ flipOf[flipped[i]];
      }
    }
    return this.#lookUp(pending) && this.#compareBatch();
  }

  /** Gathers the candidates of some buckets; compares whenever a batch is full. */
  #lookUp(count: number): boolean {
    const { offsets, members, prefilter, prefilterWord, prefilterMask } = this.#tables[this.#table];
    const buckets = this.#buckets;
    const batch = this.#batch;
    let sink = 0;
    for (let i = 0; i < count; i++) sink ^= offsets[buckets[i]];
    for (let i = 0; i < count; i++) sink ^= members[offsets[buckets[i]]];
    this.sink ^= sink;
    const wanted = this.#query[prefilterWord] & prefilterMask;
    const { entry } = unitsOf(prefilter !== null);
    let held = this.#held;
    for (let i = 0; i < count; i++) {
      let start = offsets[buckets[i]];
      const end = offsets[buckets[i] + 1];
      if (start === end) continue;
      const units = (end - start) * entry;
      if (units > this.#budget) return false;
      this.#budget -= units;
      this.candidates += end - start;
      while (start < end) {
        if (held === BATCH) {
          this.#held = held;
          if (!this.#compareBatch()) return false;
          held = 0;
        }
        const stop = Math.min(end, start + BATCH - held);
        if (prefilter === null) {
          while (start < stop) batch[held++] = members[start++];
        } else {
          const limit = this.limit - this.#flips; // none of the prefilter bits's bits is in the key
          for (; start < stop; start++) {
            if (bitCount(prefilter[start] ^ wanted) < limit) batch[held++] = members[start];
          }
        }
      }
    }
    this.#held = held;
    return true;
  }

  /** Offers those of the batch whose distance is below the limit; false when over budget. */
  #compareBatch(): boolean {
    const held = this.#held;
    this.#held = 0;
    if (this.#tables[this.#table].prefilter !== null) {
      if (held > this.#budget) return false;
      this.#budget -= held;
    }
    this.compared += held;
    if (this.#views.length === 1) this.#compare(this.#views[0], 0, 0, held);
    else this.#compareRuns(held);
    return true;
  }

  /** Compares codes of several memories, those of one that follow each other at once. */
  #compareRuns(held: number): void {
    const batch = this.#batch;
    const views = this.#views;
    const shift = this.#shift;
    const mask = 2 ** shift - 1;
    const width = this.#code.length;
    let sink = 0;
    for (let i = 0; i < held; i++) {
      sink ^= views[batch[i] >>> shift].bytes[(batch[i] & mask) * width];
    }
    this.sink ^= sink;
    for (let from = 0, to = 0; from < held; from = to) {
      const memory = batch[from] >>> shift;
      do to++;
      while (to < held && batch[to] >>> shift === memory);
      this.#compare(views[memory], memory * 2 ** shift, from, to);
    }
  }

  /** Compares entries `from` to `to - 1` of the batch with codes of which the first is `base`. */
  #compare({ bytes, words }: CodeView, base: number, from: number, to: number): void {
    if (words === null) this.#compareBytes(bytes, base, from, to);
    else if (this.#query.length === 2) this.#compare64(words, base, from, to);
    else this.#compareWords(words, base, from, to);
  }

  #compare64(words: Int32Array, base: number, from: number, to: number): void {
    const batch = this.#batch;
    const xor = this.#xor;
    const low = this.#query[0];
    const high = this.#query[1];
    let sink = 0;
    for (let i = from; i < to; i++) sink ^= words[(batch[i] - base) << 1];
    this.sink ^= sink;
    let limit = this.limit;
    for (let i = from; i < to; i++) {
      const at = (batch[i] - base) << 1;
      const a = words[at] ^ low;
      const b = words[at + 1] ^ high;
      const distance = bitCount(a) + bitCount(b);
      if (distance >= limit) continue;
      xor[0] = a;
      xor[1] = b;
      limit = this.#offer(batch[i], distance);
    }
  }

  #compareWords(words: Int32Array, base: number, from: number, to: number): void {
    const batch = this.#batch;
    const query = this.#query;
    const xor = this.#xor;
    const count = query.length;
    let sink = 0;
    for (let i = from; i < to; i++) sink ^= words[Math.imul(batch[i] - base, count)];
    this.sink ^= sink;
    let limit = this.limit;
    for (let i = from; i < to; i++) {
      const at = Math.imul(batch[i] - base, count);
      let distance = 0;
      for (let w = 0; w < count && distance < limit; w++) {
        distance += bitCount(words[at + w] ^ query[w]);
      }
      if (distance >= limit) continue;
      for (let w = 0; w < count; w++) xor[w] = words[at + w] ^ query[w];
      limit = this.#offer(batch[i], distance);
    }
  }

  #compareBytes(bytes: Uint8Array, base: number, from: number, to: number): void {
    const batch = this.#batch;
    const query = this.#query;
    const xor = this.#xor;
    const width = this.#code.length;
    let sink = 0;
    for (let i = from; i < to; i++) sink ^= bytes[(batch[i] - base) * width];
    this.sink ^= sink;
    for (let i = from; i < to; i++) {
      const at = (batch[i] - base) * width;
      xor.set(query);
      for (let b = 0; b < width; b++) xor[b >> 2] ^= bytes[at + b] << (8 * (b & 3));
      let distance = 0;
      for (let w = 0; w < xor.length; w++) distance += bitCount(xor[w]);
      if (distance < this.limit) this.#offer(batch[i], distance);
    }
  }

  /** Gives a hit to the collector unless another look-up did or will; returns the limit. */
  #offer(distinct: number, distance: number): number {
    if (this.#isFirst()) {
      this.#collector.take(distinct, distance);
      this.limit = this.#collector.limit;
    }
    return this.limit;
  }

  /** A code is met first in the table where its key differs least, the first of such. */
  #isFirst(): boolean {
    const tables = this.#tables;
    if (!tables[this.#table].isDirect && !this.#isOfKey()) return false;
    const end = this.#flips === 0 ? this.#table : tables.length;
    for (let t = 0; t < end; t++) {
      const flips = this.#differing(tables[t]);
      if (flips < this.#flips || (flips === this.#flips && t < this.#table)) return false;
    }
    return true;
  }

  /** In how many bits of a table's key the hit differs. */
  #differing({ words, masks }: BandTable): number {
    let count = 0;
    for (let i = 0; i < words.length; i++) count += bitCount(this.#xor[words[i]] & masks[i]);
    return count;
  }

  /** Keys that share a bucket: whether the hit is of those with the present flips but the last. */
  #isOfKey(): boolean {
    const table = this.#tables[this.#table];
    if (this.#differing(table) !== this.#flips) return false;
    for (let i = 0, j = 0; i < this.#flips - 1; i++, j++) {
      for (let bit = table.firstBit + j; !((this.#xor[bit >> 5] >>> (bit & 31)) & 1); bit++) j++;
      if (j !== this.#flipped[i]) return false;
    }
    return true;
  }
}

/** The codes of a memory. */
interface CodeView {
  readonly bytes: Uint8Array;
  /** Null where codes are not of whole words, or too many. */
  readonly words: Int32Array | null;
}

function viewOf(bytes: Uint8Array, bytesPerCode: number): CodeView {
  const isWhole = (bytes.byteOffset | bytesPerCode) % 4 === 0 && bytes.length < 2 ** 31;
  return {
    bytes,
    words: isWhole ? new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length >> 2) : null,
  };
}
