/**
 * The long life of an index: rows added, replaced and removed, searched and optimized, next to a
 * Map. Answers are the Map's throughout; memory and the codes that a search compares stay near those
 * of an index that was made a moment ago.
 */

import * as api from '../../src/node';
import { countDifferentBits } from '../reference/brute-force';
import { Draws } from '../reference/random';

/** Rows that an index has at most. */
const ROWS = 3000;
/** Operations from one measurement of everything to the next. */
const SPAN = 500;
const MAX_RATIO = 1.25;
/** Up to so many removed rows of each of a few segments stay in place, in an index of any size. */
const SLACK_ROWS = 64;
const QUERIES = 10;

const DIMENSIONS = 6;
const OPTIMIZE = { k: 5, queries: 20, partitions: 8, recall: 0.8, seed: 1 };
const KINDS: Record<string, api.SimHashIndexOptions> = {
  codes: { bits: 24 },
  float32: { bits: 48, dimensions: DIMENSIONS, vectors: 'float32' },
  int8: { bits: 48, dimensions: DIMENSIONS, vectors: 'int8' },
};

interface Row {
  readonly code: Uint8Array;
  readonly given: Uint8Array | Float64Array;
}

class Life {
  readonly #draws: Draws;
  readonly #name: string;
  readonly #options: api.SimHashIndexOptions;
  #index: api.SimHashIndex<number>;
  /** Rows by id, in the order of their numbers. */
  readonly #model = new Map<number, Row>();
  searches = 0;
  /** The largest ratios to an index made a moment ago, of the same rows. */
  worst = { bytes: 0, compared: 0 };

  constructor(name: string, seed: string) {
    this.#name = name;
    this.#draws = new Draws(`${seed} ${name}`);
    this.#options = KINDS[name];
    this.#index = new api.SimHashIndex<number>(this.#options);
  }

  async run(operations: number): Promise<void> {
    for (let done = 1; done <= operations; done++) {
      this.#step();
      if (done % SPAN !== 0 && done !== operations) continue;
      if (this.#model.size > 0 && this.#draws.integer(3) === 0) {
        await this.#index.optimize(OPTIMIZE);
      }
      this.#checkSearch();
      await this.#checkFresh();
    }
  }

  #step(): void {
    const id = this.#draws.integer(ROWS);
    const kind = this.#draws.integer(20);
    if (kind < 9) {
      const row = this.#newRow();
      this.#index.set(row.given, id);
      this.#model.delete(id);
      this.#model.set(id, row);
    } else if (kind < 15) {
      this.#check('remove', this.#index.remove(id), this.#model.delete(id));
    } else if (kind < 19) {
      const [found, row] = [this.#index.get(id), this.#model.get(id)];
      this.#check('get', found?.code?.join(), row?.code.join());
      if (row === undefined || row.given instanceof Uint8Array) return;
      const vector = (found?.vector ?? []) as ArrayLike<number>;
      const off = row.given.map((value, i) => Math.abs(value - vector[i]));
      this.#checkNear('get', Math.max(...off), 0);
    } else {
      this.#checkSearch();
      this.#checkCosines();
    }
  }

  #newRow(): Row {
    const isCode = this.#name === 'codes';
    const given = isCode ? this.#draws.bytes(3) : this.#draws.gaussians(DIMENSIONS);
    if (isCode && this.#draws.integer(4) === 0) given.fill(this.#draws.integer(4)); // equal codes
    const code = isCode ? (given as Uint8Array) : this.#index.hasher.hash(given as Float64Array);
    return { code, given };
  }

  #checkSearch(): void {
    this.searches++;
    const query = this.#newRow().code;
    const near = Array.from(this.#model, ([id, { code }], order) => {
      return { id, order, distance: countDifferentBits(code, query) };
    });
    near.sort((a, b) => a.distance - b.distance || a.order - b.order);
    const found = this.#index.search(query, { k: 10, rank: 'hamming' });
    const ids = near.slice(0, 10).map(({ id }) => id);
    this.#check('search', [...found.ids].join(), ids.join());
    const maxDistance = 6;
    const within = this.#index.within(query, { maxDistance });
    const all = near.filter(({ distance }) => distance <= maxDistance).map(({ id }) => id);
    this.#check('within', [...within.ids].join(), all.join());
  }

  /** The cosines that a search of vectors states are those of the vectors that were given. */
  #checkCosines(): void {
    const query = this.#newRow().given;
    if (query instanceof Uint8Array) return;
    const found = this.#index.search(query, { k: 10 });
    const { ids, similarities } = found;
    this.#check('rows of a search', new Set(ids).size, Math.min(10, this.#model.size));
    for (const [i, id] of [...ids].entries()) {
      const given = this.#model.get(id)?.given as Float64Array;
      this.#checkNear('a cosine', similarities[i], cosine(query, given));
    }
  }

  /** Values of int8 differ by half of a step of 127. */
  #checkNear(what: string, actual: number, expected: number): void {
    const most = this.#name === 'int8' ? 0.03 : 1e-6;
    if (Math.abs(actual - expected) <= most) return;
    throw new Error(`${this.#name}: ${what} is ${actual}, expected ${expected}`);
  }

  /** Next to an index that never had other rows. */
  async #checkFresh(): Promise<void> {
    this.#check('count', this.#index.count, this.#model.size);
    const fresh = new api.SimHashIndex<number>(this.#options);
    for (const [id, { given }] of this.#model) fresh.add(given, id);
    if (this.#index.report !== null) await fresh.optimize(OPTIMIZE);
    fresh.has(0); // makes the table of ids, which the other has too
    const queries = Array.from({ length: QUERIES }, () => this.#newRow().code);
    const compared = (index: api.SimHashIndex<number>) =>
      queries.reduce((sum, query) => {
        const options = { k: 10, rank: 'hamming', explain: true } as const;
        return sum + (index.search(query, options).explain?.codesCompared ?? 0);
      }, 0);
    const most = this.#model.size + SLACK_ROWS;
    const ratio = compared(this.#index) / (QUERIES * most);
    this.#check('a scan of a fresh index', compared(fresh), QUERIES * this.#model.size);
    const { bytes } = this.#index;
    const freshBytes = (fresh.bytes / this.#model.size) * most;
    const bytesRatio = bytes / freshBytes;
    this.worst.compared = Math.max(this.worst.compared, ratio);
    this.worst.bytes = Math.max(this.worst.bytes, bytesRatio);
    if (ratio > MAX_RATIO) throw new Error(`${this.#name}: compares ${ratio} times as many codes`);
    if (bytesRatio > MAX_RATIO)
      throw new Error(`${this.#name}: takes ${bytesRatio} times the memory`);
  }

  #check(what: string, actual: unknown, expected: unknown): void {
    if (actual === expected) return;
    throw new Error(`${this.#name}: ${what} gives ${actual}, expected ${expected}`);
  }
}

function cosine(a: Float64Array, b: Float64Array): number {
  const dot = (x: Float64Array, y: Float64Array) => x.reduce((sum, v, i) => sum + v * y[i], 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}

/** That many operations, most of them on codes alone, which are quick. */
export async function longLife(operations: number, seed: string): Promise<string> {
  const shares: Record<string, number> = { codes: 0.8, float32: 0.1, int8: 0.1 };
  const told: string[] = [];
  let searches = 0;
  const before = process.memoryUsage().rss;
  for (const [name, share] of Object.entries(shares)) {
    const life = new Life(name, seed);
    await life.run(Math.round(share * operations));
    searches += life.searches;
    const { bytes, compared } = life.worst;
    told.push(`${name} ${compared.toFixed(2)} x the codes, ${bytes.toFixed(2)} x the memory`);
  }
  const grown = (process.memoryUsage().rss - before) / 2 ** 20;
  if (grown > MAX_GROWTH_MB) throw new Error(`the process has grown by ${grown} MB`);
  return `${operations} operations, ${searches} searches compared; ${told.join('; ')}`;
}

/** Room for the collector's habits; the rows themselves take less than 1 MB. */
const MAX_GROWTH_MB = 400;
