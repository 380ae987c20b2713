import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import xxhash from 'xxhash-wasm';
import { decodeLz4 } from '../../src/table/compression';
import type { FrameSweep } from './frames.child';
import { frames, refused } from './frames.json';
import { runInChild } from './in-child';

const SEED = 20_261_121;

/** One sequence: literals, then a match of `length` bytes from `back` bytes before. */
interface Sequence {
  literals: readonly number[];
  back?: number;
  length?: number;
}

/** A length beyond 15 takes bytes of 255 and one that is less. */
function more(length: number): number[] {
  if (length < 15) return [];
  const rest = length - 15;
  return [...Array<number>(Math.floor(rest / 255)).fill(255), rest % 255];
}

function block(...sequences: Sequence[]): number[] {
  return sequences.flatMap(({ literals, back, length = 4 }) => {
    const matched = back === undefined ? 0 : length - 4;
    const token = (Math.min(15, literals.length) << 4) | Math.min(15, matched);
    const head = [token, ...more(literals.length), ...literals];
    return back === undefined ? head : [...head, back & 255, back >> 8, ...more(matched)];
  });
}

/** What the sequences say, byte by byte. */
function naive(...sequences: Sequence[]): number[] {
  const out: number[] = [];
  for (const { literals, back, length = 4 } of sequences) {
    out.push(...literals);
    for (let i = 0; back !== undefined && i < length; i++) out.push(out[out.length - back]);
  }
  return out;
}

interface FrameOptions {
  version?: number;
  contentSize?: number;
  isLinked?: boolean;
  blockChecksum?: boolean;
  contentChecksum?: boolean;
  dictionary?: boolean;
  isStored?: boolean;
}

let h32: (bytes: Uint8Array) => number = () => 0;
beforeAll(async () => {
  ({ h32Raw: h32 } = await xxhash());
});

function int32(value: number): number[] {
  return [value & 255, (value >> 8) & 255, (value >> 16) & 255, value >>> 24];
}

/** A frame of blocks; of the content's checksum only the place is filled. */
function frame(blocks: readonly (readonly number[])[], options: FrameOptions = {}): Uint8Array {
  const { version = 1, contentSize, isLinked, blockChecksum, contentChecksum } = options;
  const flags =
    (version << 6) |
    (isLinked ? 0 : 32) |
    (blockChecksum ? 16 : 0) |
    (contentSize === undefined ? 0 : 8) |
    (contentChecksum ? 4 : 0) |
    (options.dictionary ? 1 : 0);
  const size = contentSize === undefined ? [] : [...int32(contentSize), 0, 0, 0, 0];
  const descriptor = [flags, 0x40, ...size, ...(options.dictionary ? [1, 2, 3, 4] : [])];
  const check = (h32(Uint8Array.from(descriptor)) >> 8) & 255;
  const written = blocks.flatMap((bytes) => [
    ...int32(bytes.length | (options.isStored ? 0x8000_0000 : 0)),
    ...bytes,
    ...(blockChecksum ? int32(h32(Uint8Array.from(bytes))) : []),
  ]);
  const end = [0, 0, 0, 0, ...(contentChecksum ? [9, 9, 9, 9] : [])];
  return Uint8Array.from([0x04, 0x22, 0x4d, 0x18, ...descriptor, check, ...written, ...end]);
}

const ramp = (length: number) => Array.from({ length }, (_, i) => (i * 31) & 255);

/** The content of a frame, which has less than 2 MiB in all of these tests. */
const decoded = (bytes: Uint8Array) => decodeLz4(bytes, 2 ** 21);

describe('decodeLz4', () => {
  it.each(frames.filter(({ codec }) => codec === 'lz4'))('decodes what lz4 wrote: $name', (one) => {
    const content = decoded(Uint8Array.from(Buffer.from(one.frame, 'hex')));
    expect(content.length).toBe(one.length);
    expect(createHash('sha256').update(content).digest('hex')).toBe(one.sha256);
    expect(content.byteOffset % 8).toBe(0);
  });

  it('decodes a frame that starts at any byte of a larger buffer', () => {
    const bytes = frame([block({ literals: ramp(20), back: 7, length: 30 }, { literals: [1] })]);
    const expected = naive({ literals: ramp(20), back: 7, length: 30 }, { literals: [1] });
    for (let offset = 0; offset < 9; offset++) {
      const larger = new Uint8Array(bytes.length + 20).fill(0xaa);
      larger.set(bytes, offset);
      const view = larger.subarray(offset, offset + bytes.length);
      expect([...decoded(view)]).toEqual(expected);
    }
  });

  it('copies literals of every length around 15 and 15 + 255', () => {
    for (const length of [0, 1, 14, 15, 16, 269, 270, 271, 524, 525, 526, 1000]) {
      expect([...decoded(frame([block({ literals: ramp(length) })]))]).toEqual(ramp(length));
    }
  });

  it('copies matches of every length, also those that overlap what they make', () => {
    for (const length of [4, 5, 18, 19, 20, 273, 274, 275, 528, 529, 700]) {
      for (const back of [1, 2, 3, 7, 8, 40]) {
        const sequences = [{ literals: ramp(40), back, length }, { literals: [1, 2, 3, 4, 5] }];
        const content = decoded(frame([block(...sequences)]));
        expect([...content]).toEqual(naive(...sequences));
      }
    }
  });

  it('reaches back 65,535 bytes', () => {
    const sequences = [{ literals: ramp(65_535), back: 65_535, length: 9 }, { literals: [7] }];
    expect([...decoded(frame([block(...sequences)])).slice(-10)]).toEqual([...ramp(9), 7]);
  });

  it('follows random sequences', () => {
    const sequences = fc.array(
      fc.record({
        literals: fc.array(fc.nat(255), { minLength: 1, maxLength: 40 }),
        back: fc.integer({ min: 1, max: 40 }),
        length: fc.integer({ min: 4, max: 600 }),
      }),
    );
    const property = fc.property(sequences, (drawn) => {
      let there = 0; // a match starts within it
      const matches = drawn.map((one) => {
        const back = Math.min(one.back, there + one.literals.length);
        there += one.literals.length + one.length;
        return { ...one, back };
      });
      const all = [...matches, { literals: [9] }];
      expect([...decoded(frame([block(...all)]))]).toEqual(naive(...all));
    });
    fc.assert(property, { seed: SEED });
  });

  it('reads stored blocks, several blocks, and an empty frame', () => {
    const stored = frame([ramp(10), ramp(3)], { isStored: true });
    expect([...decoded(stored)]).toEqual([...ramp(10), ...ramp(3)]);
    expect(decoded(frame([])).length).toBe(0);
  });

  it('lets linked blocks refer to the ones before', () => {
    const first = { literals: ramp(20) };
    const second = { literals: [5], back: 21, length: 12 };
    const bytes = frame([block(first), block(second, { literals: [6] })], { isLinked: true });
    expect([...decoded(bytes)]).toEqual(naive(first, second, { literals: [6] }));
  });

  it.each<FrameOptions>([
    { contentSize: 24 },
    { blockChecksum: true },
    { contentChecksum: true },
    { contentSize: 24, blockChecksum: true, contentChecksum: true, isLinked: true },
  ])('steps over %o', (options) => {
    const sequence = { literals: ramp(10), back: 3, length: 13 };
    const bytes = frame([block(sequence), block({ literals: [8] })], options);
    expect([...decoded(bytes)]).toEqual([...naive(sequence), 8]);
  });

  it('refuses what it does not know', () => {
    const blocks = [block({ literals: ramp(5) })];
    const plain = frame(blocks);
    expect(() => decoded(frame(blocks, { dictionary: true }))).toThrow(/dictionary/);
    expect(() => decoded(frame(blocks, { version: 0 }))).toThrow(/version 0/);
    expect(() => decoded(frame(blocks, { version: 2 }))).toThrow(/version 2/);
    expect(() => decoded(plain.map((byte, at) => (at === 0 ? 5 : byte)))).toThrow(/LZ4 frame/);
  });

  it.each(refused.filter(({ codec }) => codec === 'lz4'))(
    'refuses what lz4 wrote with $name',
    (one) => {
      const bytes = Uint8Array.from(Buffer.from(one.frame, 'hex'));
      expect(() => decoded(bytes)).toThrow(Error);
    },
  );

  it.each([
    [
      'a match that starts nowhere',
      block({ literals: [1, 2], back: 0, length: 4 }, { literals: [] }),
    ],
    ['a match before the frame', block({ literals: [1, 2], back: 3, length: 4 }, { literals: [] })],
    ['literals beyond the block', [0xf0, 200, 1, 2]],
    ['a length that does not end', [0xf0, 255, 255, 255]],
    ['half an offset', [0x10, 1, 1]],
    ['a match length that does not end', [0x1f, 1, 1, 0, 255]],
  ])('refuses %s', (_, bytes) => {
    expect(() => decoded(frame([bytes]))).toThrow(/LZ4/);
  });

  it.each([true, false])('refuses more content than its most, stored: %s', (isStored) => {
    const bytes = frame([isStored ? ramp(20) : block({ literals: ramp(20) })], { isStored });
    expect(decodeLz4(bytes, 20).length).toBe(20);
    expect(() => decodeLz4(bytes, 19)).toThrow('LZ4 makes more than 19 bytes');
    const match = frame([block({ literals: [1], back: 1, length: 8 }, { literals: [] })]);
    expect(() => decodeLz4(match, 8)).toThrow('LZ4 makes more than 8 bytes');
  });

  it('refuses a block larger than its frame', () => {
    const bytes = frame([block({ literals: ramp(5) })]);
    new DataView(bytes.buffer).setUint32(7, 0x7fff_ffff, true);
    expect(() => decoded(bytes)).toThrow(/beyond its frame/);
  });

  it('refuses frames cut at any byte, and survives any byte changed', {
    tags: 'full',
  }, async () => {
    const sweep = await runInChild<FrameSweep>('frames.child.ts', {
      ...{ nodeOptions: ['--max-old-space-size=64'], args: ['lz4'], timeoutMs: 60_000 },
    });
    expect(sweep.failures).toEqual([]);
    expect(sweep.opened).toBeGreaterThan(10_000);
    expect(sweep.slowestMs).toBeLessThan(2000);
  });
});
