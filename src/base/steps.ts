/**
 * Long calls: what every one accepts (progress, a signal), and how its work runs. Work is a
 * generator that yields every few milliseconds; the same generator runs straight through, or with
 * pauses in which the event loop serves timers, messages and input.
 */

import { checkInteger, wrongType, wrongValue } from './check';

export interface LongCall {
  /** Called between steps of work; `done` ends at `total`. */
  onProgress?: (done: number, total: number) => void;
  /** Stops the work by throwing the signal's reason. */
  signal?: AbortSignal;
  /**
   * How many threads asynchronous forms use: 'auto' for all cores where that pays. Answers are
   * equal for every number; synchronous forms use the calling thread alone.
   */
  threads?: 'auto' | number;
}

/** Runs each stage of long work under its name, as whoever shows progress wants it run. */
export type InStages = <T>(
  name: string,
  stage: (call: Required<Pick<LongCall, 'onProgress' | 'signal'>>) => Promise<T>,
) => Promise<T>;

/** Names of the options of `LongCall`. */
export const LONG_CALL = ['onProgress', 'signal', 'threads'];
const MAX_THREADS = 256;

/** Checks the types of `LongCall` options; returns what it checked. */
export function checkLongCall<T extends LongCall>(options: T): T {
  const { onProgress, signal, threads } = options;
  if (onProgress !== undefined && typeof onProgress !== 'function') {
    throw wrongType('onProgress', 'a function', onProgress);
  }
  if (signal !== undefined && typeof signal?.throwIfAborted !== 'function') {
    throw wrongType('signal', 'an AbortSignal', signal);
  }
  if (threads !== undefined) checkThreads('threads', threads);
  return options;
}

/** A number of threads, or 'auto'. */
export function checkThreads(name: string, threads: unknown): 'auto' | number {
  if (threads === 'auto') return threads;
  if (typeof threads === 'number') return checkInteger(name, threads, 1, MAX_THREADS);
  throw wrongValue(name, `'auto' or an integer in 1..${MAX_THREADS}`, threads);
}

/** Yielded where work must not be stopped: what its steps change belongs together. */
export const GO_ON = Symbol('go on');

type Progress = (done: number, total: number) => readonly [done: number, total: number] | null;

/** A step that other threads can take: `runStepsAsync` waits for `run`, others go on at once. */
export abstract class Elsewhere {
  /** False within work that must not be stopped. */
  mayStop = true;
  /** True when the event loop ran while others did it. */
  hasWaited = false;
  #progress: Progress = (done, total) => [done, total];

  /** Reports progress in other numbers from now on, or none. */
  mapProgress(map: Progress | null): void {
    const before = this.#progress;
    this.#progress = (done, total) => {
      const inner = map && before(done, total);
      return inner && map(...inner);
    };
  }

  protected progressTo(report: (done: number, total: number) => void) {
    return (done: number, total: number) => {
      const mapped = this.#progress(done, total);
      if (mapped !== null) report(...mapped);
    };
  }

  abstract run(call: LongCall): Promise<void>;
}

type Step = readonly [done: number, total: number] | typeof GO_ON | Elsewhere | undefined;

/** Work in steps. Each yield reports how much is done, or nothing. */
export type Steps<T> = Generator<Step, T, void>;

/** One value of a stream. */
export class Item<T> {
  constructor(readonly value: T) {}
}

/** Work in steps that yields values on the way, each as an `Item`. */
export type Stream<T> = Generator<Step | Item<T>, void, void>;

/** The same work, which must not be stopped until it ends. */
export function* unstopped<T>(steps: Steps<T>): Steps<T> {
  for (;;) {
    const result = steps.next();
    if (result.done) return result.value;
    if (result.value instanceof Elsewhere) {
      result.value.mayStop = false;
      yield result.value;
    } else yield GO_ON;
  }
}

/** The same work with its progress in other numbers, or none of it. */
export function* withProgress<T>(steps: Steps<T>, map: Progress | null): Steps<T> {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
    if (value instanceof Elsewhere) value.mapProgress(map);
    yield Array.isArray(value) ? (map?.(value[0], value[1]) ?? undefined) : value;
  }
}

/** The rest of some work whose first step was taken by the caller. */
export function* continued<T>(first: Step, rest: Steps<T>): Steps<T> {
  yield first;
  return yield* rest;
}

/** The event loop waits at most so long, and the rest of a step. */
const PAUSE_AFTER_MS = 16;

/** Runs the work straight through. */
export function runSteps<T>(steps: Steps<T>, call: LongCall): T {
  const step = stepper(steps, call);
  for (;;) {
    const result = step();
    if (result.done) return result.value;
  }
}

/**
 * Runs the work with pauses for the event loop. `mayStop` is false while an update is half applied:
 * the signal is then ignored until the work yields something other than GO_ON.
 */
export async function runStepsAsync<T>(
  steps: Steps<T>,
  call: LongCall,
  mayStop = true,
): Promise<T> {
  const step = stepper(steps, call, mayStop);
  const pauseWhenDue = pauser();
  for (;;) {
    const result = step();
    if (result.done) return result.value;
    if (result.value instanceof Elsewhere) await elsewhere(result.value, steps, call);
    const pause = pauseWhenDue(result.value);
    if (pause !== null) await pause;
  }
}

/** Waits for other threads; what they throw ends the work with its `finally` blocks. */
async function elsewhere(
  step: Elsewhere,
  steps: Generator<unknown, unknown, void>,
  call: LongCall,
): Promise<void> {
  try {
    await step.run(call);
  } catch (error) {
    steps.return(undefined);
    throw error;
  }
}

type LongWork<A extends LongArguments, T> = (...given: A) => Steps<T>;
type LongArguments = [source: unknown, options?: LongCall];

const callOf = (given: LongArguments) => checkLongCall({ ...given[1] });

/** The function that does some work straight through; its options include a `LongCall`. */
export function syncForm<A extends LongArguments, T>(work: LongWork<A, T>): (...given: A) => T {
  return (...given) => runSteps(work(...given), callOf(given));
}

/** The function that does the same work with pauses for the event loop. */
export function asyncForm<A extends LongArguments, T>(
  work: LongWork<A, T>,
): (...given: A) => Promise<T> {
  return async (...given) => runStepsAsync(work(...given), callOf(given));
}

/** Passes each value of a stream to `take`, as a part of other work. */
export function* eachItem<T>(stream: Stream<T>, take: (item: T) => void): Steps<void> {
  for (const step of stream) {
    if (!(step instanceof Item)) {
      yield step;
      continue;
    }
    take(step.value);
    yield undefined;
  }
}

/** The values of a stream, one after another. Leaving the loop ends the work. */
export function* streamItems<T>(steps: Stream<T>, call: LongCall): Generator<T, void, void> {
  const step = stepper(steps, call);
  try {
    for (let result = step(); !result.done; result = step()) {
      if (result.value instanceof Item) yield result.value.value;
    }
  } finally {
    steps.return();
  }
}

/** The same with pauses for the event loop. */
export async function* streamItemsAsync<T>(
  steps: Stream<T>,
  call: LongCall,
): AsyncGenerator<T, void, void> {
  const step = stepper(steps, call);
  const pauseWhenDue = pauser();
  try {
    for (let result = step(); !result.done; result = step()) {
      if (result.value instanceof Item) yield result.value.value;
      else if (result.value instanceof Elsewhere) await elsewhere(result.value, steps, call);
      const pause = pauseWhenDue(result.value);
      if (pause !== null) await pause;
    }
  } finally {
    steps.return();
  }
}

/**
 * Returns a pause to await when PAUSE_AFTER_MS have passed since the last one, or since a step that
 * waited for others, else null.
 */
export function pauser(): (step?: unknown) => Promise<void> | null {
  let start = performance.now();
  return (step) => {
    if (step instanceof Elsewhere && step.hasWaited) start = performance.now();
    if (performance.now() - start < PAUSE_AFTER_MS) return null;
    return new Promise<void>((resolve) => setTimeout(resolve)).then(() => {
      start = performance.now();
    });
  };
}

/** Takes a step at each call. An abort ends the work where it is, with its `finally` blocks. */
function stepper<S, T>(
  steps: Generator<S, T, void>,
  { signal, onProgress }: LongCall,
  mayStopFirst = true,
) {
  let mayStop = mayStopFirst;
  return () => {
    try {
      if (mayStop) signal?.throwIfAborted();
      const result = steps.next();
      const { value } = result;
      mayStop = value !== GO_ON && (!(value instanceof Elsewhere) || value.mayStop);
      if (!result.done && Array.isArray(result.value)) {
        const [done, total] = result.value as [number, number];
        onProgress?.(done, total);
      }
      return result;
    } catch (error) {
      steps.return(undefined as never);
      throw error;
    }
  };
}
