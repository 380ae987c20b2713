import { afterAll, describe, expect, it } from 'vitest';
import { LongWork } from '../../src/base/long-work';
import { alea } from '../../src/base/random';
import { Codes } from '../../src/codes/codes';
import { dedup } from '../../src/near/dedup';
import { eachPairs, type PairBatch, type PairsOptions, pairs } from '../../src/near/pairs';
import { rowsOf } from '../../src/near/rows';
import { closeThreads } from '../../src/threads/parallel';
import { groupRows } from '../near/group-rows';

const THREADS = [1, 3];
const BYTES = 8;

afterAll(closeThreads);

/** Codes that are uniform, near some of 300, equal to some of 300, or share 40 of 64 bits. */
const KINDS = {
  uniform: (random: () => number) => () => 256 * random(),
  clustered: nearSome(0.15),
  duplicates: nearSome(0),
  skewed: (random: () => number) => (byte: number) => (byte < 5 ? 7 : 256 * random()),
};

function nearSome(share: number) {
  return (random: () => number) => {
    const some = Uint8Array.from({ length: 300 * BYTES }, () => 256 * random());
    let from = 0;
    return (byte: number) => {
      if (byte === 0) from = BYTES * Math.floor(300 * random());
      const flipped = random() < share ? 1 << Math.floor(8 * random()) : 0;
      return some[from + byte] ^ flipped;
    };
  };
}

function codesOf(kind: keyof typeof KINDS, count: number, seed: string): Codes {
  const random = alea(seed);
  const draw = KINDS[kind](random);
  const bytes = Uint8Array.from({ length: BYTES * count }, (_, i) => draw(i % BYTES));
  const validity = new Uint8Array(Math.ceil(count / 8)).fill(0xef);
  return Codes.from(bytes, { bits: 8 * BYTES, ...(kind === 'uniform' && { validity }) });
}

/** Pairs by comparing all with all, in order. */
function bruteForce(left: Codes, right: Codes | null, maxDistance: number): number[][] {
  const words = (codes: Codes) => new Uint32Array(codes.bytes.slice().buffer);
  const [ours, theirs] = [words(left), words(right ?? left)];
  const found: number[][] = [];
  const ones = (word: number) => {
    let count = 0;
    for (let rest = word; rest !== 0; rest &= rest - 1) count++;
    return count;
  };
  for (let a = 0; a < left.count; a++) {
    if (left.isNull(a)) continue;
    for (let b = right === null ? a + 1 : 0; b < (right ?? left).count; b++) {
      if ((right ?? left).isNull(b)) continue;
      const distance =
        ones(ours[2 * a] ^ theirs[2 * b]) + ones(ours[2 * a + 1] ^ theirs[2 * b + 1]);
      if (distance <= maxDistance) found.push([a, b, distance]);
    }
  }
  return found;
}

async function listed(left: Codes, right: Codes | null, options: PairsOptions) {
  const found: number[][] = [];
  const all = right === null ? pairs(left, options) : pairs(left, right, options);
  for await (const { a, b, distances } of all) {
    for (let i = 0; i < a.length; i++) found.push([a[i], b[i], distances[i]]);
  }
  return found;
}

const CASES = [
  ['uniform', [0, 3, 18]],
  ['clustered', [0, 3, 9]],
  ['duplicates', [0, 9]],
  ['skewed', [0, 3]],
] as const;

describe.each(CASES)('pairs of %s codes', (kind, maxDistances) => {
  const codes = codesOf(kind, 1200, 'these');
  const others = codesOf(kind, 600, 'those');

  it.each(maxDistances)('within %i are those of brute force', async (maxDistance) => {
    const expected = bruteForce(codes, null, maxDistance);
    for (const threads of THREADS) {
      expect(await listed(codes, null, { maxDistance, threads })).toEqual(expected);
    }
  });

  it('of two collections are those of brute force', async () => {
    const expected = bruteForce(codes, others, 4);
    for (const threads of THREADS) {
      expect(await listed(codes, others, { maxDistance: 4, threads })).toEqual(expected);
      const back = await listed(others, codes, { maxDistance: 4, threads });
      expect(back.map(([a, b, distance]) => [b, a, distance]).sort(byRows)).toEqual(expected);
    }
  });

  it('come in equal batches, with the first of equal rows alone', async () => {
    const batches = async (call: { threads: number }) => {
      const found: PairBatch[] = [];
      const take = (batch: PairBatch) => {
        found.push(batch);
      };
      const options = { maxDistance: 5, equal: 'first' } as const;
      await eachPairs(rowsOf('codes', codes), null, options, take, new LongWork(call));
      return found;
    };
    const expected = await batches({ threads: 1 });
    for (const threads of THREADS) expect(await batches({ threads })).toEqual(expected);
  });

  it('make equal groups and plans', async () => {
    const options = { maxDistance: 3, grouping: 'components' } as const;
    const groups = await groupRows(codes, { ...options, threads: 1 });
    const plan = await dedup(codes, { ...options, threads: 1 });
    for (const threads of THREADS) {
      expect(await groupRows(codes, { ...options, threads })).toEqual(groups);
      expect(await dedup(codes, { ...options, threads })).toEqual(plan);
    }
  });
});

function byRows(one: number[], other: number[]): number {
  return one[0] - other[0] || one[1] - other[1];
}

it('progress of threads rises to its end, as without them', async () => {
  const codes = codesOf('clustered', 10_000, 'progress');
  for (const threads of [1, 3]) {
    const seen: number[][] = [];
    const onProgress = (done: number, total: number) => seen.push([done, total]);
    await listed(codes, null, { maxDistance: 3, threads, onProgress });
    expect(seen.length).toBeGreaterThan(3);
    for (const [i, [done, total]] of seen.entries()) {
      expect(done).toBeLessThanOrEqual(total);
      expect(done).toBeGreaterThanOrEqual(seen[Math.max(0, i - 1)][0]);
    }
  }
});

it('a signal stops a join on threads, and the next join is right', async () => {
  const codes = codesOf('skewed', 30_000, 'stopped');
  const controller = new AbortController();
  const options = { maxDistance: 6, threads: 2, signal: controller.signal };
  const stopped = listed(codes, null, {
    ...options,
    onProgress: () => controller.abort(new Error('enough')),
  });
  await expect(stopped).rejects.toThrow('enough');
  const few = codesOf('skewed', 500, 'next');
  expect(await listed(few, null, { maxDistance: 6, threads: 2 })).toEqual(bruteForce(few, null, 6));
});
