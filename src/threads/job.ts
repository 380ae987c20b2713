/**
 * The types `Job` and `Task`, in which layers above state work that can be shared among threads. A
 * task is code that every thread has; a job is one call's state, its parts and what to do with
 * results. `parallel.ts` runs a job; `pool.ts` runs it on workers, by the messages below. In these
 * a view of a shared memory is sent as its address and read in place; other typed arrays are copied
 * once and the copy is transferred, not cloned again by `postMessage`.
 */

import { type KernelModules, type LinearMemory, memoryOf, type Room } from '../kernels/memory';

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
  /** Takes the results in the order of the parts; returns the progress to report, if known. */
  take(result: R, i: number): readonly [done: number, total: number] | undefined;
  /** True where the state is too large to be copied: then only threads with shared memory help. */
  readonly sharesRows?: boolean;
  /** Computes a part on the calling thread, where it already holds what `open` would build. */
  here?(part: P): R;
  /** Bytes of scratch space of a thread's kernels in each shared memory; default `SCAN_BYTES`. */
  readonly scratchBytes?: number;
}

/** From the calling thread: `open`, parts and `close` for each job. */
export type ToWorker =
  | {
      readonly kind: 'open';
      /** All kernels that an import has brought so far. */
      readonly modules: KernelModules;
      readonly job: number;
      readonly task: string;
      readonly state: unknown;
      readonly memories: readonly WebAssembly.Memory[];
      /** This worker's scratch space in each memory. */
      readonly areas: readonly Room[];
      /** Becomes 1 when the job is stopped: parts that have not begun are dropped. */
      readonly stopped: Int32Array;
    }
  | {
      readonly kind: 'part';
      readonly job: number;
      readonly part: number;
      readonly value: unknown;
      /** Buffers of the value: they come back with the result, to be filled for a later part. */
      readonly copies: readonly ArrayBuffer[];
    }
  | { readonly kind: 'close'; readonly job: number };

/**
 * From a worker: `ready` once, then an answer for each part that it was sent; without a result
 * where the job was stopped before the part began.
 */
export type FromWorker = { readonly kind: 'ready' } | Answer;
export type Answer =
  | {
      readonly kind: 'done';
      readonly job: number;
      readonly part: number;
      readonly result: unknown;
      readonly copies: readonly ArrayBuffer[];
    }
  | {
      readonly kind: 'failed';
      readonly job: number;
      readonly part: number;
      readonly error: unknown;
    };

// A type is sent as its position in this list.
const TYPES = [
  Uint8Array,
  Int8Array,
  Uint16Array,
  Int16Array,
  Uint32Array,
  Int32Array,
  Float32Array,
  Float64Array,
  BigUint64Array,
  BigInt64Array,
];
type TypedArray = InstanceType<(typeof TYPES)[number]>;

/**
 * Stands for a view of a shared memory: positions in TYPES and in the message's memories, and the
 * view's offset in bytes and length in elements. `$type` is how `unpacked` recognizes it.
 */
class Place {
  constructor(
    readonly $type: number,
    readonly memory: number,
    readonly byteOffset: number,
    readonly length: number,
  ) {}
}

/** A value packed for one message. If `canBeSent` is false, the rest must not be used. */
export class Packed {
  readonly value: unknown;
  /** The shared memories that contain views of the value, or of the state of its job. */
  readonly memories: LinearMemory[];
  /** Buffers to transfer with the message; those of the caller only for a 'result'. */
  readonly transfer: ArrayBuffer[] = [];
  /** False if the value contains something that threads cannot share, such as a function. */
  canBeSent = true;

  readonly #role: 'state' | 'part' | 'result';
  /** Buffers of earlier parts, for copies of the same length: new ones cost more than the copy. */
  readonly #spare: ArrayBuffer[];

  /**
   * Arrays of a 'result' were made for it, so they are transferred; others are copied first. A
   * state adds the shared memories of its views to `memories`; parts use only those of their state.
   */
  constructor(
    value: unknown,
    role: 'state' | 'part' | 'result',
    memories: LinearMemory[] = [],
    spare: ArrayBuffer[] = [],
  ) {
    this.#role = role;
    this.#spare = spare;
    this.memories = memories;
    this.value = this.#pack(value);
  }

  /** Packs a value and all that it contains. */
  #pack(value: unknown): unknown {
    if (typeof value === 'function') this.canBeSent = false;
    if (typeof value !== 'object' || value === null) return value;
    if (ArrayBuffer.isView(value)) return this.#packView(value as TypedArray);
    if (Array.isArray(value)) {
      const isFlat = value.every((one) => typeof one === 'string' || typeof one === 'number');
      // Long lists of ids or texts pass as they are: packing each element would copy them.
      return isFlat ? value : value.map((one) => this.#pack(one));
    }
    const entries = Object.entries(value).map(([key, one]) => [key, this.#pack(one)]);
    return Object.fromEntries(entries);
  }

  /** A view as its place in a shared memory, as itself if it need not be copied, or as a copy. */
  #packView(view: TypedArray): unknown {
    const { buffer, byteOffset, length } = view;
    const home = memoryOf(view);
    const isKnown = home !== undefined && this.memories.includes(home);
    if (home?.isShared && (isKnown || this.#role === 'state')) {
      const type = TYPES.findIndex((Type) => view instanceof Type);
      return new Place(type, this.#numberOf(home), byteOffset, length);
    }
    // A view of a memory that cannot be shared: each worker would get a copy of many rows.
    if (home !== undefined && this.#role === 'state') this.canBeSent = false;
    // A SharedArrayBuffer outside of kernel memories (`sharedValues`) is shared by `postMessage`.
    if (home === undefined && !(buffer instanceof ArrayBuffer)) return view;
    const isGiven = this.#role === 'result' && home === undefined;
    const isWhole = isGiven && view.byteLength === buffer.byteLength;
    const copy = isWhole ? view : this.#copied(view);
    const own = copy.buffer as ArrayBuffer;
    // An empty array may be a shared constant: once transferred, browsers refuse it the next time.
    if (own.byteLength > 0 && !this.transfer.includes(own)) this.transfer.push(own);
    return copy;
  }

  /** Copies a view, into a spare buffer where one has exactly its length. */
  #copied(view: TypedArray): TypedArray {
    const at = this.#spare.findIndex(({ byteLength }) => byteLength === view.byteLength);
    if (at < 0) return view.slice();
    const [buffer] = this.#spare.splice(at, 1);
    const copy = new (view.constructor as Float32ArrayConstructor)(buffer);
    copy.set(view as Float32Array);
    return copy;
  }

  /** The position of a memory in the message, where it is added at its first use. */
  #numberOf(memory: LinearMemory): number {
    const known = this.memories.indexOf(memory);
    return known >= 0 ? known : this.memories.push(memory) - 1;
  }
}

/**
 * Rebuilds a value that `Packed` packed. Arrays are copies that the receiver owns, or views of
 * `memories` where they were views of shared memories.
 */
export function unpacked(value: unknown, memories: readonly WebAssembly.Memory[]): unknown {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
  if (Array.isArray(value)) {
    return typeof value[0] === 'object' ? value.map((one) => unpacked(one, memories)) : value;
  }
  if ('$type' in value) {
    const { $type, memory, byteOffset, length } = value as Place;
    return new TYPES[$type](memories[memory].buffer, byteOffset, length);
  }
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, unpacked(one, memories)]),
  );
}
