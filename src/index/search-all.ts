/**
 * The answers to many queries, equal to those of one after another: by other threads where that
 * pays, which read the rows in place, else here with pauses for the event loop.
 */

import type { LongWork } from '../base/long-work';
import { SCAN_BYTES } from '../kernels/memory';
import { EntryRooms } from '../kernels/residuals';
import { runJob } from '../threads/parallel';
import type { RowsToAdd } from './add-rows';
import { answer } from './answer';
import { ANSWERING, answeringState, answersTogether, MAX_TOGETHER } from './answering';
import { workOf } from './choice';
import type { IndexCore } from './index-core';
import type { Rank } from './index-options';
import { type Queries, queriesOf } from './query';
import { type Request, settingOf } from './request';
import { resultOf, type SearchResult } from './result';

/** Entries that the searches of a part score: some milliseconds, far more than a message takes. */
const PART_ENTRIES = 2 ** 20;
/** Parts have so many times as many where queries visit partitions together: they share more. */
const SHARED = 4;
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
  const results = await (isShared ? inParts : oneByOne)(core, queries, request, work);
  // Rows that were removed meanwhile have no ids.
  return core.changes === changes ? results : oneByOne(core, queries, request, work);
}

async function oneByOne(
  core: IndexCore,
  queries: Queries,
  request: Request,
  work: LongWork,
): Promise<SearchResult[]> {
  const results: SearchResult[] = [];
  for (let i = 0; i < queries.count; i++) {
    results.push(answer(core, queries.at(i), request));
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
  const { count, slice } = queries;
  const bytesPerEntry = core.rows.layout.space?.bytesPerEntry ?? 0;
  const each = queriesPerPart(core, request);
  const results: SearchResult[] = [];
  /** What the calling thread found itself, which needs no ids. */
  let here: SearchResult[] | null = null;
  await runJob(
    {
      task: { name: ANSWERING.name },
      get state() {
        return answeringState(core, request);
      },
      count: Math.ceil(count / each),
      scratchBytes:
        SCAN_BYTES + (bytesPerEntry > 0 ? EntryRooms.bytesOf(bytesPerEntry, MAX_TOGETHER) : 0),
      part(i) {
        const first = i * each;
        return { batch: slice(first, Math.min(count, first + each)), first };
      },
      here({ first }) {
        here = answersTogether(core, queries, [first, Math.min(count, first + each)], request);
        return null;
      },
      take(found: ReturnType<ReturnType<typeof ANSWERING.open>> | null) {
        if (found === null) results.push(...(here as SearchResult[]));
        else {
          const { ends, rows, distances, similarities, ranks } = found;
          for (const [i, end] of ends.entries()) {
            const from = ends[i - 1] ?? 0;
            const near = {
              rows: rows.slice(from, end),
              ids: [] as never[],
              distances: ranks[i] === 'hamming' ? distances.slice(from, end) : null,
            };
            const ids = Array.from(near.rows, (row) => core.idOf(row));
            const own = similarities.slice(from, end);
            results.push(resultOf(core.measure, { ...near, ids }, own, ranks[i] as Rank));
          }
        }
        return [results.length, count];
      },
    },
    work,
  );
  return results;
}

function queriesPerPart(core: IndexCore, request: Request): number {
  const { report, nextRow: rows, rows: held } = core;
  const { layout } = held;
  const isByDistance = request.rank === 'hamming' || request.method === 'bands';
  const partitions = layout.space?.count ?? 0;
  const setting = isByDistance
    ? { probes: null, want: 0 }
    : settingOf(request, 'exact', { report, partitions, rows });
  const storage = core.vectors?.kind ?? 'none';
  const entries = workOf({ layout, rows, storage }, setting);
  const usual = Math.max(1, PART_ENTRIES / (QUERY_ENTRIES + entries));
  const shared = setting.probes === null ? 0 : Math.min(MAX_TOGETHER, SHARED * usual);
  return Math.round(Math.max(usual, shared));
}
