/**
 * What `explore` shows: an index that was read from a folder or made of a file, the columns of its
 * rows, and a hasher for queries that are texts. Rows become cards, whose long values are cut.
 * Nothing is changed.
 */

import { basename } from 'node:path';
import type { InStages } from '../../base/steps';
import type { Call } from '../../cli/call';
import {
  Carried,
  carriedName,
  idNamed,
  isIndexFolder,
  openFolder,
} from '../../cli/input/index-folder';
import { usualNearness } from '../../cli/input/nearness';
import { buildIndex } from '../../cli/input/rows-to-index';
import { textHasherOf } from '../../cli/input/texts';
import { beginning, counted, excerpt } from '../../cli/output/figures';
import { jsonOf } from '../../cli/output/table';
import { similaritiesOf } from '../../index/search';
import { liveRows } from '../../measure/measured-rows';
import type { Id, IndexFolder, RowBatch, SimHashIndex, TextHasher } from '../../node';
import { estimateOf } from '../estimate';
import type { About, Card, SearchAnswer, SearchRequest, WhyAnswer } from '../messages';
import { WordSearch } from './word-search';

/** Characters, at most, of a value on a card, and of a text that is compared. */
const SNIPPET = 280;
const LONG_TEXT = 20_000;
/** Words or dimensions that are listed as reasons, at most. */
const REASONS = 12;

/**
 * Opens an index folder, or reads a file and hashes it by the options of the call. All rows are in
 * memory then, of a file their vectors too. With `areTextsSets` the texts of a file are compared as
 * sets, as `dedup` does, unless an option of the call asks for something else.
 */
export async function openExplored(
  call: Call,
  path: string,
  areTextsSets: boolean,
): Promise<Explored> {
  const parts = { path, inStage: call.long };
  if (await isIndexFolder(path)) {
    const folder = await openFolder(call, path);
    const index = await call.long(`opening ${basename(path)}`, (work) => folder.index(work));
    const columns = await folder.columns();
    const frequencies = await folder.frequencies();
    const hasher =
      folder.text &&
      (await textHasherOf(call, { settings: folder.text, frequencies }, index.hasher));
    const given = call.text('text');
    const shownColumn = given === undefined ? null : carriedName(call, folder, given);
    const rows = { folder, index, columns, hasher, shownColumn };
    return new Explored({ ...parts, ...rows, isByWords: true });
  }
  const building = { isWhole: true, areTextsSets };
  const { source, index, columns = null } = await buildIndex(call, path, building);
  const { text, columns: hashed } = source.choice;
  return new Explored({
    ...parts,
    folder: null,
    index,
    columns,
    hasher: source.textHasher,
    isByWords: text === null || text.settings.tokens === 'words',
    shownColumn: text === null ? null : hashed[0],
    fileAt: (row) => source.reader.shardAt(row),
  });
}

/** What an `Explored` is made of. */
interface Parts {
  readonly path: string;
  /** Null if the rows are of a file. */
  readonly folder: IndexFolder | null;
  readonly index: SimHashIndex;
  /** The columns of the rows that are not removed, in their order; null without columns. */
  readonly columns: RowBatch | null;
  /** The hasher of texts that are queries; null if rows are not of texts. */
  readonly hasher: TextHasher | null;
  /** False if texts of a file were hashed by more than single words, as by pairs of words. */
  readonly isByWords: boolean;
  /** The column of texts that was hashed, or that the user names. */
  readonly shownColumn: string | null;
  /** The file of a row, where rows are in several files; else undefined. */
  readonly fileAt?: (row: number) => string | undefined;
  /** Runs work that takes long. */
  readonly inStage: InStages;
}

/** Rows in memory, and what the page can ask about them. */
export class Explored {
  readonly path: string;
  readonly folder: IndexFolder | null;
  readonly index: SimHashIndex;
  /** The columns as values, for filters and colours. */
  readonly carried: Carried;
  /** The column of texts that rows are shown by; null without one. */
  readonly textColumn: string | null;
  /** Names of the columns. */
  readonly names: readonly string[];
  readonly fileAt: (row: number) => string | undefined;
  readonly #columns: RowBatch | null;
  readonly #hasher: TextHasher | null;
  readonly #isByWords: boolean;
  readonly #inStage: InStages;
  /** Where the hasher does not read single words: made by the first search for a text. */
  #words: Promise<WordSearch> | null = null;

  constructor({ index, columns, ...parts }: Parts) {
    this.path = parts.path;
    this.folder = parts.folder;
    this.index = index;
    this.fileAt = parts.fileAt ?? (() => undefined);
    this.#columns = columns;
    this.#hasher = parts.hasher;
    this.#isByWords = parts.isByWords;
    this.#inStage = parts.inStage;
    this.names = columns?.columns.map(({ name }) => name) ?? [];
    this.carried = new Carried(liveRows(index), (name) => {
      if (name === 'id' && !this.names.includes(name)) {
        return Array.from(this.rows, (row) => index.idOf(row));
      }
      if (columns !== null && this.names.includes(name)) return columns.values(name);
      throw new RangeError(`no column "${name}", there are ${this.names.join(', ') || 'none'}`);
    });
    this.textColumn = parts.shownColumn ?? (columns && proseColumn(columns));
  }

  /** The rows that are not removed, ascending: a view, not to be changed. */
  get rows(): Uint32Array {
    return this.carried.rows;
  }

  /** What makes rows near where the user has not chosen: the default of `dedup`. */
  get nearness(): About['nearness'] {
    return usualNearness(this.index);
  }

  /** What the page asks for first; `plan` is the file of decisions, null if there can be none. */
  about(plan: string | null): About {
    const { index } = this;
    return {
      title: basename(this.path),
      rows: this.rows.length,
      bits: index.bits,
      measure: index.hasher.projection === 'minwise' ? 'Jaccard similarity' : 'cosine',
      hasText: this.#hasher !== null,
      dimensions: index.dimensions ?? null,
      columns: (this.#columns?.columns ?? []).map(({ name, type }) => ({ name, type })),
      textColumn: this.textColumn,
      plan,
      nearness: this.nearness,
    };
  }

  /** Checks a row that a question names; throws a RangeError where there is none, or no more. */
  checkRow(row: unknown): number {
    if (typeof row === 'number' && this.index.idOf(row) !== undefined) return row;
    throw new RangeError(`"row" expected a row that is there, got ${row}`);
  }

  /** The texts that some rows are shown by, cut to LONG_TEXT; '' for null and without texts. */
  textsOf(rows: readonly number[]): string[] {
    const name = this.textColumn;
    const some = name === null ? null : this.#columns?.select(this.carried.positionsOf(rows));
    if (!some || name === null) return rows.map(() => '');
    return some.values(name).map((value) => (value === null ? '' : shown(value, LONG_TEXT)));
  }

  /**
   * By row its values as [name, text], each of at most `most` characters: by default long enough
   * for a person to compare rows. Nulls are left out.
   */
  valuesOf(rows: readonly number[], most = LONG_TEXT): (readonly [string, string])[][] {
    const some = this.#columns?.select(this.carried.positionsOf(rows));
    if (!some) return rows.map(() => []);
    const values = this.names.map((name) => some.values(name));
    return rows.map((_, i) =>
      this.names.flatMap((name, column): (readonly [string, string])[] => {
        const value = values[column][i] ?? null;
        return value === null ? [] : [[name, shown(value, most)]];
      }),
    );
  }

  /** The cards of some rows, in the order given; the text that rows are shown by is a field. */
  cardsOf(rows: readonly number[]): Card[] {
    return this.valuesOf(rows, SNIPPET).map((values, i) => ({
      row: rows[i],
      id: shown(this.index.idOf(rows[i]), SNIPPET),
      text: values.find(([name]) => name === this.textColumn)?.[1] ?? null,
      values: values.filter(([name]) => name !== this.textColumn),
    }));
  }

  /**
   * The k rows nearest to a text, a row, an id or a vector, among those that meet the filter. A row
   * does not find itself. Texts in memory are all compared with a text, by their words.
   */
  async search({ text, id, row: given, vector, k, filter }: SearchRequest): Promise<SearchAnswer> {
    const row = id === undefined ? given : this.#rowNamed(id);
    const allowed = this.carried.rowsThatMeet(filter);
    const words = text === undefined ? null : await this.#wordSearch();
    const start = performance.now();
    const found =
      words !== null && text !== undefined
        ? this.#nearestByWords(words, text, { k, allowed })
        : this.#nearest(this.#queryOf({ text, row, vector }), { k, allowed, self: row });
    const milliseconds = performance.now() - start;
    const cards = this.cardsOf(found.hits.map((hit) => hit.row));
    return {
      query: row === undefined ? null : this.cardsOf([row])[0],
      hits: found.hits.map((hit, i) => ({ ...hit, ...cards[i] })),
      compared: found.compared,
      milliseconds,
    };
  }

  /** The row whose id a text means; throws a RangeError where there is none. */
  #rowNamed(text: string): number {
    const id = idNamed(this.index, text.trim());
    const held = id === undefined ? undefined : this.index.get(id);
    if (held === undefined) throw new RangeError(`no row has the id ${text.trim()}`);
    return held.row;
  }

  /** The texts by their words; null where the index is searched by the hasher of its rows. */
  #wordSearch(): Promise<WordSearch> | null {
    const [name, columns] = [this.textColumn, this.#columns];
    if (this.#isByWords || name === null || columns === null) return null;
    const read = (first: number, end: number) =>
      columns
        .slice(first, end)
        .values(name)
        .map((value) => String(value ?? ''));
    this.#words ??= this.#inStage('reading words', (call) =>
      WordSearch.of({ count: columns.count, read, call }),
    ).catch((error) => {
      this.#words = null;
      throw error;
    });
    return this.#words;
  }

  /** Hits without their cards, by words: exact. */
  #nearestByWords(words: WordSearch, text: string, { k, allowed }: Searched) {
    const isAllowed = new Uint8Array(this.rows.length);
    for (const position of this.carried.positionsOf(allowed)) isAllowed[position] = 1;
    const { positions, cosines } = words.nearest(text, k, (position) => isAllowed[position] === 1);
    const hits = Array.from(positions, (position, i) => {
      return { row: this.rows[position], similarity: cosines[i], distance: null, interval: null };
    });
    return { hits, compared: `exact cosine of ${allOf(allowed)}` };
  }

  /** Hits without their cards, by the index; sparse rows are all compared exactly. */
  #nearest(query: Query, { k, allowed, self }: Searched) {
    const { index } = this;
    const about = this.about(null);
    const others = allowed.filter((row) => row !== self);
    const isSparse = index.vectors === 'sparse';
    const found = index.search(query, {
      k,
      explain: true,
      ...(others.length < this.rows.length && { filter: others }),
      ...(isSparse && { method: 'scan', oversample: Math.max(1, others.length) }),
    });
    const similarities = similaritiesOf(found);
    const hits = Array.from(found.rows, (row, i) => ({
      row,
      similarity: similarities[i],
      distance: found.distances[i],
      interval: estimateOf(about, found.distances[i]).interval,
    }));
    if (found.rank !== 'exact') {
      return { hits, compared: `${about.measure} as codes estimate it` };
    }
    const reranked = found.explain?.reranked ?? 0;
    const isAll = isSparse || reranked >= others.length;
    const which = isAll ? allOf(allowed) : `the ${counted(reranked, 'row')} nearest by codes`;
    // A sparse row that shares no dimension with the query, as a text no word, is not found.
    const near = isSparse ? hits.filter((hit) => hit.similarity > 0) : hits;
    return { hits: near, compared: `exact ${about.measure} of ${which}` };
  }

  /** What the index searches for: a row's vector if it is held, else its code; or what is given. */
  #queryOf({ text, row, vector }: Partial<SearchRequest>): Query {
    if (row !== undefined) {
      const held = this.index.get(this.index.idOf(this.checkRow(row)) as Id);
      const query = held?.vector ?? held?.code;
      if (!query) throw new RangeError('this row has no code, and no neighbours');
      return query;
    }
    if (vector !== undefined) return Float64Array.from(vector);
    if (this.#hasher === null) throw new RangeError('the rows are not of texts: search by a row');
    const query = this.#hasher.vectorize(text ?? '');
    if (query.values.length === 0) throw new RangeError('the query has no words that count');
    return query;
  }

  /**
   * Why a row is near to a text or to another row: the words or the dimensions that add most to
   * their cosine. Null where neither texts nor dense vectors are there.
   */
  async why({ text, other, row }: { text?: string; other?: number; row: number }) {
    const hasher = (text === undefined ? null : await this.#wordSearch())?.hasher ?? this.#hasher;
    if (hasher !== null && this.textColumn !== null) {
      const [own] = this.textsOf([row]);
      return reasonsOf(hasher, text ?? (other === undefined ? '' : this.textsOf([other])[0]), own);
    }
    if (other === undefined) return null;
    const [a, b] = [other, row].map((each) => this.index.get(this.index.idOf(each) as Id)?.vector);
    if (!ArrayBuffer.isView(a) || !ArrayBuffer.isView(b)) return null;
    return { together: dimensionShares(a, b), onlyA: [], onlyB: [] };
  }
}

type Query = Parameters<SimHashIndex['search']>[0];

/** How many rows to find, and among which. */
interface Searched {
  readonly k: number;
  /** Rows that meet the filter, ascending. */
  readonly allowed: Uint32Array;
  /** The row that is the query. */
  readonly self?: number | undefined;
}

const allOf = ({ length }: Uint32Array) => `all ${counted(length, 'row')}`;

/** The words that add most to the cosine of two texts. */
function reasonsOf(hasher: TextHasher, one: string, other: string): WhyAnswer {
  const { together, onlyA, onlyB } = hasher.explain(one, other);
  const names = (all: readonly { word: string }[]) => all.slice(0, REASONS).map(({ word }) => word);
  return {
    together: together.slice(0, REASONS).map(({ word, share }) => [word, share]),
    onlyA: names(onlyA),
    onlyB: names(onlyB),
  };
}

/** First rows whose texts are measured, and the mean length from which these count as prose. */
const PROSE = { rows: 50, characters: 24 } as const;

/** The first column of prose, in contrast to names and categories; null without one. */
function proseColumn(columns: RowBatch): string | null {
  const some = columns.slice(0, Math.min(PROSE.rows, columns.count));
  const found = some.columns.find(({ name, fits }) => {
    if (!fits.includes('text')) return false;
    const texts = some.texts(name);
    const characters = texts.reduce((sum, text) => sum + (text?.length ?? 0), 0);
    return characters >= PROSE.characters * texts.length;
  });
  return found?.name ?? null;
}

/** The dimensions that add most to the cosine of two vectors, with their shares of it. */
function dimensionShares(one: ArrayLike<number>, two: ArrayLike<number>) {
  const lengthOf = (values: ArrayLike<number>) =>
    Math.sqrt(Array.from(values).reduce((sum, value) => sum + value * value, 0));
  const length = lengthOf(one) * lengthOf(two);
  return Array.from(one, (value, i) => [`dimension ${i}`, (value * two[i]) / length] as const)
    .sort((a, b) => b[1] - a[1])
    .slice(0, REASONS);
}

/** A value as text for people: of strings, lists and objects at most `most` characters. */
function shown(value: unknown, most: number): string {
  if (typeof value === 'string') return beginning(value, most);
  if (value instanceof Date) return value.toISOString();
  if (typeof value === 'object' && value !== null) {
    return excerpt(JSON.stringify(value, jsonOf), most);
  }
  return String(value);
}
