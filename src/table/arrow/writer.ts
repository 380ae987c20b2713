/**
 * Batches of rows to the bytes of an Arrow file or stream, one batch at a time. All have the
 * columns of the first; with a header the file is sealed, as `codesToArrow` seals it.
 */

import { type Data, type Field, Schema } from 'apache-arrow';
import { checkBits, checkOneOf, checkOptions } from '../../base/check';
import type { CodeOrigin } from '../../codes/codes';
import type { Column } from '../columns/builder';
import { columnOf, recordBatch } from '../columns/make';
import { joinedColumn, ofType } from '../columns/pick';
import type { RowBatch } from '../row-batch';
import { headerText, KEY, Sealer } from '../sealed/seal';
import { type ArrowLayout, BatchWriter } from './bytes';

/** How the codes of a file were made, for its readers. */
export interface CodeHeader extends Partial<CodeOrigin> {
  readonly bits: number;
}

/** What the rows of a sealed file are: rows that must not change or be lost unnoticed. */
const KINDS = ['plan', 'pairs', 'matches'] as const;

/** Says that the rows of a file are a plan, pairs, or the matches of a search. */
export interface KindHeader extends Partial<CodeHeader> {
  readonly kind: (typeof KINDS)[number];
  /** For a plan with codes: what makes its rows near, in words. */
  readonly near?: string | undefined;
}

/**
 * A batch with more bytes is cut: the Arrow library loses one of 2 GiB or more without an error.
 */
const MAX_BYTES = 1 << 28;

/**
 * Encodes batches one by one; of a sealed file one batch is held back until the next or the end.
 */
export class ArrowWriter {
  /** Null before the first batch, whose columns are those of all. */
  #writer: BatchWriter | null = null;
  /** JSON for the schema of a sealed file; null for a file that is not sealed. */
  readonly #header: string | null;
  #schema = new Schema([]);
  #sealer: Sealer | null = null;

  /** `header` is what the file has, or the JSON of another sealed file, taken as it is. */
  constructor(
    readonly layout: ArrowLayout,
    header: CodeHeader | KindHeader | string | null,
  ) {
    this.#header = header === null || typeof header === 'string' ? header : textOf(header);
  }

  /** The bytes that a batch adds: views of its memory, to be written before that changes. */
  write(batch: RowBatch): Uint8Array[] {
    const { schema, data } = batch.toArrow();
    // Plain columns: a file cannot replace a dictionary between batches.
    const columns = schema.fields.map((field, i) => {
      return columnOf(field.name, joinedColumn([{ field, data: data.children[i] }]));
    });
    if (this.#writer === null) {
      const fields = columns.map(({ field }) => field);
      const metadata = new Map(schema.metadata);
      metadata.delete(KEY);
      if (this.#header !== null) metadata.set(KEY, this.#header);
      this.#schema = new Schema(fields, metadata);
      this.#sealer = this.#header === null ? null : new Sealer(this.#schema);
      this.#writer = new BatchWriter(this.layout, this.#schema);
    }
    const all = this.#schema.fields.map((field, i) => fitted(field, columns[i]));
    if (columns.length > all.length)
      throw new Error(`a batch of ${columns.length} columns after batches of ${all.length}`);
    const bytes = all.reduce((sum, one) => sum + one.byteLength, 0);
    const pieces = Math.ceil(bytes / MAX_BYTES);
    const step = Math.max(1, Math.ceil(batch.count / Math.max(1, pieces)));
    for (let first = 0; first === 0 || first < batch.count; first += step) {
      const length = Math.min(step, batch.count - first);
      const columns = length === batch.count ? all : all.map((one) => one.slice(first, length));
      const records = this.#sealer?.next(columns) ?? [
        recordBatch(this.#schema, columns, columns[0]?.length ?? 0),
      ];
      for (const record of records) this.#writer.write(record);
    }
    return this.#writer.take();
  }

  /** The bytes that end the file; without any batch, a file without columns. */
  finish(): Uint8Array[] {
    this.#writer ??= new BatchWriter(this.layout, this.#schema);
    for (const record of this.#sealer?.next(null) ?? []) this.#writer.write(record);
    this.#writer.finish();
    return this.#writer.take();
  }
}

const CODE_KEYS = ['bits', 'projection', 'seed', 'dimensions', 'texts'];
const KIND_KEYS = ['kind', 'near', 'only', ...CODE_KEYS];

/** The JSON of a header, whose keys and types are checked. */
function textOf(header: CodeHeader | KindHeader): string {
  if ('kind' in header) {
    const { kind, bits, ...rest } = checkOptions('header', header, KIND_KEYS);
    const width = bits === undefined ? {} : { bits: checkBits(bits) };
    return headerText({ kind: checkOneOf('header.kind', kind, KINDS), ...width, ...rest });
  }
  const { bits, ...origin } = checkOptions('header', header, CODE_KEYS);
  return headerText({ bits: checkBits(bits), ...origin });
}

/** A column in the type that it has in the first batch; one of nulls alone takes any type. */
function fitted(wanted: Field, column: Column | undefined): Data {
  const { field, data } = column ?? {};
  if (field === undefined || data === undefined || field.name !== wanted.name) {
    throw new Error(`expected column "${wanted.name}" as in the first batch, got ${field?.name}`);
  }
  const own = ofType(wanted.type, data);
  if (own !== null) return own;
  throw new Error(
    `column "${field.name}" of type ${field.type} was of type ${wanted.type} in the first batch`,
  );
}
