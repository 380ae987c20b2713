/** A search of residual codes in plain loops: what the kernel must equal to the bit. */

import { sortedHits } from '../../../src/kernels/hits';
import {
  coarseScale,
  type EntryList,
  formulasOf,
  MAX_RESIDUAL_WEIGHT,
  ONE_WEIGHT,
  RANGE,
  type ResidualRows,
  type ResidualTables,
  residualByte,
  SCALE_BYTES,
  scaleAt,
} from '../../../src/kernels/residuals';
import { FallingLimit } from './falling-limit';

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

/** A product of two integers of 15 bits and a sign, over 2^15 and rounded. */
const q15 = (a: number, b: number) => Math.floor((a * b + 2 ** 14) / 2 ** 15);

/** The cut above which the product of the sides of a row must be; `more` is a float32. */
function cutOf({ cutFactor }: Formulas, more: number, before: number): number {
  if (before >= MAX_RESIDUAL_WEIGHT || cutFactor === 0) return -(2 ** 15);
  const cut = Math.fround(Math.fround(ONE_WEIGHT - before - 1 - more) * cutFactor);
  return Math.trunc(Math.min(Math.max(cut, -(2 ** 15)), 2 ** 15 - 1));
}

/** The weight of a row; null of a removed one, and where its sides rule it out by `before`. */
function weightOf(
  rows: ResidualRows,
  query: ResidualTables & Formulas,
  { row, more, before }: { row: number; more: number; before: number },
): number | null {
  const { bytesPerRow, floats } = rows;
  const scale = floats[scaleAt(rows, row) / SCALE_BYTES];
  if (scale === 0) return null;
  const sides = sumOf(rows, query, row);
  const above = Math.min(sides * 2 ** query.shift - query.sideBase, 2 ** 15 - 1);
  const product = q15(above, coarseScale(bytesPerRow, scale));
  if (product <= cutOf(query, more, before)) return null;
  const sum = Math.fround(2 * sides + sumOf(rows, query, row, bytesPerRow / 2) - query.base);
  const cosine = Math.trunc(cosineOf(sum, Math.fround(scale * query.factor), more));
  return Math.min(Math.max(ONE_WEIGHT - cosine, 0), MAX_RESIDUAL_WEIGHT);
}

/** A search as `EntrySearch` of residuals.ts is, over one list after another. */
export class ScalarEntrySearch {
  readonly #query: ResidualTables & Formulas;
  readonly #hits: FallingLimit;
  #before = MAX_RESIDUAL_WEIGHT;

  constructor(tables: ResidualTables, want: number) {
    this.#query = { ...tables, ...formulasOf(tables) };
    this.#hits = new FallingLimit(MAX_RESIDUAL_WEIGHT, want);
  }

  begin(): void {
    this.#before = this.#hits.limit;
  }

  look({ memory, rowOf }: EntryList, ranges: Uint32Array): void {
    const products = new Float32Array(ranges.buffer, ranges.byteOffset, ranges.length);
    for (let at = 0; at < ranges.length; at += RANGE) {
      const [first, code, count] = ranges.subarray(at, at + RANGE);
      for (let i = 0; i < count; i++) {
        const entry = { row: first + i, more: products[at + 3], before: this.#before };
        const weight = weightOf(memory, this.#query, entry);
        if (weight !== null) this.#hits.take(rowOf(code + i), weight);
      }
    }
  }

  suspend(): void {}

  found() {
    const { codes, weights } = sortedHits(this.#hits.hits(), this.#hits.limit);
    return { rows: codes, weights };
  }
}
