// @module-tag full

/**
 * More codes than one memory of 4 GiB holds: 4.4 GB of them in memory and on the disk, for a minute
 * or two. They are wide, so that they are few.
 */

import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Codes } from '../../src/codes/codes';
import { SimHashIndex } from '../../src/index/simhash-index';
import { openIndex, saveIndex } from '../../src/node';
import { Draws } from '../reference/random';
import { temporaryFolder } from '../store/collection';

const BYTES = 8184;
const HEAD = 16;
const BATCH = 2 ** 13;
const BATCHES = 66;
const ROWS = BATCH * BATCHES;

it('searches, saves and opens more than 4 GiB of codes', { timeout: 900_000 }, async () => {
  const draws = new Draws('large');
  // A code is the head of its row, and a tail that rows of a place in each batch share.
  const batch = draws.bytes(BATCH * BYTES);
  const heads = draws.bytes(ROWS * HEAD);
  const [batchWords, headWords] = [wordsOf(batch), wordsOf(heads)];
  const index = new SimHashIndex({ bits: 8 * BYTES });
  for (let first = 0; first < ROWS; first += BATCH) {
    for (let i = 0; i < BATCH; i++) {
      const at = HEAD * (first + i);
      batch.set(heads.subarray(at, at + HEAD), BYTES * i);
    }
    await index.addAll(Codes.from(batch, { bits: 8 * BYTES }));
  }
  expect(index.bytes).toBeGreaterThan(2 ** 32);

  const codeOf = (row: number) => {
    const at = BYTES * (row % BATCH);
    const code = batch.slice(at, at + BYTES);
    code.set(heads.subarray(HEAD * row, HEAD * (row + 1)));
    return code;
  };
  // In the first memory, on both sides of a border, and behind 4 GiB.
  const rows = [77, 2 ** 17 - 1, 2 ** 17, 2 ** 19 + 2 ** 10, ROWS - 1];
  const queries = rows.map((row) => {
    const query = codeOf(row);
    for (let i = 0; i < 300; i++) query[draws.integer(BYTES)] ^= 1 << draws.integer(8);
    return query;
  });
  const expected = queries.map((query) => nearestByHand(query, 12));
  const found = await index.searchAll(Codes.from(concat(queries), { bits: 8 * BYTES }), {
    k: 12,
    rank: 'hamming',
  });
  for (const [i, query] of queries.entries()) {
    const { rows: near, distances } = expected[i];
    expect([...found[i].rows]).toEqual(near);
    expect([...(found[i].distances ?? [])]).toEqual(distances);
    const one = index.search(query, { k: 12, rank: 'hamming' });
    expect([...one.rows]).toEqual(near);
    const within = index.within(query, { maxDistance: distances[11] - 1 });
    const least = near.filter((_, j) => distances[j] < distances[11]);
    expect([...within.rows]).toEqual(least);
    expect(near[0]).toBe(rows[i]);
    expect(index.get(rows[i])?.code).toEqual(codeOf(rows[i]));
  }
  const threads = await index.searchAll(Codes.from(concat(queries), { bits: 8 * BYTES }), {
    ...{ k: 12, threads: 2 },
    rank: 'hamming',
  });
  expect(threads.map((one) => [...one.rows])).toEqual(expected.map((one) => one.rows));

  const folder = join(await temporaryFolder(), 'large.hs');
  await saveIndex(index, folder);
  const opened = await openIndex(folder);
  expect([opened.count, opened.bytes > 2 ** 32]).toEqual([ROWS, true]);
  const again = await opened.searchAll(Codes.from(concat(queries), { bits: 8 * BYTES }), {
    ...{ k: 12, rank: 'hamming' },
  });
  expect(again.map((one) => [...one.rows])).toEqual(expected.map((one) => one.rows));

  /** The k nearest rows by distance, then row: every row, word by word. */
  function nearestByHand(query: Uint8Array, k: number) {
    const [head, tail] = [wordsOf(query.slice(0, HEAD)), wordsOf(query.slice(HEAD))];
    const tails = Uint16Array.from({ length: BATCH }, (_, i) =>
      bitsApart(batchWords, (BYTES * i + HEAD) >> 2, tail),
    );
    const best: { row: number; distance: number }[] = [];
    for (let row = 0; row < ROWS; row++) {
      const distance = tails[row % BATCH] + bitsApart(headWords, (HEAD >> 2) * row, head);
      if (best.length === k && distance >= best[k - 1].distance) continue;
      best.push({ row, distance });
      best.sort((a, b) => a.distance - b.distance || a.row - b.row);
      best.length = Math.min(best.length, k);
    }
    return { rows: best.map(({ row }) => row), distances: best.map(({ distance }) => distance) };
  }
});

const wordsOf = ({ buffer, byteOffset, length }: Uint8Array) =>
  new Uint32Array(buffer, byteOffset, length >> 2);

/** Different bits of the words from `first` on and of others. */
function bitsApart(words: Uint32Array, first: number, others: Uint32Array): number {
  let count = 0;
  for (let i = 0; i < others.length; i++) {
    let bits = words[first + i] ^ others[i];
    bits -= (bits >>> 1) & 0x5555_5555;
    bits = (bits & 0x3333_3333) + ((bits >>> 2) & 0x3333_3333);
    count += Math.imul((bits + (bits >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24;
  }
  return count;
}

function concat(codes: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(codes.length * BYTES);
  for (const [i, code] of codes.entries()) bytes.set(code, i * BYTES);
  return bytes;
}
