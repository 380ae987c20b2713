/**
 * Vectors in from Arrow: dense ones as FixedSizeList or List of float16, 32, 64, int8 or uint8;
 * sparse ones as two list columns (dimensions and values) or as a Map. In many batches, sliced,
 * with nulls.
 */

import { type Data, type Field, type Float, type Int, Type } from 'apache-arrow';
import { isValid } from '../base/bitmap';
import { checkOptions } from '../base/check';
import type { DenseMatrix, SparseMatrix } from '../vectors/vectors';
import {
  type ArrowBatches,
  type ArrowSource,
  asFormatError,
  type Chunk,
  checkExpansion,
  chunksOf,
  openArrow,
  pickField,
  rangesOf,
  validityOf,
} from './arrow/source';
import { type Ids, pickIds, readIds } from './columns/ids';

export interface VectorsFromArrowOptions {
  /** The vectors' column; "vector" or "embedding", or the only one that could be, by default. */
  column?: string;
  /** The ids' column; a column "id" by default. */
  id?: string;
  /** The file's name, for errors. */
  file?: string;
}

export interface SparseFromArrowOptions extends VectorsFromArrowOptions {
  /** List columns of dimensions and of values, in place of a Map `column`. */
  indices?: string;
  values?: string;
}

export interface VectorsWithIds<I extends Ids | null = Ids | null> {
  readonly vectors: DenseMatrix;
  readonly ids: I;
}

export interface SparseWithIds<I extends Ids | null = Ids | null> {
  readonly vectors: SparseMatrix;
  readonly ids: I;
}

const USUAL = ['vector', 'embedding'];
const LISTS: readonly number[] = [Type.List, Type.LargeList, Type.FixedSizeList];

/**
 * Dense vectors, all of one width. Values come as float32, or float64 where the column has them,
 * and may lie in the source's own memory when no conversion is needed.
 * `I` is the type of the ids where the caller knows it, such as `string[]`; it is not checked.
 */
export function vectorsFromArrow<I extends Ids | null = Ids | null>(
  source: ArrowSource,
  options?: VectorsFromArrowOptions,
): VectorsWithIds<I> {
  const given = checkOptions('options', options, ['column', 'id', 'file']);
  const opened = openArrow(source, given.file);
  const fits = ({ type }: Field) =>
    LISTS.includes(type.typeId) && isNumber(type.children?.[0]?.type);
  const field = pickField(opened, 'column of dense vectors', fits, {
    column: given.column,
    usual: USUAL,
  });
  const id = pickIds(opened, given.id);
  return asFormatError(given.file, () => ({
    vectors: readDense(opened, field),
    ids: readIds(opened, id) as I,
  }));
}

/** Floats of any width; of integers those with 8 bits, as quantized vectors have. */
function isNumber(type: Field['type'] | undefined): boolean {
  return type?.typeId === Type.Float || (type?.typeId === Type.Int && type.bitWidth === 8);
}

function readDense(source: ArrowBatches, field: Field): DenseMatrix {
  const chunks = chunksOf(source, field.name);
  const validity = validityOf(chunks, source.count);
  const isFixed = field.type.typeId === Type.FixedSizeList;
  if (isFixed && field.type.listSize < 1) throw new Error('vectors without values');
  const dimensions = isFixed ? field.type.listSize : commonLength(chunks);
  const element = field.type.children[0].type;
  const isWide = element.typeId === Type.Float && element.precision === 2;
  const only = chunks.length === 1 ? chunks[0].data : null;
  const inPlace = only?.children[0].values;
  const isUsable = inPlace instanceof Float32Array || inPlace instanceof Float64Array;
  if (only && isFixed && isUsable && validity === null && only.children[0].nullCount === 0) {
    rangesOf(chunks[0]);
    const values = inPlace.subarray(0, source.count * dimensions);
    return { values: whole(values, source.count * dimensions), dimensions };
  }
  const ranges = chunks.map(rangesOf); // checked before memory is taken
  chunks.forEach(({ data, firstRow }, i) => {
    for (let row = 0; row < data.length; row++) {
      const width = ranges[i].end(row) - ranges[i].start(row);
      if (width === dimensions || !isValid(validity, firstRow + row)) continue;
      throw new Error(`row ${firstRow + row}: expected ${dimensions} values, got ${width}`);
    }
  });
  checkExpansion(chunks, source.count, dimensions * (isWide ? 8 : 4));
  const length = source.count * dimensions;
  const values = isWide ? new Float64Array(length) : new Float32Array(length);
  chunks.forEach((chunk, i) => {
    const child = chunk.data.children[0];
    for (let at = 0, row = chunk.firstRow; at < chunk.data.length; at++, row++) {
      if (!isValid(validity, row)) continue;
      const start = ranges[i].start(at);
      copyNumbers(child, start, start + dimensions, values, row * dimensions, row);
    }
  });
  return { values, dimensions, validity };
}

function whole<T extends { length: number }>(values: T, length: number): T {
  if (values.length !== length) throw new Error('the vectors are shorter than their batch');
  return values;
}

/** Length of the first list that is there. */
function commonLength(chunks: readonly Chunk[]): number {
  for (const chunk of chunks) {
    const ranges = rangesOf(chunk);
    for (let row = 0; row < chunk.data.length; row++) {
      if (!chunk.data.getValid(row)) continue;
      const length = ranges.end(row) - ranges.start(row);
      if (length === 0) throw new Error(`row ${chunk.firstRow + row}: a vector without values`);
      return length;
    }
  }
  return 1; // no vector at all: any width will do
}

/** Copies a run of numbers of any stored type, none of which may be null. */
function copyNumbers(
  child: Data,
  start: number,
  end: number,
  out: Float32Array | Float64Array,
  at: number,
  row: number,
): void {
  refuseNulls(child, start, end, row);
  const values = child.values as ArrayLike<number>;
  if (end > values.length) throw new Error(`row ${row}: the values end before the row does`);
  if (child.typeId === Type.Float && (child.type as Float).precision === 0) {
    for (let i = start; i < end; i++) out[at + i - start] = halfToNumber(values[i]);
  } else {
    out.set((values as Float32Array).subarray(start, end), at);
  }
}

function refuseNulls(child: Data, start: number, end: number, row: number): void {
  if (child.nullCount === 0) return;
  for (let i = start; i < end; i++) {
    if (!child.getValid(i)) throw new Error(`row ${row}: a null within the vector`);
  }
}

/** The value of an IEEE half-precision number; every one is a float32. */
function halfToNumber(half: number): number {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >> 10) & 0x1f;
  const fraction = half & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (1024 + fraction) * 2 ** (exponent - 25);
}

/** Sparse vectors from a Map column, or from two list columns. `I` as for `vectorsFromArrow`. */
export function sparseFromArrow<I extends Ids | null = Ids | null>(
  source: ArrowSource,
  options?: SparseFromArrowOptions,
): SparseWithIds<I> {
  const known = ['column', 'indices', 'values', 'id', 'file'];
  const given = checkOptions('options', options, known);
  if ((given.indices === undefined) !== (given.values === undefined)) {
    throw new TypeError('"indices" and "values" go together, or a Map "column" in their place');
  }
  const opened = openArrow(source, given.file);
  const pick = given.indices === undefined ? pickMap : pickLists;
  const parts = pick(opened, given);
  const id = pickIds(opened, given.id);
  return asFormatError(given.file, () => ({
    vectors: readSparse(parts(), opened.count),
    ids: readIds(opened, id) as I,
  }));
}

/** One chunk's two sides: lists with the child that holds their elements. */
interface Part {
  readonly indices: Chunk;
  readonly values: Chunk;
  readonly keys: Data;
  readonly weights: Data;
}

function isInteger(type: Field['type'] | undefined): boolean {
  return type?.typeId === Type.Int;
}

function isFloat(type: Field['type'] | undefined): boolean {
  return type?.typeId === Type.Float;
}

type Fits = (type: Field['type'] | undefined) => boolean;

/** Picks the column; the parts are read later, when what is wrong is the file's fault. */
function pickMap(source: ArrowBatches, { column }: SparseFromArrowOptions): () => Part[] {
  const fits = ({ type }: Field) => {
    const entry = (type.typeId === Type.Map && type.children?.[0]?.type?.children) || [];
    return isInteger(entry[0]?.type) && isFloat(entry[1]?.type);
  };
  const field = pickField(source, 'Map of integers to floats', fits, { column, usual: USUAL });
  return () =>
    chunksOf(source, field.name).map((chunk) => {
      const [keys, weights] = chunk.data.children[0].children;
      return { indices: chunk, values: chunk, keys, weights };
    });
}

function pickLists(source: ArrowBatches, options: SparseFromArrowOptions): () => Part[] {
  const listOf = (fits: Fits) => (field: Field) =>
    LISTS.includes(field.type.typeId) && fits(field.type.children?.[0]?.type);
  const pick = (option: 'indices' | 'values', what: string, fits: Fits) =>
    pickField(source, what, listOf(fits), { column: options[option], usual: [], option }).name;
  const indices = pick('indices', 'column of integer lists', isInteger);
  const values = pick('values', 'column of float lists', isFloat);
  return () => {
    const weights = chunksOf(source, values);
    return chunksOf(source, indices).map((chunk, i) => ({
      indices: chunk,
      values: weights[i],
      keys: chunk.data.children[0],
      weights: weights[i].data.children[0],
    }));
  };
}

function readSparse(parts: readonly Part[], count: number): SparseMatrix {
  const validity = validityOf(
    parts.map((part) => part.indices),
    count,
  );
  const offsets = new Uint32Array(count + 1);
  let entries = 0;
  const spans: { part: Part; row: number; key: number; weight: number; length: number }[] = [];
  for (const part of parts) {
    const keys = rangesOf(part.indices);
    const weights = rangesOf(part.values);
    const { length } = part.indices.data;
    for (let at = 0, row = part.indices.firstRow; at < length; at++, row++) {
      const isPresent = isValid(validity, row);
      if (isPresent !== part.values.data.getValid(at)) {
        throw new Error(`row ${row}: dimensions or values are null, but not both`);
      }
      if (isPresent) {
        const key = keys.start(at);
        const weight = weights.start(at);
        const span = keys.end(at) - key;
        if (weights.end(at) - weight !== span) {
          throw new Error(`row ${row}: ${span} dimensions but ${weights.end(at) - weight} values`);
        }
        spans.push({ part, row, key, weight, length: span });
        entries += span;
      }
      if (entries > 0xffff_ffff) throw new Error('more than 2^32 entries, read fewer batches');
      offsets[row + 1] = entries;
    }
  }
  const indices = indexArray(parts, entries);
  const isWide = parts.some(({ weights }) => (weights.type as Float).precision === 2);
  const values = isWide ? new Float64Array(entries) : new Float32Array(entries);
  for (const { part, row, key, weight, length } of spans) {
    refuseNulls(part.keys, key, key + length, row);
    const keys = part.keys.values as Uint32Array;
    if (key + length > keys.length) throw new Error(`row ${row}: the list ends beyond its values`);
    (indices as Uint32Array).set(keys.subarray(key, key + length), offsets[row]);
    copyNumbers(part.weights, weight, weight + length, values, offsets[row], row);
  }
  return { offsets, indices, values, validity };
}

/** The narrowest array of four that holds the column's integers. */
function indexArray(parts: readonly Part[], entries: number) {
  const type = parts[0]?.keys.type as Int | undefined;
  if (type?.bitWidth === 64) {
    return type.isSigned ? new BigInt64Array(entries) : new BigUint64Array(entries);
  }
  return type?.isSigned ? new Int32Array(entries) : new Uint32Array(entries);
}
