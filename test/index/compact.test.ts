import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Codes, indexFromArrow, indexToArrow, SimHashIndex } from '../../src/index';
import { partsOf } from '../../src/index/simhash-index';
import { Draws } from '../reference/random';
import { quickIf } from '../reference/tags';

/** A long life: rows come, go and are replaced; answers are those of a list, work and memory stay. */

type Storage = 'none' | 'float32' | 'int8' | 'sparse';
interface Row {
  readonly id: string;
  readonly vector: Float32Array;
}

/** The index and a list of what it has, in order of row. */
class Life {
  readonly index: SimHashIndex<string>;
  rows: Row[] = [];
  readonly #draws: Draws;
  readonly #isSparse: boolean;
  #next = 0;

  constructor(vectors: Storage, draws: Draws) {
    const shape = vectors === 'sparse' ? {} : { dimensions: 4 };
    this.index = new SimHashIndex<string>({ bits: 24, vectors, ...shape });
    this.#draws = draws;
    this.#isSparse = vectors === 'sparse';
  }

  vectorOf(values: Float32Array) {
    return this.#isSparse ? { indices: [1, 2, 3, 4], values } : values;
  }

  /** Few different vectors, so that many rows have equal codes. */
  draw(): Float32Array {
    return Float32Array.from({ length: 4 }, () => this.#draws.integer(5) - 2.25);
  }

  add(count: number): void {
    const added = Array.from({ length: count }, () => ({
      id: `id ${this.#next++}`,
      vector: this.draw(),
    }));
    this.index.addAll(
      added.map(({ vector }) => this.vectorOf(vector)) as Float32Array[],
      added.map(({ id }) => id),
    );
    this.rows.push(...added);
  }

  remove(count: number): void {
    for (const { id } of this.#draws.shuffled(this.rows).slice(0, count)) {
      expect(this.index.remove(id)).toBe(true);
      this.rows = this.rows.filter((row) => row.id !== id);
    }
  }

  set(): void {
    if (this.rows.length === 0) return;
    const { id } = this.#draws.pick(this.rows);
    const vector = this.draw();
    this.index.set(this.vectorOf(vector) as Float32Array, id);
    this.rows = [...this.rows.filter((row) => row.id !== id), { id, vector }];
  }

  check(): void {
    const { index, rows } = this;
    expect(index.count).toBe(rows.length);
    const query = this.vectorOf(this.draw()) as Float32Array;
    const code = index.hasher.hash(query);
    const codes = rows.map(({ vector }) =>
      index.hasher.hash(this.vectorOf(vector) as Float32Array),
    );
    const expected = rows
      .map(({ id }, row) => {
        let distance = 0;
        codes[row].forEach((byte, i) => {
          for (let rest = byte ^ code[i]; rest > 0; rest &= rest - 1) distance++;
        });
        return { id, row, distance };
      })
      .sort((a, b) => a.distance - b.distance || a.row - b.row)
      .slice(0, 7);
    const found = index.search(query, { k: 7, rank: 'hamming' });
    expect(found.ids).toEqual(expected.map(({ id }) => id));
    expect([...found.distances]).toEqual(expected.map(({ distance }) => distance));
    const held = rows.map(({ id }) => index.get(id));
    expect(held.map((one) => index.idOf(one?.row as number))).toEqual(rows.map(({ id }) => id));
    if (index.vectors === 'float32' || index.vectors === 'sparse') {
      const valuesOf = (one: (typeof held)[number]) => {
        const vector = one?.vector ?? [];
        return [...('values' in vector && 'indices' in vector ? vector.values : vector)].join();
      };
      expect(held.map(valuesOf)).toEqual(rows.map(({ vector }) => [...vector].join()));
    }
    if (index.vectors === 'none') return;
    const { ids, cosines } = index.search(query, { k: 5, method: 'scan', oversample: 1000 });
    const best = rows.map(({ id }) => index.compare(id, ids[0] ?? id).cosine);
    expect(ids.length).toBe(Math.min(5, rows.length));
    expect([...(cosines ?? [])]).toEqual([...(cosines ?? [])].sort((a, b) => b - a));
    expect(best.every((cosine) => cosine !== null)).toBe(true);
  }
}

describe.each<Storage>(['none', 'float32', 'int8', 'sparse'])('vectors %s', (vectors) => {
  const options = quickIf(vectors === 'float32');
  it('answers as a list does, through changes and compactions', options, () => {
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const draws = new Draws(seed);
        const life = new Life(vectors, draws);
        for (let step = 0; step < 40; step++) {
          const kind = draws.integer(6);
          if (kind < 2) life.add(draws.integer(30));
          else if (kind === 2) life.remove(draws.integer(25));
          else if (kind === 3) life.set();
          else if (kind === 4) life.index.compact();
          else if (life.rows.length > 0) life.index.optimize({ partitions: 3, queries: 4, k: 2 });
          if (kind === 4) {
            expect(partsOf(life.index as SimHashIndex).distinctCodes.rowCount).toBe(
              life.rows.length,
            );
          }
          life.check();
        }
        const read = indexFromArrow(indexToArrow(life.index as SimHashIndex));
        expect(read.count).toBe(life.rows.length);
      }),
      { seed: 22, numRuns: 12 },
    );
  });
});

it('memory and work stay bounded while an index is replaced ten times', () => {
  const count = 3000;
  const draws = new Draws('churn');
  const index = new SimHashIndex<number>({ bits: 64 });
  const batch = () => Codes.from(draws.bytes(8 * count), { bits: 64 });
  index.addAll(
    batch(),
    Int32Array.from({ length: count }, (_, i) => i),
  );
  const fresh = index.bytes.total;
  const compared = () => {
    const { explain } = index.search(new Uint8Array(8), { k: 1, method: 'scan', explain: true });
    return explain?.codesCompared ?? 0;
  };
  expect(compared()).toBe(count);
  for (let round = 0; round < 10; round++) {
    const codes = batch();
    for (let id = 0; id < count; id++) index.set(codes.at(id), id);
    expect(compared()).toBeLessThanOrEqual(2 * count + 2); // without a compaction
  }
  index.compact();
  expect(compared()).toBe(count);
  expect(index.bytes.total).toBeLessThanOrEqual(2 * fresh);
  expect(partsOf(index as SimHashIndex).distinctCodes.rowCount).toBe(count);
});

it('rows without ids keep their numbers, which are their ids', () => {
  const index = new SimHashIndex({ bits: 8 });
  index.addAll(Codes.from(Uint8Array.of(1, 2, 3, 4), { bits: 8 }));
  index.remove(0);
  index.remove(2);
  index.compact();
  expect(index.search(Uint8Array.of(4), { k: 9 }).ids).toEqual([3, 1]);
  expect(index.add(Uint8Array.of(9))).toBe(4);
});

it.each(['addAll', 'optimize', 'compact'] as const)(
  'is not changed by what %s calls, and can be read back',
  (name) => {
    const index = new SimHashIndex<number>({ bits: 64 });
    const values = Float32Array.from(new Draws('busy').gaussians(8 * 3000));
    const vectors = { values, dimensions: 8 };
    const ids = Int32Array.from({ length: 3000 }, (_, i) => i);
    index.addAll(vectors, ids);
    const refusals = new Set<string>();
    const options = {
      onProgress: () => {
        for (const change of [
          () => index.remove(7),
          () => index.compact(),
          () => index.set([1, 2, 3], 9),
        ]) {
          try {
            change();
          } catch (error) {
            refusals.add((error as Error).message);
          }
        }
      },
    };
    if (name === 'addAll')
      index.addAll(
        vectors,
        ids.map((id) => id + 3000),
        options,
      );
    else if (name === 'optimize') index.optimize({ partitions: 4, ...options });
    else {
      index.remove(3);
      index.compact(options);
    }
    expect([...refusals]).toEqual([`${name}() is still at work on this index`]);
    expect(index.has(7)).toBe(true);
    const read = indexFromArrow(indexToArrow(index as SimHashIndex));
    expect(read.count).toBe(index.count);
  },
);

it('a batch is added in steps without a copy of it, which would be one long step', async () => {
  const dimensions = 8;
  const count = 10_000;
  const draws = new Draws('copy');
  const values = Float32Array.from({ length: dimensions * count }, () => draws.uniform() - 0.5);
  const ids = Int32Array.from({ length: count }, (_, i) => 3 * i);
  const options = { bits: 64, dimensions, vectors: 'float32' } as const;
  const expected = new SimHashIndex<number>(options);
  expected.addAll({ values, dimensions }, ids);
  const refused = () => {
    throw new Error('the batch was copied');
  };
  values.slice = refused;
  ids.slice = refused;
  const index = new SimHashIndex<number>(options);
  await index.addAllAsync({ values, dimensions }, ids);
  const [one, other] = [index, expected].map((each) => indexToArrow(each as SimHashIndex));
  expect(Buffer.compare(one, other)).toBe(0);
});
