/** How texts become vectors: the options as settings that an index keeps, and settings at work. */

import { readFile, stat } from 'node:fs/promises';
import type {
  Counting,
  FrequencyTable,
  SparseMatrix,
  TextHasher,
  TextSettings,
  Tokens,
  WordHash,
} from '../../node';
import type { Call } from '../call';

/** Texts, and entries, of a piece. */
const MOST_TEXTS = 1024;
const MOST_ENTRIES = 2 ** 17;

export function textSettingsOf(call: Call): TextSettings {
  const stopWords = call.text('stop-words');
  const keywords = call.integer('keywords');
  return {
    tokens: call.text('tokens') as string,
    ...(stopWords !== undefined && { stopWords }),
    counting: call.text('counting') as string,
    ...(keywords !== undefined && { keywords }),
    hash: call.text('hash') as string,
  };
}

/** What splits and weighs texts by such settings; what it hashes with is of no account. */
export async function textHasherOf(
  call: Call,
  settings: TextSettings,
  frequencies: FrequencyTable | null,
): Promise<TextHasher> {
  const { TextHasher, stopWords } = await import('../../node');
  const { counting, hash, keywords } = settings;
  return new TextHasher({
    tokens: await tokensOf(call, settings.tokens),
    ...(settings.stopWords !== undefined && { stopWords: await stopWords(settings.stopWords) }),
    ...(counting !== undefined && { counting: counting as Counting }),
    ...(hash !== undefined && { hash: hash as WordHash }),
    ...(keywords !== undefined && { keywords }),
    ...(frequencies !== null && { frequencies }),
    empty: 'null',
  });
}

async function tokensOf(call: Call, text: string): Promise<Tokens> {
  const { characters, jieba, segments, shingles, words } = await import('../../node');
  const [kind, detail] = text.split(/:(.*)/s);
  const count = Number(detail);
  const isCounted = Number.isInteger(count) && count > 0;
  if (text === 'words') return words;
  if (text === 'jieba') return jieba();
  if (kind === 'characters' && isCounted) return characters(count);
  if (kind === 'shingles' && isCounted) return shingles(count);
  if (kind === 'segments' && detail) return segments(detail);
  const known = 'words, characters:N, shingles:N, segments:LOCALE or jieba';
  return call.misuse(`--tokens expected ${known}, got "${text}"`);
}

/** A table of frequencies: an Arrow file of one, or an index folder that keeps one. */
export async function readFrequencies(call: Call, path: string): Promise<FrequencyTable> {
  const { frequenciesFromArrow, IndexFolder } = await import('../../node');
  if ((await stat(path)).isDirectory()) {
    const table = await (await IndexFolder.open(path)).frequencies();
    return table ?? call.fail(`${path}: this index keeps no table of frequencies`);
  }
  return frequenciesFromArrow(await readFile(path), { file: path });
}

/** The sparse rows of texts, some at a time; a null text, or one without words, has no entries. */
export function* rowsOfTexts(
  hasher: TextHasher,
  texts: readonly (string | null)[],
): Generator<SparseMatrix & { readonly count: number }> {
  for (let first = 0; first < texts.length; ) {
    const offsets = [0];
    const rows: { indices: BigUint64Array; values: Float64Array }[] = [];
    let entries = 0;
    for (
      let i = first;
      i < texts.length && rows.length < MOST_TEXTS && entries < MOST_ENTRIES;
      i++
    ) {
      const { indices, values } = hasher.vectorize(texts[i] ?? '');
      rows.push({ indices: indices as BigUint64Array, values: values as Float64Array });
      entries += values.length;
      offsets.push(entries);
    }
    const indices = new BigUint64Array(entries);
    const values = new Float64Array(entries);
    rows.forEach((row, i) => {
      indices.set(row.indices, offsets[i]);
      values.set(row.values, offsets[i]);
    });
    yield { offsets: Uint32Array.from(offsets), indices, values, count: rows.length };
    first += rows.length;
  }
}
