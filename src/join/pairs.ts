/**
 * Every pair of near rows, each once, in order, as a stream: within one collection, or between two.
 * By distance the pairs are exact, by the pigeonhole principle. With `minCosine`, pairs within a
 * distance that catches a stated share of them are checked by the vectors of an index; with
 * `minJaccard`, sets are joined by their members, and no pair is missed.
 */

import { checkMaxDistance, checkOptions, wrongType } from '../base/check';
import {
  checkLongCall,
  Item,
  LONG_CALL,
  type LongCall,
  type Steps,
  type Stream,
  streamItems,
  streamItemsAsync,
} from '../base/steps';
import { reaches } from '../codes/angle';
import { Codes } from '../codes/codes';
import { catchShare, checkLeast, type Measure } from '../codes/measure';
import { SimHashIndex } from '../index/simhash-index';
import { distance } from '../kernels/hamming';
import { similaritiesInSteps, withVectors } from './exact';
import { methodFor } from './join';
import type { JoinMethod } from './join-layout';
import { type PairBatch as OrderedBatch, pairsInOrder } from './pair-order';
import { setPairs } from './set-join';
import {
  checkComparable,
  type Distinct,
  distinctOf,
  groupedCodes,
  isVerified,
  maxDistanceOf,
  NEARNESS,
  type Nearness,
  type RowSource,
  type Rows,
  rowsOf,
} from './source';

/** Options of `pairs`. */
export interface PairsOptions extends Nearness, LongCall {
  /** For each row its group, -1 for none: only rows of one group are paired. */
  group?: Int32Array;
  /** Called with the expected work before it begins. */
  onStart?: (work: PairsWork) => void;
}

/** Nanoseconds for an entry of a list of rows that share a member, see set-join.ts. */
const ENTRY_NS = 2;

/** The expected work of `pairs`. */
export interface PairsWork {
  /** Number of rows. */
  readonly rows: number;
  /** Number of distinct codes among them. */
  readonly distinct: number;
  readonly maxDistance: number;
  /**
   * Share of the pairs at the lowest similarity that `maxDistance` catches; null where no
   * similarity was given, and in an index with `mean`.
   */
  readonly share: number | null;
  /** Tables that bring near codes together; 0 if all codes are compared with all. */
  readonly tables: number;
  /** Pairs of codes that will be compared. */
  readonly comparisons: number;
  readonly expectedSeconds: number;
  /** Bytes of memory, without the codes of the caller. */
  readonly bytes: number;
}

/** Pairs of rows in the order of (a, b); a < b within one collection. */
export interface PairBatch extends OrderedBatch {
  /** Exact cosines with `minCosine`; else null. */
  readonly cosines: Float64Array | null;
  /** Exact Jaccard similarities with `minJaccard`; null where only distances are known. */
  readonly jaccards: Float64Array | null;
}

/** A stream of batches; each loop over it does the work again. */
export interface Pairs extends Iterable<PairBatch>, AsyncIterable<PairBatch> {
  readonly hasCosines: boolean;
  readonly hasJaccards: boolean;
}

const OPTIONS = [...NEARNESS, 'group', 'onStart', ...LONG_CALL];

/**
 * 'all' pairs each of many equal rows with all others; 'first' pairs only the first of them with
 * others, and they with it: a million equal rows are half a trillion pairs, or a million.
 */
type EqualRows = 'all' | 'first';

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
    hasCosines: request.exact?.name === 'cosine',
    hasJaccards: request.exact?.name === 'jaccard',
    [Symbol.iterator]: () => streamItems(batches(request), request.call),
    [Symbol.asyncIterator]: () => streamItemsAsync(batches(request), request.call),
  };
}

/** Checked options with both collections; `right` is null for pairs within one. */
type Request = ReturnType<typeof requestOf>;

/** `pairs` as a stream of steps, for use in other work. */
export function pairSteps(
  left: Rows,
  right: Rows | null,
  options: Nearness & Pick<PairsOptions, 'group'>,
  equal: EqualRows = 'all',
): Stream<PairBatch> {
  return batches(requestOf(left, right, options, equal));
}

/** Checks the options of a join against the rows. */
function requestOf(
  given: Rows,
  right: Rows | null,
  options: PairsOptions,
  equal: EqualRows = 'all',
) {
  const known = checkOptions('options', options, OPTIONS);
  const { minCosine, minJaccard, vectors, group, onStart, kernel } = known;
  if (right !== null && vectors !== undefined) {
    throw new TypeError('"vectors" are of one collection: for two, make indexes that hold them');
  }
  const left = withVectors(given, vectors);
  if (right !== null) checkComparable(left, right);
  const { bits, origin } = left.codes;
  const asked = checkLeast(known, origin?.projection) ?? null;
  if (minCosine !== undefined && (left.vectors === null || right?.vectors === null)) {
    throw new Error(`"minCosine" needs vectors: give them, or an index with vectors 'float32'`);
  }
  if (onStart !== undefined && typeof onStart !== 'function') {
    throw wrongType('onStart', 'a function', onStart);
  }
  if (right !== null && group !== undefined) {
    throw new Error('"group" is of one collection, not of two');
  }
  const isCentred = left.isCentred || (right?.isCentred ?? false);
  const isExact = isVerified(left, known) && isVerified(right ?? left, known);
  const maxDistance = maxDistanceOf(
    { ...left, ...(isExact ? {} : { vectors: null }), isCentred },
    known,
  );
  return {
    ...{ left, right, onStart, asked },
    maxDistance: checkMaxDistance(maxDistance, bits),
    /** The measure by which pairs are checked; null where distances decide. */
    exact: isExact && asked !== null ? asked.measure : null,
    isFirstOnly: equal === 'first',
    codes: group === undefined ? left.codes : groupedCodes(left.codes, group),
    /** The bits of the group, in which the codes of a pair must agree. */
    agree: group === undefined ? [] : [{ firstBit: 8 * left.codes.bytesPerCode, bits: 32 }],
    group,
    /** True if sets are joined by their members: when only `minJaccard` says which are near. */
    bySets: isExact && equal === 'all' && known.maxDistance === undefined && (minJaccard ?? 0) > 0,
    kernel: kernel ?? left.kernel,
    call: checkLongCall(known),
  };
}

/** All batches: pairs by codes or sets, less those that similarities leave out. */
function* batches(request: Request): Stream<PairBatch> {
  const { exact } = request;
  for (const step of request.bySets ? pairsOfSets(request) : pairsOfCodes(request)) {
    if (!(step instanceof Item)) {
      yield step;
      continue;
    }
    const near =
      exact === null
        ? { ...step.value, similarities: null }
        : yield* nearExactly(request, step.value, exact);
    if (near.a.length > 0) yield new Item(withSimilarities(near, exact, near.similarities));
  }
}

/** Pairs of rows whose codes are within the distance. */
function* pairsOfCodes(request: Request): Stream<OrderedBatch> {
  const { codes: ours, right, maxDistance, kernel, isFirstOnly, agree } = request;
  const codes = yield* distinctOf(ours, right?.codes ?? null, maxDistance, kernel);
  const method = methodFor(codes, maxDistance, agree);
  request.onStart?.(workOf(request, codes, method));
  yield* pairsInOrder(codes, method, { maxDistance, kernel, isFirstOnly, agree });
}

/** Pairs of sets that may be near, with their distances; the exact similarity then decides. */
function* pairsOfSets({ left, right, asked, group, onStart }: Request): Stream<OrderedBatch> {
  const rows = left.codes.count + (right?.codes.count ?? 0);
  const begin = (comparisons: number, bytes: number) => {
    const expectedSeconds = (comparisons * ENTRY_NS) / 1e9;
    const work = { rows, distinct: rows, maxDistance: left.codes.bits, share: 1, tables: 1 };
    onStart?.({ ...work, comparisons, expectedSeconds, bytes });
  };
  const wanted = { least: asked?.least as number, group, onStart: onStart && begin };
  for (const step of setPairs(left, right, wanted)) {
    if (!(step instanceof Item)) {
      yield step;
      continue;
    }
    const { a, b } = step.value;
    const others = (right ?? left).codes;
    const distances = new Uint16Array(a.length);
    for (let i = 0; i < a.length; i++) {
      distances[i] = distance(left.codes.at(a[i]), others.bytes, b[i] * others.bytesPerCode);
    }
    yield new Item({ a, b, distances });
  }
}

type NearPairs = OrderedBatch & { readonly similarities: Float64Array };

/** The pairs of a batch whose exact similarity is high enough. */
function* nearExactly(
  { left, right, asked }: Request,
  { a, b, distances }: OrderedBatch,
  measure: Measure,
): Steps<NearPairs> {
  const found = yield* similaritiesInSteps(measure, [left, right ?? left], { a, b });
  const isNear = (_: number, i: number) => reaches(found[i], asked?.least as number);
  const near = { a: a.filter(isNear), b: b.filter(isNear), distances: distances.filter(isNear) };
  return { ...near, similarities: found.filter(isNear) };
}

/** An empty batch with the columns of a stream, for outputs without any pair. */
export function noPairs({ hasCosines, hasJaccards }: Pairs): PairBatch {
  const none = { a: new Uint32Array(), b: new Uint32Array(), distances: new Uint16Array() };
  return {
    ...none,
    cosines: hasCosines ? new Float64Array() : null,
    jaccards: hasJaccards ? new Float64Array() : null,
  };
}

/** A batch with exact similarities in the column of their measure. */
function withSimilarities(
  { a, b, distances }: OrderedBatch,
  measure: Measure | null,
  found: Float64Array | null,
): PairBatch {
  const [cosines, jaccards] = measure?.name === 'jaccard' ? [null, found] : [found, null];
  return { a, b, distances, cosines, jaccards };
}

/** The expected work of a join, for `onStart`. */
function workOf(
  { left, right, asked, ...request }: Request,
  codes: Distinct,
  method: JoinMethod,
): PairsWork {
  const { maxDistance } = request;
  const isKnown = asked !== null && !left.isCentred && !right?.isCentred;
  return {
    rows: left.codes.count + (right?.codes.count ?? 0),
    distinct: codes.count,
    maxDistance,
    share: isKnown
      ? catchShare(asked.measure, { least: asked.least, bits: left.codes.bits, maxDistance })
      : null,
    tables: method.layout.length,
    comparisons: Math.round(method.comparisons),
    expectedSeconds: method.expectedMs / 1000,
    bytes: codes.memory.bytes,
  };
}
