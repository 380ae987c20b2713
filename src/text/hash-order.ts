/**
 * Words of a text by rising hash, the order in which they are summed. Hashes are spread evenly, so
 * that each word is put near its place at once; where they are not, a sort does it.
 */

import type { Vocabulary } from './vocabulary';

/** Steps a word that are more than an even spread takes. */
const MOST_STEPS = 8;

export class HashOrder {
  #order = new Uint32Array(256);
  #ends = new Uint32Array(256);

  /** The numbers of words in order; valid until the next call. */
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
    let steps = 0;
    for (let i = 1; i < count; i++) {
      const number = order[i];
      let at = i;
      for (; at > 0 && isBefore(number, order[at - 1]); at--) order[at] = order[at - 1];
      order[at] = number;
      steps += i - at;
      if (steps > MOST_STEPS * count) {
        return order.sort((a, b) => highs[a] - highs[b] || lows[a] - lows[b]);
      }
    }
    return order;
  }
}
