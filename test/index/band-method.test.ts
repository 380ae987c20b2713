import { describe, expect, it } from 'vitest';
import { runSteps } from '../../src/base/steps';
import { Codes } from '../../src/codes/codes';
import { nearestByDistance } from '../../src/index/by-distance';
import type { Explanation } from '../../src/index/search';
import { partsOf, SimHashIndex } from '../../src/index/simhash-index';
import { Draws } from '../reference/random';

/**
 * Tables of bands behind an index: the same answers as a scan and as brute force, and when used.
 */

/** Groups of near duplicates; some rows equal. */
function crowded(count: number, bits: number, seed: number): Codes {
  const draws = new Draws(seed);
  const codes = Codes.allocate(count, { bits });
  for (let row = 0; row < count; row++) {
    const code = codes.at(row);
    const isNear = row > 0 && draws.uniform() < 0.5;
    const from = isNear ? codes.at(Math.floor(draws.uniform() * row)) : null;
    for (let i = 0; i < code.length; i++) code[i] = from?.[i] ?? draws.uniform() * 256;
    for (let flips = Math.floor(draws.uniform() * 4); isNear && flips > 0; flips--) {
      const bit = Math.floor(draws.uniform() * bits);
      code[bit >> 3] ^= 1 << (bit & 7);
    }
    if (bits % 8 > 0) code[code.length - 1] &= 0xff >> (8 - (bits % 8));
  }
  return codes;
}

function some(codes: Codes, first: number, end: number): Codes {
  const { bits, bytesPerCode, bytes } = codes;
  return Codes.from(bytes.slice(first * bytesPerCode, end * bytesPerCode), { bits });
}

/** (distance, row) of all codes, sorted: brute force. */
function ranked(codes: Codes, query: Uint8Array): [number, number][] {
  const all = Array.from({ length: codes.count }, (_, row): [number, number] => {
    let sum = 0;
    codes.at(row).forEach((byte, i) => {
      for (let rest = byte ^ query[i]; rest > 0; rest &= rest - 1) sum++;
    });
    return [sum, row];
  });
  return all.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
}

describe.each([13, 64, 100])('%i bits', (bits) => {
  const codes = crowded(3000, bits, bits);
  const index = new SimHashIndex({ bits });
  index.addAll(some(codes, 0, 2500));
  const queries = [0, 17, 2999].map((row) => codes.at(row));

  it('finds by tables what brute force finds, rows added later and removed ones included', () => {
    const first = index.search(queries[0], { method: 'bands', k: 5, explain: true });
    expect(first.explain?.method).toBe('bands');
    index.addAll(some(codes, 2500, 3000));
    for (let row = 0; row < 3000; row += 7) index.remove(row);
    for (const query of queries) {
      const all = ranked(codes, query).filter(([, row]) => row % 7 !== 0);
      for (const k of [1, 10, 60]) {
        const { rows, distances } = index.search(query, { method: 'bands', k });
        const expected = all.slice(0, k);
        expect([...rows].map((row, i) => [distances[i], row])).toEqual(expected);
      }
      for (const maxDistance of [0, 3, 9]) {
        const { rows, distances } = index.within(query, { method: 'bands', maxDistance });
        const expected = all.filter(([distance]) => distance <= maxDistance);
        expect([...rows].map((row, i) => [distances[i], row])).toEqual(expected);
      }
      const odd = (_: unknown, row: number) => row % 2 === 1;
      const { rows } = index.search(query, { method: 'bands', k: 9, filter: odd });
      const expected = all.filter(([, row]) => row % 2 === 1).slice(0, 9);
      expect([...rows]).toEqual(expected.map(([, row]) => row));
    }
  });
});

it('turns to tables by itself, with the same answers as before', () => {
  const codes = crowded(400_000, 64, 1);
  const index = new SimHashIndex({ bits: 64 });
  index.addAll(codes);
  const plans = new Set<string>();
  for (let i = 0; i < 2000; i++) {
    const query = codes.at((i * 7919) % codes.count);
    const { rows, explain } = index.within(query, { maxDistance: 3, explain: true });
    plans.add(explain?.method ?? '');
    if (i % 200 > 0 && explain?.method === 'scan') continue;
    if (i % 50 > 0) continue;
    expect([...rows]).toEqual([...index.within(query, { maxDistance: 3, method: 'scan' }).rows]);
  }
  expect([...plans].sort()).toEqual(['bands', 'scan']);
  expect(index.bytes.bands).toBeGreaterThan(0);
  const batch = some(codes, 500, 560);
  expect(index.withinAll(batch, { maxDistance: 3 }).map(({ rows }) => [...rows])).toEqual(
    index.withinAll(batch, { maxDistance: 3, method: 'scan' }).map(({ rows }) => [...rows]),
  );
});

it('does the same work for the same calls, and builds bands at the second search', () => {
  const codes = crowded(400_000, 64, 6);
  const worked = () => {
    const index = new SimHashIndex({ bits: 64 });
    index.addAll(codes);
    return Array.from({ length: 300 }, (_, i) => {
      const query = codes.at((i * 7919) % codes.count);
      const options = { maxDistance: i % 3 === 0 ? 3 : 5, explain: true };
      const { explain } =
        i % 7 === 3 ? index.search(query, { k: 5, explain: true }) : index.within(query, options);
      const { method, why, codesCompared, built } = explain as Explanation;
      return { method, why, codesCompared, tables: built?.tables ?? 0 };
    });
  };
  const [one, other] = [worked(), worked()];
  expect(other).toEqual(one);
  expect(one.flatMap(({ tables }, i) => (tables > 0 ? [i] : []))).toEqual([1]);
  expect(one[0].method).toBe('scan');
  expect(one.filter(({ method }) => method === 'bands').length).toBeGreaterThan(200);
});

it('builds more tables for a search that goes farther, and none where a scan costs less', () => {
  const codes = crowded(400_000, 64, 9);
  const index = new SimHashIndex({ bits: 64 });
  index.addAll(codes);
  const tablesOf = (maxDistance: number) =>
    index.within(codes.at(1), { maxDistance, explain: true }).explain?.built?.tables ?? 0;
  expect([1, 1, 3, 5, 5, 1, 30].map(tablesOf)).toEqual([0, 2, 0, 4, 0, 0, 0]);
});

it('scans where buckets are too full, and answers as a scan does', () => {
  // All codes agree in the bits of most keys: buckets hold nearly all of them.
  const draws = new Draws(8);
  const codes = Codes.allocate(400_000, { bits: 64 });
  for (let row = 0; row < codes.count; row++) {
    codes.at(row).set([row, row >> 8, row >> 16, 1, 1, 1, 1, draws.uniform() < 0.01 ? 1 : 2]);
  }
  const index = new SimHashIndex({ bits: 64 });
  index.addAll(codes);
  for (let i = 0; i < 1200; i++) {
    const query = codes.at((i * 7919) % codes.count);
    const { rows, explain } = index.within(query, { maxDistance: 2, explain: true });
    expect(explain?.codesCompared).toBeLessThan(1.07 * codes.count);
    if (i % 100 > 0) continue;
    expect([...rows]).toEqual([...index.within(query, { maxDistance: 2, method: 'scan' }).rows]);
  }
});

it('stays with its tables after a search of many queries that they are no help for', {
  tags: 'thorough',
}, () => {
  const codes = crowded(400_000, 64, 7);
  const index = new SimHashIndex({ bits: 64 });
  index.addAll(codes);
  for (let i = 0; i < 2; i++) {
    index.within(codes.at((i * 7919) % codes.count), { maxDistance: 3 });
  }
  const { bands } = index.bytes;
  expect(bands).toBeGreaterThan(0);
  index.searchAll(some(codes, 0, 1500), { k: 300, rank: 'hamming' });
  expect(index.bytes.bands).toBe(bands);
});

it('scans only the rows that a filter leaves', () => {
  const codes = crowded(5000, 64, 4);
  const index = new SimHashIndex({ bits: 64 });
  index.addAll(codes);
  const filter = [4, 99, 1234, 4999, 17_000];
  const { rows, explain } = index.search(codes.at(99), { filter, k: 3, explain: true });
  const expected = ranked(codes, codes.at(99)).filter(([, row]) => filter.includes(row));
  expect([...rows]).toEqual(expected.slice(0, 3).map(([, row]) => row));
  expect(explain?.codesCompared).toBeLessThanOrEqual(5);
});

it('answers from one order of the codes when another takes its place on the way', {
  tags: 'thorough',
}, () => {
  const bits = 64;
  const codes = crowded(300_000, bits, 5);
  for (const method of ['bands', 'scan'] as const) {
    const index = new SimHashIndex({ bits });
    index.addAll(codes);
    const parts = partsOf(index);
    const { distinctCodes } = parts;
    const other = runSteps(
      distinctCodes.rearranged(
        Uint32Array.from({ length: distinctCodes.count }, (_, i) => distinctCodes.count - 1 - i),
      ),
      {},
    );
    const request = { k: 20, maxDistance: bits, method, filter: null };
    const work = { codesCompared: 0, candidates: 0, probes: 0 };
    const query = codes.at(123_456);
    const steps = nearestByDistance(parts, query, request, work);
    expect(steps.next().done).toBe(false);
    parts.distinctCodes = other;
    const { rows } = runSteps(steps, {});
    const expected = ranked(codes, query).slice(0, 20);
    expect([...rows.rows].map((row, i) => [rows.distances[i], row])).toEqual(expected);
  }
});
