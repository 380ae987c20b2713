// Texts as sparse vectors: every run of words or characters is a dimension, its hash, and weighs
// log(1 + how often it occurs). Plain, so that it shows what the codes are given.

import { createHash } from 'node:crypto';

/** The runs of letters and digits, in lower case. */
export function wordsOf(text) {
  return folded(text).match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** The letters and digits one by one, for a script that does not part its words. */
export function charactersOf(text) {
  return folded(text).match(/[\p{L}\p{N}]/gu) ?? [];
}

/** Overlapping runs of `width` units of each text, as sparse rows that a SimHasher takes. */
export function shingleRows(texts, unitsOf, width) {
  const dimensionOf = hashCache();
  const offsets = [0];
  const indices = [];
  const values = [];
  for (const text of texts) {
    for (const [shingle, count] of countShingles(unitsOf(text), width)) {
      indices.push(dimensionOf(shingle));
      values.push(Math.log(1 + count));
    }
    offsets.push(indices.length);
  }
  return {
    offsets: Uint32Array.from(offsets),
    indices: BigUint64Array.from(indices),
    values: Float64Array.from(values),
  };
}

function folded(text) {
  return text.normalize('NFKC').toLowerCase();
}

function countShingles(units, width) {
  const counts = new Map();
  for (let i = 0; i + width <= units.length; i++) {
    const shingle = units.slice(i, i + width).join(' ');
    counts.set(shingle, (counts.get(shingle) ?? 0) + 1);
  }
  return counts;
}

/** The first 8 bytes of SHA-1, each text hashed once. */
function hashCache() {
  const known = new Map();
  return (text) => {
    let dimension = known.get(text);
    if (dimension === undefined) {
      dimension = createHash('sha1').update(text).digest().readBigUInt64LE();
      known.set(text, dimension);
    }
    return dimension;
  };
}
