/**
 * Parquet's types and the kinds of our columns, both ways. Numbers, texts, bytes and lists keep
 * their types; dates and times become texts, deeper nesting becomes JSON.
 */

import type { SchemaElement, SchemaTree } from 'hyparquet';
import type { ColumnKind } from '../../table/columns/builder';

/**
 * The kind of a column from its schema. Lists have the standard three levels, or the two of old
 * writers; anything deeper is carried as JSON.
 */
export function kindOfTree(tree: SchemaTree): ColumnKind {
  const { element, children } = tree;
  if (children.length === 0) {
    const kind = kindOfLeaf(element);
    return element.repetition_type === 'REPEATED' ? { list: kind } : kind;
  }
  // The standard: LIST, then a repeated group, then the item.
  const [repeated] = children;
  const isList = isOf(element, 'LIST') && children.length === 1;
  if (!isList || repeated.element.repetition_type !== 'REPEATED') return 'json';
  // An old writer's item is the repeated element itself.
  const [item = repeated] = repeated.children;
  const isPlain = item.children.length === 0 && repeated.children.length < 2;
  const isNested = item !== repeated && item.element.repetition_type === 'REPEATED';
  return isPlain && !isNested ? { list: kindOfLeaf(item.element) } : 'json';
}

/** Whether an element has one of these types, by its old annotation or its new one. */
function isOf(
  { converted_type: converted, logical_type: logical }: SchemaElement,
  ...types: string[]
) {
  return types.includes(converted ?? '') || types.includes(logical?.type ?? '');
}

/** The kind of a leaf. */
function kindOfLeaf(element: SchemaElement): ColumnKind {
  if (isOf(element, 'DECIMAL')) return 'float64';
  switch (element.type) {
    case 'BOOLEAN':
      return 'bool';
    case 'FLOAT':
      return 'float32';
    case 'DOUBLE':
      return 'float64';
    case 'INT32':
      if (isOf(element, 'DATE')) return 'text';
      return isUnsigned(element) ? 'uint32' : 'int32';
    case 'INT64':
      if (isOf(element, 'TIMESTAMP', 'TIMESTAMP_MILLIS', 'TIMESTAMP_MICROS')) return 'text';
      return isUnsigned(element) ? 'uint64' : 'int64';
    case 'INT96':
      return 'text';
    case 'FIXED_LEN_BYTE_ARRAY':
      if (isOf(element, 'UUID')) return 'text';
      return isOf(element, 'FLOAT16') ? 'float32' : { fixedBytes: element.type_length ?? 0 };
    default:
      if (isOf(element, 'JSON')) return 'json';
      return isOf(element, 'UTF8', 'STRING', 'ENUM') ? 'text' : 'binary';
  }
}

function isUnsigned({ converted_type: converted, logical_type: logical }: SchemaElement): boolean {
  if (logical?.type === 'INTEGER') return !logical.isSigned;
  return converted?.startsWith('UINT') ?? false;
}

/** The schema of a column that is written; all columns may have nulls. */
export function elementsOf(name: string, kind: ColumnKind): SchemaElement[] {
  if (typeof kind === 'object' && 'list' in kind) {
    return [
      { name, repetition_type: 'OPTIONAL', num_children: 1, converted_type: 'LIST' },
      { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
      ...elementsOf('element', kind.list),
    ];
  }
  return [{ name, repetition_type: 'OPTIONAL', ...leafOf(kind) }];
}

function leafOf(kind: ColumnKind): Omit<SchemaElement, 'name'> {
  if (typeof kind === 'string') return LEAVES[kind] ?? { type: 'INT32' };
  const { fixedBytes } = kind as { fixedBytes: number };
  return { type: 'FIXED_LEN_BYTE_ARRAY', type_length: fixedBytes };
}

/** How kinds are written; narrower integers than these become INT32. */
const LEAVES: Partial<Record<string, Omit<SchemaElement, 'name'>>> = {
  bool: { type: 'BOOLEAN' },
  float32: { type: 'FLOAT' },
  float64: { type: 'DOUBLE' },
  uint32: { type: 'INT64' },
  int64: { type: 'INT64' },
  uint64: { type: 'INT64', converted_type: 'UINT_64' },
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  json: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  binary: { type: 'BYTE_ARRAY' },
};
