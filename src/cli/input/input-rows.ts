/**
 * The one way from the rows of an input to codes: the columns to read are chosen once, then each
 * batch gives its ids, vectors and codes. A text without words and an all-zero vector get a null
 * code, are counted, and match nothing. Errors name the file and its row. Also how texts become
 * vectors, by the options of a call or the settings that an index keeps.
 */

import { readFile, stat } from 'node:fs/promises';
import { asFormatError, FormatError } from '../../base/check';
import { iterated } from '../../base/long-work';
import { type CodeOrigin, checkSameTexts } from '../../codes/codes';
import { isMissing } from '../../measure/recall';
import {
  type BuildOptions,
  type Codes,
  type DenseMatrix,
  type FrequencyTable,
  frequenciesFromArrow,
  type Ids,
  IndexFolder,
  type Projection,
  type RowBatch,
  type RowReader,
  SimHasher,
  type SimHasherOptions,
  SimHashIndex,
  type SimHashIndexOptions,
  type SparseMatrix,
  TextHasher,
  type TextHasherOptions,
  type TextModel,
  type TextSettings,
} from '../../node';
import type { BandKeys } from '../../text/text-set';
import { vectorAt } from '../../vectors/vectors';
import type { Call } from '../call';
import { counted } from '../output/figures';
import {
  batchesOf,
  chooseId,
  chooseSource,
  type Input,
  nameOfInput,
  openInput,
  type Reading,
  readingOptions,
  type SourceColumns,
  sourceWords,
} from './open-input';

/** Bits of a code. At a cosine of 0 its estimate has a standard error of .1, near 1 less. */
export const DEFAULT_BITS = 256;

/** Options with which texts are not taken as sets: for a distance, a cosine or word weights. */
const OF_VECTORS = [
  'max-distance',
  'min-cosine',
  'projection',
  'tf-idf',
  'frequencies',
  'counting',
];

export type RowVectorsOrCodes = DenseMatrix | SparseMatrix | Codes;

/** What made codes that others are compared with. */
export interface Likeness {
  /** The index or input that made them, as errors name it. */
  readonly path: string;
  /** The options of their index; null where the options of the call made them. */
  readonly options: SimHashIndexOptions | null;
  readonly text: TextTerms | null;
  /** The sentence model of texts that became dense vectors; missing or null for others. */
  readonly model?: TextModel | null;
  /** How the planes of codes that came ready were made; undefined of others, or not known. */
  readonly projection?: string | undefined;
}

/** How a verb reads an input, where that differs from the options of the call. */
interface InputRowsOptions {
  /** Read texts and make codes like these, not by the options of the call. */
  readonly like?: Likeness | undefined;
  /** Hash texts as sets, unless an option of the call asks for something else. */
  readonly areTextsSets?: boolean | undefined;
  /** Kinds of columns of CSV or JSONL, where values fit. */
  readonly known?: Reading['kinds'];
}

/** What is read of an input, and how its codes are made. */
interface Choice extends SourceColumns {
  readonly path: Input;
  readonly reading: Reading;
  /** Null where rows have no ids and go by their numbers. */
  readonly idColumn: string | null;
  /** Null where the source is no column of texts. */
  readonly text: TextTerms | null;
  /** Options of the codes, in place of those of the call. */
  readonly like: SimHasherOptions | null;
  readonly areSets: boolean;
  /** The projection of codes that these are compared with, where it is known. */
  readonly projection: string | undefined;
}

/** How the library's errors name a row, a query or an id: by its number in the batch. */
const NAMED = /^row (\d+):|^"queries"\[(\d+)\]:?|^"ids?"(?:\[(\d+)\])?/;
const NO_ROWS = { offsets: [0], indices: [], values: [] };

/** Opens an input and chooses its columns. With `--tf-idf` its texts are read once before. */
export async function openInputRows(
  call: Call,
  path: Input,
  { like, areTextsSets, known }: InputRowsOptions = {},
): Promise<InputRows> {
  const index = like?.options ? like : null;
  if (index?.text === null && call.has('text')) {
    const advice = index.model
      ? `has vectors of ${index.model.model}: make such by halfspace embed ${nameOfInput(path)}`
      : 'does not say how texts become vectors: give codes of fingerprint';
    call.fail(`${index.path} ${advice}`);
  }
  const reading = { ...readingOptions(call, path), kinds: known };
  const reader = await openInput(call, path, undefined, reading);
  const kinds = ['code', index?.text === null ? 'vector' : 'text', 'sparse'] as const;
  const source = chooseSource(call, reader, index === null ? undefined : kinds);
  const [made, own] = [source.kind === 'vector' ? reader.model : null, like?.model];
  if (made && own && nameOfModel(made) !== nameOfModel(own)) {
    const [theirs, ours] = [nameOfModel(made), nameOfModel(own)];
    call.fail(`${reader.file} has vectors of ${theirs}, ${like?.path} those of ${ours}`);
  }
  const idColumn = chooseId(call, reader);
  const projection = like?.projection;
  const base = { path, reading, ...source, idColumn, like: like?.options ?? null, projection };
  if (source.kind !== 'text') {
    const ofTexts = ['tokens', 'tf-idf', 'frequencies', 'counting'].find((name) => call.has(name));
    // Of two inputs the other may be one of texts.
    if (ofTexts !== undefined && call.args.length < 2) {
      call.misuse(`--${ofTexts} is for texts: ${reader.file} has ${sourceWords(source)}`);
    }
    return new InputRows(call, reader, { ...base, text: null, areSets: false });
  }
  const text = like?.text ?? {
    settings: textSettingsOf(call),
    frequencies: await frequenciesOf(call, path, source.columns),
  };
  textHasherOf(text); // a wrong --tokens is reported before rows are read
  const areSets = areTextsSets === true && !OF_VECTORS.some((name) => call.has(name));
  return new InputRows(call, reader, { ...base, text, areSets });
}

/** A copy of a model may lie elsewhere: the last part of its name, and its pooling. */
const nameOfModel = ({ model, pooling = 'mean' }: TextModel) =>
  `${/[^\\/]*(?=[\\/]*$)/.exec(model)} (${pooling})`;

/** The table of --frequencies, or with --tf-idf one of the input's own texts; else null. */
async function frequenciesOf(
  call: Call,
  path: Input,
  columns: readonly string[],
): Promise<FrequencyTable | null> {
  const file = call.text('frequencies');
  if (file !== undefined) {
    const table = await readFrequencies(call, file);
    asFormatError(file, () => table.checkOrigin(call.text('tokens') as string));
    return table;
  }
  if (!call.has('tf-idf')) return null;
  if (path === '-') {
    call.misuse('--tf-idf reads its input twice, stdin comes once: write it to a file');
  }
  call.say('reading the texts twice: for the frequencies of their words, and for their codes');
  return countFrequencies(call, await openInput(call, path, columns), columns[0]);
}

/** All that decides how texts become vectors; an index folder holds it. */
interface TextTerms {
  readonly settings: TextSettings;
  /** By which rare words weigh more (TF-IDF); null if texts are not weighed so. */
  readonly frequencies: FrequencyTable | null;
}

/** The settings by the options of the call, in the form in which an index folder keeps them. */
function textSettingsOf(call: Call): TextSettings {
  return {
    tokens: call.text('tokens') as string,
    counting: call.text('counting') ?? 'raw',
  };
}

/** A hasher of texts; `like` one of vectors: by 'minwise' a text becomes another vector, a set. */
export function textHasherOf({ settings, frequencies }: TextTerms, like?: SimHasher): TextHasher {
  return new TextHasher({
    ...(settings as Pick<TextHasherOptions, 'tokens' | 'counting'>),
    frequencies: frequencies ?? undefined,
    empty: 'null',
    ...(like && { bits: like.bits, seed: like.seed }),
    ...(like && { projection: like.projection as TextHasherOptions['projection'] }),
  });
}

/** Counts in how many texts of a column each word is, as the options of the call split them. */
export async function countFrequencies(
  call: Call,
  reader: RowReader,
  column: string,
): Promise<FrequencyTable> {
  const terms = { settings: textSettingsOf(call), frequencies: null };
  const hasher = textHasherOf(terms);
  const table = hasher.fit([]);
  // Batch by batch, so that memory grows with the distinct words alone.
  for await (const batch of batchesOf(call, reader)) {
    table.merge(hasher.fit(batch.texts(column).filter((text) => text !== null)));
  }
  return table;
}

/** Reads a table of frequencies from its Arrow file, or from an index folder that keeps one. */
async function readFrequencies(call: Call, path: string): Promise<FrequencyTable> {
  if ((await stat(path)).isDirectory()) {
    const table = await (await IndexFolder.open(path)).frequencies();
    return table ?? call.fail(`${path}: this index keeps no table of frequencies`);
  }
  return frequenciesFromArrow(await readFile(path), { file: path });
}

/** An input whose columns are chosen; `openInputRows` makes it. Its rows are read once. */
export class InputRows {
  /**
   * Collects the band keys of texts that are hashed as sets, which near rows share; null where
   * they are not wanted, or not there.
   */
  keys: BandKeys | null = null;
  #hasher: SimHasher | null = null;
  /** Makes codes of texts as `#hasher` does of their vectors. */
  #textHasher: TextHasher | null = null;
  /** How the first ready codes were made. */
  #origin: CodeOrigin | undefined;
  /** Dimensions of dense vectors, which the first batch decides. */
  #dimensions: number | undefined;
  /** False of dense vectors in lists of any length, before the first one. */
  isWidthKnown: boolean;
  #nullCount = 0;

  constructor(
    readonly call: Call,
    public reader: RowReader,
    readonly choice: Choice,
  ) {
    const column = reader.columns.find(({ name }) => name === choice.columns[0]);
    this.isWidthKnown = column?.type.startsWith('List') !== true;
    if (choice.like === null) return;
    this.#hasher = new SimHasher(this.optionsFor(undefined));
    this.#dimensions = this.#hasher.dimensions;
  }

  /** Columns that are neither the vectors nor the ids. */
  get otherColumns(): string[] {
    const own = [...this.choice.columns, this.choice.idColumn];
    return this.reader.columns.map(({ name }) => name).filter((name) => !own.includes(name));
  }

  /**
   * Opens the input again, before rows are read, for the chosen columns and `others` alone: damage
   * in further columns is then no error. Stdin is not opened twice; all its columns are read.
   */
  async narrow(others: readonly string[]): Promise<void> {
    const { path, columns, idColumn, reading } = this.choice;
    if (path === '-') return;
    const own = [...columns, ...others, ...(idColumn === null ? [] : [idColumn])];
    await this.reader.close();
    this.reader = await openInput(this.call, path, [...new Set(own)], reading);
  }

  /** How texts became these vectors, as far as it is known: what an index keeps of it. */
  get textTerms(): Pick<BuildOptions, 'text' | 'frequencies'> {
    const { kind, text } = this.choice;
    if (kind === 'vector') return { text: this.reader.model ?? undefined };
    return { text: text?.settings, frequencies: text?.frequencies ?? undefined };
  }

  /** False for a stream, and for codes, which have lost their rows. */
  get canReadAgain(): boolean {
    return this.choice.path !== '-' && this.choice.kind !== 'code';
  }

  /** Opens a file for another reading of its rows, of which only the wanted ones are read. */
  async again(isWanted: (row: number) => boolean): Promise<InputRows> {
    const { path, columns, reading } = this.choice;
    const reader = await openInput(this.call, path, columns, reading, isWanted);
    return new InputRows(this.call, reader, { ...this.choice, idColumn: null });
  }

  /** The rows in batches; shows progress, and throws the signal's reason at Ctrl-C. */
  [Symbol.asyncIterator](): AsyncIterableIterator<RowBatch> {
    return iterated(async (send) => {
      const waiting: RowBatch[] = [];
      const sendAll = async () => {
        for (const batch of waiting.splice(0)) await send(batch);
      };
      for await (const batch of batchesOf(this.call, this.reader)) {
        waiting.push(batch);
        if (this.#isWidthKnown(batch)) await sendAll();
      }
      await sendAll();
    });
  }

  /** Nulls have no width: batches of them wait for the first dense vector, which decides it. */
  #isWidthKnown(batch: RowBatch): boolean {
    const { kind, columns } = this.choice;
    if (kind !== 'vector') return true;
    for (let row = 0; this.#dimensions === undefined && row < batch.count; row++) {
      try {
        const { dimensions, validity } = batch.slice(row, row + 1).vectors(columns[0]);
        if (validity !== undefined) continue;
        this.#dimensions = dimensions;
        this.isWidthKnown = true;
      } catch {} // the verb's own reading says what is wrong with it
    }
    return this.#dimensions !== undefined;
  }

  /** The ids of a batch; null where rows go by their numbers. */
  idsOf(batch: RowBatch): Ids | null {
    const { idColumn } = this.choice;
    return idColumn === null ? null : batch.ids(idColumn);
  }

  /** The hasher of the texts, made at first use to match the codes; null if rows are no texts. */
  get textHasher(): TextHasher | null {
    const { text } = this.choice;
    if (text === null || this.#textHasher !== null) return this.#textHasher;
    const hasher = this.#hasherFor(NO_ROWS);
    this.#textHasher = textHasherOf(text, hasher);
    checkSameTexts(this.reader.file, hasher.origin, this.#textHasher.origin);
    return this.#textHasher;
  }

  /** The hasher of the codes; the first call makes it, as wide as these vectors. */
  #hasherFor(vectors: DenseMatrix | SparseMatrix): SimHasher {
    const dimensions = 'dimensions' in vectors ? vectors.dimensions : undefined;
    this.#hasher ??= new SimHasher(this.optionsFor(dimensions));
    return this.#hasher;
  }

  /**
   * Options of a hasher for these rows, sparse ones without dimensions. Sets, by --min-jaccard, are
   * hashed by 'minwise'; sparse rows by 'gaussian' where codes only serve to find near ones. Seeds
   * are bigints, since they reach 2^64 - 1.
   */
  optionsFor(dimensions: number | undefined): SimHasherOptions & { zero: 'null' } {
    const { call, choice } = this;
    if (choice.like !== null) {
      const { bits, seed, projection, dimensions: own, texts } = choice.like;
      return { bits, seed, projection, dimensions: own, texts, zero: 'null' };
    }
    // Rows of few entries, as short texts, are far apart by 'signs', though near by cosine.
    const ofNear = choice.projection ?? 'gaussian';
    const ofEntries = call.takes('projection') ? 'signs' : ofNear;
    const usual = dimensions === undefined ? ofEntries : 'hadamard';
    const isOfSets = choice.areSets || call.has('min-jaccard');
    const projection = (call.text('projection') ?? (isOfSets ? 'minwise' : usual)) as Projection;
    if (projection === 'hadamard' && dimensions === undefined) {
      call.misuse('--projection hadamard is for dense vectors: texts and sparse rows take another');
    }
    const seed = call.text('seed') ?? '0';
    if (!/^\d{1,20}$/.test(seed)) {
      call.misuse(`--seed expected an integer in 0..2^64 - 1, got "${seed}"`);
    }
    const bits = call.number('bits') ?? (projection === 'direct' ? 64 : DEFAULT_BITS);
    return { bits, seed: BigInt(seed), projection, dimensions, zero: 'null' };
  }

  /**
   * The vectors of a batch, or its ready codes. Dense ones must be as wide as those of the first
   * batch. Where `wanted` is given, the text of another row becomes a vector without entries.
   */
  vectorsOf(batch: RowBatch, wanted?: (row: number) => boolean): RowVectorsOrCodes {
    const { kind, columns } = this.choice;
    const [first, second] = columns;
    if (kind === 'text') {
      const isWanted = (i: number) => wanted?.(batch.firstRow + i) ?? true;
      const texts = batch.texts(first).map((one, i) => (isWanted(i) ? (one ?? '') : ''));
      return (this.textHasher as TextHasher).vectorsOf(texts);
    }
    if (kind === 'sparse') return batch.sparse(first, second);
    if (kind === 'vector') {
      const vectors = batch.vectors(first, { dimensions: this.#dimensions });
      this.#dimensions = vectors.dimensions;
      return vectors;
    }
    const codes = batch.codes(first, { bits: this.call.number('bits') });
    this.#origin ??= codes.origin;
    const like = this.#hasher?.origin ?? this.#origin;
    checkSameTexts(batch.file ?? this.reader.file, like, codes.origin);
    return codes;
  }

  /** The same; counts the rows that have no code, and thus no neighbours. */
  countedOf(batch: RowBatch): RowVectorsOrCodes {
    const vectors = this.vectorsOf(batch);
    for (let i = 0; i < batch.count; i++) if (isMissing(vectors, i)) this.#nullCount++;
    return vectors;
  }

  /**
   * The codes of a batch; counts those that are null. Appends to `sums`, where given, the sums
   * whose signs are the bits: `bits` float32 a row, zeros for a null code, none for ready codes.
   */
  async hash(batch: RowBatch, sums?: Float32Array[]): Promise<Codes> {
    const codes = await this.#hashed(batch, sums);
    for (let row = 0; row < codes.count; row++) if (codes.isNull(row)) this.#nullCount++;
    return codes;
  }

  async #hashed(batch: RowBatch, sums?: Float32Array[]): Promise<Codes> {
    const { signal } = this.call;
    const { kind, columns } = this.choice;
    if (kind === 'text' && sums === undefined) {
      // Here threads also split and weigh the texts; `vectorsOf` does that on this thread.
      const texts = batch.texts(columns[0]).map((one) => one ?? '');
      const hasher = this.textHasher as TextHasher;
      return this.named(batch.firstRow, () => hasher.hashWithKeys(texts, this.keys, { signal }));
    }
    const vectors = this.vectorsOf(batch);
    if ('bytesPerCode' in vectors) return vectors;
    return this.named(batch.firstRow, async () => {
      const hasher = this.#hasherFor(vectors);
      const codes = await hasher.hashAll(vectors, { signal });
      sums?.push(sumsOf(vectors, codes, hasher));
      return codes;
    });
  }

  /**
   * Adds a batch to an index, which the first batch makes by `optionsOf`. Errors name the rows in
   * the file. Resolves to the index.
   */
  async addTo(
    index: SimHashIndex | null,
    batch: RowBatch,
    ids: Ids | null,
    optionsOf: (vectors: RowVectorsOrCodes) => SimHashIndexOptions,
  ): Promise<SimHashIndex> {
    const { signal } = this.call;
    const vectors = this.countedOf(batch);
    const into = index ?? new SimHashIndex(optionsOf(vectors));
    await this.named(batch.firstRow, () => into.addAll(vectors, ids ?? undefined, { signal }));
    return into;
  }

  sayNulls(): void {
    if (this.#nullCount === 0) return;
    const why = this.choice.kind === 'text' ? 'no words' : 'no direction';
    const what = `${counted(this.#nullCount, 'row')} with ${why}`;
    this.call.say(`${this.reader.file}: ${what}: null codes, which match nothing`);
  }

  /**
   * Runs work, asynchronous or not, on rows from `firstRow` on. Errors of the library that count
   * these from 0 are thrown again, as bad data (exit code 3), with the file and its row. Query i is
   * row `rows[i]`, where that is given.
   */
  async named<T>(
    firstRow: number,
    work: () => T | Promise<T>,
    rows?: readonly number[],
  ): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const [found, own, query, id] = NAMED.exec(error instanceof Error ? error.message : '') ?? [];
      if (found === undefined) throw error;
      const row = own ?? query;
      const at = Number(row ?? id ?? 0);
      const place = `row ${rows?.[at] ?? at + firstRow}:`;
      const column = row === undefined ? ` column "${this.choice.idColumn}"` : '';
      const rest = (error as Error).message.slice(found.length);
      throw new FormatError(place + column + rest, this.reader.file, { cause: error });
    }
  }
}

/** By row the sums whose signs are its code, `bits` values each; zeros for a null code. */
function sumsOf(vectors: DenseMatrix | SparseMatrix, codes: Codes, hasher: SimHasher) {
  const sums = new Float32Array(codes.count * hasher.bits);
  for (let row = 0; row < codes.count; row++) {
    if (!codes.isNull(row)) sums.set(hasher.accumulate(vectorAt(vectors, row)), row * hasher.bits);
  }
  return sums;
}
