/**
 * The task by which threads answer some of many queries: they read codes, entries and vectors of
 * the calling thread in place. Ids stay there; threads return rows.
 */

import { Codes } from '../codes/codes';
import type { SimHasherOptions } from '../hashing/simhash';
import type { KernelName } from '../kernels/kernels';
import type { Task } from '../threads/job';
import type { VectorBatch } from '../vectors/vectors';
import type { IndexCore } from './index-core';
import type { RecallReport } from './index-options';
import { searchedOf } from './memory-index';
import { type CodesPart, queriesOf } from './query';
import { QueryParts, queryFields } from './query-parts';
import type { Request } from './request';
import { similaritiesIn } from './result';
import { Rows } from './rows';
import { type Placed, Segment, Tail } from './segment';
import { Space, type SpaceParts } from './space';
import { answersTogether } from './together';

/** The state that is sent to a thread before it answers queries. */
interface AnsweringState {
  readonly hasher: SimHasherOptions;
  readonly vectors: 'none' | 'float32' | 'int8' | 'sparse';
  readonly mean: Float64Array | null;
  readonly isForeign: boolean;
  readonly report: RecallReport | null;
  readonly space: SpaceParts | null;
  readonly hasCopies: boolean;
  readonly kernel: KernelName;
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

/** The results of many queries in flat arrays: those of query i end at `ends[i]`. */
interface Answers {
  readonly ends: Uint32Array;
  readonly rows: Uint32Array;
  /** Filled only where results are ranked by distance. */
  readonly distances: Uint16Array;
  readonly similarities: Float64Array;
  readonly ranks: readonly string[];
}

/** The state of an index; rows of a tail become a segment first, where there is a space. */
export function answeringState(core: IndexCore, request: Request): AnsweringState {
  const { hasher, vectors, mean, isForeign, report, kernel, rows: held } = core;
  const { space, hasCopies } = held.layout;
  if (space !== null) held.sealed();
  const { parts, nextRow, count } = held;
  const segments = parts.filter((part) => part instanceof Segment).map(({ state }) => state);
  const tail = parts[parts.length - 1].rows;
  return {
    hasher: hasher.options,
    vectors: vectors?.kind ?? 'none',
    mean,
    isForeign,
    report,
    space: space?.parts ?? null,
    hasCopies,
    nextRow,
    count,
    request,
    segments,
    kernel: kernel as KernelName,
    tail: tail.count > 0 ? tail.state : null,
  };
}

export const ANSWERING: Task<AnsweringState, AnsweringPart, Answers> = {
  name: 'answering',
  open(state) {
    const { hasher, vectors, mean, kernel, space: parts, hasCopies, tail, request } = state;
    const core = new QueryParts(queryFields({ hasher, vectors, mean }));
    core.isForeign = state.isForeign;
    const space = parts && new Space(parts);
    const placed: Placed[] = state.segments.map((one) => Segment.over(one));
    if (tail !== null) placed.push(new Tail(Rows.over(tail), null, false));
    const searched = searchedOf({ bits: core.bits, kernel }, { space, hasCopies }, placed);
    const index = {
      bits: core.bits,
      hasher: core.hasher,
      mean,
      measure: core.measure,
      vectors: core.vectors,
      hasPartitions: space !== null,
      report: state.report,
      nextRow: state.nextRow,
      count: state.count,
      canCompare: core.canCompare.bind(core),
      accepts: () => true,
      searched: () => searched,
      withCodes: () => null,
      idOf: (row: number) => row,
    };
    return ({ batch, first }) => {
      const given = 'bytes' in batch ? codesOf(batch) : batch;
      const queries = queriesOf(core, given, first);
      const results = answersTogether(index, queries, [0, queries.count], request);
      let end = 0;
      const ends = Uint32Array.from(results, ({ rows }) => {
        end += rows.length;
        return end;
      });
      const [rows, distances] = [new Uint32Array(end), new Uint16Array(end)];
      const similarities = new Float64Array(end);
      for (const [i, result] of results.entries()) {
        const from = ends[i] - result.rows.length;
        rows.set(result.rows, from);
        if (result.distances !== null) distances.set(result.distances, from);
        similarities.set(similaritiesIn(result), from);
      }
      return { ends, rows, distances, similarities, ranks: results.map(({ rank }) => rank) };
    };
  },
};

function codesOf({ bits, bytes, validity }: CodesPart): Codes {
  return Codes.from(bytes, { bits, validity });
}
