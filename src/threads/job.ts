/** What a job and its task are: the words in which layers above state work that threads share. */

/**
 * What a part of a job does. `open` makes the function that does a part from the state of the job,
 * once for each thread. It must depend on nothing else: `src/worker.ts` lists all tasks by name.
 */
export interface Task<S, P, R> {
  readonly name: string;
  open(state: S): (part: P) => R;
}

/**
 * State, parts and results are plain objects of numbers, strings and typed arrays. Threads read
 * views of shared memories in place; other arrays are copied. Something else, as a function, keeps
 * the job on the calling thread.
 */
export interface Job<S, P, R> {
  /** Without `open` the calling thread has a better way to do the whole. */
  readonly task: Pick<Task<S, P, R>, 'name'> & Partial<Task<S, P, R>>;
  readonly state: S;
  /** Number of parts, each some milliseconds of work; may change while results are taken. */
  readonly count: number;
  /** The part number `i`; asked for in order. */
  part(i: number): P;
  /** How many results must have been taken before part `i` is asked for; none without it. */
  after?(i: number): number;
  /** Takes the results, in the order of the parts, and returns the progress where it is known. */
  take(result: R, i: number): readonly [done: number, total: number] | undefined;
  /** True where the state is too large to be copied: only threads that share memory help. */
  readonly sharesRows?: boolean;
  /** Does a part on the calling thread, where that has what `open` would make. */
  here?(part: P): R;
  /** Bytes of scratch space that a thread's kernels need in a shared memory, if more than usual. */
  readonly scratchBytes?: number;
}
