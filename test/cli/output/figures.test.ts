import { describe, expect, it } from 'vitest';
import { parseBytes } from '../../../src/base/check';
import { counted, durationText, grouped } from '../../../src/cli/output/figures';
import { progressLine } from '../../../src/cli/talk';

describe('figures', () => {
  it('groups thousands', () => {
    expect([0, 999, 1000, 1234567, 12345n].map(grouped)).toEqual([
      ...['0', '999', '1,000', '1,234,567', '12,345'],
    ]);
    expect([counted(1, 'row'), counted(2000, 'row')]).toEqual(['1 row', '2,000 rows']);
  });

  it('reads sizes', () => {
    expect(['800M', '1.5 GB', '2GiB', '4096', '1k'].map(parseBytes)).toEqual([
      ...[800 * 2 ** 20, 1.5 * 2 ** 30, 2 * 2 ** 30, 4096, 1024],
    ]);
    expect(['', 'M', '-1G', '1 X', '1,5G'].map(parseBytes)).toEqual(Array(5).fill(null));
  });

  it('tells durations', () => {
    expect([0.04, 9.96, 59.4, 200, 7500].map(durationText)).toEqual([
      ...['0.0 s', '10.0 s', '59 s', '3 min 20 s', '2 h 5 min'],
    ]);
  });
});

describe('a line of progress', () => {
  it.each([
    ['the share and the time left', 250_000, 1_000_000, 'reading  25 %  6.0 s left'],
    ['no more than all', 1_000_001, 1_000_000, 'reading  100 %  0.0 s left'],
  ])('tells %s', (_, done, total, line) => {
    expect(progressLine('reading', { done, total, seconds: 2 })).toBe(line);
  });
});
