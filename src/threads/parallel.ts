/**
 * Runs a job (`job.ts`) on worker threads where that pays, else on the calling thread, part after
 * part with the same functions. Results are taken in the order of the parts either way, so every
 * number of threads gives equal answers.
 */

import { environmentOf } from '../base/check';
import { checkThreads, type LongCall, type LongWork } from '../base/long-work';
import { canShareMemory } from '../kernels/memory';
import type { Job } from './job';

/**
 * With fewer parts, messages cost more than threads save. The second limit holds while no threads
 * run, for the parts of a job and those that the calling thread has done before: starting two takes
 * some 400 ms of CPU until they have compiled their code.
 */
const MIN_PARTS = 4;
export const MIN_PARTS_COLD = 32;
/** Parts that the calling thread has done itself, of jobs of `MIN_PARTS` or more. */
let partsDone = 0;

/**
 * Does a job: on worker threads where that pays, else part after part on the calling thread.
 * Rejects with the first failure in the order of the parts.
 */
export async function runJob<S, P, R>(job: Job<S, P, R>, work: LongWork): Promise<void> {
  const isDone = job.count > 1 && (await runOnWorkers(job, work.call));
  if (isDone) {
    work.restart();
    await work.step();
    return;
  }
  const run = runnerOf(job);
  if (run === undefined) throw new Error(`task ${job.task.name} needs worker threads`);
  for (let i = 0; i < job.count; i++) {
    await work.step(...(job.take(run(job.part(i)), i) ?? []));
  }
}

/** The function that computes parts on the calling thread. */
function runnerOf<S, P, R>(job: Job<S, P, R>): ((part: P) => R) | undefined {
  return job.here?.bind(job) ?? job.task.open?.(job.state);
}

// Loaded on first use: calls without threads never need it, nor the worker's script that it loads.
const loadPool = () => import('./pool');
let pool: Awaited<ReturnType<typeof loadPool>> | undefined;

/** Does a job on worker threads where that pays; false if nothing was done. */
async function runOnWorkers<S, P, R>(job: Job<S, P, R>, call: LongCall): Promise<boolean> {
  const { count } = job;
  const wanted = threadsFor(count, call.threads, pool?.isWarm(), partsDone);
  if (wanted === 0 && count >= MIN_PARTS) partsDone += count;
  if (wanted === 0 || (job.sharesRows && !canShareMemory())) return false;
  pool ??= await loadPool();
  return pool.runJob(job, wanted, call);
}

/**
 * The number of threads for a job of `parts` parts. A number as `option` is used as it is, up to
 * one thread a part; 'auto' needs enough parts to pay, which is fewer where threads run already
 * (`isWarm`), or where the calling thread has `done` many in earlier jobs. Returns 0, never 1,
 * where the calling thread does the job.
 */
export function threadsFor(
  parts: number,
  option: LongCall['threads'] = 'auto',
  isWarm = false,
  done = 0,
): number {
  const wanted = Math.min(parts, threadsOf(option));
  const least = option !== 'auto' ? 2 : MIN_PARTS;
  const isCold = option === 'auto' && !isWarm && parts + done < MIN_PARTS_COLD;
  return wanted < 2 || parts < least || isCold ? 0 : wanted;
}

/** The option, else the environment variable HALFSPACE_THREADS, else the number of cores. */
export function threadsOf(option: LongCall['threads'] = 'auto'): number {
  if (option !== 'auto') return option;
  const given = environmentOf('HALFSPACE_THREADS') || 'auto';
  const forced = checkThreads('HALFSPACE_THREADS', /^\d+$/.test(given) ? Number(given) : given);
  if (forced !== 'auto') return forced;
  const os = globalThis.process?.getBuiltinModule?.('node:os');
  return os?.availableParallelism() ?? globalThis.navigator?.hardwareConcurrency ?? 1;
}

/**
 * Ends the threads that calls started. The next call starts new ones. A program need not call it:
 * threads do not keep it running. Calls that are at work fail.
 *
 * @example
 * const rows = { values: new Float32Array(3000).fill(0.5), dimensions: 3 };
 * const codes = await new SimHasher({ bits: 64 }).hashAll(rows, { threads: 2 });
 * await closeThreads();
 * console.log(codes.count); // 1000
 */
export async function closeThreads(): Promise<void> {
  await pool?.closeThreads();
}
