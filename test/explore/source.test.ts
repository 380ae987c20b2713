import { expect, it } from 'vitest';
import type { About, Card, Held } from '../../src/explore/messages';
import { sourceOf } from '../../src/explore/page/store';

const COUNT = 12;

/** What a page in one file holds of rows of two colours. */
function held(): Held {
  const cards = Array.from({ length: COUNT }, (_, row): Card => {
    return { row, id: `row ${row}`, text: null, values: [['colour', row % 2 ? 'Red' : 'blue']] };
  });
  const about: About = {
    ...{ title: 'rows', rows: COUNT, bits: 64, columns: [], measure: 'cosine' },
  };
  return { about, map: { rows: [], x: [], y: [], labels: [], clusters: [], cards } };
}

it('the source of a page in one file filters by words in any case, and has no review', async () => {
  const source = sourceOf(held());
  const listed = async (filter: string) => {
    const { total, cards } = await source.ask('find', { query: '', filter });
    expect(cards).toHaveLength(total);
    return cards.map(({ row }) => row);
  };
  expect(await listed('red')).toEqual([1, 3, 5, 7, 9, 11]);
  expect(await listed(' BLUE ')).toEqual([0, 2, 4, 6, 8, 10]);
  expect(await listed('green')).toEqual([]);
  const review = source.ask('review', null);
  await expect(review).rejects.toThrow('halfspace explore can');
});
