/**
 * The linear memory of the WebAssembly kernels: where it is made, viewed and grown. Codes of some
 * size live in a memory of their own, below them room for a scan's query and hits, so that a scan
 * reads them where they lie; such a memory never grows, so views on it stay valid. Everything else
 * passes through one shared scratch memory, whose views are good until the next `scratch()`.
 */

import { MODULE_BASE64 } from './module.generated';

/** The module's functions: addresses, counts and flags are numbers, seeds and hashes 64-bit. */
export interface KernelExports {
  dots64: Dots;
  dots32: Dots;
  dots8: Dots;
  productsInto(
    rows: number,
    rowCount: number,
    others: number,
    otherCount: number,
    width: number,
    out: number,
  ): void;
  largestInto(
    products: number,
    count: number,
    length: number,
    first: number,
    largest: number,
    places: number,
  ): void;
  distinctInto(
    codes: number,
    words: number,
    first: number,
    end: number,
    found: number,
    table: number,
    mask: number,
    slots: number,
  ): number;
  keysInto(
    codes: number,
    words: number,
    first: number,
    end: number,
    parts: number,
    partCount: number,
    hashShift: number,
    lowBits: number,
    entries: number,
    counts: number,
  ): void;
  scatter(
    from: number,
    first: number,
    end: number,
    to: number,
    shift: number,
    mask: number,
    offsets: number,
  ): void;
  joinRuns(
    entries: number,
    first: number,
    end: number,
    codes: number,
    words: number,
    most: number,
    masks: number,
    rejects: number,
    fromCode: number,
    toCode: number,
    longest: number,
    gather: number,
    hits: number,
    hitsEnd: number,
    state: number,
  ): number;
  orderInto(products: number, count: number, want: number, counts: number, order: number): number;
  rotate(vector: number, width: number, size: number, flips: number, transforms: number): void;
  twoBitsInto(
    vector: number,
    width: number,
    far: number,
    nearLevel: number,
    farLevel: number,
    code: number,
  ): number;
  hitsOfResiduals(
    residuals: number,
    ranges: number,
    rangeCount: number,
    bytes: number,
    tables: number,
    base: number,
    factor: number,
    sums: number,
    state: number,
  ): number;
  weightedHits(
    codes: number,
    first: number,
    end: number,
    bytes: number,
    tables: number,
    rows: number,
    state: number,
  ): number;
  fallingHits64: FallingHits;
  fallingHits8: FallingHits;
  hits64: Hits;
  hits8: Hits;
  planesInto(codes: number, bytes: number, groups: number, slices: number, planes: number): void;
  hitsOfTile(
    codes: number,
    row: number,
    bytes: number,
    queries: number,
    limits: number,
    count: number,
    choices: number,
    groups: number,
    planes: number,
    rest: number,
    restEnd: number,
    hits: number,
  ): number;
  slicesInto(codes: number, bytes: number, slices: number, room: number): void;
  tablesInto(slices: number, groups: number, room: number, tables: number): void;
  choicesInto(
    codes: number,
    stride: number,
    count: number,
    bits: number,
    groups: number,
    choices: number,
  ): void;
  hitsOfTables(
    codes: number,
    stride: number,
    firstRow: number,
    endRow: number,
    firstQuery: number,
    endQuery: number,
    choices: number,
    choiceBytes: number,
    tables: number,
    groups: number,
    sums: number,
    sumsEnd: number,
    sumsStride: number,
    parts: number,
    limits: number,
    least: number,
    hits: number,
  ): number;
  keysInPlace(dimensions: number, count: number): void;
  keysOf32(dimensions: number, count: number, keys: number): void;
  keysOfRange(first: bigint, count: number, keys: number): void;
  addSigns(patterns: number, values: number, count: number, sums: number): void;
  addHashedSigns(
    keys: number,
    count: number,
    values: number,
    vectors: number,
    stride: number,
    words: number,
    seed: bigint,
    patterns: number,
    sums: number,
  ): void;
  hashRows(
    offsets: number,
    rows: number,
    keys: number,
    values: number,
    bits: number,
    seed: bigint,
    patterns: number,
    sums: number,
    codes: number,
    flags: number,
  ): void;
  addHashedGaussians(
    keys: number,
    count: number,
    values: number,
    vectors: number,
    stride: number,
    words: number,
    seed: bigint,
    table: number,
    gaussians: number,
    sums: number,
  ): void;
  widenInto(from: number, count: number, to: number): void;
  signsInto(sums: number, bits: number, code: number): number;
  signsOfPairsInto(sums: number, bits: number, code0: number, code1: number): number;
  flipsInto(size: number, seed: bigint, flips: number): void;
  loadPairs32: LoadPairs;
  loadPairs64: LoadPairs;
  mixPairs(pairs: number, size: number, rounds: number, flips: number): void;
  laneInto(pairs: number, lane: number, count: number, sums: number): void;
  hashBytes(bytes: number, count: number, seed: bigint): bigint;
}
export type Hits = (
  codes: number,
  row: number,
  count: number,
  bytes: number,
  query: number,
  limit: number,
  hits: number,
) => number;
export type FallingHits = (
  codes: number,
  first: number,
  end: number,
  bytes: number,
  query: number,
  rows: number,
  state: number,
) => number;
export type Dots = (
  rows: number,
  list: number,
  count: number,
  width: number,
  query: number,
  out: number,
) => void;
type LoadPairs = (
  a: number,
  b: number,
  width: number,
  size: number,
  flips: number,
  pairs: number,
) => void;

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
