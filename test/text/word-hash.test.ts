import { expect, it } from 'vitest';
import xxhash from 'xxhash-wasm';
import { hashWord } from '../../src/text/tokens';
import { Draws } from '../reference/random';

const draws = new Draws(1);
const texts = ['', 'a', 'foobar', 'übermäßig', '近似重复', '😀', 'x'.repeat(55), 'y'.repeat(56)];
for (let i = 0; i < 200; i++) texts.push(Buffer.from(draws.bytes(draws.integer(300))).toString());

it('the hash of a word is that of xxhash-wasm', async () => {
  const { h64 } = await xxhash();
  for (const text of texts) expect(hashWord(text)).toBe(h64(text));
});
