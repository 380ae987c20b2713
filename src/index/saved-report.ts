/**
 * Reports of `optimize` in files: with the names of version 1 where the library has newer ones.
 * Every value is checked when it is read, since programs print reports and search by them.
 */

import { checkInteger, checkNumber, checkOneOf, wrongType } from '../base/check';
import { SIGNS } from './doubt';
import {
  afterChanges,
  type DoubtModel,
  type EvaluationRecall,
  type QueryRecall,
  RANKS,
  type RecallReport,
} from './index-options';
import { MARGIN } from './re-rank';

/** A report as files have it. */
export type SavedReport = Omit<RecallReport, 'method' | 'reached'> & {
  readonly plan: RecallReport['method'];
  readonly isReached: boolean;
};

/** Names in the library, and the different ones in files. */
const NAMES = [
  ['reached', 'isReached'],
  ['method', 'plan'],
] as const;

/** What reports from before 0.2 lack; they were measured with rows that took part in training. */
const OF_BEFORE = {
  ...{ wantedCoverage: null, source: 'rows', coverage: { recall: 0.9, share: 0 }, byRows: null },
  ...{ warnings: [], seed: 0, heldOutShare: 1, margin: MARGIN, doubt: [], cost: null },
  ...{ kthCosine: null, copies: false },
} as const;

/** Upper bound of counts and weights in files. */
const MAX_COUNT = 2 ** 32;

/** A report under the names of files. */
export function savedReport(report: RecallReport): SavedReport {
  return renamed(report, new Map<string, string>(NAMES)) as SavedReport;
}

/** The report of a file, checked; throws with the name of a wrong value. */
export function reportOf(saved: SavedReport): RecallReport {
  if (typeof saved !== 'object') throw wrongType('report', 'an object or null', saved);
  const names = new Map<string, string>(NAMES.map(([ours, theirs]) => [theirs, ours]));
  const report = { ...OF_BEFORE, ...(renamed(saved, names) as RecallReport) };
  checkRecall('report', report);
  if (report.byRows !== null) checkRecall('report.byRows', report.byRows);
  checkNumber('report.wanted', report.wanted, 0, 1);
  if (report.wantedCoverage !== null) {
    checkNumber('report.wantedCoverage', report.wantedCoverage, 0, 1);
  }
  if (typeof report.reached !== 'boolean') {
    throw wrongType('report.isReached', 'true or false', report.reached);
  }
  if (typeof report.copies !== 'boolean') {
    throw wrongType('report.copies', 'true or false', report.copies);
  }
  checkOneOf('report.plan', report.method, ['scan', 'partitions']);
  checkOneOf('report.rank', report.rank, RANKS);
  checkInteger('report.probes', report.probes, report.method === 'scan' ? 0 : 1, MAX_COUNT);
  checkInteger('report.oversample', report.oversample, 1, MAX_COUNT);
  for (const name of ['k', 'rows', 'rowsAdded', 'rowsRemoved', 'partitions', 'seed'] as const) {
    checkInteger(`report.${name}`, report[name], 0, MAX_COUNT);
  }
  checkNumber('report.queriesPerSecond', report.queriesPerSecond, 0, Number.MAX_VALUE);
  checkNumber('report.heldOutShare', report.heldOutShare, 0, 1);
  checkNumber('report.margin', report.margin, 0, MAX_COUNT);
  checkDoubt(report.doubt);
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

/** Throws unless each model has counts in range and SIGNS finite weights. */
function checkDoubt(doubt: readonly DoubtModel[]): void {
  if (!Array.isArray(doubt)) throw wrongType('report.doubt', 'an array', doubt);
  doubt.forEach((model: DoubtModel, i) => {
    const name = `report.doubt[${i}]`;
    if (typeof model !== 'object' || model === null) throw wrongType(name, 'an object', model);
    checkInteger(`${name}.probes`, model.probes, 0, MAX_COUNT);
    checkInteger(`${name}.oversample`, model.oversample, 1, MAX_COUNT);
    const { weights } = model;
    if (!Array.isArray(weights) || weights.length !== SIGNS) {
      throw wrongType(`${name}.weights`, `${SIGNS} numbers`, weights);
    }
    for (const weight of weights) checkNumber(`${name}.weights`, weight, -MAX_COUNT, MAX_COUNT);
  });
}

/** Throws unless a recall has all of its values, each in its range. */
function checkRecall(name: string, found: EvaluationRecall): void {
  if (typeof found !== 'object' || found === null) throw wrongType(name, 'an object', found);
  const { recall, interval, coverage, queries, source, truth, kthCosine } = found;
  checkNumber(`${name}.recall`, recall, 0, 1);
  checkInterval(`${name}.interval`, interval);
  if (typeof coverage !== 'object' || coverage === null) {
    throw wrongType(`${name}.coverage`, 'an object', coverage);
  }
  checkNumber(`${name}.coverage.recall`, coverage.recall, 0, 1);
  checkNumber(`${name}.coverage.share`, coverage.share, 0, 1);
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

/** The object under other names, in the same order. */
function renamed(report: object, names: ReadonlyMap<string, string>): object {
  return Object.fromEntries(
    Object.entries(report).map(([name, value]) => [names.get(name) ?? name, value]),
  );
}
