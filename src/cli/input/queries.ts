/**
 * What is searched for: rows of the index by their ids, a text, or the rows of a file or of stdin,
 * some at a time. Each has a name: its id where it has one, else its number.
 */

import { isMissing, vectorAt } from '../../measure/rows';
import {
  Codes,
  type DenseMatrix,
  type Id,
  type IndexFolder,
  type IndexRow,
  type SimHashIndex,
  type SparseMatrix,
  type Vector,
} from '../../node';
import type { Call } from '../call';
import { sourceLike } from './append-rows';
import { idNamed, partsOf } from './index-folder';
import { rowsOfTexts, textHasherOf } from './texts';

export interface Queries {
  readonly names: readonly Id[];
  readonly vectors: DenseMatrix | SparseMatrix | Codes;
  /** The rows of the index that the queries are, which do not find themselves. */
  readonly self: readonly number[] | null;
}

export async function* queriesOf(
  call: Call,
  folder: IndexFolder,
  index: SimHashIndex,
): AsyncGenerator<Queries> {
  const [, input] = call.args;
  const ways = [call.has('query'), call.has('row-id'), input !== undefined].filter(Boolean);
  if (call.args.length > 2) call.misuse('expected an index folder and at most one file of queries');
  if (ways.length !== 1) {
    call.misuse('say what to search for: QUERIES (a file, or -), --row-id IDS or --query TEXT');
  }
  if (call.has('query')) yield await textQuery(call, folder);
  else if (call.has('row-id')) yield* rowQueries(call, index);
  else yield* fileQueries(call, folder, input);
}

async function textQuery(call: Call, folder: IndexFolder): Promise<Queries> {
  if (folder.text === null) {
    call.fail(`${folder.path} was not made of texts: search by --row-id, or by a file of vectors`);
  }
  const hasher = await textHasherOf(call, folder.text, await folder.frequencies());
  const text = call.text('query') as string;
  const [vectors] = rowsOfTexts(hasher, [text]);
  if (vectors.values.length === 0) call.fail(`--query has no words that count: ${text}`);
  return { names: [0], vectors, self: null };
}

function* rowQueries(call: Call, index: SimHashIndex): Generator<Queries> {
  for (const word of call.list('row-id')) {
    for (const part of partsOf(call, index, word)) {
      const id = idNamed(index, part) ?? call.fail(`the index has no row of the id ${part}`);
      yield rowQuery(call, index, id);
    }
  }
}

/** A row of the index as a query, which must have a code. */
function rowQuery(call: Call, index: SimHashIndex, id: Id): Queries {
  const row = index.get(id);
  if (row === undefined || row.code === null) {
    call.fail(`the row of the id ${id} has no code, and no neighbours`);
  }
  const vectors =
    row.vector === null ? Codes.from(row.code, { bits: index.bits }) : rowOf(row.vector);
  return { names: [row.id], vectors, self: [row.row] };
}

/** A kept vector as a batch of one row. */
function rowOf(vector: NonNullable<IndexRow['vector']>): DenseMatrix | SparseMatrix {
  if (vector instanceof Float32Array) return { values: vector, dimensions: vector.length };
  return { ...vector, offsets: [0, vector.values.length] };
}

async function* fileQueries(
  call: Call,
  folder: IndexFolder,
  input: string,
): AsyncGenerator<Queries> {
  const source = await sourceLike(call, input, folder);
  await source.narrow([]);
  let without = 0;
  for await (const batch of source.reader) {
    const ids = source.idsOf(batch);
    for (const { firstRow, count, vectors } of source.piecesOf(batch)) {
      const names = Array.from({ length: count }, (_, i) => {
        return ids === null ? firstRow + i : (ids[firstRow + i - batch.firstRow] as Id);
      });
      for (let i = 0; i < count; i++) without += Number(isMissing(vectors, i));
      yield { names, vectors, self: null };
    }
  }
  if (without === 0) return;
  const which = without === 1 ? '1 query has' : `${without} queries have`;
  call.say(`${which} ${source.whyNull}, and no neighbours`);
}

/** One of the queries, by itself; null where it has no code. */
export function queryAt({ vectors }: Queries, i: number): Vector | Uint8Array | null {
  if (isMissing(vectors, i)) return null;
  return 'bytesPerCode' in vectors ? vectors.at(i) : vectorAt(vectors, i);
}
