/**
 * What `explore` shows: an index that was read from a folder or made of a file, and the columns of
 * its rows. Texts are searched by their words, rows by the index. Rows become cards, whose long
 * values are cut. Nothing is changed.
 */

import { basename } from 'node:path';
import { type InStages, LongWork } from '../../base/long-work';
import type { Call } from '../../cli/call';
import { comparable, parseFilter } from '../../cli/input/filter-text';
import { buildIndex } from '../../cli/input/new-index';
import {
  carriedName,
  idNamed,
  likenessOf,
  openFolder,
  positionsIn,
  refuseOtherSettings,
  rowsThatMeet,
} from '../../cli/input/saved-index';
import { beginning, counted, excerpt, jsonOf } from '../../cli/output/figures';
import { localName } from '../../formats/web-source';
import { coreOf } from '../../index/simhash-index';
import { heldVectors } from '../../measure/recall';
import { presentRows, reordered, rowsOf } from '../../near/rows';
import { embed, type Id, type RowBatch, type SimHashIndex, type TextModel } from '../../node';
import { isIndexFolder } from '../../store/generations';
import { codePoints, type MapPoints } from '../layout/map-rows';
import { type About, type Card, type FindAnswer, type FindRequest, MAX_CARDS } from '../messages';
import { WordSearch } from './word-search';

/** Characters, at most, of a value on a card, and of a text that is compared. */
const SNIPPET = 280;
const LONG_TEXT = 20_000;
/** Ids that are suggested, and hits of a search, at most. */
const MAX_IDS = 10;
const HITS = 25;

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
  const opened = { path, inStage: call.long };
  if (await isIndexFolder(path)) {
    const folder = await openFolder(call, path);
    refuseOtherSettings(call, folder);
    const index = await call.long(`opening ${basename(path)}`, (work) => folder.index(work));
    const columns = await folder.columns();
    const given = call.text('text');
    const shownColumn = given === undefined ? null : carriedName(call, folder, given);
    const { model = null } = await likenessOf(folder);
    return new Explored({ ...opened, index, columns, shownColumn, model });
  }
  const building = { isWhole: true, areTextsSets };
  const { source, index, columns = null } = await buildIndex(call, path, building);
  const { text, columns: hashed } = source.choice;
  return new Explored({
    ...opened,
    index,
    columns,
    shownColumn: text === null ? null : hashed[0],
    model: text === null ? source.reader.model : null,
  });
}

interface Parts {
  readonly path: string;
  readonly index: SimHashIndex;
  /** The columns of the rows that are not removed, in their order; null without columns. */
  readonly columns: RowBatch | null;
  /** The column of texts that was hashed, or that the user names. */
  readonly shownColumn: string | null;
  /** The sentence model that made the vectors, by which texts are searched; null: by words. */
  readonly model: TextModel | null;
  readonly inStage: InStages;
}

/** Rows in memory, and what the page can ask about them. */
export class Explored {
  readonly index: SimHashIndex;
  /** The rows that are not removed, ascending: not to be changed. */
  readonly rows: Uint32Array;
  /** The column of texts that rows are shown and searched by; null without one. */
  readonly textColumn: string | null;
  /** The column by which rows are called where their ids are numbers; null for ids. */
  readonly nameColumn: string | null;
  readonly #names: readonly string[];
  /** The texts by their words, read at the first call. */
  readonly #wordSearch = once(async () => {
    const name = this.textColumn as string;
    const columns = this.parts.columns as RowBatch;
    const read = (first: number, end: number) =>
      Array.from(columns.slice(first, end).values(name), (value) => String(value ?? ''));
    return this.parts.inStage('reading words', (call) =>
      WordSearch.of({ count: columns.count, read }, call),
    );
  });

  constructor(private readonly parts: Parts) {
    const { index, columns, shownColumn } = parts;
    this.index = index;
    this.#names = columns?.columns.map(({ name }) => name) ?? [];
    const rows = coreOf(index).rows.liveRows();
    this.rows = rows;
    const texts = columns?.columns.filter(({ fits }) => fits.includes('text')) ?? [];
    this.textColumn =
      shownColumn ?? texts.find(({ name }) => columns && isProse(columns, name))?.name ?? null;
    const areNumbers = rows.length > 0 && typeof index.idOf(rows[0]) !== 'string';
    this.nameColumn = areNumbers ? (texts[0]?.name ?? null) : null;
  }

  /** The rows that meet a filter, ascending: all if it is empty. */
  #rowsThatMeet(filter: string): Uint32Array {
    if (filter.trim() === '') return this.rows;
    const { columns } = this.parts;
    return rowsThatMeet(parseFilter(filter), this.rows, (name) => {
      if (columns !== null && this.#names.includes(name)) return comparable(columns, name);
      throw new RangeError(`no column "${name}", there are ${this.#names.join(', ') || 'none'}`);
    });
  }

  about(): About {
    const { bits, hasher } = this.index;
    return {
      title: basename(localName(this.parts.path)),
      rows: this.rows.length,
      bits,
      measure: hasher.projection === 'minwise' ? 'Jaccard similarity' : 'cosine',
      columns: this.#names,
    };
  }

  /** Checks a row that a question names; throws a RangeError where there is none, or no more. */
  checkRow(row: unknown): number {
    if (typeof row === 'number' && this.index.idOf(row) !== undefined) return row;
    throw new RangeError(`"row" expected a row that is there, got ${row}`);
  }

  /** The columns of some rows; null without columns. */
  columnsOf(rows: ArrayLike<number>): RowBatch | null {
    return this.parts.columns?.select(positionsIn(this.rows, rows)) ?? null;
  }

  /** The values of a column for some rows as texts, cut to LONG_TEXT; '' for null. */
  textsOf(rows: readonly number[], name = this.textColumn): string[] {
    const some = name === null ? null : this.columnsOf(rows);
    if (!some || name === null) return rows.map(() => '');
    return some.values(name).map((value) => (value === null ? '' : shown(value, LONG_TEXT)));
  }

  /**
   * By row its values as [name, text], each of at most `most` characters: by default long enough
   * for a person to compare rows. Nulls are left out.
   */
  valuesOf(rows: readonly number[], most = LONG_TEXT): (readonly [string, string])[][] {
    const some = this.columnsOf(rows);
    if (!some) return rows.map(() => []);
    const values = this.#names.map((name) => some.values(name));
    return rows.map((_, i) =>
      this.#names.flatMap((name, column): (readonly [string, string])[] => {
        const value = values[column][i] ?? null;
        return value === null ? [] : [[name, shown(value, most)]];
      }),
    );
  }

  /** Ids that have a text in them, in any case, first those that begin with it. */
  idsLike(text: string): string[] {
    const wanted = text.trim().toLowerCase();
    const first: string[] = [];
    const others: string[] = [];
    for (let i = 0; i < this.rows.length && first.length < MAX_IDS; i++) {
      const id = String(this.index.idOf(this.rows[i]));
      const at = id.toLowerCase().indexOf(wanted);
      if (at === 0) first.push(id);
      else if (at > 0 && others.length < MAX_IDS) others.push(id);
    }
    return [...first, ...others].slice(0, MAX_IDS);
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
   * What the map shows: rows with texts by their words, since few texts share many pairs of words;
   * others by their codes, and by dense vectors that the index holds.
   */
  async mapPoints(): Promise<MapPoints> {
    const { index } = this;
    if (this.textColumn !== null && !this.#isDense) {
      return (await this.#wordSearch()).points(this.rows);
    }
    const all = rowsOf('index', index);
    const rows = presentRows(all);
    const { codes } = await reordered(all, rows, new LongWork());
    return codePoints(rows, codes, (some) => {
      const vectors = this.#isDense ? heldVectors(index, some) : null;
      return vectors !== null && 'dimensions' in vectors ? vectors : null;
    });
  }

  get #isDense(): boolean {
    const { dimensions, vectors } = this.index;
    return dimensions !== undefined && vectors !== 'none';
  }

  /**
   * The rows that meet the filter, or those of them that are nearest to a query: a row, whose id
   * goes before a text. A row does not find itself. A text is compared by the model of the vectors,
   * else by its words with all texts.
   */
  async find({ query, row, filter }: FindRequest): Promise<FindAnswer> {
    const allowed = this.#rowsThatMeet(filter);
    const matching = filter.trim() === '' ? null : [...allowed];
    const base = { total: allowed.length, matching };
    const text = query.trim();
    const like = row ?? this.#rowNamed(query) ?? this.#rowNamed(text) ?? text;
    if (like === '') {
      const cards = this.cardsOf([...allowed.subarray(0, MAX_CARDS)]);
      return { ...base, near: null, cards, compared: null };
    }
    const isByWords = typeof like === 'string' && this.parts.model === null;
    if (isByWords && this.textColumn === null) {
      throw new RangeError(`no row has the id ${like}, and the rows have no texts`);
    }
    const { hits, compared } = isByWords
      ? this.#nearestByWords(await this.#wordSearch(), like, allowed)
      : await this.#nearestTo(like, allowed);
    const cards = this.cardsOf(hits.map((hit) => hit.row));
    return {
      ...base,
      near: typeof like === 'number' ? this.cardsOf([like])[0] : null,
      cards: hits.map((hit, i) => ({ ...hit, ...cards[i] })),
      compared,
    };
  }

  /** The row of an id; undefined where there is none. */
  #rowNamed(text: string): number | undefined {
    const id = idNamed(this.index, text);
    return id === undefined ? undefined : this.index.get(id)?.row;
  }

  /** Hits without their cards, by words: exact. */
  #nearestByWords(words: WordSearch, text: string, allowed: Uint32Array) {
    const isAllowed = new Uint8Array(this.rows.length);
    for (const position of positionsIn(this.rows, allowed)) isAllowed[position] = 1;
    const { texts, cosines } = words.nearest(text, HITS, (position) => isAllowed[position] === 1);
    const hits = Array.from(texts, (position, i) => {
      return { row: this.rows[position], similarity: cosines[i], distance: null };
    });
    return { hits, compared: `exact cosine of ${allOf(allowed)}` };
  }

  /** Hits near a text or a row without their cards, by the index; of sparse rows exactly. */
  async #nearestTo(like: string | number, allowed: Uint32Array) {
    const { index } = this;
    const isRow = typeof like === 'number';
    const held = isRow ? index.get(index.idOf(like) as Id) : undefined;
    const made = isRow ? null : await embed([like], this.parts.model as TextModel);
    const query = made?.values ?? held?.vector ?? held?.code;
    if (!query) throw new RangeError('this row has no code, and no neighbours');
    const others = allowed.filter((other) => other !== like);
    const isSparse = index.vectors === 'sparse';
    const found = index.search(query, {
      k: HITS,
      explain: true,
      filter: others,
      ...(isSparse && { probes: ALL_PARTITIONS, oversample: Math.max(1, others.length) }),
    });
    const hits = Array.from(found.rows, (other, i) => {
      return {
        row: other,
        similarity: found.similarities[i],
        distance: found.distances?.[i] ?? null,
      };
    });
    const { measure } = this.about();
    if (found.rank !== 'exact') return { hits, compared: `${measure} as codes estimate it` };
    const reranked = found.explain?.reranked ?? 0;
    const isAll = isSparse || reranked >= others.length;
    const which = isAll ? allOf(allowed) : `the ${counted(reranked, 'row')} nearest by codes`;
    // A sparse row that shares no dimension with the query, as a text no word, is not found.
    const near = isSparse ? hits.filter((hit) => hit.similarity > 0) : hits;
    return { hits: near, compared: `exact ${measure} of ${which}` };
  }
}

/** Returns a function that works at its first call only; after a failure the next call retries. */
export function once<T>(work: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null;
  return () => {
    made ??= work().catch((error) => {
      made = null;
      throw error;
    });
    return made;
  };
}

/** As many partitions as an index can have. */
const ALL_PARTITIONS = 2 ** 16;

const allOf = ({ length }: Uint32Array) => `all ${counted(length, 'row')}`;

/** First rows whose texts are measured, and the mean length from which these count as prose. */
const PROSE = { rows: 50, characters: 24 } as const;

/** Whether a column has prose, in contrast to names and categories. */
function isProse(columns: RowBatch, name: string): boolean {
  const texts = columns.slice(0, Math.min(PROSE.rows, columns.count)).texts(name);
  const characters = texts.reduce((sum, text) => sum + (text?.length ?? 0), 0);
  return characters >= PROSE.characters * texts.length;
}

/** A value as text for people: of strings, lists and objects at most `most` characters. */
function shown(value: unknown, most: number): string {
  if (typeof value === 'string') return beginning(value, most);
  if (typeof value === 'object' && value !== null) {
    return excerpt(JSON.stringify(value, jsonOf), most);
  }
  return String(value);
}
