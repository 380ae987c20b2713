/**
 * Files of pairs of rows: near ones for `dedup --pairs`, as `halfspace pairs` or another program
 * wrote them, and labelled ones for `calibrate --pairs`, each with a person's judgement whether the
 * two are the same. Ids are compared as text, since a number in one file may be text in another. A
 * pair that cannot be meant is bad data (exit code 3), and the error names its row.
 */

import { concatenated } from '../../base/arrays';
import { textOfFormula } from '../../formats/csv/csv-text';
import { checkPairs } from '../../near/groups';
import { type RowPairs, rowsOf } from '../../near/rows';
import type { KnownPairs, RowReader } from '../../node';
import type { Call } from '../call';
import { badData } from '../errors';
import { allRows, type Collection } from './collection';
import { LEAST } from './near';
import { batchesOf, type Input, nameOfInput, openInput } from './open-input';

/** Options that say which rows are near, which the pairs do, or that compare further rows. */
const NOT_WITH_PAIRS = ['max-distance', ...LEAST, 'within', 'extend', 'against'];
/** The columns of the two rows of a pair. */
const ENDS = ['a', 'b'] as const;

/**
 * Opens the file of `--pairs`, or the Arrow stream on stdin for `-`, before the rows of `input` are
 * read. Refuses options that do not go with it, and a file without the columns.
 */
export async function openPairs(call: Call, input: Input): Promise<RowReader> {
  const path = call.text('pairs') as string;
  const other = NOT_WITH_PAIRS.find((name) => call.has(name));
  if (other !== undefined) call.misuse(`--${other} does not go with --pairs, which decide`);
  const isStdin = path === '-';
  if (isStdin && input === '-') call.misuse('stdin has the rows or their pairs, not both');
  const stream = { format: 'arrows', expectEnd: true } as const;
  const reader = await openInput(call, path, undefined, isStdin ? stream : {});
  const names = reader.columns.map(({ name }) => name);
  const ids = ENDS.map((end) => `id_${end}`);
  const columns = [ENDS, ids].filter((two) => two.every((name) => names.includes(name))).flat();
  if (columns.length === 0) {
    const expected = 'expected the columns a and b (rows) or id_a and id_b (their ids)';
    throw badData(`${reader.file}: ${expected}, got ${names.join(', ') || 'none'}`);
  }
  if (isStdin) return reader;
  // Opened once more to read only these columns, ids as text: by that they are compared.
  await reader.close();
  const types = Object.fromEntries(ids.map((name) => [name, 'text' as const]));
  return openInput(call, path, columns, columns.includes(ids[0]) ? { types } : {});
}

/**
 * Reads the near pairs as rows of a collection: by row, in the columns a and b, or by id, in id_a
 * and id_b. In a file that has all four, the ids must be those of the rows.
 */
export async function readPairs(
  call: Call,
  reader: RowReader,
  rows: Collection,
): Promise<RowPairs> {
  const has = (column: string) => reader.columns.some(({ name }) => name === column);
  const idOf = (value: unknown) =>
    reader.format === 'csv' ? textOfFormula(String(value)) : String(value);
  const isByRow = has('a') && has('b');
  const hasIds = has('id_a') && has('id_b');
  const name = nameOfInput(rows.path);
  if (!isByRow && rows.ids === null) {
    call.fail(`${name} has no ids, which the pairs go by: name their column by --id`);
  }
  const known = isByRow ? null : new RowIds(rows);
  const parts = { a: [] as Uint32Array[], b: [] as Uint32Array[] };
  for await (const batch of batchesOf(call, reader)) {
    const fail = (i: number, text: string): never => {
      throw badData(`${reader.file}: row ${batch.firstRow + i}: ${text}`);
    };
    for (const end of ENDS) {
      const ids = hasIds && rows.ids !== null ? batch.values(`id_${end}`) : null;
      const numbers = isByRow ? batch.values(end) : null;
      const rowAt = (i: number): number => {
        const id = ids && idOf(ids[i]);
        if (known !== null) {
          return known.rowOf(id as string) ?? fail(i, known.whyNone(id as string, name));
        }
        const row = Number(numbers?.[i] ?? -1);
        if (!(Number.isInteger(row) && row >= 0 && row < rows.count)) {
          return fail(i, `"${end}" expected a row in 0..${rows.count - 1}, got ${numbers?.[i]}`);
        }
        if (id === null || id === String(rows.ids?.[row])) return row;
        const found = `the id of row ${row} is "${rows.ids?.[row]}", not "${id}"`;
        return fail(i, `${found}: these are pairs of other rows`);
      };
      parts[end].push(Uint32Array.from({ length: batch.count }, (_, i) => rowAt(i)));
    }
  }
  const pairs = { a: concatenated(parts.a), b: concatenated(parts.b) };
  try {
    checkPairs(pairs, rowsOf('rows', rows.source).codes);
  } catch (error) {
    const text = (error as Error).message.replace(/^pairs\."(.)"\[(\d+)\]/, 'row $2: "$1"');
    throw badData(`${reader.file}: ${text}`, { cause: error });
  }
  return pairs;
}

/** Rows by their ids as text; rows without ids go by their numbers. */
class RowIds {
  readonly #rowOf = new Map<string, number>();
  /** By id a second row that has it. */
  readonly #second = new Map<string, number>();

  /** Of the ids in `wanted`, or of all. */
  constructor(rows: Collection, wanted?: ReadonlySet<string>) {
    for (const row of allRows(rows)) {
      const id = String(rows.ids?.[row] ?? row);
      if (wanted !== undefined && !wanted.has(id)) continue;
      if (this.#rowOf.has(id)) this.#second.set(id, row);
      else this.#rowOf.set(id, row);
    }
  }

  /** The only row of an id; undefined if there is none, or several. */
  rowOf(id: string): number | undefined {
    return this.#second.has(id) ? undefined : this.#rowOf.get(id);
  }

  /** Why an id has no row of its own; `name` is that of the rows' input. */
  whyNone(id: string, name: string): string {
    const second = this.#second.get(id);
    if (second === undefined)
      return `no row of ${name} has the id "${id}"; --id chooses its column`;
    return `rows ${this.#rowOf.get(id)} and ${second} of ${name} have the id "${id}"`;
  }
}

/** A labelled pair: the ids of two rows. */
interface Label {
  readonly a: string;
  readonly b: string;
  readonly isSame: boolean;
}

/** Values of the third column, in lower case, and what they say. */
const ANSWERS: Readonly<Record<string, boolean>> = { true: true, 1: true, false: false, 0: false };
const COLUMNS = 'three columns: an id, another id, and whether they are the same (true or false)';

/**
 * Reads the labels from the first three columns of a file of any format. A pair that is repeated,
 * in either order, counts once. Refuses an id that is missing or nested, two equal ids, an answer
 * that is neither yes nor no, two answers to a pair, and a file in which nothing is the same.
 */
export async function readLabels(call: Call, path: string): Promise<Label[]> {
  const reader = await openInput(call, path, undefined, {});
  const names = reader.columns.map(({ name }) => name);
  if (names.length < 3) {
    throw badData(`${path}: expected ${COLUMNS}; got ${names.join(', ') || 'none'}`);
  }
  const known = new Map<string, Label & { readonly row: number }>();
  for await (const batch of batchesOf(call, reader)) {
    const [one, other, answers] = names.slice(0, 3).map((name) => batch.values(name));
    for (let i = 0; i < batch.count; i++) {
      const row = batch.firstRow + i;
      const fail = (text: string): never => {
        throw badData(`${path}: row ${row}: ${text}`);
      };
      const [a, b] = [one[i], other[i]].map((id) => {
        return id === null || id === undefined || typeof id === 'object'
          ? fail(`expected two ids, got ${JSON.stringify(id ?? null)}`)
          : String(id);
      });
      const isSame = ANSWERS[String(answers[i]).toLowerCase()];
      const pair = `"${a}" and "${b}"`;
      if (isSame === undefined) {
        fail(`expected true, false, 1 or 0 for ${pair}, got ${JSON.stringify(answers[i])}`);
      }
      if (a === b) fail(`"${a}" is paired with itself`);
      const key = JSON.stringify([a, b].sort());
      const before = known.get(key);
      if (before === undefined) known.set(key, { a, b, isSame, row });
      else if (before.isSame !== isSame) {
        fail(`${pair} are ${isSame ? '' : 'not '}the same, row ${before.row} says otherwise`);
      }
    }
  }
  const labels = [...known.values()];
  if (labels.some(({ isSame }) => isSame)) return labels;
  throw badData(`${path}: expected one pair or more that is the same, all are false`);
}

/** The labels as pairs of rows. Refuses an id of no row or of several, and rows without a code. */
export function labelledRows(labels: readonly Label[], rows: Collection, file: string): KnownPairs {
  const known = new RowIds(rows, new Set(labels.flatMap(({ a, b }) => [a, b])));
  const { codes } = rowsOf('rows', rows.source);
  const rowAt = (id: string): number => {
    const row = known.rowOf(id);
    if (row === undefined) throw badData(`${file}: ${known.whyNone(id, nameOfInput(rows.path))}`);
    if (!codes.isNull(row)) return row;
    throw badData(`${file}: the row of the id "${id}" is null or empty`);
  };
  return {
    a: Uint32Array.from(labels, ({ a }) => rowAt(a)),
    b: Uint32Array.from(labels, ({ b }) => rowAt(b)),
    same: labels.map(({ isSame }) => isSame),
  };
}
