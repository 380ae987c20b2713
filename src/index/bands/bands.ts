/**
 * Multi-index hashing: hash tables over blocks of bits, where all codes within a distance, or the
 * nearest ones, are found by looking up the query's keys and their neighbours. Exact: after step r
 * every code within distance r has been offered, once (Norouzi, Punjani & Fleet 2012).
 */

import type { Steps } from '../../base/steps';
import type { Collector } from '../../codes/nearest';
import { cut } from '../../codes/pigeonhole';
import { BandLookUps } from './band-look-ups';
import { type BandTable, type CodeSource, Sorting, tableSteps } from './band-table';

export interface BandsOptions {
  readonly bits: number;
  /** The tables hold codes 0 to count - 1; there may be more behind them. */
  readonly count: number;
  /** Tables, one for each block of bits; the blocks cover a code. */
  readonly blocks: number;
  /**
   * Holds 32 bits of each code next to its number, so that most candidates are dismissed without
   * reading their code: twice the memory, and a few times as fast where buckets are large.
   */
  readonly prefilter?: boolean;
}

interface BandSearchOptions {
  /** The last distance to search to the end; by default as far as the collector needs. */
  maxRadius?: number;
  /** Most work units that may be spent (`unitsOf`, `scanUnits`); by default any number. */
  budget?: number;
}

/** How a search went. */
interface BandSearch {
  /** Whether every hit of use has been offered. If not, begin again by another method. */
  readonly isComplete: boolean;
  /** Every code within this distance has been offered; -1 when not even equal ones. */
  readonly radius: number;
  readonly lookUps: number;
  /** Entries of the buckets that were looked up. */
  readonly candidates: number;
  /** Candidates whose code was read: all, or those that their prefilter bits did not dismiss. */
  readonly compared: number;
}

/**
 * Tables over the first `count` codes of a source. Codes that are added later are for the caller to
 * scan, rows that are removed for the collector to leave out.
 */
export class Bands {
  readonly options: BandsOptions;
  readonly #source: CodeSource;
  readonly #tables: readonly BandTable[];
  #idle: BandLookUps | null = null;

  private constructor(source: CodeSource, options: BandsOptions, tables: readonly BandTable[]) {
    this.options = options;
    this.#source = source;
    this.#tables = tables;
  }

  /**
   * The tables over some codes, which must stay as they are and are not copied, in steps of a few
   * milliseconds.
   */
  static *build(source: CodeSource, options: BandsOptions): Steps<Bands> {
    const { bits, count, blocks } = options;
    const sorting = new Sorting(options);
    const tables: BandTable[] = [];
    const rows = 3 * count;
    for (const key of cut({ firstBit: 0, bits }, blocks)) {
      const steps = tableSteps(key, source, options, sorting);
      let step = steps.next();
      for (; !step.done; step = steps.next()) {
        const { value } = step;
        yield value === undefined ? value : [tables.length * rows + value, blocks * rows];
      }
      tables.push(step.value);
      yield [tables.length * rows, blocks * rows];
    }
    return new Bands(source, options, tables);
  }

  /** The bands of another thread, over the same codes. */
  static over(source: CodeSource, { options, tables }: Bands['state']): Bands {
    return new Bands(source, options, tables);
  }

  /** What searches on other threads read, in place where there is much of it. */
  get state() {
    return { options: this.options, tables: this.#tables };
  }

  /** Memory held, in bytes; the codes are the caller's. */
  get bytes(): number {
    return this.#tables.reduce(
      (sum, { offsets, members, prefilter }) =>
        sum + offsets.byteLength + members.byteLength + (prefilter?.byteLength ?? 0),
      0,
    );
  }

  /**
   * How many times fuller than others the bucket of a code's own key is, itself not counted: 1 of
   * uniform codes, more where codes gather. For `searchCost`.
   */
  get skew(): number {
    let met = 0;
    let expected = 0;
    for (const { members, squares, bucketBits } of this.#tables) {
      const entries = members.length - 1;
      met += squares - entries;
      expected += entries * (entries - 1) * 2 ** -bucketBits;
    }
    return expected === 0 ? 1 : met / expected;
  }

  /**
   * Offers the collector codes by rising distance of a block, in any order of code, each code at
   * most once, until no hit of use is left: at the latest when all codes within `limit - 1` have
   * been offered. Stops before it spends more than the budget.
   */
  search(query: Uint8Array, collector: Collector, options: BandSearchOptions = {}): BandSearch {
    const { maxRadius = this.options.bits, budget = Number.POSITIVE_INFINITY } = options;
    const run = this.#idle ?? new BandLookUps(this.#tables, query.length);
    this.#idle = null; // a collector may search in turn
    run.start(this.#source, query, collector, budget);
    const count = this.#tables.length;
    let radius = -1;
    while (run.limit > radius + 1 && radius < maxRadius) {
      const step = radius + 1;
      if (!run.visit(step % count, Math.floor(step / count))) break;
      radius = step;
    }
    const { lookUps, candidates, compared } = run;
    const isComplete = run.limit <= radius + 1;
    this.#idle = run;
    return { isComplete, radius, lookUps, candidates, compared };
  }
}
