/**
 * Candidate pairs of sets that reach a Jaccard similarity, or of which the smaller one is in the
 * other by so large a part; none is missed. For a similarity by prefix filtering (Chaudhuri,
 * Ganti & Kaushik, ICDE 2006; Bayardo, Ma & Srikant, WWW 2007; Xiao et al., WWW 2008):
 * with the members of all sets in one order, rare ones first, near sets share some of the first
 * members of each, so lists of the rows with such a member bring them together. Members are hashed
 * to 32 bits here, and lists to fewer: collisions add candidates, and never remove one.
 */
import { grown, toStarts } from '../base/arrays';
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
}

/** Bits of the number of lists. */
const MIN_LIST_BITS = 8;
const MAX_LIST_BITS = 22;
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
  const order = await MemberOrder.of(right === null ? [left] : [left, right], work);
  const ours = await prefixesOf(left, order, wanted, work);
  const theirs = right === null ? ours : await prefixesOf(right, order, wanted, work);
  const lists = await RowLists.of(theirs, order, work);
  const isOne = right === null;
  const out = new Candidates(ours, theirs, wanted);
  const rows = ours.sizes.length;
  let entries = 0;
  for (let row = 0; row < rows; row++) {
    for (let i = ours.starts[row]; i < ours.starts[row + 1]; i++) {
      // Within one collection a pair is found from its lower row.
      entries += out.count(lists, ours.lists[i], isOne ? row : -1);
    }
    out.end(row);
    if (out.isFull) await send(out.take());
    if (entries < STEP_ENTRIES) continue;
    await work.step(row, rows);
    entries = 0;
  }
  if (out.pairs > 0) await send(out.take());
}

/** The order of members, by how often their lists occur; maps members to lists. */
class MemberOrder {
  /** For each list how often its members occur. */
  readonly #counts: Uint32Array;
  readonly #shift: number;
  /** Room to sort the members of a row. */
  #keys = new Float64Array(256);

  /** Counts the members of these collections. */
  static async of(collections: readonly Rows[], work: LongWork): Promise<MemberOrder> {
    let entries = 0;
    for (const rows of collections) {
      for (let row = 0; row < rows.codes.count; row++) entries += entryCountOf(rows, row);
    }
    const order = new MemberOrder(entries);
    for (const rows of collections) {
      for (let row = 0; row < rows.codes.count; row++) {
        eachMember(rows, row, (member) => {
          order.#counts[order.listOf(member)]++;
        });
        if (row % STEP_ROWS === 0) await work.step();
      }
    }
    return order;
  }

  private constructor(entries: number) {
    const bits = Math.max(MIN_LIST_BITS, Math.min(MAX_LIST_BITS, 32 - Math.clz32(entries)));
    this.#counts = new Uint32Array(2 ** bits);
    this.#shift = 32 - bits;
  }

  get listCount(): number {
    return this.#counts.length;
  }

  /** The list of a member: its highest bits. */
  listOf(member: number): number {
    return member >>> this.#shift;
  }

  /** Writes the lists of the first members of a row of `size` members to `lists`, in no order. */
  firstInto(rows: Rows, row: number, size: number, lists: Uint32Array): void {
    if (size > this.#keys.length) this.#keys = new Float64Array(2 * size);
    const keys = this.#keys.subarray(0, size);
    let at = 0;
    if (lists.length === size) {
      eachMember(rows, row, (member) => {
        lists[at++] = this.listOf(member);
      });
      return;
    }
    eachMember(rows, row, (member) => {
      const occurrences = Math.min(MAX_OCCURRENCES, this.#counts[this.listOf(member)]);
      keys[at++] = occurrences * 2 ** 32 + member;
    });
    selectSmallest(keys, size, lists.length);
    // The lower 32 bits of a key are the member.
    for (let i = 0; i < lists.length; i++) lists[i] = this.listOf(keys[i] >>> 0);
  }
}

/** Number of entries of a row, those of weight 0 included. */
function entryCountOf({ vectors, vectorOf }: Rows, row: number): number {
  const { from, to } = (vectors as SparseVectors).entriesOf(vectorOf?.[row] ?? row);
  return to - from;
}

/** Calls `take` with a 32-bit hash of each member of a row: a dimension whose weight is not 0. */
function eachMember(
  { codes, vectors, vectorOf }: Rows,
  row: number,
  take: (member: number) => void,
) {
  if (codes.isNull(row)) return;
  const { part, from, to } = (vectors as SparseVectors).entriesOf(vectorOf?.[row] ?? row);
  for (let i = from; i < to; i++) {
    if (part.weights[i] === 0) continue;
    const mixed = part.halves[2 * i] ^ Math.imul(part.halves[2 * i + 1], 0x85eb_ca77);
    take(Math.imul(mixed ^ (mixed >>> 15), 0x9e37_79b1) >>> 0);
  }
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
  order: MemberOrder,
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
  for (let row = 0; row < count; row++) {
    const own = lists.subarray(starts[row], starts[row + 1]);
    if (own.length > 0) order.firstInto(rows, row, sizes[row], own);
    if (row % STEP_ROWS === 0) await work.step();
  }
  return { sizes, starts, lists };
}

/** For each list the rows that have one of its members among their first, ascending. */
class RowLists {
  readonly rows: Uint32Array;
  readonly #ends: Uint32Array;
  /** For each list its first entry, which `behind` moves forward. */
  readonly #next: Uint32Array;

  /** Fills the lists by a counting sort; rows are entered in order, so each list ascends. */
  static async of(
    { sizes, starts, lists }: Prefixes,
    { listCount }: MemberOrder,
    work: LongWork,
  ): Promise<RowLists> {
    const ends = new Uint32Array(listCount);
    for (const list of lists) ends[list]++;
    toStarts(ends); // entering rows turns starts into ends
    const next = ends.slice();
    const made = new RowLists(lists.length, ends, next);
    for (let row = 0; row < sizes.length; row++) {
      for (let i = starts[row]; i < starts[row + 1]; i++) made.rows[ends[lists[i]]++] = row;
      if (row % STEP_ROWS === 0) await work.step();
    }
    return made;
  }

  private constructor(entries: number, ends: Uint32Array, next: Uint32Array) {
    this.rows = new Uint32Array(entries);
    this.#ends = ends;
    this.#next = next;
  }

  /** Where the entries of a list end. */
  end(list: number): number {
    return this.#ends[list];
  }

  /** The first entry of a row behind `row`, which must not be lower than in an earlier call. */
  behind(list: number, row: number): number {
    const [next, end] = [this.#next, this.#ends[list]];
    while (next[list] < end && this.rows[next[list]] <= row) next[list]++;
    return next[list];
  }
}

/** Counts the lists that a row shares with others, and collects the pairs that may be near. */
class Candidates {
  readonly #ours: Prefixes;
  readonly #theirs: Prefixes;
  readonly #wanted: SetsWanted;
  /** For each other row the number of lists that it shares with the present row. */
  readonly #shared: Uint32Array;
  /** Other rows with such a number, in the order in which they were met. */
  #met = new Uint32Array(256);
  #metCount = 0;
  #a = new Uint32Array(BATCH);
  #b = new Uint32Array(BATCH);
  pairs = 0;

  constructor(ours: Prefixes, theirs: Prefixes, wanted: SetsWanted) {
    this.#ours = ours;
    this.#theirs = theirs;
    this.#wanted = wanted;
    this.#shared = new Uint32Array(theirs.sizes.length);
  }

  /** True if the collected pairs are enough for a batch. */
  get isFull(): boolean {
    return this.pairs >= BATCH;
  }

  /** Counts the rows of a list behind `row`; returns how many there are. */
  count(lists: RowLists, list: number, row: number): number {
    const [from, end] = [lists.behind(list, row), lists.end(list)];
    const shared = this.#shared;
    for (let i = from; i < end; i++) {
      const other = lists.rows[i];
      if (shared[other]++ > 0) continue;
      if (this.#metCount === this.#met.length) this.#met = grown(this.#met);
      this.#met[this.#metCount++] = other;
    }
    return end - from;
  }

  /** Collects the pairs of a row with those that share enough, and clears the counts. */
  end(row: number): void {
    const met = this.#met.subarray(0, this.#metCount);
    this.#metCount = 0;
    let near = 0;
    for (let i = 0; i < met.length; i++) {
      const other = met[i];
      if (this.#mayBeNear(row, other)) met[near++] = other;
      this.#shared[other] = 0;
    }
    if (near === 0) return;
    while (this.pairs + near > this.#a.length) {
      this.#a = grown(this.#a);
      this.#b = grown(this.#b);
    }
    this.#a.fill(row, this.pairs, this.pairs + near);
    this.#b.set(met.subarray(0, near).sort(), this.pairs);
    this.pairs += near;
  }

  /** Size and positional filters: false if the sets surely have too few members in common. */
  #mayBeNear(row: number, other: number): boolean {
    const { least, isOfSmaller = false, group } = this.#wanted;
    if (group !== undefined && group[row] !== group[other]) return false;
    const [ours, theirs] = [this.#ours, this.#theirs];
    const [size, otherSize] = [ours.sizes[row], theirs.sizes[other]];
    if (isOfSmaller) {
      return this.#shared[other] >= least * Math.min(size, otherSize) - ROUNDING;
    }
    if (Math.min(size, otherSize) < least * Math.max(size, otherSize) - ROUNDING) return false;
    const common = Math.ceil((least / (1 + least)) * (size + otherSize) - ROUNDING);
    // Of the set whose first members end earlier in the order, further members may be shared that
    // were not counted. Which set that is is unknown, so the larger rest is allowed.
    const rest = size - (ours.starts[row + 1] - ours.starts[row]);
    const otherRest = otherSize - (theirs.starts[other + 1] - theirs.starts[other]);
    return this.#shared[other] >= common - Math.max(rest, otherRest);
  }

  /** Returns a copy of the collected pairs, and empties the list. */
  take(): RowPairs {
    const taken = { a: this.#a.slice(0, this.pairs), b: this.#b.slice(0, this.pairs) };
    this.pairs = 0;
    return taken;
  }
}
