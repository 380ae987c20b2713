/**
 * Chooses the kernel that hashes vectors and the one that scans codes. Each family has a kernel in
 * WebAssembly and a scalar one for engines without WebAssembly SIMD and pages that forbid it, which
 * gives equal results. Tests and benchmarks force one, by `forceKernel` or for a whole process by
 * the environment variable HALFSPACE_KERNEL. All other kernels need WebAssembly.
 */

import { checkOneOf } from '../base/check';
import { environmentOf } from '../base/environment';
import { type HammingKernel, scalarHamming } from './hamming';
import { popcnt8Hamming, popcnt64Hamming } from './hamming.wasm';
import { allocateCodes, hasKernels } from './memory';
import { type SumsKernel, scalarSums } from './sums';
import { wasmSums } from './sums.wasm';

/**
 * 'scalar': plain loops. 'popcnt64' and 'popcnt8': WebAssembly, in which Hamming distances count
 * set bits of 64-bit words, or of 16 bytes at once. 'auto': WebAssembly, the faster of the two.
 */
export const KERNELS = ['auto', 'scalar', 'popcnt64', 'popcnt8'] as const;
export type KernelName = (typeof KERNELS)[number];

let forced: KernelName | undefined;

/** Forces the kernel of hashers and scans that this thread makes later; undefined ends it. */
export function forceKernel(name: KernelName | undefined): void {
  forced = name;
}

/** 'scalar' where there is no WebAssembly, else what is forced, or 'auto'. */
function chosen(): KernelName {
  if (!hasKernels()) return 'scalar';
  const name = 'HALFSPACE_KERNEL';
  forced ??= checkOneOf(name, environmentOf(name) || 'auto', KERNELS);
  return forced;
}

/** The kernel that hashes vectors. */
export function sumsKernel(): SumsKernel {
  return chosen() === 'scalar' ? scalarSums : wasmSums;
}

const HAMMING: Record<Exclude<KernelName, 'auto'>, HammingKernel> = {
  scalar: scalarHamming,
  popcnt64: popcnt64Hamming,
  popcnt8: popcnt8Hamming,
};

/** The Hamming kernel for codes of a width, on which the faster one may depend. */
export function hammingKernel(bytesPerCode: number): HammingKernel {
  const name = chosen();
  if (name !== 'auto') return HAMMING[name];
  // Widths are rounded up to whole words, and to 64 bytes at most, so that few are timed.
  return fasterHamming(Math.min(64, 8 * Math.ceil(bytesPerCode / 8)));
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
