/**
 * Searches that wait for partitions or vectors to be read. What several of them want is read
 * together, as far as it fits into memory, so that many searches wait as often as one. What they
 * may see in any order passes once for all of them.
 */

import { Elsewhere, type LongCall, pauser, type Steps } from '../base/steps';

/** What has room for some items, and reads them. */
export interface Store<T> {
  /** Whether all of these can be in memory at the same time. */
  fits(wanted: ReadonlyMap<number, T>): boolean;
  /** Reads those that are not here. All of them stay at least until the next call. */
  load(wanted: ReadonlyMap<number, T>, signal: AbortSignal | undefined): Promise<void>;
}

/** The same, of items that may pass in any order. */
export interface PassedStore<T> extends Store<T> {
  /** Cuts what is wanted into parts that fit into memory, those that are here first. */
  partsOf(wanted: ReadonlyMap<number, T>): ReadonlyMap<number, T>[];
}

/** Items that a search needs before its next step. */
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

/** Items that a search looks at in any order before its next step, some at a time. */
export class Pass extends Need {
  /** `look` sees each item once, while it is in memory. */
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

/** Searches that do not fit next to others, after which no more are tried: they share even less. */
const MAX_REFUSED = 8;

interface Waiting {
  readonly steps: Steps<unknown>;
  readonly signal: AbortSignal | undefined;
  /** Null before the first step, and at the end. */
  need: Need | null;
  isEnded: boolean;
  end(settle: () => void): void;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** Runs searches; those that are asked for at once wait for the same reads. */
export class SearchQueue {
  #waiting: Waiting[] = [];
  #isAtWork = false;

  /** Runs a search to its end. One that is stopped fails at once; the others go on. */
  run<T>(steps: Steps<T>, signal: AbortSignal | undefined): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const stop = () => one.reject(signal?.reason);
      const one: Waiting = {
        ...{ steps, signal, need: null, isEnded: false },
        end(settle) {
          one.isEnded = true;
          signal?.removeEventListener('abort', stop);
          settle();
        },
        resolve: (value) => one.end(() => resolve(value as T)),
        reject: (error) => one.end(() => reject(error)),
      };
      if (signal?.aborted) {
        stop();
        return;
      }
      signal?.addEventListener('abort', stop);
      this.#waiting.push(one);
      if (!this.#isAtWork) this.#work();
    });
  }

  async #work(): Promise<void> {
    this.#isAtWork = true;
    await null; // searches that are asked for one after another begin together
    const pauseWhenDue = pauser();
    let now: Waiting[] = [];
    for (;;) {
      this.#waiting = this.#waiting.filter(({ isEnded }) => !isEnded);
      now = now.filter(({ isEnded }) => !isEnded);
      // Searches that come later do not hold up those that wait for a pass.
      if (!now.some(({ need }) => need instanceof Pass)) now = [...this.#waiting];
      if (now.length === 0) break;
      for (const one of now) {
        if (one.need !== null || one.isEnded) continue;
        advance(one);
        await pauseWhenDue();
      }
      now = now.filter(({ isEnded }) => !isEnded);
      if (now.length === 0) continue;
      // A pass begins when none waits for anything else.
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
 * The first search that waits, and those whose needs fit into memory next to its own: those that
 * share most of them first.
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

/** Shows searches what they want, part by part. */
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

/** Reads what these searches want, at once, or a part of it; where that fails, each by itself. */
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
