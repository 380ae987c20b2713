// Multi-index hashing for the benches: the library's own source, bundled on the fly; collectors of hits
// in any order; near duplicates.

import { Codes } from '../../dist/index.js';
import { fromSource } from './from-source.mjs';
import { generator } from './random.mjs';

export const { Bands, runSteps } = await fromSource(`
  export { Bands } from '../../src/index/bands/bands';
  export { runSteps } from '../../src/base/steps';
`);

/** All hits within a distance. */
export class WithinAny {
  hits = [];

  constructor(maxDistance) {
    this.limit = maxDistance + 1;
  }

  take(row, distance) {
    this.hits.push({ row, distance });
  }

  result() {
    return inOrder(this.hits);
  }
}

/** The k nearest. The limit is as low as the hits allow, since a search ends by it. */
export class NearestAny {
  hits = [];
  #k;
  #counts;
  #below = 0;

  constructor(k, bits) {
    this.#k = k;
    this.#counts = new Uint32Array(bits + 1);
    this.limit = bits + 1;
  }

  take(row, distance) {
    this.hits.push({ row, distance });
    this.#counts[distance]++;
    this.#below++;
    while (this.#below - this.#counts[this.limit - 1] >= this.#k) {
      this.#below -= this.#counts[--this.limit];
    }
  }

  result() {
    return inOrder(this.hits.filter(({ distance }) => distance < this.limit)).slice(0, this.#k);
  }
}

function inOrder(hits) {
  return hits.sort((a, b) => a.distance - b.distance || a.row - b.row);
}

/** Rows and distances as text, to be compared. */
export function textOf({ rows, distances }) {
  return Array.from(rows, (row, i) => `${row}:${distances[i]}`).join();
}

export function hitsText(hits) {
  return hits.map(({ row, distance }) => `${row}:${distance}`).join();
}

/**
 * Groups of near duplicates, their rows in no order: the first is uniform, the others have up to
 * `flips` of its bits flipped. n rows or more with probability 1 / n, up to 1,000.
 */
export function nearDuplicates(count, bits, flips, seed) {
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
