/**
 * The weights by which codes are ranked: each bit in which a code differs from that of the query
 * weighs |sum|, so that bits of which the query is sure count more. Weights are rounded once a
 * query, so that every engine ranks alike.
 */

import { MAX_ENTRY, MAX_WEIGHT, type WeightTables } from '../kernels/weighted';
import type { Query } from './query-parts';

/** The accumulators of a query; of a code alone those that weigh each bit alike. */
export function sumsOf({ bits }: { readonly bits: number }, { sums, code }: Query): Float64Array {
  return sums ?? evenSums(code, bits);
}

interface Weights extends WeightTables {
  /** The cosine that a code's weight estimates: 1 for the query's own code. */
  cosineOf(weight: number): number;
}

const BITS_A_TABLE = 4;
const TABLE = 1 << BITS_A_TABLE;

/** Tables of a query: of its accumulators, one a bit. */
export function weightsOf(sums: Float64Array): Weights {
  const bits = sums.length;
  const groups = Math.ceil(bits / BITS_A_TABLE);
  const tables = new Uint8Array(Math.ceil(bits / 64) * 16 * TABLE);
  let heaviest = 0;
  let total = 0;
  for (let group = 0; group < groups; group++) {
    let weight = 0;
    for (let bit = BITS_A_TABLE * group; bit < bits && bit < BITS_A_TABLE * (group + 1); bit++) {
      weight += Math.abs(sums[bit]);
    }
    heaviest = Math.max(heaviest, weight);
    total += weight;
  }
  const mostEntry = Math.min(MAX_ENTRY, Math.floor(MAX_WEIGHT / groups));
  const scale = heaviest > 0 ? mostEntry / heaviest : 0;
  let most = 0;
  for (let group = 0; group < groups; group++) {
    most += tableInto(sums, BITS_A_TABLE * group, scale, tables, TABLE * group);
  }
  const share = total > 0 ? 2 / (total * scale) : 0;
  return { tables, maxWeight: most, cosineOf: (weight) => Math.max(-1, 1 - weight * share) };
}

const sumsOfValues = new Float64Array(TABLE);

/** The weights of all values of four bits; returns the largest. */
function tableInto(
  sums: Float64Array,
  firstBit: number,
  scale: number,
  tables: Uint8Array,
  at: number,
): number {
  const weights = sumsOfValues;
  weights[0] = 0;
  for (let i = 0, step = 1; i < BITS_A_TABLE; i++, step *= 2) {
    const sum = firstBit + i < sums.length ? sums[firstBit + i] : 0;
    const isSet = sum > 0;
    for (let value = 0; value < step; value++) {
      weights[step + value] = isSet ? weights[value] : weights[value] - sum;
      if (isSet) weights[value] += sum;
    }
  }
  let most = 0;
  for (let value = 0; value < TABLE; value++) {
    const entry = (weights[value] * scale + 0.5) | 0;
    tables[at + value] = entry;
    if (entry > most) most = entry;
  }
  return most;
}

/** Accumulators that weigh every bit alike: by them, a code is ranked by its distance. */
function evenSums(code: Uint8Array, bits: number): Float64Array {
  return Float64Array.from(
    { length: bits },
    (_, bit) => ((code[bit >> 3] >> (bit & 7)) & 1) * 2 - 1,
  );
}
