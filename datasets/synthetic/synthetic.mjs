// Seeded vectors and codes of known structure: the same on every run, in any number. Codes are rows
// of bytes one after another, lowest bit first; unused high bits of a row's last byte are 0.

import seedrandom from 'seedrandom';

/**
 * Vectors around centres of length about 1, each row at a random one. Noise is about `spread` long:
 * two rows of a cluster have a cosine about 1 / (1 + spread²), two of different clusters about 0.
 */
export function clusteredGaussian({ count, dimensions, clusters, spread, seed }) {
  const { below, fillNormal } = generator(seed);
  const scale = 1 / Math.sqrt(dimensions);
  const centres = fillNormal(new Float32Array(clusters * dimensions), scale);
  const values = fillNormal(new Float32Array(count * dimensions), spread * scale);
  for (let at = 0; at < values.length; at += dimensions) {
    const centre = below(clusters) * dimensions;
    for (let i = 0; i < dimensions; i++) values[at + i] += centres[centre + i];
  }
  return { values, dimensions };
}

/** Every bit by the toss of a coin. */
export function uniformCodes({ count, bits, seed }) {
  const { word } = generator(seed);
  const bytesPerCode = Math.ceil(bits / 8);
  const size = count * bytesPerCode;
  const words = new Int32Array(Math.ceil(size / 4));
  for (let i = 0; i < words.length; i++) words[i] = word();
  const codes = new Uint8Array(words.buffer, 0, size);
  const used = 0xff >> (8 * bytesPerCode - bits);
  if (used < 0xff) for (let i = bytesPerCode - 1; i < size; i += bytesPerCode) codes[i] &= used;
  return codes;
}

/** Uniform centres; a row is a random one with 0 to `flips` bits flipped, each number as likely. */
export function clusteredCodes({ count, bits, clusters, flips, seed }) {
  const { below } = generator(`${seed} rows`);
  const centres = uniformCodes({ count: clusters, bits, seed });
  const copy = flippingCopy(centres, bits, below);
  const codes = new Uint8Array(count * Math.ceil(bits / 8));
  for (let row = 0; row < count; row++) copy(below(clusters), codes, row, below(flips + 1));
  return codes;
}

/** At most `distinct` different codes, each many times over, in no order. */
export function duplicateHeavyCodes({ count, bits, distinct, seed }) {
  return clusteredCodes({ count, bits, clusters: distinct, flips: 0, seed });
}

/**
 * Groups of near duplicates, their rows in no order; `groups` holds the group of each row. A
 * group's first row is uniform, the others differ from it in 0 to `flips` bits. A group has n rows
 * or more with probability 1 / n, up to `largest`: half of them are single rows, a few are large.
 */
export function nearDuplicateCodes({ count, bits, flips = 3, largest = 1000, seed }) {
  const { unit, below, shuffle } = generator(`${seed} rows`);
  const groups = new Uint32Array(count);
  let groupCount = 0;
  for (let row = 0; row < count; groupCount++) {
    const size = Math.min(largest, Math.floor(1 / (1 - unit())));
    groups.fill(groupCount, row, row + size);
    row += size;
  }
  shuffle(groups);
  const originals = uniformCodes({ count: groupCount, bits, seed });
  const copy = flippingCopy(originals, bits, below);
  const isSeen = new Uint8Array(groupCount);
  const codes = new Uint8Array(count * Math.ceil(bits / 8));
  for (let row = 0; row < count; row++) {
    const group = groups[row];
    copy(group, codes, row, isSeen[group] === 0 ? 0 : below(flips + 1));
    isSeen[group] = 1;
  }
  return { codes, groups };
}

/** Copies a row of `source` to a row of `target`, with exactly so many different bits flipped. */
function flippingCopy(source, bits, below) {
  const width = Math.ceil(bits / 8);
  return (sourceRow, target, targetRow, flips) => {
    if (flips > bits) throw new RangeError(`expected at most ${bits} flips, got ${flips}`);
    const from = sourceRow * width;
    const to = targetRow * width;
    for (let i = 0; i < width; i++) target[to + i] = source[from + i];
    for (let flipped = 0; flipped < flips; ) {
      const bit = below(bits);
      const byte = bit >> 3;
      const mask = 1 << (bit & 7);
      if (((target[to + byte] ^ source[from + byte]) & mask) !== 0) continue; // it is flipped
      target[to + byte] ^= mask;
      flipped++;
    }
  };
}

/** Numbers by Baagøe's Alea, the fastest of seedrandom's generators. */
function generator(seed) {
  const random = seedrandom.alea(String(seed));
  const word = random.int32;
  /** In 0..1, 1 excluded, a multiple of 2^-32. */
  const unit = random;
  const below = (limit) => Math.floor(random() * limit);

  /** Normal values by Box and Muller, two at a time. */
  const fillNormal = (values, deviation) => {
    for (let i = 0; i < values.length; i += 2) {
      const radius = deviation * Math.sqrt(-2 * Math.log(1 - random()));
      const angle = 2 * Math.PI * random();
      values[i] = radius * Math.cos(angle);
      if (i + 1 < values.length) values[i + 1] = radius * Math.sin(angle);
    }
    return values;
  };

  /** Fisher and Yates. */
  const shuffle = (values) => {
    for (let i = values.length - 1; i > 0; i--) {
      const j = below(i + 1);
      [values[i], values[j]] = [values[j], values[i]];
    }
  };

  return { word, unit, below, fillNormal, shuffle };
}
