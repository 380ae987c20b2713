import { readdirSync, readFileSync } from 'node:fs';
import {
  Dictionary,
  Field,
  Float64,
  Int32,
  Int64,
  List,
  type RecordBatch,
  Schema,
  Table,
  tableFromIPC,
  Utf8,
  vectorFromArray,
} from 'apache-arrow';
import { describe, expect, it, vi } from 'vitest';
import { FormatError } from '../../src/base/check';
import { iterated } from '../../src/base/long-work';
import { Codes } from '../../src/codes/codes';
import {
  type ByteFile,
  openArrow,
  openArrowFile,
  openArrowStream,
} from '../../src/table/arrow/batches';
import { ArrowEncoder } from '../../src/table/arrow/writer';
import { recordBatch } from '../../src/table/columns/make';
import { codesToArrow } from '../../src/table/from-arrow';
import { freeNames, RowBatch } from '../../src/table/row-batch';

const fixtures = new URL('../fixtures/arrow/', import.meta.url);

function fileOf(bytes: Uint8Array): ByteFile {
  return {
    byteCount: bytes.length,
    read: async (ranges) => ranges.map(({ at, length }) => bytes.slice(at, at + length)),
  };
}

function pipeOf(bytes: Uint8Array) {
  let at = 0;
  return {
    async take(count: number) {
      at += count;
      return bytes.subarray(at - count, at);
    },
  };
}

const batch = RowBatch.of(
  {
    id: Int32Array.of(7, 8, 9),
    text: ['\ufeffa', null, 'ü'],
    vector: { values: Float32Array.of(1, 2, 3, 4, 5, 6), dimensions: 2 },
    code: Codes.from(Uint8Array.of(1, 2, 3), { bits: 8 }),
    big: BigUint64Array.of(1n, 2n ** 63n, 3n),
    flag: [true, null, false],
  },
  { firstRow: 100, file: 'rows.x' },
);

describe('a batch of rows', () => {
  it('gives the values of each column as plain ones', () => {
    expect(batch.values('id')).toEqual([7, 8, 9]);
    expect(batch.texts('text')).toEqual(['\ufeffa', null, 'ü']);
    expect(batch.values('vector')).toEqual([
      [1, 2],
      [3, 4],
      [5, 6],
    ]);
    expect(batch.values('code')).toEqual([1, 2, 3].map((byte) => Uint8Array.of(byte)));
    expect(batch.values('big')).toEqual([1n, 2n ** 63n, 3n]);
    expect(batch.values('flag')).toEqual([true, null, false]);
  });

  it('gives vectors, codes and ids', () => {
    expect(batch.vectors('vector')).toEqual({
      values: Float32Array.of(1, 2, 3, 4, 5, 6),
      dimensions: 2,
    });
    expect([...batch.codes('code').bytes]).toEqual([1, 2, 3]);
    expect(batch.ids('id')).toEqual(Int32Array.of(7, 8, 9));
    expect(batch.columns.map(({ fits }) => fits[0])).toEqual([
      'id',
      'text',
      'vector',
      'code',
      'id',
      undefined,
    ]);
  });

  it('is cut, picked from and extended without being changed', () => {
    const some = batch.select([2, 0]);
    expect([some.values('id'), some.texts('text')]).toEqual([
      [9, 7],
      ['ü', '\ufeffa'],
    ]);
    const end = batch.slice(1, 3);
    expect([end.firstRow, end.values('flag'), end.values('vector')]).toEqual([
      101,
      [null, false],
      [
        [3, 4],
        [5, 6],
      ],
    ]);
    const more = batch
      .with({ id: ['x', 'y', 'z'], score: Float64Array.of(1, 2, 3) })
      .only(['id', 'text', 'vector', 'code', 'flag', 'score']);
    expect(more.columns.map(({ name }) => name)).toEqual([
      'id',
      'text',
      'vector',
      'code',
      'flag',
      'score',
    ]);
    expect(more.values('id')).toEqual(['x', 'y', 'z']);
    expect(batch.values('id')).toEqual([7, 8, 9]);
  });

  it('names the row of the file in what is wrong with a value', () => {
    const lists = RowBatch.fromArrow(
      new Table({
        v: vectorFromArray([
          [1, 2],
          [1, 2, 3],
        ]),
      }).batches[0] as unknown as RecordBatch,
      { firstRow: 40, file: 'v.arrow' },
    );
    expect(() => lists.vectors('v')).toThrow(FormatError);
    expect(() => lists.vectors('v')).toThrow(
      'v.arrow: row 41: expected a vector of 2 values, got 3',
    );
    expect(() => batch.ids('text')).toThrow('rows.x: row 101: the id is null');
    expect(() => batch.codes('code', { bits: 20 })).toThrow(FormatError);
  });

  it('refuses columns that are not there, do not fit or are of another length', () => {
    expect(() => batch.values('txt')).toThrow('did you mean "text"?');
    expect(() => batch.vectors('text')).toThrow('column "text" of type Utf8 is no vector');
    expect(() => RowBatch.of({ a: [1], b: [1, 2] })).toThrow(RangeError);
    expect(() => RowBatch.of({ a: ['x', 1] })).toThrow('"a"[1] expected a string');
    expect(() => batch.select([3])).toThrow(RangeError);
  });

  it('gives sparse rows of two lists, of integers or floats', () => {
    const made = new Table({
      i: vectorFromArray([[1n, 5n], [], [7n]], new List(new Field('item', new Int64()))),
      w: vectorFromArray([[0.5, 1], [], [2]], new List(new Field('item', new Float64()))),
    });
    const rows = RowBatch.fromArrow(made.batches[0] as unknown as RecordBatch);
    const { offsets, indices, values } = rows.sparse('i', 'w');
    expect([...offsets]).toEqual([0, 2, 2, 3]);
    expect(Array.from(indices as Uint32Array, Number)).toEqual([1, 5, 7]);
    expect([...values]).toEqual([0.5, 1, 2]);
  });

  it('reads dictionaries', () => {
    const words = vectorFromArray(
      ['red', 'blue', 'red', null],
      new Dictionary(new Utf8(), new Int32()),
    );
    const table = new Table({ words });
    const rows = RowBatch.fromArrow(table.batches[0] as unknown as RecordBatch);
    expect(rows.texts('words')).toEqual(['red', 'blue', 'red', null]);
    expect(rows.select([3, 1]).texts('words')).toEqual([null, 'blue']);
  });
});

describe('files and streams of other programs, a batch at a time', () => {
  const names = readdirSync(fixtures).filter((name) => /\.arrows?$/.test(name));

  it.each(names)('%s has the rows that the library reads at once', async (name) => {
    const bytes = Uint8Array.from(readFileSync(new URL(name, fixtures)));
    const opened = name.endsWith('.arrow')
      ? await openArrowFile(fileOf(bytes), name)
      : await openArrowStream(pipeOf(bytes), name, false);
    let count = 0;
    const lines: string[] = [];
    const text = (_: string, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value);
    for await (const rows of iterated<RowBatch>((send) => opened.read(send))) {
      expect(rows.firstRow).toBe(count);
      count += rows.count;
      for (const row of new Table([rows.toArrow()])) lines.push(JSON.stringify(row, text));
    }
    const table = tableFromIPC(bytes);
    expect(lines).toEqual(Array.from(table, (row) => JSON.stringify(row, text)));
    if (name.endsWith('.arrow')) expect(opened.rowCount).toBe(table.numRows);
  });
});

describe('many columns', () => {
  // The library compares each name with all others when it makes a batch, and of two columns of one
  // name gave the first the type of the second: a file of 200,000 columns took over 100 s.
  it('are not looked for by name while a file is read, and may have one name', async () => {
    const fields = [new Int32(), new Utf8(), new Float64()].map((type) => new Field('x', type));
    const data = [[1], ['a'], [0.5]].map((values, i) => {
      return vectorFromArray(values, fields[i].type).data[0];
    });
    const schema = new Schema(fields);
    const bytes = bytesOf(recordBatch(schema, data, 1));
    const assign = vi.spyOn(Schema.prototype, 'assign');
    const opened = await openArrowFile(fileOf(bytes), 'wide.arrow');
    for await (const rows of iterated<RowBatch>((send) => opened.read(send))) {
      expect(rows.columns.map(({ type }) => type)).toEqual(['Int32', 'Utf8', 'Float64']);
      expect(rows.toArrow().numRows).toBe(1);
    }
    expect(openArrow(bytes).batches[0].schema.fields.map(({ type }) => String(type))).toEqual([
      ...['Int32', 'Utf8', 'Float64'],
    ]);
    expect(assign).not.toHaveBeenCalled();
    assign.mockRestore();
  });
});

describe('a file of our own', () => {
  const codes = Codes.allocate(150_000, { bits: 16 });
  const bytes = codesToArrow(codes);

  const read = async (of: Uint8Array) => {
    let count = 0;
    await (await openArrowFile(fileOf(of), 'own.arrow')).read(async (rows) => {
      count += rows.count;
    });
    return count;
  };

  it('is checked batch by batch', async () => {
    expect(await read(bytes)).toBe(150_000);
    const damaged = bytes.slice();
    damaged[bytes.length - 20_000] ^= 4;
    await expect(read(damaged)).rejects.toThrow('column "code" of batch 2 fails its checksum');
  });
});

it.each<[string, (batch: RowBatch) => unknown, string]>([
  ['of', () => RowBatch.of(null as never), '"columns" expected an object of columns, got null'],
  ['with', (batch) => batch.with(7 as never), '"columns" expected an object of columns, got 7'],
  [
    'fromArrow',
    () => RowBatch.fromArrow({} as never),
    '"batch" expected a RecordBatch, got Object',
  ],
  ['select', (batch) => batch.select(null as never), '"rows" expected an array of numbers'],
  ['slice', (batch) => batch.slice(0, 1n as never), '"end" expected a number, got 1n'],
])('refuses arguments of the wrong type: %s', (_name, call, message) => {
  expect(() => call(RowBatch.of({ n: [1, 2] }))).toThrow(TypeError);
  expect(() => call(RowBatch.of({ n: [1, 2] }))).toThrow(message);
});

it('a slice that ends behind the last row ends with it', () => {
  const batch = RowBatch.of({ n: [1, 2, 3] }).slice(1, 9);
  expect([batch.count, batch.values('n')]).toEqual([2, [2, 3]]);
});

/** A batch as an Arrow file, as it is. */
function bytesOf({ schema, data, numRows }: RecordBatch): Uint8Array {
  const encoder = new ArrowEncoder('file', schema);
  return Buffer.concat([...encoder.add([...data.children], numRows), ...encoder.finish()]);
}

it('gives columns next to others free names, whatever their order', () => {
  expect(freeNames(['a', 'b'], ['c'])).toEqual(['a', 'b']);
  expect(freeNames(['id', 'row_id', 'x'], ['id', 'x'])).toEqual(['row_row_id', 'row_id', 'row_x']);
  expect(freeNames(['row_id', 'id'], ['id'])).toEqual(['row_id', 'row_row_id']);
  expect(freeNames(['id', 'row_id'], ['id', 'row_id'])).toEqual(['row_row_id', 'row_row_row_id']);
});
