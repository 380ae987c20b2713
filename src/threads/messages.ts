/**
 * The messages between the calling thread and its workers, and how values are packed into them. A
 * view of a shared memory is sent as its address and read in place; other typed arrays are copied
 * once and the copy is transferred, not cloned again by `postMessage`.
 */

import { type KernelModules, type LinearMemory, memoryOf, type Room } from '../kernels/memory';

/** From the calling thread. `modules` comes first; then `open`, parts and `close` for each job. */
export type ToWorker =
  | { readonly kind: 'modules'; readonly modules: KernelModules }
  | {
      readonly kind: 'open';
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

/** From a worker: `ready` once, then one of the others for each part that it was sent. */
export type FromWorker =
  | { readonly kind: 'ready' }
  | {
      readonly kind: 'done';
      readonly job: number;
      readonly part: number;
      readonly result: unknown;
      readonly copies: readonly ArrayBuffer[];
    }
  | { readonly kind: 'dropped'; readonly job: number; readonly part: number }
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
