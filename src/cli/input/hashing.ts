/**
 * From rows to codes in bounded memory: which column to read is chosen once, then each batch gives
 * its vectors, its ids and its codes. A text without words and an all-zero vector get a null code,
 * are counted, and match nothing. Errors name the row of the file.
 */

import {
  type Codes,
  type DenseMatrix,
  type FrequencyTable,
  type Ids,
  type Projection,
  type RowBatch,
  type RowReader,
  SimHasher,
  type SimHasherOptions,
  type SparseMatrix,
  type TextHasher,
  type TextSettings,
} from '../../node';
import type { Call } from '../call';
import { counted } from '../output/figures';
import { chooseId, chooseSource, type SourceColumns, type SourceKind } from './columns';
import { joinCodes } from './join';
import { openInput } from './rows';
import { readFrequencies, rowsOfTexts, textHasherOf, textSettingsOf } from './texts';

export const DEFAULT_BITS = 256;

/** Vectors of some rows, one after another. */
export type Piece = {
  /** The row of the file that it begins with. */
  readonly firstRow: number;
  readonly count: number;
  readonly vectors: DenseMatrix | SparseMatrix | Codes;
};

export interface SourceOptions {
  /** The kinds of columns that a verb takes; all by default. */
  readonly kinds?: readonly SourceKind[];
  /** Texts become vectors as in an index, in place of the options of the call. */
  readonly text?: { settings: TextSettings; frequencies: FrequencyTable | null };
}

/** An input whose columns are chosen. */
export class HashSource {
  nullCount = 0;
  #hasher: SimHasher | null = null;
  /** Of dense vectors, as the first batch has them. */
  #width: number | undefined;

  #reader: RowReader;

  constructor(
    readonly call: Call,
    reader: RowReader,
    readonly source: SourceColumns,
    readonly idColumn: string | null,
    readonly text: TextSettings | null,
    readonly frequencies: FrequencyTable | null,
    readonly textHasher: TextHasher | null,
    readonly path?: string,
  ) {
    this.#reader = reader;
  }

  get reader(): RowReader {
    return this.#reader;
  }

  /**
   * Reads only its own columns, and these, from now on: what stands in others is nothing to it. A
   * stream cannot be opened again, and is read with all.
   */
  async narrow(others: readonly string[]): Promise<void> {
    if (this.path === undefined || this.path === '-') return;
    const own = this.idColumn === null ? others : [this.idColumn, ...others];
    await this.#reader.close();
    const columns = [...new Set([...this.source.columns, ...own])];
    this.#reader = await openInput(this.call, this.path, { columns });
  }

  /** What makes the codes; null before the first batch, and for ready codes. */
  get hasher(): SimHasher | null {
    return this.#hasher;
  }

  /** Columns that are neither the vectors nor the ids. */
  get otherColumns(): string[] {
    const own = [...this.source.columns, this.idColumn];
    return this.reader.columns.map(({ name }) => name).filter((name) => !own.includes(name));
  }

  idsOf(batch: RowBatch): Ids | null {
    return this.idColumn === null ? null : batch.ids(this.idColumn);
  }

  /** The vectors of a batch, or its ready codes: texts in several pieces, others in one. */
  *piecesOf(batch: RowBatch): Generator<Piece> {
    const [first, second] = this.source.columns;
    let { firstRow } = batch;
    if (this.source.kind !== 'text') {
      const { count } = batch;
      yield { firstRow, count, vectors: this.#vectorsOf(batch, first, second) };
      return;
    }
    for (const rows of rowsOfTexts(this.textHasher as TextHasher, batch.texts(first))) {
      yield { firstRow, count: rows.count, vectors: rows };
      firstRow += rows.count;
    }
  }

  #vectorsOf(batch: RowBatch, first: string, second: string | undefined): Piece['vectors'] {
    if (this.source.kind === 'sparse') return batch.sparse(first, second);
    if (this.source.kind === 'vector') {
      const vectors = batch.vectors(first, { ...(this.#width && { dimensions: this.#width }) });
      this.#width = vectors.dimensions;
      return vectors;
    }
    const bits = this.call.number('bits');
    const bitOrder = this.call.text('bit-order') as 'lsb' | 'msb';
    return batch.codes(first, { ...(bits !== undefined && { bits }), bitOrder });
  }

  /** The codes of a batch. */
  hash(batch: RowBatch): Codes {
    const parts: Codes[] = [];
    for (const { firstRow, vectors } of this.piecesOf(batch)) {
      if ('bytesPerCode' in vectors) parts.push(vectors);
      else {
        const hasher = this.hasherFor(vectors);
        parts.push(this.named(firstRow, () => hasher.hashAll(vectors)));
      }
    }
    const codes = joinCodes(parts, { bits: this.#hasher?.bits ?? DEFAULT_BITS });
    for (let row = 0; row < codes.count; row++) if (codes.isNull(row)) this.nullCount++;
    return codes;
  }

  /** Runs work on rows from `firstRow` on; its errors name the file and the row of the file. */
  named<T>(firstRow: number, work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw this.#placed(firstRow, error);
    }
  }

  async namedAsync<T>(firstRow: number, work: Promise<T>): Promise<T> {
    return work.catch((error) => {
      throw this.#placed(firstRow, error);
    });
  }

  #placed(firstRow: number, error: unknown): unknown {
    if (error instanceof Error) {
      error.message = error.message.replace(/^row (\d+):|^"ids?"(?:\[(\d+)\])?/, (_, row, id) => {
        const place = `${this.reader.file}: row ${Number(row ?? id ?? 0) + firstRow}:`;
        return row === undefined ? `${place} column "${this.idColumn}"` : place;
      });
    }
    return error;
  }

  /** Says how many rows have no code. */
  sayNulls(): void {
    if (this.nullCount === 0) return;
    const why = this.source.kind === 'text' ? 'no words' : 'no direction';
    this.call.say(`${counted(this.nullCount, 'row')} with ${why}: null codes, which match nothing`);
  }

  /** Hashes as an index with such options does. */
  hashAs({ bits, seed, projection, dimensions }: SimHasherOptions): SimHasher {
    this.#hasher = new SimHasher({ bits, seed, projection, dimensions, zero: 'null' } as const);
    this.#width = this.#hasher.dimensions;
    return this.#hasher;
  }

  /** What makes the codes of vectors like these; made by the options of the call at first. */
  hasherFor(vectors: DenseMatrix | SparseMatrix): SimHasher {
    const dimensions = 'dimensions' in vectors ? vectors.dimensions : undefined;
    this.#hasher ??= new SimHasher({ ...hasherOptionsOf(this.call, dimensions), zero: 'null' });
    return this.#hasher;
  }
}

/** The options of a hasher, by those of the call; dense vectors have `dimensions`. */
export function hasherOptionsOf(call: Call, dimensions: number | undefined): SimHasherOptions {
  const projection = call.text('projection') ?? (dimensions === undefined ? 'signs' : 'hadamard');
  return {
    bits: call.number('bits') ?? (projection === 'direct' ? 64 : DEFAULT_BITS),
    seed: seedOf(call),
    projection: projection as Projection,
    ...(dimensions !== undefined && { dimensions }),
  };
}

function seedOf(call: Call): bigint {
  const text = call.text('seed') ?? '0';
  if (/^\d{1,20}$/.test(text)) return BigInt(text);
  return call.misuse(`--seed expected an integer in 0..2^64 - 1, got "${text}"`);
}

/** Opens an input and chooses its columns; with `--tf-idf` it is read once before. */
export async function openSource(
  call: Call,
  path: string | undefined,
  options: SourceOptions = {},
): Promise<HashSource> {
  const reader = await openInput(call, path);
  const source = chooseSource(call, reader, options.kinds);
  const idColumn = chooseId(call, reader);
  if (source.kind !== 'text') {
    return new HashSource(call, reader, source, idColumn, null, null, null, path);
  }
  const settings = options.text?.settings ?? textSettingsOf(call);
  const frequencies =
    options.text === undefined
      ? await frequenciesOf(call, path, { source, settings })
      : options.text.frequencies;
  const hasher = await textHasherOf(call, settings, frequencies);
  return new HashSource(call, reader, source, idColumn, settings, frequencies, hasher, path);
}

/** A table that was made before, or one of the input's own texts; null without `--tf-idf`. */
async function frequenciesOf(
  call: Call,
  path: string | undefined,
  { source, settings }: { source: SourceColumns; settings: TextSettings },
): Promise<FrequencyTable | null> {
  const file = call.text('frequencies');
  if (file !== undefined) return readFrequencies(call, file);
  if (!call.has('tf-idf')) return null;
  if (path === undefined || path === '-') {
    call.misuse('--tf-idf reads its input twice, stdin comes once: give --frequencies FILE');
  }
  call.say('reading the texts twice: for the frequencies of their words, and for their codes');
  const hasher = await textHasherOf(call, settings, null);
  const table = hasher.fit([]);
  const reader = await openInput(call, path, { columns: source.columns });
  for await (const batch of reader) {
    table.merge(hasher.fit(batch.texts(source.columns[0]).map((text) => text ?? '')));
  }
  await reader.close();
  return table;
}
