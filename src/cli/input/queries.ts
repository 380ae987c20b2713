/**
 * `--queries FILE`: evaluation queries, by which the recall of an index is measured. All are in
 * memory, and are read from the formats and columns that `search` takes; errors name the file and
 * the row.
 */

import { isMissing } from '../../measure/measured-rows';
import { Codes, type Vector } from '../../node';
import { vectorAt } from '../../vectors/vectors';
import type { Call } from '../call';
import type { HashSource } from './hash-source';
import { type RowsLike, sourceLike } from './rows-to-index';

/** The queries of a file. */
export interface FileQueries {
  readonly file: string;
  /** Vectors, without rows that are null or have no entries; or codes, null ones included. */
  readonly queries: readonly Vector[] | Codes;
  /** Queries that have a code. */
  readonly count: number;
  /** Runs work on the queries; its errors then name the file and the row of a query. */
  named<T>(work: () => Promise<T>): Promise<T>;
}

/**
 * Reads the queries of --queries, and hashes texts as `like` does. `isOther` says that the options
 * of the call describe another input, so that columns they name need not be in this file.
 */
export async function readQueries(
  call: Call,
  like: RowsLike,
  isOther: boolean,
): Promise<FileQueries> {
  const source = await sourceLike(call, call.text('queries') as string, like, isOther);
  const { file } = source.reader;
  await source.narrow([]);
  const codes: Codes[] = [];
  const vectors: Vector[] = [];
  const rows: number[] = []; // by query its row in the file
  let without = 0;
  for await (const batch of source) {
    for (const { vectors: piece, firstRow, count } of source.piecesOf(batch)) {
      if (piece instanceof Codes) codes.push(piece);
      for (let i = 0; i < count; i++) {
        const isNull = isMissing(piece, i);
        without += Number(isNull);
        if (isNull && !(piece instanceof Codes)) continue;
        rows.push(firstRow + i);
        if (!(piece instanceof Codes)) vectors.push(vectorAt(piece, i));
      }
    }
  }
  sayWithoutCode(source, without);
  const count = codes.length > 0 ? rows.length - without : rows.length;
  if (count === 0) call.fail(`${file} has no queries`);
  const queries = codes.length > 0 ? Codes.join(codes, { bits: codes[0].bits }) : vectors;
  return { file, queries, count, named: (work) => source.named(0, work, rows) };
}

/** Says how many queries have no code, and why; nothing where all have one. */
export function sayWithoutCode({ call, whyNull }: HashSource, count: number): void {
  if (count === 0) return;
  const which = count === 1 ? '1 query has' : `${count} queries have`;
  call.say(`${which} ${whyNull}, and no neighbours`);
}
