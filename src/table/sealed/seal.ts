/**
 * What makes files of this library explain themselves and show damage: one metadata key
 * `halfspace` with JSON. In the schema it says how the codes were made; in each batch it holds the
 * first row and a checksum of each column and of the schema. So a flipped bit, a lost batch and a
 * stream that was cut are found. docs/format.md is the specification.
 */

import { type Data, type RecordBatch, type Schema, Type } from 'apache-arrow';
import { bitAt, bitmapOf } from '../../base/bitmap';
import type { BitOrder, CodeOrigin } from '../../codes/codes';
import { checksum } from '../../kernels/kernels';
import type { ArrowBatches } from '../arrow/source';
import type { ReadCodesOptions } from '../columns/codes';
import { recordBatch } from '../columns/make';

/** The metadata key of headers and seals. */
export const KEY = 'halfspace';
/** Version of the files that are written, and the only one that is read. */
const FORMAT_VERSION = 1;

/** The schema's JSON. */
export interface Header extends Partial<CodeOrigin> {
  readonly version: number;
  readonly bits: number;
}

/** A batch's JSON. */
interface Seal {
  /** The first row, and how many. */
  row: number;
  rows: number;
  /** True for the last batch. */
  end: boolean;
  schema: string;
  columns: string[];
}

/** The schema's JSON of a file that is written. */
export function headerText(header: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ version: FORMAT_VERSION, ...header });
}

/**
 * Seals the batches of a file one after another. The last one says that it is the last, so each is
 * held until the next.
 */
export class Sealer {
  #held: Data[] | null = null;
  #row = 0;

  constructor(readonly schema: Schema) {}

  /** The batch of the columns before these, sealed; none before the first. Null ends the file. */
  next(columns: Data[] | null): RecordBatch[] {
    const held = this.#held;
    this.#held = columns;
    if (held === null) return [];
    const seal: Seal = {
      row: this.#row,
      rows: held[0].length,
      end: columns === null,
      schema: schemaChecksum(this.schema),
      columns: held.map(columnChecksum),
    };
    this.#row += seal.rows;
    const metadata = new Map([[KEY, JSON.stringify(seal)]]);
    return [recordBatch(this.schema, held, seal.rows, metadata)];
  }
}

/**
 * Compares the batches of a source with their seals, one after another. Throws an Error that names
 * what is damaged. Of a source of another maker, whose `header` is null, nothing is sealed.
 */
export class SealChecker {
  readonly header: Header | null;
  /** Rows of the batches so far. */
  row = 0;
  #index = 0;

  constructor(readonly schema: Schema) {
    this.header = headerOf(schema);
  }

  check(batch: RecordBatch, isLast: boolean): void {
    if (this.header !== null) this.#checkSeal(batch, isLast);
    else if (batch.metadata.has(KEY) || [...batch.metadata.values()].some(isSeal)) {
      throw new Error(`damaged: the schema has lost its "${KEY}" metadata`);
    }
    this.row += batch.numRows;
    this.#index++;
  }

  /** A sealed file has at least one batch, even without rows: none means that it was cut. */
  checkEnd(): void {
    if (this.header === null || this.#index > 0) return;
    throw new Error('damaged or cut short: it has no batch');
  }

  /** Fails unless the batch is the one that was sealed, whole, and at its place. */
  #checkSeal(batch: RecordBatch, isLast: boolean): void {
    const { schema, row } = this;
    const name = `batch ${this.#index}`;
    const seal = parse(batch.metadata.get(KEY), name) as Seal;
    if (seal.row !== row || seal.rows !== batch.numRows) {
      throw new Error(`damaged: ${name} starts at row ${seal.row}, expected ${row}`);
    }
    if (seal.end !== isLast) {
      throw new Error(
        isLast ? 'cut short: the last batches are missing' : `damaged: ${name} is last`,
      );
    }
    if (seal.schema !== schemaChecksum(schema)) throw new Error('damaged: the schema was changed');
    schema.fields.forEach((_, i) => {
      checkColumn(batch, i, this.#index);
    });
  }
}

/** Whether a text is a batch's JSON, though its key be damaged. */
const isSeal = (text: string) => /^\{"row":\d+,"rows":\d+,"end":/.test(text);

/** Fails unless column `i` of a batch is the one that was sealed. */
export function checkColumn(batch: RecordBatch, i: number, index: number): void {
  const name = `batch ${index}`;
  const seal = parse(batch.metadata.get(KEY), name) as Seal;
  if (seal.columns?.[i] === columnChecksum(batch.data.children[i])) return;
  const field = batch.schema.fields[i];
  throw new Error(`damaged: column "${field.name}" of ${name} fails its checksum`);
}

/**
 * The header of a file of this library, or null for a file of another maker. Of bytes, every batch
 * is checked; a table in memory may be a slice of what a file held.
 */
export function openSealed({ schema, batches, isWhole }: ArrowBatches): Header | null {
  const checker = new SealChecker(schema);
  if (isWhole) {
    for (const [i, batch] of batches.entries()) checker.check(batch, i === batches.length - 1);
    checker.checkEnd();
  }
  return checker.header;
}

/** What a schema says of itself, or null where another program made it. */
export function headerOf(schema: Schema): Header | null {
  const text = schema.metadata.get(KEY);
  if (text === undefined) return null;
  const header = parse(text, 'schema') as Header;
  if (header.version === FORMAT_VERSION) return header;
  const { version } = header;
  throw new Error(`format version ${version} is not known, this release reads ${FORMAT_VERSION}`);
}

/** How to read codes: as the caller says, else as the header does. */
export function codeOptions(
  given: { readonly bits?: number | undefined; readonly bitOrder?: BitOrder | undefined },
  header: Header | null,
): ReadCodesOptions {
  const { projection, seed, dimensions, texts } = header ?? {};
  const origin = projection !== undefined && {
    ...{ projection: String(projection), seed: String(seed) },
    ...(dimensions !== undefined && { dimensions }),
    ...(texts !== undefined && { texts: String(texts) }),
  };
  return {
    ...{ bits: given.bits ?? header?.bits, bitOrder: given.bitOrder },
    ...(origin && { origin }),
  };
}

function parse(text: string | undefined, name: string): object {
  try {
    const value: unknown = JSON.parse(text as string);
    if (typeof value === 'object' && value !== null) return value;
  } catch {
    // The error below says it.
  }
  throw new Error(`damaged: the "${KEY}" metadata of ${name} is no JSON object`);
}

/** Of the header's text and each field's name, type and nullability: they change how bytes read. */
function schemaChecksum(schema: Schema): string {
  const fields = schema.fields.map((field) => [field.name, String(field.type), field.nullable]);
  return hex(checksum(new TextEncoder().encode(schema.metadata.get(KEY) + JSON.stringify(fields))));
}

/**
 * Of what a reader sees of the column, one after another: validity (where there are nulls), offsets
 * from 0, values, children. Padding, and memory outside of a slice, do not count, so that another
 * writer of the same values gets the same checksum.
 */
function columnChecksum(data: Data): string {
  return hex(chain(data, 0n));
}

function chain(data: Data, start: bigint): bigint {
  let hash = start;
  const add = (part: ArrayBufferView) => {
    const bytes = new Uint8Array(part.buffer, part.byteOffset, part.byteLength);
    hash = checksum(bytes, hash);
  };
  if (data.nullCount > 0) {
    add(bitmapOf(data.length, (row) => data.getValid(row)));
  }
  const { values, valueOffsets } = data;
  let { children } = data;
  if (valueOffsets) {
    // As a file has them: those of a slice begin at 0 there, and only its elements are written.
    const offsets = (valueOffsets as Int32Array).subarray(0, data.length + 1);
    const [first] = offsets;
    const [from, to] = [Number(first), Number(offsets[data.length])];
    add(from === 0 ? offsets : offsets.map((at) => at - first));
    if (values) add((values as Uint8Array).subarray(from, to));
    else children = children.map((child) => child.slice(from, to - from));
  } else if (data.typeId === Type.Bool) {
    add(bitsOf(data));
  } else if (values) {
    const width = data.typeId === Type.FixedSizeBinary ? data.stride : 1;
    add((values as Uint8Array).subarray(0, data.length * width));
  }
  return children.reduce((sum, child) => chain(child, sum), hash);
}

/** From bit 0 on, unused ones 0; a column of nulls is written as zeros. */
function bitsOf({ values, offset, length, nullCount }: Data): Uint8Array {
  return bitmapOf(length, (i) => nullCount < length && bitAt(values, offset + i));
}

function hex(hash: bigint): string {
  return hash.toString(16).padStart(16, '0');
}
