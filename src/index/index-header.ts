/**
 * The JSON header of an index's files: options, kind of ids, report (docs/format.md). Its names are
 * those of version 1 of the format, and this is the only place that translates them to the names of
 * the library: `keep` is the option `vectors`; a report's `plan` and `isReached` are `method` and
 * `reached`. Every value is checked when it is read, since it decides how searches run.
 */

import { checkInteger, checkNumber, checkOneOf, wrongType, wrongValue } from '../base/check';
import { MAX_ROWS } from './distinct/distinct-codes';
import type { IdKind } from './id-table';
import type { RecallReport } from './index-options';
import { RANKS, type SimHashIndexOptions } from './index-options';
import type { IndexParts } from './index-parts';
import { VECTOR_STORAGES } from './vectors/row-vectors';

export interface IndexHeader {
  readonly bits: number;
  readonly projection: string;
  readonly seed: string;
  readonly dimensions?: number;
  readonly zero: string;
  readonly keep: string;
  readonly mean: readonly number[] | null;
  /** True when codes were added that these options did not make. */
  readonly isForeign: boolean;
  readonly ids: IdKind | null;
  /** The number that the next row gets. */
  readonly nextRow: number;
  readonly report: SavedReport | null;
  /** The mean cosine of vectors with their partitions' centroids. */
  readonly nearness?: number;
}

/** A report as files have it. */
type SavedReport = Omit<RecallReport, 'method' | 'reached'> & {
  readonly plan: RecallReport['method'];
  readonly isReached: boolean;
};

export function headerOf(parts: IndexParts, nextRow: number): IndexHeader {
  const { hasher, mean, isForeign, report, partitions } = parts;
  const keep = parts.vectors?.kind ?? 'none';
  return {
    ...{ bits: parts.bits, projection: hasher.projection, seed: String(hasher.seed) },
    ...(hasher.dimensions !== undefined && { dimensions: hasher.dimensions }),
    ...{ zero: hasher.zero, keep, mean: mean && Array.from(mean) },
    ...{ isForeign, ids: parts.ids.kind, nextRow, report: report && savedReport(report) },
    ...(partitions !== null && { nearness: partitions.nearness }),
  };
}

/** The options of an index that was saved. */
export function optionsOf({ header }: { readonly header: object }): SimHashIndexOptions {
  const { bits, projection, seed, dimensions, zero, keep, mean } = header as IndexHeader;
  if (typeof seed !== 'string' || !/^\d{1,20}$/.test(seed)) {
    throw wrongValue('seed', 'an integer as a string', seed);
  }
  return {
    ...{ bits, projection: projection as 'signs', seed: BigInt(seed) },
    ...(dimensions !== undefined && { dimensions }),
    ...{ zero: zero as 'error', vectors: checkOneOf('keep', keep, VECTOR_STORAGES) },
    ...(mean !== null && { mean }),
  };
}

/** Library names of a report's keys, and those in files where they differ. */
const REPORT_NAMES = [
  ['reached', 'isReached'],
  ['method', 'plan'],
] as const;

function savedReport(report: RecallReport): SavedReport {
  const names = new Map<string, string>(REPORT_NAMES);
  const entries = Object.entries(report).map(([name, value]) => [names.get(name) ?? name, value]);
  return Object.fromEntries(entries) as SavedReport;
}

/** The report of an index that was saved; null where it was not optimized. */
export function reportOf({ report }: IndexHeader): RecallReport | null {
  if (report === null) return null;
  const names = new Map<string, string>(REPORT_NAMES.map(([ours, saved]) => [saved, ours]));
  const entries = Object.entries(report).map(([name, value]) => [names.get(name) ?? name, value]);
  return Object.fromEntries(entries) as RecallReport;
}

/** The parts of a header that are no options, checked; `count` rows come with it. */
export function checkHeader(header: object, count: number): IndexHeader {
  const { isForeign, nextRow, ids, report, nearness } = header as IndexHeader;
  if (typeof isForeign !== 'boolean') throw wrongType('isForeign', 'true or false', isForeign);
  checkInteger('nextRow', nextRow, count, mostNumbers(count));
  checkOneOf('ids', ids ?? 'none', ['none', 'row', 'number', 'bigint', 'string']);
  if (report !== null) checkReport(report);
  if (nearness !== undefined) checkNumber('nearness', nearness, 0, 1);
  return header as IndexHeader;
}

/**
 * Most row numbers of so many rows: a gap takes memory too, and a file must not ask for any amount
 * of it. 64 numbers a row, or 2^26.
 */
export function mostNumbers(count: number): number {
  return Math.min(MAX_ROWS, Math.max(2 ** 26, 64 * count));
}

function checkReport(report: SavedReport): void {
  checkNumber('report.recall', report.recall, 0, 1);
  checkNumber('report.wanted', report.wanted, 0, 1);
  checkOneOf('report.plan', report.plan, ['scan', 'partitions']);
  checkInteger('report.oversample', report.oversample, 1, 2 ** 32);
  checkInteger('report.probes', report.probes, report.plan === 'scan' ? 0 : 1, 2 ** 32);
  checkOneOf('report.rank', report.rank, RANKS);
  for (const name of ['k', 'rows', 'rowsAdded', 'rowsRemoved'] as const) {
    checkInteger(`report.${name}`, report[name], 0, 2 ** 32);
  }
}
