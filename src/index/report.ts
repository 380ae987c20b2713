/**
 * The report of `optimize`: what was chosen and measured, and sentences that say what makes the
 * figures uncertain and how the queries of a caller differ from held-out rows. A difference is
 * reported where chance hardly explains it: where the intervals (95 %) of two means do not overlap.
 */

import { checkInteger, checkNumber, checkOneOf, wrongType } from '../base/check';
import { meanInterval } from '../base/mean-limits';
import {
  afterChanges,
  type EvaluationRecall,
  type QueryRecall,
  RANKS,
  type RecallReport,
} from './index-options';
import type { Evaluable, Figures } from './recall';
import type { Setting } from './search';

/** Fewer queries than this get a warning. */
const FEW_QUERIES = 30;

/** What a report is about. */
interface Reported {
  readonly wanted: { readonly k: number; readonly recall: number; readonly seed: number };
  readonly choice: Setting;
  readonly figures: Figures;
  /** The figures of held-out rows, where the caller gave queries; else null. */
  readonly byRows: Figures | null;
  readonly heldOutShare: number;
}

export function reportOf(
  { storage, layout: { space, hasCopies }, count: rows }: Evaluable,
  { wanted, choice, figures, byRows, heldOutShare }: Reported,
): RecallReport {
  const { probes, want } = choice;
  const isScan = probes === null;
  return {
    wanted: wanted.recall,
    reached: figures.recall.recall >= wanted.recall,
    ...figures.recall,
    byRows: byRows?.recall ?? null,
    warnings: warningsOf(figures, byRows, wanted.k),
    k: wanted.k,
    rank: storage === 'none' ? 'estimate' : 'exact',
    queriesPerSecond: figures.ms === 0 ? 0 : 1000 / figures.ms,
    cost: figures.cost,
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

function warningsOf(
  { recall, kthCosines, isTrained, column }: Figures,
  byRows: Figures | null,
  k: number,
): string[] {
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
  if (byRows === null) return warnings;
  const [ours, rows] = [recall, byRows.recall];
  const [near, rowsNear] = [kthCosines, byRows.kthCosines].map(intervalOfCosine);
  if (ours.kthCosine !== null && rows.kthCosine !== null && areApart(near, rowsNear)) {
    const way = ours.kthCosine < rows.kthCosine ? 'farther from the rows' : 'nearer to the rows';
    warnings.push(
      `the ${ours.queries} queries lie ${way} than held-out rows do: row ${k} of their answers ` +
        `has a mean cosine of ${ours.kthCosine.toFixed(3)}, of rows ${rows.kthCosine.toFixed(3)}`,
    );
  }
  if (ours.truth === rows.truth && areApart(ours.interval, rows.interval)) {
    warnings.push(
      `searches find ${percent(ours)} of the true ${k} nearest of the ${ours.queries} queries, ` +
        `and ${percent(rows)} of those of held-out rows`,
    );
  }
  return warnings;
}

/**
 * The interval of the mean k-th cosine, mapped from -1..1 to 0..1. Rounded to hundredths, since
 * `meanInterval` costs time for each different value.
 */
function intervalOfCosine(cosines: Float64Array): EvaluationRecall['interval'] {
  return meanInterval(cosines.map((cosine) => (1 + Math.round(100 * cosine) / 100) / 2));
}

function areApart(one: EvaluationRecall['interval'], other: EvaluationRecall['interval']): boolean {
  return one[1] < other[0] || other[1] < one[0];
}

function percent({ recall }: EvaluationRecall): string {
  return `${(100 * recall).toFixed(1)} %`;
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
