import { describe, expect, it } from 'vitest';
import { drawnNumbers, shareAt } from '../../src/base/random';

describe('rows drawn from a stream', () => {
  it('are all where there are no more, and else as many as wanted, ascending, each once', () => {
    expect(drawnNumbers(5, 9, 1)).toEqual([0, 1, 2, 3, 4]);
    expect(drawnNumbers(0, 9, 1)).toEqual([]);
    const drawn = drawnNumbers(10_000, 100, 7);
    expect(new Set(drawn).size).toBe(100);
    expect(drawn).toEqual([...drawn].sort((a, b) => a - b));
    expect(drawnNumbers(10_000, 100, 7)).toEqual(drawn);
    expect(drawnNumbers(10_000, 100, 8)).not.toEqual(drawn);
  });

  it('have the same chance, wherever they are', () => {
    const times = new Array(50).fill(0);
    const rounds = 4000;
    for (let seed = 0; seed < rounds; seed++)
      for (const i of drawnNumbers(50, 10, seed)) times[i]++;
    // Each is drawn in a fifth of the rounds: 800, with a standard deviation of 25.
    for (const one of times) expect(Math.abs(one - rounds / 5)).toBeLessThan(5 * 25.3);
  });

  it('are decided by shares that are even and do not hang together', () => {
    const shares = Array.from({ length: 20_000 }, (_, i) => shareAt(3, i));
    const mean = shares.reduce((sum, one) => sum + one, 0) / shares.length;
    expect(Math.abs(mean - 0.5)).toBeLessThan(5 * (0.2887 / Math.sqrt(shares.length)));
    let product = 0;
    for (let i = 1; i < shares.length; i++) product += (shares[i] - 0.5) * (shares[i - 1] - 0.5);
    expect(Math.abs(product / shares.length)).toBeLessThan(5 / 12 / Math.sqrt(shares.length));
    expect(Math.min(...shares)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...shares)).toBeLessThan(1);
  });
});
