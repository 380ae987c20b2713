/**
 * Many queries over rows in memory, here or on a thread, which reads codes, entries and vectors of
 * the calling thread in place. Ids stay there; threads return rows.
 */

import type { LongWork } from '../base/long-work';
import { Codes } from '../codes/codes';
import type { SimHasherOptions } from '../hashing/simhash';
import { canShareMemory, SCAN_BYTES } from '../kernels/memory';
import { type EntryList, EntryRooms, ROOMS_BYTES } from '../kernels/residuals';
import type { Task } from '../threads/job';
import { MIN_PARTS_COLD, runJob, threadsOf } from '../threads/parallel';
import type { VectorBatch } from '../vectors/vectors';
import type { RowsToAdd } from './add-rows';
import {
  Answer,
  type AnsweredIndex,
  answer,
  type Request,
  type SearchResult,
  settingOf,
} from './answer';
import { workOf } from './choice';
import type { IndexCore } from './index-core';
import type { RecallReport } from './index-options';
import { searchedOf } from './memory-index';
import { type CodesPart, type Queries, QueryParts, queriesOf } from './query';
import { Rows } from './rows';
import type { Looking } from './search';
import { Ranges, run, type Searched } from './searched';
import { type Placed, Segment, Tail } from './segment';
import { type Probes, Space, type SpaceParts } from './space';

/** The state that is sent to a thread before it answers queries. */
interface AnsweringState {
  readonly hasher: SimHasherOptions;
  readonly vectors: 'none' | 'float32' | 'int8' | 'sparse';
  readonly isForeign: boolean;
  readonly report: RecallReport | null;
  readonly space: SpaceParts | null;
  readonly nextRow: number;
  readonly count: number;
  readonly segments: readonly Segment['state'][];
  /** Rows of an index without a space that are not in a segment; null where there are none. */
  readonly tail: Rows['state'] | null;
  readonly request: Request;
}

/** Some queries, in the form in which the caller gave them; `first` numbers them in errors. */
interface AnsweringPart {
  readonly batch: VectorBatch | CodesPart;
  readonly first: number;
}

type Version = ReturnType<IndexCore['version']>;

/** The state of an index; rows of a tail become a segment first, where there is a space. */
function answeringState(version: Version, request: Request): AnsweringState {
  const { parts: core, report, rows: held } = version;
  const { hasher, vectors, isForeign } = core;
  const { space } = held;
  if (space !== null) held.sealed();
  const { parts, nextRow, count } = held;
  const segments = parts.filter((part) => part instanceof Segment).map(({ state }) => state);
  const tail = parts[parts.length - 1].rows;
  return {
    hasher: hasher.options,
    vectors: vectors?.kind ?? 'none',
    isForeign,
    report,
    space: space?.parts ?? null,
    nextRow,
    count,
    request,
    segments,
    tail: tail.count > 0 ? tail.state : null,
  };
}

export const ANSWERING: Task<AnsweringState, AnsweringPart, SearchResult[]> = {
  name: 'answering',
  open(state) {
    const { hasher, vectors, space: parts, tail, request } = state;
    const core = new QueryParts({ hasher, vectors });
    core.isForeign = state.isForeign;
    const space = parts && new Space(parts);
    const placed: Placed[] = state.segments.map((one) => Segment.over(one));
    if (tail !== null) placed.push(new Tail(Rows.over(tail), null));
    const searched = searchedOf(core.bits, space, placed);
    const index = {
      parts: core,
      nextRow: state.nextRow,
      count: state.count,
      report: state.report,
      accepts: () => true,
      searched: () => searched,
      withCodes: () => null,
      idOf: (row: number) => row,
    };
    return ({ batch, first }) => {
      const given = 'bytes' in batch ? codesOf(batch) : batch;
      const queries = queriesOf(core, given, first);
      return answersTogether(index, queries, [0, queries.count], request);
    };
  },
};

function codesOf({ bits, bytes, validity }: CodesPart): Codes {
  return Codes.from(bytes, { bits, validity });
}

/**
 * The shares of its partitions, the nearest first, that each search visits in a turn: those of the
 * first turn bring limits near their ends, so that fewer entries are looked at further.
 */
const TURNS = [
  [0, 1 / 8],
  [1 / 8, 1],
] as const;

/** Ranges of one call of the kernel. */
const ranges = new Ranges();

/**
 * The answers to queries `first` to `end - 1`, all rows at hand. Where they search the partitions
 * of one segment they do so together, partition after partition, so that entries which several of
 * them look at are read once. What a search finds does not depend on the order in which it looks at
 * entries, so the answers are those of one search after another.
 */
function answersTogether(
  index: AnsweredIndex,
  queries: Queries,
  [first, end]: readonly [first: number, end: number],
  request: Request,
): SearchResult[] {
  const results: SearchResult[] = [];
  while (first + results.length < end) {
    const from = first + results.length;
    const answers = [new Answer(index, queries.at(from), request)];
    const searched = index.searched();
    const { looking } = answers[0];
    const list = looking && entriesOf(searched);
    const rooms = list && EntryRooms.of(list, (looking as Looking).entries.want);
    const to = Math.min(end, from + (rooms?.count ?? 1));
    for (let i = from + 1; i < to; i++) answers.push(new Answer(index, queries.at(i), request));
    if (list && rooms && answers.length > 1) lookTogether(searched, list, rooms, answers);
    for (const answer of answers) results.push(run(answer).result);
  }
  return results;
}

/** The entries that searches look at together: those of an index that has one segment. */
function entriesOf({ parts }: Searched): EntryList | null {
  const list = parts.length === 1 && parts[0] instanceof Segment ? parts[0].entries : null;
  return list?.memory.bytes.length === 0 ? null : list; // null rows alone
}

/** Looks at all entries that the searches want. */
function lookTogether(
  { parts: [part], space }: Searched,
  list: EntryList,
  rooms: EntryRooms,
  answers: readonly Answer[],
): void {
  for (;;) {
    const looking = answers.map((answer) => answer.looking);
    if (looking.every((one) => one === null)) return;
    const states = looking.map((one, i) => one?.entries.enter(list, rooms.at(i)));
    for (const turn of TURNS) {
      part.addEntries(visitsOf(looking, turn, space?.count ?? 0, rooms.roomBytes), ranges.clear());
      rooms.look(list, ranges.numbers, states);
    }
    for (const [i, one] of looking.entries()) if (one !== null) answers[i].looked();
  }
}

/** The visits of all searches in a turn, by partition; search i has the i-th room. */
function visitsOf(
  looking: readonly (Looking | null)[],
  [from, to]: readonly [from: number, to: number],
  count: number,
  roomBytes: number,
): Required<Probes> {
  const some = looking.map((one) => {
    const { length } = one?.probes.partitions ?? [];
    return { first: Math.ceil(from * length), end: Math.ceil(to * length) };
  });
  const next = new Uint32Array(count + 1);
  for (const [search, { first, end }] of some.entries()) {
    const own = looking[search]?.probes.partitions ?? [];
    for (let i = first; i < end; i++) next[own[i] + 1]++;
  }
  for (let p = 0; p < count; p++) next[p + 1] += next[p];
  const partitions = new Uint32Array(next[count]);
  const products = new Float32Array(next[count]);
  const rooms = new Uint32Array(next[count]);
  for (const [search, { first, end }] of some.entries()) {
    const own = looking[search]?.probes;
    for (let i = first; own !== undefined && i < end; i++) {
      const at = next[own.partitions[i]]++;
      partitions[at] = own.partitions[i];
      products[at] = own.products[i];
      rooms[at] = search * roomBytes;
    }
  }
  return { partitions, products, rooms };
}

/** Entries that the searches of a part score: some milliseconds, far more than a message takes. */
const PART_ENTRIES = 2 ** 20;
/**
 * Parts of queries that look at entries together have at least `MIN_SHARED` times as many. Up to
 * `MAX_SHARED` times, for which the event loop waits some 100 ms, share more of what they read; but
 * threads need enough parts to start for.
 */
const MIN_SHARED = 4;
const MAX_SHARED = 16;
/** Entries that take as long as making a query and its result (bench/threads.mjs). */
const QUERY_ENTRIES = 2 ** 13;

export async function answers(
  core: IndexCore,
  given: RowsToAdd,
  request: Request,
  work: LongWork,
): Promise<SearchResult[]> {
  const queries = queriesOf(core, given);
  const { changes } = core;
  // A filter function and `explain` work on the calling thread alone.
  const isShared = queries.count > 1 && request.filter === null && !request.isExplained;
  const results = isShared
    ? await inParts(core, queries, request, work)
    : await oneByOne(core.version(), queries, request, work);
  // Rows that were removed meanwhile have no ids.
  return core.changes === changes ? results : oneByOne(core.version(), queries, request, work);
}

async function oneByOne(
  index: AnsweredIndex,
  queries: Queries,
  request: Request,
  work: LongWork,
): Promise<SearchResult[]> {
  const results: SearchResult[] = [];
  for (let i = 0; i < queries.count; i++) {
    results.push(answer(index, queries.at(i), request));
    await work.step(i + 1, queries.count);
  }
  return results;
}

/** Parts of some milliseconds, which threads share. */
async function inParts(
  core: IndexCore,
  queries: Queries,
  request: Request,
  work: LongWork,
): Promise<SearchResult[]> {
  const version = core.version();
  const { count, slice } = queries;
  const bytesPerEntry = version.rows.space?.bytesPerEntry ?? 0;
  const each = queriesPerPart(version, request, count, threadsOf(work.call.threads));
  const results: SearchResult[] = [];
  // Threads have no ids: rows get theirs here.
  const hasIds = core.idKind !== 'row';
  const unnamed = { ...version, idOf: (row: number) => row };
  await runJob(
    {
      task: { name: ANSWERING.name },
      get state() {
        return answeringState(version, request);
      },
      count: Math.ceil(count / each),
      scratchBytes: SCAN_BYTES + (bytesPerEntry > 0 ? ROOMS_BYTES : 0),
      part(i) {
        const first = i * each;
        return { batch: slice(first, Math.min(count, first + each)), first };
      },
      here: ({ first }) =>
        answersTogether(unnamed, queries, [first, Math.min(count, first + each)], request),
      take(found: SearchResult[]) {
        for (const one of found) {
          results.push(hasIds ? { ...one, ids: Array.from(one.rows, version.idOf) } : one);
        }
        return [results.length, count];
      },
    },
    work,
  );
  return results;
}

function queriesPerPart(
  version: Version,
  request: Request,
  count: number,
  threads: number,
): number {
  const { parts, report, nextRow: rows, rows: held } = version;
  const { space } = held;
  const isByDistance = (request.rank ?? parts.usualRank) === 'hamming';
  const partitions = space?.count ?? 0;
  const setting = isByDistance
    ? { probes: null, want: 0 }
    : settingOf(request, true, { report, partitions, rows });
  const storage = parts.vectors?.kind ?? 'none';
  const entries = workOf({ space, rows, storage }, setting);
  const usual = Math.max(1, PART_ENTRIES / (QUERY_ENTRIES + entries));
  const looksAtEntries = setting.probes !== null;
  const isShared = looksAtEntries && canShareMemory() && entriesOf(version.searched()) !== null;
  if (!isShared) return Math.round(usual);
  const times = count / (usual * (threads > 1 ? MIN_PARTS_COLD : 1));
  return Math.round(usual * Math.min(MAX_SHARED, Math.max(MIN_SHARED, times)));
}
