import { expect, it } from 'vitest';
import { Rotation } from '../../src/search/rotation';

/** What a rotation makes of each unit vector. */
function columnsOf(width: number, seed: bigint): Float64Array[] {
  const rotation = new Rotation(width, seed);
  return Array.from({ length: width }, (_, i) => {
    const vector = new Float64Array(width);
    vector[i] = 1;
    rotation.rotate(vector);
    return vector;
  });
}

it.each([1, 2, 3, 8, 96, 104, 128, 200, 384])('keeps lengths and angles, %i wide', (width) => {
  const columns = columnsOf(width, 7n);
  let worst = 0;
  for (let i = 0; i < width; i++) {
    for (let j = 0; j <= i; j++) {
      const product = columns[i].reduce((sum, value, at) => sum + value * columns[j][at], 0);
      worst = Math.max(worst, Math.abs(product - Number(i === j)));
    }
  }
  expect(worst).toBeLessThan(1e-12);
});

it.each([96, 104, 128, 384])('spreads a single coordinate over all, %i wide', (width) => {
  for (const column of columnsOf(width, 1n)) {
    const largest = Math.max(...column.map(Math.abs));
    expect(largest * Math.sqrt(width)).toBeLessThan(6);
    const fourth = column.reduce((sum, value) => sum + value ** 4, 0) * width;
    expect(fourth).toBeLessThan(8); // 3 of a Gaussian, `width` of a single coordinate
  }
});

it('another seed is another rotation', () => {
  const [a, b] = [columnsOf(104, 1n), columnsOf(104, 2n)];
  expect(columnsOf(104, 1n)).toEqual(a);
  expect(b[0]).not.toEqual(a[0]);
});
