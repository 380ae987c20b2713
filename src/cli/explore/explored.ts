/**
 * What `explore` and `report` show: an index that was read from a folder or made of a file, the
 * columns of its rows, and a hasher for queries that are texts. Rows become cards, whose long
 * values are cut. Nothing is changed.
 */

import { basename } from 'node:path';
import type { About, Card, SearchAnswer, SearchRequest, WhyAnswer } from '../../explorer/messages';
import { similaritiesOf } from '../../index/search';
import { liveRows } from '../../measure/measured-rows';
import type { Id, IndexFolder, RowBatch, SimHashIndex, TextHasher } from '../../node';
import type { Call } from '../call';
import { Carried, carriedName, idNamed, isIndexFolder, openFolder } from '../input/index-folder';
import { usualNearness } from '../input/nearness';
import { buildIndex } from '../input/rows-to-index';
import { rowsOfTexts, textHasherOf } from '../input/texts';
import { beginning, excerpt } from '../output/figures';
import { jsonOf } from '../output/table';
import { type WordSearch, wordSearch } from './word-search';

/** Characters, at most, of a value on a card, and of a text that is compared. */
const SNIPPET = 280;
const LONG_TEXT = 20_000;
/** Words or dimensions that are listed as reasons, at most. */
const REASONS = 12;

/** The path of the plan to review: that of --plan, else `docs-plan.jsonl` for `docs.jsonl`. */
export function planPathOf(call: Call, path: string): string {
  const usual = `${path.replace(/[/\\]+$/, '').replace(/\.[^./\\]+$/, '')}-plan.jsonl`;
  return call.text('plan') ?? usual;
}

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
  if (await isIndexFolder(path)) {
    const folder = await openFolder(call, path);
    const index = await call.long(`opening ${basename(path)}`, (work) => folder.index(work));
    const columns = await folder.columns();
    const frequencies = await folder.frequencies();
    const hasher =
      folder.text &&
      (await textHasherOf(call, { settings: folder.text, frequencies }, index.hasher));
    const given = call.text('text');
    const hashedColumn = given === undefined ? null : carriedName(call, folder, given);
    return new Explored({ path, folder, index, columns, hasher, hashedColumn });
  }
  const building = { isWhole: true, areTextsSets };
  const { source, index, columns = null } = await buildIndex(call, path, building);
  const { text, columns: hashed } = source.choice;
  const hashedColumn = text === null ? null : hashed[0];
  return new Explored({
    ...{ path, folder: null, index, columns, hasher: source.textHasher, hashedColumn },
    isByPhrases: text !== null && text.settings.tokens !== 'words',
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
  /** Whether texts were hashed by more than single words. */
  readonly isByPhrases?: boolean;
  /** The column whose texts were hashed, or that the user names. */
  readonly hashedColumn: string | null;
  readonly fileAt?: Explored['fileAt'];
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
  /** The file of a row, where rows are in several files; else undefined. */
  readonly fileAt: (row: number) => string | undefined;
  readonly #columns: RowBatch | null;
  readonly #hasher: TextHasher | null;
  readonly #isByPhrases: boolean;
  /** Made by the first search for a text, where texts were hashed by more than words. */
  #byWords: WordSearch | null = null;

  constructor({ path, folder, index, columns, hasher, hashedColumn, ...parts }: Parts) {
    this.#isByPhrases = parts.isByPhrases === true;
    this.fileAt = parts.fileAt ?? (() => undefined);
    this.path = path;
    this.folder = folder;
    this.index = index;
    this.#columns = columns;
    this.#hasher = hasher;
    this.names = columns?.columns.map(({ name }) => name) ?? [];
    this.carried = new Carried(liveRows(index), (name) => {
      if (name === 'id' && !this.names.includes(name)) {
        return Array.from(this.rows, (row) => index.idOf(row));
      }
      if (columns !== null && this.names.includes(name)) return columns.values(name);
      throw new RangeError(`no column "${name}", there are ${this.names.join(', ') || 'none'}`);
    });
    this.textColumn = hashedColumn ?? (columns && proseColumn(columns));
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
    const { index, rows, path } = this;
    return {
      title: basename(path),
      ...{ rows: rows.length, hasText: this.#hasher !== null, ...measureOf(index) },
      dimensions: index.dimensions ?? null,
      columns: (this.#columns?.columns ?? []).map(({ name, type }) => ({ name, type })),
      ...{ textColumn: this.textColumn, plan, nearness: this.nearness },
    };
  }

  /** Checks a row that a question names; throws a RangeError where there is none, or no more. */
  checkRow(row: unknown): number {
    if (typeof row === 'number' && this.index.idOf(row) !== undefined) return row;
    throw new RangeError(`"row" expected a row that is there, got ${row}`);
  }

  /** The texts of a column for some rows, cut to LONG_TEXT, empty for null; [] without columns. */
  textsAt(name: string, rows: Iterable<number>): string[] {
    const some = this.#columns?.select(this.carried.positionsOf(rows));
    return some?.values(name).map((value) => (value === null ? '' : shown(value, LONG_TEXT))) ?? [];
  }

  /** By row its values as [name, text], of at most `most` characters each; nulls are left out. */
  textsOf(rows: readonly number[], most: number): (readonly [string, string])[][] {
    const columns = this.#columns;
    if (columns === null) return rows.map(() => []);
    const some = columns.select(this.carried.positionsOf(rows));
    const values = this.names.map((name) => some.values(name));
    return rows.map((_, i) =>
      this.names.flatMap((name, column): (readonly [string, string])[] => {
        const value = values[column][i];
        return value === null || value === undefined ? [] : [[name, shown(value, most)]];
      }),
    );
  }

  /** The cards of some rows, in the order given; the text that rows are shown by is a field. */
  cardsOf(rows: readonly number[]): Card[] {
    return this.textsOf(rows, SNIPPET).map((values, i) => ({
      ...{ row: rows[i], id: shown(this.index.idOf(rows[i]), SNIPPET) },
      text: values.find(([name]) => name === this.textColumn)?.[1] ?? null,
      values: values.filter(([name]) => name !== this.textColumn),
    }));
  }

  /** The values of some rows for a person to compare: as `textsOf`, but long. */
  comparedOf(rows: readonly number[]): (readonly [string, string])[][] {
    return this.textsOf(rows, LONG_TEXT);
  }

  /**
   * The k rows nearest to a text, a row, an id or a vector, among those that meet the filter. A row
   * does not find itself. Synchronous: other questions wait meanwhile.
   */
  search({ text, id, row: given, vector, k, filter }: SearchRequest): SearchAnswer {
    const row = id === undefined ? given : this.#rowNamed(id);
    const { index, hasher } = this.#searched(text);
    const query = this.#queryOf({ text, row, vector }, hasher);
    const allowed = filter.trim() === '' ? null : this.carried.rowsThatMeet(filter);
    const isOther = (_: unknown, other: number) => other !== row;
    const start = performance.now();
    const options = { k, filter: allowed?.filter((other) => other !== row) ?? isOther };
    const found = index.search(query, row === undefined && !allowed ? { k } : options);
    const milliseconds = performance.now() - start;
    const cards = this.cardsOf([...found.rows]);
    const isExact = found.rank === 'exact';
    const hits = cards.flatMap((card, i) => {
      // A text that shares no word with the query is not found by it.
      const similarity = similaritiesOf(found)[i];
      if (text !== undefined && isExact && similarity <= 0) return [];
      return [{ ...card, distance: found.distances[i], similarity }];
    });
    const own = row === undefined ? null : this.cardsOf([row])[0];
    return { query: own, hits, isExact, ...measureOf(index), milliseconds };
  }

  /** The row whose id a text means; throws a RangeError where there is none. */
  #rowNamed(text: string): number {
    const id = idNamed(this.index, text.trim());
    const held = id === undefined ? undefined : this.index.get(id);
    if (held === undefined) throw new RangeError(`no row has the id ${text.trim()}`);
    return held.row;
  }

  /** The index to search, and its hasher: for a text, one by single words where there can be. */
  #searched(text: string | undefined): { index: SimHashIndex; hasher: TextHasher | null } {
    if (text === undefined || !this.#isByPhrases || this.textColumn === null) {
      return { index: this.index, hasher: this.#hasher };
    }
    this.#byWords ??= wordSearch(this.textsAt(this.textColumn, this.rows));
    return this.#byWords;
  }

  /** What the index searches for: a row's vector if it is held, else its code; or what is given. */
  #queryOf({ text, row, vector }: Partial<SearchRequest>, hasher: TextHasher | null) {
    if (row !== undefined) {
      const held = this.index.get(this.index.idOf(this.checkRow(row)) as Id);
      const query = held?.vector ?? held?.code;
      if (!query) throw new RangeError('this row has no code, and no neighbours');
      return query;
    }
    if (vector !== undefined) return Float64Array.from(vector);
    if (hasher === null) throw new RangeError('the rows are not of texts: search by a row');
    const [{ indices, values }] = rowsOfTexts(hasher, [text ?? '']); // a matrix of one row
    if (values.length === 0) throw new RangeError('the query has no words that count');
    return { indices, values };
  }

  /**
   * Why a row is near to a text or to another row: the words or the dimensions that add most to
   * their cosine. Null where neither texts nor dense vectors are there.
   */
  why({ text, other, row }: { text?: string; other?: number; row: number }): WhyAnswer | null {
    const [a, b] = [other === undefined ? null : this.checkRow(other), this.checkRow(row)];
    const textOf = (one: number) =>
      this.comparedOf([one])[0].find(([name]) => name === this.textColumn)?.[1] ?? '';
    const { hasher } = this.#searched(text);
    if (hasher !== null && this.textColumn !== null) {
      const first = text ?? (a === null ? '' : textOf(a));
      const { together, onlyA, onlyB } = hasher.explain(first, textOf(b));
      const words = (all: readonly { word: string }[]) =>
        all.slice(0, REASONS).map(({ word }) => word);
      return {
        together: together.slice(0, REASONS).map(({ word, share }) => [word, share]),
        ...{ onlyA: words(onlyA), onlyB: words(onlyB) },
      };
    }
    if (a === null) return null;
    const [one, two] = [a, b].map((each) => this.index.get(this.index.idOf(each) as Id)?.vector);
    if (!ArrayBuffer.isView(one) || !ArrayBuffer.isView(two)) return null;
    return { together: dimensionShares(one, two), onlyA: [], onlyB: [] };
  }
}

/** What the distances of an index estimate, and the bits of its codes. */
function measureOf({ bits, hasher }: SimHashIndex): Pick<About, 'measure' | 'bits'> {
  return { measure: hasher.projection === 'minwise' ? 'Jaccard similarity' : 'cosine', bits };
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
