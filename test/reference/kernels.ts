import { afterAll, beforeAll } from 'vitest';
import { forceKernel, type KernelName } from '../../src/kernels/kernels';

/** Runs the tests of the present `describe` with a kernel. */
export function useKernel(kernel: KernelName): void {
  beforeAll(() => forceKernel(kernel));
  afterAll(() => forceKernel(undefined));
}
