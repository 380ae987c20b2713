/** The report of an index as data for machines: what the page tells, in numbers. */

import { PairTally } from '../../measure/pair-tally';
import type { FolderFacts } from './index-page';
import type { IndexReport } from './index-report';

export function indexData(folder: FolderFacts, report: IndexReport | null): string {
  const facts = Object.fromEntries(folder.facts);
  return `${JSON.stringify({ ...folder, facts, report }, plain, 2)}\n`;
}

/** Typed arrays as arrays, 64-bit ids as text, tallies as what they say. */
function plain(_: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  if (ArrayBuffer.isView(value)) return Array.from(value as Uint32Array);
  if (!(value instanceof PairTally)) return value;
  const { bits, minCosine, pairs, near, nearest } = value;
  return { bits, minCosine, pairs, near, nearest, cosines: value.cosineSteps() };
}
