/** Codes and vectors of Arrow bytes, tables and files, read as a user reads them. */

import { readFile, writeFile } from 'node:fs/promises';
import {
  type ArrowSource,
  type Codes,
  type CodesFromArrowOptions,
  type CodesToArrowOptions,
  codesFromArrow,
  codesToArrow,
  type Fit,
  type RowBatch,
  rowsFromArrow,
} from '../../src/index';

interface Named {
  column?: string;
  indices?: string;
  values?: string;
  id?: string;
  file?: string;
}

/** The column that is named, else the first that fits. */
const columnOf = ({ columns }: RowBatch, fit: Fit, name?: string) =>
  name ?? columns.find(({ fits }) => fits.includes(fit))?.name ?? 'vector';

function idsOf(rows: RowBatch, id?: string) {
  const isThere = id !== undefined || rows.columns.some(({ name }) => name === 'id');
  return isThere ? rows.ids(id ?? 'id') : null;
}

/** Dense vectors, and the ids next to them. */
export function vectorsFromArrow(source: ArrowSource, { column, id, file }: Named = {}) {
  const rows = rowsFromArrow(source, file === undefined ? {} : { file });
  return { vectors: rows.vectors(columnOf(rows, 'vector', column)), ids: idsOf(rows, id) };
}

/** Sparse vectors of a Map or of two lists, and the ids next to them. */
export function sparseFromArrow(source: ArrowSource, options: Named = {}) {
  const { column, indices, values, id, file } = options;
  const rows = rowsFromArrow(source, file === undefined ? {} : { file });
  const vectors =
    indices === undefined
      ? rows.sparse(columnOf(rows, 'map', column))
      : rows.sparse(indices, values as string);
  return { vectors, ids: idsOf(rows, id) };
}

export const writeCodes = (path: string, codes: Codes, options?: CodesToArrowOptions) =>
  writeFile(path, codesToArrow(codes, options));

export const readCodes = async (path: string, options?: CodesFromArrowOptions) =>
  codesFromArrow(await readFile(path), { ...options, file: path });

export const readVectors = async (path: string, options?: Named) =>
  vectorsFromArrow(await readFile(path), { ...options, file: path });
