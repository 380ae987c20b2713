import { expect, it } from 'vitest';
import { ReplayedSearch } from '../../src/index/partitions/replayed-search';
import { NO_GAP, residualKernel } from '../../src/kernels/residual-search';
import { residualCodes } from '../kernels/residual-codes';
import { scalarResiduals } from '../kernels/scalar/residuals';

/** Partitions that pass in any order, against a kernel that sees them in the order of the search. */

const [PARTITIONS, ROWS, WANT] = [10, 48, 20];
const { memory, query } = residualCodes(24, PARTITIONS * ROWS);
/** Two partitions have equal products: no search ends between them. */
const products = Float32Array.from([900, 800, 700, 600, 500, 500, 300, 200, 100, 0]);
const bits = new Uint32Array(products.buffer);
const rangeOf = (i: number) => [ROWS * i, ROWS * i, ROWS, bits[i]];
const firstRanges = (count: number) =>
  Uint32Array.from(Array.from({ length: count }, (_, i) => rangeOf(i)).flat());

const listed = ({ codes, weights, count }: ReturnType<ReplayedSearch['hits']>) =>
  Array.from({ length: count }, (_, i) => [codes[i], weights[i]]);

it.each([
  ['scalar', scalarResiduals],
  ['WebAssembly', residualKernel],
] as const)('finds what the %s kernel finds, with gaps', (_, kernel) => {
  const ends = new Set<number>();
  for (const gap of [0, 100, 200, 400, 600, 1000, NO_GAP]) {
    const whole = kernel.search(memory, query, WANT, gap);
    const visited = whole.ranges(firstRanges(PARTITIONS));
    // A kernel's hits last until its next search.
    const wanted = { limit: whole.limit, hits: listed(whole.hits()) };
    ends.add(visited);
    for (const first of [1, 2, 4].filter((count) => count <= visited)) {
      const begun = kernel.search(memory, query, WANT, gap);
      begun.ranges(firstRanges(first));
      const { limit } = begun;
      const replayed = new ReplayedSearch(WANT, gap, PARTITIONS);
      for (const [code, weight] of listed(begun.hits())) replayed.take(code, weight);
      const passing = kernel.holding(memory, [query]);
      for (let i = PARTITIONS - 1; i >= first; i--) {
        const run = { first: ROWS * i, end: ROWS * (i + 1), code: ROWS * i };
        replayed.count(i, ROWS);
        passing.look(run, Uint32Array.of(0, bits[i], limit, 0), (_, held, from, end) =>
          replayed.hold(i, held, from, end),
        );
      }
      const { visited: seen, codes } = replayed.replay(first, PARTITIONS, products);
      expect({ gap, first, seen, codes }).toEqual({
        ...{ gap, first, seen: visited },
        codes: ROWS * (visited - first),
      });
      expect({ limit: replayed.limit, hits: listed(replayed.hits()) }).toEqual(wanted);
    }
  }
  expect(ends.size).toBeGreaterThan(3);
  expect(ends.has(5)).toBe(false);
});
