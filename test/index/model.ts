/**
 * The specification of an index: what it answers, by brute force over a list of rows. Every method,
 * place of the bytes and number of segments must agree with it wherever a search misses nothing.
 *
 * - Rows are numbered in the order in which they were added, and never numbered again. A row
 *   without a direction is there, has an id, and is never found.
 * - `search` by distance has the k rows of the lowest (distance, row); by estimate and by cosine
 *   those of the highest score, of equal scores the lower rows. A filter leaves rows out first.
 * - `within` has all rows within a distance; with a lowest similarity, exact or estimated, only
 *   those that reach it.
 * - Scores are of rows as they are held: int8 rows are rounded. Sums run in the order of
 *   dimensions, so that scores are equal to the last bit.
 *
 * Codes are not the business of this file: it takes them from the hasher of the index.
 */

export type ModelId = string | number | bigint;
export type Sparse = ReadonlyMap<bigint, number>;
export type ModelVector = readonly number[] | Sparse;
export type Storage = 'none' | 'float32' | 'int8' | 'sparse';

/** A row as it is held. */
interface ModelRow {
  readonly id: ModelId;
  /** Null where the vector has no direction. */
  readonly code: Uint8Array | null;
  /** Held values by dimension, ascending; null where none are held. */
  readonly held: readonly (readonly [dimension: bigint, value: number])[] | null;
}

export interface ModelQuery {
  readonly vector: ModelVector;
  readonly code: Uint8Array;
  /** One number a bit, whose sign is the bit and whose size says how sure it is. */
  readonly sums: Float64Array;
}

export interface Scored {
  readonly row: number;
  readonly score: number;
}

type Accepts = (id: ModelId, row: number) => boolean;
const ALL: Accepts = () => true;

export class Model {
  readonly rows: (ModelRow | undefined)[] = [];
  readonly #storage: Storage;
  readonly #bits: number;

  constructor(storage: Storage, bits: number) {
    this.#storage = storage;
    this.#bits = bits;
  }

  /** The number of rows that are there. */
  get count(): number {
    return this.live.length;
  }

  /** Their numbers, ascending. */
  get live(): number[] {
    return this.rows.flatMap((row, number) => (row === undefined ? [] : [number]));
  }

  rowOf(id: ModelId): number | undefined {
    const row = this.rows.findIndex((one) => one?.id === id);
    return row < 0 ? undefined : row;
  }

  /** Adds a row; its number is the next. Without an id it is its own. */
  add(vector: ModelVector, code: Uint8Array | null, id?: ModelId): number {
    const row = this.rows.length;
    const held = this.#storage === 'none' || code === null ? null : heldOf(vector, this.#storage);
    this.rows.push({ id: id ?? row, code, held });
    return row;
  }

  /** Adds a row in place of the one of this id. */
  set(vector: ModelVector, code: Uint8Array | null, id: ModelId): number {
    const before = this.rowOf(id);
    const row = this.add(vector, code, id);
    if (before !== undefined) this.rows[before] = undefined;
    return row;
  }

  remove(id: ModelId): boolean {
    const row = this.rowOf(id);
    if (row === undefined) return false;
    this.rows[row] = undefined;
    return true;
  }

  /** The k rows of the lowest distances, within `maxDistance`. */
  byDistance(code: Uint8Array, k: number, maxDistance = this.#bits, accepts = ALL): Scored[] {
    return this.#coded(accepts)
      .map((row) => ({ row, score: distance(this.#codeOf(row), code) }))
      .filter(({ score }) => score <= maxDistance)
      .sort((a, b) => a.score - b.score || a.row - b.row)
      .slice(0, k);
  }

  /** The k rows of the highest cosines. */
  byCosine({ vector }: ModelQuery, k: number, accepts = ALL): Scored[] {
    return this.#highest(accepts, k, this.#cosineTo(vector));
  }

  /** The k rows of the highest Jaccard similarities, as sets of dimensions. */
  byJaccard(vector: Sparse, k: number, accepts = ALL): Scored[] {
    return this.#highest(accepts, k, (row) => this.jaccard(row, vector));
  }

  /** The k rows of the highest cosines that codes estimate. */
  byEstimate({ sums }: ModelQuery, k: number, accepts = ALL): Scored[] {
    const estimate = estimator(sums);
    return this.#highest(accepts, k, (row) => estimate(this.#codeOf(row)));
  }

  /** Rows within a distance whose cosine is at least this, the highest first. */
  withinCosine(query: ModelQuery, maxDistance: number, least: number): Scored[] {
    const near = new Set(this.byDistance(query.code, this.rows.length, maxDistance).map(rowOf));
    return this.byCosine(query, this.rows.length, (_, row) => near.has(row)).filter(
      ({ score }) => score >= least,
    );
  }

  #highest(accepts: Accepts, k: number, scoreOf: (row: number) => number): Scored[] {
    return this.#coded(accepts)
      .map((row) => ({ row, score: scoreOf(row) }))
      .sort((a, b) => b.score - a.score || a.row - b.row)
      .slice(0, k);
  }

  /** The rows that can be found and are accepted. */
  #coded(accepts: Accepts): number[] {
    return this.live.filter((row) => {
      const { code, id } = this.rows[row] as ModelRow;
      return code !== null && accepts(id, row);
    });
  }

  #codeOf(row: number): Uint8Array {
    return this.rows[row]?.code as Uint8Array;
  }

  /** The cosine of a held row with a vector: the query at length 1, the sum by the row's length. */
  #cosineTo(vector: ModelVector): (row: number) => number {
    const query = new Map(entriesOf(vector));
    const length = lengthOf([...query.values()]);
    return (row) => {
      const held = this.rows[row]?.held ?? [];
      // Of dense vectors eight sums take the values in turn; sparse ones have one sum.
      const sums = new Float64Array(8);
      for (const [dimension, value] of held) {
        const own = query.get(dimension);
        const at = this.#storage === 'sparse' ? 0 : Number(dimension % 8n);
        if (own !== undefined) sums[at] += value * (own / length);
      }
      const [a, b, c, d, e, f, g, h] = sums;
      const sum = a + c + (e + g) + (b + d + (f + h));
      const norm = lengthOf(held.map(([, value]) => value));
      return norm === 0 ? 0 : Math.max(-1, Math.min(1, sum / norm));
    };
  }

  jaccard(row: number, vector: Sparse): number {
    const held = new Set((this.rows[row]?.held ?? []).filter(([, v]) => v !== 0).map(([d]) => d));
    const query = new Set([...vector].filter(([, value]) => value !== 0).map(([d]) => d));
    const common = [...held].filter((dimension) => query.has(dimension)).length;
    const all = held.size + query.size - common;
    return all === 0 ? 0 : common / all;
  }
}

export const rowOf = ({ row }: Scored): number => row;

/** A vector as it is held: float32, or int8 whose largest value is 127. */
function heldOf(vector: ModelVector, storage: Storage): ModelRow['held'] {
  const entries = entriesOf(vector);
  if (storage !== 'int8') return entries.map(([d, value]) => [d, Math.fround(value)] as const);
  const most = Math.max(...entries.map(([, value]) => Math.abs(value)));
  return entries.map(([d, value]) => [d, Math.round((value / most) * 127)] as const);
}

/** Values by dimension, ascending. */
function entriesOf(vector: ModelVector): [bigint, number][] {
  if (vector instanceof Map) return [...vector].sort(([a], [b]) => (a < b ? -1 : 1));
  return Array.from(vector as readonly number[], (value, i) => [BigInt(i), value]);
}

function lengthOf(values: readonly number[]): number {
  let sum = 0;
  for (const value of values) sum += value * value;
  return Math.sqrt(sum);
}

/** The bits in which two codes differ. */
export function distance(a: Uint8Array, b: Uint8Array): number {
  let bits = 0;
  for (const [i, byte] of a.entries()) {
    for (let rest = byte ^ b[i]; rest > 0; rest >>= 1) bits += rest & 1;
  }
  return bits;
}

/**
 * The cosine that a code estimates: 1 less twice the share of |sums| in whose bits it differs. The
 * sums of four bits are rounded together, to integers of which the largest possible one is at most
 * 31 and the sum of all at most 65,535.
 */
function estimator(sums: Float64Array): (code: Uint8Array) => number {
  const groups: number[][] = [];
  for (let first = 0; first < sums.length; first += 4) {
    groups.push(Array.from(sums.subarray(first, first + 4)));
  }
  const weightOf = (group: readonly number[]) => group.reduce((sum, one) => sum + Math.abs(one), 0);
  const heaviest = Math.max(...groups.map(weightOf));
  const scale = heaviest > 0 ? Math.min(31, Math.floor(65_535 / groups.length)) / heaviest : 0;
  const total = groups.reduce((sum, group) => sum + weightOf(group), 0);
  return (code) => {
    let weight = 0;
    for (const [number, group] of groups.entries()) {
      let differing = 0;
      for (const [i, sum] of group.entries()) {
        const bit = 4 * number + i;
        const isSet = ((code[bit >> 3] >> (bit & 7)) & 1) === 1;
        if (isSet !== sum > 0) differing += Math.abs(sum);
      }
      weight += Math.floor(differing * scale + 0.5);
    }
    return total > 0 ? Math.max(-1, 1 - weight * (2 / (total * scale))) : 1;
  };
}
