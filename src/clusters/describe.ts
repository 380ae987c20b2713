/**
 * What a cluster is about: exemplars, the rows of the largest mean cosine to all rows of their
 * cluster; this mean is the product with the mean of the rows, so they are exact, and no pairs are
 * compared. Clusters of texts are named by the words that set them apart: words in many texts of
 * one cluster and in few of the others, as TF-IDF does with a cluster as the document. A word that
 * all texts share, as those of a licence's head, scores 0; stop words, paths and addresses count as
 * no words.
 */

import type { LongWork } from '../base/long-work';
import { Highest } from '../base/top-k';
import { addTo, dot, type Points } from '../k-means/k-means';
import { words } from '../text/tokens';
import { clampedCosine, lengthOf } from '../vectors/vectors';

/** Exemplars of a cluster, where it has as many rows. */
const EXEMPLARS = 5;
/** Points between two steps. */
const STEP_POINTS = 1024;

export interface Cluster {
  /** Number of rows. */
  readonly size: number;
  /** Mean cosine of its rows to its centroid. */
  readonly cohesion: number;
  /**
   * The five rows of the largest mean cosine to all rows of the cluster, the largest first, of
   * equal ones the first row: those most like the others.
   */
  readonly exemplars: Uint32Array;
}

/**
 * Describes `count` clusters, none of them empty. Row `points.rows[i]` is in cluster
 * `clusterOf[i]`, or in none if that is below 0. `centroids` are unit vectors; null for the
 * directions of the sums of the clusters' rows.
 */
export async function summaries(
  points: Points,
  clusterOf: ArrayLike<number>,
  { count, centroids }: { readonly count: number; readonly centroids: Float64Array | null },
  work: LongWork,
): Promise<Cluster[]> {
  const { dimensions, length } = points;
  const sums = new Float64Array(count * dimensions);
  const sizes = new Uint32Array(count);
  await eachPoint(points, clusterOf, work, (point, cluster) => {
    sizes[cluster]++;
    addTo(sums, cluster * dimensions, point);
  });
  const best = Array.from({ length: count }, () => new Highest(EXEMPLARS));
  await eachPoint(points, clusterOf, work, (point, cluster, row) => {
    best[cluster].take(dot(point, 0, sums, cluster * dimensions, dimensions), row);
  });
  return best.map((one, cluster) => {
    const [at, size] = [cluster * dimensions, sizes[cluster]];
    const toCentroid =
      centroids === null
        ? lengthOf(sums.subarray(at, at + dimensions))
        : dot(sums, at, centroids, at, dimensions);
    const cohesion = clampedCosine(toCentroid / (length * size));
    return { size, cohesion, exemplars: one.result().rows };
  });
}

/** Calls `take` with the point of each row that is in a cluster; it is valid during the call. */
async function eachPoint(
  points: Points,
  clusterOf: ArrayLike<number>,
  work: LongWork,
  take: (point: Float64Array, cluster: number, row: number) => void,
): Promise<void> {
  const { rows, dimensions } = points;
  const point = new Float64Array(dimensions);
  for (let i = 0; i < rows.length; i++) {
    if (clusterOf[i] >= 0) {
      points.into(rows[i], point, 0);
      take(point, clusterOf[i], rows[i]);
    }
    if (i % STEP_POINTS === STEP_POINTS - 1) await work.step();
  }
}

/** The cluster of each row of a source: `clusterOf[i]` for row `points.rows[i]`, else -1. */
export function labelsOf(points: Points, clusterOf: ArrayLike<number>): Int32Array {
  const labels = new Int32Array(points.rowCount).fill(-1);
  points.rows.forEach((row, i) => {
    labels[row] = clusterOf[i];
  });
  return labels;
}

/** Texts of a cluster that are read, about, and words of a name, at most. */
const NAMING_TEXTS = 200;
const NAME_WORDS = 3;
/** A word that names a cluster is in this share of its texts, and so many times that elsewhere. */
const MIN_SHARE = 0.05;
const MIN_RATIO = 2;

/** English words that name nothing, however much more often a cluster has them. */
const STOP_WORDS =
  ' about after all also and any are because been before but can could did does down each ' +
  'for from get gets had has have her here him his how into its just like make many may ' +
  'more most much must need not now off once one only other our out over own same she ' +
  'should some such than that the their them then there these they this those too two ' +
  'under until use used very was way well were what when where which while who whose why ' +
  'will with without would you your ';

/** Every n-th member of a cluster: at least NAMING_TEXTS of many, fewer than twice as many. */
export function namingSample(members: readonly number[]): number[] {
  const every = Math.max(1, Math.floor(members.length / NAMING_TEXTS));
  return members.filter((_, i) => i % every === 0);
}

/**
 * For each cluster, given by its texts, the words that set it apart, the best first; an empty list
 * if none does. Texts are read one cluster at a time.
 */
export function wordsApart(clusters: Iterable<readonly string[]>): string[][] {
  const shares = Array.from(clusters, wordShares);
  const sums = new Map<string, number>();
  for (const own of shares) {
    for (const [word, share] of own) sums.set(word, (sums.get(word) ?? 0) + share);
  }
  return shares.map((own) =>
    [...own]
      .map(([word, share]) => ({ word, score: scoreOf(share, sums.get(word) ?? 0, shares.length) }))
      .filter(({ word, score }) => score > 0 && isName(word))
      .sort((a, b) => b.score - a.score || (a.word < b.word ? -1 : 1))
      .slice(0, NAME_WORDS)
      .map(({ word }) => word),
  );
}

/**
 * How well a word describes a cluster: 0 if it is too rare there or too frequent elsewhere. `share`
 * is the part of the cluster's texts that have it, `sum` that of all clusters added up.
 */
function scoreOf(share: number, sum: number, clusters: number): number {
  const elsewhere = (sum - share) / Math.max(1, clusters - 1);
  if (share < MIN_SHARE || share < MIN_RATIO * elsewhere) return 0;
  const rare = 1 - sum / clusters;
  return (rare * rare * share * (share - elsewhere)) / (share + elsewhere);
}

/** False for numbers, stop words, and one or two letters of Latin script: they name nothing. */
function isName(word: string): boolean {
  if (/^\d+$/.test(word) || STOP_WORDS.includes(` ${word} `)) return false;
  return word.length > 2 || word.charCodeAt(0) >= 0x250;
}

/** By word the share, 0..1, of the texts that have it. */
function wordShares(texts: readonly string[]): Map<string, number> {
  const shares = new Map<string, number>();
  for (const text of texts) {
    const plain = text.split(/\s+/).filter((part) => !isPath(part));
    for (const word of new Set(words(plain.join(' ')))) {
      shares.set(word, (shares.get(word) ?? 0) + 1 / texts.length);
    }
  }
  return shares;
}

/** True for `/usr/share/doc`, `src/a/b.ts`, `C:\a\b` and `https://example.org`, not `and/or`. */
function isPath(part: string): boolean {
  return part.includes('://') || (part.match(/[/\\]/g)?.length ?? 0) >= 2 || /^[/~]\w/.test(part);
}
