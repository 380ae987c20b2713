/**
 * The queries of `halfspace search`: rows of the index by their ids, a text, or the rows of a file
 * or of stdin, some at a time. The name of a query in the output is its id, else its row.
 */

import type { IdKind } from '../../index/id-table';
import { isMissing } from '../../measure/measured-rows';
import {
  Codes,
  type DenseMatrix,
  type Id,
  type Ids,
  SimHashIndex,
  type SparseMatrix,
  type StoredIndex,
  type Vector,
} from '../../node';
import { packVectors, vectorAt } from '../../vectors/vectors';
import type { Call } from '../call';
import { idNamed, idsNamed, partsOf, type SavedIndex, wordParts } from '../input/index-folder';
import { sayWithoutCode } from '../input/queries';
import { sourceLike } from '../input/rows-to-index';
import { rowsOfTexts, textHasherOf } from '../input/texts';

/** An index in memory, or one whose rows stay in their folder. */
export type SearchedIndex = SimHashIndex | StoredIndex;

/** Some queries that are searched for in one call. */
export interface Queries {
  /** Query i is called `names[i]`; all are of one kind, which decides the type of their column. */
  readonly names: readonly Id[];
  readonly kind: IdKind | null;
  /** Vectors, or codes where the index holds no vectors; a missing one has no neighbours. */
  readonly vectors: DenseMatrix | SparseMatrix | Codes;
  /** The rows of the index that the queries are, which do not find themselves; else null. */
  readonly self: readonly number[] | null;
  /** Runs a search so that its errors name the file and the row of a query. */
  readonly named?: <T>(work: () => Promise<T>) => Promise<T>;
}

/** The queries of the call: exactly one of QUERIES, --row-id and --query must be given. */
export async function* queriesOf(
  call: Call,
  folder: SavedIndex,
  index: SearchedIndex,
): AsyncGenerator<Queries> {
  const [, input] = call.args;
  const ways = [call.has('query'), call.has('row-id'), input !== undefined].filter(Boolean);
  if (call.args.length > 2) call.misuse('expected an index folder and at most one file of queries');
  if (ways.length !== 1) {
    call.misuse('say what to search for: QUERIES (a file, or -), --row-id IDS or --query TEXT');
  }
  if (call.has('query')) yield await textQuery(call, folder, index);
  else if (call.has('row-id')) yield* rowQueries(call, folder, index);
  else yield* fileQueries(call, folder, input);
}

/** The text of --query, split and weighed as the index says; fails if it has no words. */
async function textQuery(
  call: Call,
  folder: SavedIndex,
  { hasher: like }: SearchedIndex,
): Promise<Queries> {
  if (folder.text === null) {
    call.fail(`${folder.path} was not made of texts: search by --row-id, or by a file of vectors`);
  }
  const frequencies = await folder.frequencies();
  const hasher = await textHasherOf(call, { settings: folder.text, frequencies }, like);
  const text = call.text('query') as string;
  const [vectors] = rowsOfTexts(hasher, [text]);
  if (vectors.values.length === 0) call.fail(`--query has no words that count: ${text}`);
  return { names: [0], kind: 'row', vectors, self: null };
}

/**
 * The rows of --row-id, each searched for by the vector that the index holds of it, else by its
 * code. Fails for an id that the index does not have, and for a row without a code.
 */
async function* rowQueries(
  call: Call,
  { idKind: kind }: SavedIndex,
  index: SearchedIndex,
): AsyncGenerator<Queries> {
  const words = call.list('row-id');
  // A stored index does not know without reading which ids it has: these are looked up first.
  const ids = index instanceof SimHashIndex ? index : await idsAmong(index, words);
  for (const part of words.flatMap((word) => partsOf(call, ids, word))) {
    const id = idNamed(ids, part) ?? call.fail(`the index has no row of the id ${part}`);
    const row = await index.get(id);
    if (row === undefined || row.code === null) {
      call.fail(`the row of the id ${id} has no code, and no neighbours`);
    }
    const { code, vector } = row;
    const vectors =
      vector === null ? Codes.from(code, { bits: index.bits }) : packVectors([vector]);
    yield { names: [row.id], kind, vectors, self: [row.row] };
  }
}

/** Of all ids that words of the command line can mean, those that a stored index has. */
async function idsAmong(index: StoredIndex, words: readonly string[]): Promise<Set<Id>> {
  const there = new Set<Id>();
  const named = words.flatMap((word) => [word, ...wordParts(word)]);
  for (const id of named.flatMap(idsNamed)) {
    if ((await index.get(id)) !== undefined) there.add(id);
  }
  return there;
}

/** The rows of a file or of stdin, piece by piece; at the end says how many have no code. */
async function* fileQueries(
  call: Call,
  folder: SavedIndex,
  input: string,
): AsyncGenerator<Queries> {
  const source = await sourceLike(call, input, folder);
  await source.narrow([]);
  let without = 0;
  for await (const batch of source) {
    const ids = source.idsOf(batch);
    // Rows of the file are counted from 0; ids are those of the batch, which begins at `firstRow`.
    for (const { firstRow, count, vectors } of source.piecesOf(batch)) {
      const names = Array.from({ length: count }, (_, i) => {
        return ids === null ? firstRow + i : (ids[firstRow + i - batch.firstRow] as Id);
      });
      for (let i = 0; i < count; i++) without += Number(isMissing(vectors, i));
      const named = <T>(work: () => Promise<T>) => source.named(firstRow, work);
      yield { names, kind: kindOf(ids), vectors, self: null, named };
    }
  }
  sayWithoutCode(source, without);
}

/** The kind of ids, by the type of their array, so that a file without rows has one; null: rows. */
function kindOf(ids: Ids | null): IdKind {
  if (ids === null) return 'row';
  if (Array.isArray(ids)) return 'string';
  return ids instanceof BigInt64Array || ids instanceof BigUint64Array ? 'bigint' : 'number';
}

/** Query i: a view of `vectors`, of sparse ones a copy; null if it is missing. */
export function queryAt({ vectors }: Queries, i: number): Vector | Uint8Array | null {
  if (isMissing(vectors, i)) return null;
  return 'bytesPerCode' in vectors ? vectors.at(i) : vectorAt(vectors, i);
}
