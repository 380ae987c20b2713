/**
 * Makes, views and grows the linear memories of the WebAssembly kernels. Large runs of codes, and
 * the data of an index or a join, live in separate memories, with space for a call's query and hits
 * below the data, so that kernels read it without a copy. All other data is copied into the scratch
 * memory of the thread, whose contents last until the next kernel call.
 *
 * Addresses of a memory: from FREE_START the scratch space of a call, and in a separate memory from
 * CODES_START the data. Threads that read one memory have their own instances of the modules, and
 * their own scratch spaces behind the data.
 */

import { type HashKernels, hashModule } from './hash.generated';
import type { ProductsKernels } from './products.generated';
import type { SearchKernels } from './search.generated';

const PAGE_BYTES = 65_536;
/** Pages that 32-bit addresses reach: 4 GiB. Module and memories must state this as maximum. */
const MAX_PAGES = 65_536;
/** The first address that a call may use. */
export const FREE_START = PAGE_BYTES;
/** Bytes of scratch space for a call, below the data in a separate memory. */
export const SCAN_BYTES = 10 * PAGE_BYTES;
/** The address of the data in a separate memory. */
const CODES_START = FREE_START + SCAN_BYTES;
/** Kernels load whole registers, some ahead: they may read (not use) bytes behind the last row. */
const PADDING_BYTES = 64;
/** Bytes of data that fit one memory. */
export const MAX_DATA_BYTES = MAX_PAGES * PAGE_BYTES - CODES_START - PADDING_BYTES;
/** Shorter runs of codes are copied for each scan: a separate memory takes 12 pages or more. */
const MIN_OWN_BYTES = 65_536;
/** A scratch memory that grew beyond this is released by the next call that needs less. */
const MAX_IDLE_SCRATCH_BYTES = 16 << 20;

/** Fewer bytes of shared memory are not worth a collection of garbage. */
const MIN_COUNTED_BYTES = 2 ** 25;

/** What all kernels but those that hash vectors and scan codes say where they cannot run. */
const NEEDS_WEBASSEMBLY =
  'this needs WebAssembly with SIMD, which the engine lacks, or the page forbids by a ' +
  "Content-Security-Policy without 'wasm-unsafe-eval'; without it vectors can be hashed, and " +
  'codes scanned';

/** A module as scripts/build-kernels.mjs writes it. */
interface ModuleText {
  readonly name: string;
  readonly limitsAt: number;
  readonly text: string;
}

/** The modules that this program has: the one that hashes, and others when they are imported. */
const texts: ModuleText[] = [hashModule];

/** Makes a module known; returns it. An import of kernels may do so, and nothing else. */
export function registered(module: ModuleText): ModuleText {
  texts.push(module);
  return module;
}

/**
 * Compiled modules by name, for plain memories and for shared ones. Null where the engine cannot
 * compile it, undefined before it was needed.
 */
export interface KernelModules {
  [name: string]: Record<'plain' | 'shared', WebAssembly.Module | null | undefined>;
}
const compiled: KernelModules = {};

/** The module for memories that are shared or not; null where the engine has none. */
function moduleFor(module: ModuleText, isShared: boolean): WebAssembly.Module | null {
  compiled[module.name] ??= { plain: undefined, shared: undefined };
  const own = compiled[module.name];
  if (!isShared) {
    if (own.plain === undefined) own.plain = moduleOf(bytesOf(module));
    return own.plain;
  }
  if (own.shared === undefined) {
    const isPossible = typeof SharedArrayBuffer === 'function' && moduleFor(module, false) !== null;
    const bytes = isPossible ? bytesOf(module) : new Uint8Array(module.limitsAt + 1);
    bytes[module.limitsAt] = 3; // the only byte in which the two differ
    own.shared = isPossible ? moduleOf(bytes) : null;
  }
  return own.shared;
}

/** True where WebAssembly with SIMD is there and allowed. */
export function hasKernels(): boolean {
  return moduleFor(hashModule, false) !== null;
}

/** True where threads can read each other's memory. */
export function canShareMemory(): boolean {
  return moduleFor(hashModule, true) !== null;
}

/** All modules, compiled, for another thread to adopt. */
export function kernelModules(): KernelModules {
  for (const module of texts) moduleFor(module, true);
  return compiled;
}

/** Makes this thread use modules that another thread compiled. */
export function adoptModules(modules: KernelModules): void {
  Object.assign(compiled, modules);
}

function moduleOf(bytes: Uint8Array<ArrayBuffer>): WebAssembly.Module | null {
  for (const one of [bytes, strictly(bytes)]) {
    try {
      return new WebAssembly.Module(one);
    } catch {} // the engine lacks relaxed SIMD, or WebAssembly
  }
  return null;
}

/**
 * A module whose swizzles are strict where they were relaxed, for engines without relaxed SIMD: the
 * opcode 14 in as many bytes as 256. Indices are below 16, for which both give the same.
 */
function strictly(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const copy = bytes.slice();
  for (let at = 0; at < copy.length; at++) {
    const isRelaxed = copy[at] === 0xfd && copy[at + 1] === 0x80 && copy[at + 2] === 2;
    if (isRelaxed) copy.set([0x8e, 0], at + 1);
  }
  return copy;
}

/**
 * Decodes the text of a module: a byte plus 4 is a number in base 89, written as a character from
 * '#' on, with '|' or '}' before it for 89 or 178 more. scripts/build-kernels.mjs says why.
 */
function bytesOf({ text }: ModuleText): Uint8Array<ArrayBuffer> {
  const bytes: number[] = [];
  let prefix = 0;
  for (let i = 0; i < text.length; i++) {
    const digit = text.charCodeAt(i) - 35;
    if (digit < 89) bytes.push(prefix + digit - 4);
    prefix = digit < 89 ? 0 : 89 * (digit - 88);
  }
  return Uint8Array.from(bytes); // modulo 256, so -4 to -1 are 252 to 255
}

/**
 * Tells the engine of shared memory, which it does not count when it decides whether to collect
 * garbage: by an ordinary buffer of that size that nothing writes to, so that it takes no memory.
 * Else dead segments of a build stay until there are gigabytes of them.
 */
function countShared(byteLength: number): void {
  if (byteLength >= MIN_COUNTED_BYTES) new ArrayBuffer(byteLength);
}

/** A WebAssembly memory and this thread's instances of the modules, which read and write it. */
export class LinearMemory {
  readonly memory: WebAssembly.Memory;
  readonly isShared: boolean;
  /** The scratch space of this thread's calls, of SCAN_BYTES. */
  readonly room: Room;
  /** By thread its scratch space, behind the data, as `reserveAreas` made them. */
  readonly #areas = new Map<number, Room>();
  #kernels: HashKernels | undefined;
  /** Set by `searchKernels`, which only what searches imports. */
  search: SearchKernels | undefined;
  /** Set by products.ts, which only spaces and clusters import. */
  products: ProductsKernels | undefined;
  /** Another one of this thread. */
  #spare: Room | null = null;
  #bytes: Uint8Array<ArrayBuffer>;

  /** Over an existing memory, which another thread may use as well. */
  constructor(
    memory: WebAssembly.Memory,
    { at, byteLength }: Room = { at: FREE_START, byteLength: SCAN_BYTES },
  ) {
    this.memory = memory;
    this.room = { at, byteLength: SCAN_BYTES };
    const spare = byteLength - SCAN_BYTES;
    if (spare > 0) this.#spare = { at: at + SCAN_BYTES, byteLength: spare };
    this.#bytes = new Uint8Array(memory.buffer);
    this.isShared = !(memory.buffer instanceof ArrayBuffer);
  }

  /** A new instance of the first of some modules that the engine compiles. */
  instanceOf(...modules: readonly ModuleText[]): WebAssembly.Exports {
    const imports = { env: { memory: this.memory } };
    const { isShared } = this;
    const [code] = modules.flatMap((module) => moduleFor(module, isShared) ?? []);
    return new WebAssembly.Instance(code, imports).exports;
  }

  /** The kernels that hash and scan, and read texts. */
  get kernels(): HashKernels {
    this.#kernels ??= this.instanceOf(hashModule) as unknown as HashKernels;
    return this.#kernels;
  }

  /**
   * A new memory, all zero, of at least `byteLength` bytes. Throws where there is not so much.
   * What will not grow takes addresses for its own bytes alone: there may be hundreds, and 4 GiB
   * for each are more than a process with a limit of addresses has.
   */
  static allocate(byteLength: number, shared: boolean, canGrow = true): LinearMemory {
    if (!hasKernels()) throw new Error(NEEDS_WEBASSEMBLY);
    const initial = Math.ceil(byteLength / PAGE_BYTES);
    const maximum = canGrow ? MAX_PAGES : initial;
    if (shared) countShared(byteLength);
    return new LinearMemory(new WebAssembly.Memory({ initial, maximum, shared }));
  }

  /** The address of the scratch space. */
  get free(): number {
    return this.room.at;
  }

  /** All bytes of the memory, from address 0 on. Valid until `reserve` grows a plain memory. */
  get bytes(): Uint8Array<ArrayBuffer> {
    return this.#bytes;
  }

  /** True while the data can grow in place: no scratch space of another thread lies behind it. */
  get canGrow(): boolean {
    return this.#areas.size === 0 && this.#spare === null;
  }

  /** Makes addresses below `end` valid. Detaches earlier views of plain memory when it grows. */
  reserve(end: number): void {
    const missing = end - this.#bytes.length;
    if (missing <= 0) return;
    this.memory.grow(Math.ceil(missing / PAGE_BYTES));
    if (this.isShared) countShared(missing);
    this.#bytes = new Uint8Array(this.memory.buffer);
  }

  /**
   * Scratch spaces of other threads, at least `byteLength` bytes each. A space is always that of
   * the thread of a number, since calls may overlap; one that is too small is replaced.
   */
  reserveAreas(threads: readonly number[], byteLength: number): Room[] {
    return threads.map((thread) => {
      const known = this.#areas.get(thread);
      if (known !== undefined && known.byteLength >= byteLength) return known;
      const area = this.#appended(byteLength);
      this.#areas.set(thread, area);
      return area;
    });
  }

  /** Another scratch space of this thread; null where the memory cannot have it. */
  spareOf(byteLength: number): Room | null {
    if (this.#spare !== null && this.#spare.byteLength >= byteLength) return this.#spare;
    if (!this.isShared) return null;
    try {
      this.#spare = this.#appended(byteLength);
    } catch {
      return null; // the memory has nearly 4 GiB
    }
    this.#bytes = new Uint8Array(this.memory.buffer);
    return this.#spare;
  }

  /** New space behind the data of a shared memory, whose views stay valid. */
  #appended(byteLength: number): Room {
    const pages = Math.ceil(byteLength / PAGE_BYTES);
    return { at: this.memory.grow(pages) * PAGE_BYTES, byteLength: pages * PAGE_BYTES };
  }
}

/** Lays out the arguments of a call in scratch space, one after another. */
export class Stage {
  readonly memory: LinearMemory;
  #at: number;

  constructor(memory: LinearMemory, at = memory.free) {
    this.memory = memory;
    this.#at = at;
  }

  /** The address of space for so many bytes, a multiple of 8. */
  space(byteLength: number): number {
    const at = this.#at;
    this.#at += (byteLength + 7) & ~7;
    return at;
  }

  /** The address of a copy of the values. */
  add({ buffer, byteOffset, byteLength }: ArrayBufferView): number {
    const at = this.space(byteLength);
    this.memory.bytes.set(new Uint8Array(buffer, byteOffset, byteLength), at);
    return at;
  }
}

/** A scratch space. */
export interface Room {
  readonly at: number;
  readonly byteLength: number;
}

let scratchMemory: LinearMemory | undefined;

/**
 * This thread's scratch memory, with at least `byteLength` bytes from `FREE_START` on. Earlier
 * views of it may be detached, and its contents are those of the last call.
 */
export function scratch(byteLength: number): LinearMemory {
  const end = FREE_START + byteLength + PADDING_BYTES;
  if (
    scratchMemory === undefined ||
    (scratchMemory.bytes.length > MAX_IDLE_SCRATCH_BYTES && end < MAX_IDLE_SCRATCH_BYTES)
  ) {
    scratchMemory = LinearMemory.allocate(end, false);
  }
  scratchMemory.reserve(end);
  return scratchMemory;
}

/** By buffer the memories whose data kernels read in place. */
const owned = new WeakMap<ArrayBufferLike, LinearMemory>();

/**
 * Bytes that can grow, in a separate linear memory. Other threads can read the memory where the
 * engine has shared memories. Views become invalid when it grows: make them again from `bytes`
 * after each `reserve`. Throws where the engine has no WebAssembly or not so many bytes.
 */
export class Arena {
  #memory: LinearMemory;
  #bytes!: Uint8Array<ArrayBuffer>;

  /** `isShared` lets other threads read it, but makes `fill` and `set` slower. */
  constructor(byteLength = 0, isShared = false, canGrow = true) {
    const end = CODES_START + byteLength + PADDING_BYTES;
    this.#memory = LinearMemory.allocate(end, isShared && canShareMemory(), canGrow);
    this.#view();
  }

  /** The data, at least as many bytes as were reserved; valid until the next `reserve`. */
  get bytes(): Uint8Array<ArrayBuffer> {
    return this.#bytes;
  }

  /** Grows to at least `byteLength` bytes; new ones are 0. Throws where there is not so much. */
  reserve(byteLength: number): void {
    if (byteLength <= this.#bytes.length) return;
    const end = CODES_START + byteLength + PADDING_BYTES;
    if (this.#memory.canGrow) {
      this.#memory.reserve(end);
      this.#view();
    } else {
      // Threads may still read the old memory, whose scratch spaces lie where it would grow.
      const old = this.#bytes;
      this.#memory = LinearMemory.allocate(end, true);
      this.#view();
      this.#bytes.set(old);
    }
  }

  /** Makes `#bytes` again, and lets `memoryOf` find the buffer, which growing replaces. */
  #view(): void {
    const { bytes } = this.#memory;
    owned.set(bytes.buffer, this.#memory);
    this.#bytes = bytes.subarray(CODES_START, bytes.length - PADDING_BYTES);
  }
}

/**
 * A typed array of zeros that other threads read in place, outside of the memories of kernels; an
 * ordinary one where the engine has no shared memory.
 */
export function sharedValues<T>(
  Type: { new (buffer: ArrayBufferLike): T; readonly BYTES_PER_ELEMENT: number },
  length: number,
): T {
  const byteLength = length * Type.BYTES_PER_ELEMENT;
  return new Type(
    canShareMemory() ? new SharedArrayBuffer(byteLength) : new ArrayBuffer(byteLength),
  );
}

/** A copy of the values in a new array of `sharedValues`, followed by zeros up to `length`. */
export function grownShared<T extends Uint32Array | Float32Array | Float64Array>(
  values: T,
  length: number,
): T {
  const copy = sharedValues(values.constructor as Uint32ArrayConstructor, length);
  copy.set(values);
  return copy as unknown as T;
}

/**
 * Zeroed bytes for codes, in a separate linear memory when they are many and the engine has
 * WebAssembly; such a memory never grows, so views of it stay valid. Throws the engine's RangeError
 * when there is not enough memory.
 */
export function allocateCodes(byteLength: number): Uint8Array<ArrayBuffer> {
  if (byteLength < MIN_OWN_BYTES) return new Uint8Array(byteLength);
  try {
    return new Arena(byteLength, false, false).bytes.subarray(0, byteLength);
  } catch {
    return new Uint8Array(byteLength); // scans copy them in blocks
  }
}

/** The linear memory that contains these values; undefined where kernels cannot read in place. */
export function memoryOf(values: ArrayBufferView): LinearMemory | undefined {
  return owned.get(values.buffer);
}

/** The linear memory in which the values of an `Arena` lie. */
export function homeOf(values: ArrayBufferView): LinearMemory {
  const home = memoryOf(values);
  if (home === undefined) throw new Error('these values are not in the memory of kernels');
  return home;
}

/** Lets kernels of this thread read a memory of another thread, with this scratch space. */
export function adoptMemory(memory: WebAssembly.Memory, room: Room): void {
  owned.set(memory.buffer, new LinearMemory(memory, room));
}
