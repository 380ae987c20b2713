/**
 * Values of single rows of an input, for `calibrate`: rows that are drawn at random, and rows that
 * labels name. The input is read once, and only these values stay in memory.
 */

import { Reservoir } from '../../base/draw';
import { isMissing } from '../../measure/rows';
import type { RowBatch, Vector } from '../../node';
import { vectorAt } from '../../vectors/vectors';
import { CommandError } from '../errors';
import type { HashSource } from './hash-source';

/**
 * For each row of a batch a function that copies its vector, or gives null if the row is missing.
 * As long as a function is referenced, the batch stays in memory. Yields nothing for ready codes.
 */
export function* vectorsOf(source: HashSource, batch: RowBatch): Generator<() => Vector | null> {
  for (const { count, vectors } of source.piecesOf(batch)) {
    if ('bytesPerCode' in vectors) continue;
    for (let i = 0; i < count; i++) {
      yield () => {
        const value = isMissing(vectors, i) ? null : vectorAt(vectors, i);
        // A copy: a view would hold the whole batch in memory.
        return ArrayBuffer.isView(value) ? (value as Float32Array).slice() : value;
      };
    }
  }
}

/** What one reading of an input found. */
export interface ReadRows {
  /** Rows of the input. */
  readonly fileRows: number;
  /** The texts that were drawn, without null and empty ones; none if the rows are vectors. */
  readonly texts: readonly string[];
  /** Rows that were drawn, those with null and empty texts included; 0 if they are vectors. */
  readonly drawn: number;
  /** The rows that were wanted, by their ids as text; a value is null if the row has none. */
  readonly named: ReadonlyMap<string, { readonly value: Vector | string | null; row: number }>;
}

/**
 * Reads an input once: draws `count` of its texts by `seed`, and finds the rows whose ids, as text,
 * are `wanted`. Without a column of ids, a row's number is its id. Throws bad data (exit code 3)
 * where two rows have a wanted id.
 */
export async function readRows(
  source: HashSource,
  { count, seed }: { count: number; seed: number },
  wanted: ReadonlySet<string>,
): Promise<ReadRows> {
  const { kind, columns } = source.choice;
  const texts = new Reservoir<string | null>(count, seed);
  const named = new Map<string, { value: Vector | string | null; row: number }>();
  let row = 0;
  for await (const batch of source) {
    const ids = wanted.size > 0 ? source.idsOf(batch) : null;
    const values =
      kind === 'text'
        ? batch.texts(columns[0]).map((text) => () => text)
        : vectorsOf(source, batch);
    let i = 0;
    for (const value of values) {
      const id = String(ids === null ? row : ids[i]);
      if (kind === 'text') texts.offer(() => value() as string | null);
      if (wanted.has(id)) {
        const before = named.get(id);
        if (before !== undefined) {
          const rows = `rows ${before.row} and ${row}`;
          const { file } = source.reader;
          throw new CommandError(`${file}: the id "${id}" of a labelled pair is of ${rows}`, 3);
        }
        named.set(id, { value: value(), row });
      }
      i++;
      row++;
    }
  }
  const drawn = texts.result();
  return {
    ...{ fileRows: row, named, drawn: drawn.length },
    texts: drawn.filter((text) => text !== null && text !== '') as string[],
  };
}
