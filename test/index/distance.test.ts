import { describe, expect, it } from 'vitest';
import { LongWork } from '../../src/base/long-work';
import { DistanceSearch } from '../../src/index/distance';
import { FilterMemory } from '../../src/index/filter';
import { MemoryIndex } from '../../src/index/memory-index';
import { run } from '../../src/index/searched';
import type { RowsToPlace } from '../../src/index/space';
import { TrainingSample, trainSpace, untrainedSpace } from '../../src/index/train';
import { eachRun } from '../../src/index/truth';
import { Draws } from '../reference/random';
import { quickIf } from '../reference/tags';

/** Codes of which some are near others, and null rows, in an index of several segments. */
function indexOf(bits: number, count: number, draws: Draws) {
  const bytesPerCode = bits / 8;
  const codes = draws.bytes(count * bytesPerCode);
  for (let row = 3; row < count; row += 3) {
    codes.copyWithin(row * bytesPerCode, (row - 2) * bytesPerCode, (row - 1) * bytesPerCode);
    for (let flip = draws.integer(6); flip > 0; flip--) {
      codes[row * bytesPerCode + draws.integer(bytesPerCode)] ^= 1 << draws.integer(8);
    }
  }
  const isNull = (row: number) => row % 101 === 5;
  for (let row = 5; row < count; row += 101) {
    codes.fill(0, row * bytesPerCode, (row + 1) * bytesPerCode);
  }
  const index = new MemoryIndex({
    ...{ bits, bytesPerCode, newVectors: () => null },
    ...{ tailRows: 9000, maxSegmentRows: 9000 },
  });
  const append = (to: MemoryIndex, first: number, end: number) =>
    to.append({
      ...{ count: end - first, ids: null, vectors: null },
      codes: codes.subarray(first * bytesPerCode, end * bytesPerCode),
      isNull: (i) => isNull(first + i),
    });
  return { index, codes, isNull, append };
}

/** The number of bits that are set, by byte. */
const ONES = Uint8Array.from(
  { length: 256 },
  (_, byte) => byte.toString(2).replaceAll('0', '').length,
);

/** By brute force, byte by byte. */
function nearest(
  codes: Uint8Array,
  bytes: number,
  query: Uint8Array,
  rows: number[],
  k: number,
  most: number,
) {
  const distanceOf = (row: number) => {
    let distance = 0;
    for (let i = 0; i < bytes; i++) {
      distance += ONES[codes[row * bytes + i] ^ query[i]];
    }
    return distance;
  };
  return rows
    .map((row) => ({ row, distance: distanceOf(row) }))
    .filter(({ distance }) => distance <= most)
    .sort((a, b) => a.distance - b.distance || a.row - b.row)
    .slice(0, k);
}

describe.each([64, 256, 2048])('a search by distance of %i bits', (bits) => {
  const title = 'finds what brute force finds by every method, in every order of searches';
  it(title, quickIf(bits < 2048), async () => {
    const draws = new Draws(bits);
    const count = 12_000;
    const { index: plain, codes, isNull, append } = indexOf(bits, count, draws);
    append(plain, 0, 6000);
    const work = new LongWork({});
    const untrained = untrainedSpace({ bits, dimensions: null, seed: 0n });
    const sample = new TrainingSample({ space: untrained, most: 3000, rows: 6000, seed: 0 });
    const offer = (rows: RowsToPlace) => sample.offer(rows, null);
    await eachRun((take) => plain.eachChunks(take), true, offer, work);
    const space = await trainSpace(untrained, await sample.points(work), 8, work);
    const index = await plain.placed(space, work);
    append(index, 6000, count);
    for (let row = 0; row < count; row += 7) index.remove(row);
    const live = Array.from({ length: count }, (_, row) => row).filter(
      (row) => row % 7 > 0 && !isNull(row),
    );
    const methods = new Set<string>();
    for (let search = 0; search < 40; search++) {
      const row = draws.integer(count);
      const query = codes.slice((row * bits) / 8, ((row + 1) * bits) / 8);
      const k = [1, 10, 50, Number.MAX_SAFE_INTEGER][search % 4];
      const maxDistance = search % 4 === 3 ? draws.integer(8) : bits;
      const filter =
        search % 5 === 4 ? new FilterMemory({ accepts: (one) => one % 2 === 0, rows: null }) : null;
      const rows = filter === null ? live : live.filter((one) => one % 2 === 0);
      const work = { codesCompared: 0, candidates: 0, probes: 0 };
      const asked = { k, maxDistance, filter };
      const done = run(new DistanceSearch(index.searched(), query, asked, work));
      const found = done.near;
      methods.add(done.method);
      const wanted = nearest(codes, bits / 8, query, rows, k, maxDistance);
      expect(Array.from(found.rows)).toEqual(wanted.map((one) => one.row));
      expect(Array.from(found.distances)).toEqual(wanted.map((one) => one.distance));
    }
    expect([...methods].sort()).toEqual(['bands', 'scan']);
  });
});
