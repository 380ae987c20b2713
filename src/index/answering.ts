/**
 * Many queries over rows in memory, here or on a thread, which reads codes, entries and vectors of
 * the calling thread in place. Ids stay there; threads return rows.
 */

import type { LongWork } from '../base/long-work';
import { Codes } from '../codes/codes';
import type { SimHasherOptions } from '../hashing/simhash';
import type { Task } from '../threads/job';
import { runJob } from '../threads/parallel';
import type { VectorBatch } from '../vectors/vectors';
import type { RowsToAdd } from './add-rows';
import { type AnsweredIndex, answer, type Request, type SearchResult, settingOf } from './answer';
import { workOf } from './choice';
import type { IndexCore } from './index-core';
import type { RecallReport } from './index-options';
import { searchedOf } from './memory-index';
import { type CodesPart, type Queries, QueryParts, queriesOf } from './query';
import { Rows } from './rows';
import { type Placed, Segment, Tail } from './segment';
import { Space, type SpaceParts } from './space';

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
      return someAnswers(index, queries, [0, queries.count], request);
    };
  },
};

function codesOf({ bits, bytes, validity }: CodesPart): Codes {
  return Codes.from(bytes, { bits, validity });
}

/** The answers to queries `first` to `end - 1`, all rows at hand. */
function someAnswers(
  index: AnsweredIndex,
  queries: Queries,
  [first, end]: readonly [first: number, end: number],
  request: Request,
): SearchResult[] {
  const results: SearchResult[] = [];
  for (let i = first; i < end; i++) results.push(answer(index, queries.at(i), request));
  return results;
}

/** Entries that the searches of a part score: some milliseconds, far more than a message takes. */
const PART_ENTRIES = 2 ** 20;
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
  const version = core.version();
  // A filter function and `explain` work on the calling thread alone.
  const isShared = queries.count > 1 && request.filter === null && !request.isExplained;
  const results = await (isShared ? inParts : oneByOne)(version, queries, request, work);
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
  version: Version,
  queries: Queries,
  request: Request,
  work: LongWork,
): Promise<SearchResult[]> {
  const { count, slice } = queries;
  const each = queriesPerPart(version, request);
  const results: SearchResult[] = [];
  await runJob(
    {
      task: { name: ANSWERING.name },
      get state() {
        return answeringState(version, request);
      },
      count: Math.ceil(count / each),
      part(i) {
        const first = i * each;
        return { batch: slice(first, Math.min(count, first + each)), first };
      },
      here: ({ first }) =>
        someAnswers(version, queries, [first, Math.min(count, first + each)], request),
      take(found: SearchResult[]) {
        // Threads have no ids.
        for (const one of found) {
          results.push({ ...one, ids: Array.from(one.rows, (row) => version.idOf(row)) });
        }
        return [results.length, count];
      },
    },
    work,
  );
  return results;
}

function queriesPerPart(version: Version, request: Request): number {
  const { parts, report, nextRow: rows, rows: held } = version;
  const { space } = held;
  const isByDistance = request.rank === 'hamming' || request.method === 'bands';
  const partitions = space?.count ?? 0;
  const setting = isByDistance
    ? { probes: null, want: 0 }
    : settingOf(request, 'exact', { report, partitions, rows });
  const storage = parts.vectors?.kind ?? 'none';
  const entries = workOf({ space, rows, storage }, setting);
  return Math.max(1, Math.round(PART_ENTRIES / (QUERY_ENTRIES + entries)));
}
