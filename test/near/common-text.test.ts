import { describe, expect, it } from 'vitest';
import { SimHasher } from '../../src/hashing/simhash';
import { dedup } from '../../src/near/dedup';
import { shingles, TextHasher } from '../../src/node';
import { Draws } from '../reference/random';

/** Near-duplicates without the text that many texts share: templates that are filled differently. */

const draws = new Draws('common text');
const word = () => `w${Math.floor(20_000 * draws.uniform() ** 3)}`;
const some = (count: number) => Array.from({ length: count }, word);
const edited = (text: readonly string[], share: number) =>
  text.map((one) => (draws.uniform() < share ? word() : one));

/** Other texts, the fillings of templates and, of some of both, edited copies. */
const texts: string[][] = Array.from({ length: 300 }, () => some(60 + draws.integer(200)));
const templateOf = new Map<number, number>();
for (let template = 0; template < 4; template++) {
  const fixed = Array.from({ length: 10 }, () => some(22));
  for (let filling = 0; filling < 50; filling++) {
    templateOf.set(texts.length, template);
    texts.push(fixed.flatMap((part) => [...part, ...some(1 + draws.integer(4))]));
  }
}
const originals = texts.length;
const originalOf: number[] = [];
for (let i = 0; i < 120; i++) {
  const original = draws.integer(originals);
  originalOf.push(original);
  texts.push(edited(texts[original], [0, 0.01, 0.03, 0.06][i % 4]));
}
/** A form that is sent empty: twelve texts of which one word differs. */
const form = some(80);
const forms = texts.length;
for (let i = 0; i < 24; i++) texts.push(form.map((one, at) => (at === 0 ? `f${i}` : one)));

const hasher = new TextHasher({ bits: 256, tokens: shingles(2), projection: 'minwise' });
const codes = await hasher.hashAll(texts.map((text) => text.join(' ')));
const rows = texts.map((text) => hasher.vectorize(text.join(' ')));
const offsets = new Uint32Array(rows.length + 1);
rows.forEach(({ indices }, i) => {
  offsets[i + 1] = offsets[i] + indices.length;
});
const vectors = {
  offsets,
  indices: BigUint64Array.from(rows.flatMap(({ indices }) => [...(indices as BigUint64Array)])),
  values: Float64Array.from(rows.flatMap(({ values }) => [...(values as Float64Array)])),
};
const near = { minJaccard: 0.6, vectors };

/** The definition in plain sets. */
const sets = rows.map(({ indices }) => new Set(indices as BigUint64Array));
const counts = new Map<bigint, number>();
for (const [key, set] of new Map(sets.map((set, i) => [String(codes.at(i)), set]))) {
  expect(key).not.toBe('');
  for (const member of set) counts.set(member, (counts.get(member) ?? 0) + 1);
}
const SHARE = 0.03;
const most = Math.max(10, SHARE * texts.length);
const restOf = (row: number) => [...sets[row]].filter((one) => (counts.get(one) ?? 0) <= most);
const overlap = (a: number, b: number) => {
  const [one, other] = [restOf(a), new Set(restOf(b))];
  const least = Math.min(one.length, other.size);
  return least === 0 ? 0 : one.filter((member) => other.has(member)).length / least;
};

describe('dedup with common text', async () => {
  const before = await dedup(codes, near);
  const plan = await dedup(codes, { ...near, common: SHARE });
  const isDropped = (kept: Uint8Array) => (row: number) => kept[row] === 0;
  const fillings = [...templateOf.keys()];

  it('keeps templates apart that are filled differently, and finds the copies', () => {
    const joined = (groups: Uint32Array) =>
      fillings.filter((row) => fillings.some((one) => one < row && groups[one] === groups[row]));
    expect(joined(before.groups).length).toBeGreaterThan(100);
    expect(joined(plan.groups)).toEqual([]);
    const found = (groups: Uint32Array) =>
      originalOf.filter((row, i) => groups[row] === groups[originals + i]).length;
    expect(found(before.groups)).toBeGreaterThan(115);
    expect(found(plan.groups)).toBeGreaterThanOrEqual(0.97 * found(before.groups));
  });

  it('reports both similarities, as plain sets have them', () => {
    const { rests = new Float64Array(), commons = new Float64Array(), duplicateOf } = plan;
    const dropped = texts.map((_, row) => row).filter(isDropped(plan.kept));
    expect(dropped.length).toBeGreaterThan(100);
    for (const row of dropped) {
      const other = duplicateOf[row];
      expect(rests[row]).toBeCloseTo(overlap(row, other), 12);
      const both = [...sets[row]].filter((one) => sets[other].has(one)).length;
      const jaccard = both / (sets[row].size + sets[other].size - both);
      expect(plan.jaccards?.[row]).toBeCloseTo(jaccard, 12);
      expect(rests[row] >= 0.5 || commons[row] === 1).toBe(true);
    }
    texts.forEach((_, row) => {
      const rest = restOf(row).length;
      expect(commons[row]).toBeCloseTo(rest < 4 ? 1 : 1 - rest / sets[row].size, 12);
    });
  });

  it('makes one group of texts that are nothing but common text', () => {
    for (let row = forms; row < texts.length; row++) {
      expect([plan.groups[row], plan.commons?.[row]]).toEqual([forms, 1]);
    }
  });

  it('takes the common text itself', async () => {
    const common = rows[forms].indices as BigUint64Array;
    const { commons = [], groups } = await dedup(codes, { ...near, common });
    expect([commons[forms], commons[0], groups[forms + 1]]).toEqual([1, 0, forms]);
    const [one, other] = fillings;
    expect(groups[other]).toBe(before.groups[other]);
    expect(groups[one]).toBe(before.groups[one]);
  });

  it('holds for components, and for a number of rows', async () => {
    const all = await dedup(codes, { ...near, common: SHARE, grouping: 'components' });
    expect(fillings.filter((row) => all.groups[row] !== row)).toEqual([]);
    const targetRows = plan.kept.reduce((sum, one) => sum + one, 0) + 5;
    const some = await dedup(codes, { ...near, common: SHARE, targetRows });
    expect(some.kept.reduce((sum, one) => sum + one, 0)).toBe(targetRows);
    expect(fillings.filter((row) => some.kept[row] === 0)).toEqual([]);
  });

  it('is refused where rows are not compared as sets, and with what has its pairs already', async () => {
    const refused = (options: object) => dedup(codes, { ...near, common: 0.1, ...options });
    await expect(refused({ vectors: undefined })).rejects.toThrow('"common" needs "minJaccard"');
    await expect(refused({ common: 2 })).rejects.toThrow('"common" expected a number');
    await expect(refused({ common: [3n] })).rejects.toThrow('"common" expected a share or');
    const pairs = { a: new Uint32Array(), b: new Uint32Array() };
    await expect(refused({ minJaccard: undefined, pairs, common: 0.1 })).rejects.toThrow(
      '"common" needs "minJaccard"',
    );
    const extend = { plan: before, source: codes };
    await expect(refused({ extend })).rejects.toThrow('"common" goes without');
    const others = await new SimHasher({ bits: 64 }).hashAll([[1], [2]]);
    await expect(dedup(others, { maxDistance: 3, common: 0.1 })).rejects.toThrow('needs');
  });
});
