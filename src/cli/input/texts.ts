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
import { TextBatch } from '../../text/text-vectors';
import type { Call } from '../call';
import { batchesOf, type Input, readingOptions } from './open-input';

/** What decides how texts become vectors; an index folder holds it. */
export interface TextTerms {
  readonly settings: TextSettings;
  readonly frequencies: FrequencyTable | null;
}

/** The settings of the call's options, as an index folder keeps them. */
export function textSettingsOf(call: Call): TextSettings {
  return {
    tokens: call.text('tokens') as string,
    ...(call.has('normalize') && { normalize: [...call.list('normalize')].sort().join(',') }),
    ...(call.text('case') === 'keep' && { case: 'keep' }),
    stopWords: call.text('stop-words'),
    counting: call.text('counting') as string,
    keywords: call.number('keywords'),
    hash: call.text('hash') as string,
  };
}

/** What splits and weighs texts by such settings, and hashes them as `like` does where given. */
export async function textHasherOf(
  call: Call,
  terms: TextTerms,
  like?: SimHasher,
): Promise<TextHasher> {
  return (await textHashersOf(call, terms))(like);
}

/** The same for several hashers of vectors: a text is another vector where it is a set. */
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

/** What splits texts, by the words of --tokens; `jieba` loads its dictionary. */
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

/** In how many texts of a column each word is, as the call's options split them. */
export async function countFrequencies(
  call: Call,
  reader: RowReader,
  column: string,
): Promise<FrequencyTable> {
  const terms = { settings: textSettingsOf(call), frequencies: null };
  const hasher = await textHasherOf(call, terms);
  const table = hasher.fit([]);
  for await (const batch of batchesOf(call, reader)) {
    table.merge(hasher.fit(batch.texts(column).map((text) => text ?? '')));
  }
  return table;
}

/** A table of frequencies: an Arrow file of one, or an index folder that keeps one. */
export async function readFrequencies(call: Call, path: string): Promise<FrequencyTable> {
  if ((await stat(path)).isDirectory()) {
    const table = await (await IndexFolder.open(path)).frequencies();
    return table ?? call.fail(`${path}: this index keeps no table of frequencies`);
  }
  return frequenciesFromArrow(await readFile(path), { file: path });
}

/** Where texts of rows are. */
interface TextPlace {
  readonly path: Input;
  readonly textColumn: string | null;
}

/** True of rows whose texts can be read again: those of a stream have passed. */
export function hasTexts(place: TextPlace): place is TextPlace & { readonly textColumn: string } {
  return place.textColumn !== null && place.path !== '-';
}

/**
 * The texts of some rows, or what `cut` leaves of each, read again from the input, which did not
 * hold them: by row. None where the rows are no texts or came by a stream.
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

/** The sparse rows of texts, some at a time; a null text, or one without words, has no entries. */
export function* rowsOfTexts(
  hasher: TextHasher,
  texts: readonly (string | null)[],
): Generator<SparseMatrix> {
  const batch = new TextBatch();
  for (const text of texts) {
    const { indices, values } = hasher.vectorize(text ?? '');
    const from = batch.append(values.length);
    batch.halves.set(new Uint32Array((indices as BigUint64Array).buffer), 2 * from);
    batch.values.set(values, from);
    if (batch.isFull) yield batch.taken();
  }
  if (batch.count > 0) yield batch.taken();
}
