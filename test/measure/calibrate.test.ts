import { describe, expect, it } from 'vitest';
import { LongWork } from '../../src/base/long-work';
import { dedup, SimHasher, SimHashIndex, type SparseMatrix } from '../../src/index';
import { calibrate, calibrateRows } from '../../src/measure/calibrate';
import { rowsOf } from '../../src/near/rows';
import { angleBetween, Draws } from '../reference/random';

const draws = new Draws('calibration');

/** The definition, by all pairs; `known` has the answer of a pair of rows, where there is one. */
function tableOf(
  count: number,
  similarity: (a: number, b: number) => number,
  known: ReadonlyMap<string, boolean>,
) {
  const similarities = Float64Array.from({ length: count * count }, (_, pair) =>
    similarity(Math.floor(pair / count), pair % count),
  );
  return (threshold: number) => {
    const isNear = (a: number, b: number) => similarities[a * count + b] >= threshold - 1e-9;
    let [found, wrong] = [0, 0];
    const kept: number[] = [];
    const groups = new Set<number>();
    for (let b = 0; b < count; b++) {
      for (let a = 0; a < b; a++) {
        if (!isNear(a, b)) continue;
        const answer = known.get(`${a},${b}`);
        if (answer === true) found++;
        else if (answer === false) wrong++;
      }
      const head = kept.find((row) => isNear(row, b));
      if (head === undefined) kept.push(b);
      else groups.add(head);
    }
    return { threshold, found, wrong, groups: groups.size, dropped: count - kept.length };
  };
}

/** Random pairs of rows with the answer `isSame`, as a map and as the option. */
function judged(count: number, isSame: (a: number, b: number) => boolean) {
  const known = new Map<string, boolean>();
  for (let i = 0; i < 300; i++) {
    const a = draws.integer(count);
    const b = Math.min(count - 1, a + 1 + draws.integer(6));
    if (a !== b) known.set(`${a},${b}`, isSame(a, b));
  }
  const rows = [...known.keys()].map((key) => key.split(',').map(Number));
  // Either row may come first.
  const turned = rows.map((pair, i) => (i % 2 === 0 ? pair : [...pair].reverse()));
  const pairs = {
    a: Uint32Array.from(turned, ([a]) => a),
    b: Uint32Array.from(turned, ([, b]) => b),
    same: [...known.values()],
  };
  return { known, pairs };
}

describe('a calibration of sets', async () => {
  /** Families of sets that have most of their members in common; each fifth row is one before. */
  const sets: number[][] = [];
  for (let family = 0; family < 40; family++) {
    const members = Array.from({ length: 60 }, (_, i) => 1000 * family + i);
    for (let i = 0; i < 4; i++) {
      const lost = 0.3 * draws.uniform();
      sets.push(members.filter(() => draws.uniform() >= lost));
    }
    sets.push(sets[sets.length - 1 - draws.integer(4)]);
  }
  const jaccard = (a: number, b: number) => {
    const other = new Set(sets[b]);
    const common = sets[a].filter((one) => other.has(one)).length;
    return common / (sets[a].length + sets[b].length - common);
  };
  const vectors: SparseMatrix = {
    offsets: [0, ...sets.map((_, i) => sets.slice(0, i + 1).flat().length)],
    indices: sets.flat(),
    values: sets.flat().map(() => 1),
  };
  const codes = await new SimHasher({ bits: 128, projection: 'minwise' }).hashAll(vectors);
  const { known, pairs } = judged(sets.length, (a, b) => jaccard(a, b) >= 0.72);
  const found = await calibrate(codes, { pairs, vectors });
  const expected = tableOf(sets.length, jaccard, known);

  it('has a line for each threshold, as brute force counts it', () => {
    const different = new Set(sets.map((members) => members.join())).size;
    expect(different).toBeLessThanOrEqual(160);
    expect(found).toMatchObject({ measure: 'jaccard', rows: 200, repeated: 200 - different });
    expect(found.lines.map(({ threshold }) => threshold)).toEqual(
      Array.from({ length: 21 }, (_, i) => (30 + i) / 50),
    );
    for (const line of found.lines) expect(line).toEqual(expected(line.threshold));
    const answers = [...known.values()];
    expect(found.same).toBe(answers.filter((same) => same).length);
    expect(found.different).toBe(answers.length - found.same);
    expect(Math.min(found.same, found.different)).toBeGreaterThan(30);
  });

  it('has the groups that dedup makes', async () => {
    for (const { threshold, groups, dropped } of found.lines) {
      const plan = await dedup(codes, { minJaccard: threshold, vectors });
      expect(plan.kept.filter((one) => one === 0).length).toBe(dropped);
      const named = plan.groups.filter((name, row) => name !== row);
      expect(new Set(named).size).toBe(groups);
    }
  });

  it('recommends the threshold with the fewest mistakes, the highest of equal ones', () => {
    const mistakes = ({ found: right, wrong }: { found: number; wrong: number }) =>
      found.same - right + wrong;
    const fewest = Math.min(...found.lines.map(mistakes));
    const best = found.lines.filter((line) => mistakes(line) === fewest);
    expect(found.recommended).toBe(best.at(-1)?.threshold);
    expect(fewest).toBe(0);
    expect(found.recommended).toBe(0.72);
  });

  it('never recommends less than .6, whatever the known pairs say', async () => {
    const all = { ...pairs, same: pairs.same.map(() => true) };
    const low = await calibrate(codes, { pairs: all, vectors, minJaccard: 0.33 });
    expect(low.lines.map(({ threshold }) => threshold).slice(0, 4)).toEqual([
      0.33, 0.35, 0.4, 0.45,
    ]);
    expect(low.lines[0].found).toBeGreaterThan(
      low.lines.find(({ threshold }) => threshold === 0.6)?.found as number,
    );
    expect(low.recommended).toBe(0.6);
  });

  it('counts pairs of other rows that are compared already, and none of them as groups', async () => {
    const index = new SimHashIndex({ bits: 128, projection: 'minwise', vectors: 'sparse' });
    await index.addAll(vectors);
    const scored = [
      { similarity: 0.7, isSame: true },
      { similarity: 0.65, isSame: false },
      { similarity: 0.2, isSame: false },
    ];
    const held = rowsOf('index', index);
    const other = await calibrateRows(held, { near: {}, scored }, new LongWork());
    expect([other.same, other.different, other.recommended]).toEqual([1, 2, 0.7]);
    const none = tableOf(sets.length, jaccard, new Map());
    for (const line of other.lines) {
      const own = none(line.threshold);
      const [right, wrong] = [line.threshold <= 0.7, line.threshold <= 0.65].map(Number);
      expect(line).toEqual({ ...own, found: right, wrong });
    }
    const unknown = await calibrateRows(held, { near: {} }, new LongWork());
    expect([unknown.same, unknown.recommended]).toEqual([0, 0.6]);
  });
});

it('a calibration of vectors counts as brute force does', async () => {
  const centres = Array.from({ length: 30 }, () => draws.gaussians(24));
  const rows = Array.from({ length: 120 }, (_, i) =>
    draws.gaussians(24).map((value, j) => centres[i >> 2][j] + 0.2 * draws.uniform() * value),
  );
  const index = new SimHashIndex({ bits: 512, dimensions: 24, vectors: 'float32' });
  await index.addAll(rows);
  const cosine = (a: number, b: number) => Math.cos(angleBetween(rows[a], rows[b]));
  const { known, pairs } = judged(rows.length, (a, b) => cosine(a, b) >= 0.985);
  const found = await calibrate(index, { pairs, minCosine: 0.8 });
  const expected = tableOf(rows.length, cosine, known);
  expect(found.lines.length).toBe(21);
  expect((await calibrate(index, { pairs })).lines).toEqual(found.lines.slice(8));
  for (const line of found.lines) expect(line).toEqual(expected(line.threshold));
  expect([found.measure, found.repeated]).toEqual(['cosine', 0]);
  expect([0.98, 0.99]).toContain(found.recommended);
});

describe('calibrate', async () => {
  const vectors = { values: Float32Array.of(1, 0, 0, 1, 1, 1, 0, 0), dimensions: 2 };
  const codes = await new SimHasher({ bits: 64, dimensions: 2, zero: 'null' }).hashAll(vectors);
  const pairs = { a: Uint32Array.of(0), b: Uint32Array.of(2), same: [true] };

  it.each([
    [{ vectors }, TypeError, '"pairs" expected rows "a" and "b" in Uint32Arrays'],
    [{ vectors, pairs: { ...pairs, a: [0] } }, TypeError, '"pairs" expected rows'],
    [
      { vectors, pairs: { ...pairs, b: Uint32Array.of(4) } },
      RangeError,
      'two rows of 4 with codes',
    ],
    [{ vectors, pairs: { ...pairs, b: Uint32Array.of(3) } }, RangeError, 'got "0, 3, true"'],
    [{ vectors, pairs: { ...pairs, b: Uint32Array.of(0) } }, RangeError, 'got "0, 0, true"'],
    [{ vectors, pairs: { ...pairs, b: new Uint32Array(2) } }, RangeError, 'got "1, 2, 1"'],
    [{ vectors, pairs: { ...pairs, same: [1] } }, RangeError, 'true or false, got "0, 2, 1"'],
    [{ vectors, pairs: { ...pairs, same: [true, false] } }, RangeError, 'got "1, 1, 2"'],
    [{ vectors, pairs: { ...pairs, same: [false] } }, RangeError, 'true for one pair or more'],
    [{ pairs }, Error, 'give "vectors", or an index that holds them'],
    [{ pairs, vectors, minJaccard: 0.5 }, Error, '"minJaccard" needs codes'],
    [{ pairs, vectors, minCosine: 2 }, RangeError, '"minCosine" expected a number in -1..1'],
    [{ pairs, vectors, sample: 2 }, TypeError, '"sample"'],
  ])('refuses %j', async (options, kind, message) => {
    const call = calibrate(codes, options as never);
    await expect(call).rejects.toThrow(kind);
    await expect(call).rejects.toThrow(message);
  });

  it('stops by its signal, and reports progress', async () => {
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(calibrate(codes, { pairs, vectors, signal })).rejects.toThrow('enough');
    let last: unknown;
    const onProgress = (done: number, total: number) => {
      last = [done, total];
    };
    await calibrate(codes, { pairs, vectors, onProgress });
    expect(last).toBeDefined();
  });
});
