/**
 * From the counted words of a text to a row of a sparse matrix: the order of the words, their
 * logarithms, and the matrix that many texts fill. Everything is exact or in a stated order, so
 * that equal texts have equal sums on every engine.
 */

import { grown } from '../base/arrays';
import { wrongType } from '../base/check';
import type { SparseMatrix } from '../vectors/vectors';
import type { Vocabulary } from './vocabulary';

/** The natural logarithm of a number from 1 on, by + - * / alone: the same on every engine. */
export function logOf(value: number): number {
  let mantissa = value;
  let halvings = 0;
  for (; mantissa >= 2; halvings++) mantissa /= 2;
  // ln m = 2 artanh(z) with z from 0 to 1/3: each term is a ninth of the one before, or less.
  const z = (mantissa - 1) / (mantissa + 1);
  const square = z * z;
  let sum = 0;
  for (let power = 35; power >= 1; power -= 2) sum = sum * square + 1 / power;
  return 2 * z * sum + halvings * Math.LN2;
}

/** Moves a word above which the hashes are not spread evenly, so that a sort is faster. */
const MAX_MOVES = 8;

/**
 * Puts words in ascending order of their hash, the order in which they are summed. Hashes are
 * spread evenly, so each word is put near its place by its upper bits and moved a little: linear
 * time. Hashes that are not fall back to a sort.
 */
export class HashOrder {
  #order = new Uint32Array(256);
  #ends = new Uint32Array(256);

  /** The word numbers in order: a view that the next call overwrites. */
  of({ lows, highs }: Vocabulary, numbers: Uint32Array): Uint32Array {
    const count = numbers.length;
    if (count > this.#order.length) {
      this.#order = new Uint32Array(2 * count);
      this.#ends = new Uint32Array(2 * count);
    }
    const ends = this.#ends.fill(0, 0, count);
    const scale = count / 2 ** 32;
    for (let i = 0; i < count; i++) ends[(highs[numbers[i]] * scale) | 0]++;
    for (let i = 1; i < count; i++) ends[i] += ends[i - 1];
    const order = this.#order.subarray(0, count);
    for (let i = 0; i < count; i++) order[--ends[(highs[numbers[i]] * scale) | 0]] = numbers[i];
    const isBefore = (a: number, b: number) =>
      highs[a] < highs[b] || (highs[a] === highs[b] && lows[a] < lows[b]);
    let moves = 0;
    for (let i = 1; i < count; i++) {
      const number = order[i];
      let at = i;
      for (; at > 0 && isBefore(number, order[at - 1]); at--) order[at] = order[at - 1];
      order[at] = number;
      moves += i - at;
      if (moves > MAX_MOVES * count) {
        return order.sort((a, b) => highs[a] - highs[b] || lows[a] - lows[b]);
      }
    }
    return order;
  }
}

/** Limits of a part: texts, and their characters, some milliseconds of work. */
const PART_TEXTS = 1024;
const PART_CHARACTERS = 2 ** 17;

/** Where each part of many texts ends. */
export function partEnds(texts: readonly string[]): number[] {
  const ends: number[] = [];
  let characters = 0;
  let first = 0;
  for (let i = 0; i < texts.length; i++) {
    characters += texts[i]?.length ?? 0;
    const isFull = characters >= PART_CHARACTERS || i + 1 - first === PART_TEXTS;
    if (!isFull && i + 1 < texts.length) continue;
    ends.push(i + 1);
    [first, characters] = [i + 1, 0];
  }
  return ends;
}

/** Texts, and entries, of a batch: its hashing takes some tens of milliseconds. */
const MAX_TEXTS = 1024;
const MAX_ENTRIES = 2 ** 17;

/** Sparse rows of texts, appended one by one and taken as a matrix. */
export class TextBatch {
  /** The dimensions of all entries as pairs of 32 bits, low before high, and their values. */
  halves = new Uint32Array(2048);
  values = new Float64Array(1024);
  #offsets = [0];

  get count(): number {
    return this.#offsets.length - 1;
  }

  get isFull(): boolean {
    return this.count === MAX_TEXTS || this.#offsets[this.count] >= MAX_ENTRIES;
  }

  /** Adds a row of `entries` entries, which the caller writes from the returned index on. */
  append(entries: number): number {
    const from = this.#offsets[this.count];
    const to = from + entries;
    if (to > this.values.length) {
      const length = Math.max(to, 2 * this.values.length);
      this.halves = grown(this.halves, 2 * length);
      this.values = grown(this.values, length);
    }
    this.#offsets.push(to);
    return from;
  }

  /** A copy of the rows; the batch is then empty. */
  taken(): SparseMatrix {
    const end = this.#offsets[this.count];
    const taken = {
      offsets: Uint32Array.from(this.#offsets),
      indices: new BigUint64Array(this.halves.slice(0, 2 * end).buffer),
      values: this.values.slice(0, end),
    };
    this.#offsets = [0];
    return taken;
  }
}

/** Throws unless the texts are iterable; a string is, but by its characters. */
export function checkTexts(texts: Iterable<string>, name = 'texts'): Iterable<string> {
  const isNoList = typeof texts === 'string' || ArrayBuffer.isView(texts);
  if (!isNoList && typeof texts?.[Symbol.iterator] === 'function') return texts;
  throw wrongType(name, 'texts, as in an array', texts);
}
