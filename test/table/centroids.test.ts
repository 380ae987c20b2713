import { expect, it } from 'vitest';
import { centroidsFromArrow, centroidsToArrow } from '../../src/table/sealed/small-tables';
import { roundToByteRows } from '../../src/vectors/byte-rows';
import { Draws } from '../reference/random';

const WIDTH = 384;

it('centroids come back as training rounded them, and take a byte a value', () => {
  const values = Int16Array.from(new Draws(2).gaussians(100 * WIDTH), (x) => Math.round(1600 * x));
  roundToByteRows(values, WIDTH, 32_767);
  const file = centroidsToArrow(values, WIDTH);
  expect(centroidsFromArrow(file, 'a file')).toEqual(values);
  expect(file.length).toBeLessThan(1.1 * values.length);
});
