/**
 * Chooses and measures a setting: some evaluation queries choose, others measure. The queries are
 * rows that took no part in training, each left out of its own answer, or queries of the caller.
 */

import type { LongWork } from '../base/long-work';
import { shareAt } from '../base/random';
import { type Choice, chosen, type Target } from './choice';
import { type Evaluable, type Evaluated, type Figures, measured, type QueriesKind } from './recall';
import type { EvaluationQuery, Truth } from './truth';

/** How often a setting is chosen again, with more queries, if it finds too little for others. */
const MAX_RETRIES = 2;
/**
 * Probability that a choice finds less than it must with other queries: one standard error. More
 * certainty would find more than was asked for, at the price of speed. And the probability where no
 * queries are left to choose again with more of them.
 */
const DOUBT = 0.16;
const LESS_DOUBT = 0.025;
/** By so much more than is wanted a setting may find, since less would make searches faster. */
const MAX_OVER = 0.01;
/** Most queries that choose. */
const MAX_CHOOSING = 2000;

/** Evaluation queries in random order, each given out once; their neighbours are found ahead. */
export class EvaluationSource {
  readonly kind: QueriesKind;
  readonly #order: Uint32Array;
  readonly #ahead: number;
  readonly #queryAt: (number: number) => EvaluationQuery;
  readonly #nearest: (asked: readonly EvaluationQuery[], work: LongWork) => Promise<Truth[]>;
  #ready: Evaluated[] = [];
  #made = 0;

  /** Neighbours are found of at least `ahead` queries at the first call. */
  constructor(
    kind: QueriesKind,
    order: Uint32Array,
    { ahead, queryAt }: { ahead: number; queryAt(number: number): EvaluationQuery },
    nearest: (asked: readonly EvaluationQuery[], work: LongWork) => Promise<Truth[]>,
  ) {
    this.kind = kind;
    this.#order = order;
    this.#ahead = ahead;
    this.#queryAt = queryAt;
    this.#nearest = nearest;
  }

  get isGiven(): boolean {
    return this.kind.source === 'queries';
  }

  /** Number of queries that were not given out yet. */
  get left(): number {
    return this.#ready.length + this.#order.length - this.#made;
  }

  async #fill(wanted: number, work: LongWork): Promise<void> {
    const first = this.#made;
    const more = first === 0 ? Math.max(this.#ahead, wanted) : wanted - this.#ready.length;
    const end = Math.min(this.#order.length, first + Math.max(0, more));
    if (end === first) return;
    this.#made = end;
    const asked = Array.from(this.#order.subarray(first, end), this.#queryAt);
    const truths = await this.#nearest(asked, work);
    for (const [i, truth] of truths.entries()) this.#ready.push({ ...asked[i], truth });
  }

  /** The queries that `next` will return, at most `count`. They are not given out. */
  async first(count: number, work: LongWork): Promise<Evaluated[]> {
    await this.#fill(count, work);
    return this.#ready.slice(0, count);
  }

  /** The next queries, at most `count`. */
  async next(count: number, work: LongWork): Promise<Evaluated[]> {
    await this.#fill(count, work);
    return this.#ready.splice(0, count);
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

/** A chosen setting, and what queries that did not choose it find with it. */
interface Settled {
  readonly choice: Choice;
  readonly figures: Figures;
}

/**
 * One half of the queries chooses the setting, the other measures it. If it finds too little for
 * these, or much more than is wanted, all of them choose again and new ones measure; where there
 * are none left and too little is found, the first half chooses again with more certainty.
 */
export async function settle(
  index: Evaluable,
  source: EvaluationSource,
  target: Omit<Target, 'doubt'> & { readonly queries: number },
  work: LongWork,
): Promise<Settled> {
  const { isGiven } = source;
  const half = Math.ceil(Math.min(isGiven ? source.left : target.queries, source.left) / 2);
  let choosing = await source.next(Math.min(half, MAX_CHOOSING), work);
  let judging: Evaluated[] = [];
  let doubt = DOUBT;
  let reached: Settled | null = null;
  for (let retry = 0; ; retry++) {
    const choice = await chosen(index, choosing, { ...target, doubt }, work);
    if (doubt === DOUBT) {
      judging = await source.next(isGiven ? source.left : half, work);
      // A single query must choose and measure.
      if (judging.length === 0) judging = choosing;
    }
    const figures = await measured(index, judging, target.k, choice, source.kind, work);
    const over = figures.recall.recall - target.recall;
    if (over >= 0) reached = { choice, figures };
    const isNear = over >= 0 && (over <= MAX_OVER || source.left < half);
    if (isNear || !choice.isEnough || retry === MAX_RETRIES || doubt === LESS_DOUBT) {
      return reached ?? { choice, figures };
    }
    if (source.left >= half) choosing = [...choosing, ...judging];
    else doubt = LESS_DOUBT;
  }
}
