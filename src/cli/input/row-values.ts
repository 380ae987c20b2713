/** Values of single rows of an input, of which few are kept: those drawn, and those named. */

import { Reservoir } from '../../base/draw';
import { isMissing } from '../../measure/rows';
import type { RowBatch, Vector } from '../../node';
import { vectorAt } from '../../vectors/vectors';
import { CommandError } from '../errors';
import type { HashSource } from './hash-source';

/** Of each row of vectors of a batch a function that copies it; null where there is none. */
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

/** What was read of an input once. */
export interface ReadRows {
  readonly fileRows: number;
  /** Texts that were drawn, without those that are null or empty; none of vectors. */
  readonly texts: readonly string[];
  /** How many rows were drawn. */
  readonly drawn: number;
  /** The rows that were named, by their ids as text; null where they have no value. */
  readonly named: ReadonlyMap<string, { readonly value: Vector | string | null; row: number }>;
}

/** Draws texts, and finds rows by their ids; fails where an id is there twice. */
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
