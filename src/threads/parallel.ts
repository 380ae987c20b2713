/**
 * Work in parts that threads can share. A job names a task, the state that all parts need and its
 * parts in data order; results are taken in that order too, so that every number of threads gives
 * equal answers. Where no threads are wanted, or none can be had, the calling thread does the parts
 * one after another: the same functions, the same results.
 */

import { checkThreads, Elsewhere, type LongCall, type Steps } from '../base/steps';
import { canShareMemory } from '../kernels/memory';
import type { Job } from './job';

/**
 * Fewer parts do not pay for messages, or for threads that must be started first: two take some
 * 400 ms of CPU until they have compiled what they run.
 */
const MIN_PARTS = 4;
const MIN_PARTS_COLD = 32;

/**
 * Does a job: on other threads where the caller's runner can wait for them, else here. False where
 * it was not done at all.
 */
export function* inParallel<S, P, R>(job: Job<S, P, R>): Steps<boolean> {
  const step = new ParallelStep(job);
  if (job.count > 1) yield step;
  if (step.isDone) return true;
  const run = job.here?.bind(job) ?? job.task.open?.(job.state);
  if (run === undefined) return false;
  for (let i = 0; i < job.count; i++) yield job.take(run(job.part(i)), i);
  return true;
}

const loadPool = () => import('./pool');
let pool: Awaited<ReturnType<typeof loadPool>> | undefined;

class ParallelStep<S, P, R> extends Elsewhere {
  readonly #job: Job<S, P, R>;
  /** False where the calling thread must do the job. */
  isDone = false;

  constructor(job: Job<S, P, R>) {
    super();
    this.#job = job;
  }

  async run({ threads, signal, onProgress }: LongCall): Promise<void> {
    const { count } = this.#job;
    const wanted = threadsFor(count, threads, pool?.isWarm());
    if (wanted === 0 || (this.#job.sharesRows && !canShareMemory())) return;
    pool ??= await loadPool();
    this.isDone = await pool.runJob(this.#job, wanted, {
      ...(this.mayStop && signal && { signal }),
      ...(onProgress && { onProgress: this.progressTo(onProgress) }),
    });
    this.hasWaited = this.isDone;
  }
}

/**
 * How many threads do a job of so many parts: those that an option names, else as many as pay,
 * which are fewer where none are running yet (`isWarm`). 0 where the calling thread does it.
 */
export function threadsFor(
  parts: number,
  option: LongCall['threads'] = 'auto',
  isWarm = false,
): number {
  const wanted = Math.min(parts, threadsOf(option));
  const least = option !== 'auto' ? 2 : isWarm ? MIN_PARTS : MIN_PARTS_COLD;
  return wanted < 2 || parts < least ? 0 : wanted;
}

/** The number of threads that a call wants: its option, else HALFSPACE_THREADS, else all cores. */
function threadsOf(option: Exclude<LongCall['threads'], undefined>): number {
  if (option !== 'auto') return option;
  const { env } = globalThis.process ?? {};
  const given = env?.HALFSPACE_THREADS || 'auto';
  const forced = checkThreads('HALFSPACE_THREADS', given === 'auto' ? given : Number(given));
  if (forced !== 'auto') return forced;
  const os = globalThis.process?.getBuiltinModule?.('node:os');
  return os?.availableParallelism() ?? globalThis.navigator?.hardwareConcurrency ?? 1;
}

/**
 * Ends the threads that asynchronous calls started; the next call starts new ones. A program need
 * not call it: threads do not keep it running. Calls that are at work fail.
 *
 * @example
 * const rows = { values: new Float32Array(3000).fill(0.5), dimensions: 3 };
 * const codes = await new SimHasher({ bits: 64 }).hashAllAsync(rows, { threads: 2 });
 * await closeThreads();
 * console.log(codes.count); // 1000
 */
export async function closeThreads(): Promise<void> {
  await pool?.closeThreads();
}
