/** A small index of each kind, a plain model of it, and the comparison of the two. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect } from 'vitest';
import { Codes, type Id, type OptimizeOptions, type SimHashIndex } from '../../src/index';
import { Draws } from '../reference/random';

/** A new folder for this test file, gone at its end. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'halfspace-storage-'));
  afterAll(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** What an index must hold: codes by id, by nothing but what was put in. */
export type Model = Map<Id, Uint8Array | null>;

/** Codes of which some are equal. */
export function codesFor(count: number, seed: number, bits = 40): Codes {
  const draws = new Draws(seed);
  const width = Math.ceil(bits / 8);
  const bytes = Uint8Array.from({ length: count * width }, () => draws.integer(256));
  for (let row = 3; row < count; row += 3) {
    const from = draws.integer(row) * width;
    bytes.copyWithin(row * width, from, from + width);
  }
  return Codes.from(bytes, { bits });
}

export function distanceOf(a: Uint8Array, b: Uint8Array): number {
  let distance = 0;
  a.forEach((byte, i) => {
    for (let bits = byte ^ b[i]; bits > 0; bits &= bits - 1) distance++;
  });
  return distance;
}

/** The index has the model's rows and no others, and finds the nearest of them. */
export function expectModel(index: SimHashIndex, model: Model): void {
  expect(index.count).toBe(model.size);
  for (const [id, code] of model) expect([id, index.get(id)?.code]).toEqual([id, code]);
  const rows = [...model].flatMap(([id, code]) => (code ? [{ id, code }] : []));
  for (const { code: query } of rows.filter((_, i) => i % 17 === 0)) {
    const nearest = rows
      .map(({ id, code }) => ({ row: index.get(id)?.row as number, d: distanceOf(code, query) }))
      .sort((a, b) => a.d - b.d || a.row - b.row)
      .slice(0, 12);
    const found = index.search(query, { k: 12, rank: 'hamming' });
    expect([...found.rows]).toEqual(nearest.map(({ row }) => row));
    expect([...(found.distances ?? [])]).toEqual(nearest.map(({ d }) => d));
  }
}

export function modelOf(index: SimHashIndex, ids: Iterable<Id>): Model {
  return new Map([...ids].map((id) => [id, index.get(id)?.code as Uint8Array | null]));
}

/** Optimizes an index whose searches shall visit partitions, which it chooses of many rows. */
export async function partitioned(
  index: SimHashIndex,
  options: OptimizeOptions,
): Promise<SimHashIndex> {
  await index.optimize(options);
  return index;
}
