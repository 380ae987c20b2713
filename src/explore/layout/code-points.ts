/**
 * Rows with codes as points of a map. The nearest are found by distance; where vectors are held,
 * the best of three times as many by exact cosine.
 */

import { Codes } from '../../codes/codes';
import { scanAll } from '../../codes/scan';
import type { DenseMatrix } from '../../vectors/vectors';
import { dot, type MapPoints } from './map-rows';

/** Nearest by distance that are ranked by cosine, in units of those that are wanted. */
const RANKED = 3;

/** Points of rows, ascending, by their codes; and by the vectors of some, null if none are held. */
export function codePoints(
  rows: Uint32Array,
  codes: Codes,
  vectorsOf: (rows: Uint32Array) => DenseMatrix | null,
): MapPoints {
  const heldOf = (points: Uint32Array) => vectorsOf(points.map((point) => rows[point]));
  return {
    rows,
    vectorsOf: (points) => heldOf(points) ?? signsOf(codesAt(codes, points)),
    nearestIn: (sample) => {
      const own = codesAt(codes, sample);
      const vectorsOfSample = heldOf(sample);
      const held = vectorsOfSample && {
        ...vectorsOfSample,
        lengths: lengthsOf(vectorsOfSample),
      };
      return async (points, k, work) => {
        const wanted = 1 + (held === null ? k : RANKED * k);
        const found = await scanAll(own, codesAt(codes, points), { k: wanted, ...work.call });
        const vectors = held && heldOf(points);
        return found.map(({ rows: near }, i) => {
          const others = near.filter((at) => sample[at] !== points[i]);
          return (held && vectors ? ranked(others, held, vectors, i) : others).subarray(0, k);
        });
      };
    },
  };
}

function codesAt({ bytes, bytesPerCode, bits }: Codes, points: Uint32Array): Codes {
  const some = new Uint8Array(points.length * bytesPerCode);
  points.forEach((point, i) => {
    const from = point * bytesPerCode;
    some.set(bytes.subarray(from, from + bytesPerCode), i * bytesPerCode);
  });
  return Codes.from(some, { bits });
}

/** Codes as vectors of a value for each bit, +1 or -1. */
function signsOf({ bytes, bytesPerCode, bits, count }: Codes): DenseMatrix {
  const values = new Float32Array(count * bits);
  for (let row = 0, to = 0; row < count; row++) {
    const from = row * bytesPerCode;
    for (let bit = 0; bit < bits; bit++, to++) {
      values[to] = 2 * ((bytes[from + (bit >> 3)] >> (bit & 7)) & 1) - 1;
    }
  }
  return { values, dimensions: bits };
}

function lengthsOf({ values, dimensions }: DenseMatrix): Float64Array {
  return Float64Array.from({ length: values.length / dimensions }, (_, row) => {
    const at = row * dimensions;
    return Math.sqrt(dot(values, at, values, at, dimensions));
  });
}

/** Rows of `held` by their cosine to row `own` of `vectors`, the highest first, then by row. */
function ranked(
  rows: Uint32Array,
  held: DenseMatrix & { readonly lengths: Float64Array },
  vectors: DenseMatrix,
  own: number,
) {
  const { values, dimensions, lengths } = held;
  const cosines = new Map<number, number>();
  for (const row of rows) {
    const [at, from] = [row * dimensions, own * dimensions];
    cosines.set(row, dot(values, at, vectors.values, from, dimensions) / lengths[row]);
  }
  const cosineOf = (row: number) => cosines.get(row) as number;
  return rows.sort((a, b) => cosineOf(b) - cosineOf(a) || a - b);
}
