/**
 * Search by a text in texts that are compared otherwise, as by pairs of words for duplicates: an
 * index of the same rows by single words, rare ones weighed more, made when it is first needed.
 */

import { SimHashIndex, TextHasher, words } from '../../node';
import { rowsOfTexts } from '../input/texts';

/** Rows by their words, and how a query is read. */
export interface WordSearch {
  readonly index: SimHashIndex;
  readonly hasher: TextHasher;
}

/** Codes are not what ranks here: the sparse vectors do. */
const BITS = 256;

/** Row i of the index is text i; a text without words has no code. */
export function wordSearch(texts: readonly string[]): WordSearch {
  const settings = { tokens: words, counting: 'log', empty: 'null' } as const;
  const frequencies = new TextHasher(settings).fit(texts);
  const hasher = new TextHasher({ ...settings, frequencies });
  const index = new SimHashIndex({ bits: BITS, vectors: 'sparse', zero: 'null' });
  for (const rows of rowsOfTexts(hasher, texts)) index.addAll(rows);
  return { index, hasher };
}
