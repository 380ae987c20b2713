/** Searches for some of many queries, as threads run them; see search-elsewhere.ts. */

import { runSteps } from '../base/steps';
import { Codes } from '../codes/codes';
import type { Task } from '../threads/job';
import { BandMethod } from './bands/band-method';
import { DistinctCodes } from './distinct/distinct-codes';
import { IdTable } from './id-table';
import { IndexParts } from './index-parts';
import { Partitions } from './partitions/partitions';
import { type CodesPart, queriesOf } from './query';
import { answer, noResult, similaritiesOf } from './search';
import type { Answers, SearchPart, SearchState } from './search-elsewhere';
import { type IndexState, vectorsOver } from './shared-index';

/** Searches a copy of the index whose arrays are shared; results have rows, not ids. */
export const SEARCHING: Task<SearchState, SearchPart, Answers> = {
  name: 'searching',
  open({ index, request }) {
    const parts = partsOver(index);
    return ({ batch, first }) => {
      const asked = 'bytes' in batch ? codesOf(batch) : batch;
      const queries = queriesOf(parts, asked, first);
      const results = Array.from({ length: queries.count }, (_, i) => {
        const query = queries.at(i);
        return query === null
          ? noResult(parts, request)
          : runSteps(answer(parts, query, request), {});
      });
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

/** The parts of an index whose arrays are those of another thread. */
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
