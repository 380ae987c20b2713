/**
 * Finds the entries that are nearest to a query by their residual codes, in one memory or in
 * several: every entry within the least weight that the wanted number of entries do not exceed. A
 * weight is 2,048 (1 - cosine), an integer of 0..4,096; residuals.scalar.ts states the layout of
 * entries and the formulas.
 *
 * Entries are looked at in rounds. The sides of an entry, which take half of the work, rule it out
 * by the limit that held when the round began. So what is found does not depend on the order of
 * entries within a round, nor on how they are spread over memories; that costs nothing measurable,
 * since the first round, of the partitions nearest to the query, brings the limit near its final
 * value.
 */

import { HitState } from '../hits/hit-state';
import type { Hits } from '../hits/hits';
import { type LinearMemory, memoryOf } from '../memory';
import {
  formulasOf,
  MAX_RESIDUAL_WEIGHT,
  RANGE,
  type ResidualRows,
  type ResidualTables,
} from './residuals.scalar';

/** Entries of one memory that a query looks at. */
interface LookedAt {
  readonly rows: ResidualRows;
  /**
   * By round the ranges of entries, `RANGE` numbers each: the first entry, a number that stands for
   * it, how many, and the bits of the float32 of 2,048 times the product of query and centroid.
   */
  readonly rounds: readonly Uint32Array[];
}

/** Ranges of one call of the kernel. */
const MAX_RANGES = 4096;
/** Space for 16-bit sums and a limit, and for the numbers of the formulas before the tables. */
const WORK_BYTES = 112;
const FORMULA_BYTES = 16;
/** Where in this space the limit of the round is. */
const BEFORE = 96;

/**
 * The entries found in each memory, by weight, equal ones as they were seen: `codes` are the
 * numbers that stand for them. Entries of scale 0 are skipped. The memories must differ, and have
 * equally many rounds. The results are valid until the next search in these memories.
 */
export function bestEntries(
  all: readonly LookedAt[],
  query: ResidualTables,
  want: number,
): readonly Hits[] {
  const looked = all.map(({ rows }) => new Looked(rows, query, want));
  let last = looked[looked.length - 1];
  for (let round = 0; round < (all[0]?.rounds.length ?? 0); round++) {
    const limit = round === 0 ? MAX_RESIDUAL_WEIGHT : last.state.limit;
    for (const [i, one] of looked.entries()) {
      if (one !== last) one.state.carry(last.state);
      one.look(all[i].rounds[round], limit);
      last = one;
    }
  }
  return looked.map(({ state }) => {
    if (all.length > 1) state.endAt(last.state.limit);
    return state.sorted();
  });
}

/** One memory during a search. Behind the state lie the query, space for sums, and ranges. */
class Looked {
  readonly state: HitState;
  readonly #memory: LinearMemory;
  readonly #rows: ResidualRows;
  readonly #workAt: number;
  readonly #before: Int32Array;

  constructor(rows: ResidualRows, query: ResidualTables, want: number) {
    const queryBytes = FORMULA_BYTES + query.tables.length;
    const extraBytes = queryBytes + WORK_BYTES + 4 * RANGE * MAX_RANGES;
    this.#rows = rows;
    this.#memory = memoryOf(rows.bytes) as LinearMemory;
    this.state = new HitState(this.#memory, MAX_RESIDUAL_WEIGHT, want, extraBytes);
    this.#workAt = this.state.extraAt + queryBytes;
    const { bytes } = this.#memory;
    this.#before = new Int32Array(bytes.buffer, this.#workAt + BEFORE, 1);
    const { base, factor, sideBase, sideFactor } = formulasOf(query);
    new Float32Array(bytes.buffer, this.state.extraAt, 4).set([base, factor, sideBase, sideFactor]);
    bytes.set(query.tables, this.state.extraAt + FORMULA_BYTES);
  }

  /** Looks at the entries of a round that began with this limit. */
  look(ranges: Uint32Array, limit: number): void {
    this.#before[0] = limit;
    const { kernels, bytes } = this.#memory;
    const { bytes: codes, secondAt, bytesPerRow } = this.#rows;
    const rangesAt = this.#workAt + WORK_BYTES;
    for (let from = 0; from < ranges.length; from += RANGE * MAX_RANGES) {
      const some = ranges.subarray(from, from + RANGE * MAX_RANGES);
      const count = some.length / RANGE;
      new Uint32Array(bytes.buffer, rangesAt, some.length).set(some);
      for (let done = 0; ; this.state.drain()) {
        done += kernels.entriesOfRound(
          codes.byteOffset,
          codes.byteOffset + secondAt,
          rangesAt + 4 * RANGE * done,
          count - done,
          bytesPerRow / 2,
          this.state.extraAt,
          this.#workAt,
          this.state.at,
        );
        if (done === count) break;
      }
    }
  }
}
