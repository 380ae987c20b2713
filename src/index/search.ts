/**
 * A search by cosine: from a query to the best rows. Stages follow one another, and each keeps the
 * best by (score, row) of what the one before has left, over all rows, so that the answer does not
 * depend on how rows are spread over segments, files and steps:
 *
 * 1. partitions nearest to the query, or all rows of an index without a space;
 * 2. candidates: of dense vectors by their entries, else by codes whose bits are weighted with the
 *    sums of the query; a weight is a small integer, the lower the likelier a row is near;
 * 3. the exact cosines of the candidates, where the index holds vectors, in the order of weights,
 *    until those that follow are too unlikely to enter.
 */

import { concatenated, valuesAt } from '../base/arrays';
import { Highest, rowsOf, Smallest, weightOf, weightsOf } from '../base/top-k';
import { EntrySearch, type FoundEntries, ONE_WEIGHT } from '../kernels/residuals';
import { eachWithin, MAX_ENTRY, MAX_WEIGHT, type WeightTables } from '../kernels/weighted';
import type { FilterMemory } from './filter';
import type { Query } from './query';
import {
  type CodeRange,
  type MemoryPart,
  Ranges,
  type Searched,
  type SearchedPart,
  type Stepped,
  type Want,
  type Work,
} from './searched';
import type { Probes, Space } from './space';

/** Ranges of one call of the kernel, of whichever search. */
const ranges = new Ranges();

/** How candidates are found. */
export interface Setting {
  /** Partitions to visit; null for all rows. */
  readonly probes: number | null;
  /** With it `probes` is what is usual, and `visitCount` says how many a query visits. */
  readonly slack?: number | undefined;
  /** Candidates to find. */
  readonly want: number;
}

interface Asked extends Setting {
  readonly k: number;
  readonly filter: FilterMemory | null;
  /** The rows to rank, in place of candidates that are looked for; null to look for them. */
  readonly rows?: Uint32Array | null;
  /**
   * True to get all candidates as they were found, for recall to be measured: a row that is in two
   * partitions may be there twice.
   */
  readonly isUnranked?: boolean;
}

/** Rows, best first, and their cosines, exact or estimated. */
export interface Best {
  readonly rows: Uint32Array;
  readonly cosines: Float64Array;
}

/** Rows by weight. */
interface Candidates extends FoundEntries {
  readonly cosineOf: (weight: number) => number;
  /** The standard error of these cosines; infinite where it is not known. */
  readonly error: number;
}

/** Candidates that were found, and whether there are no others. */
interface Seen {
  readonly candidates: Candidates;
  readonly isAll: boolean;
}

/**
 * Where a filter leaves too few candidates, the next round seeks 1.25 times as many as would have
 * been enough, but at most 8 times as many as before.
 */
const SPARE = 1.25;
const MAX_TIMES = 8;
/** Candidates whose exact cosines are computed together, so that reads of memory overlap. */
const TOGETHER = 16;

/**
 * Standard errors by which an estimate must fall short where exact ranking ends. With 2 in place of
 * 4, half as many rows are ranked at a recall of .99 and .0004 less is found (GloVe), but a search
 * that visits everything misses a row now and then; with 3 none is missed in the model test. In two
 * dimensions, where the estimates of near rows err alike, one of a hundred is.
 */
const MARGIN = 3;

/** The cosine that the weight of an entry estimates. */
const cosineOf = (weight: number) => 1 - weight / ONE_WEIGHT;

/** Entries that a search looks at. */
export interface Looking {
  readonly entries: EntrySearch;
  readonly probes: Probes;
}

/** What a search does in its next step. */
type Task =
  /** Scores entries, or weighs codes, of partitions. */
  | { readonly kind: 'entries' | 'codes'; readonly probes: Probes }
  /** Weighs the codes of a block, or asks the filter for its rows. */
  | { readonly kind: 'block' | 'ask'; readonly block: number }
  /** Asks a function about candidates, whose ids must be at hand. */
  | { readonly kind: 'filter' }
  /** Ranks candidates exactly. */
  | { readonly kind: 'rank' };

export class CosineSearch implements Stepped {
  readonly #index: Searched;
  readonly #query: Query;
  readonly #asked: Asked;
  readonly #isExact: boolean;
  readonly #work: Work;
  /** Partitions to visit and candidates to find, which grow where a filter leaves too few. */
  #probes: number | null;
  #slack: number | undefined;
  #wanted: number;
  /** Partitions that were visited for these candidates, and how many for the first ones. */
  #visited: Uint32Array | null = null;
  #usualProbes = 0;
  #tasks: Task[] = [];
  #next = 0;
  #entries: EntrySearch | null = null;
  #byCode: ByCode | null = null;
  #seen: Seen | null = null;
  #ranking: Ranking | null = null;
  #best: Best | null = null;

  constructor(index: Searched, query: Query, asked: Asked, isExact: boolean, work: Work) {
    this.#index = index;
    this.#query = query;
    this.#asked = asked;
    this.#isExact = isExact;
    this.#work = work;
    this.#probes = index.space === null ? null : asked.probes;
    this.#slack = asked.slack;
    this.#wanted = (asked.filter === null ? 1 : 4) * asked.want;
    const { filter, rows = filter?.known } = asked;
    if (rows && isExact) this.#rank(candidatesOf(rows));
    else if (filter?.isNarrow) this.#scan('ask');
    else this.#find();
    // An index without rows has no blocks to ask for.
    if (!this.isDone && this.#tasks.length === 0) this.#best = NOTHING;
  }

  get isDone(): boolean {
    return this.#best !== null;
  }

  get best(): Best {
    return this.#best as Best;
  }

  /** Whether all rows that the filter accepts were compared, and no others. */
  get isOfAccepted(): boolean {
    return this.#isExact && (this.#asked.filter?.known ?? null) !== null;
  }

  get want(): Want | null {
    const task = this.#tasks[this.#next];
    if (task === undefined || this.isDone) return null;
    if ('block' in task) return { kind: 'block', block: task.block };
    if ('probes' in task) return { kind: task.kind, partitions: task.probes.partitions };
    if (task.kind === 'filter') {
      return { kind: 'ids', rows: (this.#seen as Seen).candidates.rows as Uint32Array };
    }
    const rows = (this.#ranking as Ranking).wanted;
    return rows === null ? null : { kind: 'vectors', rows };
  }

  suspend(): void {
    this.#entries?.suspend();
  }

  step(): void {
    const task = this.#tasks[this.#next++];
    if (task.kind === 'rank') this.#rankSome();
    else if (task.kind === 'ask') this.#ask(task.block);
    else if (task.kind === 'filter') this.#found();
    else {
      if ('block' in task) this.#byCode?.lookAt(task.block);
      else if (task.kind === 'entries') this.#lookAt(task.probes);
      else this.#byCode?.lookIn(task.probes);
      if (this.#next === this.#tasks.length) this.#looked();
    }
  }

  /** The entries that the next step looks at; null where it does something else. */
  get looking(): Looking | null {
    const task = this.#tasks[this.#next];
    if (this.isDone || task?.kind !== 'entries') return null;
    return { entries: this.#entries as EntrySearch, probes: task.probes };
  }

  /** Goes on after these entries were looked at. */
  looked(): void {
    this.#next++;
    if (this.#next === this.#tasks.length) this.#looked();
  }

  #setTasks(tasks: Task[]): void {
    this.#tasks = tasks;
    this.#next = 0;
  }

  /** Begins to look for candidates. */
  #find(): void {
    const { space } = this.#index;
    const byEntries = space !== null && space.bytesPerEntry > 0 && this.#probes !== null;
    this.#entries = byEntries
      ? new EntrySearch(
          () => (space as Space).tablesOf(this.#query.unit as Float64Array),
          (space as Space).entriesPerRow * this.#wanted,
        )
      : null;
    this.#byCode = byEntries
      ? null
      : new ByCode(this.#index, this.#query, this.#wanted, this.#work);
    this.#visited = null;
    if (space === null || this.#probes === null) this.#scan('block');
    else this.#visit(space, this.#probes);
  }

  #scan(kind: 'block' | 'ask'): void {
    this.#setTasks(Array.from({ length: this.#index.blockCount }, (_, block) => ({ kind, block })));
  }

  /**
   * Visits those of the nearest partitions that were not visited yet, in groups that fit into
   * memory: nearly always one, since each read of a host is a round trip.
   */
  #visit(space: Space, count: number): void {
    const all = space.route(this.#query, count, this.#slack);
    const known = this.#visited;
    const own = known === null ? all : probesBut(new Set(known), all);
    this.#visited = known === null ? own.partitions : concatenated([known, own.partitions]);
    this.#work.probes = this.#visited.length;
    const kind = this.#entries === null ? 'codes' : 'entries';
    this.#setTasks(this.#index.groupsOf(own).map((probes) => ({ kind, probes })));
    if (this.#tasks.length === 0) this.#looked();
  }

  #lookAt(probes: Probes): void {
    for (const part of this.#index.parts) {
      if (part.entries === null) continue;
      part.addEntries(probes, ranges.clear());
      this.#work.codesCompared += ranges.entryCount;
      this.#entries?.look(part.entries, ranges.numbers);
    }
  }

  /** All partitions or blocks were looked at. */
  #looked(): void {
    this.#seen = this.#candidates();
    const needsIds = this.#asked.filter?.isUserCode && this.#index.vectorsAhead !== null;
    if (needsIds) this.#setTasks([{ kind: 'filter' }]);
    else this.#found();
  }

  /** All candidates of the setting were found: they are filtered and ranked, or more are sought. */
  #found(): void {
    const { filter, want, k, isUnranked = false } = this.#asked;
    const { candidates, isAll } = this.#seen as Seen;
    let found = candidates;
    let depth = 1;
    if (filter !== null) {
      const { length } = found.weights;
      const most = Math.max(want, k);
      const accepted = acceptedOf(found, filter, { k, most });
      found = accepted.candidates;
      depth = accepted.depth;
      const isShort = found.weights.length < want || length < depth * most;
      if (isShort && filter.isNarrow) {
        this.#scan('ask');
        return;
      }
      if (isShort && !isAll) {
        // As many as would be enough if the filter goes on as before, and a quarter more.
        const times = Math.min((SPARE * depth * want) / length, MAX_TIMES);
        this.#wanted = Math.ceil(Math.max(2 * this.#wanted, times * length));
        this.#find();
        return;
      }
    }
    const enough = this.#enoughProbes(found.weights.length < k, depth);
    if (this.#work.probes < enough) {
      this.#probes = enough;
      this.#slack = undefined;
      if (filter === null) this.#find();
      else this.#visit(this.#index.space as Space, enough);
      return;
    }
    if (this.#isExact && !isUnranked) this.#rank(found);
    else this.#best = estimated(found, isUnranked ? Number.POSITIVE_INFINITY : k);
  }

  /**
   * As many partitions as should be visited, after some were: more where they have fewer than k
   * rows, and where a filter refuses candidates, as many times more as the k-th is deeper among
   * them. So about as much is found, though rows near the query may be those that it refuses.
   * `probes` of the caller are not exceeded for that.
   */
  #enoughProbes(isShort: boolean, depth: number): number {
    if (this.#probes === null) return 0;
    const visited = this.#work.probes;
    this.#usualProbes ||= visited;
    const isMeasured = this.#asked.slack !== undefined;
    const times = isMeasured ? depth : 1;
    const wanted = Math.max(isShort ? 2 * visited : 0, Math.ceil(this.#usualProbes * times));
    return Math.min(wanted, MAX_TIMES * visited, this.#index.space?.count ?? 0);
  }

  /** The candidates by weight; where one is filtered or returned as it is, equal ones by row. */
  #candidates(): Seen {
    if (this.#entries === null) return (this.#byCode as ByCode).found();
    const { filter, isUnranked = false } = this.#asked;
    const { parts } = this.#index;
    const { error, entriesPerRow } = this.#index.space as Space;
    // Entries of further partitions may be looked at, where a filter leaves too few of these.
    if (filter !== null) this.#entries.suspend();
    const found = this.#entries.found(filter !== null || isUnranked || parts.length > 1);
    const isAll = found.weights.length < entriesPerRow * this.#wanted;
    const { weights, rows, positions } = found;
    const candidates = { weights, rows, positions, cosineOf, error };
    const mayRepeat = entriesPerRow === 1 || isUnranked;
    return { candidates: mayRepeat ? candidates : withoutCopies(candidates), isAll };
  }

  /** Asks a narrow filter for all rows of a block; after the last one only these are compared. */
  #ask(block: number): void {
    const filter = this.#asked.filter as FilterMemory;
    const { codes, first, end } = this.#index.blockAt(block);
    filter.ask(codes.rows.subarray(first, end));
    if (this.#next < this.#tasks.length) return;
    const known = filter.know();
    if (this.#isExact) this.#rank(candidatesOf(known));
    else this.#find();
  }

  #rank(candidates: Candidates): void {
    this.#ranking = new Ranking(this.#index, this.#query, candidates, this.#asked.k, this.#work);
    this.#setTasks([{ kind: 'rank' }]);
  }

  #rankSome(): void {
    const ranking = this.#ranking as Ranking;
    if (ranking.step()) this.#best = ranking.best;
    else this.#next = 0;
  }
}

const NOTHING: Best = { rows: new Uint32Array(), cosines: new Float64Array() };

/** Rows whose order is not known yet: all of weight 0. */
function candidatesOf(rows: Uint32Array): Candidates {
  const weights = new Uint32Array(rows.length);
  const error = Number.POSITIVE_INFINITY;
  return { weights, rows, positions: null, cosineOf: () => 1, error };
}

/**
 * The first candidates whose rows are accepted, at least `most`, and how many times deeper than
 * without the filter the k-th of them is. Estimates order more rows wrongly the deeper they are, so
 * as many times `most` candidates are asked about.
 */
function acceptedOf(
  candidates: Candidates,
  filter: FilterMemory,
  { k, most }: { readonly k: number; readonly most: number },
): { candidates: Candidates; depth: number } {
  const rows = candidates.rows as Uint32Array;
  const those = new Uint32Array(rows.length);
  let [count, asked, depth] = [0, 0, 1];
  while (asked < rows.length && (count < most || asked < depth * most)) {
    if (filter.accepts(rows[asked++])) {
      those[count++] = asked - 1;
      if (count === k) depth = asked / k;
    }
  }
  depth = Math.max(depth, asked / Math.max(1, count));
  return { candidates: candidatesAt(candidates, those.subarray(0, count)), depth };
}

/** Candidates of which no row occurs twice: the lower of two stays. */
function withoutCopies(candidates: Candidates): Candidates {
  const names = candidates.rows ?? (candidates.positions as Uint32Array);
  // A hash table of the indices of names, each plus one: a Set takes longer.
  const bits = 33 - Math.clz32(names.length);
  const table = new Uint32Array(2 ** bits);
  const those = new Uint32Array(names.length);
  let count = 0;
  for (let i = 0; i < names.length; i++) {
    let at = Math.imul(names[i], 0x9e3779b1) >>> (32 - bits);
    while (table[at] !== 0 && names[table[at] - 1] !== names[i]) at = (at + 1) % table.length;
    if (table[at] !== 0) continue;
    table[at] = i + 1;
    those[count++] = i;
  }
  return candidatesAt(candidates, those.subarray(0, count));
}

/** The probes of other partitions than these. */
function probesBut(known: ReadonlySet<number>, { partitions, products }: Probes): Probes {
  const isNew = (_: number, i: number) => !known.has(partitions[i]);
  return { partitions: partitions.filter(isNew), products: products.filter(isNew) };
}

function candidatesAt(candidates: Candidates, indices: Uint32Array): Candidates {
  const { weights, rows, positions } = candidates;
  return {
    ...candidates,
    weights: valuesAt(weights, indices),
    rows: rows && valuesAt(rows, indices),
    positions: positions && valuesAt(positions, indices),
  };
}

/** Weighs codes by the sums of the query. */
class ByCode {
  readonly #index: Searched;
  readonly #weights: Weights;
  readonly #best: Smallest;
  readonly #wanted: number;
  readonly #work: Work;

  constructor(index: Searched, query: Query, wanted: number, work: Work) {
    this.#index = index;
    this.#weights = weightTables(query.sums ?? evenSums(query.code, index.bits));
    this.#best = new Smallest(wanted);
    this.#wanted = wanted;
    this.#work = work;
  }

  lookIn({ partitions }: Probes): void {
    for (const part of this.#index.parts) {
      this.#look(part.codes, part.codesIn(partitions), (place) => part.rowAt(place));
    }
  }

  lookAt(block: number): void {
    const { codes, first, end } = this.#index.blockAt(block);
    this.#look(codes, [{ first, end }], (place) => codes.rows[place]);
  }

  #look(
    codes: SearchedPart['codes'],
    ranges: readonly CodeRange[],
    rowAt: (place: number) => number,
  ): void {
    const best = this.#best;
    const { tables, maxWeight } = this.#weights;
    const limit = () => Math.min(maxWeight, weightOf(best.bound));
    for (const range of ranges) {
      eachWithin(codes, range, tables, limit, (place, weight) => best.take(weight, rowAt(place)));
      this.#work.codesCompared += range.end - range.first;
    }
  }

  found(): Seen {
    const { cosineOf } = this.#weights;
    const keys = this.#best.result();
    const found = { weights: weightsOf(keys), rows: rowsOf(keys), positions: null };
    const candidates = { ...found, cosineOf, error: Number.POSITIVE_INFINITY };
    return { candidates, isAll: keys.length < this.#wanted };
  }
}

/** The first k candidates, with the cosines that are estimated. */
function estimated({ weights, rows, cosineOf }: Candidates, k: number): Best {
  const best = (rows as Uint32Array).slice(0, k);
  const cosines = new Float64Array(best.length);
  for (let i = 0; i < best.length; i++) cosines[i] = cosineOf(weights[i]);
  return { rows: best, cosines };
}

/**
 * Finds the k rows of the highest exact similarities. It ends where the estimates that follow are
 * below the k-th by more than MARGIN times their standard error. The steps in which rows are
 * compared do not depend on what is loaded together, so that the answer does not either.
 */
class Ranking {
  readonly #index: Pick<Searched, 'parts' | 'vectorsAhead'>;
  readonly #query: Query;
  readonly #candidates: Candidates;
  readonly #best: Highest;
  readonly #stepRows: number;
  readonly #work: Work;
  #done = 0;
  /** The candidate before which it is checked again whether those that follow can still enter. */
  #groupEnd = 0;
  /** Candidates whose vectors are at hand. */
  #loaded: number;

  constructor(
    index: Pick<Searched, 'parts' | 'vectorsAhead'>,
    query: Query,
    candidates: Candidates,
    k: number,
    work: Work,
  ) {
    const { weights, error } = candidates;
    this.#index = index;
    this.#query = query;
    this.#candidates = candidates;
    this.#best = new Highest(Math.min(k, weights.length));
    this.#stepRows = Number.isFinite(error) ? Math.max(TOGETHER, k) : 8 * TOGETHER;
    this.#work = work;
    this.#loaded = index.vectorsAhead === null ? weights.length : 0;
  }

  /** The rows whose vectors the next step needs; null where they are at hand. */
  get wanted(): Uint32Array | null {
    const end = this.#end();
    if (end <= this.#loaded || this.#index.vectorsAhead === null) return null;
    const rows = this.#candidates.rows as Uint32Array;
    const { vectorsAhead: ahead } = this.#index;
    const most = Math.min(this.#done + ahead.most, rows.length);
    let last = Math.min(most, Math.max(end, this.#done + ahead.least));
    while (last < most && ahead.has(rows[last])) last++;
    return rows.subarray(this.#done, last);
  }

  /** The end of the run of candidates that are ranked in one step. */
  #end(): number {
    const { weights } = this.#candidates;
    if (this.#done < this.#groupEnd) return this.#groupEnd;
    // As many again as were ranked, so that a long list takes few calls of the kernel.
    let end = Math.min(this.#done + Math.max(this.#stepRows, this.#done), weights.length);
    // Equal estimates are ranked together, since their order is not that of the cosines.
    while (end < weights.length && weights[end] === weights[end - 1]) end++;
    return end;
  }

  /** Ranks the rows that are at hand; true when all that can enter were compared. */
  step(): boolean {
    const { weights, cosineOf, error } = this.#candidates;
    this.#loaded = Math.max(this.#loaded, this.#done + (this.wanted?.length ?? 0));
    while (this.#done < weights.length) {
      const estimate = cosineOf(weights[this.#done]);
      const isBegun = this.#done < this.#groupEnd || this.#done === 0;
      if (!isBegun && estimate + MARGIN * error < this.#best.bound) break;
      this.#groupEnd = this.#end();
      const end = Math.min(this.#groupEnd, this.#loaded);
      if (end === this.#done) return false;
      this.#compare(end);
      this.#work.candidates += end - this.#done;
      this.#done = end;
    }
    return true;
  }

  /** Compares the candidates up to `end` with the query. */
  #compare(end: number): void {
    const { rows, positions } = this.#candidates;
    const { parts } = this.#index;
    const best = this.#best;
    if (rows === null) {
      const part = parts[0] as MemoryPart;
      const here = (positions as Uint32Array).subarray(this.#done, end);
      const cosines = part.similaritiesAt(here, this.#query);
      for (let i = 0; i < here.length; i++) {
        if (cosines[i] >= best.bound) best.take(cosines[i], part.codes.rows[here[i]]);
      }
      return;
    }
    const here = rows.subarray(this.#done, end);
    const cosines = new Float64Array(here.length);
    for (const part of parts) part.similaritiesInto(here, this.#query, cosines);
    for (let i = 0; i < here.length; i++) best.take(cosines[i], here[i]);
  }

  get best(): Best {
    const { rows, scores } = this.#best.result();
    return { rows, cosines: scores };
  }
}

interface Weights extends WeightTables {
  /** The cosine that a code's weight estimates: 1 for the query's own code. */
  cosineOf(weight: number): number;
}

const BITS_A_TABLE = 4;
const TABLE = 1 << BITS_A_TABLE;

/** Tables of a query: of its accumulators, one a bit. */
function weightTables(sums: Float64Array): Weights {
  const bits = sums.length;
  const groups = Math.ceil(bits / BITS_A_TABLE);
  const tables = new Uint8Array(Math.ceil(bits / 64) * 16 * TABLE);
  let heaviest = 0;
  let total = 0;
  for (let group = 0; group < groups; group++) {
    let weight = 0;
    for (let bit = BITS_A_TABLE * group; bit < bits && bit < BITS_A_TABLE * (group + 1); bit++) {
      weight += Math.abs(sums[bit]);
    }
    heaviest = Math.max(heaviest, weight);
    total += weight;
  }
  const mostEntry = Math.min(MAX_ENTRY, Math.floor(MAX_WEIGHT / groups));
  const scale = heaviest > 0 ? mostEntry / heaviest : 0;
  let most = 0;
  for (let group = 0; group < groups; group++) {
    most += tableInto(sums, BITS_A_TABLE * group, scale, tables, TABLE * group);
  }
  const share = total > 0 ? 2 / (total * scale) : 0;
  return { tables, maxWeight: most, cosineOf: (weight) => Math.max(-1, 1 - weight * share) };
}

const sumsOfValues = new Float64Array(TABLE);

/** The weights of all values of four bits; returns the largest. */
function tableInto(
  sums: Float64Array,
  firstBit: number,
  scale: number,
  tables: Uint8Array,
  at: number,
): number {
  const weights = sumsOfValues;
  weights[0] = 0;
  for (let i = 0, step = 1; i < BITS_A_TABLE; i++, step *= 2) {
    const sum = firstBit + i < sums.length ? sums[firstBit + i] : 0;
    const isSet = sum > 0;
    for (let value = 0; value < step; value++) {
      weights[step + value] = isSet ? weights[value] : weights[value] - sum;
      if (isSet) weights[value] += sum;
    }
  }
  let most = 0;
  for (let value = 0; value < TABLE; value++) {
    const entry = (weights[value] * scale + 0.5) | 0;
    tables[at + value] = entry;
    if (entry > most) most = entry;
  }
  return most;
}

/** Accumulators that weigh every bit alike: by them, a code is ranked by its distance. */
function evenSums(code: Uint8Array, bits: number): Float64Array {
  return Float64Array.from(
    { length: bits },
    (_, bit) => ((code[bit >> 3] >> (bit & 7)) & 1) * 2 - 1,
  );
}
