/**
 * `dedup --pairs FILE`: near pairs of rows that `halfspace pairs` or another program wrote, in any
 * order. Pairs are by row, in the columns a and b, or by id, in id_a and id_b; in a file that has
 * all four, the ids must be those of the rows. Ids are compared as text.
 */

import { concatenated } from '../../base/arrays';
import { textOfFormula } from '../../formats/csv/csv-text';
import { checkPairs, type RowPairs } from '../../groups/grouping';
import { rowsOf } from '../../join/source';
import type { RowReader } from '../../node';
import type { Call } from '../call';
import { badData } from '../errors';
import type { Collection } from './collection';
import { LEAST } from './nearness';
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
  call.refuse(NOT_WITH_PAIRS, (name) => `--${name} does not go with --pairs, which decide`);
  const isStdin = path === '-';
  if (isStdin && input === '-') call.misuse('stdin has the rows or their pairs, not both');
  const stream = { format: 'arrows', expectEnd: call.has('expect-end') } as const;
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
 * Reads the pairs as rows of a collection. Throws bad data (exit code 3) at the first pair that is
 * not one of two different rows with codes, or whose ids are not those of its rows.
 */
export async function readPairs(
  call: Call,
  reader: RowReader,
  rows: Collection,
): Promise<RowPairs> {
  const has = (column: string) => reader.columns.some(({ name }) => name === column);
  const idOf = (value: unknown) =>
    reader.format === 'csv' ? textOfFormula(String(value)) : String(value);
  // Rows are looked up by id only if the file has no rows; `isNamed`: ids are there to compare.
  const rowOf = has('a') && has('b') ? null : rowsById(call, rows);
  const isNamed = rows.ids !== null && has('id_a') && has('id_b');
  const parts = { a: [] as Uint32Array[], b: [] as Uint32Array[] };
  for await (const batch of batchesOf(call, reader)) {
    for (const end of ENDS) {
      const ids = isNamed ? batch.values(`id_${end}`) : null;
      const numbers = rowOf === null ? batch.values(end) : null;
      const own = new Uint32Array(batch.count);
      for (let i = 0; i < batch.count; i++) {
        const fail = (text: string): never => {
          throw badData(`${reader.file}: row ${batch.firstRow + i}: ${text}`);
        };
        const id = ids && idOf(ids[i]);
        const row = numbers === null ? rowOf?.get(id as string) : Number(numbers[i] ?? -1);
        if (row === undefined) fail(`no row of ${nameOfInput(rows.path)} has the id "${id}"`);
        else if (!(Number.isInteger(row) && row >= 0 && row < rows.count)) {
          fail(`"${end}" expected a row in 0..${rows.count - 1}, got ${numbers?.[i]}`);
        } else if (id !== null && id !== String(rows.ids?.[row])) {
          const found = `the id of row ${row} is "${rows.ids?.[row]}", not "${id}"`;
          fail(`${found}: these are pairs of other rows`);
        } else own[i] = row;
      }
      parts[end].push(own);
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

/** By id, as text, its row. Fails where rows have no ids, or two rows have the same one. */
function rowsById(call: Call, { ids, there, count, path }: Collection): Map<string, number> {
  const name = nameOfInput(path);
  if (ids === null) {
    call.fail(`${name} has no ids, which the pairs go by: name their column by --id`);
  }
  const known = new Map<string, number>();
  for (let i = 0; i < (there?.length ?? count); i++) {
    const row = there?.[i] ?? i;
    const id = String(ids[row]);
    const other = known.get(id);
    if (other !== undefined) {
      const advice = 'give pairs by their numbers, in the columns a and b';
      call.fail(`${name}: rows ${other} and ${row} have the id "${id}": ${advice}`);
    }
    known.set(id, row);
  }
  return known;
}
