/**
 * The linear memory of the WebAssembly kernels: where it is made, viewed and grown. Codes of some
 * size live in a memory of their own, below them room for a scan's query and hits, so that a scan
 * reads them where they lie; such a memory never grows, so views on it stay valid. Everything else
 * passes through one shared scratch memory, whose views are good until the next `scratch()`.
 */

import { type KernelExports, MODULE_BASE64 } from './module.generated';

const PAGE_BYTES = 65_536;
/** The first address that is free to use; the module's constants are below. */
export const FREE_START = PAGE_BYTES;
/** Room for a scan: from `FREE_START` on, and below codes in a memory of their own. */
export const SCAN_BYTES = 10 * PAGE_BYTES;
/** Where codes begin in a memory of their own: behind the room for a scan. */
export const CODES_START = FREE_START + SCAN_BYTES;
/** A scan may read, but not use, so many bytes behind the last code. */
const BEHIND_BYTES = 16;
/** Below this a copy per scan costs less than a memory of its own. */
const RESIDENT_BYTES = 65_536;
/** A scratch memory that grew beyond this is not kept for later calls. */
const KEPT_SCRATCH_BYTES = 16 << 20;

let compiled: WebAssembly.Module | null | undefined;

/** The kernels' module, or null where WebAssembly or its SIMD is missing or forbidden. */
export function kernelModule(): WebAssembly.Module | null {
  if (compiled === undefined) {
    try {
      const bytes = Uint8Array.from(atob(MODULE_BASE64), (character) => character.charCodeAt(0));
      compiled = new WebAssembly.Module(bytes);
    } catch {
      compiled = null;
    }
  }
  return compiled;
}

/** One WebAssembly memory with the kernels bound to it. */
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
    (shared.bytes.length > KEPT_SCRATCH_BYTES && end < KEPT_SCRATCH_BYTES)
  ) {
    shared = new LinearMemory(end);
  }
  shared.reserve(end);
  return shared;
}

const residents = new WeakMap<ArrayBufferLike, LinearMemory>();

/**
 * Bytes that grow, in a linear memory of their own with room for a scan below them; in plain memory
 * where the engine has no WebAssembly. Growing detaches views: take `bytes` anew after `reserve`.
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

  /** Makes room for `byteLength` bytes; new ones are 0. */
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
    residents.set(this.#memory.bytes.buffer, this.#memory);
    this.#bytes = this.#memory.bytes.subarray(CODES_START);
  }
}

/** A memory, or null where there is no WebAssembly or no room for one. */
function newMemory(byteLength: number): LinearMemory | null {
  if (kernelModule() === null) return null;
  try {
    return new LinearMemory(byteLength);
  } catch {
    return null;
  }
}

/**
 * Zeroed bytes for codes, in a linear memory of their own when they are many and the engine has
 * WebAssembly. The engine's own RangeError when there is no memory for them.
 */
export function allocateCodes(byteLength: number): Uint8Array<ArrayBuffer> {
  if (byteLength < RESIDENT_BYTES) return new Uint8Array(byteLength);
  const memory = newMemory(CODES_START + byteLength + BEHIND_BYTES);
  if (memory === null) return new Uint8Array(byteLength); // scans will copy blocks
  residents.set(memory.bytes.buffer, memory);
  return memory.bytes.subarray(CODES_START, CODES_START + byteLength);
}

/** The linear memory in which these values lie, if they have one of their own. */
export function residenceOf(values: ArrayBufferView): LinearMemory | undefined {
  return residents.get(values.buffer);
}
