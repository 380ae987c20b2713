/**
 * Searches by Hamming distance, which miss nothing: the k nearest rows, or all within a distance,
 * in the order of (distance, row). Tables of blocks of bits find them where the distance is small
 * and few codes share a block with the query; else all codes are scanned. Tables are made at the
 * second search of a segment that they could answer, so that a single search does not pay for them.
 */

import { rowOf, Smallest, weightOf } from '../base/top-k';
import { distance } from '../kernels/hamming';
import { NO_ROW } from '../kernels/hits';
import { hammingKernel, type KernelName } from '../kernels/kernels';
import { BlockTables, MAX_FLIPS } from './block-tables';
import type { FilterMemory } from './filter-memory';
import type { Work } from './search';
import type { Placed } from './segment';

/** Rows and their distances in bits, ordered by (distance, row). */
interface NearRows {
  readonly rows: Uint32Array;
  readonly distances: Uint16Array;
}

interface AskedByDistance {
  readonly k: number;
  /** Inclusive. */
  readonly maxDistance: number;
  readonly method: 'auto' | 'scan' | 'bands';
  readonly filter: FilterMemory | null;
}

/** What distance searches read of an index. */
interface SearchedCodes {
  readonly bits: number;
  readonly kernel: KernelName;
  readonly parts: readonly Placed[];
}

/** Fewer codes are scanned in the time of some look-ups. */
const MIN_CODES = 4096;
/**
 * Codes that a scan compares in the time of one found by tables, which lies at a random place
 * (bench/exact.mjs).
 */
const SCANNED_PER_FOUND = 16;

/** By part the tables of its codes, and how many searches could have used them. */
const tables = new WeakMap<Placed, { searches: number; made: BlockTables | null }>();

/** The nearest rows to a code; `method` in the result is what most segments used. */
export function nearestByDistance(
  index: SearchedCodes,
  code: Uint8Array,
  asked: AskedByDistance,
  work: Work,
): NearRows & { readonly method: 'scan' | 'bands' } {
  const known = asked.filter?.known;
  const best = new Smallest(asked.k);
  let method: 'scan' | 'bands' = 'scan';
  for (const part of index.parts) {
    if (known) takeKnown(part, code, known, asked, best, work);
    else if (byTables(index, part, code, asked, best, work)) method = 'bands';
    else scan(index, part, code, asked, best, work);
  }
  const keys = best.result();
  const rows = Uint32Array.from(keys, rowOf);
  return { rows, distances: Uint16Array.from(keys, weightOf), method };
}

/** The largest distance at which a row can still enter. */
function limitOf({ maxDistance }: AskedByDistance, best: Smallest): number {
  return Math.min(maxDistance, Number.isFinite(best.bound) ? weightOf(best.bound) : maxDistance);
}

/** Offers a row that is there and that the filter accepts. */
function offer(row: number, distance: number, { filter }: AskedByDistance, best: Smallest): void {
  if (row !== NO_ROW && (filter === null || filter.accepts(row))) best.take(distance, row);
}

/** Compares rows that are known to be accepted. */
function takeKnown(
  { rows }: Placed,
  code: Uint8Array,
  known: Uint32Array,
  asked: AskedByDistance,
  best: Smallest,
  work: Work,
): void {
  for (const row of known) {
    const position = rows.positionOf(row);
    if (position < 0 || rows.isNull(position)) continue;
    const found = distance(rows.codeAt(position), code);
    work.codesCompared++;
    if (found <= asked.maxDistance) best.take(found, row);
  }
}

/** Offers all codes of a part within the limit; false where tables do not pay. */
function byTables(
  { bits }: SearchedCodes,
  part: Placed,
  code: Uint8Array,
  asked: AskedByDistance,
  best: Smallest,
  work: Work,
): boolean {
  const { codes, count } = part.rows;
  if (asked.method === 'scan' || count < MIN_CODES || !part.isImmutable) return false;
  const state = tables.get(part) ?? { searches: 0, made: null };
  tables.set(part, state);
  state.searches++;
  if (state.made === null && (state.searches > 1 || asked.method === 'bands')) {
    state.made = BlockTables.of(codes.codes, count, bits);
  }
  const { made } = state;
  if (made === null) return false;
  const most = asked.method === 'bands' ? count : Math.floor(count / SCANNED_PER_FOUND);
  for (let flips = 0; flips <= MAX_FLIPS; flips++) {
    const near = new Smallest(asked.k);
    const take = (position: number, found: number) => {
      work.codesCompared++;
      if (found <= asked.maxDistance) offer(codes.rows[position], found, asked, near);
    };
    if (!made.search(code, flips, most, take)) return false;
    // Rows beyond what the tables reach may be nearer than the last of these.
    const last = Math.min(limitOf(asked, best), limitOf(asked, near));
    if (last > made.reach(flips)) continue;
    for (const key of near.unordered()) best.take(weightOf(key), rowOf(key));
    return true;
  }
  return false;
}

/** Compares all codes of a part. */
function scan(
  { bits, kernel }: SearchedCodes,
  { rows: { codes, count } }: Placed,
  code: Uint8Array,
  asked: AskedByDistance,
  best: Smallest,
  work: Work,
): void {
  if (count === 0) return;
  const limit = limitOf(asked, best);
  const want = asked.filter === null ? Math.min(asked.k, NO_ROW) : NO_ROW;
  const search = hammingKernel(kernel, Math.ceil(bits / 8)).search(codes, code, want, limit);
  search.range(0, count);
  work.codesCompared += count;
  const hits = search.hits();
  for (let i = 0; i < hits.count; i++) {
    if (hits.weights[i] <= search.limit)
      offer(codes.rows[hits.codes[i]], hits.weights[i], asked, best);
  }
}
