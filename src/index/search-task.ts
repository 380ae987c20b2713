/** The task by which threads search for some of many queries, for jobs of search-elsewhere.ts. */

import { runSteps } from '../base/steps';
import { Codes } from '../codes/codes';
import type { Task } from '../threads/job';
import { BandMethod } from './bands/band-method';
import { DistinctCodes } from './distinct/distinct-codes';
import { IdTable } from './id-table';
import { IndexParts } from './index-parts';
import { Partitions } from './partitions/partitions';
import { type CodesPart, queriesOf } from './query';
import { similaritiesOf } from './search';
import type { Answers, SearchPart, SearchState } from './search-elsewhere';
import { answers } from './search-many';
import { type IndexState, vectorsOver } from './shared-index';

/**
 * Searches an index whose arrays are shared. Results of a part's queries lie one after another,
 * with rows and not ids, which stay with the calling thread.
 */
export const SEARCHING: Task<SearchState, SearchPart, Answers> = {
  name: 'searching',
  open({ index, request }) {
    const parts = partsOver(index);
    return ({ batch, first }) => {
      const asked = 'bytes' in batch ? codesOf(batch) : batch;
      const queries = queriesOf(parts, asked, first);
      const results = runSteps(answers(parts, queries, request), {});
      let end = 0;
      const ends = Uint32Array.from(results, ({ rows }) => {
        end += rows.length;
        return end;
      });
      const [rows, distances] = [new Uint32Array(end), new Uint16Array(end)];
      const cosines = new Float64Array(end);
      for (const [i, result] of results.entries()) {
        const from = ends[i] - result.rows.length;
        rows.set(result.rows, from);
        distances.set(result.distances, from);
        cosines.set(similaritiesOf(result), from);
      }
      return { ends, rows, distances, cosines, ranks: results.map(({ rank }) => rank) };
    };
  },
};

function codesOf({ bits, bytes, validity }: CodesPart): Codes {
  return Codes.from(bytes, { bits, validity });
}

/** The parts of an index over the arrays of another thread, to search. Rows are their own ids. */
export function partsOver(state: IndexState): IndexParts {
  const { mean, isForeign, report, vectors, partitions, bands } = state;
  const parts = IndexParts.of({ hasher: state.hasher, vectors: 'none', mean }, new IdTable('row'));
  parts.distinctCodes = DistinctCodes.over(state.distinctCodes);
  parts.vectors = vectors && vectorsOver(vectors);
  parts.partitions = partitions && Partitions.over(parts, parts.distinctCodes, partitions);
  if (bands !== null) parts.bandMethod = BandMethod.over(parts.distinctCodes, bands);
  parts.isForeign = isForeign;
  parts.report = report;
  return parts;
}
