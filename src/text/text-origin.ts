/**
 * How texts become vectors, in words that codes keep: codes of texts that were read otherwise look
 * alike and differ, so what compares them goes by these words. Stop words and frequencies, which
 * may be many, are told apart by a checksum.
 */

import type { Projection } from '../hashing/row-hasher';
import type { FrequencyTable } from './frequency-table';
import type { Counting } from './text-hasher-options';
import { hashWord, type WordHash } from './word-hash';

/** What the vectors of texts depend on. */
interface TextReading {
  readonly projection: Projection;
  readonly tokensName: string;
  readonly stopWords: readonly string[];
  readonly counting: Counting;
  readonly frequencies: FrequencyTable | null;
  readonly keywords: number | undefined;
  readonly hash: WordHash;
}

/** What equal vectors of texts have in common; where only sets count, without the weights. */
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
