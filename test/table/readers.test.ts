/**
 * One road for rows: every reader takes the same types, and gives the same values. In 0.1 vectors of
 * int16, int32 and int64 were read by openRows and refused by readVectors.
 */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  Binary,
  type DataType,
  Dictionary,
  Field,
  FixedSizeBinary,
  FixedSizeList,
  Float16,
  Float32,
  Float64,
  Int8,
  Int16,
  Int32,
  Int64,
  LargeList,
  List,
  Map_,
  makeData,
  Struct,
  Table,
  tableToIPC,
  Uint8,
  Uint16,
  Uint32,
  Uint64,
  Utf8,
  Vector,
  vectorFromArray,
} from 'apache-arrow';
import { afterAll, describe, expect, it } from 'vitest';
import { isValid } from '../../src/base/arrays';
import type { Ids } from '../../src/base/check';
import { Codes } from '../../src/codes/codes';
import { createRows } from '../../src/formats/create-rows';
import { openRows } from '../../src/formats/open-rows';
import { readPlan } from '../../src/formats/plan-file';
import { dedup } from '../../src/near/dedup';
import { codesFromArrow } from '../../src/table/from-arrow';
import { RowBatch } from '../../src/table/row-batch';
import type { DenseMatrix, SparseMatrix } from '../../src/vectors/vectors';
import { readCodes, readVectors, sparseFromArrow, vectorsFromArrow } from '../reference/arrow';

const folder = mkdtempSync(join(tmpdir(), 'halfspace-readers-'));
afterAll(() => rmSync(folder, { recursive: true }));

const COUNT = 23;
const WIDTH = 3;
const ROWS = Array.from({ length: COUNT }, (_, row) => row);
const isNull = (row: number) => row % 5 === 2;

/** Files with these columns: Arrow's two layouts, in two batches, and Parquet where it is wanted. */
async function filesOf(columns: Record<string, Vector>, hasParquet: boolean): Promise<string[]> {
  const table = new Table(columns);
  const batches = [table.slice(0, 9), table.slice(9)].flatMap((part) => part.batches);
  const cut = new Table(table.schema, batches);
  const paths = ['file', 'stream'].map((layout) => join(folder, `rows-${layout}.arrow`));
  writeFileSync(paths[0], tableToIPC(cut, 'file'));
  writeFileSync(paths[1], tableToIPC(cut, 'stream'));
  if (!hasParquet) return paths;
  const parquet = join(folder, 'rows.parquet');
  const writer = await createRows(parquet, { force: true });
  for (const batch of batches) await writer.write(RowBatch.fromArrow(batch as never));
  await writer.close();
  return [...paths, parquet];
}

/** What `read` gives of a file's batches, of some rows each, one after another. */
async function inBatches<T>(path: string, read: (batch: RowBatch) => T[]): Promise<T[]> {
  const values: T[] = [];
  for await (const batch of await openRows(path, { batchRows: 4 })) values.push(...read(batch));
  return values;
}

const isParquet = (path: string) => path.endsWith('.parquet');

const list = (item: DataType) => new List(new Field('item', item, true));
const fixed = (item: DataType) => new FixedSizeList(WIDTH, new Field('item', item, true));
/** A column of LargeList, which the library's own builders do not make. */
function large(item: DataType, rows: unknown[]): Vector {
  const { data } = vectorFromArray(rows, list(item));
  const [{ length, nullCount, nullBitmap, valueOffsets, children }] = data;
  const type = new LargeList(new Field('item', item, true));
  const offsets = BigInt64Array.from(valueOffsets as Int32Array, BigInt);
  const nulls = { length, nullCount, nullBitmap };
  return new Vector([
    makeData({ type, ...nulls, valueOffsets: offsets, child: children[0] } as never),
  ]);
}

describe('vectors', () => {
  const NUMBERS: [DataType, boolean][] = [
    ...[new Float16(), new Float32(), new Float64()].map((type): [DataType, boolean] => [
      type,
      type.precision > 0, // Parquet's writer has no float16
    ]),
    ...[new Int8(), new Uint8(), new Int16(), new Uint16()].map((type): [DataType, boolean] => [
      type,
      true,
    ]),
    ...[new Int32(), new Uint32(), new Int64(), new Uint64()].map((type): [DataType, boolean] => [
      type,
      true,
    ]),
  ];
  const rowsOf = ({ values, dimensions, validity }: DenseMatrix) =>
    Array.from({ length: values.length / dimensions }, (_, row) =>
      isValid(validity, row)
        ? Array.from(values.subarray(row * dimensions, (row + 1) * dimensions))
        : null,
    );
  const shapes = ['List', 'FixedSizeList', 'LargeList'] as const;

  it.each(
    NUMBERS.flatMap(([item, hasParquet]) =>
      shapes.map((shape) => ({ item, hasParquet, shape, name: `${shape}<${item}>` })),
    ),
  )('of $name', async ({ item, hasParquet, shape }) => {
    const isWide = String(item).endsWith('int64') || String(item) === 'Int64';
    for (const nulls of [false, true]) {
      const expected = ROWS.map((row) =>
        nulls && isNull(row) ? null : [row, (7 * row) % 11, 100 - row],
      );
      const given = expected.map((row) => (isWide ? (row?.map(BigInt) ?? null) : row));
      const vector =
        shape === 'LargeList'
          ? large(item, given)
          : vectorFromArray(given, shape === 'List' ? list(item) : fixed(item));
      for (const path of await filesOf({ vector }, hasParquet)) {
        expect(await inBatches(path, (batch) => rowsOf(batch.vectors('vector')))).toEqual(expected);
        if (!isParquet(path)) {
          expect(rowsOf((await readVectors(path)).vectors)).toEqual(expected);
        }
      }
      for (const source of [new Table({ vector }), tableToIPC(new Table({ vector }))]) {
        const read = vectorsFromArrow(source, { column: 'vector' }).vectors;
        expect(rowsOf(read)).toEqual(expected);
      }
    }
  });
});

describe('codes', () => {
  const bytes = (row: number) => Uint8Array.from({ length: 8 }, (_, i) => (31 * row + 7 * i) & 255);
  const word = (row: number) => new DataView(bytes(row).buffer).getBigUint64(0, true);
  const rowsOf = (codes: Codes) =>
    Array.from({ length: codes.count }, (_, row) =>
      codes.isNull(row) ? null : [...codes.at(row)],
    );
  const bytesList = new FixedSizeList(8, new Field('item', new Uint8(), true));
  const TYPES: [DataType, (row: number) => unknown, boolean][] = [
    [new FixedSizeBinary(8), bytes, true],
    [new Binary(), bytes, true],
    [bytesList, (row) => [...bytes(row)], false], // Parquet's lists have no fixed size
    [new Uint64(), word, true],
    [new Int64(), (row) => BigInt.asIntN(64, word(row)), true],
  ];

  it.each(TYPES)('of %s', async (type, cellOf, hasParquet) => {
    for (const nulls of [false, true]) {
      const isThere = (row: number) => !nulls || !isNull(row);
      const code = vectorFromArray(
        ROWS.map((row) => (isThere(row) ? cellOf(row) : null)),
        type,
      );
      const expected = ROWS.map((row) => (isThere(row) ? [...bytes(row)] : null));
      for (const path of await filesOf({ code }, hasParquet)) {
        expect(await inBatches(path, (batch) => rowsOf(batch.codes('code', { bits: 64 })))).toEqual(
          expected,
        );
        if (!isParquet(path)) expect(rowsOf((await readCodes(path)).codes)).toEqual(expected);
      }
      expect(rowsOf(codesFromArrow(new Table({ code })).codes)).toEqual(expected);
    }
  });
});

describe('sparse rows', () => {
  type Entries = [string, number][] | null;
  const entriesOf = (row: number): [number, number][] =>
    Array.from({ length: row % 4 }, (_, i) => [10 * i + row, i + 1]);
  const rowsOf = ({ offsets, indices, values, validity }: SparseMatrix): Entries[] =>
    Array.from({ length: offsets.length - 1 }, (_, row) =>
      isValid(validity, row)
        ? Array.from(indices.slice(offsets[row], offsets[row + 1]), (index, i) => [
            String(index),
            Number(values[offsets[row] + i]),
          ])
        : null,
    );
  const expectedOf = (isThere: (row: number) => boolean): Entries[] =>
    ROWS.map((row) =>
      isThere(row) ? entriesOf(row).map(([index, value]) => [String(index), value]) : null,
    );
  const INDICES = [new Uint8(), new Int16(), new Int32(), new Uint32(), new Int64(), new Uint64()];
  const VALUES = [new Float16(), new Float32(), new Float64(), new Uint8(), new Int32()];

  it.each(INDICES.flatMap((index) => VALUES.map((value) => ({ index, value }))))(
    'of lists of $index and $value',
    async ({ index, value }) => {
      for (const nulls of [false, true]) {
        const isThere = (row: number) => !nulls || !isNull(row);
        const column = (which: 0 | 1, type: DataType) =>
          vectorFromArray(
            ROWS.map((row) => {
              if (!isThere(row)) return null;
              const numbers = entriesOf(row).map((entry) => entry[which]);
              return /int64/i.test(String(type)) ? numbers.map(BigInt) : numbers;
            }),
            list(type),
          );
        const indices = column(0, index);
        const values = column(1, value);
        const options = { indices: 'indices', values: 'values' };
        const expected = expectedOf(isThere);
        const isHalf = value instanceof Float16;
        for (const path of await filesOf({ indices, values }, !isHalf)) {
          const read = (batch: RowBatch) => rowsOf(batch.sparse('indices', 'values'));
          expect(await inBatches(path, read)).toEqual(expected);
          if (isParquet(path)) continue;
          expect(rowsOf(sparseFromArrow(readFileSync(path), options).vectors)).toEqual(expected);
        }
        const { vectors } = sparseFromArrow(new Table({ indices, values }), options);
        expect(rowsOf(vectors)).toEqual(expected);
      }
    },
  );

  it('of a Map', async () => {
    const entry = new Struct([
      new Field('key', new Uint32(), false),
      new Field('value', new Float32(), true),
    ]);
    const all = ROWS.flatMap(entriesOf);
    const valueOffsets = new Int32Array(COUNT + 1);
    for (const row of ROWS) valueOffsets[row + 1] = valueOffsets[row] + entriesOf(row).length;
    const child = makeData({
      ...{ type: entry, length: all.length, nullCount: 0 },
      children: [
        vectorFromArray(
          all.map(([key]) => key),
          new Uint32(),
        ).data[0],
        vectorFromArray(
          all.map(([, value]) => value),
          new Float32(),
        ).data[0],
      ],
    });
    const type = new Map_(new Field('entries', entry as never, false));
    const bag = new Vector([
      makeData({ type, length: COUNT, nullCount: 0, valueOffsets, child } as never),
    ]);
    const expected = expectedOf(() => true);
    for (const path of await filesOf({ bag }, false)) {
      expect(await inBatches(path, (batch) => rowsOf(batch.sparse('bag')))).toEqual(expected);
      expect(rowsOf(sparseFromArrow(readFileSync(path)).vectors)).toEqual(expected);
    }
  });
});

describe('ids', () => {
  const words = ROWS.map((row) => `w${row % 7}`);
  const COLUMNS: [string, Vector, unknown[], boolean][] = [
    ['texts', vectorFromArray(words, new Utf8()), words, true],
    [
      'a dictionary of texts',
      vectorFromArray(words, new Dictionary(new Utf8(), new Int32())),
      words,
      true,
    ],
    ...[new Int8(), new Uint16(), new Int32(), new Uint32()].map(
      (type): [string, Vector, unknown[], boolean] => [
        String(type),
        vectorFromArray(ROWS, type),
        ROWS,
        true,
      ],
    ),
    ...[new Int64(), new Uint64()].map((type): [string, Vector, unknown[], boolean] => [
      String(type),
      vectorFromArray(ROWS.map(BigInt), type),
      ROWS.map(BigInt),
      true,
    ]),
  ];
  const code = vectorFromArray(
    ROWS.map((row) => Uint8Array.of(row)),
    new FixedSizeBinary(1),
  );
  const listed = (ids: Ids | null) => Array.from((ids ?? []) as readonly unknown[]);

  it.each(COLUMNS)('of %s', async (_, id, expected, hasParquet) => {
    for (const path of await filesOf({ id, code }, hasParquet)) {
      const ids = await inBatches(path, (batch) => listed(batch.ids('id')));
      // Parquet's uint32 has 64 bits, as many programs write it.
      if (isParquet(path)) expect(ids.map(String)).toEqual(expected.map(String));
      else {
        expect(ids).toEqual(expected);
        expect(listed((await readCodes(path)).ids)).toEqual(expected);
      }
    }
    expect(listed(codesFromArrow(new Table({ id, code })).ids)).toEqual(expected);
  });

  it('may not be null, and the row is named', async () => {
    const id = vectorFromArray(
      ROWS.map((row) => (row === 12 ? null : row)),
      new Int32(),
    );
    for (const path of await filesOf({ id, code }, true)) {
      const read = inBatches(path, (batch) => listed(batch.ids('id')));
      await expect(read).rejects.toThrow(`${path}: row 12: the id is null`);
      if (!isParquet(path)) {
        await expect(readCodes(path)).rejects.toThrow('row 12: the id is null');
      }
    }
  });
});

describe('plans', async () => {
  const codes = Codes.from(
    Uint8Array.from(ROWS, (row) => row % 7),
    { bits: 8 },
  );
  const plan = await dedup(codes, { maxDistance: 0 });
  const COLUMNS = { row: ROWS, group: [...plan.groups], duplicate_of: [...plan.duplicateOf] };
  const action = vectorFromArray(
    ROWS.map((row) => (plan.kept[row] === 1 ? 'keep' : 'drop')),
    new Utf8(),
  );
  const distance = vectorFromArray([...plan.distances], new Uint16());
  const check = vectorFromArray([...plan.checks], new Uint32());
  const rows = vectorFromArray([...plan.checks].fill(plan.count), new Uint32());
  const TYPES: [DataType, (value: number) => unknown][] = [
    ...[new Int8(), new Uint8(), new Int16(), new Uint16(), new Int32(), new Uint32()].map(
      (type): [DataType, (value: number) => unknown] => [type, Number],
    ),
    ...[new Int64(), new Uint64()].map((type): [DataType, (value: number) => unknown] => [
      type,
      BigInt,
    ]),
    [new Float64(), Number],
    [new Utf8(), String],
  ];

  it.each(TYPES)('with rows of %s', async (type, cellOf) => {
    expect(plan.kept).toContain(0);
    const columns = Object.entries(COLUMNS).map(([name, values]) => [
      name,
      vectorFromArray(values.map(cellOf), type),
    ]);
    const table = { ...Object.fromEntries(columns), action, distance, check, rows };
    for (const path of await filesOf(table, true)) expect(await readPlan(path)).toEqual(plan);
  });
});
