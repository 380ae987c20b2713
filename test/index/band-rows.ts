/**
 * Codes of several kinds for multi-index hashing, and collectors that take hits in
 * any order but no code twice.
 */

import { runSteps } from '../../src/base/steps';
import type { Collector } from '../../src/codes/nearest';
import type { CodeSource } from '../../src/index/bands/band-table';
import { Bands, type BandsOptions } from '../../src/index/bands/bands';
import type { Draws } from '../reference/random';

/**
 * Takes hits in any order, refuses a second one of a code, and holds the limit as low as it may.
 */
export class AnyOrder implements Collector {
  readonly hits: { distinct: number; distance: number }[] = [];
  readonly #members = new Set<number>();
  readonly #k: number;
  limit: number;

  constructor({ k, maxDistance }: { k?: number; maxDistance: number }) {
    this.#k = k ?? Number.POSITIVE_INFINITY;
    this.limit = maxDistance + 1;
  }

  take(distinct: number, distance: number): void {
    if (this.#members.has(distinct)) throw new Error(`distinct ${distinct} is offered twice`);
    this.#members.add(distinct);
    this.hits.push({ distinct, distance });
    if (distance >= this.limit) throw new Error(`distance ${distance} is of no use`);
    if (this.hits.length < this.#k) return;
    const distances = this.hits.map((hit) => hit.distance).sort((a, b) => a - b);
    this.limit = Math.min(this.limit, distances[this.#k - 1] + 1);
  }

  result() {
    const sorted = this.hits
      .sort((a, b) => a.distance - b.distance || a.distinct - b.distinct)
      .slice(0, this.#k);
    return {
      rows: Uint32Array.from(sorted, ({ distinct }) => distinct),
      distances: Uint16Array.from(sorted, ({ distance }) => distance),
    };
  }
}

export const KINDS = ['uniform', 'clustered', 'equal', 'duplicates'] as const;
export type Kind = (typeof KINDS)[number];

export function flipped(code: Uint8Array, bits: number, flips: number, draws: Draws): Uint8Array {
  const other = code.slice();
  for (let i = 0; i < flips; i++) {
    const bit = draws.integer(bits);
    other[bit >> 3] ^= 1 << (bit & 7);
  }
  return other;
}

export function randomCode(bits: number, draws: Draws): Uint8Array {
  const code = draws.bytes(Math.ceil(bits / 8));
  if (bits % 8 !== 0) code[code.length - 1] &= (1 << (bits % 8)) - 1;
  return code;
}

export function makeRows(kind: Kind, count: number, bits: number, draws: Draws): Uint8Array[] {
  const centres = Array.from({ length: kind === 'equal' ? 1 : 5 }, () => randomCode(bits, draws));
  return Array.from({ length: count }, () => {
    if (kind === 'uniform') return randomCode(bits, draws);
    const flips = kind === 'clustered' ? draws.integer(5) : 0;
    return flipped(draws.pick(centres), bits, flips, draws);
  });
}

export function joined(rows: readonly Uint8Array[], bits: number): Uint8Array {
  const width = Math.ceil(bits / 8);
  const bytes = new Uint8Array(rows.length * width);
  rows.forEach((row, i) => {
    bytes.set(row, i * width);
  });
  return bytes;
}

/** Codes in one memory. */
export function sourceOf(codes: Uint8Array): CodeSource {
  return { memories: [{ codes }], shift: 31 };
}

export function build(
  rows: readonly Uint8Array[],
  bits: number,
  blocks: number,
  options: Partial<BandsOptions> = {},
): Bands {
  const source = sourceOf(joined(rows, bits));
  return runSteps(Bands.build(source, { bits, count: rows.length, blocks, ...options }), {});
}

/** Rows, near ones and others, for queries. */
export function queriesNear(rows: readonly Uint8Array[], bits: number, draws: Draws): Uint8Array[] {
  const other = randomCode(bits, draws);
  if (rows.length === 0) return [other];
  const near = [1, 2, 3].map((flips) => flipped(draws.pick(rows), bits, flips, draws));
  return [rows[0], ...near, other];
}

/** Many hits below a fixed limit, marked. */
export class DistinctCodes implements Collector {
  readonly limit: number;
  readonly #marks: Uint8Array;

  constructor(limit: number, count: number) {
    this.limit = limit;
    this.#marks = new Uint8Array(count);
  }

  take(distinct: number): void {
    if (this.#marks[distinct]++ > 0) throw new Error(`distinct ${distinct} is offered twice`);
  }

  members(): number[] {
    return [...this.#marks.keys()].filter((distinct) => this.#marks[distinct] > 0);
  }

  result(): never {
    throw new Error('not asked for');
  }
}
