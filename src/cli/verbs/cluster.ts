/**
 * `halfspace cluster`: which rows belong together, by k-means or by density. Writes a line for each
 * row: its cluster, whether it is the cluster's medoid, its distance from that in bits, and what
 * the cluster is called; a row in no cluster has cluster and distance -1. Shows the largest
 * clusters as a table on stderr; clusters of texts are named by the words that set them apart.
 */

import { idsAt } from '../../base/arrays';
import { namingSample, wordsApart } from '../../clusters/describe';
import { rowsOf } from '../../near/rows';
import { type Cluster, cluster, clusterByDensity, hammingDistance, RowBatch } from '../../node';
import { plainColumn, plainData } from '../../table/columns/make';
import { batchRanges } from '../../table/sealed/sealed-table';
import type { Call } from '../call';
import { type Collection, readCollection } from '../input/collection';
import { aligned, counted, excerpt, grouped } from '../output/figures';
import { isForPeople, openOutput } from '../output/rows';

/** The row of a cluster that is most like all of its rows. */
const medoidOf = ({ exemplars }: Cluster) => exemplars[0];
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

interface Names {
  /** The beginning of the text of a row, else its id. */
  readonly labelOf: (row: number) => string;
  /** By cluster the words that set it apart; null if the rows are not texts. */
  readonly keywords: readonly (readonly string[])[] | null;
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
  const names = await namesOf(rows, found);
  if (writer !== null) {
    for (const [first, end] of batchRanges(rows.rows.length)) {
      call.signal.throwIfAborted();
      await writer.write(linesOf(rows, found, names, rows.rows.subarray(first, end)));
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

/** Reads the texts of medoids, and of a sample of the members of each cluster. */
async function namesOf({ texts, ids }: Collection, { clusters, labels }: Found): Promise<Names> {
  const members = clusters.map((): number[] => []);
  labels.forEach((label, row) => {
    if (label >= 0) members[label].push(row);
  });
  const samples = members.map(namingSample);
  const wanted = [...clusters.map(medoidOf), ...samples.flat()];
  const known = await texts.of(wanted, (_, text) => text.slice(0, NAMED_CHARACTERS));
  const textsOf = (rows: readonly number[]) => rows.map((row) => known.get(row) ?? '');
  return {
    labelOf(row) {
      const text = known.get(row);
      if (text !== undefined) return excerpt(text);
      return ids === null ? `row ${row}` : String(ids[row]);
    },
    keywords: texts.column !== null ? wordsApart(samples.map(textsOf)) : null,
  };
}

/** The lines of some rows; a cluster is called by the label of its medoid. */
function linesOf(
  { ids, source }: Collection,
  { clusters, labels }: Found,
  { labelOf, keywords }: Names,
  block: Uint32Array,
): RowBatch {
  const { codes } = rowsOf('source', source);
  const cluster = Int32Array.from(block, (row) => labels[row]);
  const medoids = clusters.map(medoidOf);
  const isMedoid = Array.from(block, (row, i) => medoids[cluster[i]] === row);
  const distanceOf = (row: number) => {
    const medoid = medoids[labels[row]];
    return medoid === undefined ? -1 : hammingDistance(codes.at(row), codes.at(medoid));
  };
  const labelFor = (one: number) => (clusters[one] ? labelOf(medoids[one]) : null);
  return RowBatch.of({
    row: block,
    ...(ids !== null && { id: idsAt(ids, block) }),
    cluster,
    // An empty array would not say the type.
    medoid: block.length === 0 ? plainColumn('medoid', 'bool', plainData('bool', [])) : isMedoid,
    distance: Int32Array.from(block, distanceOf),
    label: Array.from(cluster, labelFor),
    ...(keywords && { keywords: Array.from(cluster, (one) => keywords[one]?.join(' ') ?? null) }),
  });
}

/** The largest clusters as a table; a single line if there are none. */
function clusterTable(
  { rows }: Collection,
  { clusters }: Found,
  { labelOf, keywords }: Names,
): string {
  const inNone = rows.length - clusters.reduce((sum, { size }) => sum + size, 0);
  const none = inNone > 0 ? `, ${grouped(inNone)} in none` : '';
  const counts = `${counted(rows.length, 'row')} in ${counted(clusters.length, 'cluster')}${none}`;
  if (clusters.length === 0) return counts;
  const order = [...clusters.keys()].sort((a, b) => clusters[b].size - clusters[a].size || a - b);
  const lines = order.slice(0, SHOWN).map((number) => {
    const { size, cohesion } = clusters[number];
    const words = keywords === null ? [] : [keywords[number].join(' ')];
    return [
      String(number),
      String(size),
      cohesion.toFixed(3),
      ...words,
      labelOf(medoidOf(clusters[number])),
    ];
  });
  const words = keywords === null ? [] : ['words'];
  const heading = ['cluster', 'rows', 'mean cosine', ...words, 'medoid'];
  const table = aligned([heading, ...lines], WIDTH);
  const rest = order.length - lines.length;
  return `${counts}\n${table}${rest > 0 ? `\nand ${counted(rest, 'smaller one')}` : ''}`;
}
