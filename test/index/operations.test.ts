import { describe, expect, it } from 'vitest';
import type { SimHashIndexOptions } from '../../src/index/index-options';
import type { SimHashIndex } from '../../src/index/simhash-index';
import { Draws } from '../reference/random';
import { Model, type ModelId, type ModelVector, rowOf, type Storage } from './model';
import { denseVectors, givenOf, queryOf, segmentsOf, sparseVectors, spreadIndex } from './spread';

/** Random operations on an index of small segments, against the model, wherever nothing is missed. */

const BITS = 40;
const DIMENSIONS = 10;

interface Kind {
  readonly name: string;
  readonly storage: Storage;
  readonly options: SimHashIndexOptions;
  readonly vectors: (draws: Draws) => readonly ModelVector[];
  readonly idOf: ((number: number) => ModelId) | null;
}

const dense = (draws: Draws) => denseVectors(draws, 300, DIMENSIONS);
const sparse = (draws: Draws) => sparseVectors(draws, 300);
const own = { bits: BITS, zero: 'null' } as const;
const KINDS: Kind[] = [
  {
    name: 'float32 vectors, ids that are strings',
    storage: 'float32',
    options: { ...own, dimensions: DIMENSIONS, vectors: 'float32' },
    vectors: dense,
    idOf: (number) => `id ${number}`,
  },
  {
    name: 'int8 vectors, ids that are numbers',
    storage: 'int8',
    options: { ...own, dimensions: DIMENSIONS, vectors: 'int8' },
    vectors: dense,
    idOf: (number) => number - 3,
  },
  {
    name: 'codes alone, ids that are big integers',
    storage: 'none',
    options: { ...own, dimensions: DIMENSIONS },
    vectors: dense,
    idOf: (number) => BigInt(number) << 40n,
  },
  {
    name: 'sparse vectors, rows as ids',
    storage: 'sparse',
    options: { ...own, vectors: 'sparse' },
    vectors: sparse,
    idOf: null,
  },
  {
    name: 'sets, ids that are strings',
    storage: 'sparse',
    options: { ...own, vectors: 'sparse', projection: 'minwise' },
    vectors: sparse,
    idOf: (number) => `set ${number}`,
  },
];

class Pair {
  readonly index: SimHashIndex;
  readonly model: Model;
  readonly #kind: Kind;
  readonly #draws: Draws;
  readonly #pool: readonly ModelVector[];
  #ids = 0;

  constructor(kind: Kind, seed: string) {
    this.#kind = kind;
    this.#draws = new Draws(seed);
    this.#pool = kind.vectors(this.#draws);
    this.index = spreadIndex(kind.options, 40, undefined, 400);
    this.model = new Model(kind.storage, BITS);
  }

  vector(): ModelVector {
    return this.#pool[this.#draws.integer(this.#pool.length)];
  }

  #newId(): ModelId | undefined {
    let id: ModelId | undefined;
    do id = this.#kind.idOf?.(this.#ids++);
    while (id !== undefined && this.model.rowOf(id) !== undefined);
    return id;
  }

  #codeOf(vector: ModelVector): Uint8Array | null {
    return queryOf(this.index, vector)?.code ?? null;
  }

  add(): void {
    const [vector, id] = [this.vector(), this.#newId()];
    const row = this.model.add(vector, this.#codeOf(vector), id);
    expect(this.index.add(givenOf(vector) as number[], id)).toBe(row);
  }

  async addAll(): Promise<void> {
    const vectors = Array.from({ length: 1 + this.#draws.integer(70) }, () => this.vector());
    const ids = this.#kind.idOf === null ? undefined : vectors.map(() => this.#newId());
    const first = this.model.rows.length;
    for (const [i, vector] of vectors.entries()) {
      this.model.add(vector, this.#codeOf(vector), ids?.[i]);
    }
    const given = vectors.map(givenOf) as number[][];
    expect(await this.index.addAll(given, ids as string[] | undefined)).toBe(first);
  }

  someId(): ModelId {
    const row = this.#draws.integer(this.model.rows.length + 1);
    return this.model.rows[row]?.id ?? this.#kind.idOf?.(row) ?? row;
  }

  set(): void {
    if (this.#kind.idOf === null) return;
    const [vector, id] = [this.vector(), this.someId()];
    const row = this.model.set(vector, this.#codeOf(vector), id);
    expect(this.index.set(givenOf(vector) as number[], id)).toBe(row);
  }

  remove(): void {
    for (let i = this.#draws.integer(60); i >= 0; i--) {
      const id = this.someId();
      expect(this.index.remove(id)).toBe(this.model.remove(id));
    }
  }

  async optimize(): Promise<void> {
    if (this.model.count < 40 || this.#kind.options.projection === 'minwise') return;
    const copies = this.#kind.storage === 'float32' ? this.#draws.integer(2) === 1 : undefined;
    const isAsked = copies !== undefined && { copies };
    const report = await this.index.optimize({ partitions: 7, queries: 20, k: 3, ...isAsked });
    expect(report.rows).toBe(this.model.count);
  }

  /** Compares all answers that miss nothing. */
  async check(): Promise<void> {
    const { index, model } = this;
    const draws = this.#draws;
    expect(index.count).toBe(model.count);
    const id = this.someId();
    expect([index.has(id), index.get(id)?.row]).toEqual([
      model.rowOf(id) !== undefined,
      model.rowOf(id),
    ]);
    const vector = this.vector();
    const query = queryOf(index, vector);
    const given = givenOf(vector) as number[];
    if (query === null) return;
    const k = [1, 10, model.rows.length][draws.integer(3)];
    const third = (_id: ModelId, row: number) => row % 3 === 1;
    const few = [2, 5, 40, 41, 77].filter((row) => row < model.rows.length);
    const filters = [
      { accepts: undefined },
      { filter: third, accepts: third },
      { filter: few, accepts: (_: ModelId, row: number) => few.includes(row) },
      { filter: new Set(few), accepts: (_: ModelId, row: number) => few.includes(row) },
    ];
    const { accepts, ...filter } = filters[draws.integer(filters.length)];
    const byDistance = model.byDistance(query.code, k, BITS, accepts);
    const near = index.search(given, { k, rank: 'hamming', ...filter });
    expect(Array.from(near.rows)).toEqual(byDistance.map(rowOf));
    expect(near.ids).toEqual(byDistance.map(({ row }) => model.rows[row]?.id));
    const maxDistance = draws.integer(BITS);
    const within = index.within(given, { maxDistance, ...filter });
    const all = model.byDistance(query.code, model.rows.length, maxDistance, accepts);
    expect(Array.from(within.rows)).toEqual(all.map(rowOf));
    expect(await index.withinAll([given], { maxDistance, ...filter })).toEqual([within]);
    if (this.#kind.options.projection === 'minwise') {
      const minJaccard = draws.uniform();
      const found = index.within(given, { minJaccard, maxDistance: BITS });
      const wanted = model.byJaccard(vector as ReadonlyMap<bigint, number>, model.rows.length);
      const enough = wanted.filter(({ score }) => score >= minJaccard);
      expect(Array.from(found.rows)).toEqual(enough.map(rowOf));
      return;
    }
    const estimated = index.search(given, { k, rank: 'estimate', method: 'scan', ...filter });
    const byEstimate = model.byEstimate(query, k, accepts);
    expect(Array.from(estimated.rows)).toEqual(byEstimate.map(rowOf));
    expect(Array.from(estimated.estimatedCosines ?? [])).toEqual(
      byEstimate.map(({ score }) => score),
    );
    if (this.#kind.storage === 'none') return;
    // Every candidate is ranked, and every partition visited.
    const everything = {
      k,
      oversample: 1000,
      ...(index.report?.method === 'partitions' && { probes: 7 }),
    };
    const exact = index.search(given, { ...everything, ...filter });
    const byCosine = model.byCosine(query, k, accepts);
    expect(Array.from(exact.rows)).toEqual(byCosine.map(rowOf));
    expect(Array.from(exact.cosines ?? [])).toEqual(byCosine.map(({ score }) => score));
    const minCosine = 2 * draws.uniform() - 1;
    const similar = index.within(given, { minCosine, maxDistance });
    const wanted = model.withinCosine(query, maxDistance, minCosine);
    expect(Array.from(similar.rows)).toEqual(wanted.map(rowOf));
    const many = await index.searchAll([given, given], { ...everything, ...filter });
    expect(many).toEqual([exact, exact]);
  }
}

describe.each(KINDS)('an index of $name', (kind) => {
  it.each([1])('agrees with the model through random operations, seed %i', async (seed) => {
    const pair = new Pair(kind, `${kind.name} ${seed}`);
    const draws = new Draws(`steps ${seed}`);
    let most = 0;
    for (let step = 0; step < 90; step++) {
      const choice = draws.integer(20);
      if (choice < 6) pair.add();
      else if (choice < 10) await pair.addAll();
      else if (choice < 14) pair.set();
      else if (choice < 18) pair.remove();
      else if (choice === 18) await pair.optimize();
      await pair.check();
      most = Math.max(most, segmentsOf(pair.index));
    }
    expect(most).toBeGreaterThan(1);
  });
});
