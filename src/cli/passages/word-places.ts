/**
 * The words of a text in order, as `words` finds them, with where each is in the text and a hash.
 * No word is spelled out unless it is asked for, so that texts can be read several times.
 */

import { grown } from '../../base/arrays';
import { APART, DENSE, eachStretch, kindTable, LETTER_BITS } from '../../text/letters';
import { type LetterCase, normal } from '../../text/tokens';

export class WordPlaces {
  count = 0;
  /** By word the characters at which it begins and ends; words of an odd stretch share its own. */
  starts: Uint32Array;
  ends: Uint32Array;
  /** By word the halves of its hash, which only this class gives. */
  low: Uint32Array;
  high: Uint32Array;
  #text = '';
  /** Words whose letters depend on what is next to them, by their number. */
  readonly #odd = new Map<number, string>();

  /** `capacity` is how many words it is made for; it grows. */
  constructor(
    private readonly letterCase: LetterCase,
    capacity = 1024,
  ) {
    const column = () => new Uint32Array(Math.max(1, capacity));
    [this.starts, this.ends, this.low, this.high] = [column(), column(), column(), column()];
  }

  /** Takes the words of a text in place of those of the one before. */
  read(text: string): void {
    this.#text = text;
    this.count = 0;
    this.#odd.clear();
    const kinds = kindTable(this.letterCase);
    const letterAt = (at: number) => kinds[text.charCodeAt(at)] & LETTER_BITS;
    const readPlain = (from: number, end: number) => {
      for (let at = from; at < end; ) {
        const kind = kinds[text.charCodeAt(at)];
        let next = at + 1;
        if (kind !== APART) {
          const isDense = kind >= DENSE;
          for (; next < end; next++) {
            const other = kinds[text.charCodeAt(next)];
            if (other === APART || other >= DENSE !== isDense) break;
          }
          if (!isDense || next === at + 1) this.#add(at, next, letterAt);
          else for (let i = at + 2; i <= next; i++) this.#add(i - 2, i, letterAt);
        }
        at = next;
      }
    };
    eachStretch(text, this.letterCase, readPlain, (word, from, end) => {
      this.#odd.set(this.count, word);
      this.#add(0, word.length, (at) => word.charCodeAt(at));
      this.starts[this.count - 1] = from;
      this.ends[this.count - 1] = end;
    });
  }

  /** A word as `words` gives it. */
  word(i: number): string {
    const plain = () => normal(this.#text.slice(this.starts[i], this.ends[i]), this.letterCase);
    return this.#odd.get(i) ?? plain();
  }

  /** The words `from` to `end` - 1. */
  words(from: number, end: number): string[] {
    return Array.from({ length: end - from }, (_, i) => this.word(from + i));
  }

  /** Whether a word has the hash of one of another text. */
  isLike(i: number, other: WordPlaces, j: number): boolean {
    return this.low[i] === other.low[j] && this.high[i] === other.high[j];
  }

  #add(start: number, end: number, letterAt: (at: number) => number): void {
    if (this.count === this.starts.length) this.#grow();
    let [low, high] = [0x811c_9dc5, 0];
    for (let at = start; at < end; at++) {
      const letter = letterAt(at);
      low = Math.imul(low ^ letter, 0x0100_0193);
      high = Math.imul(high + letter + 1, 0x85eb_ca6b);
      high ^= high >>> 15;
    }
    const i = this.count++;
    this.starts[i] = start;
    this.ends[i] = end;
    this.low[i] = low;
    this.high[i] = high;
  }

  #grow(): void {
    [this.starts, this.ends] = [grown(this.starts), grown(this.ends)];
    [this.low, this.high] = [grown(this.low), grown(this.high)];
  }
}
