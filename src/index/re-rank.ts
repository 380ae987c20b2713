/**
 * The end of searches by weight (ranks 'estimate' and 'exact'): from the best distinct codes to
 * their rows, and to the best of these. Searches by distance end in by-distance.ts.
 */

import { Highest, keyOf, rowOf, Smallest, weightOf } from '../base/top-k';
import { type Hits, NO_ROW, type Search } from '../kernels/hits/hits';
import type { RowFilter } from './index-options';
import type { IndexParts } from './index-parts';

export interface Wanted {
  readonly k: number;
  /** Distinct codes to rank: k, or more for re-ranking. */
  readonly want: number;
  readonly filter: RowFilter | null;
  /** False when everything found is re-ranked, so that it may come in any order. */
  readonly isOrdered?: boolean;
  /** True when all codes of the last weight may be candidates, however many they are. */
  readonly mayTakeTies?: boolean;
}

/** What a search did, for `explain`. */
export interface Work {
  codesCompared: number;
  candidates: number;
  probes: number;
}

/**
 * Rows and the cosines that weights estimate, lightest first; or rows alone, in no order, valid
 * until the next search.
 */
export interface Ranked {
  readonly rows: Uint32Array;
  readonly estimates: Float64Array;
}

/**
 * The wanted distinct codes among those that a search sees, each by its first row that the filter
 * accepts; `rows` tells the first row of each code. A kernel knows no filter: it is asked for more,
 * and the search is run again, until enough of its hits are accepted.
 */
export function takeLightest(
  best: Smallest,
  parts: IndexParts,
  rows: Uint32Array,
  { want, filter }: Wanted,
  run: (ask: number) => Search,
): void {
  if (filter === null) {
    const search = run(want);
    takeHits(best, rows, search.hits(), search.limit);
    return;
  }
  for (let ask = 4 * want; ; ask *= 8) {
    const search = run(ask);
    const { limit, held } = search;
    const { codes, weights, count } = filter.isUserCode ? copyOf(search.hits()) : search.hits();
    const distinctCodes = new Smallest(want);
    let passing = 0;
    for (let i = 0; i < count; i++) {
      if (weights[i] > limit) continue;
      const row = parts.distinctCodes.firstRow(
        parts.distinctCodes.distinctOf(rows[codes[i]]),
        filter,
      );
      if (row === NO_ROW) continue;
      distinctCodes.take(weights[i], row);
      passing++;
    }
    if (passing < want && held >= ask) continue;
    for (const key of distinctCodes.result()) best.take(weightOf(key), rowOf(key));
    return;
  }
}

/** Hits that stay as they are when a filter searches in turn. */
export function copyOf({ codes, weights, count }: Hits): Hits {
  return { codes: codes.slice(0, count), weights: weights.slice(0, count), count };
}

function takeHits(best: Smallest, rows: Uint32Array, hits: Hits, limit: number): void {
  const { codes, weights, count } = hits;
  for (let i = 0; i < count; i++) if (weights[i] <= limit) best.take(weights[i], rows[codes[i]]);
}

/** What a search finds, as rows; in no order if ties may be taken and no code has two rows. */
export function rankedHits(
  parts: IndexParts,
  wanted: Wanted,
  cosineOf: (weight: number) => number,
  run: (ask: number) => Search,
): Ranked {
  const { distinctCodes } = parts;
  if (wanted.filter !== null || !wanted.mayTakeTies || distinctCodes.hasDuplicates) {
    const best = new Smallest(wanted.want);
    takeLightest(best, parts, distinctCodes.memory.rows, wanted, run);
    return rankedRows(parts, best, cosineOf, wanted);
  }
  const search = run(wanted.want);
  const { codes, weights, count } = search.hits();
  const { limit } = search;
  const firstRows = distinctCodes.memory.rows;
  if (count > rowsRoom.length) rowsRoom = new Uint32Array(2 * count);
  const rows = rowsRoom;
  let held = 0;
  for (let i = 0; i < count; i++) if (weights[i] <= limit) rows[held++] = codes[i];
  // In a separate loop, in which cache misses overlap.
  for (let i = 0; i < held; i++) rows[i] = firstRows[rows[i]];
  return { rows: rows.subarray(0, held), estimates: NO_ESTIMATES };
}

/** Of rows in no order, until the next search: to make an array takes longer than to fill it. */
let rowsRoom = new Uint32Array(1024);

const NO_ESTIMATES = new Float64Array();

/** The rows of the best distinct codes, at most k of each, in order. */
export function rankedRows(
  { distinctCodes }: IndexParts,
  best: Smallest,
  cosineOf: (weight: number) => number,
  { k, want, filter, isOrdered = true }: Wanted,
): Ranked {
  if (distinctCodes.hasDuplicates) return ranked(expanded(best.result()), cosineOf);
  return ranked(isOrdered ? best.result() : best.unordered(), cosineOf);

  /**
   * Adds the further rows of each distinct code: up to k of each, and more where too few remain.
   */
  function expanded(keys: Float64Array): Float64Array {
    const all: number[] = [];
    const spare: number[] = [];
    for (const key of keys) {
      const weight = weightOf(key);
      let taken = 0;
      distinctCodes.eachRow(distinctCodes.distinctOf(rowOf(key)), (row) => {
        if (filter !== null && !filter.accepts(row)) return true;
        if (taken++ < k) all.push(keyOf(weight, row));
        else if (spare.length < want) spare.push(keyOf(weight, row));
        else return false;
        return true;
      });
    }
    return Float64Array.from(all.concat(spare.slice(0, Math.max(0, want - all.length)))).sort();
  }
}

function ranked(keys: Float64Array, cosineOf: (weight: number) => number): Ranked {
  const { length } = keys;
  const rows = new Uint32Array(length);
  const estimates = new Float64Array(length);
  for (let i = 0; i < length; i++) {
    rows[i] = rowOf(keys[i]);
    estimates[i] = cosineOf(weightOf(keys[i]));
  }
  return { rows, estimates };
}

/** The k rows of the highest cosines, then row. */
export function bestByCosine(
  rows: Uint32Array,
  cosines: Float64Array,
  k: number,
): { rows: Uint32Array; cosines: Float64Array } {
  const best = new Highest(Math.min(k, rows.length));
  for (let i = 0; i < rows.length; i++) best.take(cosines[i], rows[i]);
  const { rows: bestRows, scores } = best.result();
  return { rows: bestRows, cosines: scores };
}
