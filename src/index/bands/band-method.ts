/**
 * Chooses between bands and a scan for each search by distance, and owns the bands. The choice
 * follows from counted work units (`unitsOf`, `scanUnits`) and never from a clock, so the same
 * calls do the same work each time. Bands are built once the scans so far have cost as much as
 * building them would; each look-up has a budget, so that no search costs much more than a scan.
 */

import type { Steps } from '../../base/steps';
import type { Collector } from '../../codes/nearest';
import type { DistinctCodes } from '../distinct/distinct-codes';
import { buildUnits, scanUnits, searchCost, unitsOf } from './band-layout';
import { Bands } from './bands';

/** Fewer bytes of codes are always scanned: a scan then takes a tenth of a millisecond. */
const MIN_BYTES = 2 ** 21;
/**
 * Share of a scan's units that bands may spend in its place. A unit took 45 to 60 ns, the bytes of
 * a scan that count as one took 30 to 60 (bench `plans`, codes of 64 to 1,024 bits): at half the
 * units bands were never slower.
 */
const SURE = 1 / 2;
/** Share of that which a search may lose when its budget ends and a scan follows. */
const MAX_EXTRA = 1 / 8;
/** Bands asked for by name give up after so many times the units of a scan, plus MORE_UNITS. */
const MAX_SCANS = 10;
const MORE_UNITS = 1e5;
/**
 * Of several numbers of tables the smallest is built that costs at most NEARLY times the best, or
 * at most the fraction LITTLE of a scan.
 */
const NEARLY = 1.5;
const LITTLE = 1 / 500;
/** Fraction of codes added after the bands were built above which they are discarded. */
const MAX_ADDED = 1 / 4;
/**
 * Searches in a row that did not use the bands after which these are discarded; and the factor by
 * which scans must then exceed the cost of building before bands are built again.
 */
const MAX_UNUSED = 1024;
const REBUILD_FACTOR = 8;
/** Weight of a new distance in the running mean of distances to the k-th neighbour. */
const NEW = 1 / 8;
/** Values of k whose distances are remembered. */
const MAX_RADII = 64;

/** How far a search by distance reaches. */
interface Reach {
  readonly k: number;
  readonly maxDistance: number;
}

/** What the bands did for one search. */
interface Attempt {
  /** False if the budget ran out: the collector holds some hits only, and a scan must follow. */
  readonly isComplete: boolean;
  /** Codes that were compared. */
  readonly compared: number;
}

/** Bands that are ready; `built` is null unless this call built them. */
interface ReadyBands {
  readonly bands: Bands;
  readonly built: BuiltBands | null;
}

/** The bands that a search built: `tables` of them, in so many milliseconds. */
export interface BuiltBands {
  readonly method: 'bands';
  readonly tables: number;
  readonly milliseconds: number;
}

/** Bands for other threads, with the unspent units and the usual distance of searches for `k`. */
export interface BandState {
  readonly bands: Bands['state'];
  readonly unspent: number;
  readonly k: number;
  readonly radius: number | null;
}

/** A number of blocks, whether prefilter bits are held, and the expected units of a search. */
interface Choice {
  readonly blocks: number;
  readonly prefilter: boolean;
  readonly units: number;
}

/**
 * The choice for one index and the counts that it depends on: units of scans since there are no
 * bands, distances to k-th neighbours, units that look-ups saved.
 */
export class BandMethod {
  readonly #bits: number;
  #bands: Bands | null = null;
  /** The codes that the bands were built of. */
  #distinctCodes: DistinctCodes | null = null;
  /** Units of scans since there are no bands; compared with the units of building them. */
  #scannedUnits = 0;
  /** Units that look-ups saved and later ones may lose; at most those of one search. */
  #unspent = 0;
  /** Searches since the bands were last used, and searches that the present bands answered. */
  #unused = 0;
  #served = 0;
  /** How many times the cost of building the scans must reach: grows when bands were of no use. */
  #factor = 1;
  /** By radius: the best bands for about `#choicesOf` codes, and the cost by the present bands. */
  readonly #choices = new Map<number, Choice>();
  #choicesOf = 0;
  readonly #costs = new Map<number, number>();
  /** Running mean of the distance to the k-th neighbour, by k. */
  readonly #radii = new Map<number, number>();

  constructor(bits: number) {
    this.#bits = bits;
  }

  /** The method of another thread, with its bands, over its codes. */
  static over(distinctCodes: DistinctCodes, state: BandState): BandMethod {
    const other = new BandMethod(state.bands.options.bits);
    other.#bands = Bands.over(distinctCodes.codes, state.bands);
    other.#distinctCodes = distinctCodes;
    other.#unspent = state.unspent;
    if (state.radius !== null) other.#radii.set(state.k, state.radius);
    return other;
  }

  /** What searches by the bands read on other threads; null if none of these codes are ready. */
  stateFor(distinctCodes: DistinctCodes, { k }: Reach): BandState | null {
    if (this.#bands === null || this.#distinctCodes !== distinctCodes) return null;
    const radius = this.#radii.get(k) ?? null;
    return { bands: this.#bands.state, unspent: this.#unspent, k, radius };
  }

  /** Expected units of a search: by the bands if there are any, at most those of a scan. */
  unitsFor(distinctCodes: DistinctCodes, reach: Reach): number {
    const scan = scanUnits(this.#bits, distinctCodes.count);
    const bands = this.#bands;
    return bands === null ? scan : Math.min(scan, this.#costOf(bands, this.#reachOf(reach)));
  }

  /** Bytes of memory that the bands take. */
  get bytes(): number {
    return this.#bands?.bytes ?? 0;
  }

  /**
   * Counts a scan for one query, whose k-th neighbour was at distance `last`. `isChosen` says that
   * the method was 'auto', so bands could have been used; otherwise it does not count as unused.
   */
  noteScan(distinctCodes: DistinctCodes, { k }: Reach, last: number, isChosen: boolean): void {
    this.#scannedUnits += scanUnits(this.#bits, distinctCodes.count);
    this.#earn(distinctCodes, 0);
    this.#noteRadius(k, last);
    if (isChosen && this.#bands !== null && ++this.#unused > MAX_UNUSED) {
      this.#discard();
      this.#factor *= REBUILD_FACTOR;
    }
  }

  /**
   * True if bands, built already or to be built, are expected to cost clearly less than a scan.
   * False until a scan has shown how far searches for this k reach.
   */
  isWorth(distinctCodes: DistinctCodes, reach: Reach): boolean {
    if (distinctCodes.count * distinctCodes.bytesPerCode < MIN_BYTES) return false;
    const radius = this.#radiusOf(reach);
    if (radius === undefined) return false;
    const bands = this.#usable(distinctCodes);
    if (bands !== null) return this.#costOf(bands, radius) <= this.#budget(distinctCodes);
    const { blocks, units } = this.#choiceFor(distinctCodes.count, radius);
    if (this.#scannedUnits < this.#factor * buildUnits(this.#bits, distinctCodes.count, blocks)) {
      return false;
    }
    return units < this.#worth(distinctCodes);
  }

  /** Returns the bands of these codes, built in steps of some milliseconds if there are none. */
  *prepare(distinctCodes: DistinctCodes, reach: Reach): Steps<ReadyBands> {
    const ready = this.#usable(distinctCodes);
    if (ready !== null) return { bands: ready, built: null };
    const { count } = distinctCodes;
    const radius = this.#reachOf(reach);
    const { blocks, prefilter } = this.#choiceFor(count, radius);
    const start = performance.now(); // reported, and no choice depends on it
    const options = { bits: this.#bits, count, blocks, prefilter };
    const bands = yield* Bands.build(distinctCodes.codes, options);
    this.#discard();
    this.#costs.clear();
    this.#bands = bands;
    this.#distinctCodes = distinctCodes;
    this.#unused = 0;
    this.#served = 0;
    const milliseconds = performance.now() - start;
    return { bands, built: { method: 'bands', tables: blocks, milliseconds } };
  }

  /** Searches by bands within a budget, which is large for bands that were asked for by name. */
  search(
    bands: Bands,
    distinctCodes: DistinctCodes,
    query: Uint8Array,
    collector: Collector,
    reach: Reach,
    isAsked: boolean,
  ): Attempt {
    const budget = isAsked
      ? MAX_SCANS * scanUnits(this.#bits, distinctCodes.count) + MORE_UNITS
      : this.#budget(distinctCodes);
    const found = bands.search(query, collector, { maxRadius: reach.maxDistance, budget });
    const isComplete = found.isComplete || found.radius >= reach.maxDistance;
    const { prefilter = false } = bands.options;
    const { lookUp, entry } = unitsOf(prefilter);
    const fetched = prefilter ? found.compared : 0;
    const spent = lookUp * found.lookUps + entry * found.candidates + fetched;
    this.#earn(distinctCodes, isComplete ? this.#worth(distinctCodes) - spent : -spent);
    if (isComplete) {
      this.#unused = 0;
      this.#served++;
      if (this.#served > MAX_UNUSED) this.#factor = 1;
      this.#noteRadius(reach.k, Math.min(collector.limit - 1, reach.maxDistance));
    }
    return { isComplete, compared: found.compared };
  }

  /** Units below which bands are surely faster than a scan. */
  #worth(distinctCodes: DistinctCodes): number {
    return SURE * scanUnits(this.#bits, distinctCodes.count);
  }

  /** Units that a search may spend: what earlier ones saved, and the share that each may lose. */
  #budget(distinctCodes: DistinctCodes): number {
    return this.#unspent + MAX_EXTRA * this.#worth(distinctCodes);
  }

  /** Adds what a search may lose, and what its look-ups saved, or lost where it is negative. */
  #earn(distinctCodes: DistinctCodes, saved: number): void {
    const worth = this.#worth(distinctCodes);
    const unspent = this.#unspent + MAX_EXTRA * worth + saved;
    this.#unspent = Math.max(0, Math.min(unspent, worth));
  }

  /** Updates the mean distance to the k-th neighbour. */
  #noteRadius(k: number, last: number): void {
    const before = this.#radii.get(k) ?? last;
    if (this.#radii.size > MAX_RADII) this.#radii.clear();
    this.#radii.set(k, before + NEW * (last - before));
  }

  /** The distance that a search must cover, if known: `maxDistance`, or the usual one for k. */
  #radiusOf({ k, maxDistance }: Reach): number | undefined {
    if (maxDistance < this.#bits) return maxDistance;
    const usual = this.#radii.get(k);
    return usual === undefined ? undefined : rounded(usual);
  }

  /** The same, with an eighth of the bits where searches for k are unknown. */
  #reachOf(reach: Reach): number {
    return this.#radiusOf(reach) ?? Math.floor(this.#bits / 8);
  }

  /** The best bands for so many codes and this radius: computed again after changes by 1/16. */
  #choiceFor(count: number, radius: number): Choice {
    if (Math.abs(count - this.#choicesOf) > this.#choicesOf / 16) {
      this.#choices.clear();
      this.#choicesOf = count;
    }
    let choice = this.#choices.get(radius);
    if (choice === undefined) {
      choice = choiceOf(this.#bits, count, radius);
      this.#choices.set(radius, choice);
    }
    return choice;
  }

  /** Expected units of a search by these bands; `skew` raises them where codes share buckets. */
  #costOf(bands: Bands, radius: number): number {
    let cost = this.#costs.get(radius);
    if (cost === undefined) {
      const { options, skew } = bands;
      cost = searchCost(options, radius, { skew, prefilter: options.prefilter ?? false });
      this.#costs.set(radius, cost);
    }
    return cost;
  }

  /** The bands, unless they are of another order of codes or too many codes came since. */
  #usable(distinctCodes: DistinctCodes): Bands | null {
    const bands = this.#bands;
    if (bands === null) return null;
    const { count } = bands.options;
    const isRecent = distinctCodes.count - count <= MAX_ADDED * count;
    if (this.#distinctCodes === distinctCodes && isRecent) return bands;
    this.#discard();
    this.#factor = 1; // it was learnt from other codes
    return null;
  }

  /** Frees the bands, and counts the units of scans from 0 again. */
  #discard(): void {
    this.#bands = null;
    this.#distinctCodes = null;
    this.#scannedUnits = 0;
  }
}

/** Rounds up to one of few radii, four for each power of two, so that choices can be remembered. */
function rounded(radius: number): number {
  const step = Math.max(1, 2 ** (30 - Math.clz32(radius)) / 2);
  return Math.ceil(radius / step) * step;
}

/** Widths of blocks to try: the bits that can number all codes, plus each of these. */
const WIDTHS = [-8, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 6, 8];
const MAX_BLOCKS = 64;

/** The smallest bands that cost not much more than the best; prefilter bits count double. */
function choiceOf(bits: number, count: number, radius: number): Choice {
  const number = 32 - Math.clz32(count);
  const widths = WIDTHS.map((more) => Math.max(1, number + more));
  const numbers = new Set(widths.map((width) => Math.min(MAX_BLOCKS, Math.ceil(bits / width))));
  const choices = [...numbers].flatMap((blocks) =>
    [false, true].map((prefilter) => {
      const units = searchCost({ bits, count, blocks }, radius, { prefilter });
      return { blocks, prefilter, units };
    }),
  );
  const least = Math.min(...choices.map(({ units }) => units));
  const enough = Math.max(NEARLY * least, LITTLE * scanUnits(bits, count));
  const size = ({ blocks, prefilter }: Choice) => blocks * (prefilter ? 2 : 1);
  const fit = choices.filter(({ units }) => units <= enough);
  return fit.reduce((best, choice) => (size(choice) < size(best) ? choice : best));
}
