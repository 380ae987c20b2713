/**
 * Passages that several documents have, as licences, navigation and signatures: the longest run of
 * words around a drawn run that all documents with this run have. Texts are read four times: to
 * count drawn runs (`count`), to enter those that may be repeated (`enter`), to find the best
 * candidates (`propose`), and to compare them word by word (`compare`), so that no passage is
 * reported because hashes are equal. Of a run that a document has twice the first counts.
 */

import type { Id } from '../../node';
import { type Normalization, normalized } from '../../text/normalize';
import type { LetterCase } from '../../text/tokens';
import {
  type Drawn,
  drawnRuns,
  eachRun,
  RunFilter,
  RunTable,
  WantedRuns,
  WINDOW,
} from './repeated-runs';
import { WordPlaces } from './word-places';

/** Documents that a passage names. */
export const EXAMPLES = 3;
/** Candidates for each passage that is wanted: most are parts of others. */
const CANDIDATES_PER_PASSAGE = 100;
/** Words of the texts around candidates, and of one such text. */
const MAX_HELD_WORDS = 2 ** 22;
const MAX_WORDS = 2 ** 19;
/** The text, where its words are, and their hashes. */
const BYTES_PER_HELD_WORD = 26;
/** Of the present document, as measured: places and hashes of its words, and its drawn runs. */
const BYTES_PER_WORD = 28;

/** A document that has a passage. */
interface PassagePlace {
  readonly id: Id;
  /** The character at which the passage begins. */
  readonly at: number;
}

export interface Passage {
  /** Documents that have it whole. */
  readonly documents: number;
  readonly words: number;
  /** As it is in one of them. */
  readonly text: string;
  /** The first documents, at most `EXAMPLES`. */
  readonly places: readonly PassagePlace[];
}

/** A part of a text in which candidates are. */
interface HeldText {
  readonly text: string;
  readonly places: WordPlaces;
  /** The number of its first word in the document. */
  readonly from: number;
}

/** A passage whose ends are not known yet. */
interface Candidate {
  /** Words that it may save, about. */
  readonly score: number;
  readonly held: HeldText;
  /** The word there at which the drawn run begins. */
  readonly seed: number;
  /** Words before and behind the drawn run that all documents so far have in common. */
  before: number;
  behind: number;
  documents: number;
  lastRow: number;
  readonly examples: Example[];
}

/** A document that has a passage. */
interface Example {
  readonly id: Id;
  /** Where the drawn run begins. */
  readonly at: number;
  /** Where words before it begin, the last first; null where all is as in `held`. */
  readonly starts: Uint32Array | null;
}

interface PassageOptions {
  /** Words of the shortest passage. */
  readonly minWords: number;
  /** Most passages. */
  readonly limit: number;
  readonly letterCase: LetterCase;
  readonly rules: readonly Normalization[];
  /** Bytes of the texts, null where they are not known. */
  readonly bytes: number | null;
}

export class PassageFinder {
  documents = 0;
  words = 0;
  /** Words in drawn runs that other documents have: of all repeated words the most part. */
  repeatedWords = 0;
  /** Candidates of less are not held. */
  #cutoff = 0;
  #heldWords = 0;
  /** Words of the longest document. */
  #mostWords = 0;
  #drawnCount = 0;
  #text = '';
  readonly #filter: RunFilter;
  #table: RunTable | null = null;
  #wanted: WantedRuns | null = null;
  readonly #places: WordPlaces;
  /** By place of their drawn run in the table. */
  readonly #candidates = new Map<number, Candidate>();

  constructor(private readonly options: PassageOptions) {
    this.#filter = new RunFilter(options.bytes);
    this.#places = new WordPlaces(options.letterCase);
  }

  /** First reading: of all texts in order. */
  count(text: string): void {
    const { high } = this.#drawn(text);
    for (const one of high) this.#filter.add(one);
    this.documents++;
    this.#drawnCount += high.length;
    this.words += this.#places.count;
    this.#mostWords = Math.max(this.#mostWords, this.#places.count);
  }

  /** What the passages take, in bytes; known after the first reading. */
  get parts(): Readonly<Record<string, number>> {
    const repeatedWords = (this.#filter.repeated * this.words) / Math.max(1, this.#drawnCount);
    return {
      filter: this.#filter.byteLength,
      table: this.#runs.byteLength,
      document: this.#mostWords * BYTES_PER_WORD,
      passages: Math.min(2 * MAX_HELD_WORDS, repeatedWords) * BYTES_PER_HELD_WORD,
    };
  }

  /** One of so many drawn runs is compared; 1 where memory sufficed for all. */
  get thinned(): number {
    return 2 ** this.#runs.level;
  }

  /** Second reading. */
  enter(text: string, row: number): void {
    this.#runs.add(row, this.#drawn(text));
  }

  /** Third reading: passages of which this is the first text that draws a run. */
  propose(text: string, row: number): void {
    const { at, low, high } = this.#drawn(text);
    // Of neighbours that only this text has one is kept, so that a long text takes little memory.
    const drawn: DrawnPlace[] = [];
    let end = 0;
    for (let i = 0; i < at.length; i++) {
      if (!this.#runs.isDrawn(low[i])) continue;
      const place = this.#runs.repeated(low[i], high[i]);
      if (place >= 0 || drawn.at(-1)?.place !== -1) drawn.push({ at: at[i], place });
      if (place < 0) continue;
      this.repeatedWords += at[i] + this.options.minWords - Math.max(at[i], end);
      end = at[i] + this.options.minWords;
    }
    this.#propose(row, drawn);
  }

  /** Fourth reading: of all runs, since near the end of a passage not all texts draw the same. */
  compare(text: string, row: number, id: Id): void {
    this.#wanted ??= this.#wantedRuns();
    const wanted = this.#wanted;
    this.#read(text);
    eachRun(this.#places, this.options.minWords, (at, low, high) => {
      if (!wanted.has(high)) return;
      const candidate = this.#candidates.get(this.#runs.repeated(low, high));
      if (candidate !== undefined && candidate.lastRow !== row) {
        this.#narrow(candidate, { row, id, at });
      }
    });
  }

  /**
   * The passages that repeat most words first. One that is part of another before it has its own
   * line only where twice as many documents have it.
   */
  passages(): Passage[] {
    const { minWords, limit } = this.options;
    const found: Found[] = [];
    const candidates = [...this.#candidates.values()].filter(({ documents }) => documents > 1);
    const ranked = candidates.map((one) => {
      const from = one.seed - one.before;
      return { one, from, end: from + one.before + minWords + one.behind };
    });
    const saved = ({ one, from, end }: (typeof ranked)[0]) => (one.documents - 1) * (end - from);
    ranked.sort((a, b) => saved(b) - saved(a) || b.one.documents - a.one.documents);
    for (const { one, from, end } of ranked) {
      if (found.length === limit) break;
      const near = found.filter(({ candidate }) => one.documents < 2 * candidate.documents);
      const isWithin = (other: Found) =>
        other.candidate.held === one.held && other.from <= from && end <= other.end;
      if (near.some(isWithin)) continue;
      const key = ` ${one.held.places.words(from, end).join(' ')} `;
      if (near.some((other) => other.key.includes(key))) continue;
      found.push({ candidate: one, from, end, key });
    }
    return found.map(passageOf);
  }

  get #runs(): RunTable {
    this.#table ??= new RunTable(this.#filter);
    return this.#table;
  }

  #read(text: string): void {
    this.#text = normalized(text, this.options.rules);
    this.#places.read(this.#text);
  }

  #drawn(text: string): Drawn {
    this.#read(text);
    return drawnRuns(this.#places, this.options.minWords);
  }

  /** The drawn runs of the candidates that stay. */
  #wantedRuns(): WantedRuns {
    this.#prune();
    const wanted = new WantedRuns();
    for (const place of this.#candidates.keys()) wanted.add(this.#runs.columns.high[place]);
    return wanted;
  }

  /** Proposes passages of which this is the first document, one for each group of drawn runs. */
  #propose(row: number, drawn: readonly DrawnPlace[]): void {
    const { minWords } = this.options;
    const { documents, firstRow, firstAt, group } = this.#runs.columns;
    const counts = drawn.map(({ place }) => (place < 0 ? 0 : documents[place]));
    const [left, right] = extents(counts);
    let held: HeldText | null = null;
    let last = -1; // the last drawn run that is held
    for (let i = 0; i < drawn.length; i++) {
      const { at, place } = drawn[i];
      if (counts[i] < 2 || firstRow[place] !== row || firstAt[place] !== at) continue;
      const other = i > 0 ? drawn[i - 1] : null;
      const isFirst = other !== null && other.place >= 0 && firstAt[other.place] === other.at;
      if (isFirst && counts[i - 1] === counts[i] && group[other.place] === group[place]) continue;
      const score = (counts[i] - 1) * (drawn[right[i]].at + minWords - drawn[left[i]].at);
      if (score <= this.#cutoff) continue;
      if (held === null || i > last) {
        for (last = i; counts[last + 1] > 1 && drawn[last + 1].at < at + MAX_WORDS; ) last++;
        let first = i;
        while (counts[first - 1] > 1 && drawn[first - 1].at > at - MAX_WORDS) first--;
        held = this.#hold(drawn[first].at, drawn[last].at + minWords);
      }
      const seed = at - held.from;
      this.#candidates.set(place, {
        ...{ score, held, seed, before: seed, behind: held.places.count - seed - minWords },
        ...{ documents: 0, lastRow: -1, examples: [] },
      });
      const isFull = this.#heldWords > 2 * MAX_HELD_WORDS;
      if (isFull || this.#candidates.size > 2 * this.#most) this.#prune();
    }
  }

  get #most(): number {
    return CANDIDATES_PER_PASSAGE * this.options.limit;
  }

  /**
   * Words `from` to `to` of the present text, and as many around them as a passage may have beyond
   * its drawn runs: less than two windows and a run.
   */
  #hold(first: number, last: number): HeldText {
    const { minWords, letterCase } = this.options;
    const { starts, ends, count } = this.#places;
    const more = (2 * WINDOW + minWords) * this.thinned;
    let from = Math.max(0, first - more);
    let end = Math.min(count, last + more);
    // Words of one stretch are read together.
    while (from > 0 && starts[from - 1] === starts[from]) from--;
    while (end < count && ends[end] === ends[end - 1]) end++;
    const text = copyOf(this.#text.slice(starts[from], ends[end - 1]));
    const places = new WordPlaces(letterCase, end - from);
    places.read(text);
    this.#heldWords += places.count;
    return { text, places, from };
  }

  /** Cuts a candidate to what the next document also has, around the drawn run. */
  #narrow(candidate: Candidate, { row, id, at }: { row: number; id: Id; at: number }): void {
    const { minWords } = this.options;
    const { seed, held } = candidate;
    const own = this.#places;
    const limits = { before: Math.min(candidate.before, at), behind: candidate.behind };
    limits.behind = Math.min(limits.behind, own.count - at - minWords);
    let before = 0;
    while (before < limits.before && own.isLike(at - 1 - before, held.places, seed - 1 - before)) {
      before++;
    }
    let length = 0;
    const longest = minWords + limits.behind;
    while (length < longest && own.isLike(at + length, held.places, seed + length)) length++;
    if (length < minWords) return;
    const isSame = this.#isSameText(candidate, at, { before, length });
    // Hashes were equal; the words must be.
    if (!isSame && !this.#haveSameWords(candidate, at, { before, length })) return;
    Object.assign(candidate, { before, behind: length - minWords, lastRow: row });
    candidate.documents++;
    if (candidate.examples.length === EXAMPLES) return;
    const starts = isSame ? null : own.starts.slice(at - before, at + 1).reverse();
    candidate.examples.push({ id, at: own.starts[at], starts });
  }

  /** Whether the documents have the same characters there. */
  #isSameText({ held, seed }: Candidate, at: number, { before, length }: Extent): boolean {
    const textOf = (text: string, { starts, ends }: WordPlaces, word: number) =>
      text.slice(starts[word - before], ends[word + length - 1]);
    return textOf(this.#text, this.#places, at) === textOf(held.text, held.places, seed);
  }

  #haveSameWords({ held, seed }: Candidate, at: number, { before, length }: Extent): boolean {
    for (let i = -before; i < length; i++) {
      if (this.#places.word(at + i) !== held.places.word(seed + i)) return false;
    }
    return true;
  }

  /** Keeps the candidates of most words saved, as many as are wanted and may be held. */
  #prune(): void {
    const ranked = [...this.#candidates].sort(([, a], [, b]) => b.score - a.score);
    const kept = new Set<HeldText>();
    let words = 0;
    for (const [i, [place, { held, score }]] of ranked.entries()) {
      const more = kept.has(held) ? 0 : held.places.count;
      if (i < this.#most && (i === 0 || words + more <= MAX_HELD_WORDS)) {
        kept.add(held);
        words += more;
      } else {
        this.#candidates.delete(place);
        this.#cutoff = Math.max(this.#cutoff, score);
      }
    }
    this.#heldWords = words;
  }
}

/** How many words before a drawn run, and from its first word on. */
interface Extent {
  readonly before: number;
  readonly length: number;
}

/** A candidate that is reported: its words in the text that is held, and these between blanks. */
interface Found {
  readonly candidate: Candidate;
  readonly from: number;
  readonly end: number;
  readonly key: string;
}

function passageOf({ candidate, from, end }: Found): Passage {
  const { documents, examples, before, seed, held } = candidate;
  const { starts, ends } = held.places;
  const places = examples.map(({ id, at, starts: own }) => ({
    id,
    at: own === null ? at - (starts[seed] - starts[from]) : own[before],
  }));
  return {
    documents,
    words: end - from,
    text: held.text.slice(starts[from], ends[end - 1]),
    places,
  };
}

/** A drawn run of a text: its first word, and its place in the table or -1. */
interface DrawnPlace {
  readonly at: number;
  readonly place: number;
}

/** By number the first and the last of the neighbours around it that are not less, in one pass. */
function extents(counts: readonly number[]): [number[], number[]] {
  const left: number[] = [];
  const right = counts.map(() => counts.length - 1);
  const rising: number[] = []; // numbers, ascending, for which no less one came yet
  counts.forEach((count, i) => {
    for (let top = rising.at(-1); top !== undefined && counts[top] > count; top = rising.at(-1)) {
      right[top] = i - 1;
      rising.pop();
    }
    const top = rising.at(-1);
    left.push(top === undefined ? 0 : counts[top] === count ? left[top] : top + 1);
    rising.push(i);
  });
  return [left, right];
}

/** A copy of a part of a text, which would hold the whole in memory. */
function copyOf(part: string): string {
  return JSON.parse(JSON.stringify(part)) as string;
}
