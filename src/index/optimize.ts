/**
 * Makes an index fast at a wanted recall, and reports what it measured: partitions by k-means, then
 * the cheapest setting that finds enough of the true neighbours of evaluation queries. These took
 * no part in training; some choose the setting, others measure it. Works on a copy, so an index
 * whose optimizing is cancelled is as it was.
 */

import { mean } from '../base/mean-limits';
import type { Steps } from '../base/steps';
import type { Setting } from './candidates';
import { COPY_QUERIES } from './copies-pay';
import { evaluatedQueries, evaluatedRows, type GivenQueries, HeldOut } from './evaluation';
import type { EvaluationRecall, RecallReport } from './index-options';
import type { IndexParts } from './index-parts';
import { copiesPayFor, groupedCodes, MIN_CODES, partitionsOf } from './make-partitions';
import {
  type Evaluated,
  type Figures,
  inMemory,
  type Measured,
  recallOf,
  sharesFound,
} from './recall';
import type { TruthBy } from './truth';
import { chosen, type Target } from './tuning';
import type { DenseVectors } from './vectors/dense-vectors';
import { warningsOf } from './warnings';

/** What recall is measured with. */
export interface Evaluating {
  /** Number of rows to use as queries; half of them choose. */
  readonly queries: number;
  /** Queries of the caller; null where rows are the queries. */
  readonly given: GivenQueries | null;
  /** The dense vectors that true neighbours are computed from; null if there are none. */
  readonly vectors: DenseVectors | null;
}

/** Checked options of `optimize`. */
export interface Wanted extends Target, Evaluating {
  /** Number of partitions; undefined for the usual number. */
  readonly partitions: number | undefined;
  /** Whether codes are in second partitions too; undefined where it follows from the rows. */
  readonly copies: boolean | undefined;
  /** An unsigned integer in decimal digits. */
  readonly seed: string;
}

/** How often a setting is chosen again, with more queries, if it finds too little for others. */
const MAX_RETRIES = 2;
/** Most queries that choose. */
const MAX_CHOOSING = 2000;
/** Decimal digits of a mean cosine in a report. */
const COSINE_DIGITS = 6;
/** Largest share of the rows that is held out of training. */
const MAX_HELD_OUT = 1 / 4;

/** Optimizes the index and returns the report. The index changes in the last step alone. */
export function* optimize(parts: IndexParts, wanted: Wanted): Steps<RecallReport> {
  const heldOut = heldOutFor(parts, wanted);
  const grouped = yield* groupedCodes(parts, wanted, heldOut);
  const { distinctCodes, tree } = grouped;
  const ordered = parts.withOrder({ distinctCodes, partitions: null });
  const source = yield* sourceOf(ordered, wanted, heldOut, tree !== null);
  const asked = wanted.copies === undefined ? yield* source.first(COPY_QUERIES) : [];
  const copies = wanted.copies ?? copiesPayFor(ordered, grouped, asked, wanted.recall);
  const trial = parts.withOrder(yield* partitionsOf(parts, grouped, copies));
  const settled = yield* settledBy(inMemory(trial), source, wanted);
  const { choice } = settled;
  const partitions = choice.probes === null ? null : trial.partitions;
  const others = source.isGiven ? yield* measuredByRows(trial, heldOut, choice, wanted) : null;
  const report = reportOf(trial, wanted, { ...settled, others, heldOut });
  parts.setOrder({ distinctCodes: trial.distinctCodes, partitions });
  parts.report = report;
  return report;
}

/** A chosen setting, and what queries that did not choose it find with it. */
interface Settled {
  readonly choice: Setting;
  readonly figures: Figures;
}

/**
 * Some queries choose the setting, others measure it. If it finds too little for these, all of them
 * choose again and new ones measure.
 */
export function* settledBy(index: Measured, source: Source, wanted: Wanted): Steps<Settled> {
  const half = Math.ceil(Math.min(source.isGiven ? source.left : wanted.queries, source.left) / 2);
  let choosing = yield* source.next(Math.min(half, MAX_CHOOSING));
  for (let retry = 0; ; retry++) {
    const choice = yield* chosen(index, choosing, wanted);
    const isLast = source.left === 0; // a single query must choose and measure
    const judging = isLast ? choosing : yield* source.next(source.isGiven ? source.left : half);
    const figures = yield* measured(index, source, judging, choice, wanted);
    if (!figures.reached && choice.isEnough && source.left >= half && retry < MAX_RETRIES) {
      choosing = [...choosing, ...judging];
      continue;
    }
    return { choice, figures };
  }
}

/**
 * Which rows are held out: as many as may be needed as queries, if enough remain for training. In
 * an index without training, all rows.
 */
export function heldOutFor(
  { distinctCodes }: { distinctCodes: { count: number; liveCount: number } },
  { queries, given, partitions, seed }: Wanted,
): HeldOut {
  const hash = Number(BigInt.asUintN(32, BigInt(seed)));
  if (partitions === undefined && distinctCodes.count < MIN_CODES) return new HeldOut(hash, 1);
  const retries = given === null ? MAX_RETRIES * queries : 0;
  return new HeldOut(hash, Math.min(MAX_HELD_OUT, (queries + retries) / distinctCodes.liveCount));
}

/** Evaluation queries, each given out once. */
interface Source {
  /** True for queries of the caller, false for rows. */
  readonly isGiven: boolean;
  /** True where the queries are rows that took part in training. */
  readonly isTrained: boolean;
  /** Number of queries that were not given out yet. */
  readonly left: number;
  /** The queries that `next` will give first, at most `count`, which stay. */
  first(count: number): Steps<Evaluated[]>;
  /** The next queries, at most `count`. */
  next(count: number): Steps<Evaluated[]>;
}

/** Given queries in random order, or rows. */
function* sourceOf(
  parts: IndexParts,
  wanted: Wanted,
  heldOut: HeldOut,
  hasTrained: boolean,
): Steps<Source> {
  if (wanted.given === null) return rowSource(parts, heldOut, wanted, hasTrained);
  const all = heldOut.shuffled(yield* evaluatedQueries(parts, wanted.given, wanted));
  // biome-ignore lint/correctness/useYield: those of a caller are ready
  return inTurn(all.length, { isGiven: true, isTrained: false, ahead: 0 }, function* (first, end) {
    return all.slice(first, end);
  });
}

/** Held-out rows in random order; if there are not two of them, all rows. */
function rowSource(
  parts: IndexParts,
  heldOut: HeldOut,
  by: TruthBy & Evaluating,
  hasTrained: boolean,
): Source {
  const few = heldOut.rowsOf(parts);
  // In an index of a few rows, all of them may have trained the centroids.
  const isTrained = few.length < 2 && hasTrained;
  const rows = few.length > 1 ? few : parts.distinctCodes.rowsWithCodes();
  return inTurn(rows.length, { isGiven: false, isTrained, ahead: by.queries }, (first, end) =>
    evaluatedRows(parts, rows.subarray(first, end), by),
  );
}

/**
 * A source over `count` queries, which `evaluated` makes: at least `ahead` of them at the first
 * call, and later as many as are needed.
 */
export function inTurn(
  count: number,
  { ahead, ...kind }: Pick<Source, 'isGiven' | 'isTrained'> & { ahead: number },
  evaluated: (first: number, end: number) => Steps<Evaluated[]>,
): Source {
  const ready: Evaluated[] = [];
  let made = 0;
  function* fill(wanted: number): Steps<void> {
    const first = made;
    const more = first === 0 ? Math.max(ahead, wanted) : wanted - ready.length;
    made = Math.min(count, first + Math.max(0, more));
    if (made > first) ready.push(...(yield* evaluated(first, made)));
  }
  return {
    ...kind,
    get left() {
      return ready.length + count - made;
    },
    *first(wanted) {
      yield* fill(wanted);
      return ready.slice(0, wanted);
    },
    *next(wanted) {
      yield* fill(wanted);
      return ready.splice(0, wanted);
    },
  };
}

/** What a report needs to know of its index. */
interface Reported {
  readonly vectors: unknown;
  readonly partitions: { readonly count: number; readonly entriesPerCode: number } | null;
  readonly distinctCodes: { readonly liveCount: number };
}

/** Measures a setting. */
function* measured(
  index: Measured,
  { isGiven, isTrained }: Source,
  judging: readonly Evaluated[],
  setting: Setting,
  { k, recall: wanted, given, vectors }: Wanted,
): Steps<Figures> {
  const found = yield* sharesFound(index, judging, { k, setting, isTimed: true });
  const byIndex = (vectors ?? index.parts.vectors) === null ? 'distance' : 'cosine';
  const recall: EvaluationRecall = {
    ...recallOf(found.shares),
    source: isGiven ? 'queries' : 'rows',
    truth: given?.truth === undefined ? byIndex : 'given',
    kthCosine:
      index.parts.vectors === null ? null : Number(mean(found.kthCosines).toFixed(COSINE_DIGITS)),
  };
  return { recall, found, reached: recall.recall >= wanted, ms: found.ms, isTrained };
}

/** The figures of held-out rows, for comparison with those of given queries. */
function* measuredByRows(
  parts: IndexParts,
  heldOut: HeldOut,
  setting: Setting,
  wanted: Wanted,
): Steps<Figures> {
  const byRows = { ...wanted, given: null, queries: Math.ceil(wanted.queries / 2) };
  const source = rowSource(parts, heldOut, byRows, parts.partitions !== null);
  const some = yield* source.next(byRows.queries);
  return yield* measured(inMemory(parts), source, some, setting, byRows);
}

/** The report of a measured setting. Seeds are reduced to 32 bits, like those of `HeldOut`. */
export function reportOf(
  parts: Reported,
  wanted: Pick<Wanted, 'k' | 'recall' | 'seed'>,
  {
    choice,
    figures,
    others,
    heldOut,
  }: {
    choice: Setting;
    figures: Figures;
    others: Figures | null;
    heldOut: HeldOut;
  },
): RecallReport {
  const { probes, want } = choice;
  const { k, recall } = wanted;
  return {
    wanted: recall,
    reached: figures.reached,
    ...figures.recall,
    byRows: others?.recall ?? null,
    warnings: warningsOf(figures, others, k),
    k,
    rank: parts.vectors !== null ? 'exact' : 'estimate',
    queriesPerSecond: figures.ms === 0 ? 0 : 1000 / figures.ms,
    cost: figures.found.cost,
    method: probes === null ? 'scan' : 'partitions',
    partitions: probes === null ? 0 : (parts.partitions?.count ?? 0),
    copies: probes !== null && parts.partitions?.entriesPerCode === 2,
    probes: probes ?? 0,
    oversample: Math.ceil(want / k),
    seed: Number(BigInt.asUintN(32, BigInt(wanted.seed))),
    heldOutShare: probes === null ? 1 : heldOut.share,
    rows: parts.distinctCodes.liveCount,
    rowsAdded: 0,
    rowsRemoved: 0,
    stale: false,
  };
}
