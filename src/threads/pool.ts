/**
 * The worker threads of this program. The first job starts them; later jobs use the same ones, and
 * unused workers do not keep the program running. A job sends its parts to whichever worker is free
 * and takes the results in the order of the parts. A worker that dies fails the jobs that it was
 * working on; those have changed nothing, and the next job starts another worker.
 *
 * A worker is one of `worker_threads` in Node, a Web Worker made from a Blob elsewhere. Its script
 * is a string in the bundle, so there is no file to serve or to find. A page whose
 * Content-Security-Policy lacks `worker-src blob:` has no workers.
 */

import type { LongCall } from '../base/long-work';
import {
  hasKernels,
  kernelModules,
  type LinearMemory,
  type Room,
  SCAN_BYTES,
  sharedValues,
} from '../kernels/memory';
import { type Answer, type FromWorker, type Job, Packed, type ToWorker } from './job';

/** Parts that a worker has at once: with two, the next part waits there when one is done. */
const PARTS_AHEAD = 2;
/**
 * Results that may wait for an earlier part, for each worker: one slow part would otherwise let
 * finished results fill memory without limit.
 */
const RESULTS_AHEAD = 4;

/** A job, as its workers see it: receives their replies, and learns of a worker's end. */
interface Client {
  onReply(worker: WorkerThread, message: Answer): void;
  onEnd(worker: WorkerThread, error: Error): void;
}

/** One worker, which several jobs may use at once. */
class WorkerThread {
  /** The lowest number that no other worker has: that of its scratch space in each memory. */
  readonly number: number;
  /** Resolves to true when the worker runs its script, to false if it ended before. */
  readonly ready: Promise<boolean>;
  /** The jobs that use this worker, by their number. */
  readonly clients = new Map<number, Client>();
  readonly #host: Host;
  #isReady: (value: boolean) => void = () => undefined;
  #hasEnded = false;

  constructor(script: string) {
    const taken = new Set(workers.map((worker) => worker.number));
    let number = 0;
    while (taken.has(number)) number++;
    this.number = number;
    this.ready = new Promise((resolve) => {
      this.#isReady = resolve;
    });
    this.#host = startHost(script, {
      onMessage: (message) => this.#take(message as FromWorker),
      onEnd: (reason) => this.endFor(`a worker thread ended (${reason})`),
    });
  }

  #take(message: FromWorker): void {
    if (message.kind === 'ready') this.#isReady(true);
    else this.clients.get(message.job)?.onReply(this, message);
  }

  post(message: ToWorker, transfer: readonly ArrayBuffer[] = []): void {
    this.#host.post(message, transfer);
  }

  /** Registers a job. A worker keeps the program running as long as it has one. */
  join(job: number, client: Client): void {
    if (this.clients.size === 0) this.#host.hold(true);
    this.clients.set(job, client);
  }

  /** Ends what `join` began. */
  leave(job: number): void {
    this.clients.delete(job);
    if (this.clients.size === 0 && !this.#hasEnded) this.#host.hold(false);
  }

  /** Fails the jobs of this worker and ends it; further calls do nothing. */
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

/** Workers that have not ended, in the order of their start. */
let workers: WorkerThread[] = [];
/** True after no worker could be started: a policy forbids it, or the engine has none. */
let isForbidden = false;
let lastJob = 0;

/** True when threads are running, so that jobs of few parts pay as well. */
export function isWarm(): boolean {
  return workers.length > 0;
}

/** Ends all workers; jobs that are running fail. Resolves when the threads are gone. */
export async function closeThreads(): Promise<void> {
  await Promise.all(workers.map((worker) => worker.endFor('closeThreads() ended the threads')));
}

/** Up to `count` workers that are ready; fewer, or none, where the engine refuses more. */
async function readyWorkers(count: number): Promise<WorkerThread[]> {
  // One file of the package, which its ES modules, CommonJS and the command share.
  const { WORKER_SCRIPT } = await import('./worker.generated');
  try {
    while (workers.length < count && !isForbidden) workers.push(new WorkerThread(WORKER_SCRIPT));
  } catch {
    isForbidden = workers.length === 0;
  }
  const some = workers.slice(0, count);
  const areReady = await Promise.all(some.map((worker) => worker.ready));
  if (areReady.includes(false) && workers.length === 0) isForbidden = true;
  return some.filter((_, i) => areReady[i]);
}

/**
 * Does a job on up to `threads` threads. Resolves to true when all results were taken or the signal
 * stopped the job; to false, with nothing done, where fewer than two threads can be had or the
 * state cannot be sent. Rejects with the first failure in the order of the parts.
 */
export async function runJob<S, P, R>(
  job: Job<S, P, R>,
  threads: number,
  call: LongCall,
): Promise<boolean> {
  if (!hasKernels() || isForbidden) return false;
  const given = job.state; // read once: a getter may build it
  const state = new Packed(given, 'state');
  if (!state.canBeSent) return false;
  const some = await readyWorkers(threads);
  if (some.length < 2) return false;
  const numbers = some.map((worker) => worker.number);
  let areas: Room[][];
  try {
    areas = state.memories.map((memory) =>
      memory.reserveAreas(numbers, job.scratchBytes ?? SCAN_BYTES),
    );
  } catch {
    return false; // no room for scratch space in a memory of nearly 4 GiB
  }
  const run = new JobRun(job, { workers: some, memories: state.memories }, call);
  some.forEach((worker, i) => {
    // A state is packed once for each worker, since its copies are transferred.
    const { value, transfer } = i === 0 ? state : new Packed(given, 'state');
    const memories = state.memories.map(({ memory }) => memory);
    const own = areas.map((rooms) => rooms[i]);
    run.open(worker, { task: job.task.name, state: value, memories, areas: own }, transfer);
  });
  await run.start();
  return true;
}

/** One job while it runs: which parts are sent, which results wait, and whether it was stopped. */
class JobRun<S, P, R> implements Client {
  readonly #ended: Promise<void>;
  readonly #number = ++lastJob;
  readonly #job: Job<S, P, R>;
  readonly #call: LongCall;
  readonly #workers: readonly WorkerThread[];
  readonly #memories: LinearMemory[];
  /** Parts that each open worker has and has not answered; a worker that died is not in it. */
  readonly #busy = new Map<WorkerThread, number>();
  /** Buffers of answered parts, which later parts fill again. */
  readonly #spare: ArrayBuffer[] = [];
  /** Replies that wait for the reply of an earlier part, by the number of the part. */
  readonly #results = new Map<number, Answer>();
  #resolve: () => void = () => undefined;
  #reject: (error: unknown) => void = () => undefined;
  /** The next part to send, and the next whose result is taken: `#taken <= #next`. */
  #next = 0;
  #taken = 0;
  /** The first error, in a box because a task may throw any value, undefined included. */
  #failure: { error: unknown } | null = null;
  /** 1 after a stop. Workers see it at once where memory can be shared. */
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

  /** Opens the job on a worker. Parts follow in `start`, when all workers have it. */
  open(
    worker: WorkerThread,
    message: Omit<Extract<ToWorker, { kind: 'open' }>, 'kind' | 'modules' | 'job' | 'stopped'>,
    transfer: readonly ArrayBuffer[],
  ): void {
    worker.join(this.#number, this);
    this.#busy.set(worker, 0);
    const own = { modules: kernelModules(), job: this.#number, stopped: this.#stopped };
    worker.post({ kind: 'open', ...own, ...message }, transfer);
  }

  /** Sends the first parts; the promise settles when no worker is busy with this job. */
  start(): Promise<void> {
    this.#call.signal?.addEventListener('abort', this.#stop);
    this.#feedAll();
    this.#endWhenDone();
    return this.#ended;
  }

  /** A part is done or failed: takes what is next in order and sends more parts. */
  onReply(worker: WorkerThread, message: Answer): void {
    this.#busy.set(worker, (this.#busy.get(worker) as number) - 1);
    this.#results.set(message.part, message);
    if (message.kind === 'done') this.#spare.push(...message.copies);
    this.#guarded(() => this.#take());
    this.#feedAll();
    this.#endWhenDone();
  }

  /** A worker died: its parts are lost, so the job fails; the others only finish theirs. */
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

  /** Sends parts to a worker until it has PARTS_AHEAD, or until results are too far ahead. */
  #feed(worker: WorkerThread): void {
    const most = this.#taken + RESULTS_AHEAD * this.#workers.length;
    for (;;) {
      const busy = this.#busy.get(worker);
      if (busy === undefined || busy >= PARTS_AHEAD || this.#isStopped) return;
      if (this.#next >= Math.min(this.#job.count, most)) return;
      const part = new Packed(this.#job.part(this.#next), 'part', this.#memories, this.#spare);
      const { value, transfer: copies } = part;
      worker.post({ kind: 'part', job: this.#number, part: this.#next, value, copies }, copies);
      this.#busy.set(worker, busy + 1);
      this.#next++;
    }
  }

  /** Takes results in order, as far as they are there; throws the first failure in that order. */
  #take(): void {
    for (;;) {
      const message = this.#results.get(this.#taken);
      if (message === undefined || this.#isStopped) return;
      this.#results.delete(this.#taken);
      if (message.kind === 'failed') throw message.error;
      const progress = this.#job.take(message.result as R, this.#taken++);
      if (progress !== undefined) this.#call.onProgress?.(...progress);
    }
  }

  /** An abort counts at once, before any worker has seen `#stopped`. */
  get #isStopped(): boolean {
    return this.#failure !== null || this.#call.signal?.aborted === true;
  }

  /** Runs code of the job, which may throw; an error stops the job and is reported at its end. */
  #guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#failure ??= { error };
      this.#stop();
    }
  }

  /** Settles the promise only when no worker is busy: until then they read the shared memories. */
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

/** What the owner of a worker is notified of. */
interface Listener {
  onMessage(message: unknown): void;
  /** The worker is gone: it failed, was killed or could not start. May be called more than once. */
  onEnd(reason: string): void;
}

/** A running worker. */
interface Host {
  /** Sends a message; buffers in `transfer` move to the worker and are detached here. */
  post(message: unknown, transfer: readonly ArrayBuffer[]): void;
  /** Sets whether the worker keeps the program running. No effect in browsers. */
  hold(isHeld: boolean): void;
  end(): Promise<unknown>;
}

const nodeThreads = () => globalThis.process?.getBuiltinModule?.('node:worker_threads');

/**
 * Starts a worker that runs `script`. Throws where the engine cannot make one; one that is made but
 * cannot start calls `onEnd`.
 */
function startHost(script: string, listener: Listener): Host {
  const node = nodeThreads();
  return node === undefined ? webHost(script, listener) : nodeHost(node, script, listener);
}

function nodeHost(
  { Worker: NodeWorker }: NonNullable<ReturnType<typeof nodeThreads>>,
  script: string,
  { onMessage, onEnd }: Listener,
): Host {
  const worker = new NodeWorker(script, { eval: true, execArgv: [], name: 'halfspace' });
  // Started as not held: an unused worker must not keep the program from ending.
  worker.unref();
  worker.on('message', onMessage);
  worker.on('error', (error) => onEnd(String((error as Error)?.message ?? error)));
  worker.on('exit', (code) => onEnd(`exit code ${code}`));
  return {
    post: (message, transfer) => worker.postMessage(message, transfer),
    hold: (isHeld) => (isHeld ? worker.ref() : worker.unref()),
    end: () => worker.terminate(),
  };
}

function webHost(script: string, { onMessage, onEnd }: Listener): Host {
  const url = URL.createObjectURL(new Blob([script], { type: 'text/javascript' }));
  const worker = new Worker(url);
  worker.onmessage = ({ data }) => {
    // The first message proves that the script was loaded, so its Blob is no longer needed.
    URL.revokeObjectURL(url);
    onMessage(data);
  };
  worker.onerror = (event) => {
    event.preventDefault();
    onEnd(event.message || 'it could not start');
  };
  worker.onmessageerror = () => onEnd('a message could not be read');
  return {
    post: (message, transfer) => worker.postMessage(message, [...transfer]),
    hold: () => undefined,
    end: async () => worker.terminate(),
  };
}
