/**
 * The true neighbours of evaluation queries, by one pass over all rows, chunk by chunk, wherever
 * they are: by exact cosine where vectors are known, else by distance of codes. Of dense vectors
 * products of points find which rows can be among the nearest, within a proven error, and cosines
 * in float64 decide. Rows as near as the k-th count as neighbours too.
 *
 * Vectors held as int8 have lost digits: these are drawn at random, alike for equal vectors, so
 * that the truth differs from what the index holds as the given vectors do.
 */

import { concatenated } from '../base/arrays';
import type { LongWork } from '../base/long-work';
import { Highest } from '../base/top-k';
import { NO_ROW, type RowCodes } from '../kernels/hits';
import { hammingKernel } from '../kernels/kernels';
import {
  errorOf,
  type HighRows,
  MOST_OF_ROWS,
  pointsOf,
  pointWidth,
  productsKernel,
  type RowsOfLengths,
  roundInto,
} from '../kernels/products';
import type { Task } from '../threads/job';
import { runJob } from '../threads/parallel';
import type { SparseUnit } from '../vectors/sparse-rows';
import { cosineOf } from '../vectors/vectors';
import type { Query } from './query';
import { rowsToPlace } from './rows';
import type { RowsToPlace } from './space';
import { keysOf } from './train';
import type { DenseVectors } from './vectors/dense-vectors';
import { lostDigits, MAX_INT8, mostLost } from './vectors/rounding';
import type { RowVectors } from './vectors/row-vectors';
import type { SparseVectors } from './vectors/sparse-vectors';

/**
 * A query, and the rows that have its vector: none if it is new. They are not its neighbours, as
 * if it were new, and it counts once for each.
 */
export interface EvaluationQuery {
  readonly query: Query;
  readonly own: ReadonlySet<number>;
}

/** Rows as near as the k-th nearest, and how many of them a search for k can find: k at most. */
export interface Truth {
  readonly rows: Uint32Array;
  readonly size: number;
}

/**
 * Rows at places `first` to `end - 1` of some that are at hand; `rows` has NO_ROW where there is
 * none to be found. Codes may be missing where vectors decide all.
 */
export interface Chunk extends RowCodes {
  readonly vectors: RowVectors | null;
  readonly first: number;
  readonly end: number;
}

/** Takes chunks that are at hand together. */
export type TakeChunks = (group: readonly Chunk[]) => Promise<void>;

/** Gives all chunks to a function. */
export type EachChunks = (take: TakeChunks) => Promise<void>;

/**
 * Rows of a chunk, more of narrow vectors: the first ones have few, since no limits are known yet.
 */
const CHUNK_ROWS = 4096;
const CHUNK_VALUES = 2 ** 21;
const FIRST_ROWS = 32;

/** The rows at places 0 to `count - 1`. */
export function chunksOf(
  { codes, rows, bytesPerCode }: RowCodes,
  vectors: RowVectors | null,
  count: number,
): Chunk[] {
  const chunks: Chunk[] = [];
  const dimensions = (vectors as DenseVectors | null)?.dimensions ?? CHUNK_VALUES;
  const most = Math.max(CHUNK_ROWS, Math.floor(CHUNK_VALUES / dimensions));
  for (let first = 0, end = 0; first < count; first = end) {
    end = Math.min(count, end + Math.min(most, Math.max(FIRST_ROWS, end)));
    chunks.push({ codes, rows, bytesPerCode, vectors, first, end });
  }
  return chunks;
}

/**
 * Takes all rows, run by run in any order, with the key of each by what places it in a space, its
 * dense vector or its code.
 */
export async function eachRun(
  eachChunks: EachChunks,
  isByCode: boolean,
  take: (rows: RowsToPlace, keys: Int32Array) => void,
  work: LongWork,
): Promise<void> {
  await eachChunks(async (group) => {
    for (const { vectors, first, end, ...codes } of group) {
      const own = rowsToPlace(codes, vectors, [first, end], isByCode);
      const { values, dimensions: width } = own.vectors ?? {
        values: own.codes as Uint8Array,
        dimensions: codes.bytesPerCode,
      };
      take(own, keysOf(values, width, own.rows));
      await work.step();
    }
  });
}

/** The best rows for one query, taken in any order: all as good as the k-th. */
export class Nearest {
  readonly #k: number;
  readonly #best: Highest;
  #found: { row: number; score: number }[] = [];
  /** With this many rows in the list, those below the bound are dropped. */
  #most: number;

  constructor(k: number) {
    this.#k = k;
    this.#best = new Highest(k);
    this.#most = 64 + 8 * k;
  }

  /** A row below this score cannot be among the k best. */
  get bound(): number {
    return this.#best.bound;
  }

  take(score: number, row: number): void {
    if (score < this.bound) return;
    this.#best.take(score, row);
    this.#found.push({ row, score });
    if (this.#found.length > this.#most) this.#thin();
  }

  #thin(): void {
    this.#found = this.#found.filter(({ score }) => score >= this.bound);
    this.#most = Math.max(this.#most, 2 * this.#found.length); // many may be equally near
  }

  /** By score, then row. */
  get found(): readonly { readonly row: number; readonly score: number }[] {
    this.#thin();
    return this.#found.sort((a, b) => b.score - a.score || a.row - b.row);
  }

  get truth(): Truth {
    const rows = Uint32Array.from(this.found, ({ row }) => row);
    return { rows, size: Math.min(this.#k, rows.length) };
  }
}

/** The state that is sent to a thread before it searches for the nearest dense vectors. */
interface NearState {
  /** Points of `width` bytes, one after another. */
  readonly queries: Int8Array;
  readonly width: number;
}

interface NearPart {
  readonly points: Int8Array;
  /** For each query the lowest product that can still enter. */
  readonly least: Float32Array;
}

/** Finds the places of points whose product is high enough, for each query. */
export const NEAR_POINTS: Task<NearState, NearPart, HighRows> = {
  name: 'near points',
  open:
    ({ queries, width }) =>
    ({ points, least }) =>
      productsKernel.highRows({ values: points, width }, queries, least),
};

interface NearestBy {
  readonly k: number;
  readonly dimensions: number;
  readonly kind: DenseVectors['kind'];
  /** Rows, for progress. */
  readonly total: number;
}

/** The nearest by dense vectors, for each query. */
export async function nearestByVectors(
  eachChunks: EachChunks,
  asked: readonly EvaluationQuery[],
  { k, dimensions, kind, total }: NearestBy,
  work: LongWork,
): Promise<Nearest[]> {
  const width = pointWidth(dimensions);
  const queries = new Int8Array(asked.length * width);
  const lost = kind === 'int8' ? mostLost(MAX_INT8) : 0;
  const errors = asked.map(({ query }, i) => {
    roundInto(query.unit as Float64Array, { values: queries, width }, i * width);
    return errorOf(queries, i * width, width) + lost;
  });
  const collected = asked.map(() => new Nearest(k));
  const leastOf = ({ bound }: Nearest, i: number) => bound - errors[i];
  let done = 0;
  await eachChunks((group) =>
    runJob(
      {
        task: NEAR_POINTS,
        state: { queries, width },
        count: group.length,
        part: (i) => ({
          points: pointsOfChunk(group[i]),
          least: Float32Array.from(collected, leastOf),
        }),
        take({ ends, places }, i) {
          const chunk = group[i];
          for (const [query, one] of asked.entries()) {
            const own = places.subarray(ends[query - 1] ?? 0, ends[query]);
            if (own.length > 0) takeVectors(collected[query], chunk, own, one);
          }
          for (let at = chunk.first; at < chunk.end; at++) if (chunk.rows[at] !== NO_ROW) done++;
          return [done, total];
        },
      },
      work,
    ),
  );
  return collected;
}

/** Points of a chunk; zeros where there is no row. */
function pointsOfChunk({ first, end, vectors, ...codes }: Chunk): Int8Array {
  const rows = rowsToPlace(codes, vectors, [first, end], false).vectors as RowsOfLengths;
  return pointsOf(rows, MOST_OF_ROWS);
}

/** Takes the rows at some places of a chunk, by their cosines with the query. */
function takeVectors(
  nearest: Nearest,
  { rows, vectors, first }: Chunk,
  places: Uint32Array,
  { query, own }: EvaluationQuery,
): void {
  // By loops: of narrow vectors a query takes a thousand rows.
  const found = new Uint32Array(places.length);
  let count = 0;
  for (let i = 0; i < places.length; i++) {
    const at = first + places[i];
    if (rows[at] !== NO_ROW && !own.has(rows[at])) found[count++] = at;
  }
  const positions = found.subarray(0, count);
  const held = vectors as DenseVectors;
  const unit = query.unit as Float64Array;
  const cosines = held.cosinesOf(positions, unit);
  for (let i = 0; i < count; i++) {
    const at = positions[i];
    const [row, norm] = [rows[at], held.normOf(at)];
    if (held.kind === 'float32') nearest.take(cosines[i], row);
    else if (cosines[i] >= nearest.bound - mostLost(norm)) {
      const rounded = { values: held.valuesAt(at) as Int8Array, norm, row };
      nearest.take(cosines[i] + lostDigits(rounded, held.zeros, unit, cosines[i]), row);
    }
  }
}

/**
 * The nearest by sparse vectors: for each dimension it is known which queries have it, so a row
 * meets only the queries with which it shares one. Cosines equal those of searches to the bit.
 */
export async function nearestBySparse(
  eachChunks: EachChunks,
  asked: readonly EvaluationQuery[],
  k: number,
  work: LongWork,
): Promise<Truth[]> {
  const having = new Map<number | bigint, { query: number; value: number }[]>();
  for (const [query, { query: given }] of asked.entries()) {
    (given.unit as SparseUnit).each((low, high, value) => {
      const key = dimensionOf(low, high);
      const own = having.get(key) ?? [];
      having.set(key, own);
      own.push({ query, value });
    });
  }
  const collected = asked.map(() => new Nearest(k));
  const dots = new Float64Array(asked.length);
  await eachChunks(async (group) => {
    for (const { rows, vectors, first, end } of group) {
      const held = vectors as SparseVectors;
      for (let i = first; i < end; i++) {
        if (rows[i] === NO_ROW) continue;
        const { part, from, to } = held.entriesOf(i);
        dots.fill(0);
        for (let at = from; at < to; at++) {
          const own = having.get(dimensionOf(part.halves[2 * at], part.halves[2 * at + 1]));
          for (const { query, value } of own ?? []) dots[query] += part.weights[at] * value;
        }
        const norm = held.normOf(i);
        for (let query = 0; query < asked.length; query++) {
          if (asked[query].own.has(rows[i])) continue;
          collected[query].take(cosineOf(dots[query], norm), rows[i]);
        }
      }
      await work.step();
    }
  });
  return collected.map(({ truth }) => truth);
}

/** A dimension of two 32-bit halves as a key. */
function dimensionOf(low: number, high: number): number | bigint {
  return high < 2 ** 20 ? high * 2 ** 32 + low : (BigInt(high) << 32n) | BigInt(low);
}

/** The nearest by distance of codes. */
export async function nearestByCodes(
  eachChunks: EachChunks,
  asked: readonly EvaluationQuery[],
  { k, bits }: { k: number; bits: number },
  work: LongWork,
): Promise<Truth[]> {
  const collected = asked.map(() => new Nearest(k));
  const queries = concatenated(asked.map(({ query }) => query.code));
  const limits = new Uint32Array(asked.length).fill(bits + 1);
  const kernel = hammingKernel();
  await eachChunks(async (group) => {
    for (const { codes, rows, first, end } of group) {
      kernel.hitsOfMany(codes, first, end - first, queries, limits, (i, at, distance) => {
        const row = rows[at];
        if (row === NO_ROW || asked[i].own.has(row)) return;
        collected[i].take(-distance, row);
        limits[i] = Math.min(bits, -collected[i].bound) + 1; // rows as near as the k-th count
      });
      await work.step();
    }
  });
  return collected.map(({ truth }) => truth);
}
