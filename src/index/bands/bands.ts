/**
 * Multi-index hashing: hash tables over blocks of bits, where all codes within a distance, or the
 * nearest ones, are found by looking up the query's keys and their neighbours. Exact: after step r
 * every code within distance r has been offered, once (Norouzi, Punjani & Fleet 2012).
 */

import { checkValidity } from '../../base/bitmap';
import { checkBits, checkInteger, checkOptions, wrongType, wrongValue } from '../../base/check';
import { checkLongCall, type LongCall, runSteps, type Steps } from '../../base/steps';
import { bytesPerCode } from '../../codes/codes';
import type { Collector } from '../../codes/nearest';
import {
  type BandLayout,
  checkLayout,
  guaranteedDistance,
  isDisjoint,
} from '../../codes/pigeonhole';
import { BandLookUps } from './band-look-ups';
import { type BandTable, type CodeSource, Sorting, tableSteps } from './band-table';

export interface BandsOptions {
  bits: number;
  /** The tables hold codes 0 to count - 1; there may be more behind them. */
  count: number;
  layout: BandLayout;
  /** Bit s is 0 where code s is null; such codes are left out. */
  validity?: Uint8Array | null;
  /**
   * Holds 32 bits of each code next to its number, so that most candidates are dismissed without
   * reading their code: twice the memory, and a few times as fast where buckets are large.
   */
  prefilter?: boolean;
}

export interface BandSearchOptions {
  /** The last distance to search to the end; by default as far as the collector needs. */
  maxRadius?: number;
  /** Most work units that may be spent (`unitsOf`, `scanUnits`); by default any number. */
  budget?: number;
}

/** How a search went. */
export interface BandSearch {
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

export class Bands {
  readonly bits: number;
  /** Codes from here on are not in the tables: the caller scans them. */
  readonly count: number;
  readonly layout: BandLayout;
  readonly #source: CodeSource;
  readonly #tables: readonly BandTable[];
  /** After step s of exact look-ups every code within distance `#reach[s]` has been met. */
  readonly #reach: readonly number[];
  readonly #isDisjoint: boolean;
  #idle: BandLookUps | null = null;

  private constructor(source: CodeSource, options: BandsOptions, tables: readonly BandTable[]) {
    const { layout } = options;
    this.bits = options.bits;
    this.count = options.count;
    this.layout = layout;
    this.#source = source;
    this.#tables = tables;
    this.#isDisjoint = isDisjoint(layout);
    this.#reach = layout.map((_, t) =>
      this.#isDisjoint ? t : guaranteedDistance(layout.slice(0, t + 1)),
    );
  }

  /** The tables over some codes, which must stay as they are; they are not copied. */
  static build(codes: Uint8Array | CodeSource, options: BandsOptions & LongCall): Bands {
    const { onProgress, signal, ...given } = options;
    return runSteps(Bands.buildSteps(codes, given), checkLongCall({ onProgress, signal }));
  }

  /** The same in steps of a few milliseconds; whoever stops in between leaves nothing behind. */
  static *buildSteps(codes: Uint8Array | CodeSource, options: BandsOptions): Steps<Bands> {
    const source = codes instanceof Uint8Array ? { codes } : codes;
    check(source, options);
    const { count, layout } = options;
    const sorting = new Sorting(options);
    const tables: BandTable[] = [];
    const rows = 3 * count;
    for (const runs of layout) {
      const steps = tableSteps(runs, source, options, sorting);
      let step = steps.next();
      for (; !step.done; step = steps.next()) {
        const { value } = step;
        yield value === undefined ? value : [tables.length * rows + value, layout.length * rows];
      }
      tables.push(step.value);
      yield [tables.length * rows, layout.length * rows];
    }
    return new Bands(source, options, tables);
  }

  /** Memory held, in bytes; the codes are the caller's. */
  get bytes(): number {
    return this.#tables.reduce(
      (sum, { offsets, members, prefilter }) =>
        sum + offsets.byteLength + members.byteLength + (prefilter?.byteLength ?? 0),
      0,
    );
  }

  /** The largest distance that look-ups of equal keys alone reach. */
  get guaranteedDistance(): number {
    return this.#reach[this.#reach.length - 1];
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
    const { maxRadius = this.bits, budget = Number.POSITIVE_INFINITY } = options;
    const width = bytesPerCode(this.bits);
    if (query.length !== width) throw wrongValue('query', `${width} bytes`, query.length);
    const { codes } = this.#source;
    if (codes.length < this.count * width) {
      throw new Error(`the codes were moved: ${codes.length} bytes for ${this.count} of them`);
    }
    const run = this.#idle ?? new BandLookUps(this.#tables, width);
    this.#idle = null; // a collector may search in turn
    run.start(codes, query, collector, budget);
    const count = this.#tables.length;
    let radius = -1;
    for (let step = 0; run.limit > radius + 1 && radius < maxRadius; step++) {
      if (step >= count && !this.#isDisjoint) break;
      if (!run.visit(step % count, Math.floor(step / count))) break;
      radius = this.#isDisjoint ? step : this.#reach[step];
    }
    const { lookUps, candidates, compared } = run;
    const isComplete = run.limit <= radius + 1;
    this.#idle = run;
    return { isComplete, radius, lookUps, candidates, compared };
  }
}

const OPTIONS = ['bits', 'count', 'layout', 'validity', 'prefilter'];

function check({ codes }: CodeSource, options: BandsOptions): void {
  const { bits, count, layout, validity } = checkOptions('options', options, OPTIONS);
  if (!(codes instanceof Uint8Array)) throw wrongType('codes', 'a Uint8Array', codes);
  checkInteger('count', count, 0, Math.floor(codes.length / bytesPerCode(checkBits(bits))));
  checkLayout(layout, bits);
  checkValidity(validity, count);
}
