/** Searches of residual codes in plain loops: what the kernel must equal to the bit. */

import { FallingLimit, sortedHits } from '../../../src/kernels/hits';
import { HELD, NO_GAP, type ResidualKernel, VISIT } from '../../../src/kernels/residual-search';
import {
  formulasOf,
  MAX_RESIDUAL_WEIGHT,
  ONE_WEIGHT,
  RANGE,
  type ResidualRows,
  type ResidualTables,
  residualByte,
  residualScale,
} from '../../../src/kernels/residuals';

type Formulas = ReturnType<typeof formulasOf>;

/** Looks up the entries of half a residual code, that of the sides or, from `first` on, another. */
function sumOf(rows: ResidualRows, { tables }: ResidualTables, row: number, first = 0): number {
  let sum = 0;
  for (let i = 0; 2 * i < rows.bytesPerRow; i++) {
    const byte = rows.bytes[residualByte(rows, row, first + i)];
    sum += tables[32 * i + (byte & 15)] + tables[32 * i + 16 + (byte >> 4)];
  }
  return sum;
}

const cosineOf = (sum: number, scale: number, more: number) =>
  Math.fround(Math.fround(sum * scale) + more);

/**
 * What the sides of a row say, raised: it is looked at where this is above 2,047 less the limit.
 * `more` is 2,048 times the product of query and centroid, a float32.
 */
function sideEstimate(
  rows: ResidualRows,
  query: ResidualTables & Pick<Formulas, 'sideBase' | 'sideFactor'>,
  row: number,
  more: number,
  sides = sumOf(rows, query, row),
): number {
  const scale = rows.floats[residualScale(rows.bytesPerRow, row)];
  const first = Math.fround(sides - query.sideBase);
  return cosineOf(first, Math.fround(scale * query.sideFactor), more);
}

/** The weight of a row; null of a removed one, and where its sides rule it out by `before`. */
function weightOf(
  rows: ResidualRows,
  query: ResidualTables & Formulas,
  { row, more, before }: { row: number; more: number; before: number },
): number | null {
  const { bytesPerRow, floats } = rows;
  const scale = floats[residualScale(bytesPerRow, row)];
  if (scale === 0) return null;
  const sides = sumOf(rows, query, row);
  if (!(sideEstimate(rows, query, row, more, sides) > ONE_WEIGHT - before - 1)) return null;
  const sum = Math.fround(2 * sides + sumOf(rows, query, row, bytesPerRow / 2) - query.base);
  const cosine = Math.trunc(cosineOf(sum, Math.fround(scale * query.factor), more));
  return Math.min(Math.max(ONE_WEIGHT - cosine, 0), MAX_RESIDUAL_WEIGHT);
}

export const scalarResiduals: ResidualKernel = {
  holding(rows, all) {
    const queries = all.map((tables) => ({ ...tables, ...formulasOf(tables) }));
    const held = new Uint32Array(HELD);
    const floats = new Float32Array(held.buffer);
    return {
      look({ first, end, code }, visits, take) {
        const products = new Float32Array(visits.buffer, visits.byteOffset, visits.length);
        for (let at = 0; at < visits.length; at += VISIT) {
          const [query, more, limit] = [queries[visits[at]], products[at + 1], visits[at + 2]];
          for (let row = first; row < end; row++) {
            const weight = weightOf(rows, query, { row, more, before: limit });
            if (weight === null || weight > limit) continue;
            [held[0], held[1]] = [code + row - first, weight];
            floats[2] = sideEstimate(rows, query, row, more);
            take(at / VISIT, held, 0, HELD);
          }
        }
      },
    };
  },

  search(rows, tables, want, gap = NO_GAP, earlier) {
    const query = { ...tables, ...formulasOf(tables) };
    const hits = new FallingLimit(MAX_RESIDUAL_WEIGHT, want);
    const reach = Math.fround(gap);
    let before = hits.limit;
    if (earlier !== undefined) {
      before = earlier.before;
      hits.goOn(earlier.hits(), earlier.limit);
    }
    const take = (row: number, code: number, more: number) => {
      const weight = weightOf(rows, query, { row, more, before });
      if (weight !== null) hits.take(code, weight);
    };
    return {
      get limit() {
        return hits.limit;
      },
      get held() {
        return hits.held;
      },
      get before() {
        return before;
      },
      ranges(ranges, isSame = false) {
        const floats32 = new Float32Array(ranges.buffer, ranges.byteOffset, ranges.length);
        for (let at = 0; at < ranges.length; at += RANGE) {
          const [first, code, count] = ranges.subarray(at, at + RANGE);
          const more = floats32[at + 3];
          if (at === 0 ? !isSame : ranges[at + 3] !== ranges[at - 1]) {
            const below = Math.fround(ONE_WEIGHT - hits.limit - more);
            if (hits.held >= want && below > reach) return at / RANGE;
            before = hits.limit;
          }
          for (let i = 0; i < count; i++) take(first + i, code + i, more);
        }
        return ranges.length / RANGE;
      },
      hits: () => sortedHits(hits.list, hits.limit),
    };
  },
};
