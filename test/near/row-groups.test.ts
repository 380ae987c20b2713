import { describe, expect, it } from 'vitest';
import { Codes } from '../../src/codes/codes';
import { SimHashIndex } from '../../src/index/simhash-index';
import type { DedupOptions } from '../../src/near/dedup';
import { angleBetween, Draws } from '../reference/random';
import { bitsApart, collection, namesByLoops, SHAPES } from './collections';
import { groupRows } from './group-rows';

/** Groups against plain loops over all rows that do what each grouping says. */

type Near = (a: number, b: number) => boolean;
const GROUPINGS = ['star', 'components'] as const;

const rowsOf = (codes: Codes) => Array.from({ length: codes.count }, (_, row) => row);

describe.each(SHAPES)('%s codes', (shape) => {
  it.each(GROUPINGS)('by %s', async (grouping) => {
    for (const [count, maxDistance] of [
      [0, 3],
      [1, 3],
      [2, 3],
      [120, 0],
      [120, 4],
      [120, 24],
    ]) {
      const codes = collection(shape, count, 64, count + maxDistance);
      const near: Near = (a, b) => bitsApart(codes.at(a), codes.at(b)) <= maxDistance;
      const { groupOf, groups } = await groupRows(codes, { maxDistance, grouping });
      const names = namesByLoops(grouping, rowsOf(codes), near);
      expect([...groupOf]).toEqual(rowsOf(codes).map((row) => names.get(row)));
      for (const { name, rows, kept } of groups) {
        expect([...rows]).toEqual(rowsOf(codes).filter((row) => names.get(row) === name));
        expect(kept).toBe(name);
      }
      const alone = rowsOf(codes).filter((row) => groups.every(({ rows }) => !rows.includes(row)));
      for (const row of alone) expect(groupOf[row]).toBe(row);
    }
  });
});

describe('who stands for a group', () => {
  const codes = collection('clustered', 150, 64, 8);
  const texts = rowsOf(codes).map((row) => 'x'.repeat((row * 7919) % 31));
  const values = rowsOf(codes).map((row) => (row % 10 === 3 ? null : (row * 101) % 57));
  const best = (key: (row: number) => number) => (rows: number[]) =>
    rows.reduce((one, row) => (key(row) > key(one) ? row : one));
  const cases: [string, DedupOptions['keep'], (rows: number[]) => number][] = [
    ['first', 'first', (rows) => rows[0]],
    ['last', 'last', (rows) => rows[rows.length - 1]],
    ['longest', { highest: texts.map(({ length }) => length) }, best((row) => texts[row].length)],
    ['lowest', { lowest: values }, best((row) => -(values[row] ?? 1e9))],
    ['highest', { highest: values }, best((row) => values[row] ?? -1)],
  ];

  it.each(cases)('%s, of components', async (_, keep, keptOf) => {
    const { groups } = await groupRows(codes, { maxDistance: 4, grouping: 'components', keep });
    expect(groups.length).toBeGreaterThan(2);
    for (const { rows, kept } of groups) expect(kept).toBe(keptOf([...rows]));
  });

  it.each(cases)('%s, of stars', async (_, keep, keptOf) => {
    const near: Near = (a, b) => bitsApart(codes.at(a), codes.at(b)) <= 4;
    const left = rowsOf(codes);
    const order: number[] = [];
    while (left.length > 0) order.push(...left.splice(left.indexOf(keptOf(left)), 1));
    const names = namesByLoops('star', order, near);
    const { groupOf, groups } = await groupRows(codes, { maxDistance: 4, keep });
    expect([...groupOf]).toEqual(rowsOf(codes).map((row) => names.get(row)));
    for (const { rows, kept } of groups) {
      expect(kept).toBe(keptOf([...rows]));
      for (const row of rows) expect(near(kept, row)).toBe(true);
    }
  });

  it.each([
    ['newest', /"keep" expected 'first', 'last'/],
    [{ newest: [] }, /"keep" expected .* got "newest"/],
    [{ highest: ['a'] }, /keep."highest" expected a value for each of 150 rows, got 1/],
    [{ highest: undefined }, /keep."highest" expected a value for each of/],
  ])('refuses %j', async (keep, message) => {
    await expect(groupRows(codes, { maxDistance: 4, keep: keep as never })).rejects.toThrow(
      message,
    );
  });

  it.each([
    ['lowest', Object.create(null), 'a text, a number, a boolean or a date, got an object'],
    ['highest', Symbol('a'), 'a text, a number, a boolean or a date, got Symbol(a)'],
  ])('refuses a column of the %s with a value that has no order', (rule, value, message) => {
    const column = Array.from({ length: 150 }, (_, row) => (row === 7 ? value : 'text'));
    const keep = { [rule]: column } as never;
    return expect(groupRows(codes, { maxDistance: 4, keep })).rejects.toThrow(
      `keep."${rule}"[7] expected ${message}`,
    );
  });
});

describe('by cosine', async () => {
  const draws = new Draws(3);
  const vectors: Float64Array[] = [];
  for (let i = 0; i < 40; i++) {
    const [one, near] = draws.pairAt(0.9, 16);
    vectors.push(one, near, one);
  }
  const index = new SimHashIndex({
    bits: 64,
    dimensions: 16,
    projection: 'hadamard',
    vectors: 'float32',
  });
  await index.addAll(vectors);

  it.each(GROUPINGS)('by %s', async (grouping) => {
    const near: Near = (a, b) => Math.cos(angleBetween(vectors[a], vectors[b])) >= 0.85;
    const { groupOf } = await groupRows(index, { minCosine: 0.85, maxDistance: 64, grouping });
    const rows = vectors.map((_, row) => row);
    const names = namesByLoops(grouping, rows, near);
    expect([...groupOf]).toEqual(rows.map((row) => names.get(row)));
  });
});

describe('of so many near rows that their pairs are not held at once', () => {
  // 5,000,000 pairs and more, and between them rows that are near to one other.
  const count = 5200;
  const draws = new Draws('crowd');
  const rows = Array.from({ length: count }, (_, row) => row);

  it('by distance, equal codes among them', async () => {
    const centre = draws.bytes(8);
    const codes = Codes.allocate(count, { bits: 64 });
    for (const row of rows) {
      const code = codes.at(row);
      code.set(row % 10 === 3 ? draws.bytes(8) : row % 10 === 4 ? codes.at(row - 1) : centre);
      for (let flips = draws.integer(9); flips > 0; flips--) {
        const bit = draws.integer(64);
        code[bit >> 3] ^= 1 << (bit & 7);
      }
    }
    const { groupOf } = await groupRows(codes, { maxDistance: 12 });
    const near: Near = (a, b) => bitsApart(codes.at(a), codes.at(b)) <= 12;
    const names = namesByLoops('star', rows, near);
    expect([...groupOf]).toEqual(rows.map((row) => names.get(row)));
  });

  it('by cosine', async () => {
    const centre = draws.gaussians(16);
    const vectors: Float64Array[] = [];
    for (const row of rows) {
      const noise = Float64Array.from(draws.gaussians(16));
      const from = row % 10 === 4 ? vectors[row - 1] : centre;
      vectors.push(row % 10 === 3 ? noise : noise.map((value, i) => from[i] + 0.25 * value));
    }
    const index = new SimHashIndex({
      ...{ bits: 64, dimensions: 16, projection: 'hadamard', vectors: 'float32' },
    });
    await index.addAll(vectors);
    const { groupOf } = await groupRows(index, { minCosine: 0.94, maxDistance: 64 });
    const near: Near = (a, b) => Math.cos(angleBetween(vectors[a], vectors[b])) >= 0.94;
    const names = namesByLoops('star', rows, near);
    expect([...groupOf]).toEqual(rows.map((row) => names.get(row)));
  });
});

it('null rows are in no group', async () => {
  const given = collection('all equal', 16, 64, 1);
  const codes = Codes.from(given.bytes, { bits: 64, validity: Uint8Array.of(0xff, 0x0f) });
  const { groupOf, groups } = await groupRows(codes, { maxDistance: 0 });
  expect([...groupOf.subarray(12)]).toEqual([12, 13, 14, 15]);
  expect(groups.map(({ rows }) => rows.length)).toEqual([12]);
});

it('stops when asked to', async () => {
  const codes = collection('clustered', 2000, 64, 2);
  const options = { maxDistance: 3, grouping: 'components' } as const;
  const signal = AbortSignal.abort(new Error('enough'));
  await expect(groupRows(codes, { ...options, signal })).rejects.toThrow('enough');
});
