/**
 * Lists the kernels of each family and chooses the one that runs. Callers get kernels only here, so
 * that one can be forced: by an option `kernel`, or for a whole process by the environment variable
 * HALFSPACE_KERNEL. Every choice gives equal results. Where WebAssembly or its SIMD is missing,
 * scalar kernels run.
 */

import { checkOneOf } from '../base/check';
import { scalarDots } from './dots/dots.scalar';
import { wasmDots } from './dots/dots.wasm';
import { type HammingKernel, scalarHamming } from './hamming/hamming.scalar';
import { popcnt8Hamming, popcnt64Hamming } from './hamming/hamming.wasm';
import { scalarJoins } from './joins/joins.scalar';
import { wasmJoins } from './joins/joins.wasm';
import { allocateCodes, FREE_START, kernelModule, scratch } from './memory';
import { scalarMinwise } from './minwise/minwise.scalar';
import { wasmMinwise } from './minwise/minwise.wasm';
import { scalarProducts } from './products/products.scalar';
import { wasmProducts } from './products/products.wasm';
import { scalarResiduals } from './residuals/residuals.scalar';
import { wasmResiduals } from './residuals/residuals.wasm';
import { scalarRotation } from './rotation/rotation.scalar';
import { wasmRotation } from './rotation/rotation.wasm';
import { scalarSums } from './sums/sums.scalar';
import { wasmSums } from './sums/sums.wasm';
import { scalarWeighted } from './weighted/weighted.scalar';
import { wasmWeighted } from './weighted/weighted.wasm';
import { hashBytes, hashMore, startLanes } from './xxhash/xxhash.scalar';

/**
 * 'scalar': plain loops. 'popcnt64' and 'popcnt8': WebAssembly, in which Hamming distances count
 * set bits of 64-bit words, or of 16 bytes at once. 'auto': WebAssembly, the faster of the two.
 */
export const KERNELS = ['auto', 'scalar', 'popcnt64', 'popcnt8'] as const;
/** Which kernel does the work; all give equal results. */
export type KernelName = (typeof KERNELS)[number];

/**
 * The kernel that runs: the option, else that of the environment, else 'auto', which becomes
 * 'scalar' where there is no WebAssembly. Throws for an unknown name, and for a kernel that is
 * named but cannot run here.
 */
export function resolveKernel(choice: KernelName = 'auto'): KernelName {
  checkOneOf('kernel', choice, KERNELS);
  if (choice !== 'auto') return refuseMissing(choice);
  const forced = globalThis.process?.env?.HALFSPACE_KERNEL;
  if (forced) return refuseMissing(checkOneOf('HALFSPACE_KERNEL', forced, KERNELS));
  return kernelModule() === null ? 'scalar' : 'auto';
}

/** Returns the choice if it can run here, and 'scalar' for 'auto' if not; else throws. */
function refuseMissing(choice: KernelName): KernelName {
  if (choice === 'scalar' || kernelModule() !== null) return choice;
  if (choice === 'auto') return 'scalar';
  throw new Error(`"kernel" '${choice}' needs WebAssembly with SIMD, which this engine lacks`);
}

/** Makes the function that chooses a family's kernel: WebAssembly for every name but 'scalar'. */
const either =
  <K>(scalar: K, wasm: K) =>
  (choice?: KernelName): K =>
    resolveKernel(choice) === 'scalar' ? scalar : wasm;

export const sumsKernel = /* @__PURE__ */ either(scalarSums, wasmSums);
export const dotsKernel = /* @__PURE__ */ either(scalarDots, wasmDots);
export const productsKernel = /* @__PURE__ */ either(scalarProducts, wasmProducts);
export const joinKernel = /* @__PURE__ */ either(scalarJoins, wasmJoins);
export const minwiseKernel = /* @__PURE__ */ either(scalarMinwise, wasmMinwise);
export const rotationKernel = /* @__PURE__ */ either(scalarRotation, wasmRotation);
export const residualKernel = /* @__PURE__ */ either(scalarResiduals, wasmResiduals);
export const weightedKernel = /* @__PURE__ */ either(scalarWeighted, wasmWeighted);

const HAMMING: Record<Exclude<KernelName, 'auto'>, HammingKernel> = {
  scalar: scalarHamming,
  popcnt64: popcnt64Hamming,
  popcnt8: popcnt8Hamming,
};

/** The Hamming kernel for codes of a width, on which the faster one of 'auto' may depend. */
export function hammingKernel(choice?: KernelName, bytesPerCode = 32): HammingKernel {
  const resolved = resolveKernel(choice);
  if (resolved !== 'auto') return HAMMING[resolved];
  // Widths are rounded up to whole words, and to 64 bytes at most, so that few are timed.
  return fasterHamming(Math.min(64, 8 * Math.ceil(bytesPerCode / 8)));
}

/** Every Hamming kernel that runs on this engine, for tests and benchmarks. */
export function hammingKernels(): HammingKernel[] {
  if (kernelModule() === null) return [scalarHamming];
  return Object.values(HAMMING);
}

/** The faster kernel by bytes of a code, for widths that were timed. */
const faster = new Map<number, HammingKernel>();

/**
 * The faster of the two WebAssembly kernels, timed when a width is first used: x86 has a fast
 * 64-bit count, arm64 a fast byte-wise one. Takes a few milliseconds for each width.
 */
function fasterHamming(bytesPerCode: number): HammingKernel {
  let kernel = faster.get(bytesPerCode);
  if (kernel === undefined) {
    const is8Faster = timeOf(popcnt8Hamming, bytesPerCode) < timeOf(popcnt64Hamming, bytesPerCode);
    kernel = is8Faster ? popcnt8Hamming : popcnt64Hamming;
    faster.set(bytesPerCode, kernel);
  }
  return kernel;
}

/**
 * The time of the fastest of four runs, in milliseconds. Each scans 128 KiB of codes 40 times, long
 * enough for a browser's coarse clock. No row is a hit, since none is below distance 0.
 */
function timeOf(kernel: HammingKernel, bytesPerCode: number): number {
  const rows = Math.floor((1 << 17) / bytesPerCode);
  const query = new Uint8Array(bytesPerCode).fill(0x5a);
  const codes = allocateCodes(rows * bytesPerCode);
  const hits = new Uint32Array(2 * rows);
  let shortest = Number.POSITIVE_INFINITY;
  for (let run = 0; run < 4; run++) {
    const start = performance.now();
    for (let round = 0; round < 40; round++) kernel.hitsInto(codes, 0, rows, query, 0, hits);
    shortest = Math.min(shortest, performance.now() - start);
  }
  return shortest;
}

/** xxHash64 of bytes, unsigned: the checksum of files. */
export function checksum(bytes: Uint8Array, seed = 0n, choice?: KernelName): bigint {
  if (resolveKernel(choice) === 'scalar') return hashBytes(bytes, seed);
  if (bytes.length > PIECE_BYTES) {
    const parts = new PartsChecksum(choice, seed);
    for (let at = 0; ; at += PIECE_BYTES) {
      const hash = parts.add(bytes.subarray(at, at + PIECE_BYTES));
      if (at + PIECE_BYTES >= bytes.length) return hash;
    }
  }
  const memory = scratch(bytes.length);
  memory.bytes.set(bytes, FREE_START);
  return BigInt.asUintN(64, memory.kernels.hashBytes(FREE_START, bytes.length, seed));
}

/** xxHash64 of bytes that come in parts. */
export class PartsChecksum {
  readonly #lanes = new Uint32Array(8);
  readonly #laneBytes = new Uint8Array(this.#lanes.buffer);
  #total = 0;

  constructor(
    private readonly choice?: KernelName,
    private readonly seed = 0n,
  ) {
    startLanes(this.#lanes, seed);
  }

  /** Adds a part, of which all but the last have a multiple of 32 bytes; of all until now. */
  add(part: Uint8Array): bigint {
    this.#total += part.length;
    if (this.#total < 32) return checksum(part, this.seed, this.choice);
    if (resolveKernel(this.choice) === 'scalar') return hashMore(this.#lanes, part, this.#total);
    const memory = scratch(this.#laneBytes.length + part.length);
    const at = FREE_START + this.#laneBytes.length;
    memory.bytes.set(this.#laneBytes, FREE_START);
    memory.bytes.set(part, at);
    const hash = memory.kernels.hashMore(FREE_START, at, part.length, BigInt(this.#total));
    this.#laneBytes.set(memory.bytes.subarray(FREE_START, at));
    return BigInt.asUintN(64, hash);
  }
}

/** A checksum as files have it: 16 hexadecimal digits. */
export function checksumText(hash: bigint): string {
  return hash.toString(16).padStart(16, '0');
}

/**
 * Longer bytes are copied to linear memory in pieces, which the caches hold: hashing 160 MB takes
 * half the time. A multiple of 32.
 */
const PIECE_BYTES = 2 ** 17;
