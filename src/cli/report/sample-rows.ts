/**
 * A sample of an input's rows as vectors, drawn in one reading and in the memory of the sample.
 * Texts become vectors when they are drawn. Rows without a direction are counted and left out.
 */

import { Reservoir } from '../../measure/draw';
import { packedDense, packedSparse } from '../../measure/packed-rows';
import type { DenseMatrix, RowBatch, SparseMatrix } from '../../node';
import type { HashSource } from '../input/hashing';
import { rowsOfTexts } from '../input/texts';

export interface SampledRows {
  readonly vectors: DenseMatrix | SparseMatrix;
  /** Rows of these vectors. */
  readonly count: number;
  /** Rows of the input, how many were drawn, and how many of those have no direction. */
  readonly fileRows: number;
  readonly drawn: number;
  readonly withoutDirection: number;
}

type Numbers = Float32Array | Float64Array | readonly number[];

interface DrawnRow {
  readonly row: number;
  /** Null where the row is. */
  readonly values: Numbers | null;
  /** Dimensions of sparse values. */
  readonly indices?: ArrayLike<number | bigint>;
}

export async function sampleRows(
  source: HashSource,
  { most, seed }: { most: number; seed: number },
): Promise<SampledRows> {
  const isText = source.source.kind === 'text';
  const texts = new Reservoir<{ row: number; text: string | null }>(most, seed);
  const rows = new Reservoir<DrawnRow>(most, seed);
  let dimensions: number | null = null;
  for await (const batch of source.reader) {
    if (isText) {
      batch.texts(source.source.columns[0]).forEach((text, i) => {
        texts.offer(() => ({ row: batch.firstRow + i, text }));
      });
      continue;
    }
    dimensions = offerVectors(source, batch, rows);
  }
  const drawn = isText ? vectorsOfTexts(source, texts.result()) : rows.result();
  const isKnown = drawn.map((row) => hasDirection(source, row));
  const known = drawn.filter((_, i) => isKnown[i]);
  return {
    vectors:
      dimensions === null
        ? packedSparse(known.map(({ values, indices = [] }) => ({ indices, values: values ?? [] })))
        : packedDense(
            known.map(({ values }) => values ?? []),
            dimensions,
          ),
    count: known.length,
    fileRows: isText ? texts.offered : rows.offered,
    drawn: drawn.length,
    withoutDirection: drawn.length - known.length,
  };
}

/** Offers the rows of a batch; returns their dimensions where they are dense. */
function offerVectors(
  source: HashSource,
  batch: RowBatch,
  rows: Reservoir<DrawnRow>,
): number | null {
  let dimensions: number | null = null;
  for (const { firstRow, count, vectors } of source.piecesOf(batch)) {
    if ('bytesPerCode' in vectors) continue;
    for (let i = 0; i < count; i++) {
      rows.offer(() => ({ row: firstRow + i, ...rowAt(vectors, i) }));
    }
    if ('dimensions' in vectors) dimensions = vectors.dimensions;
  }
  return dimensions;
}

function rowAt(vectors: DenseMatrix | SparseMatrix, i: number): Omit<DrawnRow, 'row'> {
  const { validity } = vectors;
  if (validity && ((validity[i >> 3] >> (i & 7)) & 1) === 0) return { values: null };
  if ('dimensions' in vectors) {
    const { values, dimensions } = vectors;
    return { values: values.slice(i * dimensions, (i + 1) * dimensions) };
  }
  const [from, to] = [vectors.offsets[i], vectors.offsets[i + 1]];
  return { values: vectors.values.slice(from, to), indices: vectors.indices.slice(from, to) };
}

function vectorsOfTexts(
  { textHasher }: HashSource,
  drawn: readonly { row: number; text: string | null }[],
): DrawnRow[] {
  if (textHasher === null) return [];
  const rows: DrawnRow[] = [];
  for (const piece of rowsOfTexts(
    textHasher,
    drawn.map(({ text }) => text),
  )) {
    for (let i = 0; i < piece.count; i++) {
      rows.push({ row: drawn[rows.length].row, ...rowAt(piece, i) });
    }
  }
  return rows;
}

/** False for null and all-zero rows; a value that is no number ends the work. */
function hasDirection({ call, reader }: HashSource, { row, values }: DrawnRow): boolean {
  if (values === null) return false;
  let square = 0;
  for (const value of values) square += value * value;
  if (!Number.isFinite(square)) {
    call.fail(`${reader.file}: row ${row}: expected finite values of a finite length`);
  }
  return square > 0;
}
