import { expect, it } from 'vitest';
import { longLife } from './long-life';

it('answers as a model does through 6,000 operations, and is then as small as a new index', {
  tags: 'thorough',
}, async () => {
  expect(await longLife(6000, '7')).toMatch(/^6000 operations, \d+ searches compared/);
});

it('does so through 20,000', { tags: 'full' }, async () => {
  expect(await longLife(20_000, '7')).toMatch(/^20000 operations/);
});
