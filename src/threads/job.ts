/**
 * The types `Job` and `Task`, in which layers above state work that can be shared among threads. A
 * task is code that every thread has; a job is one call's state, its parts and what to do with
 * results. `parallel.ts` runs a job; `pool.ts` runs it on workers.
 */

/**
 * How one part of a job is computed. `open` runs once a thread and returns the function that
 * computes a part; it may read nothing but the state of the job, since it runs in another thread.
 * `src/worker.ts` lists all tasks, and a worker finds them there by `name`.
 */
export interface Task<S, P, R> {
  readonly name: string;
  open(state: S): (part: P) => R;
}

/**
 * One call's work, cut into parts whose results are taken in order. State, parts and results are
 * plain objects of numbers, strings and typed arrays: threads read views of shared memories in
 * place, other arrays are copied. Other values, as functions, keep a job on the calling thread.
 */
export interface Job<S, P, R> {
  /**
   * The task; without `open` the job runs on workers or, where none can be had, not at all:
   * `runJob` rejects.
   */
  readonly task: Pick<Task<S, P, R>, 'name'> & Partial<Task<S, P, R>>;
  /** Sent to each worker once. A getter may build it when it is read. */
  readonly state: S;
  /** Number of parts, each some milliseconds of work; may change while results are taken. */
  readonly count: number;
  /** Makes part `i`. Called once for each `i`, in ascending order. */
  part(i: number): P;
  /**
   * The number of results that must be taken before part `i` is made; 0 without this function. For
   * parts that depend on earlier results.
   */
  after?(i: number): number;
  /** Takes the results in the order of the parts; returns the progress to report, if known. */
  take(result: R, i: number): readonly [done: number, total: number] | undefined;
  /** True where the state is too large to be copied: then only threads with shared memory help. */
  readonly sharesRows?: boolean;
  /** Computes a part on the calling thread, where it already holds what `open` would build. */
  here?(part: P): R;
  /** Bytes of scratch space of a thread's kernels in each shared memory; default `SCAN_BYTES`. */
  readonly scratchBytes?: number;
}
