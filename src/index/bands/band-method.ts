/**
 * Chooses between bands and a scan for each search by distance, and owns the bands: a search uses
 * them where its radius is within their reach (`reachOf`), and they are built at the second search.
 * The radius of a search for k rows is that of the last one. Counts alone decide, never a clock, so
 * the same calls do the same work each time.
 */

import type { Steps } from '../../base/steps';
import type { Collector } from '../../codes/nearest';
import type { DistinctCodes } from '../distinct/distinct-codes';
import { blocksFor, maxReads, reachOf } from './band-layout';
import { Bands } from './bands';

/** Fewer bytes of codes are always scanned: a scan then takes a tenth of a millisecond. */
const MIN_BYTES = 2 ** 21;
/** Bands asked for by name give up after so many times as many reads, and so many more. */
const MAX_TIMES_ASKED = 20;
const MORE_READS_ASKED = 1e5;
/** Fraction of codes added after the bands were built above which they are built again. */
const MAX_ADDED = 1 / 4;

/** How far a search by distance reaches. */
interface Reach {
  readonly k: number;
  readonly maxDistance: number;
}

/** What the bands did for one search. */
interface Attempt {
  /** False if the bands gave up: the collector holds some hits only, and a scan must follow. */
  readonly isComplete: boolean;
  /** Codes that were compared. */
  readonly compared: number;
}

/** The bands that a search built: `tables` of them, in so many milliseconds. */
export interface BuiltBands {
  readonly method: 'bands';
  readonly tables: number;
  readonly milliseconds: number;
}

/** Bands for other threads. */
export interface BandState {
  readonly bands: Bands['state'];
  readonly last: Nearest | null;
}

/** The distance of the k-th neighbour in the last search for the nearest. */
interface Nearest {
  readonly k: number;
  readonly distance: number;
}

/** Bands, the codes that they are of, and the radius to which they pay. */
interface Ready {
  readonly bands: Bands;
  readonly distinctCodes: DistinctCodes;
  readonly reach: number;
}

/** The choice for one index. */
export class BandMethod {
  readonly #bits: number;
  #ready: Ready | null = null;
  /** True after the first search by distance. */
  #wasScanned = false;
  #last: Nearest | null = null;

  constructor(bits: number) {
    this.#bits = bits;
  }

  /** The method of another thread, with its bands, over its codes. */
  static over(distinctCodes: DistinctCodes, { bands, last }: BandState): BandMethod {
    const other = new BandMethod(bands.options.bits);
    other.#ready = readyOf(Bands.over(distinctCodes.codes, bands), distinctCodes);
    other.#wasScanned = true;
    other.#last = last;
    return other;
  }

  /** What searches by the bands read on other threads; null if none of these codes are ready. */
  stateFor(distinctCodes: DistinctCodes): BandState | null {
    if (this.#ready?.distinctCodes !== distinctCodes) return null;
    return { bands: this.#ready.bands.state, last: this.#last };
  }

  /** Bytes of memory that the bands take. */
  get bytes(): number {
    return this.#ready?.bands.bytes ?? 0;
  }

  /** Notes a scan for one query, whose k-th neighbour was at distance `last`. */
  noteScan(reach: Reach, last: number): void {
    this.#wasScanned = true;
    this.#note(reach, last);
  }

  #note({ k, maxDistance }: Reach, distance: number): void {
    if (maxDistance >= this.#bits) this.#last = { k, distance };
  }

  /** True if bands, built already or to be built, are expected to cost less than a scan. */
  isWorth(distinctCodes: DistinctCodes, reach: Reach): boolean {
    const { count, bytesPerCode } = distinctCodes;
    const radius = this.#radiusOf(reach);
    if (!this.#wasScanned || radius === null || count * bytesPerCode < MIN_BYTES) return false;
    const ready = this.#usable(distinctCodes, reach);
    if (ready !== null) return radius <= ready.reach;
    const blocks = blocksFor(this.#bits, count, reach.maxDistance);
    return radius <= reachOf({ bits: this.#bits, count, blocks });
  }

  /** Returns the bands of these codes, built in steps of some milliseconds if there are none. */
  *prepare(
    distinctCodes: DistinctCodes,
    reach: Reach,
  ): Steps<{ ready: Ready; built: BuiltBands | null }> {
    const usable = this.#usable(distinctCodes, reach);
    if (usable !== null) return { ready: usable, built: null };
    const { count } = distinctCodes;
    const blocks = blocksFor(this.#bits, count, reach.maxDistance);
    const start = performance.now(); // reported, and no choice depends on it
    const bands = yield* Bands.build(distinctCodes.codes, { bits: this.#bits, count, blocks });
    const ready = readyOf(bands, distinctCodes);
    this.#ready = ready;
    const milliseconds = performance.now() - start;
    return { ready, built: { method: 'bands', tables: blocks, milliseconds } };
  }

  /** Searches by bands; unless asked for by name, they give up where a scan costs less. */
  search(
    { bands, reach: own }: Ready,
    query: Uint8Array,
    collector: Collector,
    reach: Reach,
    isAsked: boolean,
  ): Attempt {
    const { maxDistance } = reach;
    const usual = maxReads(this.#bits, bands.options.count);
    const found = bands.search(query, collector, {
      maxRadius: isAsked ? maxDistance : Math.min(maxDistance, own),
      maxReads: isAsked ? MAX_TIMES_ASKED * usual + MORE_READS_ASKED : usual,
    });
    const isComplete = found.isComplete || found.radius >= maxDistance;
    if (isComplete) this.#note(reach, collector.limit - 1);
    return { isComplete, compared: found.compared };
  }

  /** The distance to cover: `maxDistance`, or that of the last search for k; null if unknown. */
  #radiusOf({ k, maxDistance }: Reach): number | null {
    if (maxDistance < this.#bits) return maxDistance;
    return this.#last !== null && k <= this.#last.k ? this.#last.distance : null;
  }

  /**
   * The bands, unless they are of another order of codes, too many codes came since, or a search
   * that far needs more tables.
   */
  #usable(distinctCodes: DistinctCodes, { maxDistance }: Reach): Ready | null {
    if (this.#ready === null) return null;
    const { bands, reach } = this.#ready;
    const { count, blocks } = bands.options;
    const isRecent = distinctCodes.count - count <= MAX_ADDED * count;
    if (this.#ready.distinctCodes !== distinctCodes || !isRecent) {
      this.#ready = null;
      return null;
    }
    const isEnough = maxDistance <= reach || blocks >= blocksFor(this.#bits, count, maxDistance);
    return isEnough ? this.#ready : null;
  }
}

function readyOf(bands: Bands, distinctCodes: DistinctCodes): Ready {
  return { bands, distinctCodes, reach: reachOf(bands.options, bands.skew) };
}
