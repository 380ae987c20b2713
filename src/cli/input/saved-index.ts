/**
 * Saved indexes as the verbs use them, folders and single Arrow files: opens one, compares its
 * options with those of the call, finds its ids by words of the command line, reads and filters
 * its carried columns by row.
 */

import { stat } from 'node:fs/promises';
import { parse } from 'node:path';
import { lowerBound } from '../../base/arrays';
import { readWhole } from '../../formats/file-io';
import { formatOfPath } from '../../formats/row-reader';
import { isAddress } from '../../formats/web-source';
import { coreOf } from '../../index/simhash-index';
import {
  type Id,
  IndexFolder,
  indexFromArrow,
  RowBatch,
  SimHashIndex,
  type StoredIndex,
} from '../../node';
import { isIndexFolder } from '../../store/generations';
import type { Call } from '../call';
import { comparable, type Filter, parseFilter } from './filter-text';
import type { Likeness } from './input-rows';
import { columnOf } from './open-input';

/** Opens the folder of an index. Fails, with what to do, where the path is something else. */
export async function openFolder(call: Call, path: string): Promise<IndexFolder> {
  await stat(path); // throws the system's error if the path is missing
  if (!(await isIndexFolder(path))) {
    call.fail(`${path} is no index folder: make one by halfspace index IN -o ${path}`);
  }
  return IndexFolder.open(path);
}

/** What a search needs of a saved index, be it a folder or one Arrow file. */
export type SavedIndex = Pick<
  IndexFolder,
  'path' | 'options' | 'idKind' | 'text' | 'columnInfo' | 'columns' | 'frequencies' | 'index'
>;

/**
 * Opens an index folder, or reads the one Arrow file of an index. The file is read as a whole, and
 * has no columns and no settings of texts: it is searched by rows, vectors and codes.
 */
export async function openSaved(call: Call, path: string): Promise<SavedIndex> {
  if (path === '-' || isAddress(path)) {
    call.misuse('search reads an index from a folder or a file, not from stdin or a host');
  }
  if (!(await stat(path)).isFile()) return openFolder(call, path);
  if (!['arrow', 'arrows', null].includes(formatOfPath(path))) {
    const { name } = parse(path);
    call.misuse(`${path} is no index: make one first, by halfspace index ${path} -o ${name}.hs`);
  }
  if (call.has('memory')) call.misuse('--memory is for an index folder, not for one file');
  const bytes = await readWhole(path);
  const index = indexFromArrow(bytes, { file: path });
  return {
    path,
    options: { ...index.hasher.options, vectors: index.vectors },
    idKind: coreOf(index).idKind,
    text: null,
    frequencies: async () => null,
    columnInfo: [],
    columns: async () => null,
    index: async () => index,
  };
}

/** How rows and queries are read to be compared with those of an index. */
export async function likenessOf(folder: SavedIndex): Promise<Likeness> {
  const { path, options, text: made } = folder;
  const model = made !== null && 'model' in made ? made : null;
  const settings = made !== null && 'tokens' in made ? made : null;
  const text = settings && { settings, frequencies: await folder.frequencies() };
  return { path, options, text, model };
}

/**
 * Refuses options of the call that differ from those of the index: codes and vectors that are made
 * otherwise cannot be compared. Options that are not given are taken from the index.
 */
export function refuseOtherSettings(
  call: Call,
  folder: Pick<IndexFolder, 'options' | 'text' | 'path'>,
): void {
  const { bits, seed, projection, vectors } = folder.options;
  const text = folder.text !== null && 'tokens' in folder.text ? folder.text : null;
  const ofText = text && { tokens: text.tokens, counting: text.counting };
  // That of k-means is of the call.
  const drawn = call.has('clusters') ? {} : { seed };
  const own = { bits, ...drawn, projection, vectors, ...ofText };
  for (const [name, value] of Object.entries(own)) {
    const given = call.has(name) ? call.text(name) : undefined;
    if (given === undefined || given === String(value)) continue;
    const is = value === undefined ? `no --${name}` : `--${name} ${value}`;
    call.fail(`${folder.path} was made with ${is}, not ${given}: leave out --${name}`);
  }
}

/** All ids that a word of the command line can mean: `12` is a text, a number and a bigint. */
export function idsNamed(text: string): Id[] {
  return /^[+-]?\d+$/.test(text) ? [text, Number(text), BigInt(text)] : [text];
}

/** The id that a word means, of the kind that the index has; undefined if it has none of them. */
export function idNamed(known: { has(id: Id): boolean }, text: string): Id | undefined {
  return idsNamed(text).find((id) => known.has(id));
}

/**
 * Those of some rows that meet a filter, in their order. `valuesOf` gives a column, a value for
 * each of the rows.
 */
export function rowsThatMeet(
  { columns, meets }: Filter,
  rows: Uint32Array,
  valuesOf: (column: string) => readonly unknown[],
): Uint32Array {
  const values = new Map(columns.map((name) => [name, valuesOf(name)]));
  let at = 0;
  const valueIn = (name: string) => values.get(name)?.[at];
  return rows.filter((_, position) => {
    at = position;
    return meets(valueIn);
  });
}

/** The positions of some rows among ascending ones. */
export function positionsIn(rows: Uint32Array, some: ArrayLike<number>): Uint32Array {
  return Uint32Array.from(some, (row) => lowerBound(rows, row));
}

export type SearchedIndex = SimHashIndex | StoredIndex;

/**
 * Returns a function that gives carried columns of some rows, in the types that the index has. Of
 * an index in memory the columns are read now; of one in its files, at each call.
 */
export async function carriedReader(
  folder: SavedIndex,
  index: SearchedIndex,
  names: readonly string[],
): Promise<(rows: Uint32Array) => Promise<RowBatch>> {
  if (names.length === 0) return async () => RowBatch.of({});
  if (!(index instanceof SimHashIndex)) return (rows) => index.columns(names, { rows });
  const columns = (await folder.columns(names)) ?? RowBatch.of({});
  const live = coreOf(index).rows.liveRows();
  return async (rows) => columns.select(positionsIn(live, rows));
}

/** --filter, null without it; a misuse where it names a column that the index does not carry. */
export function filterOf(call: Call, folder: SavedIndex): Filter | null {
  const text = call.text('filter');
  if (text === undefined) return null;
  const filter = parseFilter(text);
  for (const name of filter.columns) carriedName(call, folder, name);
  return filter;
}

/** The rows that a filter lets through, ascending. */
export async function rowsOfFilter(
  filter: Filter,
  folder: SavedIndex,
  index: SearchedIndex,
): Promise<Uint32Array> {
  const rows = index instanceof SimHashIndex ? coreOf(index).rows.liveRows() : await index.rows();
  const batch = await (await carriedReader(folder, index, filter.columns))(rows);
  return rowsThatMeet(filter, rows, (name) => comparable(batch, name));
}

/** Returns the name if the index carries such a column; else a misuse with the names of all. */
export function carriedName(call: Call, folder: SavedIndex, name: string): string {
  return columnOf(call, { file: folder.path, columns: folder.columnInfo }, name).name;
}
