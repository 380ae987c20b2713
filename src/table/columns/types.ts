/**
 * Arrow's types in the groups that this library needs: numbers by kind, with the typed array that
 * has them, and the types of texts, bytes and lists; what a column of a type can be read as, and
 * which builder makes such a column. One table serves builders, readers and writers.
 */

import {
  type DataType,
  type Field,
  Float32,
  Float64,
  type Int,
  Int8,
  Int16,
  Int32,
  Int64,
  Type,
  Uint8,
  Uint16,
  Uint32,
  Uint64,
} from 'apache-arrow';

/** A type of numbers, and the typed array that has them. */
interface NumberType {
  readonly type: DataType;
  readonly Values: new (length: number) => NumberArray;
}

const NUMBERS = {
  int8: { type: new Int8(), Values: Int8Array },
  uint8: { type: new Uint8(), Values: Uint8Array },
  int16: { type: new Int16(), Values: Int16Array },
  uint16: { type: new Uint16(), Values: Uint16Array },
  int32: { type: new Int32(), Values: Int32Array },
  uint32: { type: new Uint32(), Values: Uint32Array },
  int64: { type: new Int64(), Values: BigInt64Array },
  uint64: { type: new Uint64(), Values: BigUint64Array },
  float32: { type: new Float32(), Values: Float32Array },
  float64: { type: new Float64(), Values: Float64Array },
} as const;

/** The kinds of numbers, named as in numpy. */
export type NumberKind = keyof typeof NUMBERS;

/** Arrays that hold a column of numbers. */
export type NumberArray = (typeof NUMBERS)[NumberKind]['Values']['prototype'];

/** The kinds of columns. 'json' is text that has a JSON value, and is written back as one. */
export type ColumnKind =
  | NumberKind
  | 'bool'
  | 'text'
  | 'json'
  | 'binary'
  | { readonly list: ColumnKind };

/** Arrow's own name for JSON in a text column. */
export const JSON_METADATA = new Map([['ARROW:extension:name', 'arrow.json']]);

/** The type of numbers of a kind, and the array of their values. */
export function numberType(kind: NumberKind): NumberType {
  return NUMBERS[kind];
}

/** An array for the integers of a column: of 64 bits where they need it, else of 32. */
export function integerArray({ bitWidth, isSigned }: Int, length: number) {
  if (bitWidth === 64) return isSigned ? new BigInt64Array(length) : new BigUint64Array(length);
  return isSigned ? new Int32Array(length) : new Uint32Array(length);
}

/** The type of the numbers in a typed array; undefined for anything else. */
export function typeOfArray(values: unknown): DataType | undefined {
  return Object.values(NUMBERS).find(({ Values }) => values instanceof Values)?.type;
}

/** True of UTF-8 texts with any layout. */
export const isTextType = (typeId: number) =>
  typeId === Type.Utf8 || typeId === Type.LargeUtf8 || typeId === Type.Utf8View;

/** True of bytes of any length with any layout. */
export const isBinaryType = (typeId: number) =>
  typeId === Type.Binary || typeId === Type.LargeBinary || typeId === Type.BinaryView;

/** True of lists of one type of item. A Map, which is a list of pairs, is none. */
export const isListType = (typeId: number) =>
  typeId === Type.List || typeId === Type.LargeList || typeId === Type.FixedSizeList;

/** True of types with offsets of 64 bits. */
export const isLargeType = (typeId: number) =>
  typeId === Type.LargeUtf8 || typeId === Type.LargeBinary || typeId === Type.LargeList;

/**
 * What a column can be read as: by the methods `vectors`, `texts`, `codes` and `ids` of a batch, or
 * as a part of sparse rows.
 */
export type Fit = 'vector' | 'text' | 'code' | 'id' | 'number' | 'indices' | 'map';

/** A column by name, type and use. */
export interface ColumnInfo {
  readonly name: string;
  /** The type in Arrow's words, but "Json" for texts that are JSON values. */
  readonly type: string;
  readonly fits: readonly Fit[];
}

/** Describes an Arrow field. The format allows fields without a name: they are called ''. */
export function columnInfo(field: Field): ColumnInfo {
  const type = isJson(field) ? 'Json' : String(field.type);
  return { name: field.name ?? '', type, fits: fitsOf(field) };
}

/** True of texts that are JSON values. */
function isJson({ metadata }: Field): boolean {
  const [[key, name]] = JSON_METADATA;
  return metadata.get(key) === name;
}

function fitsOf(field: Field): Fit[] {
  const { type } = field;
  const { typeId } = type;
  if (isJson(field)) return [];
  // The entries of a dictionary are read as texts or ids, never as numbers.
  const entry = typeId === Type.Dictionary ? type.dictionary.typeId : null;
  if (isTextType(entry ?? typeId)) return ['text', 'id'];
  if (entry !== null) return entry === Type.Int ? ['id'] : [];
  if (typeId === Type.Int) {
    return type.bitWidth === 64 ? ['id', 'number', 'code'] : ['id', 'number'];
  }
  if (typeId === Type.Float) return ['number'];
  if (typeId === Type.FixedSizeBinary || isBinaryType(typeId)) return ['code'];
  if (typeId === Type.Map) return isSparseMap(type) ? ['map'] : [];
  return isListType(typeId) ? fitsOfList(type) : [];
}

/**
 * Lists of floats are vectors; of integers they may be codes, or dimensions of sparse rows, too.
 */
function fitsOfList(type: Field['type']): Fit[] {
  const element: Field['type'] | undefined = type.children?.[0]?.type;
  if (element?.typeId === Type.Float) return ['vector'];
  if (element?.typeId !== Type.Int) return [];
  const isCode = type.typeId === Type.FixedSizeList && element.bitWidth === 8 && !element.isSigned;
  return ['vector', 'indices', ...(isCode ? (['code'] as const) : [])];
}

/** True of Maps from integers to numbers, which are sparse rows. */
function isSparseMap(type: Field['type']): boolean {
  const [key, value] = type.children?.[0]?.type?.children ?? [];
  const isNumber = (one?: Field) =>
    one?.type.typeId === Type.Int || one?.type.typeId === Type.Float;
  return key?.type.typeId === Type.Int && isNumber(value);
}

/** The kind of a builder that makes such a column again. */
export function kindOfField(field: Field): ColumnKind {
  return isJson(field) ? 'json' : kindOfType(field.type);
}

/** Types without a kind of their own become text, nested ones JSON. */
function kindOfType(type: Field['type']): ColumnKind {
  const { typeId } = type;
  if (typeId === Type.Dictionary) return kindOfType(type.dictionary);
  if (typeId === Type.Bool) return 'bool';
  if (typeId === Type.Int) return `${type.isSigned ? '' : 'u'}int${type.bitWidth}` as NumberKind;
  if (typeId === Type.Float) return type.precision === 2 ? 'float64' : 'float32';
  if (typeId === Type.FixedSizeBinary || isBinaryType(typeId)) return 'binary';
  if (isListType(typeId)) {
    const item = kindOfField(type.children[0]);
    return typeof item === 'object' ? 'json' : { list: item };
  }
  return typeId === Type.Struct || typeId === Type.Map || typeId === Type.Union ? 'json' : 'text';
}
