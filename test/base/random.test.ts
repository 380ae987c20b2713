/** The library's generator against the package that it takes its numbers from. */

import seedrandom from 'seedrandom';
import { expect, it } from 'vitest';
import { alea } from '../../src/base/random';
import { Draws } from '../reference/random';

it('gives the numbers of Alea in seedrandom for every seed', () => {
  const draws = new Draws(1);
  const seeds = ['', '0', '-1', '18446744073709551615', 'mean limits', 'é😀', ' '.repeat(1000)];
  for (let i = 0; i < 200; i++) seeds.push(String(draws.integer(2 ** 32)));
  for (const seed of seeds) {
    const [ours, theirs] = [alea(seed), seedrandom.alea(seed)];
    const numbers = { length: 500 };
    expect(Array.from(numbers, ours)).toEqual(Array.from(numbers, () => theirs()));
  }
});
