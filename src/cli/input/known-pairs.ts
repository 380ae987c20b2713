/**
 * Labelled pairs of rows, for `calibrate --pairs`: each with a person's judgement whether the two
 * are the same. Ids are compared as text, since a number in one file may be text in another. A pair
 * that makes no sense, such as one of a row with itself, is bad data (exit code 3), and the error
 * names its row.
 */

import { rowsOf } from '../../near/rows';
import type { KnownPairs } from '../../node';
import type { Call } from '../call';
import { badData } from '../errors';
import { jsonOf } from '../output/table';
import type { Collection } from './collection';
import { batchesOf, nameOfInput, openInput } from './open-input';

interface Label {
  readonly a: string;
  readonly b: string;
  readonly isSame: boolean;
}

/** Values of the third column, in lower case, and what they say. */
const ANSWERS: Readonly<Record<string, boolean>> = { true: true, 1: true, false: false, 0: false };
const COLUMNS = 'two ids, and whether they are the same (true, false, 1 or 0)';

/**
 * Reads the labels from the first three columns of a file of any format. A pair that is repeated,
 * in either order, counts once. Refuses an id that is missing or nested, two equal ids, an answer
 * that is neither yes nor no, two answers to a pair, and a file in which nothing is the same.
 */
export async function readLabels(call: Call, path: string): Promise<Label[]> {
  const reader = await openInput(call, path, undefined, {});
  const names = reader.columns.map(({ name }) => name).slice(0, 3);
  if (names.length < 3) {
    throw badData(`${path}: expected three columns, ${COLUMNS}; got ${names.join(', ') || 'none'}`);
  }
  const known = new Map<string, Label>();
  for await (const batch of batchesOf(call, reader)) {
    const columns = names.map((name) => batch.values(name));
    for (let i = 0; i < batch.count; i++) {
      const row = `${path}: row ${batch.firstRow + i}`;
      const values = columns.map((column) => column[i]);
      const [a, b, answer] = values.map((value) => String(value));
      const isSame = ANSWERS[answer.toLowerCase()];
      const areIds = values.every((value) => typeof (value ?? null) !== 'object') && a !== b;
      if (!areIds || isSame === undefined) {
        throw badData(`${row}: expected ${COLUMNS}, got ${JSON.stringify(values, jsonOf)}`);
      }
      const key = JSON.stringify([a, b].sort());
      if ((known.get(key)?.isSame ?? isSame) !== isSame) {
        throw badData(`${row}: "${a}" and "${b}" are both the same and not the same in this file`);
      }
      known.set(key, { a, b, isSame });
    }
  }
  const labels = [...known.values()];
  if (labels.some(({ isSame }) => isSame)) return labels;
  throw badData(`${path}: expected one pair or more that is the same, all are false`);
}

/** The labels as pairs of rows. Refuses an id of no row or of several, and rows without a code. */
export function labelledRows(labels: readonly Label[], rows: Collection, file: string): KnownPairs {
  const wanted = new Set(labels.flatMap(({ a, b }) => [a, b]));
  const rowsOfId = new Map<string, number[]>();
  for (const row of rows.rows) {
    const id = String(rows.ids?.[row] ?? row); // rows without ids go by their numbers
    if (wanted.has(id)) rowsOfId.set(id, [...(rowsOfId.get(id) ?? []), row]);
  }
  const { codes } = rowsOf('rows', rows.source);
  const name = nameOfInput(rows.path);
  const rowAt = (id: string): number => {
    const [row, second] = rowsOfId.get(id) ?? [];
    if (row !== undefined && second === undefined && !codes.isNull(row)) return row;
    const what =
      row === undefined
        ? `no row of ${name} has the id "${id}"; --id chooses its column`
        : second === undefined
          ? `the row of the id "${id}" is null or empty`
          : `rows ${row} and ${second} of ${name} have the id "${id}"`;
    throw badData(`${file}: ${what}`);
  };
  return {
    a: Uint32Array.from(labels, ({ a }) => rowAt(a)),
    b: Uint32Array.from(labels, ({ b }) => rowAt(b)),
    same: labels.map(({ isSame }) => isSame),
  };
}
