import { describe, expect, it } from 'vitest';
import {
  clusterByDensity,
  type DensityClusters,
  type DensityOptions,
} from '../../src/clusters/density';
import { Codes } from '../../src/codes/codes';
import { SimHashIndex } from '../../src/index/simhash-index';
import { bitsApart, collection, SHAPES } from '../near/collections';
import { Draws } from '../reference/random';

/** Groups by density, against the definition over all pairs of rows. */

const NONE = -1;

/** Rows by rows: the distance at which they reach each other, and at which each is dense. */
function reachability(codes: Codes, neighbors: number) {
  const rows = [...Array(codes.count).keys()].filter((row) => !codes.isNull(row));
  const apart = rows.map((a) => rows.map((b) => bitsApart(codes.at(a), codes.at(b))));
  const cores = apart.map((distances, i) => {
    const others = distances.filter((_, j) => j !== i).sort((a, b) => a - b);
    return others[neighbors - 1] ?? Number.POSITIVE_INFINITY;
  });
  const reach = apart.map((distances, i) =>
    distances.map((distance, j) => Math.max(distance, cores[i], cores[j])),
  );
  return { rows, reach };
}

/** The parts of `members` that hang together below a height. */
function parts(members: number[], reach: number[][], isNear: (height: number) => boolean) {
  const left = new Set(members);
  const found: number[][] = [];
  for (const member of members) {
    if (!left.delete(member)) continue;
    const part = [member];
    for (const one of part) {
      for (const other of left) {
        if (!isNear(reach[one][other])) continue;
        part.push(other);
        left.delete(other);
      }
    }
    found.push(part);
  }
  return found;
}

/** Groups as lists of rows, in order of their first row. */
function inOrder(groups: number[][], rows: number[]): number[][] {
  const named = groups.map((group) => group.map((i) => rows[i]).sort((a, b) => a - b));
  return named.sort((a, b) => a[0] - b[0]);
}

/** From the whole down: a branch is what stays together when small parts leave it. */
function massByDefinition(codes: Codes, minimum: number, neighbors: number): number[][] {
  const { rows, reach } = reachability(codes, neighbors);
  const largeOf = (members: number[], height: number) => {
    const found = parts(members, reach, (distance) => distance <= height);
    return found.filter((part) => part.length >= minimum);
  };
  /** Of what hangs together below the height `from`, at which it joins others. */
  function best(members: number[], from: number, outside: number, mayBeWhole: boolean) {
    let [inside, mass] = [members, 0];
    for (let height = from - 1; ; height--) {
      const large = largeOf(inside, height);
      const stay = large.length === 1 ? large[0].length : 0;
      // Those who leave had joined at the height above.
      mass += (inside.length - stay) * (1 / (2 + height) - outside);
      [inside] = large;
      if (large.length === 1) continue;
      const below: { mass: number; groups: number[][] }[] = large.map((part) =>
        best(part, height + 1, 1 / (2 + height), true),
      );
      const massBelow = below.reduce((sum, one) => sum + one.mass, 0);
      if (large.length === 0 || (mayBeWhole && mass >= massBelow - 1e-12)) {
        return { mass, groups: [members] };
      }
      return { mass: massBelow, groups: below.flatMap(({ groups }) => groups) };
    }
  }
  const whole = largeOf([...rows.keys()], codes.bits);
  const found = whole.flatMap((part) => best(part, codes.bits + 1, 0, whole.length > 1).groups);
  return inOrder(found, rows);
}

/** Groups as lists of rows, in their own order. */
function listed({ labels, clusters }: Pick<DensityClusters, 'labels' | 'clusters'>): number[][] {
  const groups = clusters.map((): number[] => []);
  labels.forEach((group, row) => {
    if (group !== NONE) groups[group].push(row);
  });
  return groups;
}

/** How many rows are in no group. */
const noiseOf = ({ labels }: DensityClusters) => labels.filter((group) => group === NONE).length;

/** Some rows around each of some centres, then some anywhere. */
function planted(groups: number, each: number, noise: number, bits: number, flips: number) {
  const draws = new Draws(`${groups} ${each} ${bits}`);
  const codes = Codes.allocate(groups * each + noise, { bits });
  for (let group = 0; group < groups; group++) {
    const centre = draws.bytes(codes.bytesPerCode);
    for (let i = 0; i < each; i++) {
      const code = codes.at(group * each + i);
      code.set(centre);
      for (let j = 0; j < flips; j++) {
        const bit = draws.integer(bits);
        code[bit >> 3] ^= 1 << (bit & 7);
      }
    }
  }
  for (let i = groups * each; i < codes.count; i++) {
    codes.at(i).set(draws.bytes(codes.bytesPerCode));
  }
  return codes;
}

describe.each(SHAPES)('%s codes', (shape) => {
  it.each([
    [24, 2, 3],
    [32, 4, 1],
    [32, 5, 5],
    [64, 5, 2],
    [64, 7, 69],
    [64, 3, 70],
  ])('of %i bits by mass: at least %i rows, of %i neighbours', async (bits, minimum, neighbors) => {
    for (const seed of [1, 2, 3]) {
      const codes = collection(shape, 70, bits, seed);
      const expected = massByDefinition(codes, minimum, neighbors);
      const options = { minClusterSize: minimum, minSamples: neighbors };
      expect(listed(await clusterByDensity(codes, options))).toEqual(expected);
    }
  });
});

it('the definition finds several groups by mass', async () => {
  const codes = planted(4, 12, 8, 64, 4);
  const expected = massByDefinition(codes, 5, 5);
  expect(expected.length).toBe(4);
  expect(listed(await clusterByDensity(codes, { minClusterSize: 5, minSamples: 5 }))).toEqual(
    expected,
  );
});

it('finds planted groups, and leaves the rest as noise', async () => {
  const codes = planted(6, 40, 100, 256, 20);
  const expected = Array.from({ length: 6 }, (_, group) =>
    Array.from({ length: 40 }, (_, i) => 40 * group + i),
  );
  // By mass a row that is far, but no farther than groups from each other, may be with one.
  const found = await clusterByDensity(codes);
  expect(listed(found).map((rows) => rows.filter((row) => row < 240))).toEqual(expected);
  expect(noiseOf(found)).toBeGreaterThan(95);
});

it('leaves out rows of a large collection that are far from all others', async () => {
  const codes = planted(6, 200, 20, 256, 20);
  const found = await clusterByDensity(codes);
  const expected = Array.from({ length: 6 }, (_, group) =>
    Array.from({ length: 200 }, (_, i) => 200 * group + i),
  );
  expect(listed(found)).toEqual(expected);
  expect(noiseOf(found)).toBe(20);
});

it('finds a loose group among tight ones, whose rows are near others only from afar', async () => {
  const [tight, loose] = [planted(20, 98, 0, 256, 8), planted(1, 30, 0, 256, 40)];
  const codes = Codes.from(Uint8Array.of(...tight.bytes, ...loose.bytes), { bits: 256 });
  const { labels } = await clusterByDensity(codes);
  expect([...labels]).toEqual([...labels.keys()].map((row) => Math.floor(row / 98)));
});

it('splits groups that have groups within, if that is of more mass', async () => {
  // Two tight pairs of groups: the pairs are far apart, their halves near and much denser.
  const codes = Codes.allocate(40, { bits: 64 });
  for (let row = 0; row < 40; row++) {
    const group = Math.floor(row / 10);
    if (group >= 2) codes.at(row).fill(0xff, 0, 4);
    if (group % 2 === 1) codes.at(row)[7] = 0xff;
    if (row % 10 > 5) codes.at(row)[6] = 1 << ((row % 10) % 8);
  }
  const halves = await clusterByDensity(codes, { minClusterSize: 5, minSamples: 2 });
  expect(halves.clusters.map(({ size }) => size)).toEqual([10, 10, 10, 10]);
});

it('takes many equal rows, and a whole that never splits, as one group', async () => {
  const codes = Codes.allocate(50_000, { bits: 64 });
  const { clusters } = await clusterByDensity(codes);
  expect(clusters.length).toBe(1);
  expect(clusters[0]).toEqual({
    ...{ size: 50_000, cohesion: 1 },
    exemplars: Uint32Array.of(0, 1, 2, 3, 4),
  });
});

it('tells of groups by the vectors that an index keeps, and leaves out rows that are gone', async () => {
  const draws = new Draws(3);
  const dimensions = 16;
  const index = new SimHashIndex({
    ...{ bits: 64, dimensions, projection: 'hadamard', vectors: 'float32', zero: 'null' },
  });
  const vectors: Float64Array[] = [];
  for (let group = 0; group < 2; group++) {
    const centre = draws.gaussians(dimensions);
    for (let i = 0; i < 30; i++) {
      vectors.push(centre.map((value) => value + 0.05 * draws.gaussian()));
    }
  }
  vectors.push(new Float64Array(dimensions));
  await index.addAll(vectors, [...vectors.keys()].map(String));
  index.remove('4');
  const found = await clusterByDensity(index, { minClusterSize: 10, minSamples: 3 });
  expect(found.clusters.map(({ size }) => size)).toEqual([29, 30]);
  expect([found.labels[4], found.labels[60], noiseOf(found)]).toEqual([NONE, NONE, 2]);
  for (const { cohesion } of found.clusters) {
    expect(cohesion).toBeGreaterThan(0.98); // of the vectors: of codes it is below
    expect(cohesion).toBeLessThan(1);
  }
});

it('shows progress, and stops when asked to', async () => {
  const codes = collection('clustered', 2000, 64, 1);
  const done: number[] = [];
  const found = await clusterByDensity(codes, {
    onProgress: (at, all) => done.push(at / all),
  });
  expect(found).toEqual(await clusterByDensity(codes));
  expect(done.length).toBeGreaterThan(5);
  expect(done[done.length - 1]).toBe(1);
  const controller = new AbortController();
  const onProgress = () => controller.abort(new Error('enough'));
  const stopped = clusterByDensity(codes, { signal: controller.signal, onProgress });
  await expect(stopped).rejects.toThrow('enough');
});

it.each<[unknown, unknown, string]>([
  [[], {}, '"source" expected Codes or a SimHashIndex, got Array'],
  [Codes.allocate(0, { bits: 8 }), {}, 'clusterByDensity() needs rows, the source has none'],
  [Codes.allocate(3, { bits: 8 }), { minClusterSize: 1 }, '"minClusterSize" expected an integer'],
  [Codes.allocate(3, { bits: 8 }), { minSamples: 0.5 }, '"minSamples" expected an integer'],
  [Codes.allocate(3, { bits: 8 }), { minClustersize: 3 }, 'did you mean "minClusterSize"?'],
])('refuses wrong input %#', async (source, options, message) => {
  await expect(clusterByDensity(source as Codes, options as DensityOptions)).rejects.toThrow(
    message,
  );
});
