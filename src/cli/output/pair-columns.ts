/** Pairs as columns: rows, ids where there are any, the distance, and the cosine by its kind. */

import { cosineOf } from '../../hashing/angle';
import type { ColumnData, Ids, PairBatch } from '../../node';
import { idsAt } from '../input/ids';

/** More would tell nothing: an estimate of 65,535 bits errs in the third. */
const DIGITS = 6;

/** Makes the columns of batch after batch; `cosine` is exact, `cosine_estimate` of the bits. */
export function pairColumns(
  bits: number,
  idsOf: { a: Ids | null; b: Ids | null },
): (batch: PairBatch) => Record<string, ColumnData> {
  const estimates = Float64Array.from({ length: bits + 1 }, (_, distance) =>
    Number(cosineOf(distance, bits).toFixed(DIGITS)),
  );
  return ({ a, b, distances, cosines }) => ({
    ...{ a, b },
    ...(idsOf.a && { id_a: idsAt(idsOf.a, a) }),
    ...(idsOf.b && { id_b: idsAt(idsOf.b, b) }),
    distance: distances,
    ...(cosines === null
      ? { cosine_estimate: Float64Array.from(distances, (distance) => estimates[distance]) }
      : { cosine: cosines }),
  });
}
