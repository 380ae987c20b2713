import { describe, expect, it } from 'vitest';
import { type ClusterOptions, type Clusters, cluster } from '../../src/clusters/cluster';
import { Codes } from '../../src/codes/codes';
import { SimHashIndex } from '../../src/index/simhash-index';
import type { DenseMatrix } from '../../src/vectors/vectors';
import { bitsApart, collection } from '../near/collections';
import { Draws, dot } from '../reference/random';

/** Clusters against k-means in plain loops, and their summaries against brute force. */

const NONE = -1;

type Vectors = (Float64Array | null)[];

const unit = (vector: ArrayLike<number>) => {
  const length = Math.sqrt(dot(vector, vector));
  return Float64Array.from(vector, (value) => value / length);
};

/** Rows around some directions, those of a direction `spread` apart. */
function planted(directions: number, each: number, dimensions: number, spread: number): Vectors {
  const draws = new Draws(`${directions} ${each} ${dimensions}`);
  const centroids = Array.from({ length: directions }, () => unit(draws.gaussians(dimensions)));
  return Array.from({ length: directions * each }, (_, row) => {
    const noise = unit(draws.gaussians(dimensions));
    const scale = 0.1 + 10 * draws.uniform();
    return centroids[row % directions].map((value, i) => scale * (value + spread * noise[i]));
  });
}

function matrixOf(vectors: Vectors): DenseMatrix {
  const dimensions = vectors[0]?.length ?? 1;
  const values = new Float64Array(vectors.length * dimensions);
  const validity = new Uint8Array(Math.ceil(vectors.length / 8));
  vectors.forEach((vector, row) => {
    if (vector === null) return;
    values.set(vector, row * dimensions);
    validity[row >> 3] |= 1 << (row & 7);
  });
  return { values, dimensions, validity };
}

/** A code as a vector of +1 and -1; null rows are null. */
function signsOf(codes: Codes): Vectors {
  return Array.from({ length: codes.count }, (_, row) => {
    if (codes.isNull(row)) return null;
    const code = codes.at(row);
    const sign = (_: unknown, bit: number) => ((code[bit >> 3] >> (bit & 7)) & 1 ? 1 : -1);
    return Float64Array.from({ length: codes.bits }, sign);
  });
}

function membersOf({ labels, clusters }: Clusters): number[][] {
  const members = clusters.map((): number[] => []);
  labels.forEach((own, row) => {
    if (own !== NONE) members[own].push(row);
  });
  return members;
}

/** All that a result says of itself, looked up in the vectors. */
function expectSound(found: Clusters, vectors: Vectors): void {
  const dimensions = found.centroids.length / found.clusters.length;
  const centroids = Array.from({ length: found.clusters.length }, (_, i) =>
    found.centroids.subarray(i * dimensions, (i + 1) * dimensions),
  );
  for (const centroid of centroids) expect(dot(centroid, centroid)).toBeCloseTo(1, 10);
  const units = vectors.map((vector) => (vector === null ? null : unit(vector)));
  const cosine = (row: number, other: ArrayLike<number>) => dot(units[row] as Float64Array, other);
  const present = [...units.keys()].filter((row) => units[row] !== null);
  expect([...found.labels.keys()].filter((row) => found.labels[row] !== NONE)).toEqual(present);
  let total = 0;
  membersOf(found).forEach((rows, i) => {
    const { size, cohesion, exemplars } = found.clusters[i];
    expect(size).toBe(rows.length);
    expect(size).toBeGreaterThan(0);
    const sum = rows.reduce((all, row) => all + cosine(row, centroids[i]), 0);
    expect(cohesion).toBeCloseTo(sum / size, 8);
    total += sum;
    const means = rows.map((row) =>
      rows.reduce((all, other) => all + cosine(row, units[other] as Float64Array), 0),
    );
    const sorted = [...means].sort((a, b) => b - a);
    expect(exemplars.length).toBe(Math.min(5, size));
    expect(new Set(exemplars).size).toBe(exemplars.length);
    exemplars.forEach((row, j) => {
      expect(rows).toContain(row);
      expect(means[rows.indexOf(row)]).toBeCloseTo(sorted[j], 8);
    });
  });
  expect(found.objective).toBeCloseTo(total / present.length, 8);
}

/** Each row with its nearest centroid, but for what rounding to 16 bits may confuse. */
function expectNearest(found: Clusters, vectors: Vectors): void {
  const { dimensions } = matrixOf(vectors.filter((vector) => vector !== null));
  vectors.forEach((vector, row) => {
    if (vector === null) return;
    const cosines = Array.from({ length: found.clusters.length }, (_, i) =>
      dot(unit(vector), found.centroids.subarray(i * dimensions, (i + 1) * dimensions)),
    );
    expect(cosines[found.labels[row]]).toBeGreaterThan(Math.max(...cosines) - 1e-4);
  });
}

/** Lloyd's iteration from given centroids until nothing moves, in plain loops: the mean cosine. */
function lloyd(vectors: Float64Array[], starts: number[]): number {
  let centroids = starts.map((row) => unit(vectors[row]));
  const units = vectors.map(unit);
  for (let last = -2; ; ) {
    const sums = centroids.map((centroid) => new Float64Array(centroid.length));
    let total = 0;
    for (const vector of units) {
      const cosines = centroids.map((centroid) => dot(vector, centroid));
      const best = Math.max(...cosines);
      const sum = sums[cosines.indexOf(best)];
      vector.forEach((value, i) => {
        sum[i] += value;
      });
      total += best;
    }
    if (total / units.length - last < 1e-9) return total / units.length;
    last = total / units.length;
    centroids = sums.map((sum, i) => (dot(sum, sum) > 0 ? unit(sum) : centroids[i]));
  }
}

const spread = (planted(12, 50, 20, 0.9) as Float64Array[]).slice(0, 590);
const options = { clusters: 12, seed: 7 };

describe('k-means', () => {
  it('comes to as good an objective as plain loops with as many starts', async () => {
    const draws = new Draws(4);
    const rows = [...spread.keys()];
    const best = Math.max(
      ...Array.from({ length: 4 }, () => lloyd(spread, draws.shuffled(rows).slice(0, 12))),
    );
    const found = await cluster(matrixOf(spread), options);
    expect(found.objective).toBeGreaterThan(0.99 * best);
    expectSound(found, spread);
    expectNearest(found, spread);
  });

  it('ends where plain loops gain nothing', async () => {
    const found = await cluster(matrixOf(spread), options);
    const { dimensions } = matrixOf(spread);
    // The centroids as rows behind the others, to start from.
    const centroids = Array.from({ length: 12 }, (_, i) =>
      found.centroids.slice(i * dimensions, (i + 1) * dimensions),
    );
    const all = [...spread, ...centroids];
    const more = lloyd(
      all,
      [...centroids.keys()].map((i) => spread.length + i),
    );
    const own = (found.objective * spread.length + 12) / all.length;
    expect(more).toBeGreaterThan(own - 1e-9);
    expect(more).toBeLessThan(own + 1e-4);
  });

  it('finds planted directions', async () => {
    const vectors = planted(9, 30, 40, 0.5);
    const found = await cluster(matrixOf(vectors), { clusters: 9 });
    expect(new Set(found.labels.subarray(0, 9)).size).toBe(9);
    found.labels.forEach((own, row) => {
      expect(own).toBe(found.labels[row % 9]);
    });
  });

  it('gives the same by seed', async () => {
    const matrix = matrixOf(spread);
    const found = await cluster(matrix, { clusters: 12, seed: 1 });
    expect(await cluster(matrix, { clusters: 12, seed: 1 })).toEqual(found);
    expect((await cluster(matrix, { clusters: 12, seed: 2n })).labels).not.toEqual(found.labels);
  });

  it('learns on a sample and ends over all rows', { tags: 'thorough' }, async () => {
    const vectors = planted(5, 4000, 8, 0.8); // 20,000 rows, of which a start has 16,384
    // With this seed no start ends in another, lower maximum.
    const found = await cluster(matrixOf(vectors), { clusters: 5, seed: 1 });
    expectNearest(found, vectors);
    const best = lloyd(vectors as Float64Array[], [0, 1, 2, 3, 4]); // one of each direction
    expect(found.objective).toBeGreaterThan(best - 1e-4);
  });
});

describe('sources', () => {
  it('codes go by their bits, and null rows are in no cluster', async () => {
    const given = collection('clustered', 200, 100, 2);
    const validity = new Draws(2).bytes(25);
    const codes = Codes.from(given.bytes, { bits: 100, validity });
    const found = await cluster(codes, { clusters: 6 });
    expect(found.centroids.length).toBe(6 * codes.bits);
    expectSound(found, signsOf(codes));
    expectNearest(found, signsOf(codes));
    // The first exemplar is the row of the least distances, exactly: the first of equals.
    for (const [i, rows] of membersOf(found).entries()) {
      const sums = rows.map((row) =>
        rows.reduce((all, other) => all + bitsApart(codes.at(row), codes.at(other)), 0),
      );
      expect(found.clusters[i].exemplars[0]).toBe(rows[sums.indexOf(Math.min(...sums))]);
    }
  });

  it.each(['float32', 'int8'] as const)('an index goes by its vectors kept as %s', async (keep) => {
    const vectors: Vectors = planted(4, 20, 16, 0.6);
    const index = new SimHashIndex({
      ...{ bits: 64, dimensions: 16, projection: 'hadamard', vectors: keep, zero: 'null' },
    });
    const zero = new Float64Array(16);
    await index.addAll([...(vectors as Float64Array[]), zero], [...vectors.keys(), 80].map(String));
    index.remove('5');
    const kept = [...vectors, null].map((vector, row) =>
      vector === null || row === 5 ? null : (index.get(String(row))?.vector as Float32Array),
    );
    const found = await cluster(index, { clusters: 4 });
    expectSound(
      found,
      kept.map((vector) => vector && Float64Array.from(vector)),
    );
    for (let row = 6; row < 80; row++) expect(found.labels[row]).toBe(found.labels[row % 4]);
  });

  it('without kept vectors an index goes by its bits', async () => {
    const index = new SimHashIndex({ bits: 64, dimensions: 16 });
    await index.addAll(planted(3, 10, 16, 0.3) as Float64Array[]);
    expect((await cluster(index, { clusters: 3 })).centroids.length).toBe(3 * 64);
  });

  it('accumulators are vectors like others', async () => {
    const index = new SimHashIndex({ bits: 128, dimensions: 20, projection: 'hadamard' });
    const sums = spread.map((vector) => index.hasher.accumulate(vector));
    const found = await cluster(matrixOf(sums), options);
    expectSound(found, sums);
    // Orthogonal planes keep angles to some per cent.
    const { objective } = await cluster(matrixOf(spread), options);
    expect(Math.abs(found.objective / objective - 1)).toBeLessThan(0.05);
  });

  it('leaves out rows of a matrix that are null or all zero', async () => {
    const vectors = planted(2, 5, 4, 0.1);
    vectors[3] = null;
    const matrix = matrixOf(vectors);
    matrix.values.fill(0, 4 * 4, 4 * 5);
    vectors[4] = null;
    const found = await cluster(matrix, { clusters: 2 });
    expectSound(found, vectors);
  });
});

describe('few rows', () => {
  const equal = matrixOf(Array.from({ length: 40 }, () => Float64Array.of(1, 2, 3)));

  it('all of them equal, each cluster gets one', async () => {
    const found = await cluster(equal, { clusters: 7 });
    expect(found.clusters.map(({ size }) => size).sort((a, b) => a - b)).toEqual([
      ...[1, 1, 1, 1, 1, 1, 34],
    ]);
    expect(found.objective).toBeCloseTo(1, 9);
    expectSound(found, Array(40).fill(Float64Array.of(1, 2, 3)));
  });

  it('one row', async () => {
    const one = { values: Float32Array.of(0, 2), dimensions: 2 };
    const { labels, clusters, centroids, objective } = await cluster(one, { clusters: 1 });
    expect([...labels, ...centroids, objective]).toEqual([0, 0, 1, 1]);
    expect(clusters).toEqual([{ size: 1, cohesion: 1, exemplars: Uint32Array.of(0) }]);
  });

  it('as many clusters as rows: each has its own', async () => {
    const vectors = planted(3, 10, 6, 1);
    const found = await cluster(matrixOf(vectors), { clusters: 30 });
    expect(new Set(found.labels).size).toBe(30);
    expect(found.objective).toBeCloseTo(1, 9);
    const codes = collection('repeated', 50, 16, 1);
    expect(new Set((await cluster(codes, { clusters: 50 })).labels).size).toBe(50);
  });

  it('opposite rows cancel out, and are a cluster all the same', async () => {
    const opposite = { values: Float64Array.of(1, 0, -1, 0), dimensions: 2 };
    const { clusters, objective } = await cluster(opposite, { clusters: 1 });
    expect([clusters[0].size, objective]).toEqual([2, 0]);
  });
});

describe('codes', () => {
  it('too wide for all to be rounded at once', { tags: 'full', timeout: 120_000 }, async () => {
    const draws = new Draws(3);
    const [bits, count] = [33_001, 4100];
    const width = Math.ceil(bits / 8);
    const bytes = new Uint8Array(count * width);
    for (let row = 0; row < count; row++) {
      if (row % 2 === 1) bytes.fill(255, row * width, (row + 1) * width - 1);
      bytes[row * width + draws.integer(width - 1)] ^= 1;
    }
    const { labels } = await cluster(Codes.from(bytes, { bits }), { clusters: 2 });
    expect(labels[0]).not.toBe(labels[1]);
    expect(labels.every((label, row) => label === labels[row % 2])).toBe(true);
  });
});

describe('as a long call', () => {
  it('shows progress, and stops when asked to', async () => {
    const matrix = matrixOf(spread);
    const done: [number, number][] = [];
    const found = await cluster(matrix, {
      ...options,
      onProgress: (at, total) => done.push([at, total]),
    });
    expect(found).toEqual(await cluster(matrix, options));
    expect(done.length).toBeGreaterThan(10);
    expect(done.every(([at, total], i) => at <= total && at >= (done[i - 1]?.[0] ?? 0))).toBe(true);
    const [at, total] = done[done.length - 1];
    expect(at).toBe(total);
    const controller = new AbortController();
    const onProgress = () => controller.abort(new Error('enough'));
    const stopped = cluster(matrix, { ...options, signal: controller.signal, onProgress });
    await expect(stopped).rejects.toThrow('enough');
  });
});

describe('refuses', () => {
  const codes = collection('uniform', 3, 64, 1);
  it.each<[string, unknown, unknown, string]>([
    ['more clusters than rows', codes, { clusters: 4 }, '"clusters" expected at most 3'],
    ['no rows', Codes.allocate(0, { bits: 8 }), { clusters: 1 }, 'the source has none'],
    ['all-zero rows only', { values: new Float64Array(4), dimensions: 2 }, { clusters: 1 }, 'none'],
    ['no number', codes, {}, '"clusters" expected a number, got undefined'],
    ['no options', codes, undefined, '"clusters" expected a number, got undefined'],
    ['no clusters', codes, { clusters: 0 }, '"clusters" expected an integer in 1..'],
    ['parts', codes, { clusters: 1.5 }, '"clusters" expected an integer'],
    ['an array', [[1, 2]], { clusters: 1 }, '"source" expected Codes, a SimHashIndex or {'],
    ['nothing', null, { clusters: 1 }, '"source" expected Codes, a SimHashIndex or {'],
    ['NaN', { values: Float64Array.of(1, Number.NaN), dimensions: 1 }, { clusters: 1 }, 'row 1:'],
    ['a seed that is none', codes, { clusters: 1, seed: {} }, '"seed" expected a number or a big'],
    ['an unknown option', codes, { cluster: 1 }, 'did you mean "clusters"?'],
    ['a wrong signal', codes, { clusters: 1, signal: {} }, '"signal" expected an AbortSignal'],
  ])('%s', async (_, source, given, message) => {
    await expect(cluster(source as Codes, given as ClusterOptions)).rejects.toThrow(message);
  });
});
