/** How texts become vectors: the options as settings that an index keeps, and settings at work. */

import { readFile, stat } from 'node:fs/promises';
import {
  type Counting,
  characters,
  type FrequencyTable,
  frequenciesFromArrow,
  IndexFolder,
  jieba,
  openRows,
  type SparseMatrix,
  segments,
  shingles,
  stopWords,
  TextHasher,
  type TextSettings,
  type Tokens,
  type WordHash,
  words,
} from '../../node';
import type { Call } from '../call';
import { readingOptions } from './rows';

/** Texts of a piece, and entries after which a piece ends: bounds the memory of hashing. */
const MAX_TEXTS = 1024;
const MAX_ENTRIES = 2 ** 17;

export function textSettingsOf(call: Call): TextSettings {
  const stopWords = call.text('stop-words');
  const keywords = call.number('keywords');
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
    for (let i = first; i < texts.length && rows.length < MAX_TEXTS && entries < MAX_ENTRIES; i++) {
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

/**
 * The texts of a few rows, read again from the input, which did not hold them: by row. None where
 * the rows are no texts or came by a stream.
 */
export async function textsOfRows(
  call: Call,
  { path, textColumn }: { readonly path: string; readonly textColumn: string | null },
  rows: readonly number[],
): Promise<ReadonlyMap<number, string>> {
  const texts = new Map<number, string>();
  if (textColumn === null || path === '-' || rows.length === 0) return texts;
  const wanted = [...rows].sort((a, b) => a - b);
  const reader = await openRows(path, { ...readingOptions(call, path), columns: [textColumn] });
  const progress = call.progress('reading examples', reader.byteCount, 'bytes');
  let next = 0;
  try {
    for await (const batch of reader) {
      call.signal.throwIfAborted();
      progress.at(reader.bytesRead);
      const end = batch.firstRow + batch.count;
      if (next < wanted.length && wanted[next] < end) {
        const all = batch.texts(textColumn);
        for (; wanted[next] < end; next++) {
          texts.set(wanted[next], all[wanted[next] - batch.firstRow] ?? '');
        }
      }
      if (next === wanted.length) break;
    }
  } finally {
    progress.end();
    await reader.close();
  }
  return texts;
}
