/**
 * How texts become vectors: from the options of a call to the settings that an index keeps, from
 * settings to a hasher, and tables of word frequencies. Also reads texts again that were not held.
 */

import { readFile, stat } from 'node:fs/promises';
import {
  type Counting,
  characters,
  type FrequencyTable,
  frequenciesFromArrow,
  IndexFolder,
  jieba,
  type RowReader,
  type SimHasher,
  type SparseMatrix,
  segments,
  shingles,
  stopWords,
  TextHasher,
  type TextHasherOptions,
  type TextSettings,
  type Tokens,
  type WordHash,
  words,
} from '../../node';
import { MAX_ENTRIES, TextBatch } from '../../text/text-vectors';
import type { Call } from '../call';
import { batchesOf, type Input, openInput } from './open-input';

/** All that decides how texts become vectors; an index folder holds it. */
export interface TextTerms {
  readonly settings: TextSettings;
  /** By which rare words weigh more (TF-IDF); null if texts are not weighed so. */
  readonly frequencies: FrequencyTable | null;
}

/** The settings by the options of the call, in the form in which an index folder keeps them. */
export function textSettingsOf(call: Call): TextSettings {
  return {
    tokens: call.text('tokens') as string,
    ...(call.has('normalize') && { normalize: [...call.list('normalize')].sort().join(',') }),
    stopWords: call.text('stop-words'),
    counting: call.text('counting') as string,
    keywords: call.number('keywords'),
    hash: call.text('hash') ?? 'xxhash64',
  };
}

/** The hasher of texts by these settings. Its codes are those of `like`, where that is given. */
export async function textHasherOf(
  call: Call,
  terms: TextTerms,
  like?: SimHasher,
): Promise<TextHasher> {
  return (await textHashersOf(call, terms))(like);
}

/**
 * Loads what the settings need, as stop words, and returns a function that makes hashers of texts,
 * one for each hasher of vectors: with projection 'minwise' a text becomes another vector, a set.
 */
export async function textHashersOf(
  call: Call,
  { settings, frequencies }: TextTerms,
): Promise<(like?: SimHasher) => TextHasher> {
  const { tokens, stopWords: language, counting, hash, keywords } = settings;
  const options = {
    tokens: await tokensOf(call, tokens),
    normalize: settings.normalize?.split(',') as TextHasherOptions['normalize'],
    case: (settings.case ?? 'lower') as TextHasherOptions['case'],
    stopWords: language === undefined ? undefined : await stopWords(language),
    counting: counting as Counting | undefined,
    hash: hash as WordHash | undefined,
    ...{ keywords, frequencies: frequencies ?? undefined, empty: 'null' as const },
  };
  return (like) =>
    new TextHasher({
      ...options,
      ...(like && { bits: like.bits, seed: like.seed }),
      ...(like && { projection: like.projection as TextHasherOptions['projection'] }),
    });
}

/** What splits texts, by the value of --tokens. `jieba` loads a package and its dictionary. */
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

/** Counts in how many texts of a column each word is, as the options of the call split them. */
export async function countFrequencies(
  call: Call,
  reader: RowReader,
  column: string,
): Promise<FrequencyTable> {
  const terms = { settings: textSettingsOf(call), frequencies: null };
  const hasher = await textHasherOf(call, terms);
  const table = hasher.fit([]);
  // Batch by batch, so that memory grows with the distinct words alone.
  for await (const batch of batchesOf(call, reader)) {
    table.merge(hasher.fit(batch.texts(column).map((text) => text ?? '')));
  }
  return table;
}

/** Reads a table of frequencies from its Arrow file, or from an index folder that keeps one. */
export async function readFrequencies(call: Call, path: string): Promise<FrequencyTable> {
  if ((await stat(path)).isDirectory()) {
    const table = await (await IndexFolder.open(path)).frequencies();
    return table ?? call.fail(`${path}: this index keeps no table of frequencies`);
  }
  return frequenciesFromArrow(await readFile(path), { file: path });
}

/** Where the texts of rows are. */
interface TextPlace {
  readonly path: Input;
  /** Null if the rows are not of texts. */
  readonly textColumn: string | null;
}

/** True if the texts of the rows can be read again, which those of stdin cannot. */
export function hasTexts(place: TextPlace): place is TextPlace & { readonly textColumn: string } {
  return place.textColumn !== null && place.path !== '-';
}

/**
 * The texts of some rows, by row, or what `cut` makes of each: read again from the input up to the
 * last of these rows, since texts are not held. Empty if the rows have no texts or came by stdin.
 */
export async function textsOfRows(
  call: Call,
  place: TextPlace,
  rows: readonly number[],
  cut = (_row: number, text: string) => text,
): Promise<ReadonlyMap<number, string>> {
  const texts = new Map<number, string>();
  if (!hasTexts(place) || rows.length === 0) return texts;
  const { path, textColumn } = place;
  const wanted = [...rows].sort((a, b) => a - b);
  const places = new Set(rows);
  const reader = await openInput(call, path, [textColumn], undefined, (row) => places.has(row));
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
          const row = wanted[next];
          texts.set(row, cut(row, all[row - batch.firstRow] ?? ''));
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

/**
 * The vectors of texts, some texts at a time, in their order and in arrays that are not used again.
 * A null text, and one without words, becomes a row without entries.
 */
export function* rowsOfTexts(
  hasher: TextHasher,
  texts: readonly (string | null)[],
): Generator<SparseMatrix> {
  const batch = new TextBatch();
  for (const text of texts) {
    const { indices, values } = hasher.vectorize(text ?? '');
    if (values.length >= MAX_ENTRIES) {
      // A text that makes a batch alone is not copied.
      if (batch.count > 0) yield batch.taken();
      yield { offsets: [0, values.length], indices, values };
      continue;
    }
    const from = batch.append(values.length);
    // The batch holds each index of 64 bits as two halves of 32 bits.
    batch.halves.set(new Uint32Array((indices as BigUint64Array).buffer), 2 * from);
    batch.values.set(values, from);
    if (batch.isFull) yield batch.taken();
  }
  if (batch.count > 0) yield batch.taken();
}
