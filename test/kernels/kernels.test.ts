import { afterEach, describe, expect, it, vi } from 'vitest';
import type * as Library from '../../src/index';
import { hammingKernel, KERNELS, sumsKernel } from '../../src/kernels/kernels';
import { collected } from '../reference/collected';
import { difference } from '../reference/difference';
import { Draws } from '../reference/random';

afterEach(() => {
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
  vi.resetModules();
});

/** The kernels of a fresh copy of the library, which reads the environment when it is first asked. */
async function freshKernels(forced: string | undefined) {
  vi.stubEnv('HALFSPACE_KERNEL', forced);
  vi.resetModules();
  return import('../../src/kernels/kernels');
}

it('gives threads the kernels that are imported after they began', async () => {
  vi.resetModules();
  const { SimHasher: Hasher } = await import('../../src/hashing/simhash');
  const { closeThreads } = await import('../../src/threads/parallel');
  const values = new Draws('late kernels').gaussians(30_000 * 8);
  try {
    const codes = await new Hasher({ bits: 64 }).hashAll({ values, dimensions: 8 }, { threads: 2 });
    const { pairs } = await import('../../src/near/pairs');
    const found = async (threads: number) => {
      const batches = await collected(pairs(codes, { maxDistance: 2, threads }));
      return batches.flatMap(({ a, b }) => Array.from(a, (row, i) => [row, b[i]]));
    };
    const onThreads = await found(2);
    expect(onThreads.length).toBeGreaterThan(100);
    expect(onThreads).toEqual(await found(1));
  } finally {
    await closeThreads();
  }
});

it('takes the WebAssembly kernel for the processor', () => {
  expect(hammingKernel().name).toBe(process.arch === 'x64' ? 'popcnt64' : 'popcnt8');
  expect(sumsKernel().name).toBe('wasm');
});

describe('the environment variable HALFSPACE_KERNEL', () => {
  it.each(KERNELS.filter((name) => name !== 'auto'))('forces %s', async (name) => {
    const fresh = await freshKernels(name);
    expect(fresh.hammingKernel().name).toBe(name);
    expect(fresh.sumsKernel().name).toBe(name === 'scalar' ? 'scalar' : 'wasm');
  });

  it.each(['', 'auto'])('says nothing when it is "%s"', async (value) => {
    const fresh = await freshKernels(value);
    expect(['popcnt64', 'popcnt8']).toContain(fresh.hammingKernel().name);
  });

  it('is named when it is wrong', async () => {
    const fresh = await freshKernels('sse2');
    const words = `"HALFSPACE_KERNEL" expected one of 'auto', 'scalar', 'popcnt64', 'popcnt8', got "sse2"`;
    expect(() => fresh.sumsKernel()).toThrow(new RangeError(words));
  });

  it('is read once, and not at all where reading is forbidden', async () => {
    let reads = 0;
    const env = Object.defineProperty({}, 'HALFSPACE_KERNEL', {
      get: () => {
        reads++;
        throw new Error('NotCapable: Requires env access');
      },
    });
    vi.stubGlobal('process', { ...globalThis.process, env });
    vi.resetModules();
    const fresh = await import('../../src/kernels/kernels');
    for (let i = 0; i < 3; i++) expect(fresh.sumsKernel().name).toBe('wasm');
    expect(reads).toBe(1);
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

/** What every engine does, hashing and scanning, as one run of numbers. */
async function results(library: typeof Library): Promise<number[]> {
  const draws = new Draws('poor engines');
  const values = draws.gaussians(700 * 24);
  const all: number[] = [];
  for (const projection of ['signs', 'gaussian', 'hadamard'] as const) {
    const hasher = new library.SimHasher({ bits: 100, projection, dimensions: 24 });
    const codes = await hasher.hashAll({ values, dimensions: 24 });
    all.push(...codes.bytes, ...hasher.accumulate(values.subarray(0, 24)));
    const { rows, distances } = library.scan(codes, codes.at(7), { k: 50 });
    all.push(...rows, ...distances);
    all.push(...library.scan(codes, codes.at(9), { maxDistance: 42 }).rows);
  }
  const texts = await new library.TextHasher({ bits: 64 }).hashAll(['one two three', 'zwei, drei']);
  all.push(...texts.bytes);
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
    const expected = await results(rich);
    const { library, kernels } = await poorLibrary();
    expect(library.SimHasher).not.toBe(rich.SimHasher);
    expect(kernels.hammingKernel().name).toBe('scalar');
    expect(kernels.sumsKernel().name).toBe('scalar');
    expect(difference(await results(library), expected)).toBeNull();
  });

  it('says in a sentence what all else needs', async () => {
    const { library } = await poorLibrary();
    const values = new Float32Array(60).fill(1);
    const codes = await new library.SimHasher({ bits: 64 }).hashAll({ values, dimensions: 3 });
    const words = /^this needs WebAssembly with SIMD, which the engine lacks, or the page forbids/;
    const matrix = { values, dimensions: 3 };
    expect(() => library.scanVectors(matrix, [1, 2, 3])).toThrow(words);
    await expect(library.cluster(matrix, { clusters: 2 })).rejects.toThrow(words);
    await expect(collected(library.pairs(codes, { maxDistance: 3 }))).rejects.toThrow(words);
    expect(() => new library.SimHashIndex({ bits: 64 })).toThrow(words);
    const sets = new library.TextHasher({ bits: 64, projection: 'minwise' });
    expect(() => sets.hash('one two')).toThrow(words);
  });
});

it('gives equal results whichever kernel is forced by the environment', async () => {
  const all: number[][] = [];
  for (const kernel of KERNELS) {
    await freshKernels(kernel);
    all.push(await results(await import('../../src/index')));
  }
  for (const one of all) expect(difference(one, all[0])).toBeNull();
});
