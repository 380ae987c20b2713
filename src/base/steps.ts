/**
 * The older protocol of long calls, which layers above still use: work is a generator that yields
 * every few milliseconds, and runs straight through or with pauses. New code is async functions
 * that await `LongWork.step`.
 */

import type { LongCall } from './long-work';

/** Yielded where work must not be stopped: an update of several steps is half applied. */
export const GO_ON = Symbol('go on');

/**
 * A step that other threads can take. The asynchronous forms await `run` before they resume the
 * work; the synchronous forms resume it at once, and the work then takes the step itself
 * (`threads/parallel.ts`).
 */
export abstract class Elsewhere {
  /** False within work that must not be stopped: `run` must then ignore the signal. */
  mayStop = true;
  /** True after `run` if other threads took the step, so that the event loop ran meanwhile. */
  hasWaited = false;
  /** Resolves when other threads have taken the step, or when it is clear that they will not. */
  abstract run(call: LongCall): Promise<void>;
}

/** What work yields after a step: its progress, one of the special steps above, or nothing. */
type Step = readonly [done: number, total: number] | typeof GO_ON | Elsewhere | undefined;

/** Work in steps of some milliseconds, with a result of type T. */
export type Steps<T> = Generator<Step, T, void>;

/** The same work, which a signal does not stop before it ends. Its progress is not reported. */
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

/** Work whose first step the caller has taken already, as one piece: `first`, then the rest. */
export function* continued<T>(first: Step, rest: Steps<T>): Steps<T> {
  yield first;
  return yield* rest;
}

/** Time between two pauses for the event loop; it waits this long and until the step has ended. */
const PAUSE_AFTER_MS = 16;

/** Runs the work to its end without pauses. `onProgress` may abort the signal between steps. */
export function runSteps<T>(steps: Steps<T>, call: LongCall): T {
  const step = stepper(steps, call);
  for (;;) {
    const result = step();
    if (result.done) return result.value;
  }
}

/**
 * Runs the work with pauses for the event loop. With `mayStop` false an update is half applied at
 * the start: the signal is ignored until the work yields something other than GO_ON.
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

/** Waits for other threads. If they throw, the work ends, which runs its `finally` blocks. */
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

/**
 * Makes a function to call after each step: it returns a pause to await if PAUSE_AFTER_MS have
 * passed since the last pause, or since a step during which the event loop ran; else null.
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

/**
 * Makes a function that takes the next step and reports its progress. It throws the signal's reason
 * on an abort, unless the last step forbids stopping. Any error ends the work, `finally` included.
 */
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
