// Seeded data: the same codes and vectors on every run. The generator is sfc32 (PractRand), fast enough
// to fill 128 MB of codes in a blink.

import { Codes } from '../../dist/index.js';

export function generator(seed) {
  let a = seed;
  let b = 0x9e3779b9;
  let c = 0x243f6a88;
  let counter = 1;
  let spare;
  const word = () => {
    const t = (a + b + counter++) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + t;
    return t >>> 0;
  };
  for (let i = 0; i < 16; i++) word();
  /** In 0..1, 1 excluded. */
  const unit = () => word() / 2 ** 32;
  const below = (limit) => Math.floor(unit() * limit);
  /** By Box and Muller, two at a time. */
  const normal = () => {
    if (spare !== undefined) {
      const value = spare;
      spare = undefined;
      return value;
    }
    const radius = Math.sqrt(-2 * Math.log(1 - unit()));
    const angle = 2 * Math.PI * unit();
    spare = radius * Math.sin(angle);
    return radius * Math.cos(angle);
  };
  return { word, unit, below, normal };
}

/** Every bit by the toss of a coin. */
export function uniformCodes(count, bits, seed) {
  const { word } = generator(seed);
  const codes = Codes.allocate(count, { bits });
  const words = new Uint32Array(codes.bytes.buffer, codes.bytes.byteOffset, codes.bytes.length / 4);
  for (let i = 0; i < words.length; i++) words[i] = word();
  return codes;
}

/** Around 1,000 centroids, a bit in eight of each code flipped. */
export function clusteredCodes(count, bits, seed) {
  const { word, below } = generator(seed);
  const codes = uniformCodes(1000, bits, seed + 1);
  return fillRows(count, bits, (row) => {
    row.set(codes.at(below(1000)));
    for (let i = 0; i < row.length; i++) row[i] ^= 1 << (word() & 7);
  });
}

/** Only 1,000 different codes, each many times over. */
export function duplicateCodes(count, bits, seed) {
  const { below } = generator(seed);
  const codes = uniformCodes(1000, bits, seed + 1);
  return fillRows(count, bits, (row) => row.set(codes.at(below(1000))));
}

function fillRows(count, bits, fill) {
  const codes = Codes.allocate(count, { bits });
  for (let row = 0; row < count; row++) fill(codes.at(row));
  return codes;
}

/** Rows 2i and 2i + 1 are a pair at exactly 60 degrees, whose codes should differ in 1/3 of the bits. */
export function pairedVectors(count, dimensions, seed) {
  const { normal } = generator(seed);
  const values = new Float32Array(count * dimensions);
  for (let row = 0; row + 1 < count; row += 2) {
    const a = unitVector(Array.from({ length: dimensions }, normal));
    const other = Array.from({ length: dimensions }, normal);
    const along = other.reduce((sum, value, i) => sum + value * a[i], 0);
    const b = unitVector(other.map((value, i) => value - along * a[i]));
    values.set(a, row * dimensions);
    values.set(
      a.map((value, i) => value / 2 + b[i] * Math.sqrt(0.75)),
      (row + 1) * dimensions,
    );
  }
  return { values, dimensions };
}

function unitVector(values) {
  const length = Math.hypot(...values);
  return values.map((value) => value / length);
}

/** Rows of `entries` dimensions below `dimensions`, ascending, each once, with Gaussian values. */
export function sparseRows(count, entries, dimensions, seed) {
  const { below, normal } = generator(seed);
  const offsets = Uint32Array.from({ length: count + 1 }, (_, row) => row * entries);
  const indices = new Uint32Array(count * entries);
  const values = new Float32Array(count * entries);
  for (let row = 0; row < count; row++) {
    const seen = new Set();
    while (seen.size < entries) seen.add(below(dimensions));
    indices.set(Uint32Array.from(seen).sort(), row * entries);
  }
  for (let i = 0; i < values.length; i++) values[i] = normal();
  return { offsets, indices, values };
}

/**
 * Groups of near duplicates, their rows in no order: the first is uniform, the others have up to
 * `flips` of its bits flipped. n rows or more with probability 1 / n, up to 1,000.
 */
export function nearDuplicates(count, bits, seed, flips) {
  const { word, unit, below } = generator(seed);
  const codes = Codes.allocate(count, { bits });
  const order = Uint32Array.from({ length: count }, (_, row) => row);
  for (let i = count - 1; i > 0; i--) {
    const j = below(i + 1);
    [order[i], order[j]] = [order[j], order[i]];
  }
  for (let next = 0; next < count; ) {
    const first = codes.at(order[next]);
    for (let i = 0; i < first.length; i++) first[i] = word();
    const end = Math.min(count, next + 1000, next + Math.floor(1 / (1 - unit())));
    while (++next < end) {
      const row = codes.at(order[next]);
      row.set(first);
      flip(row, below(flips + 1), below);
    }
  }
  return codes;
}

/** Rows with 0, 1, .. `flips` bits flipped, in turn. */
export function queriesNear(codes, count, flips, seed) {
  const { below } = generator(seed);
  return Array.from({ length: count }, (_, i) => {
    const query = codes.at(below(codes.count)).slice();
    flip(query, i % (flips + 1), below);
    return query;
  });
}

function flip(code, flips, below) {
  for (let i = 0; i < flips; i++) code[below(code.length)] ^= 1 << below(8);
}

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
