/**
 * Ids, which are the user's names of rows: integers or texts, in and out of Arrow. Integers of up
 * to 32 bits are numbers; BigInt is used only where a column has 64.
 */

import { type Data, type Int, Type } from 'apache-arrow';
import type { Ids } from '../../base/ids';
import { builderOf } from './builder';
import { type Chunk, rowsOf } from './chunk';
import { numberData } from './make';
import { integerArray } from './types';
import { valueReader } from './values';

/** The ids of a column of integers, of texts, or of a dictionary of either; a null id throws. */
export function idsOf(chunks: readonly Chunk[]): Ids {
  for (const { data, firstRow } of chunks) {
    for (let row = 0; data.nullCount > 0 && row < data.length; row++) {
      if (!data.getValid(row)) throw new Error(`row ${firstRow + row}: the id is null`);
    }
  }
  // Everything else becomes text, also the entries of a dictionary of integers.
  if (chunks[0].data.typeId === Type.Int) return integersOf(chunks);
  const ids: string[] = [];
  for (const { data, firstRow } of chunks) {
    const read = valueReader(data, firstRow);
    for (let row = 0; row < data.length; row++) {
      const id = read(row) ?? null;
      if (id === null) throw new Error(`row ${firstRow + row}: no id`);
      ids.push(String(id));
    }
  }
  return ids;
}

/** Integers of all chunks in one array: of 32 bits, or of 64 where the column has 64. */
function integersOf(chunks: readonly Chunk[]): Ids {
  const ids = integerArray(chunks[0].data.type as Int, rowsOf(chunks));
  let at = 0;
  for (const { data } of chunks) {
    if (data.values.length < data.length) throw new Error('the ids are shorter than their batch');
    ids.set(data.values.subarray(0, data.length) as never, at);
    at += data.length;
  }
  return ids;
}

/** A column of these ids; typed arrays are not copied. */
export function idData(ids: Ids): Data {
  if (ArrayBuffer.isView(ids)) return numberData(ids as Int32Array);
  const texts = builderOf('text');
  for (const id of ids) texts.append(id);
  return texts.finish();
}
