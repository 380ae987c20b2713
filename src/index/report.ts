/**
 * The report of `optimize`: what was chosen and measured, and sentences that say what makes the
 * figures uncertain.
 */

import { checkInteger, checkNumber, checkOneOf, wrongType } from '../base/check';
import { afterChanges, type QueryRecall, RANKS, type RecallReport } from './index-options';
import type { Figures, Measurable } from './recall';
import type { Setting } from './search';

/** Fewer queries than this get a warning. */
const FEW_QUERIES = 30;

/** What a report is about. */
interface Reported {
  readonly wanted: { readonly k: number; readonly recall: number; readonly seed: number };
  readonly choice: Setting;
  readonly figures: Figures;
  readonly heldOutShare: number;
}

export function reportOf(
  { storage, layout: { space, hasCopies }, count: rows }: Measurable,
  { wanted, choice, figures, heldOutShare }: Reported,
): RecallReport {
  const { probes, want } = choice;
  const isScan = probes === null;
  return {
    wanted: wanted.recall,
    reached: figures.recall.recall >= wanted.recall,
    ...figures.recall,
    warnings: warningsOf(figures),
    k: wanted.k,
    rank: storage === 'none' ? 'estimate' : 'exact',
    queriesPerSecond: figures.ms === 0 ? 0 : 1000 / figures.ms,
    method: isScan ? 'scan' : 'partitions',
    partitions: isScan ? 0 : (space?.count ?? 0),
    copies: !isScan && hasCopies,
    probes: probes ?? 0,
    oversample: Math.ceil(want / wanted.k),
    seed: wanted.seed,
    heldOutShare: isScan ? 1 : heldOutShare,
    rows,
    rowsAdded: 0,
    rowsRemoved: 0,
    stale: false,
  };
}

function warningsOf({ recall, isTrained, column }: Figures): string[] {
  const warnings: string[] = [];
  if (recall.queries < FEW_QUERIES) {
    warnings.push(`${recall.queries} evaluation queries say little: give ${FEW_QUERIES} or more`);
  }
  if (isTrained) {
    warnings.push(
      'evaluation rows took part in training: the index has too few others, or many equal ones',
    );
  }
  if (column !== null) {
    warnings.push(
      `column ${column} is so much larger than the others that 'int8' keeps little of them, and ` +
        "most rows are alike: scale it down, or hold 'float32'",
    );
  }
  return warnings;
}

/** Upper bound of counts in files. */
const MAX_COUNT = 2 ** 32;

/**
 * The report of a file, checked, since programs print reports and search by them; throws with the
 * name of a wrong value.
 */
export function checkReport(report: RecallReport): RecallReport {
  if (typeof report !== 'object') throw wrongType('report', 'an object or null', report);
  checkRecall(report);
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
  const { warnings } = report;
  if (!Array.isArray(warnings) || !warnings.every((one) => typeof one === 'string')) {
    throw wrongType('report.warnings', 'an array of strings', warnings);
  }
  // Computes `stale` again, so that a file cannot contradict its own counts.
  return afterChanges(report, {});
}

/** Throws unless the recall has all of its values, each in its range. */
function checkRecall({ recall, interval, queries, source, truth }: RecallReport): void {
  checkNumber('report.recall', recall, 0, 1);
  checkInterval('report.interval', interval);
  checkInteger('report.queries', queries, 0, MAX_COUNT);
  checkOneOf('report.source', source, ['rows', 'queries']);
  checkOneOf('report.truth', truth, ['cosine', 'distance']);
}

function checkInterval(name: string, interval: QueryRecall['interval']): void {
  if (!Array.isArray(interval) || interval.length !== 2) {
    throw wrongType(name, 'two numbers', interval);
  }
  for (const limit of interval) checkNumber(name, limit, 0, 1);
}
