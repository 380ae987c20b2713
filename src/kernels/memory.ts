/**
 * The linear memories of the WebAssembly kernels: where they are made, viewed and grown. Large runs
 * of codes, and all that an index or a join holds, live in their own memories with space for a
 * call's query and hits below the data, so that kernels read it without a copy. Everything else is
 * copied into one shared scratch memory, whose contents last until the next kernel call.
 *
 * Addresses of a memory: 0 constants of the module, FREE_START scratch space of a call, and, in a
 * separate memory, CODES_START the data.
 */

import { type KernelExports, MODULE_TEXT } from './module.generated';

const PAGE_BYTES = 65_536;
/** The first address that a call may use; the module's constants are below. */
export const FREE_START = PAGE_BYTES;
/** Bytes of scratch space from `FREE_START` on, below the data in a separate memory. */
export const SCAN_BYTES = 10 * PAGE_BYTES;
/** The address of the data in a separate memory. */
export const CODES_START = FREE_START + SCAN_BYTES;
/** Kernels load whole 16-byte registers, so they may read (not use) bytes behind the last code. */
const PADDING_BYTES = 16;
/** Shorter runs of codes are copied for each scan: a separate memory takes 12 pages or more. */
const MIN_OWN_BYTES = 65_536;
/** A scratch memory that grew beyond this is released by the next call that needs less. */
const MAX_IDLE_SCRATCH_BYTES = 16 << 20;

let compiled: WebAssembly.Module | null | undefined;

/** The compiled module, or null where WebAssembly or its SIMD is missing or forbidden. */
export function kernelModule(): WebAssembly.Module | null {
  if (compiled === undefined) {
    try {
      compiled = new WebAssembly.Module(moduleBytes());
    } catch {
      compiled = null;
    }
  }
  return compiled;
}

/** The bytes that MODULE_TEXT spells. */
function moduleBytes(): Uint8Array<ArrayBuffer> {
  const bytes: number[] = [];
  let prefix = 0;
  for (let i = 0; i < MODULE_TEXT.length; i++) {
    const digit = MODULE_TEXT.charCodeAt(i) - 35;
    if (digit < 89) bytes.push(prefix + digit - 4);
    prefix = digit < 89 ? 0 : 89 * (digit - 88);
  }
  return Uint8Array.from(bytes); // modulo 256
}

/** A WebAssembly memory and an instance of the module bound to it. */
export class LinearMemory {
  readonly kernels: KernelExports;
  readonly #memory: WebAssembly.Memory;
  #bytes: Uint8Array<ArrayBuffer>;

  constructor(byteLength: number) {
    this.#memory = new WebAssembly.Memory({ initial: Math.ceil(byteLength / PAGE_BYTES) });
    this.#bytes = new Uint8Array(this.#memory.buffer);
    const module = kernelModule() as WebAssembly.Module;
    const imports = { env: { memory: this.#memory } };
    this.kernels = new WebAssembly.Instance(module, imports).exports as unknown as KernelExports;
  }

  /** The whole memory; make other views from its `buffer`, after the last `reserve`. */
  get bytes(): Uint8Array<ArrayBuffer> {
    return this.#bytes;
  }

  /** Makes addresses below `end` valid. Detaches earlier views when it has to grow. */
  reserve(end: number): void {
    const missing = end - this.#bytes.length;
    if (missing <= 0) return;
    this.#memory.grow(Math.ceil(missing / PAGE_BYTES));
    this.#bytes = new Uint8Array(this.#memory.buffer);
  }
}

let shared: LinearMemory | undefined;

/** The shared memory with at least `byteLength` free bytes from `FREE_START` on. */
export function scratch(byteLength: number): LinearMemory {
  const end = FREE_START + byteLength;
  if (
    shared === undefined ||
    (shared.bytes.length > MAX_IDLE_SCRATCH_BYTES && end < MAX_IDLE_SCRATCH_BYTES)
  ) {
    shared = new LinearMemory(end);
  }
  shared.reserve(end);
  return shared;
}

/** The memories whose data kernels read in place, by their buffer. */
const owned = new WeakMap<ArrayBufferLike, LinearMemory>();

/**
 * Bytes that can grow, in a separate linear memory where the engine has WebAssembly, else in
 * plain memory. Growing detaches views: make them again from `bytes` after each `reserve`.
 */
export class Arena {
  readonly #memory: LinearMemory | null;
  #bytes: Uint8Array<ArrayBuffer>;

  constructor(byteLength = 0) {
    this.#memory = newMemory(CODES_START + byteLength);
    this.#bytes = this.#memory === null ? new Uint8Array(byteLength) : new Uint8Array();
    this.#view();
  }

  get bytes(): Uint8Array<ArrayBuffer> {
    return this.#bytes;
  }

  /** Grows to at least `byteLength` bytes; new ones are 0. */
  reserve(byteLength: number): void {
    if (byteLength <= this.#bytes.length) return;
    if (this.#memory === null) {
      const grown = new Uint8Array(byteLength);
      grown.set(this.#bytes);
      this.#bytes = grown;
    } else {
      this.#memory.reserve(CODES_START + byteLength);
      this.#view();
    }
  }

  #view(): void {
    if (this.#memory === null) return;
    owned.set(this.#memory.bytes.buffer, this.#memory);
    this.#bytes = this.#memory.bytes.subarray(CODES_START);
  }
}

/** A memory, or null where there is no WebAssembly or the engine refuses so many bytes. */
function newMemory(byteLength: number): LinearMemory | null {
  if (kernelModule() === null) return null;
  try {
    return new LinearMemory(byteLength);
  } catch {
    return null;
  }
}

/**
 * Zeroed bytes for codes, in a separate linear memory when they are many and the engine has
 * WebAssembly; such a memory never grows, so views of it stay valid. Throws the engine's RangeError
 * when there is not enough memory.
 */
export function allocateCodes(byteLength: number): Uint8Array<ArrayBuffer> {
  if (byteLength < MIN_OWN_BYTES) return new Uint8Array(byteLength);
  const memory = newMemory(CODES_START + byteLength + PADDING_BYTES);
  if (memory === null) return new Uint8Array(byteLength); // scans copy them in blocks
  owned.set(memory.bytes.buffer, memory);
  return memory.bytes.subarray(CODES_START, CODES_START + byteLength);
}

/** The linear memory that holds these values, or undefined where kernels cannot read in place. */
export function memoryOf(values: ArrayBufferView): LinearMemory | undefined {
  return owned.get(values.buffer);
}
