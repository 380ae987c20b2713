import { describe, expect, it } from 'vitest';
import { runSteps } from '../../src/base/steps';
import { Bands } from '../../src/index/bands/bands';
import { naiveNeighbors } from '../reference/brute-force';
import { difference } from '../reference/difference';
import { Draws } from '../reference/random';
import { AnyOrder, build, flipped, joined, type Kind, makeRows, sourceOf } from './band-rows';

/** What tables hold and read, and what a limit of reads bounds. */

describe('tables', () => {
  const draws = new Draws('tables');
  const rows = makeRows('clustered', 400, 64, draws);
  const within = (bands: Bands, query: Uint8Array, maxDistance = 3) => {
    const collector = new AnyOrder({ maxDistance });
    expect(bands.search(query, collector).isComplete).toBe(true);
    return [...collector.result().rows];
  };

  it('leave out those behind the count', () => {
    const bands = build(rows, 64, 4, { count: 300 });
    for (const query of rows.slice(0, 20)) {
      const expected = naiveNeighbors(rows.slice(0, 300), query, { maxDistance: 3 }).rows;
      expect(within(bands, query)).toEqual([...expected]);
    }
    const nothing = build([], 64, 4);
    expect(within(nothing, rows[0])).toEqual([]);
    expect(nothing.skew).toBe(1);
  });

  it('read codes where they are after they have moved', () => {
    const bytes = joined(rows, 64);
    const memory = { codes: bytes };
    const source = { memories: [memory], shift: 31 };
    const options = { bits: 64, count: rows.length, blocks: 4 };
    const bands = runSteps(Bands.build(source, options), {});
    const expected = within(bands, rows[0]);
    expect(expected.length).toBeGreaterThan(10);
    memory.codes = new Uint8Array(new ArrayBuffer(8 * 500 + 3), 3, 8 * 500); // unaligned, and more
    memory.codes.set(bytes);
    bytes.fill(0);
    expect(within(bands, rows[0])).toEqual(expected);
  });

  it('are asked while they ask', () => {
    const bands = build(rows, 64, 3);
    const expected = naiveNeighbors(rows, rows[0], { k: 5 });
    let asked = 0;
    class Asking extends AnyOrder {
      override take(distinct: number, distance: number): void {
        super.take(distinct, distance);
        within(bands, rows[asked++ % 9], 2);
      }
    }
    const collector = new Asking({ k: 5, maxDistance: 64 });
    expect(bands.search(rows[0], collector).isComplete).toBe(true);
    expect(collector.result()).toEqual(expected);
    expect(asked).toBeGreaterThan(4);
  });

  it('leave the codes as they were', () => {
    const bytes = joined(rows, 64);
    const before = bytes.slice();
    const options = { bits: 64, count: rows.length, blocks: 4 };
    const bands = runSteps(Bands.build(sourceOf(bytes), options), {});
    const query = rows[0].slice();
    within(bands, query);
    expect([bytes, query]).toEqual([before, rows[0]]);
  });

  it('list what they hold: offsets and codes', () => {
    // 400 codes: 2^9 buckets, and one entry more in each list.
    expect(build(rows, 64, 4).bytes).toBe(4 * 4 * (2 ** 9 + 1 + 401));
  });

  it('measure how unevenly codes fill the buckets', () => {
    const skew = (kind: Kind) => build(makeRows(kind, 20_000, 64, new Draws(kind)), 64, 4).skew;
    expect(Math.abs(skew('uniform') - 1)).toBeLessThan(0.05);
    expect(skew('equal')).toBeCloseTo(2 ** 14, 6); // one of 2^14 hashed buckets holds all
    expect(skew('clustered')).toBeGreaterThan(1000);
  });

  it('are made in steps that tell their progress, and can be stopped', () => {
    const many = joined(makeRows('uniform', 70_000, 64, draws), 64);
    const options = { bits: 64, count: 70_000, blocks: 10 };
    const seen: (readonly [number, number])[] = [];
    const onProgress = (...progress: [number, number]) => seen.push(progress);
    const bands = runSteps(Bands.build(sourceOf(many), options), { onProgress });
    expect(bands.search(many.slice(0, 8), new AnyOrder({ maxDistance: 3 })).isComplete).toBe(true);
    const done = seen.map(([rowsDone]) => rowsDone);
    expect(done).toEqual([...new Set(done)].sort((a, b) => a - b));
    expect(seen.at(-1)).toEqual([2_100_000, 2_100_000]);
    expect(seen.length).toBeGreaterThan(100);
    const reason = new Error('enough');
    const controller = new AbortController();
    const abort = () => controller.abort(reason);
    const stopped = { onProgress: abort, signal: controller.signal };
    expect(() => runSteps(Bands.build(sourceOf(many), options), stopped)).toThrow(reason);
  });
});

describe('a limit of reads', () => {
  it('is never exceeded, and what was offered is right', () => {
    const draws = new Draws('budget');
    const rows = makeRows('clustered', 3000, 64, draws);
    const bands = build(rows, 64, 4);
    const query = flipped(rows[9], 64, 2, draws);
    const cost = (maxReads: number) => {
      const collector = new AnyOrder({ maxDistance: 7 });
      const found = bands.search(query, collector, { maxReads });
      const { lookUps, compared } = found;
      const spent = 2 * lookUps + compared;
      return { collector, found, spent };
    };
    const all = naiveNeighbors(rows, query, { maxDistance: 7 });
    const whole = cost(Number.POSITIVE_INFINITY);
    expect(whole.found).toMatchObject({ isComplete: true, radius: 7 });
    expect(whole.collector.result()).toEqual(all);
    const radii = new Set<number>();
    for (let most = 0; most < whole.spent; most += whole.spent / 150) {
      const { collector, found, spent } = cost(most);
      const { radius } = found;
      expect(found.isComplete).toBe(false);
      expect(spent).toBeLessThanOrEqual(most);
      const { rows: members, distances } = collector.result();
      members.forEach((distinct, i) => {
        expect(distances[i]).toBe(all.distances[all.rows.indexOf(distinct)]);
      });
      const known = all.distances.filter((distance) => distance <= radius).length;
      expect(difference(members.subarray(0, known), all.rows.subarray(0, known))).toBeNull();
      radii.add(radius);
    }
    expect([...radii]).toEqual([-1, 0, 1, 2, 3, 4, 5, 6]);
    expect(cost(whole.spent).collector.result()).toEqual(all);
  });

  it('refuses a bucket that is too full before it is read', () => {
    const rows = makeRows('equal', 5000, 64, new Draws('full'));
    const bands = build(rows, 64, 4);
    const search = (maxReads: number) => {
      const collector = new AnyOrder({ maxDistance: 0 });
      return [bands.search(rows[0], collector, { maxReads }), collector.hits.length];
    };
    const none = { isComplete: false, radius: -1, lookUps: 1, compared: 0 };
    expect(search(5001)).toEqual([none, 0]);
    const all = { isComplete: true, radius: 0, lookUps: 1, compared: 5000 };
    expect(search(5002)).toEqual([all, 5000]);
  });

  it('may also be a radius, up to which all is found', () => {
    const draws = new Draws('radius');
    const rows = makeRows('clustered', 500, 64, draws);
    const bands = build(rows, 64, 3);
    for (let maxRadius = 0; maxRadius < 6; maxRadius++) {
      const collector = new AnyOrder({ maxDistance: 30 });
      const found = bands.search(rows[1], collector, { maxRadius });
      expect(found).toMatchObject({ isComplete: false, radius: maxRadius });
      const expected = naiveNeighbors(rows, rows[1], { maxDistance: maxRadius });
      const { rows: members } = collector.result();
      expect(members.subarray(0, expected.rows.length)).toEqual(expected.rows);
    }
  });
});
