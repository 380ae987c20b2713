/**
 * Texts by their words, rare ones weighed more (TF-IDF), however the rows themselves were hashed: a
 * search by exact cosine, and points for the map. Inverted lists have every text that shares a word
 * with a query, so that none is missed. Vectors and lists take some 20 bytes for each distinct word
 * of each text.
 */

import { ascending, concatenated, toStarts } from '../../base/arrays';
import { HashCounts } from '../../base/hash-tables';
import { type LongCall, LongWork } from '../../base/long-work';
import { Highest } from '../../base/top-k';
import type { KeptSparseVector } from '../../index/vectors/row-vectors';
import { halvesOf, SparseVectors } from '../../index/vectors/sparse-vectors';
import { FrequencyTable } from '../../text/frequency-table';
import { TextHasher } from '../../text/text-hasher';
import { lengthOf, type SparseMatrix } from '../../vectors/vectors';
import { type MapPoints, nearOf } from '../layout/map-rows';

/** Texts that are read between two reports of progress. */
const BLOCK_TEXTS = 256;
/**
 * The map's lists leave out words that this share of the texts have: near texts stay the same, and
 * are found in half of the time. Where others do not make most of a text, as of names of products,
 * nothing is left out.
 */
const COMMON = 0.2;
const MOST_OF_LENGTH = 0.8;
/** Dimensions of the map's vectors. */
const DIMENSIONS = 256;

/** `count` texts, of which `read` returns some. */
interface Texts {
  readonly count: number;
  read(first: number, end: number): string[];
}

/** Texts by their words; one without words is found by no query. */
export class WordSearch {
  readonly #frequencies = new FrequencyTable('words');
  readonly #hasher = new TextHasher({
    bits: DIMENSIONS,
    counting: 'log',
    frequencies: this.#frequencies,
  });
  /** By text its words with their weights. */
  readonly #vectors = new SparseVectors();
  #lists!: InvertedLists;

  static async of({ count, read }: Texts, call: LongCall): Promise<WordSearch> {
    const search = new WordSearch();
    const work = new LongWork(call);
    // Weights follow from how many texts have a word, so that all are read before.
    const passes = [
      ({ offsets, indices }: SparseMatrix) => {
        const halves = halvesOf(indices as BigUint64Array);
        for (let text = 1; text < offsets.length; text++) {
          const own = halves.subarray(2 * offsets[text - 1], 2 * offsets[text]);
          search.#frequencies.addDocument(own);
        }
      },
      (texts: SparseMatrix, size: number) => search.#vectors.append(texts, 0, size, () => true),
    ];
    for (const [pass, take] of passes.entries()) {
      for (let first = 0; first < count; first += BLOCK_TEXTS) {
        const end = Math.min(count, first + BLOCK_TEXTS);
        take(search.#hasher.vectorsOf(read(first, end)), end - first);
        await work.step(pass * count + end, passes.length * count);
      }
    }
    search.#lists = new InvertedLists(search.#vectors, ascending(count));
    return search;
  }

  /**
   * The k texts nearest to a text among those that `isAllowed` accepts, by exact cosine; of equal
   * cosines the first text. Leaves out texts that share no word with it.
   */
  nearest(text: string, k: number, isAllowed: (text: number) => boolean) {
    const query = this.#hasher.vectorize(text) as KeptSparseVector;
    const length = lengthOf(query.values); // words that no text has make all cosines smaller
    if (length === 0) throw new RangeError('the query has no words that count');
    const { rows, scores } = this.#lists.nearest(query, k, isAllowed);
    return { texts: rows, cosines: scores.map((score) => Math.min(1, score / length)) };
  }

  /** The texts that have words as points of a map; `rows` has the row of each text. */
  points(rows: Uint32Array): MapPoints {
    const vectors = this.#vectors;
    const texts = ascending(rows.length).filter((text) => vectors.normOf(text) > 0);
    const at = (point: number) => vectors.at(texts[point]);
    return {
      rows: texts.map((text) => rows[text]),
      // A random projection: angles stay about the same (Achlioptas 2003).
      vectorsOf: (points) => {
        const sums = Array.from(points, (point) => this.#hasher.hasher.accumulate(at(point)));
        return { values: concatenated([new Float64Array(), ...sums]), dimensions: DIMENSIONS };
      },
      nearestIn: (sample) => {
        const most = COMMON * rows.length;
        const isRare = (low: number, high: number) => this.#frequencies.countOf(low, high) <= most;
        const lengthBy = (isHeld: typeof isRare, point: number) => {
          const { indices, values } = at(point);
          const halves = halvesOf(indices);
          return lengthOf(values.filter((_, i) => isHeld(halves[2 * i], halves[2 * i + 1])));
        };
        const sampled = sample.map((point) => texts[point]);
        const shareOfRare = (point: number) =>
          lengthBy(isRare, point) / vectors.normOf(texts[point]);
        const all = sample.reduce((sum, point) => sum + shareOfRare(point), 0);
        const isHeld = all < MOST_OF_LENGTH * sample.length ? () => true : isRare;
        const lists = new InvertedLists(vectors, sampled, isHeld);
        return async (points, k, work) => {
          const found: ReturnType<typeof nearOf>[] = [];
          for (const [i, point] of points.entries()) {
            const isOther = (row: number) => sample[row] !== point;
            const { rows: near, scores } = lists.nearest(at(point), k, isOther);
            found.push(nearOf(near, scores, lengthBy(isHeld, point)));
            await work.step(i + 1, points.length);
          }
          return found;
        };
      },
    };
  }
}

/** By word the rows that have it, and its weight in each; the held words of a row have length 1. */
class InvertedLists {
  /** By the hash of a word its number, from 1 on. */
  readonly #numbers = new HashCounts();
  /** The entries of word w end at `#ends[w]`, where those of the next begin. */
  readonly #ends: Uint32Array;
  readonly #rows: Uint32Array;
  readonly #weights: Float32Array;
  readonly #sums: Float64Array;

  /** Row i is vector `which[i]`, without words for which `isHeld` is false. */
  constructor(
    vectors: SparseVectors,
    which: Uint32Array,
    isHeld: (low: number, high: number) => boolean = () => true,
  ) {
    const sizes = [0];
    for (const one of which) {
      vectors.eachMember(one, (low, high) => {
        if (!isHeld(low, high)) return;
        const known = this.#numbers.countOf(low, high);
        if (known > 0) sizes[known]++;
        else this.#numbers.add(low, high, sizes.push(1) - 1);
      });
    }
    const ends = Uint32Array.from(sizes);
    const count = toStarts(ends); // where the entries of each word begin
    this.#rows = new Uint32Array(count);
    this.#weights = new Float32Array(count);
    const squares = new Float64Array(which.length);
    for (const [row, one] of which.entries()) {
      const { part, from, to } = vectors.entriesOf(one);
      for (let i = from; i < to; i++) {
        const word = this.#numbers.countOf(part.halves[2 * i], part.halves[2 * i + 1]);
        if (word === 0) continue;
        const at = ends[word]++;
        this.#rows[at] = row;
        this.#weights[at] = part.weights[i];
        squares[row] += part.weights[i] ** 2;
      }
    }
    for (const [at, row] of this.#rows.entries()) this.#weights[at] /= Math.sqrt(squares[row]);
    this.#ends = ends;
    this.#sums = new Float64Array(which.length);
  }

  /** The k rows of the highest positive inner products with a query, of equal ones the first. */
  nearest({ indices, values }: KeptSparseVector, k: number, isAllowed: (row: number) => boolean) {
    const sums = this.#sums.fill(0);
    const [ends, rows, weights] = [this.#ends, this.#rows, this.#weights];
    const halves = halvesOf(indices);
    for (let i = 0; i < values.length; i++) {
      const word = this.#numbers.countOf(halves[2 * i], halves[2 * i + 1]);
      if (word === 0) continue;
      const value = values[i];
      for (let at = ends[word - 1]; at < ends[word]; at++) sums[rows[at]] += value * weights[at];
    }
    const best = new Highest(k);
    for (let row = 0; row < sums.length; row++) {
      if (sums[row] > best.bound && sums[row] > 0 && isAllowed(row)) best.take(sums[row], row);
    }
    return best.result();
  }
}
