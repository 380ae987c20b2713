import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import xxhash from 'xxhash-wasm';
import { hashWord, md5Low64 } from '../../src/text/word-hash';
import { Draws } from '../reference/random';

/** Hashes of words against Node's MD5, xxhash-wasm, and FNV-1a as its authors define it. */

const draws = new Draws(1);
const texts = ['', 'a', 'foobar', 'übermäßig', '近似重复', '😀', 'x'.repeat(55), 'y'.repeat(56)];
for (let i = 0; i < 200; i++) texts.push(Buffer.from(draws.bytes(draws.integer(300))).toString());

it('MD5 is that of Node', () => {
  for (const text of texts) {
    const digest = createHash('md5').update(text).digest();
    expect(md5Low64(new TextEncoder().encode(text))).toBe(digest.readBigUInt64BE(8));
  }
});

it('xxHash64 is that of xxhash-wasm', async () => {
  const { h64 } = await xxhash();
  for (const text of texts) expect(hashWord(text)).toBe(h64(text));
});

describe('FNV-1a', () => {
  it('is as its definition says', () => {
    for (const text of texts) {
      let hash = 0xcbf29ce484222325n;
      for (const byte of Buffer.from(text)) {
        hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
      }
      expect(hashWord(text, 'fnv1a64')).toBe(hash);
    }
  });

  it('gives the published values', () => {
    expect(hashWord('a', 'fnv1a64')).toBe(0xaf63dc4c8601ec8cn);
    expect(hashWord('foobar', 'fnv1a64')).toBe(0x85944171f73967e8n);
  });
});

it('no entry of MD5 depends on the last bits of a sine', () => {
  for (let i = 1; i <= 64; i++) {
    const entry = 2 ** 32 * Math.abs(Math.sin(i)); // an engine errs by less than 0.00001
    expect(Math.abs(entry - Math.round(entry))).toBeGreaterThan(0.015);
  }
});
