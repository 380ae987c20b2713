/**
 * Words that set clusters of texts apart: those in many texts of one cluster and in few of the
 * others, as by TF-IDF with a cluster for a document. What all texts share, as the head of a
 * licence, scores nothing, and paths and addresses of files are no words.
 */

import { words } from '../../node';

/** Texts of a cluster that are looked at, and words of a name. */
const NAMING_TEXTS = 200;
const NAME_WORDS = 3;
/** A word is in a twentieth of a cluster's texts or more, and twice as often as elsewhere. */
const MIN_SHARE = 0.05;
const MIN_RATIO = 2;

/** Some of many members of a cluster, evenly spread. */
export function namingSample(members: readonly number[]): number[] {
  const every = Math.max(1, Math.floor(members.length / NAMING_TEXTS));
  return members.filter((_, i) => i % every === 0);
}

/** By cluster the words that set it apart, the best first; none where nothing does. */
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

/** How much a word says of a cluster, by its shares there and, summed, in all clusters. */
function scoreOf(share: number, sum: number, clusters: number): number {
  const elsewhere = (sum - share) / Math.max(1, clusters - 1);
  if (share < MIN_SHARE || share < MIN_RATIO * elsewhere) return 0;
  const rare = 1 - sum / clusters;
  return (rare * rare * share * (share - elsewhere)) / (share + elsewhere);
}

/** Numbers, and one or two letters of alphabets, name nothing. */
function isName(word: string): boolean {
  return !/^\d+$/.test(word) && (word.length > 2 || word.charCodeAt(0) >= 0x250);
}

/** By word the share of the texts that have it. */
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

/** `/usr/share/doc`, `src/a/b.ts`, `C:\a\b`, `https://example.org`, but not `and/or`. */
function isPath(part: string): boolean {
  return part.includes('://') || (part.match(/[/\\]/g)?.length ?? 0) >= 2 || /^[/~]\w/.test(part);
}
