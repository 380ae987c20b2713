/**
 * Runs searches of a stored index: loads what they want next, then lets them go on. What several
 * searches want is read together, as far as it fits into memory, so that many searches wait about
 * as often as one.
 */

import type { Stepped, Want } from '../index/searched';

/** What searches read: `load` makes wants of one kind at hand until its next call. */
interface Loads {
  load(wants: readonly Want[], signal: AbortSignal | undefined): Promise<void>;
  fits(wants: readonly Want[]): boolean;
}

/** An unfinished search. */
interface Waiting {
  readonly search: Stepped;
  readonly signal: AbortSignal | undefined;
  resolve(): void;
  reject(error: unknown): void;
}

export class SearchQueue {
  readonly #loads: Loads;
  readonly #waiting = new Set<Waiting>();
  /** By signal the unfinished searches that it stops. */
  readonly #watched = new Map<AbortSignal, { searches: Set<Waiting>; stop: () => void }>();
  #isAtWork = false;

  constructor(loads: Loads) {
    this.#loads = loads;
  }

  /** Runs a search to its end. If its signal is aborted it rejects; other searches go on. */
  async run<T extends Stepped>(search: T, signal: AbortSignal | undefined): Promise<T> {
    signal?.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const end = (settle: () => void) => {
        this.#waiting.delete(one);
        unwatch();
        settle();
      };
      const one: Waiting = {
        search,
        signal,
        resolve: () => end(resolve),
        reject: (error) => end(() => reject(error)),
      };
      const unwatch = this.#watch(signal, one);
      this.#waiting.add(one);
      if (!this.#isAtWork) this.#work();
    });
    return search;
  }

  /** Rejects a search when its signal is aborted. Searches of one signal share a listener. */
  #watch(signal: AbortSignal | undefined, one: Waiting): () => void {
    if (signal === undefined) return () => undefined;
    let watched = this.#watched.get(signal);
    if (watched === undefined) {
      const searches = new Set<Waiting>();
      const stop = () => {
        for (const search of [...searches]) search.reject(signal.reason);
      };
      watched = { searches, stop };
      this.#watched.set(signal, watched);
      signal.addEventListener('abort', stop);
    }
    const { searches, stop } = watched;
    searches.add(one);
    return () => {
      searches.delete(one);
      if (searches.size > 0) return;
      this.#watched.delete(signal);
      signal.removeEventListener('abort', stop);
    };
  }

  async #work(): Promise<void> {
    this.#isAtWork = true;
    await null; // searches that one caller starts in a row begin together
    while (this.#waiting.size > 0) {
      const ready = [...this.#waiting].filter((one) => this.#advance(one));
      if (ready.length > 0) await this.#round(ready);
    }
    this.#isAtWork = false;
  }

  /** Runs the steps that need nothing loaded; returns false when the search has ended. */
  #advance(one: Waiting): boolean {
    try {
      while (!one.search.isDone && one.search.want === null) one.search.step();
      if (one.search.isDone) one.resolve();
      else one.search.suspend();
      return !one.search.isDone;
    } catch (error) {
      one.reject(error);
      return false;
    }
  }

  /** Loads what the first search wants, with what others want of the same kind that fits too. */
  async #round(waiting: readonly Waiting[]): Promise<void> {
    const [first] = waiting;
    const some = [first];
    const wants = [first.search.want as Want];
    for (const one of waiting.slice(1)) {
      const want = one.search.want as Want;
      if (want.kind !== wants[0].kind || !this.#loads.fits([...wants, want])) continue;
      some.push(one);
      wants.push(want);
    }
    const failed = await this.#load(some, wants);
    if (failed !== null && some.length > 1) {
      // Load for each search alone, so that none fails because of another.
      for (const one of some) if (this.#waiting.has(one)) await this.#round([one]);
      return;
    }
    for (const one of some) {
      if (!this.#waiting.has(one)) continue;
      if (failed !== null) {
        one.reject(failed);
        continue;
      }
      try {
        one.search.step();
        one.search.suspend();
      } catch (error) {
        one.reject(error);
      }
    }
  }

  /** Loads wants; reading is stopped when all of these searches were. Returns an error, or null. */
  async #load(some: readonly Waiting[], wants: readonly Want[]): Promise<unknown> {
    const stopping = new AbortController();
    const stop = () => {
      if (!some.some((one) => this.#waiting.has(one))) stopping.abort(some[0].signal?.reason);
    };
    const signals = new Set(some.map(({ signal }) => signal));
    for (const signal of signals) signal?.addEventListener('abort', stop);
    try {
      await this.#loads.load(wants, stopping.signal);
      return null;
    } catch (error) {
      return error ?? new Error('a read failed');
    } finally {
      for (const signal of signals) signal?.removeEventListener('abort', stop);
    }
  }
}
