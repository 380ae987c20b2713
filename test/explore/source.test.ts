import { describe, expect, it } from 'vitest';
import type { About, Card, Held } from '../../src/explore/messages';
import { sourceOf } from '../../src/explore/page/source';
import { SimHasher } from '../../src/index';

const COUNT = 12;

/** What a page in one file holds of rows on a circle, each named by its colour. */
async function held(): Promise<Held> {
  const vectors = Array.from({ length: COUNT }, (_, i) => [Math.cos(i / 9), Math.sin(i / 9)]);
  const { bytes, bits } = await new SimHasher({ bits: 256 }).hashAll(vectors);
  const cards = vectors.map((_, row): Card => {
    return { row, id: `row ${row}`, text: null, values: [['colour', row % 2 ? 'Red' : 'blue']] };
  });
  const about: About = {
    ...{ title: 'rows', rows: COUNT, bits, hasText: false, columns: [], measure: 'cosine' },
  };
  const codes = Buffer.from(bytes).toString('base64');
  const map = { rows: '', x: '', y: '', labels: '', clusters: [], cards, codes };
  return { about, map };
}

describe('the source of a page in one file', async () => {
  const source = sourceOf(await held());
  const rowsNear = async (filter: string, k: number) => {
    const { hits, query } = await source.ask('search', { row: 0, k, filter });
    expect(query?.row).toBe(0);
    return hits.map(({ row }) => row);
  };

  it('finds the nearest of the rows that meet the filter, as the server does', async () => {
    expect(await rowsNear('', 3)).toEqual([1, 2, 3]);
    // The filter was ignored: it must not only be applied to the k nearest of all rows either.
    expect(await rowsNear('red', 4)).toEqual([1, 3, 5, 7]);
    expect(await rowsNear(' BLUE ', 100)).toEqual([2, 4, 6, 8, 10]);
    expect(await rowsNear('green', 3)).toEqual([]);
    expect(await source.ask('ids', { text: 'W 1' })).toEqual(['row 1', 'row 10', 'row 11']);
    const listed = await source.ask('rows', { filter: 'red' });
    expect([listed.total, listed.cards.map(({ row }) => row)]).toEqual([6, [1, 3, 5, 7, 9, 11]]);
  });
});
