// Seeded vectors and texts, the same on every run.

import { generator } from './random.mjs';

/** Rows near some of a thousand points. */
export function clusteredVectors(count, dimensions) {
  const { unit: next } = generator(11);
  const points = Float32Array.from({ length: 1000 * dimensions }, () => next() - 0.5);
  const values = new Float32Array(count * dimensions);
  for (let row = 0; row < count; row++) {
    const from = Math.floor(next() * 1000) * dimensions;
    for (let d = 0; d < dimensions; d++) {
      values[row * dimensions + d] = points[from + d] + 0.7 * (next() - 0.5);
    }
  }
  return { values, dimensions };
}

/** Texts of 120 words, few of which are frequent. */
export function randomTexts(count) {
  const { unit: next } = generator(5);
  const words = Array.from({ length: 20_000 }, () => Math.floor(next() * 1e9).toString(36));
  const draw = () => words[Math.floor(next() ** 3 * words.length)];
  return Array.from({ length: count }, () => Array.from({ length: 120 }, draw).join(' '));
}
