/**
 * What a person looks at before a plan is applied: how much would go, the largest groups, and the
 * pairs that are widest apart, which are the first to be wrong.
 */

import { cosineOf } from '../../hashing/angle';
import type { DedupPlan } from '../../node';
import { counted, differing, excerpt, grouped } from './figures';

/** A person reads a few lines; the plan has all. */
const GROUPS_SHOWN = 5;
const PAIRS_SHOWN = 5;
/** Ranges of distances that are shown, besides 0. */
const RANGES = 4;

/** Rows that are near each other, and the one of them that stays. */
interface Group {
  readonly name: number;
  readonly size: number;
  readonly keptRow: number;
}

/** A row that would go, and the one that stays for it. */
interface DroppedPair {
  readonly row: number;
  readonly keptRow: number;
  readonly distance: number;
}

/** The figures of a plan that a person checks first. */
export interface Review {
  readonly rows: number;
  readonly dropped: number;
  readonly groups: number;
  /** By the distance to the row that stays, the rows that would go. */
  readonly byDistance: Uint32Array;
  /** Groups of most rows. */
  readonly largest: readonly Group[];
  /** Of the groups whose dropped rows are farthest from the kept one, those. */
  readonly widest: readonly DroppedPair[];
}

/** The review of a plan for so many rows, without those that were removed from an index. */
export function reviewOf(plan: DedupPlan, rows: number): Review {
  const { count, groups, kept, duplicateOf, distances } = plan;
  const sizes = new Uint32Array(count);
  const keptOf = new Uint32Array(count);
  const byDistance = new Uint32Array(distances.reduce((most, one) => Math.max(most, one), 0) + 1);
  let dropped = 0;
  let widest: DroppedPair[] = [];
  for (let row = count - 1; row >= 0; row--) {
    sizes[groups[row]]++;
    if (kept[row] === 1) keptOf[groups[row]] = row;
  }
  for (let row = 0; row < count; row++) {
    if (kept[row] === 1) continue;
    const distance = distances[row];
    dropped++;
    byDistance[distance]++;
    const least = widest[PAIRS_SHOWN - 1]?.distance ?? 0;
    if (distance > least) {
      widest = withPair(widest, { row, keptRow: duplicateOf[row], distance }, groups);
    }
  }
  const largest: Group[] = [];
  let groupCount = 0;
  for (let name = 0; name < count; name++) {
    if (sizes[name] < 2) continue;
    groupCount++;
    if (sizes[name] <= (largest[GROUPS_SHOWN - 1]?.size ?? 0)) continue;
    largest.push({ name, size: sizes[name], keptRow: keptOf[name] });
    largest.sort((a, b) => b.size - a.size || a.name - b.name).splice(GROUPS_SHOWN);
  }
  return { rows, dropped, groups: groupCount, byDistance, largest, widest };
}

/** The widest pairs and one more, widest first; each group has one, the wider. */
function withPair(widest: DroppedPair[], pair: DroppedPair, groups: Uint32Array): DroppedPair[] {
  const same = widest.find(({ row }) => groups[row] === groups[pair.row]);
  if (same !== undefined && same.distance >= pair.distance) return widest;
  return [...widest.filter((one) => one !== same), pair]
    .sort((a, b) => b.distance - a.distance || a.row - b.row)
    .slice(0, PAIRS_SHOWN);
}

/** The rows whose names and texts are shown. */
export function shownRows({ largest, widest }: Review): number[] {
  const rows = [...largest.map(({ keptRow }) => keptRow)];
  for (const { row, keptRow } of widest) rows.push(row, keptRow);
  return [...new Set(rows)].sort((a, b) => a - b);
}

/** How rows are shown: the plan knows them by number only. */
export interface Shown {
  readonly bits: number;
  /** `row 17`, with its id where there is one. */
  readonly nameOf: (row: number) => string;
  /** Texts of the rows that are shown, where there are any. */
  readonly texts: ReadonlyMap<number, string>;
}

/** The review in lines; one line where nothing would go. */
export function reviewText(review: Review, { bits, nameOf, texts }: Shown): string {
  const { rows, dropped, groups, byDistance, largest, widest } = review;
  const share = rows === 0 ? 0 : (100 * dropped) / rows;
  const lines = [
    `${counted(rows, 'row')}: ${grouped(rows - dropped)} to keep, ${grouped(dropped)} to drop ` +
      `(${share.toFixed(1)} %), in ${counted(groups, 'group')} of two or more`,
  ];
  if (dropped === 0) return lines[0];
  lines.push('', 'Rows to drop by their distance to the row that is kept:');
  lines.push(`  ${ranges(byDistance).join('   ')}`);
  lines.push('', largest.length < groups ? 'Largest groups:' : 'Groups:');
  const width = Math.max(...largest.map(({ size }) => grouped(size).length));
  const nameWidth = Math.max(...largest.map(({ keptRow }) => nameOf(keptRow).length));
  for (const { size, keptRow } of largest) {
    const text = excerpt(texts.get(keptRow) ?? '');
    const name = nameOf(keptRow).padEnd(nameWidth);
    lines.push(`  ${grouped(size).padStart(width)} rows, keeps ${name}  ${text}`.trimEnd());
  }
  if (widest.length > 0) lines.push('', 'Widest apart, the first to look at:');
  for (const { row, keptRow, distance } of widest) {
    const cosine = cosineOf(distance, bits).toFixed(2);
    lines.push(`  ${distance} of ${bits} bits differ, cosine about ${cosine}`);
    const [one, other] = differing(texts.get(keptRow) ?? '', texts.get(row) ?? '');
    const padding = Math.max(nameOf(keptRow).length, nameOf(row).length);
    lines.push(`    keep ${nameOf(keptRow).padEnd(padding)}  ${one}`.trimEnd());
    lines.push(`    drop ${nameOf(row).padEnd(padding)}  ${other}`.trimEnd());
  }
  return lines.join('\n');
}

/** Rows by ranges of distances, as `0: 12`, `1–10: 5` and `11–20: 3`. */
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
