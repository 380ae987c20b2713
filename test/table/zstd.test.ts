import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { decodeZstd } from '../../src/table/compression';
import type { FrameSweep } from './frames.child';
import { frames, refused } from './frames.json';
import { runInChild } from './in-child';

const MAGIC = [0x28, 0xb5, 0x2f, 0xfd];

/** A block's header: whether it is the last, its type (0 raw, 1 run-length, 2 compressed), its size. */
function block(isLast: boolean, type: number, size: number, ...content: number[]): number[] {
  const word = Number(isLast) | (type << 1) | (size << 3);
  return [word & 255, (word >> 8) & 255, word >> 16, ...content];
}

/** The length of the content in 1, 2, 4 or 8 bytes, as a single segment. */
function header(length: number, bytes: 1 | 2 | 4 | 8): number[] {
  const stored = bytes === 2 ? length - 256 : length;
  const flag = { 1: 0, 2: 1, 4: 2, 8: 3 }[bytes];
  const digits = Array.from({ length: bytes }, (_, i) => Math.floor(stored / 256 ** i) & 255);
  return [...MAGIC, (flag << 6) | 32, ...digits];
}

const WINDOW_1_MIB = [...MAGIC, 0, 10 << 3];
const ramp = (length: number) => Array.from({ length }, (_, i) => (i * 31) & 255);
const decode = (...parts: readonly number[][]) => [...decodeZstd(Uint8Array.from(parts.flat()))];

describe('decodeZstd', () => {
  it.each(frames.filter(({ codec }) => codec === 'zstd'))(
    'decodes what zstd wrote: $name',
    (one) => {
      const content = decodeZstd(Uint8Array.from(Buffer.from(one.frame, 'hex')));
      expect(content.length).toBe(one.length);
      expect(createHash('sha256').update(content).digest('hex')).toBe(one.sha256);
      expect(content.byteOffset % 8).toBe(0);
    },
  );

  it('decodes a frame that starts at any byte of a larger buffer', () => {
    const { frame, sha256 } = frames.filter(({ codec }) => codec === 'zstd')[8];
    const bytes = Buffer.from(frame, 'hex');
    for (let offset = 0; offset < 9; offset++) {
      const larger = new Uint8Array(bytes.length + 20).fill(0xaa);
      larger.set(bytes, offset);
      const content = decodeZstd(larger.subarray(offset, offset + bytes.length));
      expect(createHash('sha256').update(content).digest('hex')).toBe(sha256);
    }
  });

  it('reads raw, run-length and empty blocks', () => {
    const raw = block(false, 0, 5, ...ramp(5));
    const run = block(false, 1, 7, 9);
    const empty = block(true, 0, 0);
    const expected = [...ramp(5), ...Array(7).fill(9)];
    expect(decode(WINDOW_1_MIB, raw, run, empty)).toEqual(expected);
    expect(decode(header(12, 1), raw, run, empty)).toEqual(expected);
    expect(decode(header(0, 1), empty)).toEqual([]);
  });

  it('reads the length of the content in 1, 2, 4 and 8 bytes', () => {
    for (const [length, bytes] of [
      [255, 1],
      [300, 2],
      [300, 4],
      [300, 8],
    ] as const) {
      const frame = [header(length, bytes), block(true, 0, length, ...ramp(length))];
      expect(decode(...frame)).toEqual(ramp(length));
    }
  });

  it('reads several frames, and steps over those to skip', () => {
    const frame = [...header(3, 1), ...block(true, 0, 3, 1, 2, 3)];
    const skipped = [0x5f, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 7, 7];
    expect(decode(frame, skipped, frame)).toEqual([1, 2, 3, 1, 2, 3]);
    expect(decode(skipped, frame)).toEqual([1, 2, 3]);
  });

  it.each(refused.filter(({ codec }) => codec === 'zstd'))('refuses $name', (one) => {
    const bytes = Uint8Array.from(Buffer.from(one.frame, 'hex'));
    expect(() => decodeZstd(bytes)).toThrow(Error);
  });

  it.each([
    ['nothing', []],
    ['another magic number', [1, 2, 3, 4, 5, 6, 7, 8]],
    ['a magic number only', MAGIC],
    ['a header without a block', header(3, 1)],
    ['a block of the reserved type', [...header(3, 1), ...block(true, 3, 3, 1, 2, 3)]],
    ['a reserved flag', [...MAGIC, 0x28, 3, ...block(true, 0, 3, 1, 2, 3)]],
    ['a block beyond the frame', [...header(9, 1), ...block(true, 0, 9, 1, 2, 3)]],
    ['more content than it says', [...header(2, 1), ...block(true, 0, 3, 1, 2, 3)]],
    ['less content than it says', [...header(4, 1), ...block(true, 0, 3, 1, 2, 3)]],
    ['terabytes', [...header(2 ** 42, 8), ...block(true, 1, 4, 0)]],
    ['a second frame that is none', [...header(1, 1), ...block(true, 0, 1, 5), 1, 2, 3, 4]],
  ])('refuses %s', (_, bytes) => {
    expect(() => decodeZstd(Uint8Array.from(bytes))).toThrow(Error);
  });

  it('refuses frames cut at any byte, and survives any byte changed', {
    tags: 'full',
  }, async () => {
    // Damaged entropy tables have made other decoders loop without end.
    const sweep = await runInChild<FrameSweep>('frames.child.ts', {
      ...{ nodeOptions: ['--max-old-space-size=64'], args: ['zstd'], timeoutMs: 60_000 },
    });
    expect(sweep.failures).toEqual([]);
    expect(sweep.opened).toBeGreaterThan(10_000);
    expect(sweep.slowestMs).toBeLessThan(2000);
  });
});
