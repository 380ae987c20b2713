/**
 * Every pair of rows within a distance, each once, in order, as a stream: of a collection with
 * itself, or of two. Exact, by the pigeonhole principle. With `minCosine` pairs are checked by the
 * vectors of an index, among those within a distance that catches a stated share of them.
 */

import { checkMaxDistance, checkOneOf, checkOptions, wrongType } from '../base/check';
import {
  checkLongCall,
  Item,
  LONG_CALL,
  type LongCall,
  type Stream,
  streamItems,
  streamItemsAsync,
} from '../base/steps';
import { Codes } from '../codes/codes';
import { catchProbability, reachesCosine } from '../hashing/angle';
import { SimHashIndex } from '../index/simhash-index';
import { methodFor } from './join';
import type { JoinMethod } from './join-layout';
import { type PairBatch as OrderedBatch, pairsInOrder } from './pair-order';
import { Forest, groupedCodes, PAIR_WISH, type PairWish, pairBitsOf } from './pair-wish';
import {
  checkComparable,
  cosinesOfPairs,
  DEFAULT_SHARE,
  type Distinct,
  distinctOf,
  maxDistanceOf,
  NEARNESS,
  type Nearness,
  type RowSource,
  type Rows,
  rowsOf,
} from './source';

/** Options of `pairs`. */
export interface PairsOptions extends Nearness, PairWish, LongCall {
  /**
   * Whether each of many equal rows is paired with all others, or only the first of them, and they
   * with it: a million equal rows are half a trillion pairs, or a million.
   */
  equal?: 'all' | 'first';
  /** Called with the work that is expected, before it begins. */
  onStart?: (work: PairsWork) => void;
}

export const PAIRS_DEFAULTS = { share: DEFAULT_SHARE, equal: 'all' } as const;

/** The work that is expected. */
export interface PairsWork {
  /** Number of rows. */
  readonly rows: number;
  /** Number of distinct codes among them. */
  readonly distinct: number;
  readonly maxDistance: number;
  /**
   * Share of the pairs at `minCosine` that `maxDistance` catches; null without one, and in an index
   * with `mean`.
   */
  readonly share: number | null;
  /** Tables that bring near codes together; 0 where all codes are compared with all. */
  readonly tables: number;
  /** Pairs of codes that are expected to be compared. */
  readonly comparisons: number;
  readonly expectedSeconds: number;
  /** Memory in bytes, without that of the codes themselves. */
  readonly bytes: number;
}

/** Pairs of rows, a < b within one collection, by a, then b. */
export interface PairBatch extends OrderedBatch {
  /** Exact cosines; null without `minCosine`. */
  readonly cosines: Float64Array | null;
}

/** Pairs, batch by batch; each loop over it runs the work again. */
export interface Pairs extends Iterable<PairBatch>, AsyncIterable<PairBatch> {
  readonly hasCosines: boolean;
}

const OPTIONS = [...NEARNESS, ...PAIR_WISH, 'equal', 'onStart', ...LONG_CALL];

/**
 * Finds every pair of rows within a distance, each once, by the first row, then the second. Comes
 * in batches; iterate with `for` or, with pauses for the event loop, `for await`. With two sources,
 * pairs a row of the first with a row of the second.
 *
 * @example
 * const codes = new SimHasher({ bits: 64 }).hashAll([[1, 0], [0.9, 0.1], [0, 1]]);
 * for (const { a, b, distances } of pairs(codes, { maxDistance: 10 })) {
 *   console.log(a[0], b[0], distances[0]); // 0 1 0
 * }
 */
export function pairs(source: RowSource, options: PairsOptions): Pairs;
export function pairs(left: RowSource, right: RowSource, options: PairsOptions): Pairs;
export function pairs(
  left: RowSource,
  second: RowSource | PairsOptions,
  third?: PairsOptions,
): Pairs {
  const isOne = third === undefined;
  if (isOne && (second instanceof Codes || second instanceof SimHashIndex)) {
    throw wrongType('options', 'an object', undefined);
  }
  const ours = rowsOf(isOne ? 'source' : 'left', left);
  const theirs = isOne ? null : rowsOf('right', second as RowSource);
  const request = requestOf(ours, theirs, (third ?? second) as PairsOptions);
  return {
    hasCosines: request.minCosine !== null,
    [Symbol.iterator]: () => streamItems(batches(request), request.call),
    [Symbol.asyncIterator]: () => streamItemsAsync(batches(request), request.call),
  };
}

/** The checked options; `right` is null where the left rows are paired with each other. */
type Request = ReturnType<typeof requestOf>;

/** The same pairs as a stream, for other work in steps. */
export function pairSteps(
  left: Rows,
  right: Rows | null,
  options: Nearness & { equal?: 'all' | 'first' },
): Stream<PairBatch> {
  return batches(requestOf(left, right, options));
}

function requestOf(left: Rows, right: Rows | null, options: PairsOptions) {
  const known = checkOptions('options', options, OPTIONS);
  const { minCosine, equal, onStart, kernel } = { ...PAIRS_DEFAULTS, ...known };
  if (right !== null) checkComparable(left, right);
  const { bits } = left.codes;
  if (minCosine !== undefined && (left.vectors === null || right?.vectors === null)) {
    throw new Error(`"minCosine" needs vectors: make the index with vectors 'float32'`);
  }
  if (onStart !== undefined && typeof onStart !== 'function') {
    throw wrongType('onStart', 'a function', onStart);
  }
  const { group, forest = false } = known;
  if (right !== null && (group !== undefined || forest)) {
    throw new Error('"group" and "forest" are of one collection, not of two');
  }
  const isCentred = left.isCentred || (right?.isCentred ?? false);
  const maxDistance = maxDistanceOf({ ...left, isCentred }, known);
  return {
    ...{ left, right, onStart },
    maxDistance: checkMaxDistance(maxDistance, bits),
    minCosine: minCosine ?? null,
    // Of rows with equal codes each has a cosine of its own.
    equal:
      forest && minCosine === undefined ? 'first' : checkOneOf('equal', equal, ['all', 'first']),
    bits: pairBitsOf(known, left.codes),
    codes: group === undefined ? left.codes : groupedCodes(left.codes, group),
    isForest: forest,
    kernel: kernel ?? left.kernel,
    call: checkLongCall(known),
  };
}

function* batches(request: Request): Stream<PairBatch> {
  const { left, right, maxDistance, minCosine, kernel, equal, bits } = request;
  const forest = request.isForest ? new Forest(left.codes.count) : null;
  const others = right?.codes ?? null;
  const codes = yield* distinctOf(request.codes, others, maxDistance, kernel, bits);
  const method = methodFor(codes, maxDistance, bits);
  request.onStart?.(workOf(request, codes, method));
  const isNeedless =
    forest && minCosine === null ? (a: number, b: number) => forest.has(a, b) : undefined;
  const order = { maxDistance, kernel, isFirstOnly: equal === 'first', bits, isNeedless };
  for (const step of pairsInOrder(codes, method, order)) {
    if (!(step instanceof Item)) {
      yield step;
      continue;
    }
    const near = minCosine === null ? step.value : nearByCosine(request, step.value, minCosine);
    const found = forest?.grownBy(near) ?? near;
    if (found.a.length === 0) continue;
    const cosines =
      minCosine === null ? null : cosinesOfPairs(left, right ?? left, found.a, found.b);
    yield new Item({ ...found, cosines });
  }
}

/** The pairs of a batch whose exact cosine is large enough. */
function nearByCosine(
  { left, right }: Request,
  { a, b, distances }: OrderedBatch,
  minCosine: number,
): OrderedBatch {
  const cosines = cosinesOfPairs(left, right ?? left, a, b);
  const isNear = (_: number, i: number) => reachesCosine(cosines[i], minCosine);
  return { a: a.filter(isNear), b: b.filter(isNear), distances: distances.filter(isNear) };
}

function workOf(
  { left, right, ...request }: Request,
  codes: Distinct,
  method: JoinMethod,
): PairsWork {
  const { maxDistance, minCosine } = request;
  const isKnown = minCosine !== null && !left.isCentred && !right?.isCentred;
  return {
    rows: left.codes.count + (right?.codes.count ?? 0),
    distinct: codes.count,
    maxDistance,
    share: isKnown ? catchProbability(minCosine, left.codes.bits, maxDistance) : null,
    tables: method.layout.length,
    comparisons: Math.round(method.comparisons),
    expectedSeconds: method.expectedMs / 1000,
    bytes: codes.memory.bytes,
  };
}
