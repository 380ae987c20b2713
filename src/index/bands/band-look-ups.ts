/**
 * One search of multi-index hashing: enumerates the keys at some distance from the query's, gathers
 * the candidates of their buckets, and offers the near ones. Each code is offered once, although
 * several tables may find it: which one does is decided by the code itself (`#isFirst`). The time
 * goes into cache misses, so memory is read in batches: once to warm the caches, then in earnest.
 */

import type { Collector } from '../../codes/nearest';
import { binomial } from '../../codes/pigeonhole';
import { bitCount } from '../../kernels/hamming';
import { LOOK_UP_READS } from './band-layout';
import type { BandTable, CodeSource } from './band-table';

/** Buckets and candidates of a batch, whose cache misses overlap. */
const BUCKETS = 128;
const BATCH = 512;

/** The state of a search over some tables, used for one search after another. */
export class BandLookUps {
  /** Hits below this distance can still enter the collector. */
  limit = 0;
  /** Work so far, as in `BandSearch`. */
  lookUps = 0;
  compared = 0;
  readonly #tables: readonly BandTable[];
  readonly #query: Int32Array;
  /** The bits in which the present hit differs from the query, as words. */
  readonly #xor: Int32Array;
  /** Buckets to look up next. */
  readonly #buckets = new Uint32Array(BUCKETS);
  /** Candidates to compare next, of which there are `#held`. */
  readonly #batch = new Uint32Array(BATCH);
  /** The flipped key bits but the last, ascending; and the buckets after 0, 1, 2 ... of them. */
  readonly #flipped: Uint16Array;
  readonly #partial: Uint32Array;
  /** The bucket of the query's own key, by table. */
  readonly #home: Uint32Array;
  /** The flips and the table of the present look-ups. */
  #flips = 0;
  #table = 0;
  #held = 0;
  /** Random reads that are left; see `BandSearchOptions`. */
  #left = 0;
  #code: Uint8Array = new Uint8Array();
  /** The codes of each memory; kept between searches while the memories stay. */
  readonly #views: CodeView[] = [];
  #shift = 0;
  #collector!: Collector;
  /** Results of reads that only warm the caches: stored so that engines do not remove the reads. */
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

  /** Begins a search. The query is read until its end, and must not change meanwhile. */
  start(source: CodeSource, code: Uint8Array, collector: Collector, maxReads: number): void {
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
    this.#left = maxReads;
    this.lookUps = 0;
    this.compared = 0;
    this.#findHome();
  }

  /** The buckets of the query's own keys, all of which are read to warm the caches. */
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

  /** Looks up all keys of a table with exactly `flips` flipped bits; false after too many reads. */
  visit(t: number, flips: number): boolean {
    const { width, isDirect, flipOf } = this.#tables[t];
    const ways = binomial(width, flips);
    if (ways * LOOK_UP_READS > this.#left) return false;
    this.#left -= ways * LOOK_UP_READS;
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
      if (!this.#lookUp(1)) return false;
      this.#compareBatch();
      return true;
    }
    partial[0] = bucket;
    // Enumerates combinations of `flips` key bits in lexicographic order. The inner loop runs over
    // the last bit, so that each bucket costs one XOR.
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
      // In a hashed table `#isOfKey` compares a hit with the present flips, which change next.
      if (!isDirect && last > 0) {
        if (!this.#lookUp(pending)) return false;
        this.#compareBatch();
        pending = 0;
      }
      // The next combination: advances the last flip that can go on, and restarts those behind it.
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
    if (!this.#lookUp(pending)) return false;
    this.#compareBatch();
    return true;
  }

  /** Gathers the candidates of some buckets, and compares whenever a batch is full. */
  #lookUp(count: number): boolean {
    const { offsets, members } = this.#tables[this.#table];
    const buckets = this.#buckets;
    const batch = this.#batch;
    let sink = 0;
    for (let i = 0; i < count; i++) sink ^= offsets[buckets[i]];
    for (let i = 0; i < count; i++) sink ^= members[offsets[buckets[i]]];
    this.sink ^= sink;
    let held = this.#held;
    for (let i = 0; i < count; i++) {
      let start = offsets[buckets[i]];
      const end = offsets[buckets[i] + 1];
      if (start === end) continue;
      if (end - start > this.#left) return false;
      this.#left -= end - start;
      while (start < end) {
        if (held === BATCH) {
          this.#held = held;
          this.#compareBatch();
          held = 0;
        }
        const stop = Math.min(end, start + BATCH - held);
        while (start < stop) batch[held++] = members[start++];
      }
    }
    this.#held = held;
    return true;
  }

  /** Offers the candidates of the batch below the limit. */
  #compareBatch(): void {
    const held = this.#held;
    this.#held = 0;
    this.compared += held;
    if (this.#views.length === 1) this.#compare(this.#views[0], 0, 0, held);
    else this.#compareRuns(held);
  }

  /** Compares codes of several memories; consecutive ones of one memory together. */
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

  /** Compares candidates `from` to `to - 1` of the batch; their memory begins with code `base`. */
  #compare({ bytes, words }: CodeView, base: number, from: number, to: number): void {
    if (words === null) this.#compareBytes(bytes, base, from, to);
    else if (this.#query.length === 2) this.#compare64(words, base, from, to);
    else this.#compareWords(words, base, from, to);
  }

  /** Codes of two words. */
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

  /** Codes of whole words. */
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

  /** Codes of any number of bytes. */
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

  /** Gives a hit to the collector unless another look-up does; returns the limit. */
  #offer(distinct: number, distance: number): number {
    if (this.#isFirst()) {
      this.#collector.take(distinct, distance);
      this.limit = this.#collector.limit;
    }
    return this.limit;
  }

  /**
   * True in the one look-up that reports a hit: that of the table where its key differs in the
   * fewest bits, the first of several. So no set of seen codes is needed.
   */
  #isFirst(): boolean {
    const tables = this.#tables;
    if (!tables[this.#table].isDirect && !this.#isOfKey()) return false;
    // Without flips the keys are equal, and only earlier tables can have reported the hit.
    const end = this.#flips === 0 ? this.#table : tables.length;
    for (let t = 0; t < end; t++) {
      const flips = this.#differing(tables[t]);
      if (flips < this.#flips || (flips === this.#flips && t < this.#table)) return false;
    }
    return true;
  }

  /** Number of bits in which the hit differs from the query within a table's key. */
  #differing({ words, masks }: BandTable): number {
    let count = 0;
    for (let i = 0; i < words.length; i++) count += bitCount(this.#xor[words[i]] & masks[i]);
    return count;
  }

  /**
   * In a hashed table, where keys share buckets: true if the hit's key is one of those of the
   * present look-ups, which have the present flips but for the last.
   */
  #isOfKey(): boolean {
    const table = this.#tables[this.#table];
    if (this.#differing(table) !== this.#flips) return false;
    // Finds the differing bits of the key one after another, and compares them with the flips.
    for (let i = 0, j = 0; i < this.#flips - 1; i++, j++) {
      for (let bit = table.firstBit + j; !((this.#xor[bit >> 5] >>> (bit & 31)) & 1); bit++) j++;
      if (j !== this.#flipped[i]) return false;
    }
    return true;
  }
}

/** The codes of one memory. */
interface CodeView {
  readonly bytes: Uint8Array;
  /** The same as words; null if codes are not whole words, or lie beyond 2 GiB. */
  readonly words: Int32Array | null;
}

function viewOf(bytes: Uint8Array, bytesPerCode: number): CodeView {
  const isWhole = (bytes.byteOffset | bytesPerCode) % 4 === 0 && bytes.length < 2 ** 31;
  return {
    bytes,
    words: isWhole ? new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length >> 2) : null,
  };
}
