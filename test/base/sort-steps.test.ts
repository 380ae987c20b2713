import { expect, it } from 'vitest';
import { alea } from '../../src/base/random';
import { sortedInSteps } from '../../src/base/sort-steps';

it('sorts as the engine does, in as many more steps as there are more values', () => {
  const random = alea('sort');
  for (const count of [0, 1, 2, 8191, 8192, 8193, 50_000]) {
    const values = Uint32Array.from({ length: count }, () => 2 ** 32 * random());
    const weights = new Map(Array.from(values, (value) => [value, Math.floor(20 * random())]));
    const weightOf = (value: number) => weights.get(value) as number;
    const compare = (a: number, b: number) => weightOf(a) - weightOf(b) || b - a;
    const before = values.slice();
    const steps = sortedInSteps(values, compare);
    let taken = 0;
    let step = steps.next();
    for (; !step.done; step = steps.next()) taken++;
    expect([...step.value]).toEqual([...values].sort(compare));
    expect(values).toEqual(before);
    expect(taken).toBeGreaterThanOrEqual(Math.floor(count / 2 ** 13));
  }
});
