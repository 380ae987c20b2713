import {
  type DataType,
  Field,
  FixedSizeList,
  Float16,
  Float32,
  Float64,
  Int8,
  Int16,
  Int32,
  Int64,
  List,
  Map_,
  makeData,
  makeVector,
  Struct,
  Table,
  tableFromArrays,
  tableToIPC,
  Uint8,
  Uint32,
  Uint64,
  Utf8,
  type Vector,
  vectorFromArray,
} from 'apache-arrow';
import seedrandom from 'seedrandom';
import { describe, expect, it } from 'vitest';
import { isValid } from '../../src/base/arrays';
import { FormatError } from '../../src/base/check';
import { SimHasher } from '../../src/hashing/simhash';
import { rowsFromArrow } from '../../src/table/from-arrow';
import { sparseFromArrow, vectorsFromArrow } from '../reference/arrow';

type Row = (number | null)[] | null;

function tableOf(columns: Record<string, Vector>): Table {
  return new Table(columns);
}

/** The same table in batches that begin at the given rows. */
function rebatch(table: Table, ...cuts: number[]): Table {
  const batches = cuts.flatMap((cut, i) => table.slice(cut, cuts[i + 1]).batches);
  return new Table(table.schema, batches);
}

function fixed(rows: readonly Row[], width: number, item: DataType): Vector {
  return vectorFromArray(rows, new FixedSizeList(width, new Field('item', item, true)));
}

function list(rows: readonly Row[], item: DataType): Vector {
  return vectorFromArray(rows, new List(new Field('item', item, true)));
}

function dense(source: Parameters<typeof vectorsFromArrow>[0], options = {}): (number[] | null)[] {
  const { values, dimensions, validity } = vectorsFromArrow(source, options).vectors;
  return Array.from({ length: values.length / dimensions }, (_, row) =>
    isValid(validity, row) ? [...values.subarray(row * dimensions, (row + 1) * dimensions)] : null,
  );
}

/** Entries of each row, dimensions as strings since they may have 64 bits. */
function sparse(source: Parameters<typeof sparseFromArrow>[0], options = {}): unknown[] {
  const { offsets, indices, values, validity } = sparseFromArrow(source, options).vectors;
  return Array.from({ length: offsets.length - 1 }, (_, row) =>
    isValid(validity, row)
      ? Array.from(indices.slice(offsets[row], offsets[row + 1]), (index, i) => [
          String(index),
          values[offsets[row] + i],
        ])
      : null,
  );
}

/** Rows of small integers, which every type holds, some of them null. */
function makeRows(count: number, width: number): Row[] {
  const random = seedrandom.alea('rows');
  return Array.from({ length: count }, (_, row) =>
    row % 7 === 3 ? null : Array.from({ length: width }, () => Math.floor(random() * 100)),
  );
}

const CUTS: [string, (table: Table) => Table, number, number][] = [
  ['as it is', (table) => table, 0, 30],
  ['sliced', (table) => table.slice(4, 23), 4, 23],
  ['a slice of a slice', (table) => table.slice(2, 28).slice(3, 9), 5, 11],
  ['in batches', (table) => rebatch(table, 0, 1, 9, 9, 22), 0, 30],
  ['in batches and sliced', (table) => rebatch(table, 0, 8, 17).slice(3, 26), 3, 26],
  ['from rows without nulls', (table) => table.slice(4, 10), 4, 10],
];

describe('dense vectors from Arrow', () => {
  const rows = makeRows(30, 5);
  const columns: [string, Vector][] = [
    ['FixedSizeList<float32>', fixed(rows, 5, new Float32())],
    ['FixedSizeList<float64>', fixed(rows, 5, new Float64())],
    ['FixedSizeList<int8>', fixed(rows, 5, new Int8())],
    ['FixedSizeList<uint8>', fixed(rows, 5, new Uint8())],
    ['FixedSizeList<float16>', fixed(rows, 5, new Float16())],
    ['List<float32>', list(rows, new Float32())],
    ['List<float64>', list(rows, new Float64())],
    ['List<int8>', list(rows, new Int8())],
    ['List<float16>', list(rows, new Float16())],
  ];
  it.each(
    columns.flatMap(([type, column]) =>
      CUTS.map(([how, cut, start, end]) => ({ type, column, how, cut, start, end })),
    ),
  )('are read from $type, $how', ({ column, cut, start, end }) => {
    const id = makeVector(Int32Array.from({ length: 30 }, (_, row) => row));
    const table = cut(tableOf({ vector: column, id }));
    const expected = rows.slice(start, end);
    const ids = Int32Array.from({ length: end - start }, (_, row) => start + row);
    for (const source of [table, tableToIPC(table, 'file'), tableToIPC(table, 'stream')]) {
      expect(dense(source)).toEqual(expected);
      expect(vectorsFromArrow(source).ids).toEqual(ids);
    }
  });

  it('keep the width of floats, and leave the table as it was', () => {
    for (const [type, kind] of [
      [new Float16(), Float32Array],
      [new Float32(), Float32Array],
      [new Float64(), Float64Array],
      [new Uint8(), Float32Array],
    ] as const) {
      const table = tableOf({ vector: fixed(rows, 5, type) });
      const before = tableToIPC(table);
      const { vectors } = vectorsFromArrow(table);
      expect(vectors.values).toBeInstanceOf(kind);
      expect(vectors.dimensions).toBe(5);
      expect(tableToIPC(table)).toEqual(before);
    }
  });

  it('turn every float16 into the number that it is', () => {
    const halves = Uint16Array.from({ length: 65_536 }, (_, half) => half);
    const bits = new DataView(new ArrayBuffer(4));
    /** By moving the fields to those of a float32, the way that hardware does it. */
    const expected = (half: number): number => {
      let exponent = (half >> 10) & 31;
      let fraction = half & 1023;
      if (exponent === 31) exponent = 255;
      else if (exponent > 0) exponent += 112;
      else if (fraction > 0) {
        exponent = 113;
        for (; fraction < 1024; fraction *= 2) exponent--;
        fraction -= 1024;
      }
      bits.setUint32(0, ((half >> 15) << 31) | (exponent << 23) | (fraction << 13));
      return bits.getFloat32(0);
    };
    for (const type of [
      new FixedSizeList(8, new Field('item', new Float16())),
      new List(new Field('item', new Float16())),
    ]) {
      const child = makeData({ type: new Float16(), length: 65_536, nullCount: 0, data: halves });
      const valueOffsets = Int32Array.from({ length: 8193 }, (_, row) => 8 * row);
      const data = makeData({ type, length: 8192, nullCount: 0, valueOffsets, child } as never);
      const { values } = vectorsFromArrow(tableOf({ vector: makeVector(data) })).vectors;
      expect(values.length).toBe(65_536);
      const wrong = values.findIndex((value, half) => !Object.is(value, expected(half)));
      expect(wrong).toBe(-1);
    }
  });

  it('give null codes for null rows, and for the others the codes of their vectors', async () => {
    const hasher = new SimHasher({ bits: 100, seed: 3 });
    for (const [, column] of columns) {
      const codes = await hasher.hashAll(vectorsFromArrow(tableOf({ vector: column })).vectors);
      expect(codes.count).toBe(30);
      rows.forEach((row, i) => {
        expect(codes.isNull(i)).toBe(row === null);
        const expected = row === null ? new Uint8Array(13) : hasher.hash(row as number[]);
        expect(codes.at(i)).toEqual(expected);
      });
    }
  });

  it.each([
    ['no rows', list([], new Float32())],
    ['nothing but nulls', list([null, null], new Float32())],
    ['nothing but nulls of a fixed size', fixed([null, null], 4, new Float32())],
  ])('may be none: %s', async (_, column) => {
    const { vectors } = vectorsFromArrow(tableOf({ vector: column }));
    const codes = await new SimHasher({ bits: 8, zero: 'null' }).hashAll(vectors);
    expect(codes.count).toBe(column.length);
    for (let row = 0; row < codes.count; row++) expect(codes.isNull(row)).toBe(true);
  });

  const two = tableOf({
    a: list([[1]], new Float32()),
    b: list([[2]], new Float32()),
    words: vectorFromArray(['w'], new Utf8()),
    counts: list([[3]], new Int16()),
    names: vectorFromArray([['n']], new List(new Field('item', new Utf8(), true))),
  });
  it.each<[string, unknown, ErrorConstructor, string]>([
    ['no such column', { column: 'c' }, RangeError, 'no column "c", there are "a", "b", "words"'],
    ['a column of text', { column: 'words' }, TypeError, 'column "words" of type Utf8 is no'],
    ['lists of texts', { column: 'names' }, TypeError, 'column "names" of type List<Utf8> is no'],
    ['a number for a column', { column: 1 }, TypeError, '"name" expected the name of a column'],
    ['no such ids', { column: 'a', id: 'x' }, RangeError, 'no column "x"'],
    ['ids of lists', { column: 'a', id: 'b' }, TypeError, 'column "b" of type List<Float32> is no'],
  ])('refuse %s: %o', (_, options, kind, message) => {
    expect(() => vectorsFromArrow(two, options as object)).toThrow(kind);
    expect(() => vectorsFromArrow(two, options as object)).toThrow(message);
  });

  it.each([null, 'vectors.arrow', 5, [[1, 2]]])('refuse %o for a source', (source) => {
    expect(() => vectorsFromArrow(source as never)).toThrow(TypeError);
    expect(() => sparseFromArrow(source as never)).toThrow('"source" expected Arrow bytes');
  });

  it.each<[string, Vector, RegExp]>([
    [
      'lists of other lengths',
      list([null, [1, 2], [3, 4], [5], [6, 7]], new Float32()),
      /row 3: expected a vector of 2 values, got 1/,
    ],
    [
      'a longer list',
      list([[1], [1], [1, 2]], new Float64()),
      /row 2: expected a vector of 1 values, got 2/,
    ],
    [
      'an empty list',
      list([[1], []], new Float32()),
      /row 1: expected a vector of 1 values, got 0/,
    ],
    ['an empty list first', list([null, [], [1]], new Float32()), /row 1: .*without values/],
    ['a null within a vector', fixed([[1, 2], null, [3, null]], 2, new Float32()), /row 2: a null/],
    [
      'a null within a list',
      list(
        [
          [1, 2],
          [null, 3],
        ],
        new Float16(),
      ),
      /row 1: a null/,
    ],
    ['a null within the first', list([[null], [3]], new Int8()), /row 0: a null/],
  ])('refuse %s, naming the row', (_, column, message) => {
    const table = tableOf({ vector: column });
    for (const source of [table, tableToIPC(table, 'file'), rebatch(table, 0, 1)]) {
      const read = () => vectorsFromArrow(source, { file: 'made.arrow' });
      expect(read).toThrow(FormatError);
      expect(read).toThrow(message);
      expect(read).toThrow(/^made\.arrow: /);
    }
  });

  it('name the row of the table that was given when it is a slice', () => {
    const table = tableOf({ vector: list([[1], [2], [3], [4, 5], [6]], new Float32()) });
    expect(() => vectorsFromArrow(table.slice(2))).toThrow(
      /row 1: expected a vector of 1 values, got 2/,
    );
    expect(dense(table.slice(0, 3))).toEqual([[1], [2], [3]]);
  });

  it('may have nulls within a null row', () => {
    const item = new Float32();
    const child = makeData({
      ...{ type: item, length: 4, nullCount: 2, nullBitmap: Uint8Array.of(0b1100) },
      data: Float32Array.of(0, 0, 3, 4),
    });
    const type = new FixedSizeList(2, new Field('item', item, true));
    const nullBitmap = Uint8Array.of(0b10);
    const data = makeData({ type, length: 2, nullCount: 1, nullBitmap, child });
    expect(dense(tableOf({ vector: makeVector(data) }))).toEqual([null, [3, 4]]);
  });
});

describe('sparse vectors from Arrow', () => {
  const random = seedrandom.alea('sparse');
  const rows = Array.from({ length: 30 }, (_, row) =>
    row % 7 === 3
      ? null
      : Array.from({ length: Math.floor(random() * 6) }, () => [
          Math.floor(random() * 1e6),
          Math.floor(random() * 64) / 4,
        ]),
  );
  const expected = rows.map((row) => row?.map(([index, value]) => [String(index), value]) ?? null);
  const part = (which: number) => rows.map((row) => row?.map((entry) => entry[which]) ?? null);
  const lists = (index: DataType, value: DataType) => ({
    terms: vectorFromArray(
      part(0).map((row) => (index.toString().endsWith('64') ? (row?.map(BigInt) ?? null) : row)),
      new List(new Field('item', index)),
    ),
    weights: list(part(1), value),
  });
  const options = { indices: 'terms', values: 'weights' };

  it.each([
    [new Int32(), Int32Array, new Float32(), Float32Array],
    [new Uint32(), Uint32Array, new Float64(), Float64Array],
    [new Int64(), Uint32Array, new Float32(), Float32Array],
    [new Uint64(), Uint32Array, new Float16(), Float32Array],
    [new Uint8(), Uint32Array, new Float64(), Float64Array],
  ])('are read from lists of %s and of values', (index, indexKind, value, valueKind) => {
    const isSmall = index instanceof Uint8;
    const fold = (row: unknown) =>
      isSmall
        ? ((row as [string, number][] | null)?.map(([i, v]) => [`${Number(i) & 255}`, v]) ?? null)
        : row;
    for (const [, cut, start, end] of CUTS) {
      const table = cut(tableOf(lists(index, value)));
      for (const source of [table, tableToIPC(table, 'file'), tableToIPC(table, 'stream')]) {
        expect(sparse(source, options)).toEqual(expected.slice(start, end).map(fold));
        const { vectors } = sparseFromArrow(source, options);
        expect(vectors.indices).toBeInstanceOf(indexKind);
        expect(vectors.values).toBeInstanceOf(valueKind);
      }
    }
  });

  function mapOf(index: DataType, value: DataType): Vector {
    const entry = new Struct([new Field('key', index), new Field('value', value, true)]);
    const type = new Map_(new Field('entries', entry as never, false));
    const entries = rows.flatMap((row) => row ?? []);
    const length = entries.length;
    const keys = Uint32Array.from(entries, ([key]) => key);
    const values = Float64Array.from(entries, ([, weight]) => weight);
    const children = [
      makeData({ type: new Uint32(), length, nullCount: 0, data: keys }),
      makeData({ type: new Float64(), length, nullCount: 0, data: values }),
    ];
    const child = makeData({ type: entry, length, nullCount: 0, children });
    const valueOffsets = new Int32Array(31);
    const nullBitmap = new Uint8Array(4);
    rows.forEach((row, i) => {
      valueOffsets[i + 1] = valueOffsets[i] + (row?.length ?? 0);
      if (row !== null) nullBitmap[i >> 3] |= 1 << (i & 7);
    });
    const nullCount = rows.filter((row) => row === null).length;
    const data = makeData({
      type,
      length: 30,
      nullCount,
      nullBitmap,
      valueOffsets,
      child,
    } as never);
    return makeVector(data);
  }

  it.each(CUTS)('are read from a Map, %s', (_, cut, start, end) => {
    const id = vectorFromArray(rows.map((_, row) => `row ${row}`));
    const table = cut(tableOf({ bag: mapOf(new Uint32(), new Float64()), id }));
    for (const source of [table, tableToIPC(table, 'file'), tableToIPC(table, 'stream')]) {
      expect(sparse(source)).toEqual(expected.slice(start, end));
      expect(sparse(source, { column: 'bag' })).toEqual(expected.slice(start, end));
      const ids = Array.from({ length: end - start }, (_, row) => `row ${start + row}`);
      expect(sparseFromArrow(source).ids).toEqual(ids);
    }
  });

  it('give null codes for null rows, and for the others the codes of their entries', async () => {
    const hasher = new SimHasher({ bits: 100, seed: 3, zero: 'null' });
    const table = tableOf({
      ...lists(new Uint64(), new Float64()),
      bag: mapOf(new Uint32(), new Float64()),
    });
    for (const { vectors } of [sparseFromArrow(table, options), sparseFromArrow(table)]) {
      const codes = await hasher.hashAll(vectors);
      expect(codes.count).toBe(30);
      rows.forEach((row, i) => {
        const entries = row ?? [];
        const isZero = entries.every(([, value]) => value === 0);
        expect(codes.isNull(i)).toBe(isZero);
        if (isZero) return;
        const vector = { indices: entries.map(([at]) => at), values: entries.map(([, v]) => v) };
        expect(codes.at(i)).toEqual(hasher.hash(vector));
      });
    }
  });

  it('may be none', () => {
    const empty = tableOf({ terms: list([], new Int32()), weights: list([], new Float32()) });
    expect(sparse(empty, options)).toEqual([]);
    const nulls = tableOf({
      terms: list([null], new Int32()),
      weights: list([null], new Float32()),
    });
    expect(sparse(nulls, options)).toEqual([null]);
    const none = tableOf({ terms: list([[]], new Int32()), weights: list([[]], new Float32()) });
    expect(sparse(none, options)).toEqual([[]]);
  });

  it.each<[string, Row[], Row[], RegExp]>([
    ['more dimensions', [[1], [1, 2]], [[1], [1]], /row 1: 2 dimensions but 1 values/],
    ['more values', [[1], null, []], [[1], null, [1, 2]], /row 2: 0 dimensions but 2 values/],
    ['dimensions for null values', [[1], [2]], [[1], null], /row 1: .*null/],
    ['values for null dimensions', [null, [2]], [[1], [1]], /row 0: .*null/],
    ['a null dimension', [[1], [2, null]], [[1], [1, 2]], /row 1: a null/],
    ['a null value', [[1], [2, 3]], [[1], [null, 2]], /row 1: a null/],
  ])('refuse %s, naming the row', (_, terms, weights, message) => {
    const table = tableOf({
      terms: list(terms, new Int32()),
      weights: list(weights, new Float32()),
    });
    for (const source of [table, tableToIPC(table, 'file'), rebatch(table, 0, 1)]) {
      const read = () => sparseFromArrow(source, { ...options, file: 'bags.arrow' });
      expect(read).toThrow(FormatError);
      expect(read).toThrow(message);
      expect(read).toThrow(/^bags\.arrow: /);
    }
  });

  const mixed = tableOf({
    terms: list([[1]], new Int32()),
    weights: list([[1]], new Float32()),
    words: vectorFromArray(['w'], new Utf8()),
  });
  it.each<[string, unknown, ErrorConstructor, string]>([
    [
      'a column that is no map',
      { column: 'terms' },
      TypeError,
      'column "terms" of type List<Int32>',
    ],
    ['no such map', { column: 'bag' }, RangeError, 'no column "bag", there are "terms"'],
    ['the two swapped', { indices: 'weights', values: 'terms' }, TypeError, 'column "weights" of'],
    ['text', { indices: 'words', values: 'weights' }, TypeError, 'column "words" of type Utf8'],
    ['no such column', { indices: 'x', values: 'weights' }, RangeError, 'no column "x"'],
  ])('refuse %s: %o', (_, wrong, kind, message) => {
    expect(() => sparseFromArrow(mixed, wrong as object)).toThrow(kind);
    expect(() => sparseFromArrow(mixed, wrong as object)).toThrow(message);
  });
});

describe('ids next to vectors', () => {
  it('may be a dictionary, sliced and in batches', () => {
    const words = ['a', 'b', 'a', 'c', 'b'];
    const table = tableFromArrays({ id: words });
    const vector = list([[1], [2], [3], [4], [5]], new Float32());
    const both = tableOf({ id: table.getChild('id') as Vector, vector });
    expect(vectorsFromArrow(both).ids).toEqual(words);
    expect(vectorsFromArrow(both.slice(1, 4)).ids).toEqual(words.slice(1, 4));
    expect(vectorsFromArrow(rebatch(both, 0, 2, 3)).ids).toEqual(words);
  });

  it.each([
    [Int8Array.of(-1, 2), Int32Array],
    [Uint8Array.of(255, 2), Uint32Array],
    [Int16Array.of(-300, 2), Int32Array],
    [Uint16Array.of(65_535, 2), Uint32Array],
    [Int32Array.of(-(2 ** 31), 2), Int32Array],
    [Uint32Array.of(2 ** 32 - 1, 2), Uint32Array],
    [BigInt64Array.of(-(2n ** 63n), 2n), BigInt64Array],
    [BigUint64Array.of(2n ** 64n - 1n, 2n), BigUint64Array],
  ])('may be integers of any width: %o', (ids, kind) => {
    const table = tableOf({
      id: makeVector(ids as Int32Array),
      vector: list([[1], [2]], new Float32()),
    });
    const read = vectorsFromArrow(table).ids;
    expect(read).toBeInstanceOf(kind);
    expect(Array.from(read ?? [], String)).toEqual(Array.from(ids, String));
    expect(Array.from(vectorsFromArrow(table.slice(1)).ids ?? [], String)).toEqual(['2']);
  });
});

it('options of reading are checked', () => {
  const made = tableOf({ id: vectorFromArray(['a', 'b', 'c'], new Utf8()) });
  const read = (options: object) => () => rowsFromArrow(made, options);
  expect(read({ column: 'id' })).toThrow(TypeError);
  expect(read({ file: 1 })).toThrow('"file" expected a string, got 1');
});
