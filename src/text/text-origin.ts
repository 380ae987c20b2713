/**
 * Describes how texts become vectors, in a text that codes record. Codes of texts that were read in
 * another way have the same form but are not comparable, so comparisons check that these
 * descriptions are equal. Stop words and frequencies, which may be many, are described by a
 * checksum.
 */

import type { Projection } from '../hashing/row-hasher';
import type { FrequencyTable } from './frequency-table';
import type { Counting } from './text-hasher-options';
import { hashWord, type WordHash } from './word-hash';

/** The settings on which the vectors of texts depend. */
interface TextReading {
  readonly projection: Projection;
  readonly tokensName: string;
  readonly stopWords: readonly string[];
  readonly counting: Counting;
  readonly frequencies: FrequencyTable | null;
  readonly keywords: number | undefined;
  readonly hash: WordHash;
}

/** The description, such as `words, counts raw`; without the weights where only sets count. */
export function textOrigin(reading: TextReading): string {
  const { tokensName, stopWords, counting, frequencies, keywords, hash } = reading;
  const isWeighed = reading.projection !== 'minwise' || keywords !== undefined;
  const stops = hashWord([...stopWords].sort().join('\n')).toString(16);
  return [
    tokensName,
    stopWords.length > 0 && `without ${stopWords.length} stop words (${stops})`,
    isWeighed && `counts ${counting}`,
    isWeighed &&
      frequencies !== null &&
      `frequencies of ${frequencies.documents} documents (${frequencies.digest()})`,
    keywords !== undefined && `the ${keywords} heaviest`,
    hash !== 'xxhash64' && `hash ${hash}`,
  ]
    .filter((part) => part !== false)
    .join(', ');
}
