/**
 * By what searches of a build end early: measured as an index in memory measures it, with the same
 * rows, in the files that will be published.
 */

import { gapsOf, meanGaps, sampleStep } from '../index/partitions/gaps';
import type { StoredPartitions } from '../stored/stored-partitions';
import { type BuildToMeasure, openUnpublished } from './build-tuning';
import { pieces } from './passing-rows';

/** The gaps of gaps.ts; none where there are no residual codes. */
export async function measuredGaps(build: BuildToMeasure): Promise<number[]> {
  if (build.training.vectors.residualCodes === null) return [];
  const units = await unitsOf(build, sampledRows(build));
  const index = await openUnpublished(build);
  try {
    const searches = units.map((unit) => {
      return gapsOf(index.view(true).partitions as StoredPartitions, unit);
    });
    return meanGaps(await index.together(searches, build.call));
  } finally {
    await index.close();
  }
}

/** The first rows of sampled codes, in the order of memory: by partition, then row. */
function sampledRows({ rows, shared, training, assigned }: BuildToMeasure): number[] {
  const { firsts } = shared;
  const distinct = rows.rowsWithCodes().filter((row) => {
    return firsts === null || firsts[row - rows.firstRow] === row;
  });
  const next = new Uint32Array(training.centroids.count + 1);
  for (const row of distinct) next[assigned.partitionOf(row) + 1]++;
  for (let p = 1; p < next.length; p++) next[p] += next[p - 1];
  const step = sampleStep(distinct.length);
  const sampled: number[] = [];
  for (const row of distinct) {
    const place = next[assigned.partitionOf(row)]++;
    if (place % step === 0) sampled[place / step] = row;
  }
  return sampled;
}

/** The vectors of rows at length 1, in the order of the rows given. */
async function unitsOf(build: BuildToMeasure, order: readonly number[]): Promise<Float64Array[]> {
  const { vectors } = build.training;
  const placeOf = new Map(order.map((row, place) => [row, place]));
  const units = new Array<Float64Array>(order.length);
  for await (const piece of pieces(build.rows, build.call)) {
    vectors.piece = piece;
    piece.rows.forEach((row, i) => {
      const place = placeOf.get(row);
      if (place !== undefined) units[place] = vectors.unitOf(i);
    });
  }
  return units;
}
