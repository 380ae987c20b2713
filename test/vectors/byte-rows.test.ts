import { expect, it } from 'vitest';
import { byteRowsOf, fromByteRows, roundToByteRows } from '../../src/k-means/k-means';
import { Draws } from '../reference/random';

const LENGTH = 32_767;

it.each([8, 100, 384])('vectors of %s values keep their direction and length', (width) => {
  const drawn = new Draws(width).gaussians(50 * width);
  const values = new Int16Array(drawn.length);
  for (let row = 0; row < 49; row++) {
    const own = drawn.subarray(row * width, (row + 1) * width);
    const length = Math.hypot(...own);
    own.forEach((value, i) => {
      values[row * width + i] = Math.round((value * LENGTH) / length);
    });
  }
  const rounded = values.slice();
  roundToByteRows(rounded, width);
  for (let row = 0; row < 49; row++) {
    const [a, b] = [values, rounded].map((all) => all.subarray(row * width, (row + 1) * width));
    const product = a.reduce((sum, value, i) => sum + value * b[i], 0);
    expect(Math.abs(Math.hypot(...b) / LENGTH - 1)).toBeLessThan(0.001);
    expect(product / (Math.hypot(...a) * Math.hypot(...b))).toBeGreaterThan(0.9995);
  }
  expect([...rounded.subarray(49 * width)]).toEqual(new Array(width).fill(0));
  // Each row has 255 values at most, and rounding it again changes nothing.
  expect(new Set(rounded.subarray(0, width)).size).toBeLessThanOrEqual(255);
  const again = rounded.slice();
  roundToByteRows(again, width);
  expect(again).toEqual(rounded);
  const read = new Int16Array(rounded.length);
  fromByteRows(byteRowsOf(rounded, width), width, read);
  expect(read).toEqual(rounded);
});
