/**
 * Parquet's types and ours, both ways. Numbers, texts, bytes and lists are themselves; dates and
 * times are text, what is nested deeper is JSON.
 */

import type { SchemaElement, SchemaTree } from 'hyparquet';
import type { ColumnKind } from '../../table/columns/builder';

/**
 * The kind of a column from its schema. Lists follow the standard three levels, or the two of old
 * writers; anything deeper is carried as JSON.
 */
export function kindOfTree(tree: SchemaTree): ColumnKind {
  const { element, children } = tree;
  if (children.length === 0) {
    const kind = kindOfLeaf(element);
    return element.repetition_type === 'REPEATED' ? { list: kind } : kind;
  }
  const isList = element.converted_type === 'LIST' || element.logical_type?.type === 'LIST';
  const [repeated] = children;
  if (!isList || children.length !== 1 || repeated.element.repetition_type !== 'REPEATED')
    return 'json';
  const item = repeated.children.length === 1 ? repeated.children[0] : repeated;
  return item.children.length === 0 && item.element.repetition_type !== 'REPEATED'
    ? { list: kindOfLeaf(item.element) }
    : repeated.children.length === 0
      ? { list: kindOfLeaf(repeated.element) }
      : 'json';
}

function kindOfLeaf(element: SchemaElement): ColumnKind {
  const { type, converted_type: converted, logical_type: logical, type_length: width } = element;
  if (converted === 'DECIMAL' || logical?.type === 'DECIMAL') return 'float64';
  switch (type) {
    case 'BOOLEAN':
      return 'bool';
    case 'FLOAT':
      return 'float32';
    case 'DOUBLE':
      return 'float64';
    case 'INT32':
      if (converted === 'DATE' || logical?.type === 'DATE') return 'text';
      return isUnsigned(element) ? 'uint32' : 'int32';
    case 'INT64':
      if (converted?.startsWith('TIMESTAMP') || logical?.type === 'TIMESTAMP') return 'text';
      return isUnsigned(element) ? 'uint64' : 'int64';
    case 'INT96':
      return 'text';
    case 'FIXED_LEN_BYTE_ARRAY':
      if (logical?.type === 'UUID') return 'text';
      return logical?.type === 'FLOAT16' ? 'float32' : { fixedBytes: width ?? 0 };
    default:
      if (converted === 'JSON' || logical?.type === 'JSON') return 'json';
      return isText(element) ? 'text' : 'binary';
  }
}

function isText({ converted_type: converted, logical_type: logical }: SchemaElement): boolean {
  return (
    ['UTF8', 'ENUM'].includes(converted ?? '') || ['STRING', 'ENUM'].includes(logical?.type ?? '')
  );
}

function isUnsigned({ converted_type: converted, logical_type: logical }: SchemaElement): boolean {
  if (logical?.type === 'INTEGER') return !logical.isSigned;
  return converted?.startsWith('UINT') ?? false;
}

/** The schema of a column that is written. */
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
  if (typeof kind === 'object') {
    return {
      type: 'FIXED_LEN_BYTE_ARRAY',
      type_length: (kind as { fixedBytes: number }).fixedBytes,
    };
  }
  switch (kind) {
    case 'bool':
      return { type: 'BOOLEAN' };
    case 'float32':
      return { type: 'FLOAT' };
    case 'float64':
      return { type: 'DOUBLE' };
    case 'int64':
      return { type: 'INT64' };
    case 'uint64':
      return { type: 'INT64', converted_type: 'UINT_64' };
    case 'uint32':
      return { type: 'INT64' };
    case 'text':
    case 'json':
      return { type: 'BYTE_ARRAY', converted_type: 'UTF8' };
    case 'binary':
      return { type: 'BYTE_ARRAY' };
    default:
      return { type: 'INT32' };
  }
}
