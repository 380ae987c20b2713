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
  type SimHashIndex,
  type SparseMatrix,
  type Vector,
} from '../../node';
import { packVectors } from '../../vectors/vectors';
import type { Call } from '../call';
import { sourceLike } from './append-rows';
import { idNamed, partsOf } from './index-folder';
import { rowsOfTexts, textHasherOf } from './texts';

/** Some queries, all of one kind. */
export interface Queries {
  readonly names: readonly Id[];
  readonly vectors: DenseMatrix | SparseMatrix | Codes;
  /** The rows of the index that the queries are, which do not find themselves. */
  readonly self: readonly number[] | null;
}

/** The queries of the call: exactly one of QUERIES, --row-id and --query must be given. */
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

/** The text of --query, read as the texts of the index were. */
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

/** Rows of the index, each a query by its vector where the index holds it, else by its code. */
function* rowQueries(call: Call, index: SimHashIndex): Generator<Queries> {
  for (const part of call.list('row-id').flatMap((word) => partsOf(call, index, word))) {
    const id = idNamed(index, part) ?? call.fail(`the index has no row of the id ${part}`);
    const row = index.get(id);
    if (row === undefined || row.code === null) {
      call.fail(`the row of the id ${id} has no code, and no neighbours`);
    }
    const { code, vector } = row;
    const vectors =
      vector === null ? Codes.from(code, { bits: index.bits }) : packVectors([vector]);
    yield { names: [row.id], vectors, self: [row.row] };
  }
}

/** The rows of a file; says how many have no code. */
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
