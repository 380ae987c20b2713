import { describe, expect, it } from 'vitest';
import { groupChart, partitionChart, recallChart } from '../../../src/cli/explore/charts';
import { healthAnswer } from '../../../src/cli/explore/health';
import { type DenseMatrix, dedup, hammingDistance, SimHashIndex } from '../../../src/index';
import { trueNeighbors } from '../../../src/measure/brute-force';
import { groupSizes } from '../../../src/measure/group-sizes';
import { type Measured, measureIndex } from '../../../src/measure/measure-index';
import { heldOf, liveRows, sampleOf } from '../../../src/measure/measured-rows';
import { Draws, dot } from '../../reference/random';

const DIMENSIONS = 16;
const draws = new Draws('report');
const centres = Array.from({ length: 12 }, () => draws.gaussians(DIMENSIONS));
const vectors = Array.from({ length: 240 }, (_, i) =>
  draws.gaussians(DIMENSIONS).map((value, j) => centres[i % 12][j] + 0.3 * value),
);
const REMOVED = [3, 100, 239];

function made(keep: 'float32' | 'none'): SimHashIndex {
  const index = new SimHashIndex({
    bits: 96,
    dimensions: DIMENSIONS,
    projection: 'hadamard',
    vectors: keep,
  });
  index.addAll(
    vectors,
    vectors.map((_, i) => `row ${i}`),
  );
  for (const row of REMOVED) index.remove(`row ${row}`);
  return index;
}

const there = vectors.map((_, row) => row).filter((row) => !REMOVED.includes(row));
const cosine = (a: number, b: number) =>
  dot(vectors[a], vectors[b]) /
  Math.sqrt(dot(vectors[a], vectors[a]) * dot(vectors[b], vectors[b]));

const quiet = { onProgress: () => undefined, signal: new AbortController().signal };
const options = { sample: 2000, seed: 1, minCosine: 0.9, minJaccard: 0.6, isTimed: true };
const reportOf = (index: SimHashIndex, others = {}) =>
  measureIndex(index, { ...options, ...others }, (_, stage) => stage(quiet));
const folder = { path: 'some.hs', facts: [], files: [], problems: [] };
const nameOf = (row: number) => `row ${row}`;
const sectionsOf = (report: Measured) => healthAnswer(folder, report, nameOf).sections;
const textOf = (report: Measured) => JSON.stringify(sectionsOf(report));

describe('rows of an index', () => {
  const index = made('float32');

  it('are those that are there', () => {
    expect([...liveRows(index)]).toEqual(there);
    const sample = sampleOf(index, liveRows(index), { count: 50, seed: 2 });
    expect(sample.rows).toHaveLength(50);
    expect(sample.ids).toEqual(Array.from(sample.rows, (row) => `row ${row}`));
    expect([...sample.rows].every((row) => there.includes(row))).toBe(true);
    sample.rows.forEach((row, i) => {
      expect(sample.codes.at(i)).toEqual(index.get(`row ${row}`)?.code);
    });
  });

  it('have the true neighbours that comparing all with all gives', async () => {
    const self = Uint32Array.of(0, 50, 238);
    const queries = heldOf(index, self).vectors as DenseMatrix;
    const rows = liveRows(index);
    const found = await trueNeighbors(index, { rows, queries, self, k: 7 }, async () => undefined);
    [0, 50, 238].forEach((query, i) => {
      const nearest = there
        .filter((row) => row !== query)
        .sort((a, b) => cosine(query, b) - cosine(query, a))
        .slice(0, 7);
      expect([...found[i]].sort()).toEqual(nearest.sort());
    });
  });
});

describe.each(['float32', 'none'] as const)('a report of an index that keeps %s', async (keep) => {
  const index = made(keep);
  const report = await reportOf(index);

  it('counts pairs and nearest rows as brute force does', () => {
    const codes = new Map(there.map((row) => [row, index.get(`row ${row}`)?.code as Uint8Array]));
    const apart = (a: number, b: number) =>
      hammingDistance(codes.get(a) as Uint8Array, codes.get(b) as Uint8Array);
    const pairs = new Float64Array(97);
    const nearest = new Float64Array(97);
    for (const a of there) {
      const others = there.filter((b) => b !== a).map((b) => apart(a, b));
      nearest[Math.min(...others)]++;
      for (const b of there) if (b > a) pairs[apart(a, b)]++;
    }
    expect(report.tally?.pairs).toEqual(pairs);
    expect(report.tally?.nearest).toEqual(nearest);
    const near = there.flatMap((a) => there.filter((b) => b > a && cosine(a, b) >= 0.9));
    const counted = report.tally?.near.reduce((sum, count) => sum + count, 0);
    expect(counted).toBe(keep === 'none' ? 0 : near.length);
  });

  it('has the groups that dedup makes at its distance', () => {
    const maxDistance = report.groups?.maxDistance as number;
    expect(maxDistance).toBe(report.calibrated?.maxDistance);
    const plan = dedup(index, { maxDistance });
    const sizes = new Map<number, number>();
    for (const row of there) sizes.set(plan.groups[row], (sizes.get(plan.groups[row]) ?? 0) + 1);
    const bySize = new Map<number, number>();
    for (const size of sizes.values()) bySize.set(size, (bySize.get(size) ?? 0) + 1);
    const expected = [...bySize].sort(([a], [b]) => a - b);
    expect(report.groups?.sizes.map(({ size, groups }) => [size, groups])).toEqual(expected);
    expect(report.groups?.dropped).toBe(there.filter((row) => plan.kept[row] === 0).length);
    expect(report.groups?.largest?.rows).toHaveLength(Math.max(...sizes.values()));
  });

  it('measures recall and speed of what can be searched for', () => {
    const { curve } = report;
    if (curve === null) throw new Error('searches were to be timed');
    expect([curve.k, curve.queries]).toEqual([10, 200]);
    expect(curve.points.every(({ queriesPerSecond }) => queriesPerSecond > 0)).toBe(true);
    const last = curve.points[curve.points.length - 1];
    expect(last.recall).toBe(1); // 50 × 10 rows are all of them
    expect(curve.truth).toBe(keep === 'none' ? 'distance' : 'cosine');
    const chart = recallChart(curve, null, 'queriesPerSecond');
    expect(chart.x).toEqual([...new Set(curve.points.map(({ recall }) => recall))]);
    expect(chart.series.map(({ name }) => name)).toEqual(['scan']);
    const recalls = curve.points.map(({ recall }) => recall);
    expect(recalls).toEqual([...recalls].sort((a, b) => a - b));
  });

  it('is a page of all its sections, the same again but for the times', async () => {
    const untimed = { isTimed: false };
    const pages = [await reportOf(index, untimed), await reportOf(made(keep), untimed)];
    const sections = pages.map((one) => sectionsOf(one).filter(({ name }) => name !== 'memory'));
    expect(sections[1]).toEqual(sections[0]);
    const measured = keep === 'none' ? [] : ['threshold'];
    const names = ['health', 'about', 'files', 'distance', 'cosine', ...measured, 'group'];
    expect(sections[0].map(({ name }) => name)).toEqual(names);
    expect(sectionsOf(report).map(({ name }) => name)).toContain('speed');
    expect(textOf(report)).not.toMatch(/NaN|undefined|Infinity/);
  });
});

it('a report of an optimized index has a line for its partitions', async () => {
  const index = new SimHashIndex({
    bits: 64,
    dimensions: 8,
    projection: 'hadamard',
    vectors: 'int8',
  });
  index.addAll({ values: new Draws('many').gaussians(8 * 6000), dimensions: 8 });
  const measured = index.optimize({ recall: 0.9, queries: 100 });
  const report = await reportOf(index, { sample: 300 });
  expect(measured.method).toBe('partitions');
  const visits =
    report.curve?.points.flatMap(({ probes }) => (probes === null ? [] : [probes])) ?? [];
  expect(visits.length).toBeGreaterThan(1);
  expect(visits).toContain(measured.probes);
  const { series } = recallChart(report.curve, report.recall, 'queriesPerSecond');
  const names = series.map(({ name }) => name);
  expect(names).toEqual(['partitions', 'scan', 'measured by optimize']);
  const bytes = recallChart(report.curve, report.recall, 'bytes');
  expect(bytes.series.map(({ name }) => name)).toEqual([
    ...['partitions', 'scan', 'chosen by optimize'],
  ]);
  // A scan reads every code, of 8 bytes, and ever more vectors; few partitions read less than that.
  const scans = report.curve?.points.filter(({ probes }) => probes === null) ?? [];
  for (const { bytes, oversample } of scans) {
    expect(bytes).toBeGreaterThanOrEqual(8 * 6000 + 8 * 10 * (oversample ?? 0));
  }
  expect(report.curve?.points[0].bytes).toBeLessThan(scans[0].bytes);
  expect(report.partitions).toHaveLength(measured.partitions);
  const codes = Array.from({ length: 6000 }, (_, row) => String(index.get(row)?.code));
  const distinct = new Set(codes).size;
  expect(report.partitions.reduce((sum, size) => sum + size, 0)).toBe(distinct);
  const { y } = partitionChart(report.partitions).series[0];
  expect(y.reduce((sum: number, count) => sum + (count ?? 0), 0)).toBe(measured.partitions);
  expect(textOf(report)).toContain('By evaluation queries, searches find');
});

it('a report of sets speaks of Jaccard similarities, as a count of all pairs has them', async () => {
  const index = new SimHashIndex({ bits: 256, projection: 'minwise', vectors: 'sparse' });
  const sets = Array.from({ length: 60 }, (_, row) => {
    // Row 2i + 1 shares 18 of its 20 words with row 2i: a similarity of 18/22.
    const words = Array.from({ length: 20 }, (_, i) => 1000 * (row >> 1) + i + 2 * (row % 2));
    return { indices: words, values: words.map(() => 1) };
  });
  index.addAll(sets);
  const report = await reportOf(index);
  const sections = sectionsOf(report);
  expect(sections.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['distance', 'sets', 'group', 'memory']),
  );
  expect(textOf(report)).not.toMatch(/cosine/i);
  const chart = sections.find(({ name }) => name === 'sets')?.chart;
  // No two others have a word in common, so that the 30 pairs are all that there are.
  expect([chart?.x.at(0), chart?.x.at(-1)]).toEqual([0.2, 0.81]);
  expect(healthAnswer(folder, report, nameOf).sets.map(({ least }) => least)).toEqual(chart?.x);
  expect(chart?.series[0].y.every((recall) => Number(recall) > 0.9)).toBe(true);
  const groups = sections.find(({ name }) => name === 'group');
  expect(groups?.sentences.join(' ')).toContain('a Jaccard similarity of 0.60 or more');
  expect(groups?.sentences.join(' ')).toContain('dedup would drop 30');
  // Equal sets only, of which there are none: no bit may differ.
  const strict = sectionsOf(await reportOf(index, { minJaccard: 1 }));
  const strictWords = strict.find(({ name }) => name === 'group')?.sentences.join(' ');
  expect(strictWords).toContain('Within 0 of 256 bits, where codes estimate a Jaccard similarity');
  expect(strictWords).toContain('dedup would drop 0');
});

describe('an index of few rows', () => {
  const empty = () =>
    new SimHashIndex({ bits: 64, dimensions: 3, zero: 'null', vectors: 'float32' });

  it('of none has nothing to measure', async () => {
    const report = await reportOf(empty());
    expect([report.rows, report.tally]).toEqual([0, null]);
    expect(textOf(report)).toContain('no rows');
  });

  it('of one has no pairs', async () => {
    const index = empty();
    index.add([1, 2, 3], 'alone');
    const report = await reportOf(index);
    expect([report.tally, report.groups, report.curve]).toEqual([null, null, null]);
    expect(textOf(report)).not.toMatch(/NaN|undefined|Infinity/);
  });

  it.each([
    [
      'two that are equal',
      [
        [1, 2, 3],
        [1, 2, 3],
      ],
    ],
    [
      'two that are opposite',
      [
        [1, 2, 3],
        [-1, -2, -3],
      ],
    ],
    [
      'two of which one is null',
      [
        [1, 2, 3],
        [0, 0, 0],
      ],
    ],
    [
      'none but null ones',
      [
        [0, 0, 0],
        [0, 0, 0],
      ],
    ],
    ['twenty that are equal', Array.from({ length: 20 }, () => [1, 2, 3])],
  ])('of %s is a page', async (_, rows) => {
    const index = empty();
    index.addAll(rows);
    const text = textOf(await reportOf(index));
    expect(text).not.toMatch(/NaN|undefined|Infinity/);
    expect(text).toContain('Memory');
  });
});

it('groups count every row once, and a dot is a size', async () => {
  const index = new SimHashIndex({ bits: 64, dimensions: 4 });
  index.addAll({ values: new Draws('groups').gaussians(4 * 500), dimensions: 4 });
  const rows = liveRows(index);
  const all = await groupSizes(index, { rows, maxDistance: 4, seed: 0 });
  expect([all.rows, all.isSample]).toEqual([500, false]);
  expect(all.sizes.reduce((sum, { size, groups }) => sum + size * groups, 0)).toBe(500);
  const { x, series } = groupChart(all);
  const [{ y }] = series;
  expect(x.reduce((sum, size, i) => sum + size * (y[i] ?? 0), 0)).toBe(500);
});

it('a damaged index has a page that names what is broken', () => {
  const problems = [{ file: 'rows-1.arrow', message: 'checksum <differs>' }];
  const { sections } = healthAnswer({ ...folder, problems }, null, nameOf);
  expect(sections[0]).toMatchObject({ tone: 'bad', sentences: ['Damaged: 1 problem found.'] });
  expect(sections[0].table?.rows).toEqual([['rows-1.arrow', 'checksum <differs>']]);
});
