/**
 * Candidate pairs of sets that reach a Jaccard similarity, or of which the smaller one is in the
 * other by so large a part; none is missed. For a similarity by prefix filtering (Chaudhuri,
 * Ganti & Kaushik, ICDE 2006; Bayardo, Ma & Srikant, WWW 2007; Xiao et al., WWW 2008):
 * with the members of all sets in one order, rare ones first, near sets share some of the first
 * members of each, so lists of the rows with such a member bring them together. Members are hashed
 * to 32 bits here, and lists to fewer: collisions add candidates, and never remove one.
 */
import { toStarts } from '../base/arrays';
import type { LongWork } from '../base/long-work';
import { selectSmallest } from '../base/top-k';
import type { SparseVectors } from '../index/vectors/sparse-vectors';
import type { Send } from './pair-order';
import type { RowPairs, Rows } from './rows';

/** Which sets are near. */
interface SetsWanted {
  /** Lowest Jaccard similarity, above 0. */
  readonly least: number;
  /** True where `least` is the part of the smaller set that is in the other one. */
  readonly isOfSmaller?: boolean;
  /** For each row its group: pairs are within a group, and rows of -1 are in none. */
  readonly group?: Int32Array | undefined;
  /** Within one collection: false for a row whose pairs with later rows are not wanted any more. */
  readonly isHead?: ((row: number) => boolean) | undefined;
}

/** Bits of the number of lists. */
const MIN_LIST_BITS = 8;
const MAX_LIST_BITS = 22;
/** What vectors hold for a member, about. */
const BYTES_PER_MEMBER = 12;
/** Members that occur more often count as this frequent, so that count and member fit 53 bits. */
const MAX_OCCURRENCES = 2 ** 20 - 1;
/** Subtracted before rounding up, where rounding may have made a product a little too large. */
const ROUNDING = 1e-9;
/** Pairs of a batch; rows read, and entries of lists counted, between two steps. */
const BATCH = 2 ** 14;
const STEP_ROWS = 2 ** 12;
const STEP_ENTRIES = 2 ** 21;

/**
 * Passes on the pairs of rows to compare, ordered by (a, b): rows of `left` among themselves, or
 * with those of `right`, which count from 0. Empty sets are in no pair.
 */
export async function setPairs(
  left: Rows,
  right: Rows | null,
  wanted: SetsWanted,
  send: Send<RowPairs>,
  work: LongWork,
): Promise<void> {
  const counts = await countsOf(right === null ? [left] : [left, right], work);
  const ours = await prefixesOf(left, counts, wanted, work);
  const theirs = right === null ? ours : await prefixesOf(right, counts, wanted, work);
  const { rows, starts, ends } = await rowLists(theirs, counts.length, work);
  // For each other row the number of lists that it shares with the present row.
  const shared = new Uint32Array(theirs.sizes.length);
  const [a, b, met]: number[][] = [[], [], []];
  const flush = async () => {
    const batch = { a: Uint32Array.from(a), b: Uint32Array.from(b) };
    a.length = b.length = 0;
    await send(batch);
  };
  const count = ours.sizes.length;
  for (let row = 0, entries = 0; row < count; row++) {
    if (wanted.isHead?.(row) === false) continue;
    for (let i = ours.starts[row]; i < ours.starts[row + 1]; i++) {
      const list = ours.lists[i];
      const end = ends[list];
      // Within one collection a pair is found from its lower row.
      if (right === null) while (starts[list] < end && rows[starts[list]] <= row) starts[list]++;
      for (let at = starts[list]; at < end; at++) if (shared[rows[at]]++ === 0) met.push(rows[at]);
      entries += end - starts[list];
    }
    const near = met.filter((other) => mayBeNear(wanted, ours, row, theirs, other, shared[other]));
    for (const other of Uint32Array.from(near).sort()) {
      a.push(row);
      b.push(other);
    }
    for (const other of met) shared[other] = 0;
    met.length = 0;
    if (a.length >= BATCH) await flush();
    if (entries < STEP_ENTRIES) continue;
    await work.step(row, count);
    entries = 0;
  }
  if (a.length > 0) await flush();
}

/**
 * For each list how often its members occur in these collections, by which members are ordered. A
 * member is in the list of its highest bits; there are about as many lists as members.
 */
async function countsOf(collections: readonly Rows[], work: LongWork): Promise<Uint32Array> {
  const bytes = collections.reduce((sum, rows) => sum + (rows.vectors?.bytes ?? 0), 0);
  const wanted = 32 - Math.clz32(bytes / BYTES_PER_MEMBER);
  const bits = Math.max(MIN_LIST_BITS, Math.min(MAX_LIST_BITS, wanted));
  const counts = new Uint32Array(2 ** bits);
  for (const rows of collections) {
    for (let row = 0; row < rows.codes.count; row++) {
      eachMember(rows, row, (member) => {
        counts[member >>> (32 - bits)]++;
      });
      if (row % STEP_ROWS === 0) await work.step();
    }
  }
  return counts;
}

/** Calls `take` with a 32-bit hash of each member of a row. */
function eachMember(
  { codes, vectors, vectorOf }: Rows,
  row: number,
  take: (member: number) => void,
) {
  if (codes.isNull(row)) return;
  (vectors as SparseVectors).eachMember(vectorOf?.[row] ?? row, (low, high) => {
    const mixed = low ^ Math.imul(high, 0x85eb_ca77);
    take(Math.imul(mixed ^ (mixed >>> 15), 0x9e37_79b1) >>> 0);
  });
}

/** The size of each row's set, and the lists of its first members. */
interface Prefixes {
  readonly sizes: Uint32Array;
  /** Lists of a row are at `starts[row]` to `starts[row + 1] - 1`. */
  readonly starts: Uint32Array;
  readonly lists: Uint32Array;
}

/**
 * Takes s - ceil(least * s) + 1 first members of a set of size s: a near set has at least
 * ceil(least * s) members in common with it, so not all of these can be among the others. Of the
 * smaller set alone all members are taken.
 */
async function prefixesOf(
  rows: Rows,
  counts: Uint32Array,
  { least, isOfSmaller = false, group }: SetsWanted,
  work: LongWork,
): Promise<Prefixes> {
  const { count } = rows.codes;
  const sizes = new Uint32Array(count);
  const starts = new Uint32Array(count + 1);
  for (let row = 0; row < count; row++) {
    if (group === undefined || group[row] >= 0) eachMember(rows, row, () => sizes[row]++);
    // The other set may be much larger, so that its first members say nothing of the smaller one.
    const needless = isOfSmaller ? 0 : Math.ceil(least * sizes[row] - ROUNDING) - 1;
    starts[row + 1] = starts[row] + Math.min(sizes[row], Math.max(0, sizes[row] - needless));
    if (row % STEP_ROWS === 0) await work.step();
  }
  const lists = new Uint32Array(starts[count]);
  const shift = Math.clz32(counts.length) + 1; // 32 less the bits of a list
  const keys = new Float64Array(sizes.reduce((most, size) => Math.max(most, size), 0));
  for (let row = 0; row < count; row++) {
    const own = lists.subarray(starts[row], starts[row + 1]);
    if (own.length > 0) {
      let at = 0;
      eachMember(rows, row, (member) => {
        keys[at++] = Math.min(MAX_OCCURRENCES, counts[member >>> shift]) * 2 ** 32 + member;
      });
      selectSmallest(keys, at, own.length);
      // The lower 32 bits of a key are the member.
      for (let i = 0; i < own.length; i++) own[i] = (keys[i] >>> 0) >>> shift;
    }
    if (row % STEP_ROWS === 0) await work.step();
  }
  return { sizes, starts, lists };
}

/**
 * For each list the rows that have one of its members among their first, ascending: those of list l
 * are `rows[starts[l]]` to `rows[ends[l] - 1]`.
 */
async function rowLists(
  { sizes, starts: ofRow, lists }: Prefixes,
  listCount: number,
  work: LongWork,
): Promise<{ rows: Uint32Array; starts: Uint32Array; ends: Uint32Array }> {
  const starts = new Uint32Array(listCount);
  for (const list of lists) starts[list]++;
  toStarts(starts);
  const ends = starts.slice();
  const rows = new Uint32Array(lists.length);
  for (let row = 0; row < sizes.length; row++) {
    for (let i = ofRow[row]; i < ofRow[row + 1]; i++) rows[ends[lists[i]]++] = row;
    if (row % STEP_ROWS === 0) await work.step();
  }
  return { rows, starts, ends };
}

/** Size and positional filters: false if the sets surely have too few members in common. */
function mayBeNear(
  { least, isOfSmaller = false, group }: SetsWanted,
  ours: Prefixes,
  row: number,
  theirs: Prefixes,
  other: number,
  shared: number,
): boolean {
  if (group !== undefined && group[row] !== group[other]) return false;
  const [size, otherSize] = [ours.sizes[row], theirs.sizes[other]];
  if (isOfSmaller) return shared >= least * Math.min(size, otherSize) - ROUNDING;
  if (Math.min(size, otherSize) < least * Math.max(size, otherSize) - ROUNDING) return false;
  const common = Math.ceil((least / (1 + least)) * (size + otherSize) - ROUNDING);
  // Of the set whose first members end earlier in the order, further members may be shared that
  // were not counted. Which set that is is unknown, so the larger rest is allowed.
  const rest = size - (ours.starts[row + 1] - ours.starts[row]);
  const otherRest = otherSize - (theirs.starts[other + 1] - theirs.starts[other]);
  return shared >= common - Math.max(rest, otherRest);
}
