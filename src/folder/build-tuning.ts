/**
 * The setting of a build, and what it finds: held-out rows are searched for in the files as they
 * will be published, by the search that users run. Their true neighbours come from two passes over
 * all rows: integer products find what can be near, cosines of these decide.
 */

import { lengthOf } from '../base/length';
import { mean } from '../base/mean-limits';
import type { LongCall } from '../base/steps';
import { Highest, rowOf } from '../base/top-k';
import type { Setting } from '../index/candidates';
import type { RecallReport } from '../index/index-options';
import { type Figures, reportOf, type Wanted } from '../index/optimize';
import { MARGIN } from '../index/re-rank';
import { reaching, recallOf, sharesOf, USUAL_LEVEL } from '../index/recall';
import { LargestProducts } from '../index/truth-task';
import { better, type Candidate, costOf, isEnough, leastProbes } from '../index/tuning';
import { dotsKernel, productsKernel } from '../kernels/kernels';
import { manifestName, manifestText } from '../stored/manifest';
import { openStored } from '../stored/open-stored';
import type { StoredIndex } from '../stored/stored-index';
import { NO_PARTITION, type SegmentRows } from '../table/sealed/segment-tables';
import type { Training } from './build-training';
import type { Content } from './folder-change';
import { FolderFiles } from './folder-files';
import type { NewRows } from './new-rows';

/** Candidates of a query whose cosines are computed, for each of k. */
const SPARE = 8;
/** Bytes that searches hold at least while they are measured. */
const MIN_ROOM = 2 ** 20;
/** Points that are compared together. */
const BLOCK = 512;
/** Candidates for each of k, of which the fewest that are enough are chosen. */
const OVERSAMPLES = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64];
/** Probes that are tried: the fewest that can be enough, and up to twice as many. */
const PROBE_RATIO = 2 ** (1 / 3);
const MORE_PROBES = 4;

interface BuildToMeasure {
  readonly folder: string;
  readonly content: Content;
  readonly rows: NewRows;
  readonly training: Training;
  readonly wanted: Wanted;
  readonly memory: number;
  readonly call: LongCall;
  partitionOf(row: number): number;
}

/** A query: a held-out row with its vector, also at length 1, and the rows nearest to it. */
interface Asked {
  readonly row: number;
  readonly vector: Float32Array;
  readonly unit: Float64Array;
  neighbors: Uint32Array;
}

/**
 * Chooses the setting of searches by half of the held-out rows, and measures by the other half what
 * it finds in the files of a generation that is not published yet. Changes nothing.
 */
export async function measuredBuild(build: BuildToMeasure): Promise<RecallReport> {
  const { folder, content, memory, wanted, training, rows } = build;
  const asked = await heldOutRows(build);
  await findNeighbors(build, asked);
  const half = Math.ceil(asked.length / 2);
  const [choosing, judging] = [asked.slice(0, half), asked.slice(half)];
  const room = Math.max(memory, MIN_ROOM);
  const index = await openStored(new UnpublishedFiles(folder, content), { memory: room });
  try {
    const choice = await chosen(build, index, choosing);
    const start = performance.now();
    const own = judging.length > 0 ? judging : choosing;
    const shares = await sharesFound(index, own, wanted.k, choice);
    const ms = (performance.now() - start) / own.length;
    const level = wanted.coverage === null ? USUAL_LEVEL : wanted.recall;
    const recall = { ...recallOf(shares, level), source: 'rows', truth: 'cosine' } as const;
    const share = wanted.coverage === null ? recall.recall : mean(reaching(shares, wanted.recall));
    const reached = share >= (wanted.coverage ?? wanted.recall);
    const figures: Omit<Figures, 'found'> = { recall, reached, ms, isTrained: false };
    const told = {
      ...{ vectors: rows.parts.vectors, partitions: training.centroids },
      distinctCodes: { liveCount: rows.count },
    };
    const { heldOut } = training;
    return reportOf(told, wanted, {
      ...{ choice: { ...choice, margin: MARGIN }, figures, others: null, heldOut, doubt: [] },
    });
  } finally {
    await index.close();
  }
}

/** Files whose manifest is not written yet. */
class UnpublishedFiles extends FolderFiles {
  constructor(
    folder: string,
    readonly content: Content,
  ) {
    super(folder);
  }

  override async manifest() {
    const text = manifestText({ generation: 1, previous: null, ...this.content });
    return { name: manifestName(1), generation: 1, bytes: Buffer.from(text) };
  }
}

/** All rows that have a code, piece by piece. */
async function* pieces({ rows, call }: BuildToMeasure): AsyncGenerator<SegmentRows> {
  for (let number = 0; number < rows.pieceCount; number++) {
    call.signal?.throwIfAborted();
    for (const piece of await rows.piece(number)) {
      if (piece.partition !== NO_PARTITION) yield piece;
    }
  }
}

/** Rows that took no part in training, in the order in which they are asked for. */
async function heldOutRows(build: BuildToMeasure): Promise<Asked[]> {
  const { training, wanted } = build;
  const found: number[] = [];
  for await (const { rows } of pieces(build)) {
    for (const row of rows) if (training.heldOut.has(row)) found.push(row);
  }
  const distinctCodes = { rowsWithCodes: () => Uint32Array.from(found) };
  const order = training.heldOut.rowsOf({ distinctCodes }).subarray(0, wanted.queries);
  const placeOf = new Map(Array.from(order, (row, place) => [row, place]));
  const asked = new Array<Asked>(order.length);
  for await (const piece of pieces(build)) {
    training.vectors.piece = piece;
    piece.rows.forEach((row, i) => {
      const place = placeOf.get(row);
      if (place === undefined) return;
      const scale = piece.scales?.[i] ?? 1;
      const vector = Float32Array.from(training.vectors.valuesAt(i), (value) => value * scale);
      const unit = training.vectors.unitOf(i);
      asked[place] = { row, vector, unit, neighbors: new Uint32Array() };
    });
  }
  return asked;
}

/** Finds the true neighbours of all queries: what is near by integers is compared by cosine. */
async function findNeighbors(build: BuildToMeasure, asked: readonly Asked[]): Promise<void> {
  const { rows, training, wanted } = build;
  const { vectors } = training;
  const { width } = vectors.space;
  const queries = new Int16Array(asked.length * width);
  asked.forEach(({ unit }, i) => {
    queries.set(vectors.space.queryOf([], unit), i * width);
  });
  const want = SPARE * (wanted.k + 1);
  const largest = new LargestProducts(queries, { width, want, kernel: rows.parts.kernel });
  let done = 0;
  for await (const piece of pieces(build)) {
    vectors.piece = piece;
    const points = vectors.points(piece.count);
    for (let first = 0; first < piece.count; first += BLOCK) {
      const count = Math.min(BLOCK, piece.count - first);
      const block = points.subarray(first * width, (first + count) * width);
      largest.take(block, count, (i) => piece.rows[first + i]);
    }
    done += piece.count;
    build.call.onProgress?.(done, rows.codedCount);
    await new Promise((resolve) => setImmediate(resolve));
  }
  const asking = new Map<number, number[]>();
  largest.keys.forEach((keys, query) => {
    for (const key of keys) {
      const others = asking.get(rowOf(key));
      if (others === undefined) asking.set(rowOf(key), [query]);
      else others.push(query);
    }
  });
  const near = asked.map(() => new Highest(wanted.k));
  const kernel = dotsKernel(rows.parts.kernel);
  const dot = new Float64Array(1);
  for await (const piece of pieces(build)) {
    vectors.piece = piece;
    piece.rows.forEach((row, i) => {
      const values = vectors.valuesAt(i);
      for (const query of asking.get(row) ?? []) {
        if (asked[query].row === row) continue;
        kernel.dotsInto(values, 0, 1, asked[query].unit, dot);
        near[query].take(dot[0] / (lengthOf(values) || 1), row);
      }
    });
  }
  asked.forEach((one, query) => {
    one.neighbors = near[query].result().rows;
  });
}

/** The cheapest setting that finds enough, or the one that finds most. */
async function chosen(
  { training, wanted, rows, content, partitionOf }: BuildToMeasure,
  index: StoredIndex,
  asked: readonly Asked[],
): Promise<Setting> {
  const { centroids, vectors } = training;
  const { values, width, count } = centroids;
  const order = new Uint32Array(count);
  const products = new Int32Array(count);
  const places = asked.map(({ unit, neighbors }) => {
    const point = vectors.space.queryOf([], unit);
    productsKernel(rows.parts.kernel).orderInto({ values, width }, point, order, products);
    const placeOf = new Uint32Array(count);
    order.forEach((partition, place) => {
      placeOf[partition] = place;
    });
    return Array.from(neighbors, (row) => placeOf[partitionOf(row)]);
  });
  const least = leastProbes(places, wanted, count);
  const sizes = {
    ...{ codes: content.index.distinct ?? rows.count, bits: rows.parts.bits },
    ...{ dimensions: rows.parts.hasher.dimensions ?? 0, isRanked: true },
    partitions: { count, width, isByResidual: vectors.residualCodes !== null },
  };
  let best: Candidate | null = null;
  for (let step = 0; step < MORE_PROBES; step++) {
    const probes = Math.min(count, Math.ceil(least * PROBE_RATIO ** step));
    const seen = new Map<number, Float64Array>();
    const shares = async (at: number) => {
      const want = OVERSAMPLES[at] * wanted.k;
      const found = seen.get(at) ?? (await sharesFound(index, asked, wanted.k, { probes, want }));
      seen.set(at, found);
      return found;
    };
    let [low, high] = [0, OVERSAMPLES.length - 1];
    const enough = isEnough(await shares(high), wanted);
    while (enough && low < high) {
      const middle = (low + high) >> 1;
      if (isEnough(await shares(middle), wanted)) high = middle;
      else low = middle + 1;
    }
    const want = OVERSAMPLES[high] * wanted.k;
    const found = (await shares(high)).reduce((sum, share) => sum + share, 0);
    const cost = costOf(sizes, { probes, want });
    best = better(best, { probes, want, isEnough: enough, found, cost });
    if (probes === count) break;
  }
  return best as Candidate;
}

/** The shares of their neighbours that searches find. */
async function sharesFound(
  index: StoredIndex,
  asked: readonly Asked[],
  k: number,
  { probes, want }: Setting,
): Promise<Float64Array> {
  const oversample = Math.ceil(want / k);
  const visited = probes as number;
  const options = { k: k + 1, method: 'partitions', probes: visited, oversample } as const;
  const queries = asked.map(({ vector }) => vector);
  const results = await index.searchAll(queries, options);
  const found = results.map(({ rows }, i) => {
    const { row: own, neighbors } = asked[i];
    const truth = new Set(neighbors);
    return rows
      .filter((row) => row !== own)
      .subarray(0, k)
      .filter((row) => truth.has(row)).length;
  });
  const sizes = asked.map(({ neighbors }) => neighbors.length);
  return sharesOf(found, sizes);
}
