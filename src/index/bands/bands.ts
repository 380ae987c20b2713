/**
 * Multi-index hashing (Norouzi, Punjani & Fleet 2012): hash tables over blocks of bits, in which
 * all codes within a distance, or the nearest ones, are found by looking up the query's keys and
 * their neighbours. Exact: after step r every code within distance r was offered, once.
 */

import type { Steps } from '../../base/steps';
import type { Collector } from '../../codes/nearest';
import { cut } from '../../codes/pigeonhole';
import { BandLookUps } from './band-look-ups';
import { type BandTable, type CodeSource, Sorting, tableSteps } from './band-table';

/** Which codes the tables are of, and into how many blocks these are cut. */
export interface BandsOptions {
  readonly bits: number;
  /** The tables hold codes 0 to count - 1 of a source that may have more. */
  readonly count: number;
  /** Number of tables, one for each block of bits; together the blocks cover a code. */
  readonly blocks: number;
}

interface BandSearchOptions {
  /** The last distance to search completely; by default as far as the collector needs. */
  maxRadius?: number;
  /** Most random reads: LOOK_UP_READS for each look-up, one for each candidate; by default any. */
  maxReads?: number;
}

/** How far a search came, and its work. */
interface BandSearch {
  /** True if every hit that could enter the collector was offered. */
  readonly isComplete: boolean;
  /** Every code within this distance was offered; -1 if not even equal ones. */
  readonly radius: number;
  /** Buckets that were looked up. */
  readonly lookUps: number;
  /** Candidates: entries of these buckets, whose codes were compared. */
  readonly compared: number;
}

/**
 * Tables over the first `count` codes of a source. Later codes are for the caller to scan; codes
 * whose rows are removed are for the collector to leave out.
 */
export class Bands {
  readonly options: BandsOptions;
  readonly #source: CodeSource;
  readonly #tables: readonly BandTable[];
  /** The look-ups of the last search, to be used again; null while a search runs. */
  #idle: BandLookUps | null = null;

  private constructor(source: CodeSource, options: BandsOptions, tables: readonly BandTable[]) {
    this.options = options;
    this.#source = source;
    this.#tables = tables;
  }

  /** Builds the tables in steps of some milliseconds; codes are not copied and must not change. */
  static *build(source: CodeSource, options: BandsOptions): Steps<Bands> {
    const { bits, count, blocks } = options;
    const sorting = new Sorting(options);
    const tables: BandTable[] = [];
    // A table passes over its codes three times; progress counts each pass.
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

  /** The bands of another thread, over the same codes in shared memory. */
  static over(source: CodeSource, { options, tables }: Bands['state']): Bands {
    return new Bands(source, options, tables);
  }

  /** What searches on other threads read: the tables, whose arrays are shared. */
  get state() {
    return { options: this.options, tables: this.#tables };
  }

  /** Bytes of the tables; the codes belong to the caller. */
  get bytes(): number {
    return this.#tables.reduce(
      (sum, { offsets, members }) => sum + offsets.byteLength + members.byteLength,
      0,
    );
  }

  /**
   * How many times as full as by chance the bucket of a code's own key is, the code itself not
   * counted: 1 for uniform codes, more for clustered ones. For `reachOf`.
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
   * Offers codes to the collector, each at most once, in any order of rows: step by step for rising
   * distances until no hit can enter any more, at the latest when all codes within `limit - 1` were
   * offered. Stops before it would read more than `maxReads`.
   */
  search(query: Uint8Array, collector: Collector, options: BandSearchOptions = {}): BandSearch {
    const { maxRadius = this.options.bits, maxReads = Number.POSITIVE_INFINITY } = options;
    const run = this.#idle ?? new BandLookUps(this.#tables, query.length);
    this.#idle = null; // the collector may start another search, which then makes its own
    run.start(this.#source, query, collector, maxReads);
    const count = this.#tables.length;
    let radius = -1;
    // After step r all codes within distance r were offered, so the next hits are at r + 1.
    while (run.limit > radius + 1 && radius < maxRadius) {
      const step = radius + 1;
      if (!run.visit(step % count, Math.floor(step / count))) break;
      radius = step;
    }
    const { lookUps, compared } = run;
    const isComplete = run.limit <= radius + 1;
    this.#idle = run;
    return { isComplete, radius, lookUps, compared };
  }
}
