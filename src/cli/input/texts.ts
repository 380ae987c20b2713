/**
 * How texts become vectors: from the options of a call to the settings that an index keeps, from
 * settings to a hasher, and tables of word frequencies. Also reads texts again that were not held.
 */

import { readFile, stat } from 'node:fs/promises';
import { ascending } from '../../base/arrays';
import {
  type Counting,
  type FrequencyTable,
  frequenciesFromArrow,
  IndexFolder,
  type RowReader,
  type SimHasher,
  TextHasher,
  type TextHasherOptions,
  type TextSettings,
  type Tokens,
} from '../../node';
import type { Call } from '../call';
import { excerpt } from '../output/figures';
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
    counting: call.text('counting') ?? 'raw',
  };
}

/** A hasher of texts; `like` one of vectors: by 'minwise' a text becomes another vector, a set. */
export function textHasherOf(
  call: Call,
  { settings, frequencies }: TextTerms,
  like?: SimHasher,
): TextHasher {
  const { tokens, counting, normalize } = settings;
  return new TextHasher({
    tokens: tokensOf(call, tokens),
    normalize: normalize?.split(',') as TextHasherOptions['normalize'],
    counting: counting as Counting | undefined,
    frequencies: frequencies ?? undefined,
    empty: 'null',
    ...(like && { bits: like.bits, seed: like.seed }),
    ...(like && { projection: like.projection as TextHasherOptions['projection'] }),
  });
}

/** What splits texts, by the value of --tokens. */
function tokensOf(call: Call, text: string): Tokens {
  const [kind, detail] = text.split(/:(.*)/s);
  const count = Number(detail);
  const isCounted = Number.isInteger(count) && count > 0;
  if (text === 'words') return text;
  if (kind === 'characters' && isCounted) return { characters: count };
  if (kind === 'shingles' && isCounted) return { shingles: count };
  const known = 'words, characters:N or shingles:N';
  return call.misuse(`--tokens expected ${known}, got "${text}"`);
}

/** Counts in how many texts of a column each word is, as the options of the call split them. */
export async function countFrequencies(
  call: Call,
  reader: RowReader,
  column: string,
): Promise<FrequencyTable> {
  const terms = { settings: textSettingsOf(call), frequencies: null };
  const hasher = textHasherOf(call, terms);
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

/** Characters of texts that are held whole, in all; of further ones an excerpt is held. */
const WHOLE_CHARACTERS = 2 ** 26;
/** Characters of such an excerpt: those of a line of a plan. */
export const EXCERPT_CHARACTERS = 160;

/**
 * The texts of some rows of an input, which are not held while all rows are read. A second reading
 * that comes anyway offers those that may be wanted; where none does, `of` reads the input again.
 */
export class RowTexts {
  #held: Map<number, string> | null = null;
  #characters = 0;
  #areWhole = true;

  /** `column` is null where rows are not of texts; `columns` are read with it. */
  constructor(
    private readonly call: Call,
    private readonly path: Input,
    readonly column: string | null,
    private readonly columns: readonly string[] = [],
  ) {}

  /** True if the texts of rows can be had: not for other rows, nor where they came by stdin. */
  get areThere(): boolean {
    return this.column !== null && (this.path !== '-' || this.#held !== null);
  }

  /** Holds the text of a row. From the first call on, only texts that were offered are there. */
  offer(row: number, text: string | null): void {
    this.#held ??= new Map();
    if (text === null) return;
    const isWhole = this.#characters + text.length <= WHOLE_CHARACTERS;
    if (isWhole) this.#characters += text.length;
    else this.#areWhole = false;
    this.#held.set(row, isWhole ? text : excerpt(text, EXCERPT_CHARACTERS));
  }

  /**
   * The texts of these rows, by row, or what `cut` makes of each. Empty if there are none. Reads
   * the input up to the last of these rows, unless texts were offered.
   */
  async of(
    rows: readonly number[],
    cut = (_row: number, text: string) => text,
  ): Promise<ReadonlyMap<number, string>> {
    if (this.column === null || !this.areThere || rows.length === 0) return new Map();
    const held = this.#held ?? (await this.#read(this.column, new Set(rows), cut));
    return new Map(rows.map((row) => [row, cut(row, held.get(row) ?? '')]));
  }

  /** Passes on the whole texts of these rows: read again where some are held in part. */
  async each(rows: readonly number[], take: (text: string, row: number) => void): Promise<void> {
    if (this.#areWhole && this.#held !== null) {
      for (const row of rows) take(this.#held.get(row) ?? '', row);
      return;
    }
    await this.#read(this.column as string, new Set(rows), (row, text) => {
      take(text, row);
      return '';
    });
  }

  /** The texts of these rows, cut as they are read: they may be long, and many. */
  async #read(
    column: string,
    rows: ReadonlySet<number>,
    cut: (row: number, text: string) => string,
  ): Promise<ReadonlyMap<number, string>> {
    const texts = new Map<number, string>();
    const isWanted = (row: number) => rows.has(row);
    const reader = await openInput(this.call, this.path, this.columns, undefined, isWanted);
    for await (const batch of batchesOf(this.call, reader)) {
      const own = ascending(batch.count).filter((i) => rows.has(batch.firstRow + i));
      const all = own.length === 0 ? [] : batch.texts(column);
      for (const i of own) {
        const row = batch.firstRow + i;
        texts.set(row, cut(row, all[i] ?? ''));
      }
      if (texts.size === rows.size) break;
    }
    return texts;
  }
}
