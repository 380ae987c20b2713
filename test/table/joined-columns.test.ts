/**
 * Rows of every type joined, picked and written. In 0.1 list columns came out of `RowBatch.join` as
 * nulls, and columns over one array were written once: both lost data without an error.
 */

import {
  Binary,
  BinaryView,
  Bool,
  type Data,
  type DataType,
  DateDay,
  Decimal,
  Dictionary,
  Field,
  FixedSizeBinary,
  FixedSizeList,
  Float32,
  Float64,
  Int16,
  Int32,
  Int64,
  LargeUtf8,
  List,
  Map_,
  makeData,
  Null,
  RecordBatch,
  Schema,
  Struct,
  TimestampMillisecond,
  tableFromIPC,
  Uint8,
  Utf8,
  Utf8View,
  vectorFromArray,
} from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { concatenated } from '../../src/base/arrays';
import type { ByteFile } from '../../src/table/arrow/batches';
import { verifyArrow } from '../../src/table/arrow/messages';
import { ArrowEncoder, arrowWriter } from '../../src/table/arrow/writer';
import { recordBatch } from '../../src/table/columns/make';
import { RowBatch } from '../../src/table/row-batch';
import { COLUMNS_HEADER, carriedRows } from '../../src/table/sealed/index-rows';

const item = (type: DataType) => new Field('item', type, true);
const point = new Struct([new Field('x', new Int32(), true), new Field('s', new Utf8(), true)]);

/** Values of some rows of the column of a file of carried columns, in batches of so many rows. */
async function carried(
  bytes: Uint8Array,
  places: readonly number[],
  batchRows: number,
): Promise<unknown[]> {
  const file: ByteFile = {
    byteCount: bytes.length,
    read: async (ranges) => ranges.map(({ at, length }) => bytes.subarray(at, at + length)),
  };
  const wanted = { places: Uint32Array.from(places), batchRows };
  const rows = await carriedRows(file, 'columns.arrow', ['column'], wanted);
  return rows.values('column');
}

/** A type, and values of it that are hard to keep. */
const COLUMNS: Record<string, [DataType, unknown[]]> = {
  none: [new Null(), Array(7).fill(null)],
  bool: [new Bool(), [true, false, true, true, false, true, false]],
  int16: [new Int16(), [1, -2, 3, 0, 5, 6, 7]],
  int64: [new Int64(), [1n, -(2n ** 63n), 2n ** 63n - 1n, 0n, 5n, 6n, 7n]],
  float64: [new Float64(), [0.1, -0, 3, 1e300, 5, 6, 7]],
  date: [new DateDay(), [new Date(0), new Date(864e5), new Date(1e12), ...days(4)]],
  time: [new TimestampMillisecond(), [0, 1, 2, 3, 4, 5, 6].map((ms) => new Date(1e12 + ms))],
  decimal: [
    new Decimal(2, 20, 128),
    Array.from({ length: 7 }, (_, i) => Uint32Array.of(i, 1, 0, 0)),
  ],
  text: [new Utf8(), ['\ufeffa', '', 'ü', '\ufeff', 'four', 'five', '😀']],
  largeText: [new LargeUtf8(), ['\ufeffa', '', 'ü', '\ufeff', 'four', 'five', '😀']],
  textView: [new Utf8View(), ['\ufeffa', '', 'longer than twelve bytes', '\ufeff', 'a', 'b', '😀']],
  binary: [new Binary(), [[1], [], [2, 3], [0], [9], [8], [7]].map((one) => Uint8Array.from(one))],
  binaryView: [new BinaryView(), [[1], [], [2], [0], [9], [8], [7]].map((b) => Uint8Array.from(b))],
  fixed: [new FixedSizeBinary(2), [1, 2, 3, 4, 5, 6, 7].map((n) => Uint8Array.of(n, 255 - n))],
  list: [new List(item(new Float32())), [[1.5], [], [2, null, 3], [4], [], [5, 6], [7]]],
  lists: [
    new List(item(new List(item(new Utf8())))),
    [[['a'], []], [], [['\ufeffb', null]], [], [['c']], [], []],
  ],
  vector: [new FixedSizeList(2, item(new Uint8())), [1, 2, 3, 4, 5, 6, 7].map((n) => [n, n + 1])],
  struct: [point, [1, 2, 3, 4, 5, 6, 7].map((x) => ({ x, s: x === 3 ? null : `\ufeff${x}` }))],
  dictionary: [new Dictionary(new Utf8(), new Int32()), ['b', 'a', 'b', '\ufeff', 'a', 'a', 'c']],
};

/** The bytes of a file of carried columns. */
function columnsToArrow(batches: readonly RowBatch[]): Uint8Array {
  const writer = arrowWriter('file', COLUMNS_HEADER);
  const parts = batches.flatMap((batch) => writer.encode(batch));
  return concatenated([...parts, ...writer.finish()]);
}

function days(count: number): Date[] {
  return Array.from({ length: count }, (_, i) => new Date(864e5 * i));
}

function batchOf(type: DataType, values: readonly unknown[]): RowBatch {
  const { data } = vectorFromArray(values as never[], type as never);
  const field = new Field('column', type, true);
  const schema = new Schema([field]);
  const parts = data.map((one) => {
    const rows = { type: new Struct([field]), length: one.length, nullCount: 0 };
    return RowBatch.fromArrow(new RecordBatch(schema, makeData({ ...rows, children: [one] })));
  });
  return parts[0];
}

it('writes a slice of a large batch as one batch', { tags: 'thorough' }, () => {
  // Slices share the memory of all texts: each was counted as 320 MB, and cut in two.
  const text = Array<string>(2048).fill('x'.repeat(160_000));
  const large = RowBatch.of({ text, more: Array(2048).fill(true) });
  const file = columnsToArrow([large.slice(0, 1024), large.slice(1024, 2000)]);
  expect(verifyArrow(file)).toBe(2);
});

describe.each(Object.entries(COLUMNS))('a column of %s', (_, [type, whole]) => {
  const gaps = whole.map((value, i) => (i % 3 === 1 ? null : value));
  describe.each([
    ['without nulls', whole],
    ['with nulls', gaps],
    ['of nulls', whole.map(() => null)],
  ])('%s', (_, values) => {
    const rows = batchOf(type, values);
    const expected = rows.values('column');

    it('keeps its nulls as they were made', () => {
      expect(expected.map((value) => value === null)).toEqual(
        values.map((value) => value === null),
      );
    });

    it('is the same cut in pieces and joined again', () => {
      const pieces = [rows.slice(0, 2), rows.slice(2, 2), rows.slice(2, 5), rows.slice(5, 7)];
      expect(RowBatch.join(pieces).values('column')).toEqual(expected);
    });

    it('is picked row by row', () => {
      const places = [6, 0, 0, 3, 1];
      expect(rows.select(places).values('column')).toEqual(places.map((row) => expected[row]));
    });

    it('comes back from a file of carried columns', async () => {
      const bytes = columnsToArrow([rows.slice(0, 3), rows.slice(3, 6), rows.slice(6, 7)]);
      for (const places of [[0, 1, 2, 3, 4, 5, 6], [6, 0, 5], [4, 4], [2], []]) {
        expect(await carried(bytes, places, 3)).toEqual(places.map((place) => expected[place]));
      }
    });
  });
});

it('a file of carried columns of another version or size of batches is refused', async () => {
  const column = [1, 2, 3, 4, 5, 6, 7];
  const rows = batchOf(new Int32(), column);
  const bytes = columnsToArrow([rows.slice(0, 3), rows.slice(3, 6), rows.slice(6, 7)]);
  expect(await carried(bytes, [0, 6], 3)).toEqual([1, 7]);
  await expect(carried(bytes, [0, 1], 2)).rejects.toThrow('a batch has 3 rows, not 2');
  await expect(carried(bytes, [6], 2)).rejects.toThrow('columns.arrow: it has fewer rows');
  const text = Buffer.from(bytes).toString('latin1').replaceAll('"version":1', '"version":2');
  await expect(carried(Buffer.from(text, 'latin1'), [0], 3)).rejects.toThrow(
    /^columns\.arrow: .*it is of format version 2, this release reads version 1 only/,
  );
});

describe('columns of dictionaries within others', () => {
  const { data } = vectorFromArray(
    ['b', 'a', 'b', null, 'c', 'a'],
    new Dictionary(new Utf8(), new Int32()),
  );
  const [child] = data;
  const words = item(child.type);
  const value = new Field('value', child.type, true);
  const entries = new Struct([new Field('key', new Int32(), false), value]);
  const keys = makeData({ type: new Int32(), length: 6, data: Int32Array.of(1, 2, 3, 4, 5, 6) });
  const pairs = makeData({ type: entries, length: 6, nullCount: 0, children: [keys, child] });
  const valueOffsets = Int32Array.of(0, 2, 2, 6);
  const NESTED: [Data, unknown[]][] = [
    [
      makeData({ type: new List(words), length: 3, nullCount: 0, valueOffsets, child }),
      [['b', 'a'], [], ['b', null, 'c', 'a']],
    ],
    [
      makeData({ type: new FixedSizeList(2, words), length: 3, nullCount: 0, child }),
      [
        ['b', 'a'],
        ['b', null],
        ['c', 'a'],
      ],
    ],
    [
      pairs.slice(0, 3),
      [
        { key: 1, value: 'b' },
        { key: 2, value: 'a' },
        { key: 3, value: 'b' },
      ],
    ],
    [
      makeData({
        ...{ type: new Map_(new Field('entries', entries, false) as never), length: 3 },
        ...{ nullCount: 0, valueOffsets, child: pairs },
      } as never),
      [
        [
          [1, 'b'],
          [2, 'a'],
        ],
        [],
        [
          [3, 'b'],
          [4, null],
          [5, 'c'],
          [6, 'a'],
        ],
      ],
    ],
  ];

  it.each(NESTED.map(([column, values]) => ({ type: String(column.type), column, values })))(
    'are picked, joined and written as plain ones: $type',
    async ({ column, values }) => {
      const schema = new Schema([new Field('column', column.type, true)]);
      const rows = RowBatch.fromArrow(recordBatch(schema, [column], 3));
      expect(rows.values('column')).toEqual(values);
      const picked = rows.select([2, 0]);
      expect(picked.columns[0].type).not.toContain('Dictionary');
      expect(picked.values('column')).toEqual([values[2], values[0]]);
      const all = Array.from({ length: 2 * values.length }, (_, place) => place);
      const file = columnsToArrow([RowBatch.join([rows, rows])]);
      const back = await carried(file, all, all.length);
      expect(back).toEqual([...values, ...values]);
    },
  );
});

describe('bytes of an Arrow file', () => {
  it('have each column, also where two lie over one array', () => {
    const shared = Float64Array.of(1, 2, 3, 4);
    const batch = RowBatch.of({ a: shared, b: shared, c: shared.subarray(0, 4) }).toArrow();
    const table = tableFromIPC(bytesOf(batch));
    for (const name of ['a', 'b', 'c']) {
      expect(Array.from(table.getChild(name) ?? [])).toEqual([1, 2, 3, 4]);
    }
  });
});

/** A batch as an Arrow file, as it is. */
function bytesOf({ schema, data, numRows }: RecordBatch): Uint8Array {
  const encoder = new ArrowEncoder('file', schema);
  return Buffer.concat([...encoder.add([...data.children], numRows), ...encoder.finish()]);
}
