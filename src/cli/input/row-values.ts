/**
 * Values of single rows of an input, for `calibrate`: rows that are drawn at random, and rows that
 * labels name. The input is read once, and only these values stay in memory.
 */

import { Reservoir } from '../../base/draw';
import { isMissing } from '../../measure/measured-rows';
import type { RowBatch, Vector } from '../../node';
import { vectorAt } from '../../vectors/vectors';
import { badData } from '../errors';
import type { HashSource } from './hash-source';

/**
 * For each row of a batch a function that gives its text, or copies its vector; null if the row is
 * missing. As long as a function of a vector is referenced, the batch stays in memory. Yields
 * nothing for ready codes.
 */
function* valuesOf(source: HashSource, batch: RowBatch): Generator<() => RowValue> {
  const { kind, columns } = source.choice;
  if (kind === 'text') {
    for (const text of batch.texts(columns[0])) yield () => text;
    return;
  }
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

/** The vector or the text of a row; null if it is missing. */
type RowValue = Vector | string | null;

/** A row of an input. */
interface ReadRow {
  readonly row: number;
  readonly value: RowValue;
}

/** What one reading of an input found. */
export interface ReadRows {
  /** Rows of the input. */
  readonly fileRows: number;
  /** The rows that were drawn, in their order, those that are missing included. */
  readonly drawn: readonly ReadRow[];
  /** The rows that were wanted, by their ids as text. */
  readonly named: ReadonlyMap<string, ReadRow>;
}

/** The texts of rows that were drawn, without null and empty ones. */
export function textsDrawn({ drawn }: ReadRows): string[] {
  return drawn.flatMap(({ value }) => (typeof value === 'string' && value !== '' ? [value] : []));
}

/**
 * Reads an input once: draws `count` of its rows by `seed`, and finds those whose ids, as text, are
 * `wanted`. Without a column of ids, a row's number is its id. Throws bad data (exit code 3) where
 * two rows have a wanted id.
 */
export async function readRows(
  source: HashSource,
  { count, seed }: { count: number; seed: number },
  wanted: ReadonlySet<string> = new Set(),
): Promise<ReadRows> {
  const rows = new Reservoir<ReadRow>(count, seed);
  const named = new Map<string, ReadRow>();
  for await (const batch of source) {
    const ids = wanted.size > 0 ? source.idsOf(batch) : null;
    let i = 0;
    for (const value of valuesOf(source, batch)) {
      const row = rows.offered;
      const id = String(ids === null ? row : ids[i]);
      // Only rows that are drawn are copied: `offer` calls its argument for these alone.
      rows.offer(() => ({ row, value: value() }));
      if (wanted.has(id)) {
        const before = named.get(id);
        if (before !== undefined) {
          const places = `rows ${before.row} and ${row}`;
          const { file } = source.reader;
          throw badData(`${file}: the id "${id}" of a labelled pair is of ${places}`);
        }
        named.set(id, { value: value(), row });
      }
      i++;
    }
  }
  return { fileRows: rows.offered, named, drawn: rows.result() };
}
