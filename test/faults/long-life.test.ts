import { expect, it } from 'vitest';
import { longLife } from './long-life';

it('answers as a model does through 20,000 operations, and is then as small as a new index', async () => {
  expect(await longLife(20_000, '7')).toMatch(/^20000 operations, \d+ searches compared/);
});
