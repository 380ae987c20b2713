/**
 * The headers of saved indexes: the options and counts that hold for all rows. All is checked,
 * since memory is taken and rows are read by them. Nothing here needs the index of users, so that a
 * web page that searches a stored index does not load it.
 */

import { checkInteger, checkNumber, checkOneOf, wrongType, wrongValue } from '../base/check';
import { NO_GAP } from '../kernels/residual-search';
import {
  afterChanges,
  checkIndexOptions,
  type EvaluationRecall,
  type QueryRecall,
  RANKS,
  type RecallReport,
  type SimHashIndexOptions,
} from './index-options';
import { IndexParts } from './index-parts';
import { QueryParts, queryFields } from './query-parts';
import { Zeros } from './vectors/rounding';
import { VECTOR_STORAGES } from './vectors/row-vectors';
import { type IndexHeader, maxRowNumbers } from './write-index';

/** The options with which a saved index was made, from its header. */
export function optionsOf({ header }: { readonly header: object }): SimHashIndexOptions {
  const { bits, projection, seed, dimensions, texts, zero, vectors, mean } = header as IndexHeader;
  if (typeof seed !== 'string' || !/^\d{1,20}$/.test(seed)) {
    throw wrongValue('seed', 'an integer as a string', seed);
  }
  return {
    ...{ bits, projection: projection as 'signs', seed: BigInt(seed) },
    ...(dimensions !== undefined && { dimensions }),
    ...(texts !== undefined && { texts }),
    ...{ zero: zero as 'error', vectors: checkOneOf('vectors', vectors, VECTOR_STORAGES) },
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
  parts.report = report && checkReport(report);
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
  if (report !== null) checkReport(report);
  if (nearness !== undefined) checkNumber('nearness', nearness, 0, 1);
  if (!Array.isArray(gaps)) throw wrongType('gaps', 'an array', gaps);
  for (const gap of gaps) checkNumber('gaps', gap, -NO_GAP, NO_GAP);
  if (!Array.isArray(zeros)) throw wrongType('zeros', 'an array', zeros);
  for (const value of zeros) checkNumber('zeros', value, 0, Number.MAX_SAFE_INTEGER);
  return header as IndexHeader;
}

/** Upper bound of counts in files. */
const MAX_COUNT = 2 ** 32;

/**
 * The report of a file, checked, since programs print reports and search by them; throws with the
 * name of a wrong value.
 */
export function checkReport(report: RecallReport): RecallReport {
  if (typeof report !== 'object') throw wrongType('report', 'an object or null', report);
  checkRecall('report', report);
  if (report.byRows !== null) checkRecall('report.byRows', report.byRows);
  checkNumber('report.wanted', report.wanted, 0, 1);
  for (const name of ['reached', 'copies'] as const) {
    if (typeof report[name] !== 'boolean') {
      throw wrongType(`report.${name}`, 'true or false', report[name]);
    }
  }
  checkOneOf('report.method', report.method, ['scan', 'partitions']);
  checkOneOf('report.rank', report.rank, RANKS);
  checkInteger('report.probes', report.probes, report.method === 'scan' ? 0 : 1, MAX_COUNT);
  checkInteger('report.oversample', report.oversample, 1, MAX_COUNT);
  for (const name of ['k', 'rows', 'rowsAdded', 'rowsRemoved', 'partitions', 'seed'] as const) {
    checkInteger(`report.${name}`, report[name], 0, MAX_COUNT);
  }
  checkNumber('report.queriesPerSecond', report.queriesPerSecond, 0, Number.MAX_VALUE);
  checkNumber('report.heldOutShare', report.heldOutShare, 0, 1);
  const { cost } = report;
  if (typeof cost !== 'object') throw wrongType('report.cost', 'an object or null', cost);
  if (cost !== null) checkNumber('report.cost.bytes', cost.bytes, 0, Number.MAX_VALUE);
  if (cost !== null) checkInteger('report.cost.roundTrips', cost.roundTrips, 0, MAX_COUNT);
  const { warnings } = report;
  if (!Array.isArray(warnings) || !warnings.every((one) => typeof one === 'string')) {
    throw wrongType('report.warnings', 'an array of strings', warnings);
  }
  // Computes `stale` again, so that a file cannot contradict its own counts.
  return afterChanges(report, {});
}

/** Throws unless a recall has all of its values, each in its range. */
function checkRecall(name: string, found: EvaluationRecall): void {
  if (typeof found !== 'object' || found === null) throw wrongType(name, 'an object', found);
  const { recall, interval, queries, source, truth, kthCosine } = found;
  checkNumber(`${name}.recall`, recall, 0, 1);
  checkInterval(`${name}.interval`, interval);
  checkInteger(`${name}.queries`, queries, 0, MAX_COUNT);
  checkOneOf(`${name}.source`, source, ['rows', 'queries']);
  checkOneOf(`${name}.truth`, truth, ['cosine', 'distance', 'given']);
  if (kthCosine !== null) checkNumber(`${name}.kthCosine`, kthCosine, -1, 1);
}

function checkInterval(name: string, interval: QueryRecall['interval']): void {
  if (!Array.isArray(interval) || interval.length !== 2) {
    throw wrongType(name, 'two numbers', interval);
  }
  for (const limit of interval) checkNumber(name, limit, 0, 1);
}
