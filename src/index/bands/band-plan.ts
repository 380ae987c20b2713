/**
 * Whether tables of bands are to answer a search by distance. What a scan and a look-up take is
 * measured as searches run. Tables are built once scans have taken as long as building them would,
 * and are tried only with time that was saved before, or a sixteenth of a scan: so the searches of
 * an index never take much longer than scans alone, whatever its codes are like.
 */

import type { Steps } from '../../base/steps';
import type { Collector } from '../../codes/nearest';
import { blockLayout } from '../../codes/pigeonhole';
import type { Slots } from '../distinct/slots';
import { scanUnits, searchCost, unitsOf } from './band-layout';
import { Bands } from './bands';

/** Scans of fewer bytes take a tenth of a millisecond. */
const LEAST_BYTES = 2 ** 21;
/** Building a table takes so many milliseconds a slot, roughly; only the first is a guess. */
const GUESSED_BUILD_MS = 1e-4;
/** What may be lost against a scan, as a share of it: with noise it stays below a tenth. */
const STAKE = 1 / 16;
/** Tables asked for by name give up when they took so many times as long as a scan, and more. */
const MOST_SCANS = 10;
const MOST_UNITS = 1e5;
/** Fewer tables will do that cost not much more than the best number, or little of a scan. */
const NEARLY = 1.5;
const FEW = 1 / 500;
/** Slots added since, beyond which tables are dropped. */
const MOST_LATE = 1 / 4;
/**
 * Scans one after another that tables were no help for, after which they are dropped; and how many
 * times as long scans must then have taken before tables are built again.
 */
const MOST_IDLE = 1024;
const PATIENCE = 8;
/** Weight of a new measurement among the old. */
const NEW = 1 / 8;
const FORGET = 1 / 64;

/** What a search by distance wants. */
export interface Reach {
  readonly k: number;
  readonly maxDistance: number;
}

/** What the tables did for one search. */
export interface Attempt {
  /** False: the collector holds some hits only, and a scan must begin anew. */
  readonly isComplete: boolean;
  readonly compared: number;
}

interface Choice {
  readonly blocks: number;
  readonly sketches: boolean;
  readonly units: number;
}

export class BandPlan {
  readonly #bits: number;
  #bands: Bands | null = null;
  /** Those that the tables are of. */
  #slots: Slots | null = null;
  /** Milliseconds a slot of a scan, and a unit of a search by tables; 0 when not known yet. */
  #slotMs = 0;
  #unitMs = 0;
  #buildMs = GUESSED_BUILD_MS;
  /** Milliseconds that scans took since there are no tables, and those that tables may lose. */
  #scannedMs = 0;
  #credit = 0;
  #hasSketches = false;
  /** Scans since tables last served, how often they have, and what their being dropped taught. */
  #idle = 0;
  #served = 0;
  #patience = 1;
  /** By radius: the best tables for so many slots, and the cost of those that there are. */
  readonly #choices = new Map<number, Choice>();
  #choicesOf = 0;
  readonly #costs = new Map<number, number>();
  /** Distances to the k-th neighbour, by k. */
  readonly #radii = new Map<number, number>();

  constructor(bits: number) {
    this.#bits = bits;
  }

  get bytes(): number {
    return this.#bands?.bytes ?? 0;
  }

  /**
   * Tells how long a scan by one query took, and the distance to the last one found; and whether it
   * was the planner who chose it.
   */
  noteScan(slots: Slots, ms: number, { k }: Reach, last: number, isChosen: boolean): void {
    const slotMs = ms / Math.max(1, slots.count);
    this.#slotMs = this.#slotMs === 0 ? slotMs : this.#slotMs + NEW * (slotMs - this.#slotMs);
    this.#scannedMs += ms;
    this.#credit = Math.min(this.#credit + STAKE * ms, ms);
    this.#noteRadius(k, last);
    if (isChosen && this.#bands !== null && ++this.#idle > MOST_IDLE) {
      this.#drop();
      this.#patience *= PATIENCE;
    }
    // What tables took once, perhaps before the engine had compiled them, is forgotten by and by.
    if (this.#unitMs > 0) this.#unitMs += FORGET * (this.#usualUnit(slots) - this.#unitMs);
  }

  #noteRadius(k: number, last: number): void {
    const before = this.#radii.get(k) ?? last;
    if (this.#radii.size > 64) this.#radii.clear();
    this.#radii.set(k, before + NEW * (last - before));
  }

  /** Whether a search is expected to be worth trying by tables, which may have to be built. */
  isWorth(slots: Slots, reach: Reach): boolean {
    if (slots.count * slots.bytesPerCode < LEAST_BYTES || this.#slotMs === 0) return false;
    const scanMs = this.#slotMs * slots.count;
    const radius = this.#radiusOf(reach);
    if (radius === undefined) return false;
    const bands = this.#usable(slots);
    if (bands !== null) {
      return this.#msOf(this.#costOf(bands, radius), slots) <= this.#credit + STAKE * scanMs;
    }
    const tableMs = this.#buildMs * slots.count * this.#patience;
    if (this.#scannedMs < tableMs) return false; // one table at least
    const { blocks, units } = this.#choiceFor(slots.count, radius);
    if (this.#scannedMs < tableMs * blocks) return false;
    return this.#msOf(units, slots) < scanMs / 2;
  }

  /** The best tables and their cost, found anew when the number of slots has changed. */
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

  /** What a search by the tables is expected to cost. */
  #costOf(bands: Bands, radius: number): number {
    let cost = this.#costs.get(radius);
    if (cost === undefined) {
      const expected = { skew: bands.skew, sketches: this.#hasSketches };
      cost = searchCost(bands.layout, bands.count, radius, expected);
      this.#costs.set(radius, cost);
    }
    return cost;
  }

  /** Builds the tables if there are none for these slots. */
  *prepare(slots: Slots, reach: Reach): Steps<Bands> {
    const ready = this.#usable(slots);
    if (ready !== null) return ready;
    const { count } = slots;
    const radius = this.#radiusOf(reach) ?? Math.floor(this.#bits / 8);
    const { blocks, sketches } = this.#choiceFor(count, radius);
    const start = performance.now();
    const layout = blockLayout(this.#bits, blocks);
    const options = { bits: this.#bits, count, layout, sketches };
    const bands = yield* Bands.buildSteps(slots.memory, options);
    this.#hasSketches = sketches;
    this.#costs.clear();
    this.#buildMs = (performance.now() - start) / Math.max(1, count * blocks);
    this.#bands = bands;
    this.#slots = slots;
    this.#scannedMs = 0;
    this.#idle = 0;
    this.#served = 0;
    return bands;
  }

  /** Searches by tables; with a plan asked for, for as long as it takes within reason. */
  search(
    bands: Bands,
    slots: Slots,
    query: Uint8Array,
    collector: Collector,
    reach: Reach,
    isAsked: boolean,
  ): Attempt {
    const scanMs = this.#slotMs * slots.count;
    const allowed = this.#credit + STAKE * scanMs;
    const budget = isAsked
      ? MOST_SCANS * scanUnits(this.#bits, slots.count) + MOST_UNITS
      : allowed / this.#unit(slots);
    const start = performance.now();
    const found = bands.search(query, collector, { maxRadius: reach.maxDistance, budget });
    const ms = performance.now() - start;
    const isComplete = found.isComplete || found.radius >= reach.maxDistance;
    const { lookUp, entry } = unitsOf(this.#hasSketches);
    const units = lookUp * found.lookUps + entry * found.candidates;
    if (units > 0) {
      const before = this.#unit(slots);
      this.#unitMs = before + NEW * (ms / units - before);
    }
    const saved = (isComplete ? scanMs : 0) + STAKE * scanMs - ms;
    this.#credit = Math.max(0, Math.min(this.#credit + saved, scanMs));
    if (isComplete) {
      this.#idle = 0;
      this.#served++;
      if (this.#served > MOST_IDLE) this.#patience = 1;
      this.#noteRadius(reach.k, Math.min(collector.limit - 1, reach.maxDistance));
    }
    return { isComplete, compared: found.compared };
  }

  #usable(slots: Slots): Bands | null {
    const bands = this.#bands;
    if (bands === null) return null;
    if (this.#slots === slots && slots.count - bands.count <= MOST_LATE * bands.count) return bands;
    this.#drop();
    this.#patience = 1; // what was learnt was of other slots
    return null;
  }

  #drop(): void {
    this.#bands = null;
    this.#slots = null;
    this.#scannedMs = 0;
  }

  /** How far a search has to go: as far as asked for, or as searches for k went. */
  #radiusOf({ k, maxDistance }: Reach): number | undefined {
    if (maxDistance < this.#bits) return maxDistance;
    const usual = this.#radii.get(k);
    return usual === undefined ? undefined : stepped(usual);
  }

  #unit(slots: Slots): number {
    return this.#unitMs > 0 ? this.#unitMs : this.#usualUnit(slots);
  }

  /** As band-layout.ts has it: in times of a scan. */
  #usualUnit(slots: Slots): number {
    return (this.#slotMs * slots.count) / scanUnits(this.#bits, slots.count);
  }

  #msOf(units: number, slots: Slots): number {
    return units * this.#unit(slots);
  }
}

/** Up to the next of a few steps: what is found for one of them serves for all in between. */
function stepped(radius: number): number {
  const step = Math.max(1, 2 ** (30 - Math.clz32(radius)) / 2);
  return Math.ceil(radius / step) * step;
}

/** Blocks of such widths are tried, in bits beside those that number the slots. */
const WIDTHS = [-8, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 6, 8];
const MOST_BLOCKS = 64;

/** The fewest blocks that cost not much more than the best number; sketches where these pay. */
function choiceOf(bits: number, count: number, radius: number): Choice {
  const number = 32 - Math.clz32(count);
  const widths = WIDTHS.map((more) => Math.max(1, number + more));
  const numbers = new Set(widths.map((width) => Math.min(MOST_BLOCKS, Math.ceil(bits / width))));
  const choices = [...numbers].flatMap((blocks) => {
    const layout = blockLayout(bits, blocks);
    return [false, true].map((sketches) => {
      return { blocks, sketches, units: searchCost(layout, count, radius, { sketches }) };
    });
  });
  const least = Math.min(...choices.map(({ units }) => units));
  const enough = Math.max(NEARLY * least, FEW * scanUnits(bits, count));
  const size = ({ blocks, sketches }: Choice) => blocks * (sketches ? 2 : 1);
  const fit = choices.filter(({ units }) => units <= enough);
  return fit.reduce((best, choice) => (size(choice) < size(best) ? choice : best));
}
