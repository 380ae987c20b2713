/**
 * Makes files of this library explain themselves and show damage, by one metadata key `halfspace`
 * with JSON. In the schema it says what the file is, and how codes were made; in each batch it has
 * the first row and a checksum of each column and of the schema. So a flipped bit, a lost batch and
 * a stream that was cut are found. docs/format.md is the specification. Also checksums and sizes of
 * whole files, as manifests state them.
 */

import { type Data, type RecordBatch, type Schema, Type } from 'apache-arrow';
import { bitAt, bitmapOf } from '../../base/arrays';
import { FormatError } from '../../base/check';
import type { CodeOrigin } from '../../codes/codes';
import { checksum, checksumText } from '../../kernels/xxhash';
import { recordBatch } from '../columns/make';

/** The metadata key of headers and seals. */
export const KEY = 'halfspace';
/** The version of each kind of file that is written, and the only one that is read. */
const VERSIONS: Readonly<Record<string, number>> = {
  index: 5,
  segment: 5,
  blocks: 5,
  space: 3,
};
const versionOf = (kind: unknown) => VERSIONS[String(kind)] ?? 1;

/** The JSON in the schema. */
export interface Header extends Partial<CodeOrigin> {
  readonly version: number;
  readonly bits: number;
}

/** The JSON in a batch. */
interface Seal {
  /** Number of the batch's first row in the file, and how many rows it has. */
  row: number;
  rows: number;
  /** True in the last batch only: a stream that was cut lacks it. */
  end: boolean;
  /** Checksums of the schema, and of each column, as 16 hexadecimal digits. */
  schema: string;
  columns: string[];
}

/** The JSON for the schema of a file that is written. */
export function headerText(header: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ version: versionOf(header.kind), ...header });
}

/** The batch of a sealed file that begins at row `row` of it, with its seal. */
export function sealedBatch(
  schema: Schema,
  columns: Data[],
  row: number,
  isLast: boolean,
): RecordBatch {
  const seal: Seal = {
    row,
    rows: columns[0].length,
    end: isLast,
    schema: schemaChecksum(schema),
    columns: columns.map(columnChecksum),
  };
  return recordBatch(schema, columns, seal.rows, new Map([[KEY, JSON.stringify(seal)]]));
}

/**
 * Compares batches with their seals, one after another. Throws an Error that names what is damaged.
 * Where the schema has no header, another program made the file, and batches have no seals.
 */
export class SealChecker {
  readonly header: Header | null;
  /** Rows of the batches that were checked. */
  row = 0;
  #index = 0;

  constructor(readonly schema: Schema) {
    this.header = headerOf(schema);
  }

  /** Checks the next batch; `isLast` says that none follows it. */
  check(batch: RecordBatch, isLast: boolean): void {
    if (this.header !== null) this.#checkSeal(batch, isLast);
    else if (batch.metadata.has(KEY) || [...batch.metadata.values()].some(isSeal)) {
      throw new Error(`damaged: the schema has lost its "${KEY}" metadata`);
    }
    this.row += batch.numRows;
    this.#index++;
  }

  /** After the last batch. A sealed file has one at least, even without rows: none means a cut. */
  checkEnd(): void {
    if (this.header === null || this.#index > 0) return;
    throw new Error('damaged or cut short: it has no batch');
  }

  /** Fails unless a batch is the one that was sealed at this place, whole. */
  #checkSeal(batch: RecordBatch, isLast: boolean): void {
    const { schema, row } = this;
    const name = `batch ${this.#index}`;
    const seal = sealOf(batch, this.#index);
    if (seal.row !== row || seal.rows !== batch.numRows) {
      throw new Error(`damaged: ${name} starts at row ${seal.row}, expected ${row}`);
    }
    if (seal.end !== isLast) {
      throw new Error(
        isLast ? 'cut short: the last batches are missing' : `damaged: ${name} is last`,
      );
    }
    if (seal.schema !== schemaChecksum(schema)) throw new Error('damaged: the schema was changed');
    for (const i of schema.fields.keys()) checkColumn(batch, i, this.#index, seal);
  }
}

/** Whether a text is the JSON of a batch, even if its key or the key of the schema was damaged. */
const isSeal = (text: string) => /^\{"row":\d+,"rows":\d+,"end":/.test(text);

const sealOf = (batch: RecordBatch, index: number) =>
  parse(batch.metadata.get(KEY), `batch ${index}`) as Seal;

/** Fails unless column `i` of batch number `index` has the checksum in the batch's seal. */
export function checkColumn(
  batch: RecordBatch,
  i: number,
  index: number,
  seal = sealOf(batch, index),
): void {
  if (seal.columns?.[i] === columnChecksum(batch.data.children[i])) return;
  const field = batch.schema.fields[i];
  throw new Error(`damaged: column "${field.name}" of batch ${index} fails its checksum`);
}

/** The record batches of a source, and their schema. */
export interface ArrowBatches {
  readonly schema: Schema;
  readonly batches: readonly RecordBatch[];
  /** Rows of all batches. */
  readonly count: number;
  /** True of a file or a stream, false of a table: a table may be a part of what a file had. */
  readonly isWhole: boolean;
}

/**
 * The header of a file of this library, null for a file of another program. Compares all checksums
 * of bytes that are whole; a table in memory may be a slice of what a file had, whose seals do not
 * fit.
 */
export function openSealed({ schema, batches, isWhole }: ArrowBatches): Header | null {
  const checker = new SealChecker(schema);
  if (isWhole) {
    for (const [i, batch] of batches.entries()) checker.check(batch, i === batches.length - 1);
    checker.checkEnd();
  }
  return checker.header;
}

/** The header in a schema, null where another program made it. Throws for an unknown version. */
export function headerOf(schema: Schema): Header | null {
  const text = schema.metadata.get(KEY);
  if (text === undefined) return null;
  const header = parse(text, 'schema') as Header & { readonly kind?: unknown };
  const [version, known] = [header.version, versionOf(header.kind)];
  if (version === known) return header;
  throw new Error(
    `it is of format version ${version}, this release reads version ${known} only: write it again`,
  );
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

/**
 * Covers the header, and name, type and nullability of each field: all change how bytes are read.
 */
function schemaChecksum(schema: Schema): string {
  const fields = schema.fields.map((field) => [field.name, String(field.type), field.nullable]);
  const text = schema.metadata.get(KEY) + JSON.stringify(fields);
  return checksumText(checksum(new TextEncoder().encode(text)));
}

/**
 * Covers what a reader sees of a column, in this order: validity (if there are nulls), offsets from
 * 0, values, children. It leaves out padding and memory outside of a slice, so that other writers
 * of the same values get the same checksum.
 */
function columnChecksum(data: Data): string {
  return checksumText(chain(data, 0n));
}

/** The hash of a column with the hash of what comes before it as its seed. */
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
    // As a file has them: offsets of a slice begin at 0, and only the slice's elements are written.
    const offsets = (valueOffsets as Int32Array).subarray(0, data.length + 1);
    const [first] = offsets;
    const [from, to] = [Number(first), Number(offsets[data.length])];
    add(from === 0 ? offsets : offsets.map((at) => at - first));
    if (values) add((values as Uint8Array).subarray(from, to));
    else children = children.map((child) => child.slice(from, to - from));
  } else if (data.typeId === Type.Bool) {
    add(bitsOf(data));
  } else if (values) {
    // Bytes of one width, decimals and intervals take several elements a row.
    add((values as Uint8Array).subarray(0, data.length * data.stride));
  }
  return children.reduce((sum, child) => chain(child, sum), hash);
}

/** The bits of a column from bit 0 on, unused ones 0. Arrow writes a column of nulls as zeros. */
function bitsOf({ values, offset, length, nullCount }: Data): Uint8Array {
  return bitmapOf(length, (i) => nullCount < length && bitAt(values, offset + i));
}

/** Bytes that are hashed at once. The hash of a piece is the seed of the next. */
export const PIECE_BYTES = 2 ** 20;

/** The checksum of a file whose bytes come one after another. */
export class FileChecksum {
  #hash = 0n;
  #length = 0;
  /** Holds the bytes that are not a whole piece yet. */
  #piece: Uint8Array | null = null;

  add(bytes: Uint8Array): void {
    for (let from = 0; from < bytes.length; ) {
      const filled = this.#length % PIECE_BYTES;
      const some = bytes.subarray(from, from + PIECE_BYTES - filled);
      from += some.length;
      this.#length += some.length;
      if (some.length === PIECE_BYTES) {
        this.#hash = checksum(some, this.#hash);
        continue;
      }
      this.#piece ??= new Uint8Array(PIECE_BYTES);
      this.#piece.set(some, filled);
      if (filled + some.length === PIECE_BYTES) this.#hash = checksum(this.#piece, this.#hash);
    }
  }

  get text(): string {
    const filled = this.#length % PIECE_BYTES;
    if (filled === 0 && this.#length > 0) return checksumText(this.#hash);
    // An empty file counts as one empty piece.
    const rest = this.#piece?.subarray(0, filled) ?? new Uint8Array();
    return checksumText(checksum(rest, this.#hash));
  }
}

/**
 * The checksum of a file: xxHash64 chained over pieces of 1 MiB, as 16 hexadecimal digits. An empty
 * file counts as one empty piece.
 */
export function fileChecksum(bytes: Uint8Array): string {
  const sum = new FileChecksum();
  sum.add(bytes);
  return sum.text;
}

/** Throws a FormatError unless a file has as many bytes as is stated. */
export function checkFileSize(size: number, expected: number, path: string): void {
  if (size === expected) return;
  const how = size < expected ? 'cut short' : 'damaged';
  throw new FormatError(`${how}: ${size} bytes, the manifest says ${expected}`, path);
}
