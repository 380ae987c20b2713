/**
 * The report of `optimize`: what was chosen and measured, and sentences that say what makes the
 * figures uncertain.
 */

import {
  checkBoolean,
  checkDeclared,
  checkInteger,
  checkNames,
  checkNumber,
  wrongType,
} from '../base/check';
import { afterChanges, RANKS, type RecallReport } from './index-options';
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

const COUNT = { min: 0, max: 2 ** 32 };

/** What a report in a file must be. */
const DECLARED = {
  queries: COUNT,
  source: ['rows', 'queries'],
  truth: ['cosine', 'distance'],
  reached: checkBoolean,
  warnings: checkNames,
  k: COUNT,
  rank: RANKS,
  method: ['scan', 'partitions'],
  partitions: COUNT,
  copies: checkBoolean,
  probes: COUNT,
  oversample: { ...COUNT, min: 1 },
  seed: COUNT,
  rows: COUNT,
  rowsAdded: COUNT,
  rowsRemoved: COUNT,
} as const;

/**
 * The report of a file, checked, since programs print reports and search by them; throws with the
 * name of a wrong value.
 */
export function checkReport(report: RecallReport): RecallReport {
  if (typeof report !== 'object') throw wrongType('report', 'an object or null', report);
  for (const [name, declared] of Object.entries(DECLARED)) {
    checkDeclared(`report.${name}`, report[name as keyof RecallReport], declared);
  }
  if (report.method === 'partitions') checkInteger('report.probes', report.probes, 1, COUNT.max);
  for (const name of ['recall', 'wanted', 'heldOutShare'] as const) {
    checkNumber(`report.${name}`, report[name], 0, 1);
  }
  checkNumber('report.queriesPerSecond', report.queriesPerSecond, 0, Number.MAX_VALUE);
  const { interval } = report;
  if (!Array.isArray(interval) || interval.length !== 2) {
    throw wrongType('report.interval', 'two numbers', interval);
  }
  for (const limit of interval) checkNumber('report.interval', limit, 0, 1);
  // Computes `stale` again, so that a file cannot contradict its own counts.
  return afterChanges(report, {});
}
