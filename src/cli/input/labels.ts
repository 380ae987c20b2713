/**
 * `calibrate --pairs FILE`: pairs of rows by their ids, each with a person's judgement whether the
 * two are the same. Ids are compared as text, since a number in one file may be text in the other.
 */

import { rowsOf } from '../../join/source';
import { type KnownPairs, openRows } from '../../node';
import type { Call } from '../call';
import { badData } from '../errors';
import type { Collection } from './collection';
import { nameOfInput } from './open-input';

/** A line of the file: the ids of two rows. */
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
 * in either order, counts once. Throws bad data (exit code 3), with the row, where an id is missing
 * or nested, two ids are equal, an answer is neither yes nor no, or a pair has two answers.
 */
export async function readLabels(call: Call, path: string): Promise<Label[]> {
  const reader = await openRows(path);
  call.atEnd(() => reader.close());
  const names = reader.columns.map(({ name }) => name);
  if (names.length < 3) {
    throw badData(`${path}: expected ${COLUMNS}; got ${names.join(', ') || 'none'}`);
  }
  const known = new Map<string, Label & { readonly row: number }>();
  for await (const batch of reader) {
    call.signal.throwIfAborted();
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
  return [...known.values()];
}

/**
 * The labels as pairs of rows; rows without ids go by their numbers. Throws bad data (exit code 3)
 * where no label says that two rows are the same, an id is of no row or of several, or a row has no
 * code, so that nothing is near to it.
 */
export function labelledRows(
  labels: readonly Label[],
  { ids, count, source, path }: Collection,
  file: string,
): KnownPairs {
  const rowOf = new Map<string, number>();
  const wanted = new Set(labels.flatMap(({ a, b }) => [a, b]));
  const { codes } = rowsOf('rows', source);
  const input = nameOfInput(path);
  for (let row = 0; row < count; row++) {
    const id = String(ids?.[row] ?? row);
    if (!wanted.has(id)) continue;
    const other = rowOf.get(id);
    const places = other === undefined ? `row ${row}` : `rows ${other} and ${row}`;
    const label = `${input}: the id "${id}" of a labelled pair is of ${places}`;
    if (other !== undefined) throw badData(label);
    if (codes.isNull(row)) throw badData(`${label}, which is null or empty`);
    rowOf.set(id, row);
  }
  const missing = [...wanted].find((id) => !rowOf.has(id));
  if (missing !== undefined) {
    const advice = '--id chooses the column of the ids';
    throw badData(`${file}: ${input} has no row with the id "${missing}"; ${advice}`);
  }
  if (!labels.some(({ isSame }) => isSame)) {
    throw badData(`${file}: expected one pair or more that is the same, all are false`);
  }
  const rowsBy = (end: 'a' | 'b') =>
    Uint32Array.from(labels, (label) => rowOf.get(label[end]) as number);
  return { a: rowsBy('a'), b: rowsBy('b'), same: labels.map(({ isSame }) => isSame) };
}
