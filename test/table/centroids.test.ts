import { expect, it } from 'vitest';
import { centroidsFromArrow, centroidsToArrow } from '../../src/table/sealed/small-tables';
import { roundToByteRows } from '../../src/vectors/byte-rows';
import { Draws } from '../reference/random';

const WIDTH = 384;

it('centroids take a byte a value where that holds them, and two where not', () => {
  const values = Int16Array.from(new Draws(2).gaussians(100 * WIDTH), (x) => Math.round(1600 * x));
  const wide = centroidsToArrow(values, WIDTH);
  expect(centroidsFromArrow(wide, 'a file')).toEqual(values);
  expect(wide.length).toBeGreaterThan(2 * values.length);
  roundToByteRows(values, WIDTH, 32_767);
  const narrow = centroidsToArrow(values, WIDTH);
  expect(centroidsFromArrow(narrow, 'a file')).toEqual(values);
  expect(narrow.length).toBeLessThan(1.1 * values.length);
});
