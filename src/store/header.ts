/**
 * What a folder, or a file, says of a whole index: the options by which its codes were made, and
 * counts. All is checked when it is read, since memory is taken and rows are read by it.
 */

import {
  checkBoolean,
  checkInteger,
  checkNumber,
  checkOneOf,
  wrongType,
  wrongValue,
} from '../base/check';
import type { IdKind } from '../index/ids';
import type { IndexCore } from '../index/index-core';
import {
  checkIndexOptions,
  type RecallReport,
  type SimHashIndexOptions,
} from '../index/index-options';
import { QueryParts } from '../index/query';
import { checkReport } from '../index/report';
import { Zeros } from '../index/vectors/rounding';
import { VECTOR_STORAGES } from '../index/vectors/row-vectors';

/** The options of an index and what holds for all of its rows, as JSON. */
export interface IndexHeader {
  readonly bits: number;
  readonly projection: string;
  readonly seed: string;
  readonly dimensions?: number;
  readonly texts?: string;
  readonly zero: string;
  readonly vectors: string;
  /** True if codes were added that other options made. */
  readonly isForeign: boolean;
  readonly ids: IdKind | null;
  /** The row that would be added next. */
  readonly nextRow: number;
  readonly report: RecallReport | null;
  /** True where rows are in second partitions too. */
  readonly copies: boolean;
  /** Values of int8 vectors that became 0, and the sum of squares that they lost, in steps. */
  readonly zeros: readonly [count: number, squares: number] | null;
}

export function headerOf(core: IndexCore): IndexHeader {
  const { bits, hasher, isForeign, report, dense, ids, rows } = core;
  return {
    bits,
    projection: hasher.projection,
    seed: String(hasher.seed),
    ...(hasher.dimensions !== undefined && { dimensions: hasher.dimensions }),
    ...(hasher.options.texts !== undefined && { texts: hasher.options.texts }),
    zero: hasher.zero,
    vectors: core.vectors?.kind ?? 'none',
    isForeign,
    report,
    zeros: dense?.kind === 'int8' ? [dense.zeros.count, dense.zeros.squares] : null,
    ids: ids.kind,
    nextRow: rows.nextRow,
    copies: rows.layout.hasCopies,
  };
}

/** The options with which a saved index was made. */
export function optionsOf(header: IndexHeader): SimHashIndexOptions {
  const { bits, projection, seed, dimensions, texts, zero, vectors } = header;
  if (typeof seed !== 'string' || !/^\d{1,20}$/.test(seed)) {
    throw wrongValue('seed', 'an integer as a string', seed);
  }
  return {
    bits,
    projection: projection as 'signs',
    seed: BigInt(seed),
    ...(dimensions !== undefined && { dimensions }),
    ...(texts !== undefined && { texts }),
    zero: zero as 'error',
    vectors: checkOneOf('vectors', vectors as 'none', VECTOR_STORAGES),
  };
}

/** What makes the queries of an index with this header, which is checked; it holds no rows. */
export function queryPartsOf(header: IndexHeader): QueryParts {
  const { isForeign, nextRow, ids, report, copies, zeros } = header;
  checkBoolean('isForeign', isForeign);
  checkBoolean('copies', copies);
  checkInteger('nextRow', nextRow, 0, 2 ** 32 - 1);
  checkOneOf('ids', ids ?? 'none', ['none', 'row', 'number', 'bigint', 'string']);
  if (zeros !== null && !Array.isArray(zeros)) throw wrongType('zeros', 'two numbers', zeros);
  for (const value of zeros ?? []) checkNumber('zeros', value, 0, Number.MAX_SAFE_INTEGER);
  const parts = new QueryParts(checkIndexOptions(optionsOf(header)));
  parts.isForeign = isForeign;
  parts.report = report && checkReport(report);
  parts.dense?.zeros.add(new Zeros(...(zeros ?? [])));
  return parts;
}
