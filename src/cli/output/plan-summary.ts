/**
 * What `dedup` shows of a plan before it is applied: how many rows would go, at which distances,
 * the largest groups, and the pairs that are farthest apart, where mistakes are likeliest.
 */

import type { Measure } from '../../codes/measure';
import type { DedupPlan } from '../../node';
import { counted, differing, excerpt, grouped, similarityWords } from './figures';
import { aligned } from './table';

/** Groups and pairs that are shown; the plan lists all. */
const GROUPS_SHOWN = 5;
const PAIRS_SHOWN = 5;
/** Ranges into which distances above 0 are divided. */
const RANGES = 4;

/** The figures of a plan that a person checks first. */
export interface Review {
  /** Rows of the collection, and how many of them the plan drops. */
  readonly rows: number;
  readonly dropped: number;
  /** Dropped rows whose text equals that of the row kept for them; null without texts. */
  readonly exact: number | null;
  /** Groups of two rows or more. */
  readonly groups: number;
  /** How many dropped rows are at each distance, in bits, from the row kept for them. */
  readonly byDistance: Uint32Array;
  /** The largest groups, each with the first row that it keeps. */
  readonly largest: readonly { readonly size: number; readonly keptRow: number }[];
  /** Dropped rows farthest from the row kept for them, at most one a group, farthest first. */
  readonly widest: readonly number[];
}

/**
 * The review of a plan. `rows` are the rows of the collection without those removed from an index,
 * which the plan counts too. `texts` has a hash of each row's text; null where there are no texts.
 */
export function reviewOf(
  plan: DedupPlan,
  rows: number,
  texts: ArrayLike<number> | null = null,
): Review {
  const { count, groups, kept, distances } = plan;
  const sizes = new Uint32Array(count);
  for (const group of groups) sizes[group]++;
  const byDistance = new Uint32Array(distances.reduce((most, one) => Math.max(most, one), 0) + 1);
  const widestOf = new Map<number, number>();
  const keptOf = new Map<number, number>();
  for (let row = 0; row < count; row++) {
    const group = groups[row];
    if (kept[row] === 1) {
      if (sizes[group] > 1 && !keptOf.has(group)) keptOf.set(group, row);
      continue;
    }
    byDistance[distances[row]]++;
    const widest = widestOf.get(group);
    if (widest === undefined || distances[row] > distances[widest]) widestOf.set(group, row);
  }
  const isCopy = (row: number) =>
    kept[row] === 0 && texts?.[row] === texts?.[plan.duplicateOf[row]];
  const largest = [...keptOf].map(([group, keptRow]) => ({ group, size: sizes[group], keptRow }));
  const widest = [...widestOf.values()].filter((row) => distances[row] > 0);
  return {
    ...{ rows, byDistance, groups: sizes.reduce((sum, size) => sum + Number(size > 1), 0) },
    dropped: byDistance.reduce((sum, one) => sum + one, 0),
    exact: texts && kept.reduce((sum, _, row) => sum + Number(isCopy(row)), 0),
    largest: largest.sort((a, b) => b.size - a.size || a.group - b.group).slice(0, GROUPS_SHOWN),
    widest: widest.sort((a, b) => distances[b] - distances[a] || a - b).slice(0, PAIRS_SHOWN),
  };
}

/** The rows whose names and texts the review shows, each once, ascending. */
export function shownRows({ duplicateOf }: DedupPlan, { largest, widest }: Review): number[] {
  const rows = largest.map(({ keptRow }) => keptRow);
  for (const row of widest) rows.push(row, duplicateOf[row]);
  return [...new Set(rows)].sort((a, b) => a - b);
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

/** The review as lines of text; a single line if no row is dropped. */
export function reviewText(
  { duplicateOf, distances, cosines, jaccards }: DedupPlan,
  { rows, dropped, exact, groups, byDistance, largest, widest }: Review,
  { bits, measure, nameOf, texts }: Shown,
): string {
  const share = rows === 0 ? 0 : (100 * dropped) / rows;
  const lines = [
    `${counted(rows, 'row')}: ${grouped(rows - dropped)} to keep, ${grouped(dropped)} to drop ` +
      `(${share.toFixed(1)} %), in ${counted(groups, 'group')} of two or more`,
  ];
  if (dropped === 0) return lines[0];
  if (exact !== null) {
    const near = grouped(dropped - exact);
    const copies = exact === 1 ? '1 is an exact copy' : `${grouped(exact)} are exact copies`;
    lines.push(`Of those to drop ${copies} of the text kept, ${near} near ones`);
  }
  lines.push('', 'Rows to drop by their distance to the row that is kept:');
  lines.push(`  ${ranges(byDistance).join('   ')}`);
  lines.push('', largest.length < groups ? 'Largest groups:' : 'Groups:');
  const cells = largest.map(({ size, keptRow }) => {
    return [grouped(size), `rows, keeps ${nameOf(keptRow)}`, excerpt(texts.get(keptRow) ?? '')];
  });
  lines.push(aligned(cells, { isRight: (column) => column === 0 }));
  if (widest.length > 0) lines.push('', 'Widest apart, the first to look at:');
  for (const row of widest) {
    const [keptRow, distance] = [duplicateOf[row], distances[row]];
    const exact = (cosines ?? jaccards)?.[row];
    const similarity = (exact ?? measure.estimateOf(distance, bits)).toFixed(2);
    const about = exact === undefined ? ' about' : '';
    lines.push(
      `  ${distance} of ${bits} bits differ, ${similarityWords(measure)}${about} ${similarity}`,
    );
    const [one, other] = differing(texts.get(keptRow) ?? '', texts.get(row) ?? '');
    const pair = [
      [`  keep ${nameOf(keptRow)}`, one],
      [`  drop ${nameOf(row)}`, other],
    ];
    lines.push(aligned(pair, { isRight: () => false }));
  }
  return lines.join('\n');
}

/** Rows by ranges of distances: `0: 12`, `1–10: 5`, `11–20: 3`. Distance 0 has its own range. */
function ranges(byDistance: Uint32Array): string[] {
  const most = byDistance.length - 1;
  const shown = [`0: ${grouped(byDistance[0])}`];
  const step = Math.max(1, Math.ceil(most / RANGES));
  for (let from = 1; from <= most; from += step) {
    const to = Math.min(most, from + step - 1);
    const sum = byDistance.subarray(from, to + 1).reduce((all, one) => all + one, 0);
    shown.push(`${from === to ? from : `${from}–${to}`}: ${grouped(sum)}`);
  }
  return shown;
}
