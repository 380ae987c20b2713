import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { SimHasher } from '../../src/hashing/simhash';
import { useKernel } from '../reference/kernels';

/** Codes and sums computed by test/fixtures/write-codes.py, which knows the rules and not the code. */
const folder = new URL('../fixtures/codes/', import.meta.url);
const names = readdirSync(folder).filter((name) => name.endsWith('.json'));

interface Fixture {
  bits: number;
  seed: string;
  projection: 'signs' | 'gaussian' | 'hadamard' | 'direct';
  dimensions?: number;
  vectors: (number[] | { indices: string[]; values: number[] })[];
  codes: string[];
  sums: number[][];
}

describe.each(['scalar', 'popcnt64'] as const)('codes of another program, %s kernels', (kernel) => {
  useKernel(kernel);
  it.each(names)('are equal: %s', async (name) => {
    const fixture: Fixture = JSON.parse(readFileSync(new URL(name, folder), 'utf8'));
    const { bits, projection, dimensions } = fixture;
    const hasher = new SimHasher({
      ...{ bits, projection, zero: 'null', seed: BigInt(fixture.seed) },
      ...(dimensions !== undefined && { dimensions }),
    });
    const vectors = fixture.vectors.map((vector) =>
      Array.isArray(vector) ? vector : { ...vector, indices: vector.indices.map(BigInt) },
    );
    vectors.forEach((vector, i) => {
      expect(Buffer.from(hasher.codeOf(vector).bytes).toString('hex')).toBe(fixture.codes[i]);
      const sums = [...hasher.accumulate(vector).subarray(0, fixture.sums[i].length)];
      for (let j = 0; j < sums.length; j++) expect(sums[j] === fixture.sums[i][j]).toBe(true);
    });
    const all = await hasher.hashAll(vectors);
    expect(Buffer.from(all.bytes).toString('hex')).toBe(fixture.codes.join(''));
  });
});
