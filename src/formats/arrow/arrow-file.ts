/** Arrow files by path. */

import type { Ids } from '../../base/ids';
import type { Codes } from '../../codes/codes';
import {
  type CodesFromArrowOptions,
  type CodesWithIds,
  codesFromArrow,
  type SparseFromArrowOptions,
  type SparseWithIds,
  sparseFromArrow,
  type VectorsFromArrowOptions,
  type VectorsWithIds,
  vectorsFromArrow,
} from '../../table/from-arrow';
import { type CodesToArrowOptions, codesToArrow } from '../../table/sealed/codes';
import { readWhole, writeWhole } from '../file-io';

/** Codes of an Arrow file or stream. `I` is the type of the ids where the caller knows it. */
export async function readCodes<I extends Ids | null = Ids | null>(
  path: string,
  options?: Omit<CodesFromArrowOptions, 'file'>,
): Promise<CodesWithIds<I>> {
  return codesFromArrow(await readWhole(path), { ...options, file: path });
}

/** Dense vectors of an Arrow file or stream. */
export async function readVectors<I extends Ids | null = Ids | null>(
  path: string,
  options?: Omit<VectorsFromArrowOptions, 'file'>,
): Promise<VectorsWithIds<I>> {
  return vectorsFromArrow(await readWhole(path), { ...options, file: path });
}

/** Sparse vectors of an Arrow file or stream. */
export async function readSparse<I extends Ids | null = Ids | null>(
  path: string,
  options?: Omit<SparseFromArrowOptions, 'file'>,
): Promise<SparseWithIds<I>> {
  return sparseFromArrow(await readWhole(path), { ...options, file: path });
}

/** Writes codes as an Arrow file: whole, or not at all. An existing file is replaced. */
export async function writeCodes(
  path: string,
  codes: Codes,
  options?: CodesToArrowOptions,
): Promise<void> {
  await writeWhole(path, [codesToArrow(codes, options)]);
}
