/**
 * Searches that wait for partitions or vectors to be read. What several of them want is read
 * together, as far as it fits into memory, so that many searches wait as often as one.
 */

import { Elsewhere, type LongCall, pauser, type Steps } from '../base/steps';

/** What has room for some items, and reads them. */
export interface Store<T> {
  /** Whether all of these can be in memory at the same time. */
  fits(wanted: ReadonlyMap<number, T>): boolean;
  /** Reads those that are not here. All of them stay at least until the next call. */
  load(wanted: ReadonlyMap<number, T>, signal: AbortSignal | undefined): Promise<void>;
}

/** Items that a search needs before its next step. */
export class Need extends Elsewhere {
  /** `isMidway` says that a kernel holds the state of this search: no other may go on before. */
  constructor(
    readonly store: Store<unknown>,
    readonly wanted: ReadonlyMap<number, unknown>,
    readonly isMidway = false,
  ) {
    super();
  }

  run({ signal }: LongCall): Promise<void> {
    return this.store.load(this.wanted, signal);
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
    const takeStep = async (one: Waiting) => {
      await goOn(one);
      await pauseWhenDue();
    };
    while (this.#waiting.length > 0) {
      for (const one of this.#waiting) if (one.need === null) await takeStep(one);
      this.#waiting = this.#waiting.filter(({ isEnded }) => !isEnded);
      if (this.#waiting.length === 0) break;
      const round = this.#round();
      await meet(round);
      for (const one of round) await takeStep(one);
    }
    this.#isAtWork = false;
  }

  /**
   * The first search that waits, and those whose needs fit into memory next to its own: those that
   * share most of them first.
   */
  #round(): Waiting[] {
    const [{ need: first }] = this.#waiting;
    const all = new Map(first?.wanted);
    const addedBy = ({ need }: Waiting) =>
      Array.from(need?.wanted.keys() ?? []).filter((key) => !all.has(key));
    const others = this.#waiting
      .filter(({ need }) => need !== null && need.store === first?.store)
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
}

/** Runs a search until it needs what others may need too, or ends. */
async function goOn(one: Waiting): Promise<void> {
  do {
    if (one.need?.isMidway) await meet([one]);
    if (!one.isEnded) advance(one);
  } while (!one.isEnded && one.need?.isMidway);
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

/** Reads what these searches need, at once; where that fails, each by itself. */
async function meet(round: readonly Waiting[]): Promise<void> {
  const { store } = round[0].need as Need;
  const all = new Map(round.flatMap(({ need }) => [...(need as Need).wanted]));
  const stopping = new AbortController();
  const stop = () => {
    if (round.every(({ isEnded }) => isEnded)) stopping.abort(round[0].signal?.reason);
  };
  for (const { signal } of round) signal?.addEventListener('abort', stop);
  try {
    await store.load(all, stopping.signal);
  } catch (error) {
    if (round.length === 1) round[0].reject(error);
    else for (const one of round) if (!one.isEnded) await meet([one]);
  } finally {
    for (const { signal } of round) signal?.removeEventListener('abort', stop);
  }
}
