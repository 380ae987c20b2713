/**
 * Which groups of near rows are one template that was filled differently, and what its text is. A
 * filling has the whole text of its template, and adds own text in its gaps. A version of a text
 * lacks about as much of what the versions share as it adds, since an edit takes the place of what
 * was there. So a group is a template where its rows lack little of what most of them share,
 * compared with what they add. Reprints that only add, each its own heading, look like one too.
 */

import { keyOfBytes } from '../base/arrays';
import { HashCounts } from '../base/hash-counts';
import type { LongWork } from '../base/long-work';
import type { SparseVectors } from '../index/vectors/sparse-vectors';
import type { DedupPlan } from './plan';
import type { Rows } from './rows';

/** Fewest different rows of a group that can be a template; of more, so many are looked at. */
const MIN_ROWS = 8;
const MAX_ROWS = 64;
/**
 * A row of a template lacks less than the first share of the members that it lacks or adds, and all
 * rows together less than the second. Of texts that are edited at random most lack .33 to .5.
 */
const MAX_LACKING = 0.25;
const MAX_LACKING_OF_ALL = 0.4;
/**
 * What more than this share of a template's rows have, and more rows than a few, is its text: gaps
 * repeat values, and a filling may have some copies.
 */
const COMMON_SHARE = 0.1;
const FEW_ROWS = 3;

/** Groups that are templates. */
interface Templates {
  /** The groups that are templates, each with the members that are its text; and all of these. */
  readonly templates: ReadonlyMap<Uint32Array, HashCounts>;
  readonly common: HashCounts;
  /** Groups as large that are versions of one text. */
  readonly versions: ReadonlySet<Uint32Array>;
}

/** The templates among groups of rows whose vectors are sets. */
export async function templatesIn(
  groups: Iterable<Uint32Array>,
  { codes, vectors }: Rows,
  work: LongWork,
): Promise<Templates> {
  const common = new HashCounts();
  const templates = new Map<Uint32Array, HashCounts>();
  const versions = new Set<Uint32Array>();
  for (const rows of groups) {
    if (rows.length < MIN_ROWS) continue;
    const different = [
      ...new Map(Array.from(rows, (row) => [keyOfBytes(codes.at(row)), row])).values(),
    ];
    if (different.length < MIN_ROWS) continue;
    const size = Math.min(different.length, MAX_ROWS);
    const sample = Array.from({ length: size }, (_, i) => {
      return different[Math.floor((i * different.length) / size)];
    });
    const counts = countsOf(vectors as SparseVectors, sample);
    await work.step();
    if (!isTemplate(vectors as SparseVectors, sample, counts)) {
      versions.add(rows);
      continue;
    }
    const own = new HashCounts();
    templates.set(rows, own);
    const most = Math.max(FEW_ROWS, COMMON_SHARE * size);
    counts.each((low, high, count) => {
      if (count <= most) return;
      own.add(low, high, 1);
      common.add(low, high, 1);
    });
  }
  return { common, templates, versions };
}

/** How many groups of a plan look like templates, and how many rows these have. */
export async function countTemplates(
  { groups, count }: DedupPlan,
  rows: Rows,
  work: LongWork,
): Promise<{ readonly groups: number; readonly rows: number }> {
  const sizes = new Uint32Array(count);
  for (const group of groups) sizes[group]++;
  const members = new Map<number, number[]>();
  groups.forEach((group, row) => {
    if (sizes[group] < MIN_ROWS) return;
    const own = members.get(group);
    if (own === undefined) members.set(group, [row]);
    else own.push(row);
  });
  const large = Array.from(members.values(), (own) => Uint32Array.from(own));
  const { templates } = await templatesIn(large, rows, work);
  const sum = [...templates.keys()].reduce((all, { length }) => all + length, 0);
  return { groups: templates.size, rows: sum };
}

/** In how many of the rows each member is. */
function countsOf(sets: SparseVectors, rows: readonly number[]): HashCounts {
  const counts = new HashCounts();
  const { from, to } = sets.entriesOf(rows[0]);
  counts.reserve(3 * (to - from));
  for (const row of rows) eachMember(sets, row, (low, high) => counts.add(low, high, 1));
  return counts;
}

/** Compares what rows lack of the members that most of them have with what they add to these. */
function isTemplate(sets: SparseVectors, rows: readonly number[], counts: HashCounts): boolean {
  let shared = 0;
  counts.each((_, __, count) => {
    if (count > rows.length / 2) shared++;
  });
  let [lacking, all] = [0, 0];
  const shares: number[] = [];
  for (const row of rows) {
    let [own, size] = [0, 0];
    eachMember(sets, row, (low, high) => {
      size++;
      if (counts.countOf(low, high) <= rows.length / 2) own++;
    });
    const missing = shared - (size - own);
    if (missing + own > 0) shares.push(missing / (missing + own));
    lacking += missing;
    all += missing + own;
  }
  const median = shares.sort((a, b) => a - b)[shares.length >> 1] ?? 1;
  return median < MAX_LACKING && lacking < MAX_LACKING_OF_ALL * all;
}

/** Calls `take` with the halves of each member of a row. */
export function eachMember(
  sets: SparseVectors,
  row: number,
  take: (low: number, high: number) => void,
): void {
  const { part, from, to } = sets.entriesOf(row);
  for (let i = from; i < to; i++) {
    if (part.weights[i] !== 0) take(part.halves[2 * i], part.halves[2 * i + 1]);
  }
}
