import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { SearchOptions, SimHashIndexOptions } from '../../src/index/index-options';
import type { SimHashIndex } from '../../src/index/simhash-index';
import { openIndex, saveIndex } from '../../src/store/index-folder';
import { openIndexUrl, type StoredIndex } from '../../src/store/stored-index';
import { Draws } from '../reference/random';
import { quickIf } from '../reference/tags';
import { startHost } from '../store/web-host';
import {
  Model,
  type ModelId,
  type ModelQuery,
  type ModelVector,
  rowOf,
  type Sparse,
  type Storage,
} from './model';
import { denseVectors, givenOf, queryOf, segmentsOf, sparseVectors, spreadIndex } from './spread';

/**
 * Random operations on an index of one to fifty segments, against the model, wherever nothing is
 * missed; and, of what is saved at times, the same answers from the folder and from a web host.
 */

const BITS = 40;
const DIMENSIONS = 10;

interface Kind {
  readonly name: string;
  readonly storage: Storage;
  readonly options: SimHashIndexOptions;
  readonly vectors: (draws: Draws) => readonly ModelVector[];
  readonly idOf: ((number: number) => ModelId) | null;
}

/** Rows of a tail and of a segment, at most; and how many batches are added at first. */
interface Layout {
  readonly tail: number;
  readonly segment: number;
  readonly batches: number;
}

const ONE = { tail: 300, segment: 100_000, batches: 0 };
const FEW = { tail: 40, segment: 400, batches: 0 };
const MANY = { tail: 3, segment: 3, batches: 70 };
/** For sets, whose segments no `optimize` makes one of. */
const MANY_OF_SETS = { ...MANY, segment: 24 };

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

type Place = SimHashIndex | StoredIndex;
type Filter = SearchOptions['filter'];
type Accepts = (id: ModelId, row: number) => boolean;

/** A query, the rows that its filter accepts, and how many are wanted. */
interface Question {
  readonly vector: ModelVector;
  readonly query: ModelQuery;
  readonly given: number[];
  readonly filter: { filter?: Filter };
  readonly accepts?: Accepts | undefined;
  readonly k: number;
}

class Pair {
  readonly index: SimHashIndex;
  readonly model: Model;
  readonly #kind: Kind;
  readonly #draws: Draws;
  readonly #pool: readonly ModelVector[];
  #ids = 0;

  constructor(kind: Kind, { tail, segment }: Layout, seed: string) {
    this.#kind = kind;
    this.#draws = new Draws(seed);
    this.#pool = kind.vectors(this.#draws);
    this.index = spreadIndex(kind.options, tail, undefined, segment);
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

  async addAll(most = 70): Promise<void> {
    const vectors = Array.from({ length: 1 + this.#draws.integer(most) }, () => this.vector());
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

  /** Compares all answers that miss nothing, of the index and of others with its rows. */
  async check(...others: StoredIndex[]): Promise<void> {
    const { index, model } = this;
    expect(index.count).toBe(model.count);
    expect(others.map(({ count }) => count)).toEqual(others.map(() => model.count));
    const id = this.someId();
    expect(index.has(id)).toBe(model.rowOf(id) !== undefined);
    const places = [index, ...others];
    for (const place of places) expect((await place.get(id))?.row).toBe(model.rowOf(id));
    const vector = this.vector();
    const query = queryOf(index, vector);
    if (query === null) return;
    const asked = { vector, query, given: givenOf(vector) as number[], ...this.#filter() };
    await this.#checkDistances(places, asked);
    if (this.#kind.options.projection === 'minwise') await this.#checkSets(places, asked);
    else await this.#checkCosines(places, asked);
  }

  #filter(): Pick<Question, 'filter' | 'accepts' | 'k'> {
    const third = (_id: ModelId, row: number) => row % 3 === 1;
    const few = [2, 5, 40, 41, 77].filter((row) => row < this.model.rows.length);
    const isFew = (_: ModelId, row: number) => few.includes(row);
    const { accepts, ...filter } = this.#draws.pick<{ filter?: Filter; accepts?: Accepts }>([
      {},
      { filter: third, accepts: third },
      { filter: few, accepts: isFew },
      { filter: new Set(few), accepts: isFew },
    ]);
    return { filter, accepts, k: this.#draws.pick([1, 10, Math.max(1, this.model.rows.length)]) };
  }

  async #checkDistances(places: Place[], { query, given, filter, accepts, k }: Question) {
    const { model } = this;
    const byDistance = model.byDistance(query.code, k, BITS, accepts);
    const maxDistance = this.#draws.integer(BITS);
    const all = model.byDistance(query.code, model.rows.length, maxDistance, accepts);
    for (const place of places) {
      const near = await place.search(given, { k, rank: 'hamming', ...filter });
      expect(Array.from(near.rows)).toEqual(byDistance.map(rowOf));
      expect(near.ids).toEqual(byDistance.map(({ row }) => model.rows[row]?.id));
      const within = await place.within(given, { maxDistance, ...filter });
      expect(Array.from(within.rows)).toEqual(all.map(rowOf));
      expect(await place.withinAll([given], { maxDistance, ...filter })).toEqual([within]);
    }
  }

  async #checkSets(places: Place[], { vector, given }: Question) {
    const minJaccard = this.#draws.uniform();
    const wanted = this.model.byJaccard(vector as Sparse, this.model.rows.length);
    const enough = wanted.filter(({ score }) => score >= minJaccard);
    for (const place of places) {
      const found = await place.within(given, { minJaccard, maxDistance: BITS });
      expect(Array.from(found.rows)).toEqual(enough.map(rowOf));
    }
  }

  async #checkCosines(places: Place[], { query, given, filter, accepts, k }: Question) {
    const { model } = this;
    const isExact = this.#kind.storage !== 'none';
    const best = isExact ? model.byCosine(query, k, accepts) : model.byEstimate(query, k, accepts);
    const [minCosine, maxDistance] = [2 * this.#draws.uniform() - 1, this.#draws.integer(BITS)];
    const near = model.withinCosine(query, maxDistance, minCosine);
    // Every candidate is ranked, and every partition visited.
    const probes = this.index.report?.method === 'partitions' ? 7 : undefined;
    const everything = { k, oversample: 1000, ...(probes && { probes }) };
    for (const place of places) {
      const exact = await place.search(given, { ...everything, ...filter });
      expect(exact.rank).toBe(isExact ? 'exact' : 'estimate');
      expect(Array.from(exact.rows)).toEqual(best.map(rowOf));
      expect(Array.from(exact.similarities)).toEqual(best.map(({ score }) => score));
      const many = await place.searchAll([given, given], { ...everything, ...filter });
      expect(many).toEqual([exact, exact]);
      if (!isExact) continue;
      const similar = await place.within(given, { minCosine, maxDistance });
      expect(Array.from(similar.rows)).toEqual(near.map(rowOf));
    }
  }

  /** Saves the index, and compares its answers from the folder and from a host of it. */
  async checkSaved(folder: string): Promise<void> {
    if (this.model.rows.length === 0) return;
    await saveIndex(this.index, folder);
    const host = await startHost(folder);
    const places = [
      await openIndex(folder, { memory: '4MB' }),
      await openIndexUrl(host.url, { memory: '4MB' }),
    ];
    await this.check(...places);
    for (const place of places) await place.close();
    await host.close();
  }
}

/** Runs that many operations and returns the numbers of segments that there were. */
async function run(kind: Kind, layout: Layout, operations: number, saveEach: number) {
  const seed = `${kind.name} 1`;
  const pair = new Pair(kind, layout, seed);
  const draws = new Draws(`steps ${seed}`);
  const folder = mkdtempSync(join(tmpdir(), 'halfspace-operations-'));
  for (let i = 0; i < layout.batches; i++) await pair.addAll(8);
  const segments = new Set<number>();
  for (let step = 0; step < operations; step++) {
    const choice = draws.integer(20);
    if (choice < 6) pair.add();
    else if (choice < 10) await pair.addAll();
    else if (choice < 14) pair.set();
    else if (choice < 18) pair.remove();
    else if (choice === 18) await pair.optimize();
    if (step % saveEach === saveEach - 1) await pair.checkSaved(join(folder, 'index'));
    else await pair.check();
    segments.add(segmentsOf(pair.index));
  }
  rmSync(folder, { recursive: true });
  return segments;
}

describe.each(KINDS)('an index of $name', (kind) => {
  const title =
    'agrees with the model through random operations, in memory, in a folder and on a host';
  it(title, quickIf(kind === KINDS[0]), async () => {
    expect(Math.max(...(await run(kind, FEW, 60, 20)))).toBeGreaterThan(1);
  });

  it('does so through 2,000 operations, of one segment to fifty', {
    tags: 'full',
    timeout: 1_200_000,
  }, async () => {
    const segments = new Set<number>();
    const areSets = kind.options.projection === 'minwise';
    for (const [layout, operations] of [
      [ONE, 500],
      [FEW, 500],
      [areSets ? MANY_OF_SETS : MANY, 1000],
    ] as const) {
      for (const count of await run(kind, layout, operations, 10)) segments.add(count);
    }
    expect(segments).toContain(1);
    expect(Math.max(...segments)).toBeGreaterThanOrEqual(50);
  });
});
