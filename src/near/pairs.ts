/**
 * Every pair of near rows, each once, in order, as a stream: within one collection, or between
 * two. By distance the pairs are exact, by the pigeonhole principle. With `minCosine`, pairs
 * within a distance that catches 99 % of them are checked by the vectors of an index; with
 * `minJaccard`, sets are joined by their members, and no pair is missed.
 *
 * Which rows are near any other is found by keys that near rows share (`nearRows`): linear in the
 * rows where few share keys that are not near. Pairs are not listed there: a row that is known to
 * be near another needs no more comparisons, so large groups of near rows cost little.
 */

import { ascending } from '../base/arrays';
import { checkMaxDistance, checkOptions, wrongType } from '../base/check';
import { iterated, LONG_CALL, type LongCall, LongWork } from '../base/long-work';
import { Codes } from '../codes/codes';
import { checkLeast } from '../codes/measure';
import type { SparseVectors } from '../index/vectors/sparse-vectors';
import { distance } from '../kernels/hamming';
import { reaches } from '../vectors/vectors';
import { distinctOf, type OrderedPairs, pairsInOrder, type Send } from './pair-order';
import {
  checkComparable,
  exactSimilarities,
  groupedCodes,
  isIndex,
  isVerified,
  maxDistanceOf,
  NEARNESS,
  type Nearness,
  type RowSource,
  type Rows,
  rowsOf,
  withVectors,
} from './rows';
import { setPairs } from './set-join';

/** Options of `pairs`. */
export interface PairsOptions extends Nearness, LongCall {
  /** A value for each row: only rows of one value are paired; -1 pairs with none. */
  group?: Int32Array;
  /** @internal Sets of bits: codes of a pair agree in the first, and in no other one entirely. */
  cell?: readonly (readonly number[])[] | undefined;
  /** @internal Vectors of the second collection, where `vectors` are of the first. */
  others?: SparseVectors | undefined;
}

/** Pairs of rows in the order of (a, b); a < b within one collection. */
export interface PairBatch extends OrderedPairs {
  /**
   * Exact cosines with `minCosine`, Jaccard similarities with `minJaccard`; null where only
   * distances are known.
   */
  readonly similarities: Float64Array | null;
}

const OPTIONS = { ...NEARNESS, group: null, cell: null, others: null, ...LONG_CALL };

/**
 * 'all' pairs each of many equal rows with all others; 'first' pairs only the first of them with
 * others, and they with it: a million equal rows are half a trillion pairs, or a million.
 */
type EqualRows = 'all' | 'first';

/**
 * Finds every pair within a distance or of a similarity, in batches, in the order of rows. Each
 * pair comes once; without any there is one empty batch. With two sources, pairs a row of the first
 * with a row of the second. Each loop over the batches does the work again.
 *
 * @example
 * const codes = await new SimHasher({ bits: 64 }).hashAll([[1, 0], [0.9, 0.1], [0, 1]]);
 * for await (const { a, b, distances } of pairs(codes, { maxDistance: 10 })) {
 *   console.log(a[0], b[0], distances[0]); // 0 1 0
 * }
 */
export function pairs(source: RowSource, options: PairsOptions): AsyncIterable<PairBatch>;
export function pairs(
  left: RowSource,
  right: RowSource,
  options: PairsOptions,
): AsyncIterable<PairBatch>;
export function pairs(
  left: RowSource,
  second: RowSource | PairsOptions,
  third?: PairsOptions,
): AsyncIterable<PairBatch> {
  const isOne = third === undefined;
  if (isOne && (second instanceof Codes || isIndex(second))) {
    throw wrongType('options', 'an object', undefined);
  }
  const ours = rowsOf(isOne ? 'source' : 'left', left);
  const theirs = isOne ? null : rowsOf('right', second as RowSource);
  const options = (third ?? second) as PairsOptions;
  const request = requestOf(ours, theirs, options);
  const call = { ...options };
  const found = async (send: Send<PairBatch>) => {
    let isEmpty = true;
    const sendSome = (batch: PairBatch) => {
      isEmpty = false;
      return send(batch);
    };
    await findPairs(request, sendSome, new LongWork(call));
    if (!isEmpty) return;
    const none = { a: new Uint32Array(), b: new Uint32Array(), distances: new Uint16Array() };
    await send({ ...none, similarities: request.exact && new Float64Array() });
  };
  return { [Symbol.asyncIterator]: () => iterated(found) };
}

/** Checked options with both collections; `right` is null for pairs within one. */
type Request = ReturnType<typeof requestOf> & Omit<PassedOn, 'equal'>;

/**
 * Passes on the batches of `pairs`, for other work. Returns the rows whose pairs are left to find,
 * where others became needless (`pairsInOrder`); else null.
 */
export async function eachPairs(
  left: Rows,
  right: Rows | null,
  options: Nearness & Pick<PairsOptions, 'group'> & PassedOn,
  send: Send<PairBatch>,
  work: LongWork,
): Promise<Uint32Array | null> {
  const { equal, isOpen, isHead, rests, ...near } = options;
  const request = requestOf(left, right, near, equal);
  return findPairs({ ...request, isOpen, isHead, rests }, send, work);
}

/** Which pairs `eachPairs` passes on. */
interface PassedOn {
  readonly equal?: EqualRows;
  /** False for pairs that need no exact similarity, since they change nothing. */
  readonly isOpen?: ((a: number, b: number) => boolean) | undefined;
  /**
   * False for a row whose pairs with later ones change nothing: it is passed over, since the pairs
   * of rows that are all near to each other grow with the square of their number.
   */
  readonly isHead?: ((a: number) => boolean) | undefined;
  /** Further sets of the rows, and the share of the smaller one that near rows have in common. */
  readonly rests?: { readonly vectors: SparseVectors; readonly least: number } | undefined;
}

/** Checks the options of a join against the rows. */
function requestOf(
  given: Rows,
  other: Rows | null,
  options: PairsOptions,
  equal: EqualRows = 'all',
) {
  const known = checkOptions(options, OPTIONS);
  const { minCosine, minJaccard, vectors, others, group } = known;
  if (other !== null && vectors !== undefined && others === undefined) {
    throw new TypeError('"vectors" are of one collection: for two, make indexes that hold them');
  }
  const left = withVectors(given, vectors);
  const right = other && withVectors(other, others);
  if (right !== null) checkComparable(left, right);
  const { bits, origin } = left.codes;
  const asked = checkLeast(known, origin?.projection) ?? null;
  if (minCosine !== undefined && (left.vectors === null || right?.vectors === null)) {
    throw new Error(`"minCosine" needs vectors: give them, or an index with vectors 'float32'`);
  }
  if (right !== null && group !== undefined) {
    throw new Error('"group" is of one collection, not of two');
  }
  const isExact = isVerified(left, known) && isVerified(right ?? left, known);
  const compared = { ...left, vectors: isExact ? left.vectors : null };
  const maxDistance = checkMaxDistance(maxDistanceOf(compared, known), bits);
  const [agree = [], ...differ] = known.cell ?? [];
  const groupBits = Array.from({ length: 32 }, (_, i) => 8 * left.codes.bytesPerCode + i);
  return {
    left,
    right,
    maxDistance,
    /** The measure by which pairs are checked, and the lowest one; null where distances decide. */
    exact: isExact ? asked : null,
    isFirstOnly: equal === 'first',
    codes: group === undefined ? left.codes : groupedCodes(left.codes, group),
    /** Bits in which the codes of a pair must agree, those of the group too. */
    agree: group === undefined ? agree : [...agree, ...groupBits],
    differ,
    group,
    /** True if sets are joined by their members: when only `minJaccard` says which are near. */
    bySets: isExact && equal === 'all' && known.maxDistance === undefined && (minJaccard ?? 0) > 0,
  };
}

/** Passes on all batches: pairs by codes or sets, less those that similarities leave out. */
async function findPairs(
  request: Request,
  send: Send<PairBatch>,
  work: LongWork,
): Promise<Uint32Array | null> {
  const { left, right, exact, isOpen } = request;
  const quiet = work.quiet();
  const check = async (pairs: OrderedPairs) => {
    if (exact === null) {
      await send({ ...pairs, similarities: null });
      return;
    }
    const open = isOpen ? pairsWhere(pairs, (i) => isOpen(pairs.a[i], pairs.b[i])) : pairs;
    const found = await exactSimilarities(exact.measure, [left, right ?? left], open, quiet);
    const areVectors = (i: number) =>
      hasVector(left, open.a[i]) && hasVector(right ?? left, open.b[i]);
    const isNear = (i: number) =>
      reaches(found[i], exact.least) && (exact.least > 0 || areVectors(i));
    const near = pairsWhere(open, isNear);
    if (near.a.length === 0) return;
    await send({ ...near, similarities: found.filter((_, i) => isNear(i)) });
  };
  if (request.bySets) {
    await pairsOfSets(request, check, work);
    return null;
  }
  const masks = request.maxDistance + request.differ.length;
  const codes = await distinctOf(request.codes, right?.codes ?? null, masks, quiet);
  return pairsInOrder(codes, request, check, work);
}

/** False for a row that is all-zero or an empty set, whose similarities are said to be 0. */
function hasVector({ vectors, vectorOf }: Rows, row: number): boolean {
  return vectors?.normOf(vectorOf?.[row] ?? row) !== 0;
}

/** Some pairs of a batch, by their positions. */
function pairsWhere({ a, b, distances }: OrderedPairs, holds: (i: number) => boolean) {
  const places = ascending(a.length).filter(holds);
  return {
    a: places.map((i) => a[i]),
    b: places.map((i) => b[i]),
    distances: Uint16Array.from(places, (i) => distances[i]),
  };
}

/** Pairs of sets that may be near, with their distances; the exact similarity then decides. */
async function pairsOfSets(
  { left, right, exact, group, rests, isHead }: Request,
  send: Send<OrderedPairs>,
  work: LongWork,
): Promise<void> {
  const others = (right ?? left).codes;
  const measured = ({ a, b }: { a: Uint32Array; b: Uint32Array }) => {
    const distances = new Uint16Array(a.length);
    for (let i = 0; i < a.length; i++) {
      distances[i] = distance(left.codes.at(a[i]), others.bytes, b[i] * others.bytesPerCode);
    }
    return send({ a, b, distances });
  };
  const { least, vectors } = rests ?? { least: exact?.least as number, vectors: left.vectors };
  const wanted = { least, isOfSmaller: rests !== undefined, group, isHead };
  await setPairs({ ...left, vectors }, right, wanted, measured, work);
}

/** Keys of rows: `count` for each row, one row after another. */
interface RowKeys {
  readonly keys: Uint32Array;
  readonly count: number;
}

/** Comparisons between two steps. */
const STEP_COMPARISONS = 2 ** 18;
/** Comparisons that are always allowed, and the share of all pairs that is allowed beyond. */
const FEW_COMPARISONS = 2 ** 22;
const MAX_SHARE = 1 / 64;

/**
 * Flags (1) the rows that share a key with a row within a distance. Null if too many rows share
 * keys without being near: a join of the codes then costs less. Null rows are near to none.
 */
export async function nearRows(
  codes: Codes,
  { keys, count }: RowKeys,
  maxDistance: number,
  work: LongWork,
): Promise<Uint8Array | null> {
  const rows = codes.count;
  const isNear = new Uint8Array(rows);
  // Beyond this many comparisons the keys do not separate rows, and the caller should join.
  const most = Math.max(FEW_COMPARISONS, MAX_SHARE * ((rows * (rows - 1)) / 2));
  let left = most;
  let budget = STEP_COMPARISONS;
  const order = new Uint32Array(rows);
  // Numbers of key and row, 53 bits: of many rows the keys lose some, which adds candidates.
  const sorted = new Float64Array(rows);
  const rowBits = 32 - Math.clz32(rows);
  const [span, lost] = [2 ** rowBits, Math.max(0, rowBits - 21)];
  for (let band = 0; band < count; band++) {
    for (let row = 0; row < rows; row++) {
      sorted[row] = (keys[row * count + band] >>> lost) * span + row;
    }
    sorted.sort();
    for (let i = 0; i < rows; i++) order[i] = sorted[i] % span;
    await work.step(band, count);
    for (let from = 0, to = 0; from < rows; from = to) {
      const end = span * (Math.floor(sorted[from] / span) + 1);
      for (to = from + 1; to < rows && sorted[to] < end; ) to++;
      for (let i = from; i < to && to > from + 1; i++) {
        const made = compare(codes, order.subarray(from, to), i - from, maxDistance, isNear);
        left -= made;
        budget -= made;
        if (left < 0) return null;
        if (budget > 0) continue;
        await work.step(band, count);
        budget = STEP_COMPARISONS;
      }
    }
  }
  return isNear;
}

/**
 * Compares a row with the others up to the first near one, unless it is flagged; returns the number
 * of comparisons. Earlier unflagged rows are skipped: they were compared with all others.
 */
function compare(
  codes: Codes,
  rows: Uint32Array,
  at: number,
  maxDistance: number,
  isNear: Uint8Array,
): number {
  const { bytes, bytesPerCode } = codes;
  const row = rows[at];
  if (isNear[row] === 1 || codes.isNull(row)) return 0;
  const code = bytes.subarray(row * bytesPerCode, (row + 1) * bytesPerCode);
  let made = 0;
  for (let i = 0; i < rows.length; i++) {
    const other = rows[i];
    if (i === at || (i < at && isNear[other] === 0) || codes.isNull(other)) continue;
    made++;
    if (distance(code, bytes, other * bytesPerCode) > maxDistance) continue;
    isNear[row] = isNear[other] = 1;
    break;
  }
  return made;
}
