/**
 * The headers of saved indexes: the options and counts that hold for all rows. All is checked,
 * since memory is taken and rows are read by them. Nothing here needs the index of users, so that a
 * web page that searches a stored index does not load it.
 */

import { checkInteger, checkNumber, checkOneOf, wrongType, wrongValue } from '../base/check';
import { NO_GAP } from '../kernels/residuals/residuals.scalar';
import { checkIndexOptions, type SimHashIndexOptions } from './index-options';
import { IndexParts } from './index-parts';
import { QueryParts, queryFields } from './query-parts';
import { reportOf } from './saved-report';
import { Zeros } from './vectors/rounding';
import { VECTOR_STORAGES } from './vectors/row-vectors';
import { type IndexHeader, maxRowNumbers } from './write-index';

/** The options with which a saved index was made, from its header. */
export function optionsOf({ header }: { readonly header: object }): SimHashIndexOptions {
  const { bits, projection, seed, dimensions, texts, zero, keep, mean } = header as IndexHeader;
  if (typeof seed !== 'string' || !/^\d{1,20}$/.test(seed)) {
    throw wrongValue('seed', 'an integer as a string', seed);
  }
  return {
    ...{ bits, projection: projection as 'signs', seed: BigInt(seed) },
    ...(dimensions !== undefined && { dimensions }),
    ...(texts !== undefined && { texts }),
    ...{ zero: zero as 'error', vectors: checkOneOf('keep', keep, VECTOR_STORAGES) },
    ...(mean !== null && { mean }),
  };
}

/** What makes the queries of an index with the options of a header. */
export function queryPartsOf(header: object): QueryParts {
  return new QueryParts(queryFields(checkIndexOptions(optionsOf({ header }))));
}

/** The parts of an index in memory with the options of a header, without rows. */
export function emptyPartsOf(header: object): IndexParts {
  return IndexParts.of(checkIndexOptions(optionsOf({ header })));
}

/** Sets what a header says of all rows. */
export function takeHeader(parts: QueryParts, { isForeign, report, zeros }: IndexHeader): void {
  parts.isForeign = isForeign;
  parts.report = report && reportOf(report);
  parts.dense?.zeros.add(new Zeros(...(zeros ?? [])));
}

/** Checks the parts of a header that are not options; `count` rows belong to it. */
export function checkHeader(header: object, count: number): IndexHeader {
  const {
    isForeign,
    nextRow,
    ids,
    report,
    nearness,
    gaps = [],
    zeros = [],
  } = header as IndexHeader;
  if (typeof isForeign !== 'boolean') throw wrongType('isForeign', 'true or false', isForeign);
  checkInteger('nextRow', nextRow, count, maxRowNumbers(count));
  checkOneOf('ids', ids ?? 'none', ['none', 'row', 'number', 'bigint', 'string']);
  if (report !== null) reportOf(report);
  if (nearness !== undefined) checkNumber('nearness', nearness, 0, 1);
  if (!Array.isArray(gaps)) throw wrongType('gaps', 'an array', gaps);
  for (const gap of gaps) checkNumber('gaps', gap, -NO_GAP, NO_GAP);
  if (!Array.isArray(zeros)) throw wrongType('zeros', 'an array', zeros);
  for (const value of zeros) checkNumber('zeros', value, 0, Number.MAX_SAFE_INTEGER);
  return header as IndexHeader;
}
