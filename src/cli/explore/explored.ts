/**
 * What is explored: an index of a folder, or one made of a file, with its columns, and how a text
 * becomes a query. Rows are shown as cards, whose long values are cut; nothing is changed.
 */

import { basename } from 'node:path';
import type { About, Card, SearchAnswer, SearchRequest, WhyAnswer } from '../../explorer/messages';
import { similaritiesOf } from '../../index/search';
import { liveRows } from '../../measure/rows';
import type { Id, IndexFolder, RowBatch, SimHashIndex, TextHasher } from '../../node';
import type { Call } from '../call';
import { Carried, carriedName, idNamed, isIndexFolder, openFolder } from '../input/index-folder';
import { buildIndex } from '../input/index-rows';
import { usualNearness } from '../input/nearness';
import { rowsOfTexts, textHasherOf } from '../input/texts';
import { beginning, excerpt } from '../output/figures';
import { type WordSearch, wordSearch } from './word-search';

/** Most characters of a value on a card, and of a text that is read in whole. */
const SNIPPET = 280;
const LONG_TEXT = 20_000;
/** Words and dimensions that are listed as reasons. */
const REASONS = 12;

/** The plan that is reviewed: of --plan, else `docs-plan.jsonl` next to `docs.jsonl`. */
export function planPathOf(call: Call, path: string): string {
  const usual = `${path.replace(/[/\\]+$/, '').replace(/\.[^./\\]+$/, '')}-plan.jsonl`;
  return call.text('plan') ?? usual;
}

/**
 * Opens what is explored; reading a file takes the hashing options of the call. Texts are compared
 * as `dedup` compares them, as sets, unless told otherwise.
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
    const told = call.text('text');
    const hashedColumn = told === undefined ? null : carriedName(call, folder, told);
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

interface Parts {
  readonly path: string;
  /** Null where the rows are of a file. */
  readonly folder: IndexFolder | null;
  readonly index: SimHashIndex;
  /** Of the rows that are there, in their order. */
  readonly columns: RowBatch | null;
  /** Null where the rows are not of texts. */
  readonly hasher: TextHasher | null;
  /** Whether the texts were hashed by more than single words. */
  readonly isByPhrases?: boolean;
  /** The column whose texts were hashed, or that the user names. */
  readonly hashedColumn: string | null;
  readonly fileAt?: Explored['fileAt'];
}

/** Rows and what is asked of them. */
export class Explored {
  readonly path: string;
  readonly folder: IndexFolder | null;
  readonly index: SimHashIndex;
  /** The columns of the rows that are there, each as a whole. */
  readonly carried: Carried;
  /** The column that rows are shown by: texts. */
  readonly textColumn: string | null;
  readonly names: readonly string[];
  /** The file of a row, where they lie in several. */
  readonly fileAt: (row: number) => string | undefined;
  readonly #columns: RowBatch | null;
  readonly #hasher: TextHasher | null;
  readonly #isByPhrases: boolean;
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

  /** The rows that are there, ascending. */
  get rows(): Uint32Array {
    return this.carried.rows;
  }

  /** What is near without a choice of the user: as `dedup` takes it. */
  get nearness(): About['nearness'] {
    return usualNearness(this.index);
  }

  /** What the page is told first; `plan` is the file that decisions go to. */
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

  /** The row of a number from outside; throws a RangeError where none is there. */
  checkRow(row: unknown): number {
    if (typeof row === 'number' && this.index.idOf(row) !== undefined) return row;
    throw new RangeError(`"row" expected a row that is there, got ${row}`);
  }

  /** The texts of a column for some rows, empty where there is none. */
  textsAt(name: string, rows: Iterable<number>): string[] {
    const some = this.#columns?.select(this.carried.positionsOf(rows));
    return some?.values(name).map((value) => (value === null ? '' : shown(value, LONG_TEXT))) ?? [];
  }

  /** Values of all columns for a few rows, as texts of at most `most` characters. */
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

  /** Cards of rows that are there. */
  cardsOf(rows: readonly number[]): Card[] {
    return this.textsOf(rows, SNIPPET).map((values, i) => ({
      ...{ row: rows[i], id: shown(this.index.idOf(rows[i]), SNIPPET) },
      text: values.find(([name]) => name === this.textColumn)?.[1] ?? null,
      values: values.filter(([name]) => name !== this.textColumn),
    }));
  }

  /** The texts of the rows by which duplicates are compared. */
  comparedOf(rows: readonly number[]): (readonly [string, string])[][] {
    return this.textsOf(rows, LONG_TEXT);
  }

  /** The rows nearest to a text, a row or a vector. A row does not find itself. */
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

  #rowNamed(text: string): number {
    const id = idNamed(this.index, text.trim());
    const held = id === undefined ? undefined : this.index.get(id);
    if (held === undefined) throw new RangeError(`no row has the id ${text.trim()}`);
    return held.row;
  }

  /** What a query is searched in: for a text, rows by their words. */
  #searched(text: string | undefined): { index: SimHashIndex; hasher: TextHasher | null } {
    if (text === undefined || !this.#isByPhrases || this.textColumn === null) {
      return { index: this.index, hasher: this.#hasher };
    }
    this.#byWords ??= wordSearch(this.textsAt(this.textColumn, this.rows));
    return this.#byWords;
  }

  #queryOf({ text, row, vector }: Partial<SearchRequest>, hasher: TextHasher | null) {
    if (row !== undefined) {
      const held = this.index.get(this.index.idOf(this.checkRow(row)) as Id);
      const query = held?.vector ?? held?.code;
      if (!query) throw new RangeError('this row has no code, and no neighbours');
      return query;
    }
    if (vector !== undefined) return Float64Array.from(vector);
    if (hasher === null) throw new RangeError('the rows are not of texts: search by a row');
    const [{ indices, values }] = rowsOfTexts(hasher, [text ?? '']); // of one row
    if (values.length === 0) throw new RangeError('the query has no words that count');
    return { indices, values };
  }

  /** Why a row is near to a text or to another row; null where that is not known. */
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

/** What the distances of an index estimate, and their bits. */
function measureOf({ bits, hasher }: SimHashIndex): Pick<About, 'measure' | 'bits'> {
  return { measure: hasher.projection === 'minwise' ? 'Jaccard similarity' : 'cosine', bits };
}

/** Rows that are looked at for texts, and the mean length from which they are more than names. */
const PROSE = { rows: 50, characters: 24 } as const;

/** The first column of texts that are more than names or categories. */
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

/** The dimensions that add most to a cosine, with their parts of it. */
function dimensionShares(one: ArrayLike<number>, two: ArrayLike<number>) {
  const lengthOf = (values: ArrayLike<number>) =>
    Math.sqrt(Array.from(values).reduce((sum, value) => sum + value * value, 0));
  const length = lengthOf(one) * lengthOf(two);
  return Array.from(one, (value, i) => [`dimension ${i}`, (value * two[i]) / length] as const)
    .sort((a, b) => b[1] - a[1])
    .slice(0, REASONS);
}

/** A value as text for people, at most so many characters of it. */
function shown(value: unknown, most: number): string {
  if (typeof value === 'string') return beginning(value, most);
  if (value instanceof Date) return value.toISOString();
  if (typeof value === 'object' && value !== null) {
    return excerpt(
      JSON.stringify(value, (_, one) => (typeof one === 'bigint' ? String(one) : one)),
      most,
    );
  }
  return String(value);
}
