import { expect, it } from 'vitest';
import { appendNumberLists } from '../../src/formats/parquet/number-lists';
import { ENCODINGS, type PageValues } from '../../src/formats/parquet/pages';
import { Cursor } from '../../src/formats/parquet/thrift';
import { builderOf } from '../../src/table/columns/builder';

/** Lists that go on in the next page, which pyarrow never writes; pages are made by hand. */

/** Definition levels: of a value, a null item, a list without items, a null list. */
const [VALUE, NULL_ITEM, EMPTY, NULL] = [3, 2, 1, 0];

/** Levels as runs of one value each (Parquet, "RLE"): twice the length, then the value. */
const runs = (levels: readonly number[]) => Uint8Array.from(levels.flatMap((level) => [2, level]));
/** Up to eight levels of one bit each, as a packed run of one group. */
const packed = (levels: readonly number[]) =>
  Uint8Array.of(
    3,
    levels.reduce((byte, level, i) => byte | (level << i), 0),
  );

function page(
  levels: readonly (readonly [begins: 0 | 1, depth: number])[],
  values: readonly number[],
  pack: (levels: readonly number[]) => Uint8Array,
): PageValues {
  const bytes = new Uint8Array(Float32Array.from(values).buffer);
  return {
    ...{ page: new Cursor(bytes), count: values.length, encoding: ENCODINGS.plain },
    repetitions: pack(levels.map(([begins]) => begins)),
    definitions: runs(levels.map(([, depth]) => depth)),
    ...{ levelCount: levels.length, isSecond: false },
  };
}

function listsOf(pages: readonly PageValues[], rows: number): unknown[] {
  const builder = builderOf({ list: 'float32' });
  const column = {
    name: 'v',
    kind: { list: 'float32' } as const,
    elements: ['OPTIONAL', 'REPEATED', 'OPTIONAL'].map((repetition_type) => ({ repetition_type })),
  };
  const shape = {
    ...{ type: 'FLOAT', typeLength: 0, codec: undefined },
    ...{ values: 0, maxDefinition: VALUE, maxRepetition: 1 },
  };
  const chunk = { contents: [], byteCount: 0, pages, dictionary: null, shape };
  expect(appendNumberLists(builder, column as never, [chunk] as never, rows)).toBe(true);
  const data = builder.finish();
  const { valueOffsets, children } = data;
  const [items] = children;
  return Array.from({ length: rows }, (_, row) => {
    if (!data.getValid(row)) return null;
    const own = Array.from({ length: valueOffsets[row + 1] - valueOffsets[row] }, (_, i) => i);
    return own.map((i) => {
      const at = valueOffsets[row] + i;
      return items.getValid(at) ? items.values[at] : null;
    });
  });
}

it.each([runs, packed])('a list with a null goes on in pages of values alone', (pack) => {
  const pages = [
    page(
      [
        [0, VALUE],
        [0, NULL_ITEM],
        [1, VALUE],
      ],
      [1, 2],
      pack,
    ),
    page(
      [
        [1, VALUE],
        [1, VALUE],
      ],
      [3, 4],
      pack,
    ),
    page(
      [
        [1, VALUE],
        [0, VALUE],
        [1, VALUE],
      ],
      [5, 6, 7],
      pack,
    ),
    page(
      [
        [1, NULL_ITEM],
        [0, EMPTY],
        [0, NULL],
        [0, VALUE],
      ],
      [8],
      pack,
    ),
  ];
  expect(listsOf(pages, 6)).toEqual([[1], [null, 2, 3, 4, 5], [6, 7, null], [], null, [8]]);
});

it('all lists of several pages are there, and a wrong number of them is refused', () => {
  const pages = [
    page(
      [
        [0, VALUE],
        [1, VALUE],
      ],
      [1, 2],
      packed,
    ),
    page(
      [
        [1, VALUE],
        [0, NULL],
      ],
      [3],
      packed,
    ),
  ];
  expect(listsOf(pages, 2)).toEqual([[1, 2, 3], null]);
  const again = pages.map((one) => ({ ...one, page: new Cursor(one.page.bytes) }));
  expect(() => listsOf(again, 3)).toThrow('column "v" has 2 rows, not 3');
});

it.each([runs, packed])('an item outside of a list is refused', (pack) => {
  expect(() => listsOf([page([[1, VALUE]], [1], pack)], 1)).toThrow('an item outside of a list');
  const after = (depth: number) => [
    page([[0, depth]], [], pack),
    page(
      [
        [1, VALUE],
        [1, VALUE],
      ],
      [1, 2],
      pack,
    ),
  ];
  for (const depth of [NULL, EMPTY]) {
    expect(() => listsOf(after(depth), 1)).toThrow('an item outside of a list');
  }
});
