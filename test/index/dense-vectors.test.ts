import { expect, it } from 'vitest';
import { SimHashIndex } from '../../src/index';
import { DenseVectors } from '../../src/index/vectors/dense-vectors';
import { NO_ROW } from '../../src/kernels/hits';
import { lengthOf } from '../../src/vectors/vectors';
import { Draws } from '../reference/random';

/** Vectors that are put in the places of skipped rows: equal to the bit, lengths too. */

function check(vectors: DenseVectors, rows: Uint32Array, values: Float32Array | Int8Array) {
  const { dimensions, kind } = vectors;
  const scales = kind === 'int8' ? new Float32Array(rows.length).fill(2) : null;
  vectors.restore({ vectors: values, scales, sparse: null }, rows);
  for (const [i, row] of rows.entries()) {
    if (row === NO_ROW) continue;
    const own = values.subarray(i * dimensions, (i + 1) * dimensions);
    expect(vectors.valuesAt(row)).toEqual(own);
    expect(vectors.normOf(row)).toBe(lengthOf(own));
  }
}

it.each(['float32', 'int8'] as const)('of any number and order of rows, %s', (kind) => {
  const draws = new Draws(kind);
  for (let count = 1; count < 140; count++) {
    const vectors = new DenseVectors(kind, 5);
    vectors.skip(200);
    const order = Array.from({ length: 200 }, (_, row) => row);
    if (count % 3 === 0) order.reverse();
    const rows = Uint32Array.from(order.filter(() => draws.uniform() < 0.8).slice(0, count));
    rows[draws.integer(rows.length)] = NO_ROW;
    const values = draws.gaussians(5 * rows.length).map((value) => 60 * value);
    values.fill(0, 0, 5);
    check(vectors, rows, kind === 'int8' ? Int8Array.from(values) : Float32Array.from(values));
  }
});

it('of rows in several parts', { tags: 'thorough' }, () => {
  const dimensions = 2 ** 20; // 64 rows in a part
  const vectors = new DenseVectors('float32', dimensions);
  vectors.skip(70);
  const rows = Uint32Array.of(2, 60, 61, 62, 63, 64, 65, NO_ROW, 67);
  const values = new Float32Array(rows.length * dimensions).map((_, i) => (i % 1009) / 100 - 5);
  check(vectors, rows, values);
  expect(vectors.normOf(66)).toBe(0);
});

it.each(['float32', 'int8'] as const)('of rows that fill whole pages of a memory, %s', (kind) => {
  const [dimensions, count] = [128, 512];
  const draws = new Draws(kind);
  const index = new SimHashIndex({ bits: 64, dimensions, vectors: kind });
  for (let row = 0; row < count; row++) index.add(draws.gaussians(dimensions));
  const last = index.get(count - 1)?.vector as Float32Array;
  expect(index.search(last, { k: 1 }).rows).toEqual(Uint32Array.of(count - 1));
});
