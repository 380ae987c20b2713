import { expect, it } from 'vitest';
import { RowBatch, SimHasher, SimHashIndex } from '../../src/node';

/** Arrays whose memory is gone: they have no values, and no call may read them. */

function gone<A extends Float32Array | Uint8Array | Uint32Array>(values: A): A {
  structuredClone(values, { transfer: [values.buffer as ArrayBuffer] });
  return values;
}

/** The same where the memory is there, but too short. */
function shrunk() {
  const Resizable = ArrayBuffer as unknown as new (
    length: number,
    options: { maxByteLength: number },
  ) => ArrayBuffer & { resize(length: number): void };
  const buffer = new Resizable(64, { maxByteLength: 64 });
  const values = new Float32Array(buffer, 8, 4);
  buffer.resize(4);
  return values;
}

const hasher = new SimHasher({ bits: 64, dimensions: 2 });
const index = new SimHashIndex({ bits: 64, dimensions: 2, vectors: 'float32' });
await index.addAll([
  [1, 2],
  [2, 1],
]);
const dense = () => ({ values: gone(new Float32Array(4)), dimensions: 2 });
const sparse = () => ({
  offsets: [0, 0, 0],
  indices: gone(new Uint32Array(2)),
  values: gone(new Float32Array(2)),
});

it.each<[string, string, () => unknown]>([
  ['hashAll, dense', 'values', () => hasher.hashAll(dense())],
  ['hashAll, sparse', 'indices', () => hasher.hashAll(sparse())],
  ['addAll', 'values', () => index.addAll(dense())],
  ['searchAll', 'values', () => index.searchAll(dense())],
  ['withinAll', 'values', () => index.withinAll(dense(), { maxDistance: 3 })],
  ['optimize', 'values', () => index.optimize({ queries: dense() })],
  ['search, sparse', 'values', () => index.search(sparse())],
  ['addAll, shrunk', 'values', () => index.addAll({ values: shrunk(), dimensions: 2 })],
  ['filter', 'filter', () => index.search([1, 2], { filter: gone(new Uint32Array(1)) })],
  ['RowBatch.of', 'column', () => RowBatch.of({ column: gone(new Float32Array(2)) })],
])('%s names "%s"', async (_, name, call) => {
  const words = `"${name}" expected an array whose memory is still there`;
  await expect((async () => call())()).rejects.toThrow(words);
  expect(index.count).toBe(2);
});
