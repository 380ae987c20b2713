/**
 * A sample of an input's rows as vectors, drawn in one reading with the memory of the sample.
 * Texts become vectors after they are drawn. Rows without a direction are counted and left out.
 */

import { Reservoir } from '../../measure/draw';
import { hasDirection, isMissing, vectorAt } from '../../measure/rows';
import type { Vector } from '../../node';
import type { HashSource } from '../input/hashing';
import { rowsOfTexts } from '../input/texts';

export interface SampledRows {
  readonly vectors: readonly Vector[];
  /** Rows of the input, how many were drawn, and how many of those have no direction. */
  readonly fileRows: number;
  readonly drawn: number;
  readonly withoutDirection: number;
}

interface Drawn<T> {
  readonly row: number;
  readonly value: T | null;
}

/** Draws at most `count` rows by `seed`; a value that is not finite fails with its row. */
export async function sampleRows(
  source: HashSource,
  { count, seed }: { count: number; seed: number },
): Promise<SampledRows> {
  const isText = source.source.kind === 'text';
  const texts = new Reservoir<Drawn<string>>(count, seed);
  const rows = new Reservoir<Drawn<Vector>>(count, seed);
  for await (const batch of source.reader) {
    if (isText) {
      batch.texts(source.source.columns[0]).forEach((value, i) => {
        texts.offer(() => ({ row: batch.firstRow + i, value }));
      });
      continue;
    }
    for (const { firstRow, count: length, vectors } of source.piecesOf(batch)) {
      if ('bytesPerCode' in vectors) continue;
      for (let i = 0; i < length; i++) {
        rows.offer(() => {
          // A copy: a view would keep the whole batch in memory.
          const vector = isMissing(vectors, i) ? null : vectorAt(vectors, i);
          const value = ArrayBuffer.isView(vector) ? (vector as Float32Array).slice() : vector;
          return { row: firstRow + i, value };
        });
      }
    }
  }
  const drawn = isText ? vectorsOfTexts(source, texts.result()) : rows.result();
  const vectors = drawn.flatMap(({ row, value }) =>
    source.named(0, () => hasDirection(value, row)) ? [value as Vector] : [],
  );
  return {
    vectors,
    fileRows: isText ? texts.offered : rows.offered,
    drawn: drawn.length,
    withoutDirection: drawn.length - vectors.length,
  };
}

function vectorsOfTexts(source: HashSource, drawn: readonly Drawn<string>[]): Drawn<Vector>[] {
  if (source.textHasher === null) return [];
  const rows: Drawn<Vector>[] = [];
  const texts = drawn.map(({ value }) => value);
  for (const piece of rowsOfTexts(source.textHasher, texts)) {
    for (let i = 0; i < piece.count; i++) {
      const value = isMissing(piece, i) ? null : vectorAt(piece, i);
      rows.push({ row: drawn[rows.length].row, value });
    }
  }
  return rows;
}
