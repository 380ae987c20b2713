import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as library from '../../src/index';
import { KERNELS } from '../../src/kernels/kernels';
import { useKernel } from '../reference/kernels';
import { goldenDigests } from './golden';

/**
 * Codes are for ever: who has stored some must get the same tomorrow. A change of golden.json is a
 * change of the format, and needs a version of its own. That the codes are right is shown elsewhere
 * (fixtures.test.ts has the same rules computed by another program).
 */
const golden: Record<string, string> = JSON.parse(
  readFileSync(new URL('golden.json', import.meta.url), 'utf8'),
);

describe.each(KERNELS)('%s kernels', (kernel) => {
  useKernel(kernel);

  it('make the codes of the committed digests', async () => {
    expect(await goldenDigests(library)).toEqual(golden);
  });
});

describe('the committed digests', () => {
  it('cover every projection, and differ from each other', () => {
    for (const projection of [
      'signs',
      'gaussian',
      'hadamard',
      'direct',
      'minwise',
      'own patterns',
    ]) {
      expect(Object.keys(golden).some((name) => name.startsWith(projection))).toBe(true);
    }
    expect(new Set(Object.values(golden)).size).toBe(Object.keys(golden).length);
  });

  it('see a single wrong bit', async () => {
    class Wrong extends library.SimHasher {
      override async hashAll(...given: Parameters<library.SimHasher['hashAll']>) {
        const codes = await super.hashAll(...given);
        codes.bytes[3] ^= 1;
        return codes;
      }
    }
    const wrong = await goldenDigests({ SimHasher: Wrong as typeof library.SimHasher });
    const equal = Object.keys(golden).filter((name) => wrong[name] === golden[name]);
    expect(equal.every((name) => name.endsWith('sums'))).toBe(true);
  });
});
