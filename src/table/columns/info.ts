/** The name of a column, its type, and what it can be read as. */

import { type Field, Type } from 'apache-arrow';
import { type ColumnKind, JSON_METADATA } from './builder';
import { isBinaryType, isListType, isTextType, type NumberKind } from './types';

/**
 * What a column can be read as: by the methods `vectors`, `texts`, `codes` and `ids` of a batch, or
 * as a part of sparse rows.
 */
export type Fit = 'vector' | 'text' | 'code' | 'id' | 'number' | 'indices' | 'values' | 'map';

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
  if (typeId === Type.Dictionary) return fitsOfDictionary(type.dictionary);
  if (isTextType(typeId)) return ['text', 'id'];
  if (typeId === Type.Int) {
    return type.bitWidth === 64 ? ['id', 'number', 'code'] : ['id', 'number'];
  }
  if (typeId === Type.Float) return ['number'];
  if (typeId === Type.FixedSizeBinary || isBinaryType(typeId)) return ['code'];
  if (typeId === Type.Map) return isSparseMap(type) ? ['map'] : [];
  return isListType(typeId) ? fitsOfList(type) : [];
}

/** What a dictionary can be read as: its entries as texts or ids, never as numbers. */
function fitsOfDictionary({ typeId }: Field['type']): Fit[] {
  if (isTextType(typeId)) return ['text', 'id'];
  return typeId === Type.Int ? ['id'] : [];
}

/**
 * Lists of floats are vectors; of integers they may be codes, or dimensions of sparse rows, too.
 */
function fitsOfList(type: Field['type']): Fit[] {
  const element: Field['type'] | undefined = type.children?.[0]?.type;
  if (element?.typeId === Type.Float) return ['vector', 'values'];
  if (element?.typeId !== Type.Int) return [];
  const isBytes = element.bitWidth === 8 && !element.isSigned;
  const isFixed = type.typeId === Type.FixedSizeList;
  return element.bitWidth === 64 || (isBytes && isFixed)
    ? ['vector', 'code', 'indices', 'values']
    : ['vector', 'indices', 'values'];
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
  if (typeId === Type.FixedSizeBinary) return { fixedBytes: type.byteWidth };
  if (isBinaryType(typeId)) return 'binary';
  if (isListType(typeId)) {
    const item = kindOfField(type.children[0]);
    return typeof item === 'object' && 'list' in item ? 'json' : { list: item };
  }
  return typeId === Type.Struct || typeId === Type.Map || typeId === Type.Union ? 'json' : 'text';
}
