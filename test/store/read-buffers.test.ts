import { expect, it } from 'vitest';
import { ReadBuffers } from '../../src/store/folder-place';

it('a buffer that came back is taken for the next bytes of its size, and for one caller', () => {
  const buffers = new ReadBuffers();
  const [a, b] = [buffers.take(5000), buffers.take(5000)];
  expect([a.length, a.byteOffset, a.buffer === b.buffer]).toEqual([5000, 0, false]);
  buffers.giveBack([a.subarray(7), a.subarray(9)]);
  buffers.giveBack([a]); // again: it is not lent any more
  const [c, d] = [buffers.take(8000), buffers.take(8000)];
  expect([c.buffer === a.buffer, d.buffer === a.buffer, c.length]).toEqual([true, false, 8000]);
  expect(buffers.take(100).buffer.byteLength).toBe(4096);
});

it('others never come back, nor do those that are too large to wait', () => {
  const buffers = new ReadBuffers();
  const other = new Uint8Array(8192);
  const large = buffers.take(2 ** 24 + 1);
  expect([large.length, large.buffer.byteLength]).toEqual([2 ** 24 + 1, 2 ** 24 + 1]);
  buffers.giveBack([other, large]);
  expect(buffers.take(8192).buffer).not.toBe(other.buffer);
  expect(buffers.take(2 ** 24 + 1).buffer).not.toBe(large.buffer);
});

it('where too much waits, what came back last stays', () => {
  const buffers = new ReadBuffers();
  const [first, second] = [buffers.take(2 ** 23), buffers.take(2 ** 24)];
  buffers.giveBack([first]);
  buffers.giveBack([second]);
  expect(buffers.take(2 ** 24).buffer).toBe(second.buffer);
  expect(buffers.take(2 ** 23).buffer).not.toBe(first.buffer);
});
