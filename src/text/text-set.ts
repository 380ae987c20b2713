/**
 * Reads texts as the numbers of their tokens, which are counted, or become codes by 'minwise'.
 * Words are hashed as they are read, without making strings; the number of a shingle of words is
 * computed from their hashes (docs/format.md). This is 20 times faster than making strings, which
 * only other tokens need.
 *
 * Bands of min-hashes: a few min-hashes of a set make a key, and sets that share a key are
 * candidates (Broder 1997; Leskovec, Rajaraman & Ullman, Mining of Massive Datasets, 3.4). They are
 * the min-hashes whose lowest bits are the code, so that a set is hashed once for both. Two sets of
 * Jaccard similarity J share one of `count` keys with probability 1 - (1 - J^width)^count.
 */

import { concatenated } from '../base/arrays';
import { checkText } from '../base/check';
import { allZero, type RowCodes } from '../hashing/rows';
import type { Projection, SimHasher } from '../hashing/simhash';
import { hasKernels } from '../kernels/memory';
import { DENSE, MAX_LETTERS, type SetMemory, setMemory } from '../kernels/sets';
import { hashWords } from '../kernels/xxhash';
import { DENSE_LETTER, hashWord, LETTER, normal, type Splitter, words } from './tokens';

const encoder = new TextEncoder();

/** Reads texts as the sets of their runs of `width` words; a shorter text is one run. */
export class SetReader {
  constructor(readonly width: number) {}

  /** The members of a text in its order, repeats included; valid until the next set is read. */
  membersOf(text: string): BigUint64Array {
    const { members, memberCount } = this.#read(text);
    return new BigUint64Array(members.buffer, members.byteOffset, memberCount);
  }

  /** The codes and keys of texts; messages call the first one row `firstRow`. */
  codesOf(
    hasher: SimHasher,
    texts: readonly string[],
    firstRow: number,
    { width, count }: MinBands,
  ): RowCodes & { readonly keys: Uint32Array } {
    const { zero, bytesPerCode } = hasher;
    const bytes = new Uint8Array(texts.length * bytesPerCode);
    const isNull = new Uint8Array(texts.length);
    const keys = new Uint32Array(texts.length * count);
    texts.forEach((text, i) => {
      const memory = this.#read(text);
      if (memory.memberCount === 0) {
        if (zero === 'error') throw allZero(firstRow + i);
        isNull[i] = 1;
      }
      const code = bytes.subarray(i * bytesPerCode, (i + 1) * bytesPerCode);
      memory.codeInto(hasher, code);
      keysInto(keys.subarray(i * count, (i + 1) * count), memory, width);
    });
    return { bytes, isNull, keys };
  }

  /**
   * Reads the members of a text's set into the memory of this thread: the numbers of its runs of
   * words in order, repeats included, or one number of all its words where there are fewer. Valid
   * until the next set is read.
   */
  #read(text: string): SetMemory {
    checkText('text', text);
    const kinds = kindTable();
    const { width } = this;
    const memory = setMemory();
    let from = 0; // calls of `readShingles`, which end with the last words kept for the next run
    const roll = () => {
      if (memory.hashCount < width) return;
      memory.readShingles(width);
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
        if (next > at) memory.readWords(next - at);
        // A word of more than MAX_LETTERS letters is read as a string, with all that follows.
        else for (const word of words(text.slice(at, end))) readOdd(word);
        // Of a dense script the last letter is the first of the next pair too.
        const isPair = next > at && next < end && kinds[text.charCodeAt(next - 1)] >= DENSE;
        at = next === at ? end : next - Number(isPair);
      }
    };
    // Other characters than ASCII take more bytes, so that a part of the text would stay.
    const { length } = text;
    const isAscii =
      length <= MAX_LETTERS &&
      encoder.encodeInto(text, memory.word.subarray(0, length)).read === length;
    if (isAscii) memory.readAscii(length);
    else eachStretch(text, readPlain, readOdd);
    roll();
    if (from === 0 && memory.hashCount > 0) memory.readShingles(memory.hashCount);
    return memory;
  }
}

/**
 * Copies the letters of a stretch, at most MAX_LETTERS, up to the end of a word or to the second
 * of three letters of a dense script. Returns the index behind them: `at` where the first word does
 * not fit.
 */
function lettersInto(
  letters: Uint32Array,
  kinds: Uint32Array,
  text: string,
  { at: start, end }: { readonly at: number; readonly end: number },
): number {
  const most = Math.min(end, start + MAX_LETTERS);
  for (let at = start, to = 0; at < most; at++, to++) letters[to] = kinds[text.charCodeAt(at)];
  if (most === end) return most;
  const isCut = (at: number) => {
    const last = letters[at - start - 1];
    const isDense = last >= DENSE && letters[at - start - 2] >= DENSE;
    return last === APART || (isDense && kinds[text.charCodeAt(at)] >= DENSE);
  };
  let next = most;
  while (next > start && !isCut(next)) next--;
  return next;
}

/**
 * The reader of these tokens where words are all that counts; null where texts are split to
 * strings. Only 'minwise' takes shingles by the numbers of their words; it needs WebAssembly.
 */
export function setReaderOf(projection: Projection, { wordsInToken }: Splitter): SetReader | null {
  const isRead = projection === 'minwise' || (wordsInToken === 1 && hasKernels());
  return isRead && wordsInToken !== null ? new SetReader(wordsInToken) : null;
}

/** Members of a text, each once, ascending: the halves of each, low before high, and its count. */
export interface MemberCounts {
  readonly halves: Uint32Array;
  readonly counts: Uint32Array;
}

/** Sorts members in place, and counts equal ones. */
export function countsOf(members: BigUint64Array): MemberCounts {
  members.sort();
  // By halves, since each element of a BigUint64Array that is read makes an object.
  const halves = halvesIn(members);
  const counts = new Uint32Array(members.length);
  let size = 0;
  for (let i = 0; i < halves.length; i += 2) {
    const [low, high] = [halves[i], halves[i + 1]];
    if (size === 0 || halves[2 * size - 2] !== low || halves[2 * size - 1] !== high) {
      halves[2 * size] = low;
      halves[2 * size++ + 1] = high;
    }
    counts[size - 1]++;
  }
  return { halves: halves.slice(0, 2 * size), counts: counts.subarray(0, size) };
}

function halvesIn({ buffer, byteOffset, length }: BigUint64Array): Uint32Array {
  return new Uint32Array(buffer, byteOffset, 2 * length);
}

function checkToken(token: unknown): string {
  if (typeof token === 'string') return token;
  throw new TypeError(`"tokens" gave a ${typeof token}, not a string`);
}

/** The hashes of tokens; the kernel makes many in one call. */
export function hashTokens(tokens: readonly string[]): BigUint64Array {
  if (!hasKernels()) return BigUint64Array.from(tokens.map(checkToken), hashWord);
  const starts = new Uint32Array(tokens.length + 1);
  for (let i = 0; i < tokens.length; i++) starts[i + 1] = starts[i] + checkToken(tokens[i]).length;
  const units = new Uint16Array(starts[tokens.length]);
  for (let i = 0, to = 0; i < tokens.length; i++) {
    const token = tokens[i];
    for (let at = 0; at < token.length; at++) units[to++] = token.charCodeAt(at);
  }
  const hashes = new BigUint64Array(tokens.length);
  hashWords(units, starts, halvesIn(hashes));
  return hashes;
}

export interface MinBands {
  /** Min-hashes of a key. */
  readonly width: number;
  /** Keys of a set. */
  readonly count: number;
}

/** No keys. */
export const NO_BANDS: MinBands = { width: 0, count: 0 };

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

/**
 * Writes the keys of the set whose code was computed last in this memory; those of an empty set
 * are 0. A min-hash is two words of `draws`, and both go into the key.
 */
function keysInto(keys: Uint32Array, { draws, memberCount }: SetMemory, width: number): void {
  for (let band = 0, i = 0; band < keys.length && memberCount > 0; band++) {
    let key = 0;
    for (const end = i + 2 * width; i < end; i++) {
      key = Math.imul(key ^ draws[i], 0x9e37_79b1);
      key ^= key >>> 15;
    }
    keys[band] = key;
  }
}

/** Collects the keys of sets: `bands.count` keys for each set, in the order of the sets. */
export class BandKeys {
  #parts: Uint32Array[] = [new Uint32Array()];

  constructor(readonly bands: MinBands) {}

  /** Appends the keys of the sets that follow. */
  append(keys: Uint32Array): void {
    this.#parts.push(keys);
  }

  /** The keys of all sets so far. */
  all(): Uint32Array {
    if (this.#parts.length > 1) this.#parts = [concatenated(this.#parts)];
    return this.#parts[0];
  }
}

// UTF-16 code units become the letters of words by a table that is filled as they occur, since most
// become one letter whatever their neighbours are. Stretches with other code units, called odd, are
// left to the slower `words`: marks and characters that compose with them (NFKC), surrogates, the
// Greek sigma (whose lower case depends on what follows), and what becomes several letters.

/** The kind of a code unit: its letter in lower case, `DENSE` + its letter, `APART` or `ODD`. */
const APART = 0; // separates words

const ODD = 0x2_0000;
const UNKNOWN = 0x4_0000;

let table: Uint32Array | undefined;

/** The kind of each code unit, `UNKNOWN` before it occurs. 256 KiB, made by the first text. */
function kindTable(): Uint32Array {
  table ??= new Uint32Array(0x1_0000).fill(UNKNOWN);
  return table;
}

/**
 * Characters at which a text may be cut without changing its words: separators that neither compose
 * with a neighbour, as < does with a stroke, nor affect its case, as an apostrophe may.
 */
const CUTS = ' \t\n\r!"#$%&()*+,-/;?@[]{|}\u3000、。，！？';

const SIGMA = 'Σ';
/** Marks, surrogates, and the parts of Hangul syllables. */
const MAY_COMPOSE = /[\p{M}\p{Cs}\u1100-\u11ff]/u;

/**
 * Cuts a text between words into stretches, in order. Calls `readPlain` with the range of each
 * stretch without odd code units, and `readOdd` with each word of the others.
 */
function eachStretch(
  text: string,
  readPlain: (from: number, end: number) => void,
  readOdd: (word: string) => void,
): void {
  for (let at = 0; at < text.length; ) {
    // The plain stretch ends at the last cut before the odd code unit, the odd one at the next.
    const odd = nextOdd(text, at);
    let end = odd;
    if (odd < text.length) while (end > at && !CUTS.includes(text[end - 1])) end--;
    if (end > at) readPlain(at, end);
    at = odd;
    while (at < text.length && !CUTS.includes(text[at])) at++;
    if (at === end) continue;
    for (const word of words(text.slice(end, at))) readOdd(word);
  }
}

/** Index of the first odd code unit from `from` on, or the text's length; fills in its kinds. */
export function nextOdd(text: string, from: number): number {
  const kinds = kindTable();
  for (let at = from; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (kinds[unit] < ODD) continue;
    if (kinds[unit] === UNKNOWN) kinds[unit] = kindOf(String.fromCharCode(unit));
    if (kinds[unit] === ODD) return at;
  }
  return text.length;
}

function kindOf(character: string): number {
  const composed = character.normalize('NFKC');
  if (MAY_COMPOSE.test(composed) || composed.includes(SIGMA)) return ODD;
  const plain = normal(character);
  if (!LETTER.test(plain)) return APART;
  if (plain.length > 1 || MAY_COMPOSE.test(plain)) return ODD;
  return plain.charCodeAt(0) | (DENSE_LETTER.test(plain) ? DENSE : 0);
}
