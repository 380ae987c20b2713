/**
 * Centroids for a build: trained on a sample of distinct codes, drawn as `optimize` draws it, so
 * that the same rows and seed give the centroids of an index in memory. Rows that took no part in
 * training measure what searches find: those held out of the sample, or where centroids of another
 * folder are taken, those whose codes did not train them there.
 */

import { wrongValue } from '../base/check';
import { drawn } from '../base/draw';
import type { LongCall } from '../base/long-work';
import { alea } from '../base/random';
import { runStepsAsync, type Steps } from '../base/steps';
import { HeldOut } from '../index/evaluation';
import { MIN_CODES, sampleSize, usualPartitions } from '../index/make-partitions';
import { heldOutFor, type Wanted } from '../index/optimize';
import { checkReport } from '../index/saved-header';
import { allocateIntegers } from '../k-means/points';
import { secondsStateOf } from '../k-means/second-centroid';
import { type CentroidTree, NEAREST_IN_TREE, trainTree } from '../k-means/two-level';
import { UNIT } from '../kernels/products';
import { BlockReader } from '../stored/block-reader';
import { openContent, type StoredContent } from '../stored/content';
import { LookUps } from '../stored/look-ups';
import { hashOfCode } from '../table/sealed/look-up-tables';
import { inParallel } from '../threads/parallel';
import type { SharedCodes } from './compared-rows';
import { FolderFiles } from './folder-files';
import type { NewRows } from './new-rows';
import { type Centroids, PART_POINTS, PieceVectors, secondsBy } from './new-segments';
import { type PassingRows, pieces } from './passing-rows';

/** Rows whose mean nearness to their centroids is taken for that of all. */
const NEARNESS_ROWS = 2 ** 14;
/** Fewest vectors that train a centroid. */
const MIN_SAMPLE = 16;
/** Rows that are looked up where others trained the centroids, at most. */
const MAX_LOOKED_UP = 2 ** 20;

export interface TrainingRequest {
  readonly shared: SharedCodes;
  readonly wanted: Wanted;
  readonly memory: number;
  readonly call: LongCall;
}

/** Centroids that were trained. */
interface Trained {
  readonly tree: CentroidTree;
  /** Rows of a sample in each partition. */
  readonly sizes: Uint32Array;
}

export class Training {
  private constructor(
    readonly centroids: Centroids & { readonly width: number; readonly count: number },
    readonly heldOut: HeldOut,
    /** The rows that are held out, in random order. */
    readonly queries: Uint32Array,
    readonly vectors: PieceVectors,
    /** True where these rows took part in training. */
    readonly isTrained: boolean,
    /** Null where the centroids were there. */
    readonly trained: Trained | null = null,
  ) {}

  /**
   * By centroids that are there. Of the folder `like`, whose rows trained them, no row that did is
   * a query, by its code; where it is null, any row may be.
   */
  static async by(
    centroids: Centroids,
    rows: PassingRows,
    { shared, wanted, call, like }: TrainingRequest & { like: string | null },
  ): Promise<Training> {
    const vectors = new PieceVectors(rows);
    const { width } = vectors.space;
    const all = { ...centroids, width, count: centroids.values.length / width };
    const distinctCodes = { count: shared.distinct, liveCount: rows.count };
    const usual = heldOutFor({ distinctCodes }, wanted);
    if (like !== null) {
      const content = await openContent(new FolderFiles(like), {});
      const found = await untrained(rows, { content, usual, call }).finally(() => {
        return content.files.close();
      });
      if (found.queries.length > 1) {
        return new Training(all, found.heldOut, found.queries, vectors, false);
      }
    }
    const queries = usual.rowsOf({ distinctCodes: rows });
    return new Training(all, usual, queries, vectors, like !== null);
  }

  /** Null where a scan of so few codes takes no longer. */
  static async of(rows: NewRows, request: TrainingRequest): Promise<Training | null> {
    const { shared, wanted, memory, call } = request;
    const counts = { count: shared.distinct, liveCount: rows.count };
    if (wanted.partitions === undefined && shared.distinct < MIN_CODES) return null;
    const heldOut = heldOutFor({ distinctCodes: counts }, wanted);
    const { firsts } = shared;
    const distinct = rows
      .rowsWithCodes()
      .filter((row) => firsts === null || firsts[row - rows.firstRow] === row);
    const others = distinct.filter((row) => !heldOut.has(row));
    const trained = others.length > 0 ? others : distinct;
    const vectors = new PieceVectors(rows);
    const { width } = vectors.space;
    const room = Math.floor(memory / 2 / (2 * width));
    const fits = (count: number) => room >= Math.min(MIN_SAMPLE * count, trained.length);
    let count = Math.min(wanted.partitions ?? usualPartitions(distinct.length), trained.length);
    while (wanted.partitions === undefined && count > 1 && !fits(count)) count = count >> 1;
    if (!fits(count)) {
      const needs = `at least ${4 * MIN_SAMPLE * width * count} to train ${count} centroids`;
      throw wrongValue('memory', needs, memory);
    }
    const most = sampleSize(count, room);
    const order = drawn(trained, most, alea(wanted.seed));
    const every = Math.ceil(distinct.length / NEARNESS_ROWS);
    const probed = distinct.filter((_, i) => i % every === 0);
    const sample = allocateIntegers(order.length, width); // threads read them in place
    const near = await gather(rows, vectors, { order, sample, probed, call });
    const tree = await runStepsAsync(trainTree(sample, width, { count, seed: wanted.seed }), call);
    const nearest = nearestOf(near, tree);
    const nearness = meanNearness(near, tree, nearest);
    const sizes = new Uint32Array(count);
    for (const p of nearest) sizes[p]++;
    const { centroids: values } = tree;
    const toNearest = (points: Int16Array, out: Uint32Array) => nearestIn(tree, points, out);
    const queries = heldOut.rowsOf({ distinctCodes: rows });
    const all = { values, nearness, nearest: toNearest, seconds: null, width, count };
    return new Training(all, heldOut, queries, vectors, false, { tree, sizes });
  }

  /** The same with rows in second partitions too. */
  async withCopies({ tree }: Trained, { signal }: LongCall): Promise<Training> {
    const state = await runStepsAsync(secondsStateOf(tree), { ...(signal && { signal }) });
    const { heldOut, queries, vectors, isTrained, trained } = this;
    const centroids = { ...this.centroids, seconds: secondsBy(state) };
    return new Training(centroids, heldOut, queries, vectors, isTrained, trained);
  }
}

/**
 * Rows whose codes did not train the centroids of a folder: those that the folder does not have,
 * and those that were held out there. Passes all rows once.
 */
async function untrained(
  rows: PassingRows,
  { content, usual, call }: { content: StoredContent; usual: HeldOut; call: LongCall },
): Promise<{ heldOut: HeldOut; queries: Uint32Array }> {
  const { manifest, header } = content;
  const report = header.report && checkReport(header.report);
  const there = new HeldOut(report?.seed ?? 0, report?.heldOutShare ?? 0);
  // As many of them as usual, if all rows of the folder are among these.
  const left = Math.max(1 - manifest.rows / rows.count, there.share);
  const heldOut = usual.withShare(Math.min(usual.share / left, MAX_LOOKED_UP / rows.count));
  const order = heldOut.rowsOf({ distinctCodes: rows });
  const placeOf = new Map(Array.from(order, (row, place) => [row, place]));
  const hashes = new BigUint64Array(order.length);
  for await (const { rows: own, codes, count } of pieces(rows, call)) {
    const width = codes.length / count;
    own.forEach((row, i) => {
      const place = placeOf.get(row);
      if (place !== undefined)
        hashes[place] = hashOfCode(codes.subarray(i * width, (i + 1) * width));
    });
  }
  const trained = new Set<number>();
  const lookUps = new LookUps(content, new BlockReader(content));
  for await (const { asked, row } of lookUps.find('codes', hashes, call.signal)) {
    if (!there.has(row)) trained.add(asked);
  }
  return { heldOut, queries: order.filter((_, place) => !trained.has(place)) };
}

/** Vectors at length 1, and their points. */
interface Near {
  readonly units: Float32Array;
  readonly points: Int16Array;
}

/** Puts the points of drawn rows into the sample, in their order; returns those of others. */
async function gather(
  rows: NewRows,
  vectors: PieceVectors,
  {
    order,
    sample,
    probed,
    call,
  }: { order: Uint32Array; sample: Int16Array; probed: Uint32Array; call: LongCall },
): Promise<Near> {
  const { width } = vectors.space;
  const placeOf = new Map(Array.from(order, (row, place) => [row, place]));
  const probeOf = new Map(Array.from(probed, (row, place) => [row, place]));
  const units = new Float32Array(probed.length * width);
  const points = new Int16Array(probed.length * width);
  for await (const piece of pieces(rows, call)) {
    vectors.piece = piece;
    piece.rows.forEach((row, i) => {
      const place = placeOf.get(row);
      if (place !== undefined) vectors.space.vectorInto(i, sample, place * width);
      const probe = probeOf.get(row);
      if (probe === undefined) return;
      vectors.space.vectorInto(i, points, probe * width);
      units.set(vectors.unitOf(i), probe * width);
    });
  }
  return { units, points };
}

function nearestOf({ points }: Near, tree: CentroidTree): Uint32Array {
  const nearest = new Uint32Array(points.length / tree.state.width);
  tree.nearestInto(points, nearest);
  return nearest;
}

/** The mean cosine of vectors with their centroids. */
function meanNearness({ units }: Near, tree: CentroidTree, nearest: Uint32Array): number {
  const { width } = tree.state;
  const count = nearest.length;
  let sum = 0;
  for (let i = 0; i < count; i++) {
    const at = nearest[i] * width;
    let product = 0;
    for (let j = 0; j < width; j++) product += units[i * width + j] * tree.centroids[at + j];
    sum += product / UNIT;
  }
  return Math.max(0, Math.min(1, sum / Math.max(1, count)));
}

function* nearestIn(tree: CentroidTree, points: Int16Array, out: Uint32Array): Steps<void> {
  const { width } = tree.state;
  yield* inParallel({
    task: NEAREST_IN_TREE,
    state: tree.state,
    count: Math.ceil(out.length / PART_POINTS),
    part(i) {
      const first = i * PART_POINTS;
      return { points: points.slice(first * width, (first + PART_POINTS) * width), first };
    },
    take(found, i) {
      out.set(found, i * PART_POINTS);
      return undefined;
    },
  });
}
