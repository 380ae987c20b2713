/**
 * Texts by their words, rare ones weighed more (TF-IDF), however the rows themselves were hashed: a
 * search by exact cosine, and points for the map. Inverted lists have every text that shares a word
 * with a query, so that none is missed. They take some 16 bytes for each distinct word of each
 * text.
 */

import { ascending, toStarts } from '../../base/arrays';
import { HashCounts } from '../../base/hash-tables';
import { type LongCall, LongWork } from '../../base/long-work';
import { mixed } from '../../base/random';
import { Highest } from '../../base/top-k';
import { halvesOf } from '../../index/vectors/sparse-vectors';
import { logOf, TextHasher } from '../../text/text-hasher';
import type { DenseMatrix, SparseMatrix } from '../../vectors/vectors';
import type { MapPoints } from '../layout/map-rows';

/** Texts that are read between two reports of progress. */
const BLOCK_TEXTS = 256;
/** The map leaves out words that this share of the texts have: they say little of a topic. */
const COMMON = 0.2;
/** Dimensions of the map's vectors, and to how many of them a word is added. */
const DIMENSIONS = 256;
const PER_WORD = 4;
/** Each of these lies in dimensions of its own: no word adds up to nothing. */
const SLICE = DIMENSIONS / PER_WORD;

/** `count` texts, of which `read` returns some. */
interface Texts {
  readonly count: number;
  read(first: number, end: number): string[];
}

/** Words by number, and their weights: of a text, or of some texts. */
interface Entries {
  readonly words: Uint32Array;
  readonly weights: Float64Array | Float32Array;
}

/** Texts by their words; one without words is found by no query. */
export class WordSearch {
  /** Its vectors have the words of texts, weighed by how often a text has them. */
  readonly #hasher = new TextHasher({ counting: 'log' });
  /** By the hash of a word its number, from 1 on; by number less 1, in how many texts it is. */
  readonly #numbers = new HashCounts();
  readonly #frequencies: number[] = [];
  /** The entries of blocks of BLOCK_TEXTS; those of its text i begin at `offsets[i]`. */
  readonly #blocks: (Entries & { readonly offsets: ArrayLike<number> })[] = [];
  #lists: InvertedLists | null = null;

  private constructor(private readonly count: number) {}

  static async of({ count, read }: Texts, call: LongCall): Promise<WordSearch> {
    const search = new WordSearch(count);
    const work = new LongWork(call);
    for (let first = 0; first < count; first += BLOCK_TEXTS) {
      const end = Math.min(count, first + BLOCK_TEXTS);
      search.#add(search.#hasher.vectorsOf(read(first, end)));
      await work.step(end, count);
    }
    for (let text = 0; text < count; text++) search.#weigh(search.#entriesOf(text));
    search.#lists = new InvertedLists(ascending(count), (text) => search.#entriesOf(text));
    return search;
  }

  /** Adds the next texts, and numbers their new words. */
  #add({ offsets, indices, values }: SparseMatrix): void {
    const halves = halvesOf(indices as BigUint64Array);
    for (let at = 0; at < halves.length; at += 2) {
      const [low, high] = [halves[at], halves[at + 1]];
      if (this.#numbers.countOf(low, high) > 0) continue;
      this.#numbers.add(low, high, this.#numbers.size + 1);
      this.#frequencies.push(0);
    }
    const words = this.#numbersOf(halves);
    for (const word of words) this.#frequencies[word]++;
    this.#blocks.push({ offsets, words, weights: Float32Array.from(values) });
  }

  /** The numbers of words from 0 on, by the halves of their hashes; 2^32 - 1 for unknown ones. */
  #numbersOf(halves: Uint32Array): Uint32Array {
    return new Uint32Array(halves.length / 2).map(
      (_, i) => this.#numbers.countOf(halves[2 * i], halves[2 * i + 1]) - 1,
    );
  }

  #entriesOf(text: number): Entries {
    const { offsets, words, weights } = this.#blocks[Math.floor(text / BLOCK_TEXTS)];
    const [from, to] = [offsets[text % BLOCK_TEXTS], offsets[(text % BLOCK_TEXTS) + 1]];
    return { words: words.subarray(from, to), weights: weights.subarray(from, to) };
  }

  /**
   * Multiplies the weights of a text by how rare its words are, and scales them to length 1, in
   * place.
   */
  #weigh({ words, weights }: Entries): void {
    let square = 0;
    for (let i = 0; i < weights.length; i++) {
      weights[i] *= 1 + logOf((1 + this.count) / (1 + (this.#frequencies[words[i]] ?? 0)));
      square += weights[i] * weights[i];
    }
    for (let i = 0; i < weights.length; i++) weights[i] /= Math.sqrt(square);
  }

  /**
   * The k texts nearest to a text among those that `isAllowed` accepts, by exact cosine; of equal
   * cosines the first text. Leaves out texts that share no word with it.
   */
  nearest(text: string, k: number, isAllowed: (text: number) => boolean) {
    const { indices, values } = this.#hasher.vectorsOf([text]);
    if (indices.length === 0) throw new RangeError('the query has no words that count');
    // A word that no text has makes all cosines smaller.
    const words = this.#numbersOf(halvesOf(indices as BigUint64Array));
    const query = { words, weights: values as Float64Array };
    this.#weigh(query);
    const { rows, scores } = (this.#lists as InvertedLists).nearest(query, k, isAllowed);
    return { texts: rows, cosines: scores.map((cosine) => Math.min(1, cosine)) };
  }

  /** The texts that have words as points of a map; `rows` has the row of each text. */
  points(rows: Uint32Array): MapPoints {
    const texts = ascending(rows.length).filter((text) => this.#entriesOf(text).words.length);
    const most = COMMON * this.count;
    const isTopical = (word: number) => this.#frequencies[word] <= most;
    return {
      rows: texts.map((text) => rows[text]),
      vectorsOf: (points) =>
        this.#projected(
          points.map((point) => texts[point]),
          isTopical,
        ),
      nearestIn: (sample) => {
        const entriesOf = (point: number) => this.#entriesOf(texts[point]);
        const lists = new InvertedLists(sample, entriesOf, isTopical);
        return async (points, k, work) => {
          const found: Uint32Array[] = [];
          for (const [i, point] of points.entries()) {
            const isOther = (at: number) => sample[at] !== point;
            found.push(lists.nearest(entriesOf(point), k, isOther).rows);
            await work.step(i + 1, points.length);
          }
          return found;
        };
      },
    };
  }

  /**
   * Texts as dense vectors, by a random projection: angles stay about the same (Achlioptas 2003). A
   * text of common words alone is projected with all of them.
   */
  #projected(texts: Uint32Array, isTopical: (word: number) => boolean): DenseMatrix {
    const values = new Float32Array(texts.length * DIMENSIONS);
    for (const [i, text] of texts.entries()) {
      const { words, weights } = this.#entriesOf(text);
      const isCommon = !words.some(isTopical);
      for (let at = 0; at < words.length; at++) {
        if (!isCommon && !isTopical(words[at])) continue;
        for (let part = 0; part < PER_WORD; part++) {
          const random = mixed(PER_WORD * words[at] + part);
          const to = i * DIMENSIONS + part * SLICE + (random & (SLICE - 1));
          values[to] += random < 0 ? -weights[at] : weights[at];
        }
      }
    }
    return { values, dimensions: DIMENSIONS };
  }
}

/** By word the rows that have it, and its weight in each. */
class InvertedLists {
  /** The entries of word w end at `#ends[w]`, those of word 0 begin at 0. */
  readonly #ends: Uint32Array;
  readonly #rows: Uint32Array;
  readonly #weights: Float32Array;
  readonly #sums: Float64Array;

  /** Row i is that of `which[i]`; words for which `isHeld` is false are left out. */
  constructor(
    which: Uint32Array,
    entriesOf: (one: number) => Entries,
    isHeld: (word: number) => boolean = () => true,
  ) {
    let most = -1;
    for (const one of which) {
      for (const word of entriesOf(one).words) most = Math.max(most, word);
    }
    const ends = new Uint32Array(most + 1);
    for (const one of which) {
      for (const word of entriesOf(one).words) if (isHeld(word)) ends[word]++;
    }
    const count = toStarts(ends); // where the entries of each word begin
    this.#rows = new Uint32Array(count);
    this.#weights = new Float32Array(count);
    for (const [row, one] of which.entries()) {
      const { words, weights } = entriesOf(one);
      for (let i = 0; i < words.length; i++) {
        if (!isHeld(words[i])) continue;
        const at = ends[words[i]]++;
        this.#rows[at] = row;
        this.#weights[at] = weights[i];
      }
    }
    this.#ends = ends;
    this.#sums = new Float64Array(which.length);
  }

  /** The k rows of the highest positive inner products with a query, of equal ones the first. */
  nearest(query: Entries, k: number, isAllowed: (row: number) => boolean) {
    const sums = this.#sums.fill(0);
    for (let i = 0; i < query.words.length; i++) {
      const word = query.words[i];
      const end = this.#ends[word] ?? 0;
      for (let at = word > 0 ? this.#ends[word - 1] : 0; at < end; at++) {
        sums[this.#rows[at]] += query.weights[i] * this.#weights[at];
      }
    }
    const best = new Highest(k);
    for (let row = 0; row < sums.length; row++) {
      if (sums[row] > best.bound && sums[row] > 0 && isAllowed(row)) best.take(sums[row], row);
    }
    return best.result();
  }
}
