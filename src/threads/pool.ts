/**
 * The worker threads of this program: started by the first job, kept warm, and no reason for the
 * program to go on running while they are idle. Jobs hand out their parts as workers become free
 * and take the results in data order. A worker that dies fails the jobs it was at work on; they
 * have changed nothing, and the next job starts another worker.
 */

import type { LongCall } from '../base/steps';
import {
  kernelModule,
  kernelModules,
  type LinearMemory,
  SCAN_BYTES,
  sharedValues,
} from '../kernels/memory';
import { type Host, startHost } from './host';
import type { Job } from './job';
import { type FromWorker, Packed, type ToWorker } from './messages';
import { WORKER_SCRIPT } from './worker.generated';

/** Parts that a worker has at once: the next is there when it is done with one. */
const PARTS_AHEAD = 2;
/** Results that wait for an earlier one, for each worker; more would take memory without end. */
const RESULTS_AHEAD = 4;

/** Talks to one job about a part that a worker is at work on. */
interface Client {
  onReply(worker: WorkerThread, message: FromWorker): void;
  onEnd(worker: WorkerThread, error: Error): void;
}

class WorkerThread {
  readonly ready: Promise<boolean>;
  readonly clients = new Map<number, Client>();
  readonly #host: Host;
  #isReady: (value: boolean) => void = () => undefined;
  #hasEnded = false;

  constructor() {
    this.ready = new Promise((resolve) => {
      this.#isReady = resolve;
    });
    this.#host = startHost(WORKER_SCRIPT, {
      onMessage: (message) => this.#take(message as FromWorker),
      onEnd: (reason) => this.endFor(`a worker thread ended (${reason})`),
    });
    this.post({ kind: 'modules', modules: kernelModules() });
  }

  #take(message: FromWorker): void {
    if (message.kind === 'ready') this.#isReady(true);
    else this.clients.get(message.job)?.onReply(this, message);
  }

  post(message: ToWorker, transfer: readonly ArrayBuffer[] = []): void {
    this.#host.post(message, transfer);
  }

  /** While a job waits for the worker it keeps the program running. */
  join(job: number, client: Client): void {
    if (this.clients.size === 0) this.#host.hold(true);
    this.clients.set(job, client);
  }

  leave(job: number): void {
    this.clients.delete(job);
    if (this.clients.size === 0 && !this.#hasEnded) this.#host.hold(false);
  }

  /** Fails the jobs of this worker and frees it. */
  endFor(reason: string): Promise<unknown> {
    if (this.#hasEnded) return Promise.resolve();
    this.#hasEnded = true;
    workers = workers.filter((worker) => worker !== this);
    this.#isReady(false);
    const error = new Error(`${reason} while at work: nothing was changed, call again`);
    for (const client of [...this.clients.values()]) client.onEnd(this, error);
    return this.#host.end();
  }
}

let workers: WorkerThread[] = [];
/** True once a worker could not start: a policy forbids it, or the engine has none. */
let isForbidden = false;
let lastJob = 0;

/** True when threads are running, so that small work pays too. */
export function isWarm(): boolean {
  return workers.length > 0;
}

export async function closeThreads(): Promise<void> {
  await Promise.all(workers.map((worker) => worker.endFor('closeThreads() ended the threads')));
}

/** `count` workers that are ready; fewer where the engine refuses more. */
async function readyWorkers(count: number): Promise<WorkerThread[]> {
  try {
    while (workers.length < count && !isForbidden) workers.push(new WorkerThread());
  } catch {
    isForbidden = workers.length === 0;
  }
  const some = workers.slice(0, count);
  const areReady = await Promise.all(some.map((worker) => worker.ready));
  if (areReady.includes(false) && workers.length === 0) isForbidden = true;
  return some.filter((_, i) => areReady[i]);
}

/**
 * Does a job on up to `threads` threads; resolves when all results are taken, or when the signal
 * stopped it. False, with nothing done, where no threads can be had.
 */
export async function runJob<S, P, R>(
  job: Job<S, P, R>,
  threads: number,
  call: LongCall,
): Promise<boolean> {
  if (kernelModule() === null || isForbidden) return false;
  const given = job.state; // may be made when it is read
  const state = new Packed(given, 'state');
  if (!state.canBeSent) return false;
  const some = await readyWorkers(threads);
  if (some.length < 2) return false;
  let areas: number[][];
  try {
    areas = state.memories.map((memory) =>
      memory.reserveAreas(some.length, job.scratchBytes ?? SCAN_BYTES),
    );
  } catch {
    return false; // no room for scratch space in a memory of nearly 4 GiB
  }
  const run = new JobRun(job, { workers: some, memories: state.memories }, call);
  some.forEach((worker, i) => {
    const { value, transfer } = i === 0 ? state : new Packed(given, 'state');
    const memories = state.memories.map(({ memory }) => memory);
    const own = areas.map((addresses) => addresses[i]);
    run.open(worker, { task: job.task.name, state: value, memories, areas: own }, transfer);
  });
  await run.start();
  return true;
}

/** One job while it runs. */
class JobRun<S, P, R> implements Client {
  readonly #ended: Promise<void>;
  readonly #number = ++lastJob;
  readonly #job: Job<S, P, R>;
  readonly #call: LongCall;
  readonly #workers: readonly WorkerThread[];
  readonly #memories: LinearMemory[];
  /** Parts that each worker is at work on. */
  readonly #busy = new Map<WorkerThread, number>();
  readonly #spare: ArrayBuffer[] = [];
  readonly #results = new Map<number, FromWorker>();
  #resolve: () => void = () => undefined;
  #reject: (error: unknown) => void = () => undefined;
  /** The next part that goes to a worker, and the next whose result is taken. */
  #next = 0;
  #taken = 0;
  #failure: { error: unknown } | null = null;
  /** Read by the workers where they share memory. */
  readonly #stopped = sharedValues(Int32Array, 1);
  readonly #stop = () => Atomics.store(this.#stopped, 0, 1);

  constructor(
    job: Job<S, P, R>,
    { workers: some, memories }: { workers: readonly WorkerThread[]; memories: LinearMemory[] },
    call: LongCall,
  ) {
    this.#job = job;
    this.#workers = some;
    this.#memories = memories;
    this.#call = call;
    this.#ended = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  open(
    worker: WorkerThread,
    message: Omit<Extract<ToWorker, { kind: 'open' }>, 'kind' | 'job' | 'stopped'>,
    transfer: readonly ArrayBuffer[],
  ): void {
    worker.join(this.#number, this);
    this.#busy.set(worker, 0);
    const stopped = this.#stopped;
    worker.post({ kind: 'open', job: this.#number, stopped, ...message }, transfer);
  }

  /** Sends the first parts, when all workers are open. */
  start(): Promise<void> {
    this.#call.signal?.addEventListener('abort', this.#stop);
    this.#feedAll();
    this.#endWhenDone();
    return this.#ended;
  }

  onReply(worker: WorkerThread, message: FromWorker): void {
    if (message.kind === 'ready') return;
    this.#busy.set(worker, (this.#busy.get(worker) as number) - 1);
    this.#results.set(message.part, message);
    if (message.kind === 'done') this.#spare.push(...message.copies);
    this.#guarded(() => this.#take());
    this.#feedAll();
    this.#endWhenDone();
  }

  onEnd(worker: WorkerThread, error: Error): void {
    this.#busy.delete(worker);
    this.#failure ??= { error };
    this.#stop();
    this.#endWhenDone();
  }

  #feedAll(): void {
    this.#guarded(() => {
      for (const worker of this.#workers) this.#feed(worker);
    });
  }

  /** Sends parts to a worker until it has enough. */
  #feed(worker: WorkerThread): void {
    const most = this.#taken + RESULTS_AHEAD * this.#workers.length;
    for (;;) {
      const busy = this.#busy.get(worker);
      if (busy === undefined || busy >= PARTS_AHEAD || this.#isStopped) return;
      if (this.#next >= Math.min(this.#job.count, most)) return;
      if (this.#taken < (this.#job.after?.(this.#next) ?? 0)) return;
      const part = new Packed(this.#job.part(this.#next), 'part', this.#memories, this.#spare);
      const { value, transfer: copies } = part;
      worker.post({ kind: 'part', job: this.#number, part: this.#next, value, copies }, copies);
      this.#busy.set(worker, busy + 1);
      this.#next++;
    }
  }

  /** Takes the results that are next; the first failure in data order is the one that is thrown. */
  #take(): void {
    for (;;) {
      const message = this.#results.get(this.#taken);
      if (message === undefined || this.#isStopped) return;
      this.#results.delete(this.#taken);
      if (message.kind === 'failed') throw message.error;
      if (message.kind !== 'done') return;
      const progress = this.#job.take(message.result as R, this.#taken++);
      if (progress !== undefined) this.#call.onProgress?.(...progress);
    }
  }

  get #isStopped(): boolean {
    return this.#failure !== null || this.#call.signal?.aborted === true;
  }

  #guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#failure ??= { error };
      this.#stop();
    }
  }

  /** Ends when no worker is at work any more: then nothing reads the shared memories. */
  #endWhenDone(): void {
    const isDone = this.#taken >= this.#job.count || this.#isStopped;
    const busy = [...this.#busy.values()].reduce((sum, parts) => sum + parts, 0);
    if (!isDone || busy > 0) return;
    this.#call.signal?.removeEventListener('abort', this.#stop);
    for (const worker of this.#busy.keys()) {
      worker.post({ kind: 'close', job: this.#number });
      worker.leave(this.#number);
    }
    if (this.#failure === null) this.#resolve();
    else this.#reject(this.#failure.error);
  }
}
