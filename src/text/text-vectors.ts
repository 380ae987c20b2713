/**
 * Helpers that turn the counted words of texts into vectors: the order of the words, logarithms of
 * their counts, and the parts in which threads take texts. Every operation is exact or in a stated
 * order, so that equal texts have equal sums on every engine.
 */

import { wrongType } from '../base/check';
import type { Vocabulary } from './vocabulary';

/** The natural logarithm of a number from 1 on, by + - * / only: the same on every engine. */
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

/** Moves for each word above which hashes are not spread evenly, so that a sort is faster. */
const MAX_MOVES = 8;

/**
 * Puts words in ascending order of their hash, in which they are summed. Hashes are spread evenly,
 * so a counting sort by their upper bits puts each word near its position, and an insertion sort
 * moves it there: linear time. Hashes that are not spread evenly are sorted by comparison.
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

/** Limits of a part, some milliseconds of work: texts, and their UTF-16 code units. */
const PART_TEXTS = 1024;
const PART_CHARACTERS = 2 ** 17;

/** The text at which each part ends, ascending, by the limits above. */
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

/** Throws unless `texts` is iterable, and for one string, which would be read by characters. */
export function checkTexts(texts: Iterable<string>, name = 'texts'): Iterable<string> {
  const isNoList = typeof texts === 'string' || ArrayBuffer.isView(texts);
  if (!isNoList && typeof texts?.[Symbol.iterator] === 'function') return texts;
  throw wrongType(name, 'texts, as in an array', texts);
}
