/**
 * Reads texts as sets of shingles of words, for codes by 'minwise'. The number of a shingle is
 * computed from the hashes of its words (docs/format.md), so no shingle is made as a string and
 * each word is hashed as it is read. This is 20 times faster than making strings.
 *
 * Bands of min-hashes: a few min-hashes of a set make a key, and sets that share a key are
 * candidates (Broder 1997; Leskovec, Rajaraman & Ullman, Mining of Massive Datasets, 3.4). They are
 * the min-hashes whose lowest bits are the code, so that a set is hashed once for both. Two sets of
 * Jaccard similarity J share one of `count` keys with probability 1 - (1 - J^width)^count.
 */

import { grown } from '../base/arrays';
import { allZero, type RowCodes } from '../hashing/row-hasher';
import type { Projection, SimHasher } from '../hashing/simhash';
import { hasKernels } from '../kernels/memory';
import { MAX_LETTERS, minwiseKernel, type SetMemory, setMemory } from '../kernels/minwise';
import { shingleNumber, wordsKernel } from '../kernels/words';
import { halves, hashWords } from '../kernels/xxhash';
import type { SparseVector } from '../vectors/vectors';
import { hashWord, type Normalization, normalized, type Splitter, words } from './tokens';
import { APART, eachStretch, type HashWords, kindTable } from './vocabulary';

const encoder = new TextEncoder();
const decoder = /* @__PURE__ */ new TextDecoder('utf-16le', { ignoreBOM: true });

/** Reads texts as the sets of their runs of `width` words; a shorter text is one run. */
export class SetReader {
  constructor(
    readonly hasher: SimHasher,
    readonly width: number,
    readonly rules: readonly Normalization[],
  ) {}

  /** The distinct members of a text's set, ascending, and `countOf(occurrences)` of each. */
  vectorOf(text: string, countOf: (occurrences: number) => number): SparseVector {
    const { members, memberCount } = this.#read(text);
    const halves = members.slice(0, 2 * memberCount);
    const sorted = new BigUint64Array(halves.buffer).sort();
    // By halves, since each element of a BigUint64Array that is read makes an object.
    const isLast = (i: number) =>
      i + 1 === memberCount ||
      halves[2 * i] !== halves[2 * i + 2] ||
      halves[2 * i + 1] !== halves[2 * i + 3];
    let distinct = 0;
    for (let i = 0; i < memberCount; i++) if (isLast(i)) distinct++;
    // Arrays of the final length: of a text of 100 MB each has 100 MB too.
    const indices = distinct === memberCount ? sorted : new BigUint64Array(distinct);
    const values = new Float64Array(distinct);
    const kept = new Uint32Array(indices.buffer);
    for (let i = 0, from = 0, to = 0; i < memberCount; i++) {
      if (!isLast(i)) continue;
      values[to] = countOf(i + 1 - from);
      kept[2 * to] = halves[2 * i];
      kept[2 * to++ + 1] = halves[2 * i + 1];
      from = i + 1;
    }
    return { indices, values };
  }

  /** The members of a text's set in their order, repeats included. */
  membersOf(text: string): BigUint64Array {
    const { members, memberCount } = this.#read(text);
    return new BigUint64Array(members.slice(0, 2 * memberCount).buffer);
  }

  /** The codes of texts; messages call the first one row `firstRow`. `keys` collects their keys. */
  codesOf(texts: readonly string[], firstRow: number, keys: BandKeys | null): RowCodes {
    const { zero, bytesPerCode } = this.hasher;
    const bytes = new Uint8Array(texts.length * bytesPerCode);
    const isNull = new Uint8Array(texts.length);
    texts.forEach((text, i) => {
      const memory = this.#read(text);
      if (memory.memberCount === 0) {
        if (zero === 'error') throw allZero(firstRow + i);
        isNull[i] = 1;
      }
      const code = bytes.subarray(i * bytesPerCode, (i + 1) * bytesPerCode);
      minwiseKernel.codeInto(this.hasher, memory, code);
      keys?.take(memory);
    });
    return { bytes, isNull };
  }

  /**
   * Reads the members of a text's set into the memory of this thread: the numbers of its runs of
   * words in order, repeats included, or one number of all its words where there are fewer. Valid
   * until the next set is read.
   */
  #read(given: string): SetMemory {
    const text = normalized(given, this.rules);
    const kinds = kindTable();
    const { width } = this;
    const memory = setMemory();
    let from = 0; // calls of `readShingles`, which end with the last words kept for the next run
    const roll = () => {
      if (memory.hashCount < width) return;
      wordsKernel.readShingles(memory, width);
      memory.keepHashes(width - 1);
      from++;
    };
    const readOdd = (word: string) => {
      if (memory.isFull) roll();
      memory.addHash(hashWord(word));
    };
    const readPlain = (start: number, end: number) => {
      for (let at = start; at < end; ) {
        if (memory.isFull) roll();
        const next = lettersInto(memory.letters, kinds, text, { at, end });
        if (next > at) wordsKernel.readWords(memory, next - at);
        // A word of more than MAX_LETTERS letters is read as a string, with all that follows.
        else for (const word of words(text.slice(at, end))) readOdd(word);
        at = next > at ? next : end;
      }
    };
    if (!this.#readAscii(text, memory)) eachStretch(text, readPlain, readOdd);
    roll();
    if (from === 0 && memory.hashCount > 0) wordsKernel.readShingles(memory, memory.hashCount);
    return memory;
  }

  /** Reads the words of a text of ASCII alone; false for a longer text and any other. */
  #readAscii(text: string, memory: SetMemory): boolean {
    const { length } = text;
    if (length > MAX_LETTERS) return false;
    // Other characters take more bytes, so that a part of the text stays.
    if (encoder.encodeInto(text, memory.word.subarray(0, length)).read < length) return false;
    wordsKernel.readAscii(memory, length, true);
    return true;
  }
}

/**
 * Copies the letters of a stretch, at most MAX_LETTERS and up to the end of a word. Returns the
 * index behind them: `at` where the first word does not fit.
 */
function lettersInto(
  letters: Uint32Array,
  kinds: Uint32Array,
  text: string,
  { at: start, end }: { readonly at: number; readonly end: number },
): number {
  const most = Math.min(end, start + MAX_LETTERS);
  for (let at = start, to = 0; at < most; at++, to++) letters[to] = kinds[text.charCodeAt(at)];
  let next = most;
  if (most < end) while (next > start && letters[next - start - 1] !== APART) next--;
  return next;
}

/**
 * The function from tokens to their dimensions: their hashes, or for shingles with 'minwise' the
 * numbers that `SetReader` computes. The kernel hashes many in one call.
 */
export function hashOfTokens(projection: Projection, { wordsInToken }: Splitter): HashWords {
  const areNumbers = projection === 'minwise' && (wordsInToken ?? 1) > 1;
  if (!areNumbers && hasKernels()) return hashWords;
  const hashOne = areNumbers ? hashShingle : hashWord;
  return (units, starts, hashes) => {
    for (let i = 0; i + 1 < starts.length; i++) {
      const { low, high } = halves(
        hashOne(decoder.decode(units.subarray(starts[i], starts[i + 1]))),
      );
      hashes[2 * i] = low;
      hashes[2 * i + 1] = high;
    }
  };
}

/** The number of a shingle that is given as a string of words, with blanks between them. */
function hashShingle(shingle: string): bigint {
  const hashes = shingle.split(' ').flatMap((word) => {
    const { low, high } = halves(hashWord(word));
    return [low, high];
  });
  const { low, high } = shingleNumber(hashes);
  return (BigInt(high) << 32n) | BigInt(low);
}

export interface MinBands {
  /** Min-hashes of a key. */
  readonly width: number;
  /** Keys of a set. */
  readonly count: number;
}

/** Pairs at the lowest similarity must share a key with at least this probability. */
const LEAST_CAUGHT = 0.999;
/** Largest number of keys of a set: they take 4 bytes each, 128 bytes a row. */
const MAX_BANDS = 32;

/**
 * The widest bands that find nearly all pairs at a similarity and need at most `bits` min-hashes:
 * the wider a key, the fewer candidates. Null where even keys of two min-hashes miss too many
 * pairs.
 */
export function bandsFor(least: number, bits: number): MinBands | null {
  let best: MinBands | null = null;
  for (let width = 2; 2 * width <= bits; width++) {
    const most = Math.min(MAX_BANDS, Math.floor(bits / width));
    let count = 1;
    while (count <= most && caughtBy({ width, count }, least) < LEAST_CAUGHT) count++;
    if (count > most) break; // wider keys would need even more of them
    best = { width, count };
  }
  return best;
}

/** The probability that two sets of a Jaccard similarity share a key. */
export function caughtBy({ width, count }: MinBands, jaccard: number): number {
  return 1 - (1 - jaccard ** width) ** count;
}

/** Collects the keys of sets: `bands.count` keys for each set, in the order of the sets. */
export class BandKeys {
  #keys = new Uint32Array(1024);
  #used = 0;

  constructor(readonly bands: MinBands) {}

  /**
   * Appends the keys of the set whose code was computed last in this memory; those of an empty set
   * are 0. A min-hash is two words of `draws`, and both go into the key.
   */
  take({ draws, memberCount }: SetMemory): void {
    const { width, count } = this.bands;
    this.#reserve(count);
    for (let band = 0, i = 0; band < count; band++) {
      let key = 0;
      for (const end = i + 2 * width; i < end && memberCount > 0; i++) {
        key = Math.imul(key ^ draws[i], 0x9e37_79b1);
        key ^= key >>> 15;
      }
      this.#keys[this.#used++] = key;
    }
  }

  /** Appends keys that another thread collected for the sets that follow. */
  append(keys: Uint32Array): void {
    this.#reserve(keys.length);
    this.#keys.set(keys, this.#used);
    this.#used += keys.length;
  }

  /** The keys of all sets so far: a view, valid until more are added. */
  all(): Uint32Array {
    return this.#keys.subarray(0, this.#used);
  }

  #reserve(more: number): void {
    const length = this.#used + more;
    if (length <= this.#keys.length) return;
    this.#keys = grown(this.#keys, Math.max(length, 2 * this.#keys.length));
  }
}
