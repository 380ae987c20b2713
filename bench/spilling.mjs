// Does it pay to list a row near a border in a second partition too? Copies make partitions larger, but
// a row is found when either of its two is visited. The second is that of the next nearest centroid, or
// the one that SOAR chooses (Sun et al., NeurIPS 2023): it minimizes |r'|^2 + lambda (r.r' / |r|)^2, where
// r and r' are the row's residuals to the first and to the second. Counted are the entries that a search
// scores, copies included, until the visited partitions hold a share of the true 10 nearest. What
// residual codes miss after that is not counted. Names of data sets as arguments choose among them.

import { buildDataSet, DATA_SETS, truthOf, vectorsOf } from './lib/data-sets.mjs';
import { fromSource } from './lib/from-source.mjs';
import { announce, mustHold, printTable, short, times } from './lib/table.mjs';

const lib = await fromSource(`
  export { SimHashIndex, partsOf } from '../../src/index/simhash-index';
  export { sampleSize, usualPartitions } from '../../src/index/make-partitions';
  export { drawn } from '../../src/base/draw';
  export { alea } from '../../src/base/random';
  export { runSteps } from '../../src/base/steps';
  export { queryOf } from '../../src/index/query';
  export { allocateIntegers, roundInto } from '../../src/k-means/points';
  export { trainTree } from '../../src/k-means/two-level';
  export { productsKernel, residualKernel } from '../../src/kernels/kernels';
  export { shortened } from '../../src/index/partitions/gaps';
  export { integerWidth, UNIT } from '../../src/kernels/products';
  export { BLOCK_ROWS, NO_GAP, RANGE } from '../../src/kernels/residuals';
`);
const { productsKernel, runSteps, UNIT } = lib;

const K = 10;
const SEED = '1';
/** Partitions that a search visits at most. */
const MAX_PROBES = 1024;
const SHARES = [0.25, 0.5, 1];
/** Of SOAR; 0 makes it the next nearest. */
const LAMBDAS = [0, 1, 1.5, 2];
const RECALLS = [0.9, 0.95, 0.99];
/** Rows that are compared with all centroids at once. */
const BLOCK = 256;
/** What a search reads of an entry in a folder besides its residual code: see docs/performance.md. */
const ENTRY_BYTES = 12;
const NONE = 0xffff_ffff;

await announce();
const names = process.argv.slice(2);
for (const name of names.length > 0 ? names : ['glove', 'images', 'sentences']) {
  buildDataSet(name);
  const data = dataOf(name);
  const usual = lib.usualPartitions(data.count);
  const costs = costsOf(name, usual);
  const lines = [];
  for (const growth of [1, ...SHARES.map((share) => 1 + share)]) {
    const count = Math.round(usual * growth);
    const near = nearOf(data, centroidsOf(data, count));
    lines.push(lineOf(data, near, { rule: 'one partition', share: 0, growth }));
    const shares = growth === 1 ? SHARES : [growth - 1];
    for (const share of shares) {
      for (const lambda of LAMBDAS) {
        const rule = lambda === 0 ? 'next nearest' : `SOAR ${lambda}`;
        lines.push(lineOf(data, near, { rule, share, growth, lambda }));
      }
    }
    console.error(`${name}: ${count} partitions done`);
  }
  printLines(name, data, lines, costs);
  printCurves(name, lines);
}

/** Rows and queries as vectors of integers, and the true neighbours. */
function dataOf(name) {
  const rows = integersOf(vectorsOf(name, 'train'));
  const queries = integersOf(vectorsOf(name, 'queries'));
  return { ...rows, queries: queries.values, truth: truthOf(name, K) };
}

function integersOf({ values, dimensions }) {
  const width = lib.integerWidth(dimensions);
  const count = values.length / dimensions;
  const integers = new Int16Array(count * width);
  for (let row = 0; row < count; row++) {
    const vector = values.subarray(row * dimensions, (row + 1) * dimensions);
    let sum = 0;
    for (const value of vector) sum += value * value;
    lib.roundInto(vector, Math.sqrt(sum), integers, row * width);
  }
  return { values: integers, width, count };
}

/** Centroids as `optimize` trains them. */
function centroidsOf({ values, width, count: rowCount }, count) {
  const all = Uint32Array.from({ length: rowCount }, (_, row) => row);
  const most = lib.sampleSize(count);
  const drawn = runSteps(lib.drawn(all, most, lib.alea(SEED)), {});
  const sample = lib.allocateIntegers(drawn.length, width);
  drawn.forEach((row, i) => {
    sample.set(values.subarray(row * width, (row + 1) * width), i * width);
  });
  return runSteps(lib.trainTree(sample, width, { count, seed: SEED }), {}).centroids;
}

/**
 * Of each row its nearest centroid, and its second partition by each lambda; rows by how much farther
 * the next centroid is. Residuals are those of centroids shortened to the mean of rows' cosines with
 * them, as residual codes have them.
 */
function nearOf({ values, width, count }, centroids) {
  const all = { values: centroids, width };
  const size = centroids.length / width;
  const own = new Uint32Array(count);
  const margins = new Float64Array(count);
  const seconds = LAMBDAS.map(() => new Uint32Array(count));
  const between = productsOf(all, centroids.slice());
  const nearness = meanNearness(all, values, count);
  for (let first = 0; first < count; first += BLOCK) {
    const end = Math.min(count, first + BLOCK);
    const products = productsOf(all, values.subarray(first * width, end * width));
    for (let row = first; row < end; row++) {
      const ofRow = products[row - first];
      own[row] = largest(ofRow);
      const chosen = secondsOf(ofRow, own[row], between[own[row]], nearness);
      chosen.forEach((centroid, i) => {
        seconds[i][row] = centroid;
      });
      margins[row] = ofRow[own[row]] - ofRow[chosen[0]];
    }
  }
  const byMargin = Uint32Array.from(own.keys()).sort((a, b) => margins[a] - margins[b]);
  return { centroids, size, own, seconds, byMargin };
}

/** For each of some vectors its products with all centroids. */
function productsOf(all, vectors) {
  const size = all.values.length / all.width;
  const count = vectors.length / all.width;
  const products = Array.from({ length: count }, () => new Int32Array(size));
  const least = new Int32Array(count).fill(-(2 ** 31));
  productsKernel.productsOfMany(all, 0, size, vectors, least, (first, here, vector, found, at) =>
    products[vector].set(found.subarray(at, at + here), first),
  );
  return products;
}

function largest(products) {
  let best = 0;
  for (let i = 1; i < products.length; i++) if (products[i] > products[best]) best = i;
  return best;
}

/** The mean cosine of some thousand rows with their nearest centroids. */
function meanNearness(all, values, count) {
  const { width } = all;
  const every = Math.max(1, Math.floor(count / 4096));
  let sum = 0;
  let some = 0;
  for (let row = 0; row < count; row += every, some++) {
    const [products] = productsOf(all, values.subarray(row * width, (row + 1) * width));
    sum += products[largest(products)] / UNIT ** 2;
  }
  return sum / some;
}

/** The second partition of a row by each lambda: the best of all centroids but its own. */
function secondsOf(products, own, toOwn, nearness) {
  const scale = nearness / UNIT ** 2;
  const product = scale * products[own];
  const square = 1 + nearness ** 2 - 2 * product; // of the residual
  const least = LAMBDAS.map(() => Number.POSITIVE_INFINITY);
  const best = LAMBDAS.map(() => own);
  for (let c = 0; c < products.length; c++) {
    if (c === own) continue;
    const other = scale * products[c];
    const distance = 1 + nearness ** 2 - 2 * other;
    if (distance >= least[LAMBDAS.length - 1]) continue; // the largest of `least`; no loss is less
    const both = 1 - product - other + nearness * scale * toOwn[c];
    const along = both ** 2 / square;
    for (let i = 0; i < LAMBDAS.length; i++) {
      const loss = distance + LAMBDAS[i] * along;
      if (loss >= least[i]) continue;
      least[i] = loss;
      best[i] = c;
    }
  }
  return best;
}

/** What visiting 1, 2, ... partitions scores and finds, a mean over the queries. */
function lineOf(data, near, { rule, share, growth, lambda }) {
  const { own, size } = near;
  const copies = new Uint32Array(own.length).fill(NONE);
  const seconds = near.seconds[LAMBDAS.indexOf(lambda)];
  const copied = near.byMargin.subarray(0, Math.round(share * own.length));
  for (const row of copied) copies[row] = seconds[row];
  const members = membersOf([own, copies], size);
  const entries = members.reduce((sum, { length }) => sum + length, 0);
  mustHold(entries === own.length + copied.length, 'entries and rows with copies');
  return {
    rule,
    share,
    growth,
    lambda,
    size,
    ...curveOf(data, near.centroids, members, [own, copies]),
  };
}

/** The rows of each partition. */
function membersOf(partitionsOfRows, size) {
  const counts = new Uint32Array(size);
  for (const one of partitionsOfRows) for (const p of one) if (p !== NONE) counts[p]++;
  const members = Array.from(counts, (count) => new Uint32Array(count));
  for (const one of partitionsOfRows) {
    one.forEach((p, row) => {
      if (p !== NONE) members[p][--counts[p]] = row;
    });
  }
  return members;
}

function curveOf({ queries, width, truth, count }, centroids, members, partitionsOfRows) {
  const probes = Math.min(MAX_PROBES, members.length);
  const [entries, rows, found] = [0, 1, 2].map(() => new Float64Array(probes + 1));
  const seenBy = new Uint32Array(count);
  const order = new Uint32Array(probes);
  const products = new Int32Array(probes);
  const rankOf = new Uint32Array(members.length);
  truth.forEach((neighbours, q) => {
    const query = queries.slice(q * width, (q + 1) * width);
    productsKernel.orderInto({ values: centroids, width }, query, order, products);
    rankOf.fill(NONE);
    order.forEach((p, rank) => {
      rankOf[p] = rank;
      entries[rank + 1] += members[p].length;
      for (const row of members[p]) {
        if (seenBy[row] === q + 1) continue;
        seenBy[row] = q + 1;
        rows[rank + 1]++;
      }
    });
    for (const row of neighbours) {
      const ranks = partitionsOfRows.map((one) => (one[row] === NONE ? NONE : rankOf[one[row]]));
      const rank = Math.min(...ranks);
      if (rank !== NONE) found[rank + 1]++;
    }
  });
  for (const sums of [entries, rows, found]) {
    for (let i = 1; i <= probes; i++) sums[i] += sums[i - 1];
  }
  const mean = (sums, each = 1) => sums.map((sum) => sum / (truth.length * each));
  return { entries: mean(entries), rows: mean(rows), recall: mean(found, K) };
}

/** Where a curve reaches a recall, linear between two numbers of probes; NaN where it does not. */
function reaching({ entries, rows, recall }, wanted) {
  const after = recall.findIndex((one) => one >= wanted);
  if (after < 1) return { probes: Number.NaN, entries: Number.NaN, rows: Number.NaN };
  const part = (wanted - recall[after - 1]) / (recall[after] - recall[after - 1]);
  const between = (sums) => sums[after - 1] + part * (sums[after] - sums[after - 1]);
  return { probes: after - 1 + part, entries: between(entries), rows: between(rows) };
}

function printLines(name, { count }, lines, costs) {
  const none = lines[0];
  const first = RECALLS.map((recall) => reaching(none, recall).entries);
  const micros = (line, { probes, entries }) =>
    costs.fixed + costs.centroid * line.size + costs.probe * probes + costs.entry * entries;
  const ratioText = (ratio) => (Number.isFinite(ratio) ? times(ratio) : '-');
  const cells = lines.map((line) => {
    const [, usual, high] = RECALLS.map((recall) => reaching(line, recall));
    const reached = RECALLS.map((recall) => reaching(line, recall).entries);
    return [
      ...[line.rule, line.share, line.size, short(usual.probes)],
      ...reached.map(short),
      ...reached.map((entries, i) => ratioText(first[i] / entries)),
      short(usual.rows),
      short(((ENTRY_BYTES + costs.bytes) * usual.entries) / 1000),
      ...[short(micros(line, usual)), short(micros(line, high))],
    ];
  });
  const head = ['second partition', 'share', 'partitions', 'probes at .95'];
  const more = RECALLS.map((recall) => `entries at ${recall}`);
  const fewer = RECALLS.map((recall) => `fewer at ${recall}`);
  const last = ['rows at .95', 'KB at .95', 'us at .95', 'us at .99'];
  const { rows } = DATA_SETS[name];
  const title = `${short(count)} ${rows}: entries scored until partitions hold a share of the 10 nearest`;
  printTable(title, [...head, ...more, ...fewer, ...last], cells);
  const { fixed, centroid, probe, entry, bytes } = costs;
  console.log(
    `\nEstimated by ${short(fixed)} us a query, ${short(1000 * centroid)} ns a centroid, ` +
      `${short(1000 * probe)} ns a probe, ${short(1000 * entry)} ns an entry, as measured in this run; ` +
      `an entry more takes ${bytes + 8} bytes of memory.`,
  );
}

/** Recall and entries by probes, of some of the lines. */
function printCurves(name, lines) {
  const doubled = lines.filter(({ growth }) => growth === 2);
  const some = [lines[0], ...doubled.filter(({ lambda }) => !(lambda > 1))];
  const cells = some.flatMap((line) => {
    const shown = [1, 4, 16, 64, 256, 512].filter((probes) => probes < line.recall.length);
    return shown.map((probes) => [
      ...[line.rule, line.size, probes],
      ...[short(line.entries[probes]), short(line.rows[probes]), line.recall[probes].toFixed(3)],
    ]);
  });
  const head = ['second partition', 'partitions', 'probes', 'entries', 'rows', 'share found'];
  printTable(`${DATA_SETS[name].rows}, all copied or none: share found by probes`, head, cells);
}

/**
 * Microseconds of a search of an optimized index: for each entry, probe and centroid, and the rest.
 * A probe costs what more ranges of as many entries cost, and its part of routing; of each query
 * the fastest of some rounds counts.
 */
function costsOf(name, count) {
  const { SimHashIndex, partsOf, NO_GAP, RANGE } = lib;
  const { values, dimensions } = vectorsOf(name, 'train');
  const index = new SimHashIndex({
    ...{ bits: 256, projection: 'hadamard', dimensions, vectors: 'float32' },
  });
  index.addAll(values);
  index.optimize({ partitions: count, queries: 200, recall: 0.9, k: K });
  const parts = partsOf(index);
  const { partitions } = parts;
  const asked = vectorsOf(name, 'queries');
  const [few, many] = [16, 256];
  const want = 20 * K;
  const sums = { whole: 0, routeFew: 0, routeMany: 0, score: 0, split: 0 };
  let [entries, ranges, pieces] = [0, 0, 0];
  const queries = 200;
  for (let q = 0; q < queries; q++) {
    const query = asked.values.subarray(q * dimensions, (q + 1) * dimensions);
    const { unit } = lib.queryOf(parts, query);
    const point = partitions.space.queryOf([], unit);
    const whole = rangesOf(partitions, point, many);
    const split = splitRanges(whole);
    const setting = { k: K, method: 'partitions', probes: many, oversample: want / K };
    const add = (what, work) => {
      sums[what] += fastest(work);
    };
    add('whole', () => () => index.search(query, setting));
    add('routeFew', () => () => partitions.nearest({ point, unit: null }, few));
    add('routeMany', () => () => partitions.nearest({ point, unit: null }, many));
    for (const [what, some] of Object.entries({ score: whole, split })) {
      add(what, () => {
        const { memory } = partitions.residualCodes;
        const tables = partitions.residualCodes.tablesOf(unit);
        const search = lib.residualKernel.search(memory, tables, want, NO_GAP);
        return () => search.ranges(some);
      });
    }
    for (let i = 0; i < many; i++) entries += whole[RANGE * i + 2];
    ranges += many;
    pieces += split.length / RANGE;
  }
  const route = (sums.routeMany - sums.routeFew) / (many - few) / queries;
  const range = Math.max(0, (sums.split - sums.score) / (pieces - ranges));
  const entry = (sums.score - range * ranges) / entries;
  const centroid = (sums.routeFew / queries - few * route) / count;
  const fixed = (sums.whole - sums.routeMany - sums.score) / queries;
  const bytes = partitions.residualCodes.memory.bytesPerRow;
  return { entry, probe: range + route, centroid, fixed, bytes };
}

/** The residual codes in the partitions nearest to a point, as ranges of the kernel. */
function rangesOf(partitions, point, probes) {
  const { starts, nearness, count } = partitions;
  const { RANGE, BLOCK_ROWS, shortened } = lib;
  // The residual codes of each partition begin at a block.
  const places = new Uint32Array(count);
  for (let p = 1; p < count; p++) {
    places[p] = places[p - 1] + BLOCK_ROWS * Math.ceil((starts[p] - starts[p - 1]) / BLOCK_ROWS);
  }
  const { order, products } = partitions.nearest({ point, unit: null }, probes);
  const ranges = new Uint32Array(RANGE * probes);
  const floats = new Float32Array(ranges.buffer);
  order.forEach((p, i) => {
    ranges.set([places[p], starts[p], starts[p + 1] - starts[p]], RANGE * i);
    floats[RANGE * i + 3] = shortened(products[i], nearness);
  });
  return ranges;
}

/** The same entries in ranges of four blocks at most. */
function splitRanges(ranges) {
  const { RANGE, BLOCK_ROWS } = lib;
  const pieces = [];
  const most = 4 * BLOCK_ROWS;
  for (let i = 0; i < ranges.length; i += RANGE) {
    const [place, first, count, more] = ranges.subarray(i, i + RANGE);
    for (let from = 0; from < count; from += most) {
      pieces.push(place + from, first + from, Math.min(most, count - from), more);
    }
  }
  return Uint32Array.from(pieces);
}

/** Microseconds of the fastest of some rounds, each made ready first. */
function fastest(ready) {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 7; round++) {
    const work = ready();
    const start = performance.now();
    work();
    least = Math.min(least, 1000 * (performance.now() - start));
  }
  return least;
}
