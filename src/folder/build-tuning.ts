/**
 * The setting of a build or a merge, and what it finds: held-out rows are searched for in the files
 * as they will be published, by the search that users run, as `optimize` does it in memory. Their
 * true neighbours come from two passes over all rows: integer products find what can be near,
 * cosines of these decide.
 */

import { lengthOf } from '../base/length';
import type { LongCall } from '../base/long-work';
import { alea } from '../base/random';
import { Elsewhere, runStepsAsync, type Steps } from '../base/steps';
import { Highest, rowOf } from '../base/top-k';
import { COPY_NEIGHBORS, COPY_QUERIES, copiesPay } from '../index/copies-pay';
import type { RecallReport } from '../index/index-options';
import type { Query } from '../index/index-parts';
import { inTurn, reportOf, settledBy, type Wanted } from '../index/optimize';
import { queryOf } from '../index/query';
import { type Evaluated, type Measured, type Results, SEARCHES } from '../index/recall';
import { NEAREST_POINTS, NearestOfParts } from '../index/truth-task';
import { lostDigits, withDigits, Zeros } from '../index/vectors/rounding';
import { dotsKernel } from '../kernels/dots';
import { manifestName, manifestText } from '../stored/manifest';
import { openStored, type StoredIndex } from '../stored/open-stored';
import { inParallel } from '../threads/parallel';
import type { Training } from './build-training';
import type { SharedCodes } from './compared-rows';
import type { Content } from './folder-change';
import { FolderFiles } from './folder-files';
import { PART_POINTS } from './new-segments';
import { type PassingRows, pieces } from './passing-rows';

/** Candidates of a query whose cosines are computed, for each of k. */
const SPARE = 8;
/** Queries that are searched for together: each holds some 100 KB while partitions pass. */
const TOGETHER = 250;
/** Bytes that searches hold at least while they are measured. */
const MIN_ROOM = 2 ** 20;

/** Rows, and the centroids to whose partitions they go. */
interface Trained {
  readonly rows: PassingRows;
  readonly training: Training;
  readonly wanted: Wanted;
  readonly call: LongCall;
}

/** The same in files that are not published yet. */
export interface BuildToMeasure extends Trained {
  readonly folder: string;
  readonly content: Content;
  readonly shared: SharedCodes;
  readonly memory: number;
  /** The partitions of rows. */
  readonly assigned: Pick<Measured, 'partitionOf' | 'secondOf'>;
}

/**
 * Chooses the setting of searches by half of the held-out rows, and measures by the other half what
 * it finds in the files of a generation that is not published yet. Changes nothing.
 */
export async function measuredBuild(build: BuildToMeasure): Promise<RecallReport> {
  const { wanted, training, rows, call } = build;
  const { queries: heldOut, isTrained, centroids } = training;
  const equal = rowsOfEqualCodes(build);
  const index = await openUnpublished(build);
  try {
    const measured: Measured = {
      get parts() {
        return index.view(true);
      },
      mayScan: false,
      partitionOf: (row) => build.assigned.partitionOf(row),
      secondOf: (row) => build.assigned.secondOf(row),
      isAlone: (row) => !equal.has(row),
      *together(name, asked, how) {
        const start = performance.now();
        const results: Results[typeof name][] = [];
        for (let first = 0; first < asked.length; first += TOGETHER) {
          const some = asked.slice(first, first + TOGETHER);
          const searches = some.map((one) => SEARCHES[name](measured, one, how));
          results.push(...(yield* late((own) => index.together(searches, own))));
        }
        return { results, ms: (performance.now() - start) / Math.max(1, asked.length) };
      },
    };
    const kind = { isGiven: false, isTrained, ahead: wanted.queries };
    const source = inTurn(heldOut.length, kind, function* (first, end) {
      const some = heldOut.subarray(first, end);
      return yield* late((own) => evaluated({ ...build, call: own }, some));
    });
    const settled = await runStepsAsync(settledBy(measured, source, wanted), call);
    const tuned = {
      vectors: rows.parts.vectors,
      partitions: { count: centroids.count, entriesPerCode: centroids.seconds === null ? 1 : 2 },
      distinctCodes: { liveCount: rows.count },
    };
    return reportOf(tuned, wanted, { ...settled, others: null, heldOut: training.heldOut });
  } finally {
    await index.close();
  }
}

/** The index as it will be published. */
export function openUnpublished({ folder, content, memory }: BuildToMeasure): Promise<StoredIndex> {
  const room = Math.max(memory, MIN_ROOM);
  return openStored(new UnpublishedFiles(folder, content), { memory: room });
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

/** What is made where it is asked for. */
class Late<T> extends Elsewhere {
  made: T | undefined;

  constructor(readonly make: (call: LongCall) => Promise<T>) {
    super();
  }

  async run(call: LongCall): Promise<void> {
    this.made = await this.make(call);
  }
}

function* late<T>(make: (call: LongCall) => Promise<T>): Steps<T> {
  const one = new Late(make);
  yield one;
  return one.made as T;
}

/**
 * Whether searches of so many distinct codes gain by rows in second partitions: by held-out rows
 * and their true neighbours, for which all rows pass four times.
 */
export async function copiesPayIn(build: Trained, codes: number): Promise<boolean> {
  const { training, wanted } = build;
  const { trained, vectors, centroids } = training;
  const { width } = vectors.space;
  if (trained === null || vectors.residualCodes === null || centroids.count < 2) return false;
  const some = training.queries.subarray(0, COPY_QUERIES);
  const asked = (await evaluated(build, some)).map((one) => {
    return { ...one, neighbors: one.neighbors.subarray(0, COPY_NEIGHBORS) };
  });
  const queries = new Int16Array(asked.length * width);
  for (const [i, { query }] of asked.entries()) {
    queries.set(vectors.space.queryOf([], query.unit), i * width);
  }
  const neighbors = await pointsOf(
    build,
    asked.flatMap((one) => [...one.neighbors]),
  );
  const own = new Uint32Array(neighbors.length / width);
  await runStepsAsync(centroids.nearest(neighbors, own), { signal: build.call.signal });
  const counts = asked.map((one) => one.neighbors.length);
  const spread = { queries, neighbors, counts, own, sizes: trained.sizes, codes };
  return copiesPay(trained.tree, spread, wanted.recall);
}

/** The points of rows, in the order given. */
async function pointsOf(build: Trained, order: readonly number[]): Promise<Int16Array> {
  const { space } = build.training.vectors;
  const points = new Int16Array(order.length * space.width);
  const placesOf = new Map<number, number[]>();
  order.forEach((row, place) => {
    placesOf.set(row, [...(placesOf.get(row) ?? []), place]);
  });
  for await (const piece of pieces(build.rows, build.call)) {
    build.training.vectors.piece = piece;
    piece.rows.forEach((row, i) => {
      for (const place of placesOf.get(row) ?? []) space.vectorInto(i, points, place * space.width);
    });
  }
  return points;
}

/** Rows as queries, with their true neighbours. */
async function evaluated(build: Trained, order: Uint32Array): Promise<Evaluated[]> {
  const { vectors } = build.training;
  const placeOf = new Map(Array.from(order, (row, place) => [row, place]));
  const queries = new Array<Query>(order.length);
  for await (const piece of pieces(build.rows, build.call)) {
    vectors.piece = piece;
    piece.rows.forEach((row, i) => {
      const place = placeOf.get(row);
      if (place === undefined) return;
      const values = vectors.valuesAt(i);
      const given = values instanceof Int8Array ? withDigits(values, zerosOf(build), row) : values;
      queries[place] = queryOf(build.rows.parts, given) as Query;
    });
  }
  const neighbors = await trueNeighbors(build, order, queries);
  return queries.map((query, i) => ({ row: order[i], query, neighbors: neighbors[i] }));
}

function zerosOf({ rows: { parts } }: Trained): Zeros {
  return parts.dense?.zeros ?? new Zeros();
}

/** Rows whose code others have too. */
function rowsOfEqualCodes({ shared: { firsts }, rows }: BuildToMeasure): Set<number> {
  const equal = new Set<number>();
  firsts?.forEach((first, i) => {
    const row = rows.firstRow + i;
    if (first !== row) equal.add(row).add(first);
  });
  return equal;
}

/** The true neighbours of rows: what is near by integers is compared by cosine. */
async function trueNeighbors(
  build: Trained,
  order: Uint32Array,
  queries: readonly Query[],
): Promise<Uint32Array[]> {
  const { rows, training, wanted, call } = build;
  const { vectors } = training;
  const { width } = vectors.space;
  const units = queries.map(({ unit }) => unit as Float64Array);
  const points = new Int16Array(queries.length * width);
  units.forEach((unit, i) => {
    points.set(vectors.space.queryOf([], unit), i * width);
  });
  const want = SPARE * (wanted.k + 1);
  const nearest = new NearestOfParts(queries.length, want);
  const state = { queries: points, width, want };
  let done = 0;
  for await (const piece of pieces(build.rows, build.call)) {
    vectors.piece = piece;
    const own = { points: vectors.points(piece.count), rows: piece.rows };
    const first = done;
    const onProgress = (some: number) => call.onProgress?.(first + some, rows.codedCount);
    await runStepsAsync(compared(state, own, nearest), { ...call, onProgress });
    done += piece.count;
  }
  const asking = new Map<number, number[]>();
  nearest.best.forEach((best, query) => {
    for (const key of best.result()) {
      const others = asking.get(rowOf(key));
      if (others === undefined) asking.set(rowOf(key), [query]);
      else others.push(query);
    }
  });
  const near = queries.map(() => new Highest(wanted.k));
  const random = alea('lost digits');
  const zeros = zerosOf(build);
  const dot = new Float64Array(1);
  for await (const piece of pieces(build.rows, build.call)) {
    vectors.piece = piece;
    piece.rows.forEach((row, i) => {
      const values = vectors.valuesAt(i);
      for (const query of asking.get(row) ?? []) {
        if (order[query] === row) continue;
        dotsKernel.dotsInto(values, 0, 1, units[query], dot);
        const norm = lengthOf(values);
        const cosine = dot[0] / (norm || 1);
        const asked = { unit: units[query], cosine };
        const isRounded = values instanceof Int8Array;
        const lost = isRounded ? lostDigits({ values, norm }, zeros, asked, random) : 0;
        near[query].take(cosine + lost, row);
      }
    });
  }
  return near.map((best) => best.result().rows);
}

function* compared(
  state: { queries: Int16Array; width: number; want: number },
  { points, rows }: { points: Int16Array; rows: Uint32Array },
  nearest: NearestOfParts,
): Steps<void> {
  const { width } = state;
  yield* inParallel({
    task: NEAREST_POINTS,
    state,
    count: Math.ceil(rows.length / PART_POINTS),
    part(i) {
      const first = i * PART_POINTS;
      const end = Math.min(rows.length, first + PART_POINTS);
      return {
        points: points.slice(first * width, end * width),
        rows: rows.slice(first, end),
        least: nearest.least,
      };
    },
    take(found, i) {
      nearest.take(found);
      return [Math.min(rows.length, (i + 1) * PART_POINTS), rows.length];
    },
  });
}
