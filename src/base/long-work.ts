/**
 * Long calls: the options that every one takes (progress, a signal, threads), and the work that a
 * call does, as plain async functions which await `LongWork.step` every few milliseconds. A step
 * checks the signal, reports progress, and lets the event loop serve timers, messages and input.
 */

import { checkInteger, checkOptions, wrongType, wrongValue } from './check';

export interface LongCall {
  /** Called between steps; `done` ends at `total`, in each pass of several, as of a build. */
  onProgress?: (done: number, total: number) => void;
  /** Stops the work: the promise rejects with the signal's reason. */
  signal?: AbortSignal;
  /** 'auto' for all cores where that pays, or a number. Answers are equal for every number. */
  threads?: 'auto' | number;
}

/**
 * Runs one stage of long work under a name and returns its result. The caller decides how: it gives
 * the stage its signal, and a callback that shows progress with this name.
 */
export type InStages = <T>(
  name: string,
  stage: (call: Required<Pick<LongCall, 'onProgress' | 'signal'>>) => Promise<T>,
) => Promise<T>;

const MAX_THREADS = 256;
/** Time after which a step pauses for the event loop. */
const PAUSE_AFTER_MS = 16;

function checkCallback(name: string, value: unknown): void {
  if (typeof value !== 'function') throw wrongType(name, 'a function', value);
}

function checkSignal(name: string, value: unknown): void {
  if (typeof (value as AbortSignal | null)?.throwIfAborted === 'function') return;
  throw wrongType(name, 'an AbortSignal', value);
}

/** By signal what its one listener calls: Node warns of more than ten listeners. */
const stopsOf = new WeakMap<AbortSignal, Set<() => void>>();

function onAbort({ target }: Event): void {
  for (const stop of [...(stopsOf.get(target as AbortSignal) ?? [])]) stop();
}

/** Calls `stop` when a signal is aborted, until the function is called that this returns. */
export function whenAborted(signal: AbortSignal | undefined, stop: () => void): () => void {
  if (signal === undefined) return () => undefined;
  const stops = stopsOf.get(signal) ?? new Set();
  stopsOf.set(signal, stops);
  stops.add(stop);
  signal.addEventListener('abort', onAbort); // again where it listens already changes nothing
  return () => {
    stops.delete(stop);
    if (stops.size === 0) signal.removeEventListener('abort', onAbort);
  };
}

/** A number of threads, 1..`MAX_THREADS`, or 'auto'. */
export function checkThreads(name: string, threads: unknown): 'auto' | number {
  if (threads === 'auto') return threads;
  if (typeof threads === 'number') return checkInteger(name, threads, 1, MAX_THREADS);
  throw wrongValue(name, `'auto' or an integer in 1..${MAX_THREADS}`, threads);
}

/** The options of a call that a signal stops, and those of every long call, declared. */
export const STOPPED = { signal: checkSignal } as const;
export const LONG_CALL = { onProgress: checkCallback, ...STOPPED, threads: checkThreads } as const;

/** Converts the progress of a part of some work to that of the whole; null reports nothing. */
type ProgressMap = (done: number, total: number) => readonly [done: number, total: number] | null;

/** One long call while it runs. Functions below the call take it as their last parameter. */
export class LongWork {
  /** The options of the call, for functions that take these: progress is that of this part. */
  readonly call: LongCall;
  /** When the event loop last ran; the parts of a call have it in common. */
  readonly #clock: { pausedAt: number };

  /** Work by options that are checked. `whole` is the work of which this one is a part. */
  constructor(call: LongCall = {}, whole?: LongWork) {
    this.call = call;
    this.#clock = whole === undefined ? { pausedAt: performance.now() } : whole.#clock;
  }

  /** Work by the options of a call that has no others; throws for unknown ones. */
  static of(options: LongCall | undefined): LongWork {
    return new LongWork(checkOptions(options, LONG_CALL));
  }

  /**
   * Ends a step of some milliseconds: throws the signal's reason after an abort, reports progress
   * if it is given, and pauses for the event loop if it has not run for 16 ms.
   */
  async step(done?: number, total?: number): Promise<void> {
    const { signal, onProgress } = this.call;
    signal?.throwIfAborted();
    if (done !== undefined && total !== undefined) onProgress?.(done, total);
    if (performance.now() - this.#clock.pausedAt < PAUSE_AFTER_MS) return;
    await pause();
    this.restart();
    signal?.throwIfAborted();
  }

  /** Counts the time to the next pause from now: after an await during which the event loop ran. */
  restart(): void {
    this.#clock.pausedAt = performance.now();
  }

  /** A part of this work, whose progress is converted by `map`. */
  part(map: ProgressMap): LongWork {
    const { onProgress, ...others } = this.call;
    if (onProgress === undefined) return this;
    const report = (done: number, total: number) => {
      const mapped = map(done, total);
      if (mapped !== null) onProgress(...mapped);
    };
    return new LongWork({ ...others, onProgress: report }, this);
  }

  /**
   * Parts of this work that follow one another, each with its share of the progress, which never
   * goes back: a part may go through its rows several times.
   */
  inParts(shares: readonly number[]): LongWork[] {
    const whole = shares.reduce((sum, share) => sum + share, 0);
    let [before, most] = [0, 0];
    return shares.map((share) => {
      const from = before;
      before += share;
      return this.part((done, total) => {
        most = Math.max(most, from + (share * done) / Math.max(1, total));
        return [most, whole];
      });
    });
  }

  /** A part of this work whose progress is not reported. */
  quiet(): LongWork {
    return this.part(() => null);
  }

  /** A part that no signal stops and no progress interrupts: an update that is half applied. */
  unstopped(): LongWork {
    const { threads } = this.call;
    return new LongWork(threads === undefined ? {} : { threads }, this);
  }
}

/**
 * Lets the event loop run once. Node's `setTimeout` would wait for a millisecond or more, and the
 * first of two immediates may run before the loop looks for signals.
 */
function pause(): Promise<void> {
  const wait = globalThis.setImmediate ?? setTimeout;
  return new Promise((resolve) => wait(() => wait(resolve)));
}

/** Thrown into work whose values are not wanted any more. */
const LEFT = Symbol('left');

/**
 * The values that work hands out, for `for await`: `run` starts at the first `next`, and each call
 * of `send` waits until the next value is wanted. Leaving the loop makes that call reject, which
 * ends the work and runs its `finally` blocks.
 */
export function iterated<T>(
  run: (send: (value: T) => Promise<void>) => Promise<void>,
): AsyncIterableIterator<T> {
  let running: Promise<void> | null = null;
  let hasEnded = false;
  /** Settle the promise of the present `next`, and that of the `send` that waits. */
  let deliver: (result: IteratorResult<T>) => void = () => undefined;
  let fail: (error: unknown) => void = () => undefined;
  let goOn: () => void = () => undefined;
  let leave: (reason: unknown) => void = () => undefined;
  const send = (value: T) =>
    new Promise<void>((resolve, reject) => {
      [goOn, leave] = [resolve, reject];
      deliver({ value, done: false });
    });
  const end = (settle: () => void) => {
    hasEnded = true;
    settle();
  };
  const pull = () =>
    new Promise<IteratorResult<T>>((resolve, reject) => {
      if (hasEnded) {
        resolve({ value: undefined, done: true });
        return;
      }
      [deliver, fail] = [resolve, reject];
      if (running !== null) goOn();
      else {
        running = run(send).then(
          () => end(() => deliver({ value: undefined, done: true })),
          (error) => end(() => fail(error)),
        );
      }
    });
  // Calls that do not wait for each other are answered in order.
  let last: Promise<unknown> = Promise.resolve();
  const inOrder = <R>(answer: () => Promise<R>): Promise<R> => {
    const answered = last.then(answer);
    last = answered.catch(() => undefined);
    return answered;
  };
  return {
    next: () => inOrder(pull),
    return: () =>
      inOrder(async () => {
        fail = () => undefined;
        if (!hasEnded) leave(LEFT);
        hasEnded = true;
        await running;
        return { value: undefined, done: true };
      }),
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
