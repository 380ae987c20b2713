/** A search of residual codes in plain loops: what the kernel must equal to the bit. */

import {
  coarseScale,
  type EntryList,
  formulasOf,
  MAX_RESIDUAL_WEIGHT,
  ONE_WEIGHT,
  RANGE,
  type Residuals,
  type ResidualTables,
  residualByte,
  scalesOf,
} from '../../../src/kernels/residuals';
import { FallingLimit } from './falling-limit';

type Formulas = ReturnType<typeof formulasOf>;

/** Looks up the entries of half a residual code, that of the sides or, from `first` on, another. */
function sumOf(rows: Residuals, { tables }: ResidualTables, row: number, first = 0): number {
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

/** The weight by sides alone; `more` is a float32. */
function weightBySides(
  { cutFactor, shift, sideBase }: Formulas,
  { sides, coarse, more }: { sides: number; coarse: number; more: number },
): number {
  if (cutFactor === 0) return 0;
  const product = q15(Math.min(sides * 2 ** shift - sideBase, 2 ** 15 - 1), coarse);
  const least = Math.fround(ONE_WEIGHT - 1 - more) - Math.fround(product / cutFactor);
  return Math.min(Math.max(Math.floor(Math.fround(least)) + 1, 0), MAX_RESIDUAL_WEIGHT);
}

/** The weight of a row; null of a removed one. */
function weightOf(
  rows: Residuals,
  query: ResidualTables & Formulas,
  row: number,
  more: number,
): number | null {
  const { bytesPerRow } = rows;
  const { scale } = scalesOf(rows, row);
  if (scale === 0) return null;
  const sides = sumOf(rows, query, row);
  const sum = Math.fround(2 * sides + sumOf(rows, query, row, bytesPerRow / 2) - query.base);
  const cosine = Math.trunc(cosineOf(sum, Math.fround(scale * query.factor), more));
  const whole = Math.min(Math.max(ONE_WEIGHT - cosine, 0), MAX_RESIDUAL_WEIGHT);
  const coarse = coarseScale(bytesPerRow, scale);
  return Math.max(whole, weightBySides(query, { sides, coarse, more }));
}

/** A search as `EntrySearch` of residuals.ts is, over one list after another. */
export class ScalarEntrySearch {
  readonly #query: ResidualTables & Formulas;
  readonly #hits: FallingLimit;

  constructor(tablesOf: () => ResidualTables, want: number) {
    const given = tablesOf();
    this.#query = { ...given, tables: given.tables.slice(), ...formulasOf(given) };
    this.#hits = new FallingLimit(MAX_RESIDUAL_WEIGHT, want);
  }

  look({ memory, rowOf }: EntryList & { memory: Residuals }, ranges: Uint32Array): void {
    const products = new Float32Array(ranges.buffer, ranges.byteOffset, ranges.length);
    for (let at = 0; at < ranges.length; at += RANGE) {
      const [, , , first, code, count] = ranges.subarray(at, at + RANGE);
      for (let i = 0; i < count; i++) {
        const weight = weightOf(memory, this.#query, first + i, products[at + 6]);
        if (weight !== null) this.#hits.take(rowOf(code + i), weight);
      }
    }
  }

  suspend(): void {}

  found() {
    return this.#hits.hits();
  }
}
