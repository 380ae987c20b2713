/**
 * Decides whether a search by distance uses bands or a scan, and owns the bands. The decision
 * follows from counts in work units (`unitsOf`, `scanUnits`) and never from a clock, so the same
 * calls do the same work each time. Bands are built once the scans done so far have cost as much
 * as building them; each look-up has a budget, so searches never cost much more than scans alone.
 */

import type { Steps } from '../../base/steps';
import type { Collector } from '../../codes/nearest';
import type { DistinctCodes } from '../distinct/distinct-codes';
import { buildUnits, scanUnits, searchCost, unitsOf } from './band-layout';
import { Bands } from './bands';

/** Codes of fewer bytes are always scanned: it takes a tenth of a millisecond. */
const MIN_BYTES = 2 ** 21;
/**
 * Share of a scan's units that bands may spend in its place. A unit took 45 to 60 ns, the bytes of
 * a scan that count as one 30 to 60 (bench `plans`, codes of 64 to 1,024 bits): at half the units
 * bands were never slower.
 */
const SURE = 1 / 2;
/** Share of that which a search may lose when its look-ups are stopped and it is scanned for. */
const MAX_EXTRA = 1 / 8;
/** Bands asked for by name give up after as many times the units of a scan, and some more. */
const MAX_SCANS = 10;
const MORE_UNITS = 1e5;
/** Fewer tables are built where they cost not much more than the best number, or little. */
const NEARLY = 1.5;
const LITTLE = 1 / 500;
/** Fraction of codes added after the bands were built above which they are discarded. */
const MAX_ADDED = 1 / 4;
/**
 * Searches in a row that did not use the bands after which they are discarded; and how many times
 * as many units scans must then have cost before they are built again.
 */
const MAX_UNUSED = 1024;
const REBUILD_FACTOR = 8;
/** Weight of a new distance in the running mean of distances to the k-th neighbour. */
const NEW = 1 / 8;
const MAX_RADII = 64;

/** What a search by distance wants. */
interface Reach {
  readonly k: number;
  readonly maxDistance: number;
}

/** What the bands did for one search. */
interface Attempt {
  /** False: the budget ran out, the collector holds some hits only, and a scan must begin again. */
  readonly isComplete: boolean;
  readonly compared: number;
}

/** Bands that are ready; `built` when this call has made them. */
interface ReadyBands {
  readonly bands: Bands;
  readonly built: BuiltBands | null;
}

/** The one-time work of building bands. */
export interface BuiltBands {
  readonly method: 'bands';
  readonly tables: number;
  readonly milliseconds: number;
}

/** Bands, and what searches for `k` have learnt: look-ups saved, and how far they went. */
export interface BandState {
  readonly bands: Bands['state'];
  readonly unspent: number;
  readonly k: number;
  readonly radius: number | null;
}

interface Choice {
  readonly blocks: number;
  readonly prefilter: boolean;
  readonly units: number;
}

/**
 * The choice of one index, and what it has learnt: the work of scans since there are no bands, how
 * far searches went, what look-ups saved. All of it follows from the calls, none from a clock.
 */
export class BandMethod {
  readonly #bits: number;
  #bands: Bands | null = null;
  /** The codes that the bands are of. */
  #distinctCodes: DistinctCodes | null = null;
  /** Units of the scans since there are no bands. */
  #scannedUnits = 0;
  /** Units that look-ups saved and may lose again; at most those of one search. */
  #unspent = 0;
  /** Searches since the bands were last used, and those that they answered. */
  #unused = 0;
  #served = 0;
  /** What the units of scans must exceed the cost of building by. */
  #factor = 1;
  /** By radius: the best bands for so many codes, and the cost of a search by those there are. */
  readonly #choices = new Map<number, Choice>();
  #choicesOf = 0;
  readonly #costs = new Map<number, number>();
  /** Mean distance to the k-th neighbour, by k. */
  readonly #radii = new Map<number, number>();

  constructor(bits: number) {
    this.#bits = bits;
  }

  /** The method of another thread, with bands that are ready, over its codes. */
  static over(distinctCodes: DistinctCodes, state: BandState): BandMethod {
    const other = new BandMethod(state.bands.options.bits);
    other.#bands = Bands.over(distinctCodes.codes, state.bands);
    other.#distinctCodes = distinctCodes;
    other.#unspent = state.unspent;
    if (state.radius !== null) other.#radii.set(state.k, state.radius);
    return other;
  }

  /** What searches by the bands read on other threads; null where none of these codes are ready. */
  stateFor(distinctCodes: DistinctCodes, { k }: Reach): BandState | null {
    if (this.#bands === null || this.#distinctCodes !== distinctCodes) return null;
    const radius = this.#radii.get(k) ?? null;
    return { bands: this.#bands.state, unspent: this.#unspent, k, radius };
  }

  /** Expected units of a search by the bands that are ready. */
  unitsFor(distinctCodes: DistinctCodes, reach: Reach): number {
    const scan = scanUnits(this.#bits, distinctCodes.count);
    const bands = this.#bands;
    return bands === null ? scan : Math.min(scan, this.#costOf(bands, this.#reachOf(reach)));
  }

  /** Memory of the bands, in bytes. */
  get bytes(): number {
    return this.#bands?.bytes ?? 0;
  }

  /**
   * Counts a scan for one query, which found its last neighbour at distance `last`; `isChosen` when
   * the method was 'auto', so that the bands could have answered.
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

  /** Whether a search is expected to be faster by bands, which may have to be built. */
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

  /** Builds the bands if there are none for these codes, in steps of a few milliseconds. */
  *prepare(distinctCodes: DistinctCodes, reach: Reach): Steps<ReadyBands> {
    const ready = this.#usable(distinctCodes);
    if (ready !== null) return { bands: ready, built: null };
    const { count } = distinctCodes;
    const radius = this.#reachOf(reach);
    const { blocks, prefilter } = this.#choiceFor(count, radius);
    const start = performance.now(); // reported, never decided by
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

  /** Searches by bands within a budget; one that was asked for by name may spend many scans. */
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

  /** Units below which bands surely beat a scan. */
  #worth(distinctCodes: DistinctCodes): number {
    return SURE * scanUnits(this.#bits, distinctCodes.count);
  }

  /** Units that a search may spend on look-ups: what earlier ones saved, and a little. */
  #budget(distinctCodes: DistinctCodes): number {
    return this.#unspent + MAX_EXTRA * this.#worth(distinctCodes);
  }

  /** Every search adds what it may lose; look-ups add what they saved or lost. */
  #earn(distinctCodes: DistinctCodes, saved: number): void {
    const worth = this.#worth(distinctCodes);
    const unspent = this.#unspent + MAX_EXTRA * worth + saved;
    this.#unspent = Math.max(0, Math.min(unspent, worth));
  }

  #noteRadius(k: number, last: number): void {
    const before = this.#radii.get(k) ?? last;
    if (this.#radii.size > MAX_RADII) this.#radii.clear();
    this.#radii.set(k, before + NEW * (last - before));
  }

  /** How far a search has to go: as far as asked for, or as searches for k went. */
  #radiusOf({ k, maxDistance }: Reach): number | undefined {
    if (maxDistance < this.#bits) return maxDistance;
    const usual = this.#radii.get(k);
    return usual === undefined ? undefined : rounded(usual);
  }

  #reachOf(reach: Reach): number {
    return this.#radiusOf(reach) ?? Math.floor(this.#bits / 8);
  }

  /** The best bands and their cost, found again when the number of codes has changed. */
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

  /** The expected units of a search by the bands: more where many codes share buckets. */
  #costOf(bands: Bands, radius: number): number {
    let cost = this.#costs.get(radius);
    if (cost === undefined) {
      const { options, skew } = bands;
      cost = searchCost(options, radius, { skew, prefilter: options.prefilter ?? false });
      this.#costs.set(radius, cost);
    }
    return cost;
  }

  #usable(distinctCodes: DistinctCodes): Bands | null {
    const bands = this.#bands;
    if (bands === null) return null;
    const { count } = bands.options;
    const isRecent = distinctCodes.count - count <= MAX_ADDED * count;
    if (this.#distinctCodes === distinctCodes && isRecent) return bands;
    this.#discard();
    this.#factor = 1; // what was learnt was of other codes
    return null;
  }

  #discard(): void {
    this.#bands = null;
    this.#distinctCodes = null;
    this.#scannedUnits = 0;
  }
}

/** Rounds a radius up to one of a few, so that one choice and one cost serve all in between. */
function rounded(radius: number): number {
  const step = Math.max(1, 2 ** (30 - Math.clz32(radius)) / 2);
  return Math.ceil(radius / step) * step;
}

/** Widths of blocks that are tried: the bits that number the codes, and so many more. */
const WIDTHS = [-8, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 6, 8];
const MAX_BLOCKS = 64;

/**
 * The fewest blocks that cost not much more than the best number; prefilter bits where they pay.
 */
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
