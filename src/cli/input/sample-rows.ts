/**
 * A sample of an input's rows as vectors, drawn in one reading with the memory of the sample.
 * Texts become vectors after they are drawn. Rows without a direction are counted and left out.
 */

import { Reservoir } from '../../measure/draw';
import { hasDirection, isMissing, vectorAt } from '../../measure/rows';
import type { TextHasher, Vector } from '../../node';
import type { HashSource } from './hashing';

/** The rows that were drawn, without those that have no direction. */
export interface SampledRows {
  readonly vectors: readonly Vector[];
  /** Rows of the input, how many were drawn, and how many of those have no direction. */
  readonly fileRows: number;
  readonly drawn: number;
  readonly withoutDirection: number;
}

/** A row that was drawn; null where it has no value. */
interface Drawn<T> {
  readonly row: number;
  readonly value: T | null;
}

/** Draws at most `count` rows by `seed`; a value that is not finite fails with its row. */
export async function sampleRows(
  source: HashSource,
  { count, seed }: { count: number; seed: number },
): Promise<SampledRows> {
  const texts = new Reservoir<Drawn<string>>(count, seed);
  const rows = new Reservoir<Drawn<Vector>>(count, seed);
  for await (const batch of source.reader) {
    if (source.text !== null) {
      batch.texts(source.columns[0]).forEach((value, i) => {
        texts.offer(() => ({ row: batch.firstRow + i, value }));
      });
      continue;
    }
    for (const { firstRow, count: length, vectors } of source.piecesOf(batch)) {
      if ('bytesPerCode' in vectors) continue;
      for (let i = 0; i < length; i++) {
        rows.offer(() => {
          const value = isMissing(vectors, i) ? null : vectorAt(vectors, i);
          // A copy: a view would hold the whole batch in memory.
          const isView = ArrayBuffer.isView(value);
          return { row: firstRow + i, value: isView ? (value as Float32Array).slice() : value };
        });
      }
    }
  }
  const { text } = source;
  const drawn = text === null ? rows.result() : vectorsOfTexts(text.hasher, texts.result());
  const vectors = drawn.flatMap(({ row, value }) =>
    source.named(0, () => hasDirection(value, row)) ? [value as Vector] : [],
  );
  return {
    vectors,
    fileRows: texts.offered + rows.offered,
    drawn: drawn.length,
    withoutDirection: drawn.length - vectors.length,
  };
}

/** Only texts that were drawn become vectors; one without words has none. */
function vectorsOfTexts(hasher: TextHasher, drawn: readonly Drawn<string>[]): Drawn<Vector>[] {
  return drawn.map(({ row, value }) => {
    const vector = hasher.vectorize(value ?? '');
    return { row, value: vector.values.length === 0 ? null : vector };
  });
}
