/**
 * Answers of pure functions next to slow and obvious ones: brute force, the scalar kernels, a model,
 * a file that is read back. Inputs are small and nasty: equal codes, null rows, widths that fill no
 * byte, values whose squares overflow or vanish, memory at odd places.
 */

import { PassThrough } from 'node:stream';
import { COSINE, catchShare } from '../../src/codes/measure';
import { forceKernel, type KernelName } from '../../src/kernels/kernels';
import * as api from '../../src/node';
import { hashWord, splitterOf } from '../../src/text/tokens';
import { countDifferentBits, naiveNeighbors } from '../reference/brute-force';
import type { Draws } from '../reference/random';
import { check, checkEqual, checkError, textOf } from './check';
import { TEXTS } from './mutate';
import type { MakeTarget, Run } from './readers';

const { Codes, RowBatch, SimHasher, SimHashIndex, TextHasher } = api;

/** Values of vectors: ordinary ones mostly, at times at the edges of float32 and float64. */
function valueFrom(draws: Draws): number {
  if (draws.integer(30) > 0)
    return draws.integer(3) === 0 ? draws.integer(3) - 1 : draws.gaussian();
  const edges = [0, -0, 1e-40, 1e-310, 5e-324, 1e-20, 1e20, 3e38, 1e155, -1e200, 1e307, 2 ** -149];
  return draws.pick(edges);
}

function vectorsFrom(draws: Draws, count: number, dimensions: number): number[][] {
  const rows: number[][] = [];
  for (let row = 0; row < count; row++) {
    const isCopy = row > 0 && draws.integer(4) === 0;
    rows.push(
      isCopy ? [...draws.pick(rows)] : Array.from({ length: dimensions }, () => valueFrom(draws)),
    );
  }
  return rows;
}

/** Codes of which some are equal, some near and some null. */
function codesFrom(draws: Draws, count: number, bits: number): api.Codes {
  const width = Math.ceil(bits / 8);
  const bytes = draws.bytes(count * width);
  const spare = 8 * width - bits;
  for (let row = 0; row < count; row++) {
    bytes[(row + 1) * width - 1] &= 0xff >> spare;
    if (row === 0 || draws.integer(2) === 0) continue;
    bytes.copyWithin(row * width, draws.integer(row) * width, row * width);
    const at = draws.integer(bits);
    if (draws.integer(2) === 0) bytes[row * width + (at >> 3)] ^= 1 << (at & 7);
  }
  const hasNulls = draws.integer(3) === 0;
  const validity = hasNulls ? draws.bytes(Math.ceil(count / 8)) : null;
  for (let row = 0; validity && row < count; row++) {
    if (((validity[row >> 3] >> (row & 7)) & 1) === 0)
      bytes.fill(0, row * width, (row + 1) * width);
  }
  return Codes.from(bytes, { bits, validity });
}

const rowsOf = (codes: api.Codes) =>
  Array.from({ length: codes.count }, (_, row) => (codes.isNull(row) ? null : codes.at(row)));

const anyBits = (draws: Draws) =>
  draws.pick([1, 7, 8, 9, 20, 31, 32, 33, 64, 65, 100, 128, 200, 256, 300]);

/** What a call answers, or the class of the error that it throws, in our own words. */
async function outcome(does: () => unknown, doing: string): Promise<string> {
  try {
    return textOf(await does());
  } catch (error) {
    checkError(error, doing);
    // Which of several values that are not finite is named first depends on the shape.
    return `refused: ${(error as Error).message.replace(/, got .*/, '')}`;
  }
}

/** A float array over memory at an odd place, or shared. */
function placed(draws: Draws, values: readonly number[]): Float32Array | Float64Array {
  const Kind = draws.pick([Float32Array, Float64Array]);
  const bytes = Kind.BYTES_PER_ELEMENT * (values.length + 3);
  const buffer = draws.integer(3) === 0 ? new SharedArrayBuffer(bytes) : new ArrayBuffer(bytes);
  const array = new Kind(
    buffer as ArrayBuffer,
    Kind.BYTES_PER_ELEMENT * draws.integer(3),
    values.length,
  );
  array.set(values);
  return array;
}

const hash: Run = async (draws) => {
  const dimensions = 1 + draws.integer(draws.pick([4, 40, 300]));
  const projection = draws.pick(['signs', 'gaussian', 'hadamard'] as const);
  const options = {
    bits: anyBits(draws),
    dimensions,
    projection,
    seed: draws.word(),
    zero: 'null' as const,
  };
  const rows = vectorsFrom(draws, 1 + draws.integer(6), dimensions);
  const values = placed(draws, rows.flat());
  const before = textOf(values);
  const codesBy = (batch: api.VectorBatch, kernel: KernelName) =>
    outcome(async () => {
      forceKernel(kernel);
      const { bytes, validity } = await new SimHasher(options).hashAll(batch);
      return [bytes, validity];
    }, `hashAll, ${projection}`);
  const expected = await codesBy({ values, dimensions }, 'scalar');
  checkEqual(await codesBy({ values, dimensions }, 'auto'), expected, `${projection}, kernels`);
  checkEqual(textOf(values), before, 'the input of hashAll');
  const each = Array.from({ length: rows.length }, (_, i) =>
    values.slice(i * dimensions, (i + 1) * dimensions),
  );
  checkEqual(await codesBy(each, 'auto'), expected, `${projection}, rows one by one`);
  if (projection === 'hadamard') return;
  // Sparse rows with the entries in another order have the codes of the dense ones.
  const sparse = each.map((row) => {
    const indices = draws.shuffled(Array.from(row, (_, i) => i).filter((i) => row[i] !== 0));
    return { indices, values: indices.map((i) => row[i]) };
  });
  checkEqual(await codesBy(sparse, 'auto'), expected, `${projection}, sparse rows`);
};

const scan: Run = async (draws) => {
  const bits = anyBits(draws);
  const codes = codesFrom(draws, draws.integer(40), bits);
  const queries = codesFrom(draws, 1 + draws.integer(4), bits);
  const wanted = {
    ...(draws.integer(2) === 0 && { k: 1 + draws.integer(50) }),
    ...(draws.integer(2) === 0 && { maxDistance: draws.integer(bits + 1) }),
  };
  const kernel = draws.pick(['auto', 'scalar', 'popcnt8', 'popcnt64'] as const);
  forceKernel(kernel);
  const found = await api.scanAll(codes, queries, wanted);
  forceKernel(undefined);
  const k = wanted.k ?? (wanted.maxDistance === undefined ? 10 : undefined);
  const expected = rowsOf(queries).map((query) =>
    naiveNeighbors(rowsOf(codes), query, { ...wanted, ...(k && { k }) }),
  );
  checkEqual(found, expected, `scanAll, kernel ${kernel}`);
};

const pairs: Run = async (draws) => {
  const bits = anyBits(draws);
  const [left, right] = [
    codesFrom(draws, draws.integer(30), bits),
    codesFrom(draws, draws.integer(20), bits),
  ];
  const maxDistance = draws.integer(1 + draws.pick([1, 4, bits]));
  const options = { maxDistance: Math.min(bits, maxDistance) };
  const isSelf = draws.integer(2) === 0;
  const found = isSelf ? api.pairs(left, options) : api.pairs(left, right, options);
  const actual: number[][] = [];
  for await (const { a, b, distances } of found)
    a.forEach((one, i) => {
      actual.push([one, b[i], distances[i]]);
    });
  const expected: number[][] = [];
  const others = rowsOf(isSelf ? left : right);
  rowsOf(left).forEach((one, a) => {
    others.forEach((other, b) => {
      if (one === null || other === null || (isSelf && b <= a)) return;
      const distance = countDifferentBits(one, other);
      if (distance <= options.maxDistance) expected.push([a, b, distance]);
    });
  });
  checkEqual(actual, expected, isSelf ? 'pairs' : 'pairs of two');
};

const groups: Run = async (draws) => {
  const bits = anyBits(draws);
  const codes = codesFrom(draws, 1 + draws.integer(30), bits);
  const maxDistance = Math.min(bits, draws.integer(6));
  const grouping = draws.pick(['star', 'components'] as const);
  const keep = draws.pick(['first', 'last'] as const);
  const plan = await api.dedup(codes, { maxDistance, grouping, keep });
  for (let row = 0; row < codes.count; row++) {
    check(plan.kept[row] === 1 || !codes.isNull(row), 'dedup drops a null row');
    const original = plan.duplicateOf[row];
    check(
      plan.kept[original] === 1,
      `dedup: row ${row} duplicates row ${original}, which is dropped`,
    );
    check(
      plan.groups[row] === plan.groups[original],
      `row ${row} and row ${original} are in two groups`,
    );
    if (plan.kept[row] === 1) continue;
    const distance = codes.distance(row, original);
    checkEqual(plan.distances[row], distance, 'the distance of a plan');
    if (grouping !== 'components')
      check(distance <= maxDistance, `${grouping}: a row too far is dropped`);
  }
};

/** Rows added, replaced and removed, next to a Map. */
const index: Run = async (draws) => {
  const bits = anyBits(draws);
  const made = new SimHashIndex<string>({ bits });
  const model = new Map<string, { row: number; code: Uint8Array }>();
  const codes = codesFrom(draws, 30, bits).withoutValidity();
  for (let step = draws.integer(40); step >= 0; step--) {
    const id = `${draws.integer(15)}`;
    const code = codes.at(draws.integer(30)).slice();
    if (draws.integer(3) === 0) {
      checkEqual(made.remove(id), model.delete(id), 'remove');
    } else if (model.has(id) || draws.integer(2) === 0) {
      model.delete(id);
      model.set(id, { row: made.set(code, id), code });
    } else model.set(id, { row: made.add(code, id), code });
  }
  if (made.count > 0 && draws.integer(4) === 0)
    await made.optimize({ recall: 0.9, k: 3, queries: 4, seed: 1 });
  const source = draws.integer(3) > 0 ? made : api.indexFromArrow(api.indexToArrow(made));
  const byRow: (Uint8Array | null)[] = new Array(80).fill(null);
  const idOf = new Map<number, string>();
  for (const [id, { row, code }] of model) {
    byRow[row] = code;
    idOf.set(row, id);
  }
  checkEqual(source.count, model.size, 'count');
  const query = codes.at(draws.integer(30));
  const k = 1 + draws.integer(20);
  const found = source.search(query, { k, rank: 'hamming' });
  const nearest = naiveNeighbors(byRow, query, { k });
  const ids = Array.from(nearest.rows, (row) => idOf.get(row));
  checkEqual(
    [found.rows, found.distances, found.ids],
    [nearest.rows, nearest.distances, ids],
    'search',
  );
  const maxDistance = draws.integer(bits + 1);
  const within = source.within(query, { maxDistance });
  checkEqual(within.rows, naiveNeighbors(byRow, query, { maxDistance }).rows, 'within');
};

/** The cosine by sums that neither overflow nor vanish; NaN of zeros. */
function cosineOf(a: ArrayLike<number>, b: ArrayLike<number>): number {
  const scaled = (vector: ArrayLike<number>) => {
    const most = Array.from(vector).reduce((max, value) => Math.max(max, Math.abs(value)), 0);
    return Array.from(vector, (value) => value / most);
  };
  const [x, y] = [scaled(a), scaled(b)];
  const dot = (p: number[], q: number[]) => p.reduce((sum, value, i) => sum + value * q[i], 0);
  return dot(x, y) / Math.sqrt(dot(x, x)) / Math.sqrt(dot(y, y));
}

const cosines: Run = async (draws) => {
  const dimensions = 1 + draws.integer(9);
  const count = 1 + draws.integer(12);
  const values = placed(draws, vectorsFrom(draws, count, dimensions).flat());
  const matrix = { values, dimensions };
  const query = placed(draws, vectorsFrom(draws, 1, dimensions)[0]);
  const options = { k: count, minCosine: -1 };
  const found = await outcome(() => api.scanVectors(matrix, query, options), 'scanVectors');
  if (found.startsWith('refused')) return;
  const result = api.scanVectors(matrix, query, options);
  result.rows.forEach((row, i) => {
    const cosine = cosineOf(values.subarray(row * dimensions, (row + 1) * dimensions), query);
    const error = Math.abs(cosine - result.cosines[i]);
    check(
      !(error > 1e-6) || Number.isNaN(cosine),
      `cosine ${result.cosines[i]} in place of ${cosine}`,
    );
  });
  for (const vectors of ['float32', 'int8'] as const) {
    const rows = Array.from({ length: count }, (_, i) =>
      values.slice(i * dimensions, (i + 1) * dimensions),
    );
    const made = new SimHashIndex({ bits: 32, dimensions, vectors, zero: 'null' });
    const isAdded = await made.addAll(rows).catch((error) => checkError(error, 'addAll') ?? null);
    if (isAdded === null) continue;
    const answer = await outcome(() => made.search(query, { k: count, oversample: 100 }), 'search');
    if (answer.startsWith('refused')) continue;
    const { rows: best, similarities } = made.search(query, { k: count, oversample: 100 });
    const limit = vectors === 'int8' ? 0.02 * Math.sqrt(dimensions) : 1e-5;
    best.forEach((row, i) => {
      const cosine = cosineOf(rows[row], query);
      const error = Math.abs(cosine - similarities[i]);
      check(
        !(error > limit) || Number.isNaN(cosine),
        `${vectors}: cosine ${similarities[i]} in place of ${cosine}`,
      );
    });
  }
};

const clusters: Run = async (draws) => {
  const codes = codesFrom(draws, 2 + draws.integer(25), anyBits(draws));
  const clusters = 1 + draws.integer(4);
  const options = { clusters, seed: draws.integer(9) };
  const made = await outcome(() => api.cluster(codes, options), 'cluster');
  const distinct = new Set(rowsOf(codes).flatMap((code) => (code === null ? [] : code.join())));
  check(!made.startsWith('refused') || clusters > distinct.size, made);
  const density = { minClusterSize: 2 + draws.integer(3), minSamples: 1 + draws.integer(3) };
  const found = await outcome(() => api.clusterByDensity(codes, density), 'clusterByDensity');
  if (found.startsWith('refused')) return;
  const { labels, clusters: groups } = await api.clusterByDensity(codes, density);
  const inNone = labels.filter((label) => label === -1).length;
  const sizes = groups.reduce((sum, { size }) => sum + size, 0);
  checkEqual(sizes, codes.count - inNone, 'rows in clusters');
};

const textFrom = (draws: Draws) =>
  Array.from({ length: draws.integer(12) }, () =>
    draws.integer(3) === 0 ? draws.pick(TEXTS) : String.fromCodePoint(draws.integer(0xd800) || 1),
  ).join(draws.pick(['', ' ', '\n']));

const texts: Run = async (draws) => {
  const all = Array.from({ length: 1 + draws.integer(6) }, () => textFrom(draws));
  const options = {
    ...{
      bits: anyBits(draws),
      empty: 'null' as const,
      counting: draws.pick(['raw', 'log', 'binary'] as const),
    },
    tokens: draws.pick(['words', 'characters:3', 'shingles:2'] as const),
  };
  const hasher = new TextHasher(options);
  const codes = await hasher.hashAll(all);
  forceKernel('scalar');
  checkEqual((await new TextHasher(options).hashAll(all)).bytes, codes.bytes, 'kernels');
  forceKernel(undefined);
  const streamed = await hasher.hashAll(all.values());
  checkEqual([...streamed.bytes], [...codes.bytes], 'texts one by one');
  all.forEach((text, row) => {
    const { indices, values } = hasher.vectorize(text);
    if (codes.isNull(row)) return;
    const code = new SimHasher({ bits: options.bits, zero: 'null' }).hash({ indices, values });
    checkEqual(code, codes.at(row).slice(), 'hash of vectorize');
    const words = [...splitterOf(options.tokens).split(text)];
    const dimensions = new Set(words.map((word) => hashWord(word)));
    checkEqual(indices.length, dimensions.size, 'dimensions of a text');
  });
  const table = hasher.fit(all);
  const read = api.frequenciesFromArrow(api.frequenciesToArrow(table));
  checkEqual([read.documents, read.size], [table.documents, table.size], 'frequencies');
};

const angle: Run = (draws) => {
  const bits = 1 + draws.integer(draws.pick([10, 300, 65_535]));
  const cosine = draws.pick([2 * draws.uniform() - 1, 1, -1, 0, 1 - 1e-12]);
  const probability = draws.pick([draws.uniform(), 0.5, 0.999]);
  const distance = draws.integer(bits + 1);
  const estimate = api.estimateAngle(distance, bits);
  checkEqual(estimate.angle, (Math.PI * distance) / bits, 'the angle');
  const [low, high] = estimate.cosineInterval;
  check(
    low <= estimate.estimatedCosine && estimate.estimatedCosine <= high,
    `${low} ${estimate.estimatedCosine} ${high}`,
  );
  const caughtWithin = (maxDistance: number) =>
    catchShare(COSINE, { least: cosine, bits, maxDistance });
  const share = caughtWithin(distance);
  check(share >= 0 && share <= 1, `catchShare ${share}`);
  if (probability <= 0) return;
  const least = api.distanceFor(cosine, bits, probability);
  check(caughtWithin(least) >= probability - 1e-9, 'distanceFor catches too few');
  const before = least > 0 ? caughtWithin(least - 1) : 0;
  check(before < probability + 1e-9, 'distanceFor is not the smallest');
};

/** Half a surrogate pair is not read back from UTF-8. */
const WHOLE_TEXTS = TEXTS.filter((text) => !/\p{Surrogate}/u.test(text));

/** Columns of any kind, without and with nulls. */
function columnsFrom(draws: Draws, count: number): Record<string, api.ColumnData> {
  const some = <T>(make: () => T) =>
    Array.from({ length: count }, () => (draws.integer(4) === 0 ? null : make()));
  const makers: Record<string, () => unknown> = {
    number: () => some(() => draws.integer(2000) - 1000),
    float: () => some(() => draws.gaussian()),
    text: () => some(() => draws.pick(WHOLE_TEXTS)),
    flag: () => some(() => draws.integer(2) === 0),
    vector: () => ({ values: Float32Array.from(draws.gaussians(3 * count)), dimensions: 3 }),
    singles: () => Float32Array.from(draws.gaussians(count)),
    big: () => BigInt64Array.from({ length: count }, () => BigInt.asIntN(64, draws.word())),
    codes: () => codesFrom(draws, count, 12),
  };
  const names = draws.shuffled(Object.keys(makers)).slice(0, 1 + draws.integer(4));
  return Object.fromEntries(names.map((name) => [name, makers[name]() as api.ColumnData]));
}

async function writtenTo(
  format: api.RowFormat,
  batches: readonly api.RowBatch[],
): Promise<Uint8Array> {
  const stream = new PassThrough();
  const parts: Uint8Array[] = [];
  stream.on('data', (part: Uint8Array) => parts.push(part.slice()));
  const writer = await api.createRows(stream, { format });
  for (const batch of batches) await writer.write(batch);
  await writer.close();
  return Buffer.concat(parts);
}

/** Rows written in a binary format read back as they were, whatever the batches; joins too. */
const rows: Run = async (draws) => {
  const count = 1 + draws.integer(9);
  const batch = RowBatch.of(columnsFrom(draws, count));
  const names = batch.columns.map(({ name }) => name);
  const valuesOf = (batches: readonly api.RowBatch[]) =>
    names.map((name) => batches.flatMap((one) => one.values(name)));
  const expected = valuesOf([batch]);
  const cut = draws.integer(count + 1);
  const parts = [batch.slice(0, cut), batch.slice(cut, count)];
  checkEqual(valuesOf([RowBatch.join(parts)]), expected, 'join');
  const chosen = Array.from({ length: count }, () => draws.integer(count));
  const selected = expected.map((values) => chosen.map((row) => values[row]));
  checkEqual(valuesOf([batch.select(chosen)]), selected, 'select');
  const format = draws.pick(['arrow', 'arrows', 'arrows', 'arrow', 'parquet'] as const);
  const bytes = await writtenTo(format, draws.integer(2) === 0 ? [batch] : parts);
  const read: api.RowBatch[] = [];
  const source = (async function* () {
    yield bytes;
  })();
  for await (const one of await api.openRows(source, { format })) read.push(one);
  const plain = (value: unknown) =>
    textOf(value)
      .replace(/-0\b/g, '0')
      .replace(/\w+Array\[/g, '[');
  checkEqual(plain(valuesOf(read)), plain(expected), `rows as ${format}`);
};

export const ANSWERS: Record<string, MakeTarget> = Object.fromEntries(
  Object.entries({
    ...{ hash, scan, pairs, groups, 'index-model': index, cosines, clusters, texts, angle },
    'rows-back': rows,
  }).map(([name, run]) => [name, () => run]),
);
