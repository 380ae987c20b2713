/**
 * `halfspace cluster`: which rows belong together, by k-means or by density. Writes a line for each
 * row: its cluster, -1 for none, and what the cluster is called. Shows the largest clusters as a
 * table on stderr.
 */

import { idsAt } from '../../base/arrays';
import { namingSample, wordsApart } from '../../clusters/describe';
import { type Cluster, cluster, clusterByDensity, RowBatch } from '../../node';
import { batchRanges } from '../../table/sealed/sealed-table';
import type { Call } from '../call';
import { type Collection, readCollection } from '../input/collection';
import { aligned, counted, grouped } from '../output/figures';
import { isForPeople, openOutput } from '../output/rows';

/** First characters of a text in which words are looked for that name its cluster. */
const NAMED_CHARACTERS = 20_000;
/** Clusters that the table shows, and its columns of a terminal. */
const SHOWN = 20;
const WIDTH = 100;

interface Found {
  readonly clusters: readonly Cluster[];
  /** By row its cluster, -1 if it is in none. */
  readonly labels: Int32Array;
}

export async function run(call: Call): Promise<0> {
  const input = call.onlyInput();
  const isByDensity = call.has('density');
  if (call.has('clusters') === isByDensity) {
    call.misuse('give --clusters N, or --density where the number is not known');
  }
  const writer = isForPeople(call) ? null : await openOutput(call, { inputs: [input] });
  const rows = await readCollection(call, input, { hold: isByDensity ? undefined : 'sums' });
  const none: Found = { clusters: [], labels: new Int32Array() };
  const found = rows.count === 0 ? none : await (isByDensity ? byDensity : byCentroids)(call, rows);
  const names = await labelsOf(rows, found);
  if (writer !== null) {
    for (const [first, end] of batchRanges(rows.rows.length)) {
      call.signal.throwIfAborted();
      const row = rows.rows.subarray(first, end);
      const cluster = Int32Array.from(row, (one) => found.labels[one]);
      const label = Array.from(cluster, (one) => names[one] ?? null);
      const id = rows.ids !== null && { id: idsAt(rows.ids, row) };
      await writer.write(RowBatch.of({ row, ...id, cluster, label }));
    }
    await writer.close();
  }
  call.say(`\n${clusterTable(rows, found, names)}\n`);
  return 0;
}

/**
 * k-means: of dense vectors where the rows have them, of texts and sparse rows by the sums whose
 * signs are the bits, else of codes. Says the mean cosine of rows to their centroid.
 */
async function byCentroids(call: Call, rows: Collection): Promise<Found> {
  const { source, sums, vectors } = rows;
  const { clusters, labels, objective } = await call.long('clustering', (work) =>
    cluster(sums ?? source, {
      clusters: call.number('clusters') as number,
      seed: BigInt(call.text('seed') as string),
      ...work,
    }),
  );
  const of = sums !== null ? 'sums' : vectors === 'dense' ? 'vectors' : 'codes';
  call.say(`clusters by ${of}: mean cosine of rows to their centroid ${objective.toFixed(3)}`);
  return { clusters, labels };
}

/** HDBSCAN* (Campello, Moulavi & Sander 2013) on the codes; rows may be in no cluster. */
function byDensity(call: Call, { source }: Collection): Promise<Found> {
  return call.long('looking for dense regions', (work) =>
    clusterByDensity(source, {
      minClusterSize: call.number('min-cluster-size'),
      minSamples: call.number('min-samples'),
      ...work,
    }),
  );
}

/**
 * By cluster what it is called: the words that set its texts apart, which are read from a sample
 * of its rows; without such words the id of its medoid.
 */
async function labelsOf({ texts, ids }: Collection, { clusters, labels }: Found) {
  const members = clusters.map((): number[] => []);
  labels.forEach((label, row) => {
    if (label >= 0) members[label].push(row);
  });
  const samples = members.map(namingSample);
  const known = await texts.of(samples.flat(), (_, text) => text.slice(0, NAMED_CHARACTERS));
  const words = wordsApart(samples.map((rows) => rows.map((row) => known.get(row) ?? '')));
  return clusters.map(({ exemplars: [medoid] }, cluster) => {
    if (words[cluster].length > 0) return words[cluster].join(' ');
    return ids === null ? `row ${medoid}` : String(ids[medoid]);
  });
}

/** The largest clusters as a table; a single line if there are none. */
function clusterTable({ rows }: Collection, { clusters }: Found, names: readonly string[]): string {
  const inNone = rows.length - clusters.reduce((sum, { size }) => sum + size, 0);
  const none = inNone > 0 ? `, ${grouped(inNone)} in none` : '';
  const counts = `${counted(rows.length, 'row')} in ${counted(clusters.length, 'cluster')}${none}`;
  if (clusters.length === 0) return counts;
  const order = [...clusters.keys()].sort((a, b) => clusters[b].size - clusters[a].size || a - b);
  const lines = order.slice(0, SHOWN).map((number) => {
    const { size, cohesion } = clusters[number];
    return [String(number), String(size), cohesion.toFixed(3), names[number]];
  });
  const table = aligned([['cluster', 'rows', 'mean cosine', 'label'], ...lines], WIDTH);
  const rest = order.length - lines.length;
  return `${counts}\n${table}${rest > 0 ? `\nand ${counted(rest, 'smaller one')}` : ''}`;
}
