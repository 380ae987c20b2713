import { describe, expect, it } from 'vitest';
import type { Unpacked } from '../../src/formats/compressed';
import type { HoldLimit } from '../../src/formats/hold-limit';
import { zstdContent } from '../../src/formats/zstd-content';

const MAGIC = [0x28, 0xb5, 0x2f, 0xfd];

/** Bytes of a block with its header: type 0 stores bytes, type 1 repeats one of them. */
function block(type: 0 | 1, size: number, bytes: readonly number[], isLast: boolean): number[] {
  const header = Number(isLast) | (type << 1) | (size << 3);
  return [header & 255, (header >> 8) & 255, header >> 16, ...bytes];
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

class Bytes {
  /** Bytes taken so far. */
  taken = 0;
  constructor(private readonly bytes: readonly number[]) {}

  async take(count: number): Promise<Uint8Array> {
    const part = Uint8Array.from(this.bytes.slice(this.taken, this.taken + count));
    this.taken += part.length;
    return part;
  }
}

async function read(source: Bytes, limitBytes?: number): Promise<[string, Unpacked[]]> {
  const states: Unpacked[] = [];
  const limit: HoldLimit | undefined =
    limitBytes === undefined
      ? undefined
      : {
          bytes: limitBytes,
          refusal: (...words) => new Error(`refused: ${words.join(' ')}`),
        };
  const onUnpacked = (state: Unpacked) => states.push(state);
  const parts: Uint8Array[] = [];
  for await (const part of zstdContent(source, { name: 'a.zst', limit, onUnpacked })) {
    parts.push(part);
  }
  return [Buffer.concat(parts).toString(), states];
}

const large = 'large '.repeat(500);
const largest = large.repeat(2);

describe('the content of ZSTD', () => {
  it('comes frame after frame, of which the largest one is held', async () => {
    const bytes = [...frameOf(large), ...SKIPPED, ...frameOf(largest), ...frameOf('', false)];
    const [text, states] = await read(new Bytes(bytes));
    expect(text).toBe(large + largest);
    expect(states.map(({ content }) => content)).toEqual([3000, 3000, 9000, 9000]);
    expect(states.at(-1)?.packed).toBe(bytes.length);
    const [first, , second, last] = states.map(({ held }) => held);
    expect(second / first).toBeCloseTo(2, 1);
    expect(last).toBe(second);
  });

  it('is refused by the length that the header states, before anything else is taken', async () => {
    const source = new Bytes(frameOf(large));
    await expect(read(source, 2999)).rejects.toThrow(/^refused: a\.zst 3\d\d\d false$/);
    expect(source.taken).toBeLessThan(20);
    expect((await read(new Bytes(frameOf(large)), 10_000))[0]).toBe(large);
  });

  it('is refused while it is unpacked where no length is stated', async () => {
    // 1,000 blocks that repeat a byte 128 Ki times: 131 MB from 5 KB.
    const blocks = Array.from({ length: 1000 }, (_, i) => block(1, 2 ** 17, [65], i === 999));
    const bomb = [...MAGIC, 0, 0x58, ...blocks.flat()];
    await expect(read(new Bytes(bomb), 2 ** 20)).rejects.toThrow(/^refused: a\.zst \d{9}.* true$/);
    await expect(read(new Bytes(bomb))).rejects.toThrow(/^a\.zst: its zstd is damaged/);
  });

  it('that is damaged is said to be so, with a limit too, wherever it is cut', async () => {
    const whole = frameOf(large, false);
    for (const limit of [undefined, 2 ** 20]) {
      for (let end = 5; end < whole.length; end += 97) {
        const cut = new Bytes(whole.slice(0, end));
        await expect(read(cut, limit)).rejects.toThrow(/^a\.zst: its zstd is damaged: /);
      }
      const other = new Bytes([...whole, ...Buffer.from('no frame')]);
      await expect(read(other, limit)).rejects.toThrow('a ZSTD frame was expected');
    }
  });
});
