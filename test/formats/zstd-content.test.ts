import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { unpackedZstd } from '../../src/formats/byte-source';
import { decodeZstd, ZstdDecoder } from '../../src/table/compression';
import { Draws } from '../reference/random';
import { frames } from '../table/frames.json';

const MAGIC = [0x28, 0xb5, 0x2f, 0xfd];

/** Bytes of a block with its header: of type 0 they are stored, of type 1 one is repeated. */
function block(type: 0 | 1 | 2, size: number, bytes: readonly number[], isLast: boolean): number[] {
  const header = Number(isLast) | (type << 1) | (size << 3);
  return [header & 255, (header >> 8) & 255, header >> 16, ...bytes];
}

/** A compressed block of one match: `length` bytes, from 65,539 to 128 Ki, from `back` bytes before. */
function matchBlock(back: number, length: number, isLast: boolean): number[] {
  // Offsets begin behind three codes for the last ones; the first bit that is set ends the stream.
  const bits = (back + 3) * 65_536 + length - 65_539;
  const used = Buffer.alloc(Math.floor(Math.log2(bits) / 8) + 1);
  used.writeUIntLE(bits, 0, used.length);
  // No literals, one sequence, and for each of its numbers one code only: 0, log2, 52.
  const bytes = [0, 1, 0x54, 0, Math.floor(Math.log2(back + 3)), 52, ...used];
  return block(2, bytes.length, bytes, isLast);
}

/** A frame of stored bytes; without `isStated` its header has a window of 2 MB, and no length. */
function frameOf(text: string, isStated = true): number[] {
  const bytes = [...Buffer.from(text)];
  const size = [bytes.length & 255, bytes.length >> 8, 0, 0];
  const half = bytes.length >> 1;
  return [
    ...MAGIC,
    ...(isStated ? [0xa0, ...size] : [0, 0x58]),
    ...block(0, half, bytes.slice(0, half), false),
    ...block(0, bytes.length - half, bytes.slice(half), true),
  ];
}

/** A frame that other programs put between those of content. */
const SKIPPED = [0x53, 0x2a, 0x4d, 0x18, 5, 0, 0, 0, 1, 2, 3, 4, 5];

/** The content, of a file of so many bytes or of a stream, which comes in parts of `step` bytes. */
async function read(
  bytes: readonly number[],
  { byteCount = null, step = 1000 }: { byteCount?: number | null; step?: number } = {},
): Promise<string> {
  let at = 0;
  const source = async () => {
    at += step;
    return Uint8Array.from(bytes.slice(at - step, at));
  };
  const parts: Uint8Array[] = [];
  const next = unpackedZstd(source, 'a.zst', byteCount);
  for (let part = await next(); part.length > 0; part = await next()) {
    parts.push(part);
  }
  return Buffer.concat(parts).toString('latin1');
}

const large = 'large '.repeat(500);
const largest = large.repeat(2);
const MB = 2 ** 20;

/** A frame of 48 MB, run-length blocks of a letter each, with a window of 2 MB. */
const letters = Array.from({ length: 384 }, (_, i) => 65 + (i % 26));
const runs = letters.flatMap((letter, i) => block(1, 2 ** 17, [letter], i === 383));
const wide = [...MAGIC, 0, 0x58, ...runs];

describe('the content of ZSTD', () => {
  it('comes frame after frame, wherever the parts of its file end', async () => {
    const bytes = [...SKIPPED, ...frameOf(large), ...SKIPPED, ...frameOf(largest)];
    const all = [...bytes, ...frameOf('', false), ...SKIPPED];
    for (const step of [1, 2, 5, 1000, all.length]) {
      expect(await read(all, { step })).toBe(large + largest);
    }
  });

  it('is held as far as its window reaches', async () => {
    const expected = letters.map((one) => String.fromCharCode(one).repeat(2 ** 17)).join('');
    expect(await read(wide)).toBe(expected);
    const decoder = new ZstdDecoder();
    const before = decoder.heldBytes;
    decoder.give(Uint8Array.from(wide));
    let made = 0;
    for (let part = decoder.next(); part.length > 0; part = decoder.next()) made += part.length;
    expect(made).toBe(48 * MB);
    expect(decoder.heldBytes - before).toBeLessThan(4 * MB);
  });

  it('has matches that reach as far as its window, which moves', async () => {
    const draws = new Draws('zstd windows');
    const window = 2 ** 17;
    let expected = Buffer.from(draws.bytes(window));
    const frame = [...MAGIC, 0, 7 << 3].concat(block(0, window, [...expected], false));
    for (let left = 40; left >= 0; left--) {
      const back = left % 3 === 0 ? window : 1 + draws.integer(window);
      const length = 65_539 + draws.integer(65_534);
      const next = Buffer.alloc(length, expected.subarray(expected.length - back));
      const letter = [draws.integer(256)];
      frame.push(...matchBlock(back, length, false), ...block(0, 1, letter, left === 0));
      expected = Buffer.concat([expected, next, Buffer.from(letter)]);
    }
    const text = await read(frame);
    expect(text).toBe(expected.toString('latin1'));
    expect(text.length).toBeGreaterThan(3 * MB);
    expect(Buffer.from(decodeZstd(Uint8Array.from(frame))).equals(expected)).toBe(true);
    // The first match reaches as far as the window, the other one to before the content.
    const header = [
      ...MAGIC,
      0,
      7 << 3,
      ...block(1, window, [7], false),
      ...block(1, 1, [8], false),
    ];
    const [near, far] = [window, window + 2].map((back) => matchBlock(back, 70_000, true));
    expect((await read([...header, ...near])).length).toBe(window + 70_001);
    const bytes = [...header, ...far];
    await expect(read(bytes)).rejects.toThrow('a ZSTD frame is damaged');
    expect(() => decodeZstd(Uint8Array.from(bytes))).toThrow('a ZSTD frame is damaged');
  });

  it('is refused where its window is more than 128 MB', async () => {
    const [exponent, eighths] = [17, 1];
    const next = [...MAGIC, 0, (exponent << 3) | eighths, ...block(1, 1, [65], true)];
    const message = 'a.zst: its zstd cannot be unpacked: a window of more than 128 MB';
    await expect(read(next)).rejects.toThrow(message);
    const most = [...MAGIC, 0, exponent << 3, ...block(1, 1, [65], true)];
    expect(await read(most)).toBe('A');
    await expect(read([...MAGIC, 0xe0, 0, 0, 0, 0, 0, 1, 0, 0])).rejects.toThrow(message);
  });

  it('is at most 1,024 times its file, or 64 MB', { tags: 'thorough' }, async () => {
    // 1,000 blocks that repeat a byte 128 Ki times: 131 MB from 5 KB.
    const blocks = Array.from({ length: 1000 }, (_, i) => block(1, 2 ** 17, [65], i === 999));
    const bomb = [...MAGIC, 0, 0x58, ...blocks.flat()];
    for (const byteCount of [null, bomb.length]) {
      const message = `a.zst: its zstd cannot be unpacked: it makes more than ${64 * MB} bytes`;
      await expect(read(bomb, { byteCount })).rejects.toThrow(message);
    }
    // The whole file counts, from its first block on.
    expect((await read(bomb, { byteCount: 2 ** 17 })).length).toBe(1000 * 2 ** 17);
  });

  it('that is damaged is said to be so, wherever it is cut', async () => {
    for (const whole of [frameOf(large, false), SKIPPED]) {
      for (let end = 1; end < whole.length; end += whole.length > 100 ? 97 : 1) {
        const cut = read(whole.slice(0, end));
        await expect(cut).rejects.toThrow(
          /^a\.zst: its zstd cannot be unpacked: a ZSTD frame is cut short/,
        );
      }
      const other = [...whole, ...Buffer.from('no frame')];
      await expect(read(other)).rejects.toThrow('a ZSTD frame was expected');
    }
  });

  it('of which a frame states another length is refused', async () => {
    for (const stated of [2999, 3001]) {
      const frame = frameOf(large);
      frame.splice(5, 2, stated & 255, stated >> 8);
      await expect(read(frame)).rejects.toThrow('a ZSTD frame is damaged');
    }
  });
});

describe.each(frames.filter(({ codec }) => codec === 'zstd'))('a file by zstd: $name', (one) => {
  const bytes = [...Buffer.from(one.frame, 'hex')];

  it('gives its content', async () => {
    const text = await read([...bytes, ...SKIPPED, ...bytes]);
    const content = Buffer.from(text, 'latin1');
    expect(content.length).toBe(2 * one.length);
    for (const half of [content.subarray(0, one.length), content.subarray(one.length)]) {
      expect(createHash('sha256').update(half).digest('hex')).toBe(one.sha256);
    }
  });

  it.runIf((bytes[4] & 4) !== 0)('is refused where its checksum is another', async () => {
    const other = [...bytes.slice(0, -1), (bytes.at(-1) as number) ^ 1];
    const message = 'a.zst: its zstd cannot be unpacked: the checksum of a ZSTD frame is another';
    await expect(read(other)).rejects.toThrow(message);
  });
});
