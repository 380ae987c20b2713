/**
 * Runs searches that wait for partitions or vectors to be read. What several searches want is read
 * together, as far as it fits into memory, so that many searches wait about as often as one. Items
 * that searches may see in any order are read once for all of them.
 */

import type { LongCall } from '../base/long-work';
import { Elsewhere, pauser, type Steps } from '../base/steps';

/** A memory of limited size that reads numbered items. */
export interface Store<T> {
  /** Whether all of these can be in memory at the same time. */
  fits(wanted: ReadonlyMap<number, T>): boolean;
  /**
   * Reads items that are not in memory. All of `wanted` stay in memory at least until the next
   * call.
   */
  load(wanted: ReadonlyMap<number, T>, signal: AbortSignal | undefined): Promise<void>;
}

/** A store whose items may also be seen in any order. */
export interface PassedStore<T> extends Store<T> {
  /** Splits items into groups that fit into memory one at a time; those in memory come first. */
  partsOf(wanted: ReadonlyMap<number, T>): ReadonlyMap<number, T>[];
}

/** Yielded by a search that needs items in memory before its next step. */
export class Need extends Elsewhere {
  constructor(
    readonly store: Store<unknown>,
    readonly wanted: ReadonlyMap<number, unknown>,
  ) {
    super();
  }

  run({ signal }: LongCall): Promise<void> {
    return this.store.load(this.wanted, signal);
  }
}

/** Yielded by a search that must look at items, in any order, before its next step. */
export class Pass extends Need {
  /**
   * `look` is called with groups of the wanted items while they are in memory; each item is in one
   * group.
   */
  constructor(
    override readonly store: PassedStore<unknown>,
    wanted: ReadonlyMap<number, unknown>,
    readonly look: (part: ReadonlyMap<number, unknown>) => void,
  ) {
    super(store, wanted);
  }

  override async run({ signal }: LongCall): Promise<void> {
    for (const part of this.store.partsOf(this.wanted)) {
      await this.store.load(part, signal);
      this.look(part);
    }
  }
}

/**
 * After this many searches did not fit into a round, no more are tried: the following ones share
 * even less with it.
 */
const MAX_REFUSED = 8;

/** An unfinished search. */
interface Waiting {
  readonly steps: Steps<unknown>;
  readonly signal: AbortSignal | undefined;
  /** What the search waits for; null before its first step. */
  need: Need | null;
  /** Settles the caller's promise; the search takes no further step. */
  isEnded: boolean;
  end(settle: () => void): void;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** Runs searches. Searches that wait at the same time share reads. */
export class SearchQueue {
  #waiting: Waiting[] = [];
  #isAtWork = false;
  /** By signal what its abortion calls. */
  readonly #stops = new Map<AbortSignal, Set<() => void>>();
  readonly #stopAll = ({ target }: Event) => {
    for (const stop of [...(this.#stops.get(target as AbortSignal) ?? [])]) stop();
  };

  /**
   * Runs a search to its end. If its signal is aborted it rejects at once; other searches continue.
   */
  run<T>(steps: Steps<T>, signal: AbortSignal | undefined): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      let unlisten: (() => void) | undefined;
      const stop = () => one.reject(signal?.reason);
      const one: Waiting = {
        ...{ steps, signal, need: null, isEnded: false },
        end(settle) {
          one.isEnded = true;
          unlisten?.();
          settle();
        },
        resolve: (value) => one.end(() => resolve(value as T)),
        reject: (error) => one.end(() => reject(error)),
      };
      if (signal?.aborted) {
        stop();
        return;
      }
      unlisten = signal && this.#listen(signal, stop);
      this.#waiting.push(one);
      if (!this.#isAtWork) this.#work();
    });
  }

  /** Runs searches to their ends; rejects when the signal is aborted. */
  async runAll<T>(searches: readonly Steps<T>[], signal: AbortSignal | undefined): Promise<T[]> {
    signal?.throwIfAborted();
    return Promise.all(searches.map((steps) => this.run(steps, signal)));
  }

  /**
   * Calls `stop` when the signal is aborted, by one listener for all searches with this signal:
   * Node warns of more than ten. Returns what ends that.
   */
  #listen(signal: AbortSignal, stop: () => void): () => void {
    const known = this.#stops.get(signal);
    const stops = known ?? new Set();
    stops.add(stop);
    if (known === undefined) {
      this.#stops.set(signal, stops);
      signal.addEventListener('abort', this.#stopAll);
    }
    return () => {
      stops.delete(stop);
      if (stops.size > 0 || this.#stops.get(signal) !== stops) return;
      this.#stops.delete(signal);
      signal.removeEventListener('abort', this.#stopAll);
    };
  }

  /** Runs until no search is left: each round advances all searches, then reads what they need. */
  async #work(): Promise<void> {
    this.#isAtWork = true;
    await null; // searches that one caller starts in a row begin together
    const pauseWhenDue = pauser();
    let now: Waiting[] = [];
    for (;;) {
      this.#waiting = this.#waiting.filter(({ isEnded }) => !isEnded);
      now = now.filter(({ isEnded }) => !isEnded);
      // While searches wait for a pass, later searches wait too: otherwise a pass might never
      // begin.
      if (!now.some(({ need }) => need instanceof Pass)) now = [...this.#waiting];
      if (now.length === 0) break;
      for (const one of now) {
        if (one.need !== null || one.isEnded) continue;
        advance(one);
        await pauseWhenDue();
      }
      now = now.filter(({ isEnded }) => !isEnded);
      if (now.length === 0) continue;
      // A pass begins only when no search waits for anything else.
      const others = now.filter(({ need }) => !(need instanceof Pass));
      const round = others.length > 0 ? roundOf(others) : now;
      if (others.length > 0) await meet(round);
      else await pass(round, pauseWhenDue);
      for (const one of round) {
        if (!one.isEnded) advance(one);
        await pauseWhenDue();
      }
    }
    this.#isAtWork = false;
  }
}

/**
 * The first waiting search, and others whose needs fit into memory together with its own. Searches
 * that add the fewest items are tried first.
 */
function roundOf(waiting: readonly Waiting[]): Waiting[] {
  const [{ need: first }] = waiting;
  const all = new Map(first?.wanted);
  const addedBy = ({ need }: Waiting) =>
    Array.from(need?.wanted.keys() ?? []).filter((key) => !all.has(key));
  const others = waiting
    .filter(({ need }) => need?.store === first?.store)
    .map((one) => ({ one, added: addedBy(one).length }))
    .sort((a, b) => a.added - b.added);
  const round: Waiting[] = [];
  for (let i = 0, left = MAX_REFUSED; i < others.length && left > 0; i++) {
    const { one } = others[i];
    const need = one.need as Need;
    const added = addedBy(one);
    for (const key of added) all.set(key, need.wanted.get(key));
    if (added.length === 0 || need.store.fits(all)) round.push(one);
    else {
      for (const key of added) all.delete(key);
      left--;
    }
  }
  return round;
}

/** Loads what the searches want in groups, and lets every search look at each group. */
async function pass(searches: readonly Waiting[], pauseWhenDue: () => Promise<void> | null) {
  const { store } = searches[0].need as Pass;
  const all = new Map<number, unknown>();
  for (const { need } of searches)
    for (const [key, own] of (need as Pass).wanted) all.set(key, own);
  for (const part of store.partsOf(all)) {
    const some = searches.filter(({ isEnded }) => !isEnded);
    if (some.length === 0) break;
    await meet(some, part, async (one) => {
      try {
        if (!one.isEnded) (one.need as Pass).look(part);
      } catch (error) {
        one.reject(error);
      }
      await pauseWhenDue();
    });
  }
}

/** Runs a search until it needs something, ends or fails. */
function advance(one: Waiting): void {
  try {
    for (;;) {
      const { done, value } = one.steps.next();
      if (done) one.resolve(value);
      else if (value instanceof Need) one.need = value;
      else continue;
      return;
    }
  } catch (error) {
    one.reject(error);
  }
}

/**
 * Loads what these searches want (or only the items in `part`) in one call, then calls `whenHere`
 * for each. If that fails, each search loads its own items, so that none fails because of another.
 * Loading is aborted when all of these searches were stopped.
 */
async function meet(
  all: readonly Waiting[],
  part: ReadonlyMap<number, unknown> | null = null,
  whenHere: (one: Waiting) => Promise<void> = async () => undefined,
): Promise<void> {
  const { store } = all[0].need as Need;
  const wanted = new Map<number, unknown>();
  for (const { need } of all) {
    for (const [key, own] of (need as Need).wanted) {
      if (part === null || part.has(key)) wanted.set(key, own);
    }
  }
  const stopping = new AbortController();
  const stop = () => {
    if (all.every(({ isEnded }) => isEnded)) stopping.abort(all[0].signal?.reason);
  };
  for (const { signal } of all) signal?.addEventListener('abort', stop);
  try {
    await store.load(wanted, stopping.signal);
  } catch (error) {
    if (all.length === 1) all[0].reject(error);
    else for (const one of all) if (!one.isEnded) await meet([one], part, whenHere);
    return;
  } finally {
    for (const { signal } of all) signal?.removeEventListener('abort', stop);
  }
  for (const one of all) await whenHere(one);
}
