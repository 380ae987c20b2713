/** Codes and vectors of Arrow files, read as a user reads them. */

import { readFile } from 'node:fs/promises';
import {
  type CodesFromArrowOptions,
  codesFromArrow,
  type VectorsFromArrowOptions,
  vectorsFromArrow,
} from '../../src/table/from-arrow';

export const readCodes = async (path: string, options?: CodesFromArrowOptions) =>
  codesFromArrow(await readFile(path), { ...options, file: path });

export const readVectors = async (path: string, options?: VectorsFromArrowOptions) =>
  vectorsFromArrow(await readFile(path), { ...options, file: path });
