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
    const takeOdd = (word: string, from: number, end: number) => {
      this.#odd.set(this.count, word);
      this.#add(0, word.length, (at) => word.charCodeAt(at));
      this.starts[this.count - 1] = from;
      this.ends[this.count - 1] = end;
    };
    eachWord(text, this.letterCase, (from, end) => this.#add(from, end, letterAt), takeOdd);
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

  /** Makes room for all words of the text: counted where doubled arrays would be large. */
  #grow(): void {
    let count = 2 * this.count;
    if (count > MAX_DOUBLED) {
      count = 0;
      const add = () => count++;
      eachWord(this.#text, this.letterCase, add, add);
    }
    [this.starts, this.ends] = [grown(this.starts, count), grown(this.ends, count)];
    [this.low, this.high] = [grown(this.low, count), grown(this.high, count)];
  }
}

/** Words for which arrays are made by doubling. */
const MAX_DOUBLED = 2 ** 16;

/** Calls `takePlain` with the place of a word, `takeOdd` with an odd word and its stretch. */
function eachWord(
  text: string,
  letterCase: LetterCase,
  takePlain: (from: number, end: number) => void,
  takeOdd: (word: string, from: number, end: number) => void,
): void {
  const kinds = kindTable(letterCase);
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
        if (!isDense || next === at + 1) takePlain(at, next);
        else for (let i = at + 2; i <= next; i++) takePlain(i - 2, i);
      }
      at = next;
    }
  };
  eachStretch(text, letterCase, readPlain, takeOdd);
}
