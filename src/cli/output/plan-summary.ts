/**
 * What `dedup` shows of a plan before it is applied: how many rows would go, and the pairs that are
 * farthest apart, where mistakes are likeliest.
 */

import type { Measure } from '../../codes/measure';
import type { DedupPlan } from '../../node';
import { counted, differing, grouped, similarityWords } from './figures';
import { aligned } from './table';

/** Pairs that are shown; the plan lists all. */
const PAIRS_SHOWN = 5;

/** The figures of a plan that a person checks first. */
export interface PlanSummary {
  /** Rows of the collection, and how many of them the plan drops. */
  readonly rows: number;
  readonly dropped: number;
  /** Groups of two rows or more, and the rows of the largest. */
  readonly groups: number;
  readonly largest: number;
  /** Dropped rows farthest from the row kept for them, at most one a group, farthest first. */
  readonly widest: readonly number[];
}

/** `rows` is how many there are, without those removed from an index, which the plan counts too. */
export function summaryOf(plan: DedupPlan, rows: number): PlanSummary {
  const { count, groups, kept, distances } = plan;
  const sizes = new Uint32Array(count);
  for (const group of groups) sizes[group]++;
  const widestOf = new Map<number, number>();
  for (let row = 0; row < count; row++) {
    const widest = widestOf.get(groups[row]);
    if (kept[row] === 1) continue;
    if (widest === undefined || distances[row] > distances[widest]) widestOf.set(groups[row], row);
  }
  const widest = [...widestOf.values()].filter((row) => distances[row] > 0);
  return {
    rows,
    dropped: kept.reduce((sum, one) => sum + Number(one === 0), 0),
    groups: sizes.reduce((sum, size) => sum + Number(size > 1), 0),
    largest: sizes.reduce((most, size) => Math.max(most, size), 0),
    widest: widest.sort((a, b) => distances[b] - distances[a] || a - b).slice(0, PAIRS_SHOWN),
  };
}

/** The rows whose names and texts the summary shows. */
export function shownRows({ duplicateOf }: DedupPlan, { widest }: PlanSummary): number[] {
  return [...new Set(widest.flatMap((row) => [row, duplicateOf[row]]))];
}

/** How rows are shown, which the plan knows by number only. */
interface Shown {
  readonly bits: number;
  readonly measure: Measure;
  /** `row 17`, with its id where there is one. */
  readonly nameOf: (row: number) => string;
  /** By row the texts of those that are shown; empty without texts. */
  readonly texts: ReadonlyMap<number, string>;
}

/** The summary as lines of text; a single line if no row is dropped. */
export function summaryText(
  { duplicateOf, distances, cosines, jaccards, rests, commons, groups: groupOf }: DedupPlan,
  { rows, dropped, groups, largest, widest }: PlanSummary,
  { bits, measure, nameOf, texts }: Shown,
): string {
  const share = rows === 0 ? 0 : (100 * dropped) / rows;
  const counts =
    `${counted(rows, 'row')}: ${grouped(rows - dropped)} to keep, ${grouped(dropped)} to drop ` +
    `(${share.toFixed(1)} %), in ${counted(groups, 'group')} of two or more`;
  const common = commons === undefined ? [] : [commonText(commons, groupOf)];
  if (dropped === 0) return [counts, ...common].join('\n');
  const lines = [`${counts}, the largest of ${grouped(largest)}`, ...common];
  if (widest.length > 0) lines.push('', 'Widest apart, the first to look at:');
  for (const row of widest) {
    const keptRow = duplicateOf[row];
    const exact = (cosines ?? jaccards)?.[row];
    const similarity = (exact ?? measure.estimateOf(distances[row], bits)).toFixed(2);
    const name = `${similarityWords(measure)}${exact === undefined ? ' about' : ''} ${similarity}`;
    const rest = rests === undefined ? '' : `, of the rest ${rests[row].toFixed(2)}`;
    lines.push(`  ${distances[row]} of ${bits} bits differ, ${name}${rest}`);
    const [one, other] = differing(texts.get(keptRow) ?? '', texts.get(row) ?? '');
    const pair = [
      [`  keep ${nameOf(keptRow)}`, one],
      [`  drop ${nameOf(row)}`, other],
    ];
    lines.push(aligned(pair, { isRight: () => false }));
  }
  return lines.join('\n');
}

/** How much of the rows is common text, and how many groups have nothing else. */
function commonText(commons: Float64Array, groups: Uint32Array): string {
  const half = commons.reduce((sum, share) => sum + Number(share >= 0.5), 0);
  const bare = new Map<number, number>();
  commons.forEach((share, row) => {
    if (share === 1) bare.set(groups[row], (bare.get(groups[row]) ?? 0) + 1);
  });
  const joined = [...bare.values()].filter((rows) => rows > 1).length;
  return (
    `Common text makes no rows near: it is half or more of ${counted(half, 'row')}; ` +
    `${counted(joined, 'group')} of nothing but common text have "common" 1 in the plan`
  );
}
