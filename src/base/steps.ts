/**
 * What every call that may take long accepts, and how its work is cut: a generator that stops
 * between steps of a few milliseconds, run straight through, or in turns with the event loop.
 */

import { wrongType } from './check';

export interface LongCall {
  /** Called between blocks of work; `done` ends at `total`. */
  onProgress?: (done: number, total: number) => void;
  /** Stops the work by throwing the signal's reason. */
  signal?: AbortSignal;
}

export const LONG_CALL = ['onProgress', 'signal'];

export function checkLongCall<T extends LongCall>(options: T): T {
  const { onProgress, signal } = options;
  if (onProgress !== undefined && typeof onProgress !== 'function') {
    throw wrongType('onProgress', 'a function', onProgress);
  }
  if (signal !== undefined && typeof signal?.throwIfAborted !== 'function') {
    throw wrongType('signal', 'an AbortSignal', signal);
  }
  return options;
}

/** Yielded between steps that must not be stopped: what they change belongs together. */
export const GO_ON = Symbol('go on');

type Step = readonly [done: number, total: number] | typeof GO_ON | undefined;

/** Work in steps: each yield tells how much is done, or nothing. */
export type Steps<T> = Generator<Step, T, void>;

/** What a stream hands over on the way. */
export class Item<T> {
  constructor(readonly value: T) {}
}

/** Work in steps that hands things over. */
export type Stream<T> = Generator<Step | Item<T>, void, void>;

/** The same work, not to be stopped on the way. */
export function* unstopped<T>(steps: Steps<T>): Steps<T> {
  for (;;) {
    const result = steps.next();
    if (result.done) return result.value;
    yield GO_ON;
  }
}

/** Longest time for which the event loop waits, but for one step. */
const TURN_MILLISECONDS = 16;

/** The work at once. */
export function runSteps<T>(steps: Steps<T>, call: LongCall): T {
  const step = stepper(steps, call);
  for (;;) {
    const result = step();
    if (result.done) return result.value;
  }
}

/**
 * The work in turns: timers, messages and input are served in between. Of work that has begun it is
 * told whether it may be stopped where it is.
 */
export async function runInTurns<T>(steps: Steps<T>, call: LongCall, mayStop = true): Promise<T> {
  const step = stepper(steps, call, mayStop);
  let start = performance.now();
  for (;;) {
    const result = step();
    if (result.done) return result.value;
    if (performance.now() - start < TURN_MILLISECONDS) continue;
    await new Promise((resolve) => setTimeout(resolve));
    start = performance.now();
  }
}

/** Takes what a stream hands over, as a part of other work. */
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

/** What a stream hands over, one after the other. */
export function* stream<T>(steps: Stream<T>, call: LongCall): Generator<T, void, void> {
  const step = stepper(steps, call);
  try {
    for (let result = step(); !result.done; result = step()) {
      if (result.value instanceof Item) yield result.value.value;
    }
  } finally {
    steps.return();
  }
}

/** The same in turns with the event loop. */
export async function* streamInTurns<T>(
  steps: Stream<T>,
  call: LongCall,
): AsyncGenerator<T, void, void> {
  const step = stepper(steps, call);
  let start = performance.now();
  try {
    for (let result = step(); !result.done; result = step()) {
      if (result.value instanceof Item) yield result.value.value;
      if (performance.now() - start < TURN_MILLISECONDS) continue;
      await new Promise((resolve) => setTimeout(resolve));
      start = performance.now();
    }
  } finally {
    steps.return();
  }
}

/** Takes a step a call. An abort ends the work where it is, with its `finally` blocks. */
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
      mayStop = result.value !== GO_ON;
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
