import { afterEach, describe, expect, it, vi } from 'vitest';
import { SimHasher } from '../../src/hashing/simhash';
import type * as Library from '../../src/index';
import {
  checksum,
  dotsKernel,
  hammingKernel,
  hammingKernels,
  KERNELS,
  type KernelName,
  resolveKernel,
  sumsKernel,
} from '../../src/kernels/kernels';
import { difference } from '../reference/difference';
import { Draws } from '../reference/random';

afterEach(() => {
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
  vi.resetModules();
});

const names = (choice?: KernelName) => ({
  hamming: hammingKernel(choice).name,
  sums: sumsKernel(choice).name,
  dots: dotsKernel(choice).name,
});
const SCALAR = { hamming: 'scalar', sums: 'scalar', dots: 'scalar' };

describe('the option "kernel"', () => {
  it('forces a kernel', () => {
    vi.stubEnv('HALFSPACE_KERNEL', undefined);
    expect(names('scalar')).toEqual(SCALAR);
    expect(names('popcnt64')).toEqual({ hamming: 'popcnt64', sums: 'wasm', dots: 'wasm' });
    expect(names('popcnt8')).toEqual({ hamming: 'popcnt8', sums: 'wasm', dots: 'wasm' });
  });

  it('takes the faster of the two WebAssembly kernels where nothing is said, and stays with it', () => {
    vi.stubEnv('HALFSPACE_KERNEL', undefined);
    const first = hammingKernel();
    expect(['popcnt64', 'popcnt8']).toContain(first.name);
    for (let i = 0; i < 5; i++) expect(hammingKernel('auto')).toBe(first);
    expect(sumsKernel().name).toBe('wasm');
    expect(dotsKernel().name).toBe('wasm');
  });

  it('refuses a name that it does not know, and lists those that it does', () => {
    const words = `"kernel" expected one of 'auto', 'scalar', 'popcnt64', 'popcnt8', got "simd"`;
    const kernel = 'simd' as KernelName;
    expect(() => resolveKernel(kernel)).toThrow(new RangeError(words));
    expect(() => new SimHasher({ kernel })).toThrow(new RangeError(words));
    expect(() => resolveKernel(8 as never)).toThrow(TypeError);
    expect(() => resolveKernel(8 as never)).toThrow(/"kernel" expected one of .*, got 8/);
  });
});

describe('the environment variable HALFSPACE_KERNEL', () => {
  it.each(KERNELS.filter((name) => name !== 'auto'))('forces %s', (name) => {
    vi.stubEnv('HALFSPACE_KERNEL', name);
    expect(names()).toEqual(names(name));
    expect(names('auto')).toEqual(names(name));
  });

  it('says nothing when it is empty or auto', () => {
    for (const value of ['', 'auto']) {
      vi.stubEnv('HALFSPACE_KERNEL', value);
      expect(['popcnt64', 'popcnt8']).toContain(hammingKernel().name);
    }
  });

  it('gives way to an option', () => {
    vi.stubEnv('HALFSPACE_KERNEL', 'scalar');
    expect(names('popcnt8').hamming).toBe('popcnt8');
  });

  it('is named when it is wrong', () => {
    vi.stubEnv('HALFSPACE_KERNEL', 'sse2');
    const words = `"HALFSPACE_KERNEL" expected one of 'auto', 'scalar', 'popcnt64', 'popcnt8', got "sse2"`;
    expect(() => resolveKernel()).toThrow(new RangeError(words));
    expect(() => new SimHasher()).toThrow(new RangeError(words));
  });
});

/** What an engine without WebAssembly, without its SIMD or under a policy against it has in its place. */
const POOR_ENGINES: Record<string, unknown> = {
  'without WebAssembly': undefined,
  'without SIMD': {
    ...globalWebAssembly(),
    validate: () => false,
    Module: class {
      constructor() {
        throw new WebAssembly.CompileError('Wasm SIMD unsupported');
      }
    },
  },
  'with a policy against code from bytes': {
    ...globalWebAssembly(),
    Module: class {
      constructor() {
        throw new EvalError('Refused to compile: unsafe-eval is not allowed');
      }
    },
  },
};

/** The functions of WebAssembly, which are not enumerable. */
function globalWebAssembly(): Record<string, unknown> {
  const { Memory, Instance, CompileError } = WebAssembly;
  return { Memory, Instance, CompileError };
}

/** Everything that kernels do, as one run of numbers. */
function results(library: typeof Library): number[] {
  const draws = new Draws('poor engines');
  const values = draws.gaussians(700 * 24);
  const all: number[] = [];
  for (const projection of ['signs', 'gaussian', 'hadamard'] as const) {
    const hasher = new library.SimHasher({ bits: 100, projection, dimensions: 24 });
    const codes = hasher.hashAll({ values, dimensions: 24 });
    all.push(...codes.bytes, ...hasher.accumulate(values.subarray(0, 24)));
    const { rows, distances } = library.scan(codes, codes.at(7), { k: 50 });
    all.push(...rows, ...distances);
    all.push(...library.scan(codes, codes.at(9), { maxDistance: 42 }).rows);
  }
  const matrix = { values, dimensions: 24 };
  const near = library.scanVectors(matrix, values.subarray(48, 72), { k: 20 });
  all.push(...near.rows, ...near.cosines);
  return all;
}

describe.each(Object.keys(POOR_ENGINES))('an engine %s', (engine) => {
  async function poorLibrary() {
    vi.stubEnv('HALFSPACE_KERNEL', undefined);
    vi.stubGlobal('WebAssembly', POOR_ENGINES[engine]);
    vi.resetModules();
    const library: typeof Library = await import('../../src/index');
    const kernels: typeof import('../../src/kernels/kernels') = await import(
      '../../src/kernels/kernels'
    );
    return { library, kernels };
  }

  it('runs the scalar kernels, and gives equal results', async () => {
    const rich: typeof Library = await import('../../src/index');
    const expected = results(rich);
    const bytes = new Draws('checksum').bytes(99);
    const sum = checksum(bytes);
    const { library, kernels } = await poorLibrary();
    expect(library.SimHasher).not.toBe(rich.SimHasher);
    expect(kernels.hammingKernel().name).toBe('scalar');
    expect(kernels.sumsKernel().name).toBe('scalar');
    expect(kernels.dotsKernel().name).toBe('scalar');
    expect(kernels.hammingKernels().map((kernel) => kernel.name)).toEqual(['scalar']);
    expect(kernels.checksum(bytes)).toBe(sum);
    expect(difference(results(library), expected)).toBeNull();
  });

  it('refuses a kernel that it cannot run, by option and by environment', async () => {
    const { library, kernels } = await poorLibrary();
    const words = /"kernel" 'popcnt64' needs WebAssembly with SIMD/;
    expect(() => kernels.resolveKernel('popcnt64')).toThrow(words);
    expect(() => new library.SimHasher({ kernel: 'popcnt64' })).toThrow(words);
    expect(() => new library.SimHasher({ kernel: 'scalar' })).not.toThrow();
    vi.stubEnv('HALFSPACE_KERNEL', 'popcnt8');
    expect(() => new library.SimHasher()).toThrow(/'popcnt8' needs WebAssembly with SIMD/);
  });
});

it('gives equal results whichever kernel is forced by the environment', async () => {
  const library: typeof Library = await import('../../src/index');
  const all = KERNELS.map((kernel) => {
    vi.stubEnv('HALFSPACE_KERNEL', kernel);
    return results(library);
  });
  for (const one of all) expect(difference(one, all[0])).toBeNull();
  expect(hammingKernels().length).toBe(3);
});
