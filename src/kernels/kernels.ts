/**
 * Chooses the kernel that hashes vectors and the one that scans codes. Each family has a kernel in
 * WebAssembly and a scalar one for engines without WebAssembly SIMD and pages that forbid it, which
 * gives equal results. Tests and benchmarks force one, by `forceKernel` or for a whole process by
 * the environment variable HALFSPACE_KERNEL. All other kernels need WebAssembly.
 */

import { checkOneOf, environmentOf } from '../base/check';
import { type HammingKernel, scalarHamming } from './hamming';
import { popcnt8Hamming, popcnt64Hamming } from './hamming.wasm';
import { hasKernels } from './memory';
import { type SumsKernel, scalarSums } from './sums';
import { wasmSums } from './sums.wasm';

/**
 * 'scalar': plain loops. 'popcnt64' and 'popcnt8': WebAssembly, in which Hamming distances count
 * set bits of 64-bit words, or of 16 bytes at once. 'auto': WebAssembly, the one for the processor.
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

const IS_X86 = /* @__PURE__ */ isX86();

/** The kernel of Hamming distances. */
export function hammingKernel(): HammingKernel {
  const name = chosen();
  if (name === 'scalar') return scalarHamming;
  return name === 'popcnt64' || (name === 'auto' && IS_X86) ? popcnt64Hamming : popcnt8Hamming;
}

/**
 * True on x86, whose processors alone give an undefined difference the sign bit. They count the
 * bits of 64-bit words up to four times as fast as those of 16 bytes at once, and where codes are
 * no multiple of 128 bits up to a tenth slower; arm64 has an instruction for bytes only. Where an
 * engine hides the sign, scans are slower, and equal.
 */
function isX86(): boolean {
  const difference = Float32Array.of(Number.POSITIVE_INFINITY);
  difference[0] -= difference[0];
  return new Uint8Array(difference.buffer)[3] === 0xff;
}
