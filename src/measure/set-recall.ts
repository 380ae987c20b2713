/**
 * The recall of plans of sets: of the pairs of a sample at a Jaccard similarity or more, the share
 * within the distance up to which `dedup` looks for candidates. Each candidate is then checked
 * exactly, so no pair of a plan is wrong, and recall is all that there is to measure.
 */

import type { LongCall } from '../base/steps';
import type { Codes } from '../codes/codes';
import { catchingDistance, DEFAULT_SHARE, JACCARD } from '../codes/measure';
import { pairs } from '../join/pairs';
import type { SparseMatrix } from '../vectors/vectors';

/** What is found of the pairs of a sample with at least a similarity. */
export interface SetRecall {
  readonly least: number;
  readonly pairs: number;
  /** 1 if there are no pairs. */
  readonly recall: number;
}

/** Similarities that are measured, in hundredths; below these, most pairs are near by chance. */
const LEAST = { from: 20, to: 100 } as const;

/** Compares all pairs of sets exactly, and counts them by lowest similarity, ascending. */
export async function setRecall(
  codes: Codes,
  vectors: SparseMatrix,
  call: LongCall,
): Promise<SetRecall[]> {
  const { bits } = codes;
  const lines = Array.from({ length: LEAST.to - LEAST.from + 1 }, (_, i) => {
    const least = (LEAST.from + i) / 100;
    const within = catchingDistance(JACCARD, { least, bits, probability: DEFAULT_SHARE });
    return { least, within, pairs: 0, caught: 0 };
  });
  const all = { minJaccard: lines[0].least, maxDistance: bits, vectors, ...call };
  for await (const { distances, jaccards } of pairs(codes, all)) {
    distances.forEach((distance, i) => {
      for (const line of lines) {
        if ((jaccards as Float64Array)[i] < line.least) break;
        line.pairs++;
        line.caught += Number(distance <= line.within);
      }
    });
  }
  return lines.map(({ least, pairs, caught }) => {
    return { least, pairs, recall: pairs === 0 ? 1 : caught / pairs };
  });
}
