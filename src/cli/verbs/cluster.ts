/**
 * `halfspace cluster`: which rows belong together, by k-means or by density. Writes a line for
 * each row, and shows the largest clusters as a table on stderr; clusters of texts are named by the
 * words that set them apart.
 */

import { clusterAsync, clusterByDensityAsync } from '../../node';
import type { Call } from '../call';
import { type Collection, type CollectionNeeds, readCollection } from '../input/collection';
import { checkMeasure, LEAST } from '../input/nearness';
import { hasTexts, textsOfRows } from '../input/texts';
import { namingSample, wordsApart } from '../output/cluster-words';
import { clusterRows, clusterTable, type Found } from '../output/clusters';
import { counted, excerpt } from '../output/figures';
import { isForPeople, openOutput } from '../output/rows';

/** By value of --by what k-means runs on, and must be held besides the codes if rows have it. */
const HOLD: Record<string, CollectionNeeds['hold']> = {
  vectors: 'vectors',
  accumulators: 'sums',
};
/** First characters of a text in which words are looked for that name its cluster. */
const NAMED_CHARACTERS = 20_000;
/** Values of --by as the library's `by`; sums (accumulators) are clustered as vectors. */
const BY = { vectors: 'vectors', codes: 'bits', majority: 'majority' } as const;

/** Writes a row for each row of the input, and shows a table of the largest clusters. */
export async function run(call: Call): Promise<0> {
  const input = call.onlyInput();
  checkOptions(call);
  const writer = isForPeople(call) ? null : await openOutput(call, { inputs: [input] });
  const isByDensity = call.has('density');
  const by = call.text('by') ?? 'vectors';
  const rows = await readCollection(call, input, {
    hold: isByDensity ? undefined : HOLD[by],
  });
  checkBy(call, rows);
  checkMeasure(call, rows.measure);
  const found = await (isByDensity ? byDensity(call, rows) : byCentroids(call, rows));
  // Texts were not held: those of medoids and of a sample of the members are read again.
  const medoids = found.clusters.map(({ medoid }) => medoid);
  const members = membersOf(found).map(namingSample);
  const wanted = [...new Set([...medoids, ...members.flat()])];
  const beginning = (_: number, text: string) => text.slice(0, NAMED_CHARACTERS);
  const texts = await textsOfRows(call, rows, wanted, beginning);
  const keywords = hasTexts(rows) ? wordsApart(textsOf(members, texts)) : null;
  const { ids } = rows;
  const labelOf = (row: number) => {
    const text = texts.get(row);
    return text !== undefined ? excerpt(text) : ids === null ? `row ${row}` : String(ids[row]);
  };
  if (writer !== null) {
    const batches = clusterRows(call, rows, found, { labelOf, keywords });
    for await (const batch of batches) await writer.write(batch);
    await writer.close();
  }
  call.say(`\n${clusterTable(rows, found, { labelOf, keywords })}\n`);
  return 0;
}

/** The rows of each cluster, ascending; rows in no cluster (label -1) are left out. */
function membersOf({ clusters, labels }: Found): number[][] {
  const members = clusters.map((): number[] => []);
  labels.forEach((label, row) => {
    if (label >= 0) members[label].push(row);
  });
  return members;
}

/** For each cluster the texts of its members; a text that is not in `texts` counts as empty. */
function* textsOf(members: readonly number[][], texts: ReadonlyMap<number, string>) {
  for (const rows of members) yield rows.map((row) => texts.get(row) ?? '');
}

/** Refuses all but one of --clusters and --density, and options that only the other one takes. */
function checkOptions(call: Call): void {
  const isByDensity = call.has('density');
  if (call.has('clusters') === isByDensity) {
    call.misuse('give --clusters N, or --density where the number is not known');
  }
  const others = isByDensity
    ? ['by']
    : ['min-cluster-size', 'min-samples', 'max-distance', ...LEAST];
  const right = isByDensity ? '--clusters' : '--density';
  call.refuse(others, (name) => `--${name} is for ${right}`);
}

/** Refuses --by vectors or accumulators (sums) where the rows have none. */
function checkBy(call: Call, { vectors, sums, path }: Collection): void {
  const by = call.text('by');
  if (by === 'vectors' && vectors !== 'dense') {
    call.misuse(`${path} gives no dense vectors: --by accumulators or --by codes`);
  }
  if (by === 'accumulators' && sums === null) {
    call.misuse(`${path} gives codes only: --by codes`);
  }
}

/**
 * k-means on what `--by` names: by default dense vectors if the rows have them, else codes. Says
 * the mean cosine of rows to their centroid.
 */
async function byCentroids(call: Call, rows: Collection): Promise<Found> {
  const { source, sums, vectors } = rows;
  const by = call.text('by') ?? (vectors === 'dense' ? 'vectors' : 'codes');
  const isOfBits = sums === null && by !== 'vectors';
  if (rows.count === 0) return { ...NOTHING, centroids: new Float64Array(), isOfBits };
  const found = await call.long('clustering', (work) =>
    clusterAsync(sums ?? source, {
      clusters: call.number('clusters') as number,
      seed: BigInt(call.text('seed') as string),
      by: sums !== null ? 'vectors' : BY[by as keyof typeof BY],
      ...work,
    }),
  );
  const { clusters, labels, centroids, objective } = found;
  call.say(`clusters by ${by}: mean cosine of rows to their centroid ${objective.toFixed(3)}`);
  return { clusters, labels, centroids, isOfBits };
}

/** The result for an input without rows. */
const NOTHING: Found = {
  ...{ clusters: [], labels: new Int32Array(), centroids: null, isOfBits: false },
};

/** HDBSCAN* (Campello, Moulavi & Sander 2013) on the codes; rows may be in no cluster. */
async function byDensity(call: Call, { source, count }: Collection): Promise<Found> {
  if (count === 0) return NOTHING;
  const { clusters, labels, noise } = await call.long('looking for dense regions', (work) =>
    clusterByDensityAsync(source, {
      ...call.numbers('minClusterSize', 'minSamples'),
      ...call.numbers('maxDistance', 'minCosine', 'minJaccard'),
      ...work,
    }),
  );
  call.say(`${counted(clusters.length, 'cluster')}, ${counted(noise, 'row')} in none`);
  return { clusters, labels, centroids: null, isOfBits: false };
}
