/** All pairs of the rows of a sample, at every width at once. */

import type { LongCall } from '../base/steps';
import { Codes } from '../codes/codes';
import { scanAll } from '../codes/scan';
import type { PairCosines } from './pair-cosines';
import { PairTally } from './pair-tally';

const TOGETHER = 32;

export interface SamplePairs {
  /** Null where there are no vectors: then distances are all that is known. */
  readonly cosines: PairCosines | null;
  /** The rows' codes, at one width or several. None may be null. */
  readonly codes: readonly Codes[];
}

/**
 * Tallies by width. Each row's nearest is the one of the highest cosine, or of the least distance
 * at the first width where cosines are not known; of equals the first.
 */
export async function tallyPairs(
  { cosines, codes }: SamplePairs,
  { minCosine, signal, onProgress }: { minCosine: number } & LongCall,
): Promise<PairTally[]> {
  const count = codes[0]?.count ?? 0;
  const tallies = codes.map(({ bits }) => new PairTally(bits, minCosine));
  const distances = codes.map(() => new Uint16Array(count));
  /** By row how near its nearest is, and by width and row how far that one's code is. */
  const best = new Float64Array(count).fill(Number.NEGATIVE_INFINITY);
  const nearest = codes.map(() => new Uint16Array(count));
  const offer = (row: number, nearness: number, other: number) => {
    if (nearness <= best[row]) return;
    best[row] = nearness;
    for (let i = 0; i < codes.length; i++) nearest[i][row] = distances[i][other];
  };
  for (let first = 0; first < count; first += TOGETHER) {
    await new Promise(setImmediate);
    signal?.throwIfAborted();
    const last = Math.min(count, first + TOGETHER);
    const scans = codes.map((some) => scanAll(some, slice(some, first, last), { k: count }));
    for (let row = first; row < last; row++) {
      scans.forEach((found, i) => {
        const neighbors = found[row - first];
        neighbors.rows.forEach((other, place) => {
          distances[i][other] = neighbors.distances[place];
        });
      });
      const exact = cosines?.of(row) ?? null;
      for (let other = row + 1; other < count; other++) {
        for (let i = 0; i < codes.length; i++) {
          if (exact === null) tallies[i].addDistance(distances[i][other]);
          else tallies[i].add(distances[i][other], exact[other]);
        }
        const nearness = exact === null ? -distances[0][other] : exact[other];
        offer(row, nearness, other);
        // Distances are those of `row` to others, so the other's to it stands at the same place.
        offer(other, nearness, other);
      }
    }
    onProgress?.(last, count);
  }
  tallies.forEach((tally, i) => {
    if (count > 1) for (const distance of nearest[i]) tally.addNearest(distance);
  });
  return tallies;
}

function slice(codes: Codes, first: number, last: number): Codes {
  const { bytes, bytesPerCode, bits } = codes;
  return Codes.from(bytes.subarray(first * bytesPerCode, last * bytesPerCode), { bits });
}
