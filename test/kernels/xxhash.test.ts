import { describe, expect, it } from 'vitest';
import xxhash from 'xxhash-wasm';
import { SimHasher } from '../../src/hashing/simhash';
import { allocateCodes } from '../../src/kernels/memory';
import { checksum, hashBytes, hashDimension, hashWords } from '../../src/kernels/xxhash';
import { useKernel } from '../reference/kernels';
import { Draws } from '../reference/random';

/** Our two xxHash64 against xxhash-wasm, which Yann Collet's own vectors have tested. */
const { h64Raw, create64 } = await xxhash();
const COUNT = 100_000;

/** Corners of 64-bit arithmetic, before the random ones. */
const CORNERS = [0n, 1n, 0xffff_ffffn, 2n ** 32n, 2n ** 63n, 2n ** 64n - 1n];

function dimensionBytes(dimension: bigint): Uint8Array {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, dimension, true);
  return bytes;
}

it(`hashes dimensions as xxhash-wasm does: ${COUNT} random ones and seeds`, () => {
  const draws = new Draws('xxhash dimensions');
  const wrong: bigint[][] = [];
  for (let i = 0; i < COUNT; i++) {
    const dimension = CORNERS[i % 7] ?? draws.word();
    const seed = CORNERS[Math.floor(i / 7) % 31] ?? draws.word();
    const hash = hashDimension(dimension, seed);
    if (hash !== h64Raw(dimensionBytes(dimension), seed)) wrong.push([dimension, seed]);
  }
  expect(wrong).toEqual([]);
});

describe.each([
  ['scalar', (bytes: Uint8Array, seed?: bigint) => hashBytes(bytes, seed ?? 0n)],
  ['popcnt64', checksum],
] as const)('%s kernels', (kernel, hashOf) => {
  useKernel(kernel);

  it(`checksum 8 bytes as xxhash-wasm does: ${COUNT} random ones and seeds`, () => {
    const draws = new Draws('xxhash words');
    const wrong: bigint[][] = [];
    for (let i = 0; i < COUNT; i++) {
      const word = CORNERS[i % 7] ?? draws.word();
      const seed = CORNERS[Math.floor(i / 7) % 31] ?? draws.word();
      const bytes = dimensionBytes(word);
      if (hashOf(bytes, seed) !== h64Raw(bytes, seed)) wrong.push([word, seed]);
    }
    expect(wrong).toEqual([]);
  });

  it('checksum byte strings of every length to 300 at every alignment', () => {
    const draws = new Draws('xxhash lengths');
    const buffer = draws.bytes(400);
    const wrong: number[][] = [];
    for (let length = 0; length <= 300; length++) {
      for (let offset = 0; offset < 16; offset++) {
        const bytes = buffer.subarray(offset, offset + length);
        const seed = draws.word();
        if (hashOf(bytes, seed) !== h64Raw(bytes, seed)) wrong.push([length, offset]);
      }
    }
    expect(wrong).toEqual([]);
  });

  it('checksum a long run of bytes as one fed in pieces', () => {
    const bytes = new Draws('xxhash long').bytes(1_000_003);
    const pieces = create64(99n);
    for (let at = 0; at < bytes.length; at += 7777) pieces.update(bytes.subarray(at, at + 7777));
    expect(hashOf(bytes, 99n)).toBe(pieces.digest());
  });

  it('checksum bytes about as long as the pieces in which they are read', () => {
    const draws = new Draws('xxhash pieces');
    const bytes = draws.bytes(2 ** 18 + 40);
    const wrong: number[] = [];
    for (const pieces of [1, 2]) {
      for (const more of [-33, -32, -1, 0, 1, 31, 32, 33]) {
        const some = bytes.subarray(3, 3 + 2 ** 17 * pieces + more);
        const seed = draws.word();
        if (hashOf(some, seed) !== h64Raw(some, seed)) wrong.push(some.length);
      }
    }
    expect(wrong).toEqual([]);
  });

  it('checksum bytes of a linear memory where they are', () => {
    const bytes = allocateCodes(2 ** 18);
    bytes.set(new Draws('xxhash memory').bytes(bytes.length));
    for (const [from, end] of [
      [0, 0],
      [1, 30],
      [5, 100],
      [3, 2 ** 18 - 1],
    ] as const) {
      const some = bytes.subarray(from, end);
      expect(hashOf(some, 7n)).toBe(h64Raw(some, 7n));
    }
  });

  it('checksum with seed 0 when none is given', () => {
    const bytes = new TextEncoder().encode('halfspace');
    expect(hashOf(bytes)).toBe(h64Raw(bytes, 0n));
  });

  it(`make the pattern of a dimension from xxHash64: ${COUNT} random ones, 2,000 seeds`, async () => {
    // A vector of one entry, 1, has its pattern as its code.
    const draws = new Draws('patterns');
    const wrong: bigint[][] = [];
    for (let i = 0; i < 2000; i++) {
      const seed = CORNERS[i] ?? draws.word();
      const indices = BigUint64Array.from({ length: COUNT / 2000 }, () => draws.word());
      indices.set(CORNERS, 0);
      const codes = await patternsOf({ bits: 64, seed }, indices);
      const words = new DataView(codes.buffer, codes.byteOffset);
      indices.forEach((dimension, row) => {
        const expected = h64Raw(dimensionBytes(dimension), seed);
        if (words.getBigUint64(8 * row, true) !== expected) wrong.push([dimension, seed]);
      });
    }
    expect(wrong).toEqual([]);
  });

  it('make word w of a pattern with seed + w, which wraps at 2^64', async () => {
    const draws = new Draws('words');
    for (const seed of [0n, 7n, 2n ** 32n - 2n, 2n ** 64n - 3n, draws.word()]) {
      const indices = BigUint64Array.from({ length: 50 }, () => draws.word());
      const codes = await patternsOf({ bits: 600, seed }, indices);
      indices.forEach((dimension, row) => {
        const expected = Buffer.alloc(80);
        for (let word = 0; word < 10; word++) {
          const wordSeed = BigInt.asUintN(64, seed + BigInt(word));
          expected.writeBigUInt64LE(h64Raw(dimensionBytes(dimension), wordSeed), 8 * word);
        }
        const code = Buffer.from(codes.subarray(75 * row, 75 * (row + 1)));
        expect(code.toString('hex')).toBe(expected.toString('hex', 0, 75));
      });
    }
  });

  it('sum by the patterns of xxhash-wasm, a step at a time', () => {
    const draws = new Draws('sums');
    for (const bits of [1, 64, 65, 130]) {
      const indices = BigUint64Array.from({ length: 30 }, () => draws.word()).sort();
      const values = draws.gaussians(30);
      const expected = new Array<number>(bits).fill(0);
      indices.forEach((dimension, i) => {
        for (let j = 0; j < bits; j++) {
          const word = h64Raw(dimensionBytes(dimension), 40n + BigInt(j >> 6));
          expected[j] += (word >> BigInt(j & 63)) & 1n ? values[i] : -values[i];
        }
      });
      const hasher = new SimHasher({ bits, seed: 40 });
      expect([...hasher.accumulate({ indices, values })]).toEqual(expected);
    }
  });
});

/** The codes of vectors with one entry each, whose value is 1. */
async function patternsOf(
  options: { bits: number; seed: bigint },
  indices: BigUint64Array,
): Promise<Uint8Array> {
  const offsets = Uint32Array.from({ length: indices.length + 1 }, (_, row) => row);
  const values = new Float64Array(indices.length).fill(1);
  return (await new SimHasher(options).hashAll({ offsets, indices, values })).bytes;
}

it('hashes nothing as the specification says', () => {
  // The digest of the empty input with seed 0 stands in the specification of xxHash.
  expect(hashBytes(new Uint8Array(0), 0n)).toBe(0xef46db3751d8e999n);
  expect(checksum(new Uint8Array(0))).toBe(0xef46db3751d8e999n);
});

it('hashes many words of UTF-16 as xxhash-wasm hashes their UTF-8, half a pair as U+FFFD', () => {
  const draws = new Draws('words');
  const unitOf = [
    () => draws.integer(0x80),
    () => draws.integer(0x800),
    () => draws.integer(0x1_0000),
    () => 0xd800 + draws.integer(0x800),
  ];
  for (let round = 0; round < 300; round++) {
    const starts = Uint32Array.from({ length: 2 + draws.integer(40) }, () => draws.integer(400));
    starts.sort();
    const units = Uint16Array.from({ length: 400 }, () => unitOf[draws.integer(4)]());
    const hashes = new Uint32Array(2 * starts.length).fill(7);
    hashWords(units, starts, hashes);
    const found = new BigUint64Array(hashes.buffer);
    for (let i = 0; i + 1 < starts.length; i++) {
      const word = String.fromCharCode(...units.subarray(starts[i], starts[i + 1]));
      expect(found[i]).toBe(h64Raw(new TextEncoder().encode(word), 0n));
    }
    expect(found.at(-1)).toBe(0x0000_0007_0000_0007n);
  }
});
