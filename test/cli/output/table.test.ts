import { describe, expect, it } from 'vitest';
import { cellText, peopleTable } from '../../../src/cli/output/rows';
import { RowBatch } from '../../../src/table/row-batch';

async function shown(batches: RowBatch[], width = 40): Promise<string> {
  let text = '';
  const write = async (some: string) => {
    text += some;
  };
  const table = peopleTable(width, write);
  for (const batch of batches) await table.write(batch);
  await table.close();
  return text;
}

describe('a table for people', () => {
  it('has a heading once, numbers to the right, texts to the left', async () => {
    const some = RowBatch.of({ word: ['whale', 'ox'], distance: Int32Array.of(7, 120) });
    const more = RowBatch.of({ word: ['cat'], distance: Int32Array.of(9) });
    expect(await shown([some, more])).toBe(
      ['word   distance', 'whale         7', 'ox          120', 'cat          9', ''].join('\n'),
    );
  });

  it('cuts lines where the terminal is narrow, and wide columns but the last', async () => {
    const text = 'one two three four five six seven eight';
    const batch = RowBatch.of({ id: ['a'], text: [text] });
    expect((await shown([batch], 20)).split('\n')[1]).toBe('a   one two three f…');
    const wide = RowBatch.of({ text: [`${text} nine`], id: ['a'] });
    expect((await shown([wide], 80)).split('\n')[1]).toBe(`${text}…  a`);
  });

  it('lets no control character of the data through', async () => {
    const batch = RowBatch.of({ text: ['a\x1b[31mred\nnext\tcell\x07'] });
    const text = await shown([batch]);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    expect(text.replaceAll('\n', '')).not.toMatch(/[\x00-\x1f\x7f]/);
    expect(text).toContain('next cell');
  });

  it('says that there are no rows', async () => {
    expect(await shown([])).toBe('no rows\n');
  });
});

it('writes values of every kind in a cell', () => {
  const values = [null, 3, 0.123456, 1e-9, 10n, true, Uint8Array.of(1, 255), [1, 2], { a: 5n }];
  expect(values.map(cellText)).toEqual([
    ...['', '3', '0.1235', '1e-9', '10', 'true', '01ff', '[1,2]', '{"a":"5"}'],
  ]);
});
