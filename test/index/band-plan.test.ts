import { describe, expect, it } from 'vitest';
import { runSteps } from '../../src/base/steps';
import { Codes } from '../../src/codes/codes';
import { SimHasher } from '../../src/hashing/simhash';
import { BandPlan } from '../../src/index/bands/band-plan';
import { nearestByDistance } from '../../src/index/distance-plan';
import { Slots } from '../../src/index/distinct/slots';
import { IdTable } from '../../src/index/id-table';
import { SimHashIndex } from '../../src/index/simhash-index';
import type { IndexState } from '../../src/index/state';
import { Draws } from '../reference/random';

/** Tables of bands behind an index: the same answers as a scan and as brute force, and when used. */

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
      const odd = (_: never, row: number) => row % 2 === 1;
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

it('drops tables that have long been no help, and is slower to build them again', () => {
  const codes = crowded(400_000, 64, 6);
  const slots = new Slots(8);
  for (let row = 0; row < codes.count; row++) slots.add(codes.at(row));
  const plan = new BandPlan(64);
  const reach = { k: 10, maxDistance: 3 };
  const scans = (count: number, ms: number, isChosen: boolean) => {
    for (let i = 0; i < count; i++) plan.noteScan(slots, ms, reach, 3, isChosen);
  };
  expect(plan.isWorth(slots, reach)).toBe(false);
  scans(1, 1e6, true);
  expect(plan.isWorth(slots, reach)).toBe(true);
  runSteps(plan.prepare(slots, reach), {});
  const { bytes } = plan;
  expect(bytes).toBeGreaterThan(0);
  scans(3000, 1, false); // asked for by name: they tell nothing of the tables
  scans(1000, 1, true);
  expect(plan.bytes).toBe(bytes);
  scans(100, 1, true);
  expect(plan.bytes).toBe(0);
  const scansUntilWorth = () => {
    let count = 0;
    for (; !plan.isWorth(slots, reach); count++) scans(1, 1, true);
    return count;
  };
  const first = scansUntilWorth();
  runSteps(plan.prepare(slots, reach), {});
  scans(1100, 1, true);
  expect(plan.bytes).toBe(0);
  // Building takes not quite as long each time.
  expect(scansUntilWorth()).toBeGreaterThan(2 * first);
});

it('takes one search of many queries for one scan that tables were no help for', () => {
  const codes = crowded(400_000, 64, 7);
  const index = new SimHashIndex({ bits: 64 });
  index.addAll(codes);
  for (let i = 0; i < 3000 && index.bytes.bands === 0; i++) {
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

it('answers from one order of the slots when another takes its place on the way', () => {
  const bits = 64;
  const codes = crowded(300_000, bits, 5);
  const hasher = new SimHasher({ bits });
  for (const method of ['bands', 'scan'] as const) {
    const slots = new Slots(8);
    for (let row = 0; row < codes.count; row++) slots.add(codes.at(row));
    const state: IndexState = {
      ...{
        bits,
        hasher,
        mean: null,
        kernel: undefined,
        slots,
        ids: new IdTable(),
        vectors: null,
        sparse: null,
      },
      ...{ isForeign: true, bandPlan: new BandPlan(bits), partitions: null, report: null },
    };
    const other = runSteps(
      slots.rearranged(Uint32Array.from({ length: slots.count }, (_, i) => slots.count - 1 - i)),
      {},
    );
    const request = { k: 20, maxDistance: bits, method, filter: null };
    const work = { codesCompared: 0, candidates: 0, probes: 0 };
    const query = codes.at(123_456);
    const steps = nearestByDistance(state, query, request, work);
    expect(steps.next().done).toBe(false);
    state.slots = other;
    const { rows } = runSteps(steps, {});
    const expected = ranked(codes, query).slice(0, 20);
    expect([...rows.rows].map((row, i) => [rows.distances[i], row])).toEqual(expected);
  }
});
