/**
 * Work on single points that threads share, by ranges of rows: they read vectors where an index
 * holds them. Other points stay on the calling thread, which runs the same functions. First of such
 * work: rounding points to the integers that k-means compares.
 */

import type { Steps } from '../base/steps';
import { integerWidth, UNIT } from '../kernels/products/products.scalar';
import type { Task } from '../threads/job';
import { inParallel } from '../threads/parallel';
import {
  allocateIntegers,
  integerPoints,
  PointBlock,
  type Points,
  readerOf,
  type SharedPoints,
} from './points';

/** Points of a part, which are rounded between two steps. */
export const POINTS_OF_PART = 1024;
/** Points that take more bytes as integers are rounded again each time that they are read. */
const MAX_PACKED_BYTES = 2 ** 28;
/** Fewer bytes are copied when kernels read them: a separate memory takes 12 pages or more. */
const MIN_OWN_BYTES = 2 ** 16;

/** Points for threads, or those of the calling thread, which hold a function and are not sent. */
export type PointSource = SharedPoints | Points;

/** A block of at most `rows` points of a source. */
export const blockOf = (source: PointSource, rows: number) =>
  new PointBlock('into' in source ? source : { ...source, into: readerOf(source) }, rows);

/**
 * Runs a task over points: on threads where these can read them. Else on the calling thread, or,
 * with `threadsOnly`, not at all: returns false.
 */
export function* overPoints<S extends { source: PointSource }, P, R>(
  points: Points,
  {
    task,
    state,
    threadsOnly = false,
    ...job
  }: {
    task: Task<S, P, R>;
    state: Omit<S, 'source'>;
    threadsOnly?: boolean;
    count: number;
    part(i: number): P;
    take(result: R, i: number): undefined;
  },
): Steps<boolean> {
  let run: ((part: P) => R) | undefined;
  const here = (part: P) => {
    run ??= task.open({ ...state, source: points } as unknown as S);
    return run(part);
  };
  return yield* inParallel({
    ...{ ...job, task: { name: task.name }, sharesRows: true, ...(threadsOnly ? {} : { here }) },
    get state() {
      return { ...state, source: points.shared?.() ?? points } as unknown as S;
    },
  });
}

/** Rows of a part, of which the first is number `first` of all. */
interface RoundingPart {
  readonly rows: Uint32Array;
  readonly first: number;
}

/** Rounds points into `packed`, which threads share. */
export const ROUNDING: Task<{ source: PointSource; packed: Int16Array }, RoundingPart, null> = {
  name: 'rounding points',
  open({ source, packed }) {
    const block = blockOf(source, POINTS_OF_PART);
    return ({ rows, first }) => {
      packed.set(block.rounded(block.take(rows, 0)), first * block.width);
      return null;
    };
  },
};

/** The points of some rows only: if they fit, as integers that all threads read in place. */
export function* pointsAt(points: Points, rows: Uint32Array): Steps<Points> {
  const byteLength = 2 * integerWidth(points.dimensions) * rows.length;
  if (byteLength > MAX_PACKED_BYTES) return { ...points, rows };
  const packed = yield* packedAt(points, rows);
  // The length of the rounded points: exact for codes, whose values are all rounded to the same
  // magnitude; vectors of length 1 keep it up to 1e-9.
  const length = points.length * Math.floor(UNIT / points.length + 0.5);
  return integerPoints(packed, points.dimensions, length);
}

/** The points of some rows as integers. `rows` of integer points must be the first: a view. */
export function* packedAt(points: Points, rows: Uint32Array): Steps<Int16Array> {
  const width = integerWidth(points.dimensions);
  const { integers } = points;
  if (integers !== undefined) return integers.subarray(0, width * rows.length);
  const isSmall = 2 * width * rows.length < MIN_OWN_BYTES;
  const packed = isSmall
    ? new Int16Array(width * rows.length)
    : allocateIntegers(rows.length, width);
  const own = isSmall ? { ...points, shared: undefined } : points; // no thread can write to it
  yield* overPoints(own, {
    ...{ task: ROUNDING, state: { packed }, count: Math.ceil(rows.length / POINTS_OF_PART) },
    part(i) {
      const first = i * POINTS_OF_PART;
      return { rows: rows.subarray(first, first + POINTS_OF_PART), first };
    },
    take: () => undefined,
  });
  return packed;
}
