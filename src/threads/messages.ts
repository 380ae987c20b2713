/**
 * What the calling thread and its workers tell each other, and how values are packed for it. A view
 * of a shared memory becomes its address, so nothing is copied; other typed arrays are copied once
 * and given away.
 */

import { type KernelModules, type LinearMemory, memoryOf } from '../kernels/memory';

export type ToWorker =
  | { readonly kind: 'modules'; readonly modules: KernelModules }
  | {
      readonly kind: 'open';
      readonly job: number;
      readonly task: string;
      readonly state: unknown;
      readonly memories: readonly WebAssembly.Memory[];
      /** The worker's scratch space in each memory. */
      readonly areas: readonly number[];
      /** 1 once the job is stopped: parts that have not begun are dropped. */
      readonly stopped: Int32Array;
    }
  | {
      readonly kind: 'part';
      readonly job: number;
      readonly part: number;
      readonly value: unknown;
      /** The copies in the value, which come back with the result to be filled again. */
      readonly copies: readonly ArrayBuffer[];
    }
  | { readonly kind: 'close'; readonly job: number };

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

const TYPES = [
  ...[Uint8Array, Int8Array, Uint16Array, Int16Array, Uint32Array, Int32Array],
  ...[Float32Array, Float64Array, BigUint64Array, BigInt64Array],
];
type TypedArray = InstanceType<(typeof TYPES)[number]>;

/** A view of a memory of the message: its type and memory by their numbers, its place in bytes. */
class Place {
  constructor(
    readonly $type: number,
    readonly memory: number,
    readonly byteOffset: number,
    readonly length: number,
  ) {}
}

/** Values packed for one message. */
export class Packed {
  readonly value: unknown;
  /** The shared memories that hold views of the value, or of the state of the job. */
  readonly memories: LinearMemory[];
  readonly transfer: ArrayBuffer[] = [];
  /** False when the value holds what threads cannot share. */
  canBeSent = true;

  readonly #role: 'state' | 'part' | 'result';
  /** Buffers of earlier parts: new ones cost more than the copy into them. */
  readonly #spare: ArrayBuffer[];

  /** Arrays of a result were made for it and are given away; others are copied. */
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

  #pack(value: unknown): unknown {
    if (typeof value === 'function') this.canBeSent = false;
    if (typeof value !== 'object' || value === null) return value;
    if (ArrayBuffer.isView(value)) return this.#packView(value as TypedArray);
    if (Array.isArray(value)) {
      const isFlat = value.every((one) => typeof one === 'string' || typeof one === 'number');
      return isFlat ? value : value.map((one) => this.#pack(one));
    }
    const entries = Object.entries(value).map(([key, one]) => [key, this.#pack(one)]);
    return Object.fromEntries(entries);
  }

  #packView(view: TypedArray): unknown {
    const { buffer, byteOffset, length } = view;
    const home = memoryOf(view);
    const isKnown = home !== undefined && this.memories.includes(home);
    if (home?.isShared && (isKnown || this.#role === 'state')) {
      const type = TYPES.findIndex((Type) => view instanceof Type);
      return new Place(type, this.#numberOf(home), byteOffset, length);
    }
    // Many rows, of which each worker would get a copy.
    if (home !== undefined && this.#role === 'state') this.canBeSent = false;
    if (home === undefined && !(buffer instanceof ArrayBuffer)) return view;
    const isGiven = this.#role === 'result' && home === undefined;
    const isWhole = isGiven && view.byteLength === buffer.byteLength;
    const copy = isWhole ? view : this.#copied(view);
    const own = copy.buffer as ArrayBuffer;
    // An empty one may be a constant: given away once, browsers refuse it the next time.
    if (own.byteLength > 0 && !this.transfer.includes(own)) this.transfer.push(own);
    return copy;
  }

  /** A copy of a view, in a buffer that was used before where one has its length. */
  #copied(view: TypedArray): TypedArray {
    const at = this.#spare.findIndex(({ byteLength }) => byteLength === view.byteLength);
    if (at < 0) return view.slice();
    const [buffer] = this.#spare.splice(at, 1);
    const copy = new (view.constructor as Float32ArrayConstructor)(buffer);
    copy.set(view as Float32Array);
    return copy;
  }

  #numberOf(memory: LinearMemory): number {
    const known = this.memories.indexOf(memory);
    return known >= 0 ? known : this.memories.push(memory) - 1;
  }
}

/** The value that was packed; views of `memories` in place. */
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
