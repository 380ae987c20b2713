/**
 * An index folder as the verbs open it: recognized by its manifest, its options compared with those
 * of the call, its ids found by the words of the command line, its carried columns read and
 * filtered by row, and what it says of itself.
 */

import { readdir, stat } from 'node:fs/promises';
import { lowerBound } from '../../base/arrays';
import { measureOf } from '../../codes/measure';
import { readWhole } from '../../formats/file-io';
import { partsOf as internalsOf } from '../../index/simhash-index';
import { liveRows } from '../../measure/rows';
import {
  type Id,
  IndexFolder,
  indexFromArrow,
  RowBatch,
  SimHashIndex,
  type StoredIndex,
} from '../../node';
import { columnsOfIndex } from '../../table/sealed/carried-columns';
import type { Call } from '../call';
import { bytesText, counted, grouped } from '../output/figures';
import { parseFilter } from './filter';
import { allOfStdin } from './open-input';

/** True of a folder that has a manifest, sound or not. */
export async function isIndexFolder(path: string): Promise<boolean> {
  const names = await readdir(path).catch(() => []);
  return names.some((name) => /^manifest(-\d+)?\.json$/.test(name));
}

/** The folder of an index; whatever else is there is a failure that says so. */
export async function openFolder(call: Call, path: string): Promise<IndexFolder> {
  await stat(path); // no such folder: the system's own error
  if (!(await isIndexFolder(path))) {
    call.fail(`${path} is no index folder: make one by halfspace index IN -o ${path}`);
  }
  return IndexFolder.open(path);
}

/** What a search needs of an index: that of a folder, or of one Arrow file. */
export type SavedIndex = Pick<
  IndexFolder,
  'path' | 'options' | 'idKind' | 'text' | 'columnInfo' | 'columns' | 'frequencies' | 'index'
>;

/** Opens a folder, or reads the one file of an index, which is `-` on stdin. */
export async function openSaved(call: Call, path: string): Promise<SavedIndex> {
  if (path !== '-' && !(await stat(path)).isFile()) return openFolder(call, path);
  if (call.has('memory')) call.misuse('--memory is for an index folder, not for one file');
  const bytes = path === '-' ? await allOfStdin(call) : await readWhole(path);
  const file = path === '-' ? 'stdin' : path;
  const index = indexFromArrow(bytes, { file });
  const carried = columnsOfIndex(bytes, file);
  return {
    path: file,
    options: { ...index.hasher.options, vectors: index.vectors },
    idKind: internalsOf(index).ids.kind,
    ...{ text: null, frequencies: async () => null },
    ...{ columnInfo: carried?.columns ?? [], columns: async () => carried },
    index: async () => index,
  };
}

/** Options that are given must be those of the index: rows made otherwise do not compare. */
export function refuseOtherSettings(
  call: Call,
  folder: Pick<IndexFolder, 'options' | 'text' | 'path'>,
): void {
  const { bits, seed, projection, vectors } = folder.options;
  const { tokens, normalize, stopWords, counting, keywords, hash } = folder.text ?? {};
  const letterCase = folder.text?.case ?? 'lower';
  const ofWords = { tokens, normalize, case: letterCase, 'stop-words': stopWords };
  const ofText = folder.text && { ...ofWords, counting, keywords, hash };
  const measure = measureOf(projection).name;
  const own = { bits, seed, measure, projection, vectors, ...ofText };
  for (const [name, value] of Object.entries(own)) {
    const given = call.has(name) ? [...call.list(name)].sort().join(',') : undefined;
    if (given === undefined || given === String(value)) continue;
    const is = value === undefined ? `no --${name}` : `--${name} ${value}`;
    call.fail(`${folder.path} was made with ${is}, not ${given}: leave out --${name}`);
  }
}

/** What says which ids there are: an index, or a set. */
interface KnownIds {
  has(id: Id): boolean;
}

/** The ids that a text may name. */
export function idsNamed(text: string): Id[] {
  return /^[+-]?\d+$/.test(text) ? [text, Number(text), BigInt(text)] : [text];
}

/** The id that a text names, of the kind that the index has. */
export function idNamed(index: KnownIds, text: string): Id | undefined {
  return idsNamed(text).find((id) => index.has(id));
}

/** The parts of a word of the command line between commas. */
export function wordParts(word: string): string[] {
  return word.split(',').map((part) => part.trim());
}

/**
 * What a word of the command line names: itself where the index has that id, else its parts between
 * commas. Where it has both, the word could mean either and is refused.
 */
export function partsOf(call: Call, index: KnownIds, word: string): readonly string[] {
  const parts = wordParts(word);
  if (parts.length === 1 || idNamed(index, word) === undefined) return parts;
  if (parts.every((part) => idNamed(index, part) !== undefined)) {
    call.misuse(`"${word}" is an id, and a list of ids: the index has them all`);
  }
  return [word];
}

/** A name and a value, for a person. */
export type Fact = readonly [name: string, value: string];

/** Those facts that have a value. */
export function factsOf(facts: Readonly<Record<string, unknown>>): Fact[] {
  return Object.entries(facts).flatMap(([name, value]): Fact[] =>
    value === undefined || value === null ? [] : [[name, String(value)]],
  );
}

/** What the manifest of a folder says. */
export function folderFacts(folder: IndexFolder): Fact[] {
  const { generation, rowCount, options, text, files, columnInfo } = folder;
  const { bits, projection, seed, dimensions, vectors, mean } = options;
  const texts = Object.entries(text ?? {}).map(([name, value]) => `${name} ${value}`);
  const columns = columnInfo.map(({ name, type }) => `${name} (${type})`);
  return factsOf({
    ...{ rows: grouped(rowCount), bits, projection, seed: seed ?? 0, dimensions },
    vectors: vectors ?? 'none',
    mean: mean && 'subtracted from vectors before they are hashed',
    texts: text && texts.join(', '),
    columns: columns.join(', ') || 'none',
    generation,
    size: `${bytesText(bytesOf(folder))} in ${counted(files.length, 'file')}`,
  });
}

/** Bytes of all files of the newest generation. */
export function bytesOf({ files }: IndexFolder): number {
  return files.reduce((sum, file) => sum + file.bytes, 0);
}

/** Carried columns in memory, by row; rows that were removed have no values. */
export class Carried {
  readonly #all = new Map<string, readonly unknown[]>();

  /** `read` gives the values of a column, one for each of `rows`, which ascend; called once. */
  constructor(
    readonly rows: Uint32Array,
    private readonly read: (name: string) => readonly unknown[],
  ) {}

  /** Reads columns of a folder, which must have them, for the rows of its index. */
  static async read(
    folder: SavedIndex,
    index: SimHashIndex | StoredIndex,
    names: readonly string[],
  ): Promise<Carried> {
    if (names.length === 0) return new Carried(new Uint32Array(), () => []);
    const own = [...new Set(names)];
    if (index instanceof SimHashIndex) {
      const isCarried = (name: string) => folder.columnInfo.some((column) => column.name === name);
      const columns = await folder.columns(own.filter(isCarried));
      const rows = liveRows(index);
      const ids = () => Array.from(rows, (row) => index.idOf(row));
      return new Carried(rows, (name) => (isCarried(name) ? (columns?.values(name) ?? []) : ids()));
    }
    const values = await index.columns(own);
    return new Carried(await index.rows(), (name) => values[name]);
  }

  /** All values of a column, in the order of `rows`. */
  all(name: string): readonly unknown[] {
    const values = this.#all.get(name) ?? this.read(name);
    this.#all.set(name, values);
    return values;
  }

  /** Positions in `rows` of some of them. */
  positionsOf(some: Iterable<number>): Uint32Array {
    return Uint32Array.from(some, (row) => lowerBound(this.rows, row));
  }

  /** The values of a column for some rows. */
  valuesOf(name: string, rows: Iterable<number>): unknown[] {
    const values = this.all(name);
    return Array.from(this.positionsOf(rows), (position) => values[position] ?? null);
  }

  /** The rows that a filter lets through; all where it is empty. */
  rowsThatMeet(filter: string): Uint32Array {
    if (filter.trim() === '') return this.rows;
    const { placesThatMeet } = parseFilter(filter);
    const positions = placesThatMeet((name) => this.all(name), [...this.rows.keys()]);
    return Uint32Array.from(positions, (position) => this.rows[position]);
  }
}

/** Reads carried columns, in the types that the index has, of rows that are asked for later. */
export async function carriedReader(
  folder: SavedIndex,
  index: SimHashIndex | StoredIndex,
  names: readonly string[],
): Promise<(rows: Uint32Array) => Promise<RowBatch>> {
  if (names.length === 0) return async () => RowBatch.of({});
  if (!(index instanceof SimHashIndex)) return (rows) => index.carried(names, rows);
  const all = await folder.columns(names);
  const own = Object.fromEntries(names.map((name) => [name, all?.column(name) ?? []]));
  const [columns, live] = [RowBatch.of(own), liveRows(index)];
  return async (rows) => columns.select(rows.map((row) => lowerBound(live, row)));
}

/** The columns that a filter asks for, all of which the index must carry; `id` is there always. */
export function columnsOfFilter(call: Call, folder: SavedIndex): readonly string[] {
  const filter = call.text('filter');
  if (filter === undefined) return [];
  return parseFilter(filter).columns.map((column) => {
    const isId = column === 'id' && !call.has('memory');
    return isId ? column : carriedName(call, folder, column);
  });
}

/** Fails where the index carries no column of that name; the error names those that it does. */
export function carriedName(call: Call, folder: SavedIndex, name: string): string {
  const names = folder.columnInfo.map((column) => column.name);
  if (names.includes(name)) return name;
  const there = names.length === 0 ? 'no columns' : names.join(', ');
  return call.fail(`${folder.path} does not carry a column "${name}", it carries ${there}`);
}
