/**
 * Makes an index fast at a wanted recall, wherever its rows are, and reports what it measured: a
 * space is trained on a sample, rows are placed in it, and the cheapest setting that finds enough
 * is chosen and measured (`settle`). Works on a copy, so an index whose optimizing is cancelled is
 * as it was.
 */

import { checkInteger, checkSeed, wrongValue } from '../base/check';
import type { LongWork } from '../base/long-work';
import { shareAt } from '../base/random';
import { NO_ROW } from '../kernels/hits';
import { MAX_RESIDUAL_BYTES } from '../kernels/residuals';
import type { RowsToAdd } from './add-rows';
import { COPY_NEIGHBORS, COPY_QUERIES, chosen, copiesPay, type Target } from './choice';
import type { IndexCore } from './index-core';
import { OPTIMIZE_DEFAULTS, type OptimizeOptions, type RecallReport } from './index-options';
import type { MemoryIndex } from './memory-index';
import { needComparable, queriesOf } from './query';
import {
  Evaluable,
  type Evaluated,
  type EvaluationSearch,
  type Measurable,
  measured,
  type Partitions,
  type QueriesKind,
  type RowPlace,
  reportOf,
  type Settled,
} from './recall';
import type { Best } from './search';
import { run } from './searched';
import { bytesPerEntryOf, type RowsToPlace, Space } from './space';
import {
  HELD_OUT_CLASSES,
  isHeldOut,
  MIN_PARTITIONED_ROWS,
  sampleSize,
  TrainingSample,
  trainSpace,
  untrainedSpace,
  usualPartitions,
} from './train';
import type { EvaluationQuery, TakeChunks } from './truth';

const MAX_QUERIES = 1_000_000;
/** A setting is chosen at most this many times, each time with new queries. */
const MAX_QUERY_TIMES = 3;
/** Held-out rows are no fair sample where their number differs by so much of what is expected, */
const UNFAIR = 1 / 4;
/** and by so many, since chance alone makes some difference. */
const CHANCE = 16;

/** Checked options of `optimize`. */
export interface Wanted {
  readonly recall: number;
  readonly k: number;
  /** Number of rows to use as queries; half of them choose. */
  readonly queries: number;
  /** Queries of the caller; null where rows are the queries. */
  readonly given: RowsToAdd | null;
  /** Number of partitions; undefined for the usual number. */
  readonly partitions: number | undefined;
  /** Whether rows are in second partitions too; undefined where it follows from the rows. */
  readonly copies: boolean | undefined;
  readonly seed: number;
}

/** The options of `optimize` with their defaults, checked against each other and the index. */
export function checkWanted(core: IndexCore, options: OptimizeOptions): Wanted {
  const given = { ...OPTIMIZE_DEFAULTS, ...options };
  const { recall, k, queries, partitions, copies } = given;
  if (core.hasher.projection === 'minwise') {
    throw new Error(
      `projection 'minwise' needs no optimize(): searches go by distance, and are exact`,
    );
  }
  const isCount = typeof queries === 'number';
  if (recall === 0) throw wrongValue('recall', 'a number above 0', recall);
  const count = isCount ? queries : OPTIMIZE_DEFAULTS.queries;
  return {
    recall,
    k,
    queries: checkInteger('queries', count, 2, MAX_QUERIES),
    given: isCount ? null : queries,
    partitions,
    copies: copies === undefined ? undefined : checkCopies(core, copies),
    seed: Number(BigInt.asUintN(32, checkSeed(given.seed))),
  };
}

/**
 * Throws where copies are asked for without dense vectors, or with too wide ones: a copy is an
 * entry, and only vectors of some widths have entries.
 */
function checkCopies({ dense }: IndexCore, copies: boolean): boolean {
  const hasEntries = dense !== null && bytesPerEntryOf(dense.dimensions) > 0;
  if (!copies || hasEntries) return copies;
  const what = `false without dense vectors of up to ${4 * MAX_RESIDUAL_BYTES} dimensions`;
  throw wrongValue('copies', what, copies);
}

/** Optimizes an index in memory and returns the report. It changes in the last step alone. */
export async function optimize(
  core: IndexCore,
  wanted: Wanted,
  work: LongWork,
): Promise<RecallReport> {
  const own: Optimizable<MemoryEvaluable> = {
    before: new MemoryEvaluable(core, core.rows),
    sampleBytes: SAMPLE_BYTES,
    place: async (space, placing) =>
      new MemoryEvaluable(core, await core.rows.placed(space, placing)),
  };
  const { report, index } = await optimized(own, wanted, work);
  core.rows = index.held;
  core.report = report;
  return report;
}

/** Bytes of the points that train the space of an index in memory. */
const SAMPLE_BYTES = 2 ** 28;

/** Parts of the progress: training, placing, and measuring. */
const SHARES = [4, 3, 3];

/** An index to optimize, as it is, and how its rows get a space. */
export interface Optimizable<T extends Evaluable> {
  readonly before: T;
  /** Room for the points that train a space, if these are no fewer than it needs. */
  readonly sampleBytes: number;
  /** The same rows in the partitions of a space. */
  place(space: Space | null, work: LongWork): Promise<T>;
}

/**
 * Optimizes an index: trains a space, places the rows in it, chooses a setting and measures it.
 * Returns the index as it is then.
 */
export async function optimized<T extends Evaluable>(
  own: Optimizable<T>,
  wanted: Wanted,
  work: LongWork,
): Promise<{ report: RecallReport; index: T }> {
  const [training, placing, measuring] = work.inParts(SHARES);
  const { before } = own;
  const { source, space } = await newSpace(own, wanted, training);
  const isAsBefore = space === null && before.space === null;
  const index = isAsBefore ? before : await own.place(space, placing);
  const report = await settled(index, source, wanted, measuring);
  await measuring.step(1, 1);
  return { report, index };
}

/** A new space, and whether rows have copies in it; its sample is free once it returns. */
async function newSpace(
  own: Optimizable<Evaluable>,
  wanted: Wanted,
  work: LongWork,
): Promise<{ source: EvaluationSource; space: Space | null }> {
  const [training, comparing] = work.inParts([3, 1]);
  const { before } = own;
  const given = wanted.given && givenSource(before, wanted.given, wanted);
  const trained = await trainedSpace(own, wanted, training);
  const held = trained?.held ?? null;
  const source = given ?? (await rowSource(before, held, wanted, training));
  if (trained === null) return { source, space: null };
  const { space } = trained;
  const { recall, copies } = wanted;
  const hasCopies = copies ?? (await payCopies(before, space, source, recall, comparing));
  const isSingle = !hasCopies || space.count === 1;
  return { source, space: isSingle ? space : new Space({ ...space.parts, hasCopies }) };
}

/** Chooses a setting for an index as it is, and measures it. */
export async function settled(
  index: Measurable,
  source: EvaluationSource,
  wanted: Pick<Wanted, 'recall' | 'k' | 'queries'>,
  work: LongWork,
): Promise<RecallReport> {
  return reportOf(index, wanted, await settle(index, source, wanted, work), source.kind);
}

/** A space, and the rows that are held out. */
interface Trained {
  readonly space: Space;
  readonly held: HeldOut;
}

/** Null where there are too few rows for a space. */
async function trainedSpace(
  { before: index, sampleBytes }: Optimizable<Evaluable>,
  wanted: Pick<Wanted, 'partitions' | 'queries' | 'seed'>,
  work: LongWork,
): Promise<Trained | null> {
  const { rows, parts } = index;
  if (rows === 0 || (wanted.partitions === undefined && rows < MIN_PARTITIONED_ROWS)) return null;
  const partitions = wanted.partitions ?? usualPartitions(rows);
  const { bits, hasher, dense } = parts;
  const dimensions = dense?.dimensions ?? null;
  const untrained = untrainedSpace({ bits, dimensions, seed: hasher.seed });
  const most = sampleSize(partitions, sampleBytes / untrained.width);
  const sampled = { space: untrained, most, rows, seed: wanted.seed };
  let sample = new TrainingSample(sampled);
  const held = new HeldOut(wanted);
  const [reading, training] = work.inParts([1, 4]);
  await index.eachRun((rows, keys) => {
    held.take(rows, keys);
    sample.offer(rows, keys);
  }, reading);
  if (sample.count === 0) {
    // All rows are held out, since there are few different vectors: train on them all the same.
    sample = new TrainingSample(sampled);
    await index.eachRun((rows) => sample.offer(rows, null), reading);
  }
  const points = await sample.points(training);
  const space = await trainSpace(untrained, points, partitions, training);
  return { space, held };
}

/** At most so many groups of equal rows, drawn at random. */
class EqualRows {
  /** Rows that were offered. */
  count = 0;
  /** Groups of higher hashes are not among the first `most`. */
  #bound = 1;
  readonly #byHash = new Map<number, number[]>();

  constructor(
    private readonly most: number,
    private readonly seed: number,
  ) {}

  offer(row: number, key: number): void {
    this.count++;
    const hash = shareAt(this.seed, key >>> 0);
    if (hash > this.#bound) return;
    const equal = this.#byHash.get(hash);
    if (equal === undefined) this.#byHash.set(hash, [row]);
    else equal.push(row);
    if (this.#byHash.size > 2 * this.most) this.result();
  }

  /** The groups in a random order, which is the same in whatever order rows were offered. */
  result(): number[][] {
    const groups = [...this.#byHash].sort(([a], [b]) => a - b);
    for (const [hash] of groups.splice(this.most)) this.#byHash.delete(hash);
    if (groups.length === this.most) this.#bound = groups[groups.length - 1][0];
    return groups.map(([, rows]) => rows.sort((a, b) => a - b));
  }
}

/** The rows that have codes, and those of them that are held out. */
class HeldOut {
  readonly #all: EqualRows;
  readonly #held: EqualRows;

  constructor({ queries, seed }: Pick<Wanted, 'queries' | 'seed'>) {
    this.#all = new EqualRows(MAX_QUERY_TIMES * queries, seed);
    this.#held = new EqualRows(MAX_QUERY_TIMES * queries, seed);
  }

  take({ rows }: RowsToPlace, keys: Int32Array): void {
    for (const [i, row] of rows.entries()) {
      if (row === NO_ROW) continue;
      this.#all.offer(row, keys[i]);
      if (isHeldOut(keys[i])) this.#held.offer(row, keys[i]);
    }
  }

  /**
   * The rows to use as queries: the held-out ones, or all where there is no space. Of equal rows
   * all are held out or none: where so many are equal that the held-out ones are no fair sample,
   * all rows are queries.
   */
  queries(hasSpace: boolean): { groups: number[][]; isTrained: boolean } {
    const expected = this.#all.count / HELD_OUT_CLASSES;
    const held = this.#held.result();
    const difference = Math.abs(this.#held.count - expected);
    const isFair = held.length > 1 && difference < UNFAIR * expected + CHANCE;
    const groups = hasSpace && isFair ? held : this.#all.result();
    return { groups, isTrained: hasSpace && !isFair };
  }
}

/** Whether searches gain by copies, by the neighbours of evaluation queries. */
async function payCopies(
  index: Evaluable,
  space: Space,
  source: EvaluationSource,
  recall: number,
  work: LongWork,
): Promise<boolean> {
  if (space.bytesPerEntry === 0) return false;
  const asked = await source.first(COPY_QUERIES, work);
  const near = asked.flatMap(({ truth }) => Array.from(truth.rows.subarray(0, COPY_NEIGHBORS)));
  const points = await index.pointsOf(Uint32Array.from(near), space, work);
  return copiesPay(space, { asked, points, rows: index.rows }, recall);
}

/** Rows in random order as queries, equal ones as one: else they both choose and measure. */
async function rowSource(
  index: Evaluable,
  known: HeldOut | null,
  wanted: Pick<Wanted, 'k' | 'queries' | 'seed'>,
  work: LongWork,
): Promise<EvaluationSource> {
  const { k, queries } = wanted;
  const held = known ?? new HeldOut(wanted);
  if (known === null) await index.eachRun((rows, keys) => held.take(rows, keys), work);
  const { groups, isTrained } = held.queries(known !== null);
  const order = Uint32Array.from(groups.keys());
  const truth = index.storage === 'none' ? 'distance' : 'cosine';
  const evaluated = async (some: Uint32Array, own: LongWork) => {
    const asked: EvaluationQuery[] = [];
    for (const i of some) {
      const rows = groups[i];
      asked.push({ own: new Set(rows), query: await index.queryOfRow(rows[0], own) });
      await own.step();
    }
    return index.evaluated(asked, k, own);
  };
  return new EvaluationSource({ source: 'rows', truth, isTrained }, order, queries, evaluated);
}

/** Queries of the caller in random order, since those of a file may be sorted. */
function givenSource(index: Evaluable, queries: RowsToAdd, wanted: Wanted): EvaluationSource {
  const { parts } = index;
  const given = queriesOf(parts, queries);
  const asked: EvaluationQuery[] = [];
  for (let i = 0; i < given.count; i++) {
    const query = given.at(i);
    if (query === null) continue;
    needComparable(parts, query, i);
    // With true neighbours by distance of codes, what is measured is a search for the code.
    const own = parts.vectors === null ? { code: query.code, sums: null, unit: null } : query;
    asked.push({ own: new Set(), query: own });
  }
  if (asked.length < 2) {
    const both = 'half of them choose the setting, half measure it';
    throw wrongValue('queries', `at least two that are not null (${both})`, asked.length);
  }
  const kind = { source: 'queries', isTrained: false } as const;
  return new EvaluationSource(
    { ...kind, truth: parts.vectors === null ? 'distance' : 'cosine' },
    shuffled(Uint32Array.from(asked.keys()), wanted.seed),
    asked.length,
    (some, work) =>
      index.evaluated(
        Array.from(some, (i) => asked[i]),
        wanted.k,
        work,
      ),
  );
}

/** How often a setting is chosen again, with more queries, if it finds too little for others. */
const MAX_RETRIES = 2;
/**
 * Probability that a choice finds less than it must with other queries: one standard error. More
 * certainty would find more than was asked for, at the price of speed. And the probability where no
 * queries are left to choose again with more of them.
 */
const DOUBT = 0.16;
const LESS_DOUBT = 0.025;
/**
 * By so much more than is wanted a setting may find, and by this part of what it may miss, since
 * less would make searches faster.
 */
const MAX_OVER = 0.01;
const MAX_OVER_MISSED = 1 / 3;
/** Most queries that choose. */
const MAX_CHOOSING = 2000;

/** Evaluation queries in random order, each given out once; their neighbours are found ahead. */
export class EvaluationSource {
  readonly #ready: Evaluated[] = [];
  #made = 0;

  /** Neighbours are found of at least `ahead` queries at the first call. */
  constructor(
    readonly kind: QueriesKind,
    private readonly order: Uint32Array,
    private readonly ahead: number,
    private readonly evaluated: (numbers: Uint32Array, work: LongWork) => Promise<Evaluated[]>,
  ) {}

  get isGiven(): boolean {
    return this.kind.source === 'queries';
  }

  /** Number of queries that were not given out yet. */
  get left(): number {
    return this.#ready.length + this.order.length - this.#made;
  }

  /** The queries that `next` will return, at most `count`. They are not given out. */
  async first(count: number, work: LongWork): Promise<Evaluated[]> {
    const more = this.#made === 0 ? Math.max(this.ahead, count) : count - this.#ready.length;
    const some = this.order.subarray(this.#made, this.#made + Math.max(0, more));
    if (some.length > 0) {
      this.#made += some.length;
      for (const one of await this.evaluated(some, work)) this.#ready.push(one);
    }
    return this.#ready.slice(0, count);
  }

  /** The next queries, at most `count`. */
  async next(count: number, work: LongWork): Promise<Evaluated[]> {
    const next = await this.first(count, work);
    this.#ready.splice(0, count);
    return next;
  }
}

/** Numbers in the order of their hashes under a seed: a random order that is always the same. */
export function shuffled(numbers: ArrayLike<number>, seed: number): Uint32Array {
  const hashes = Array.from(numbers, (number) => shareAt(seed, number));
  return Uint32Array.from(
    Array.from(hashes.keys()).sort((a, b) => hashes[a] - hashes[b]),
    (i) => numbers[i],
  );
}

/**
 * One half of the queries chooses the setting, the other measures it. If it finds too little for
 * these, or much more than is wanted, all of them choose again and new ones measure; where there
 * are none left and too little is found, the first half chooses again with more certainty. Of int8
 * vectors choices are then for more, by what their searches found less than they said.
 */
async function settle(
  index: Measurable,
  source: EvaluationSource,
  target: Omit<Target, 'doubt'> & { readonly queries: number },
  work: LongWork,
): Promise<Settled> {
  const { isGiven } = source;
  const half = Math.ceil(Math.min(isGiven ? source.left : target.queries, source.left) / 2);
  const mostOver = Math.min(MAX_OVER, MAX_OVER_MISSED * (1 - target.recall));
  const [first, second] = work.inParts([1, 1]);
  let choosing = await source.next(Math.min(half, MAX_CHOOSING), first);
  let judging: Evaluated[] = [];
  let doubt = DOUBT;
  /** The last that found enough, else the last. */
  let best: Settled | null = null;
  // What choices count as found, though vectors held as int8 rank it too low.
  let lost = 0;
  for (let retry = 0; ; retry++) {
    const wanted = Math.min(1, target.recall + lost);
    const choice = await chosen(index, choosing, { ...target, recall: wanted, doubt }, second);
    // No setting makes up for what is lost: the slowest ones would find little more.
    if (best !== null && lost > 0 && !choice.isEnough) return best;
    if (doubt === DOUBT) judging = await source.next(isGiven ? source.left : half, second);
    const recall = await measured(index, judging, target.k, choice, second);
    const over = recall.recall - target.recall;
    const isOpen = best === null || best.recall.recall < target.recall;
    if (over >= 0 || isOpen) best = { setting: choice, recall, judging };
    const isNear = over >= 0 && (over <= mostOver || source.left < half);
    if (isNear || !choice.isEnough || retry === MAX_RETRIES || doubt === LESS_DOUBT) {
      return best as Settled;
    }
    if (over < 0 && index.storage === 'int8') {
      const again = await measured(index, choosing, target.k, choice, second);
      lost = Math.max(0, choice.recall - again.recall);
    }
    if (source.left >= half) choosing = [...choosing, ...judging];
    else doubt = LESS_DOUBT;
  }
}

export class MemoryEvaluable extends Evaluable {
  readonly held: MemoryIndex;
  readonly rows: number;

  constructor(core: IndexCore, held: MemoryIndex) {
    super(core, held.space);
    this.held = held;
    this.rows = held.codedCount;
  }

  get count(): number {
    return this.held.count;
  }

  protected eachChunks(_work: LongWork, take: TakeChunks): Promise<void> {
    return this.held.eachChunks(take);
  }

  protected async placeOf(row: number): Promise<RowPlace> {
    const found = this.held.find(row);
    if (found === null) throw new RangeError(`there is no row ${row}`);
    const { position, part } = found;
    return { vectors: part.rows.vectors, position, code: part.rows.codeAt(position) };
  }

  async partitionsOf(rows: Uint32Array): Promise<Partitions> {
    const own = new Uint32Array(rows.length);
    const seconds = this.space?.parts.hasCopies ? new Uint32Array(rows.length) : own;
    for (const part of this.held.parts) {
      for (let i = 0; i < rows.length; i++) {
        const position = part.rows.positionOf(rows[i]);
        if (position < 0) continue;
        own[i] = part.partitionOf(position);
        if (seconds !== own) seconds[i] = part.secondOf(position);
      }
    }
    return { own, seconds };
  }

  async search(
    asked: readonly EvaluationQuery[],
    how: EvaluationSearch,
    work: LongWork,
  ): Promise<Best[]> {
    const found: Best[] = [];
    for (const one of asked) {
      found.push(run(this.searchFor(this.held.searched(), one, how)).best);
      await work.step();
    }
    return found;
  }
}
