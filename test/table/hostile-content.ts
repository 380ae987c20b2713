/** Hostile files whose compressed bodies, types or offsets are not what they say. */

import {
  Binary,
  Field,
  FixedSizeBinary,
  FixedSizeList,
  Float32,
  List,
  Map_,
  makeData,
  makeVector,
  RecordBatch,
  Schema,
  Struct,
  Table,
  tableToIPC,
  Uint8,
  Uint32,
  vectorFromArray,
} from 'apache-arrow';
import { type FlatTable, SLOTS } from './arrow-map';
import { type Patch, SECOND } from './arrow-patch';
import { fileOf, type HostileFile, type Hostility, rowsOf, type Workshop } from './hostile';

const ZSTD_MAGIC = [0x28, 0xb5, 0x2f, 0xfd];

export function* compressedBodies(workshop: Workshop): Generator<HostileFile> {
  const options = { column: 'code', id: 'id' };
  for (const codec of ['LZ4', 'ZSTD']) {
    /** `change` is given the address of a compressed buffer: a claim of 8 bytes, and the frame. */
    const make = (name: string, change: (p: Patch, at: number) => void, message = /./) =>
      workshop.make(
        `${codec}: ${name}`,
        `pyarrow-codes-${codec.toLowerCase()}`,
        (p) => change(p, compressedBuffer(p)),
        { message, options },
      );
    yield make('a claim of terabytes', (p, at) => p.int64(at, 2n ** 42n), /4398046511104/);
    yield make('a claim of 2^62 bytes', (p, at) => p.int64(at, 2n ** 62n), /claim/);
    yield make('a claim of -2 bytes', (p, at) => p.int64(at, -2n), /claim/);
    for (const more of [1, -1]) {
      yield make(`a claim that is ${more} byte off`, (p, at) => {
        p.int64(at, BigInt(p.getInt64(at) + more));
      });
    }
    yield make('another magic number', (p, at) => p.int32(at + 8, 0x1234_5678));
    yield make('a body that ends within its frame', (p) => {
      const length = largestBuffer(p) + SECOND;
      p.int64(length, BigInt(p.getInt64(length) >> 1));
    });
    yield make('a buffer too short for its own length', (p) => {
      p.int64(largestBuffer(p) + SECOND, 7n);
    });
  }
  yield workshop.make('an unknown codec', 'pyarrow-codes-zstd', (p) => {
    p.bytes[p.batch.table(SLOTS.batch.compression).must(0)] = 2;
  });

  const zstd = (name: string, ...frame: number[]) =>
    workshop.make(
      `ZSTD: ${name}`,
      'pyarrow-codes-zstd',
      (p) => p.bytes.set(frame, compressedBuffer(p) + 8),
      { options },
    );
  const large = [...ZSTD_MAGIC, 0xa0, 0, 0, 0, 0x40]; // a frame of 1 GiB, or so it says
  yield zstd('a frame of terabytes', ...ZSTD_MAGIC, 0xe0, 0, 0, 0, 0, 0, 4, 0, 0);
  yield zstd('a frame of 4 GiB', ...ZSTD_MAGIC, 0xa0, 0xff, 0xff, 0xff, 0xff);
  yield zstd('a window of 2 GiB', ...ZSTD_MAGIC, 0, 21 << 3);
  yield zstd('a window of terabytes', ...ZSTD_MAGIC, 0, 0xff);
  yield zstd('a dictionary', ...ZSTD_MAGIC, 0x63, 1, 2, 3, 4, 0, 16);
  yield zstd('a second frame of 1 GiB', ...ZSTD_MAGIC, 0x20, 0, 1, 0, 0, ...large);
  yield zstd(
    'a frame of 1 GiB after one to skip',
    ...[0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 0, 0, 0, 0],
    ...large,
  );
}

/** Where the first batch describes its largest buffer, which is a compressed one. */
function largestBuffer(p: Patch): number {
  const lengths = p.buffers().map((at) => p.getInt64(at + SECOND));
  return p.buffers()[lengths.indexOf(Math.max(...lengths))];
}

function compressedBuffer(p: Patch): number {
  return p.message.body + p.getInt64(largestBuffer(p));
}

export function* badTypes(workshop: Workshop): Generator<HostileFile> {
  /** Sets the one number of a column's type: its width, or the size of its lists. */
  const typed = (file: string, column: string, value: number, hostility: Hostility = {}) =>
    workshop.make(
      `${file}: ${value} in the type of ${column}`,
      file,
      (p) => {
        for (const field of p.fields([p.column(column)])) {
          p.int32(field.table(SLOTS.field.type).must(0), value);
        }
      },
      hostility,
    );
  for (const width of [0, -1, 9, 8191, 8192, 2 ** 31 - 1]) {
    yield typed('pyarrow-codes-fixed-size-binary', 'code', width);
    yield typed('pyarrow-codes-fixed-size-list', 'code', width);
    const options = { reads: 'vectors', options: { column: 'vector' } } as const;
    yield typed('pyarrow-vectors-fixed-float32', 'vector', width, options);
  }
  for (const kind of [99, 255]) {
    yield workshop.make(
      `a type of unknown kind ${kind}`,
      'pyarrow-codes-fixed-size-binary',
      (p) => {
        for (const field of p.fields([0])) p.bytes[field.must(2)] = kind;
      },
    );
  }
  const ones = makeVector(Int32Array.of(1, 1, 1));
  const codes = vectorFromArray(rowsOf(3, 8), new FixedSizeBinary(8));
  const file = fileOf({ code: codes, id: ones, '\u0001': ones });
  yield workshop.make(
    'big-endian values',
    file,
    (p) => {
      for (const schema of p.schemas()) claimBigEndian(p, schema);
    },
    { message: /endian/ },
  );

  const childless = (name: string, field: Field, reads: HostileFile['reads']) =>
    workshop.make(
      name,
      tableToIPC(new Table(new Schema([field])), 'file'),
      (p) => {
        for (const parent of p.fields([0])) p.int32(parent.vector(SLOTS.field.children), 0);
      },
      { reads },
    );
  const bytes = new FixedSizeList(8, new Field('item', new Uint8()));
  const floats = new List(new Field('item', new Float32()));
  const entry = new Struct<{ key: Uint32; value: Float32 }>([
    new Field('key', new Uint32()),
    new Field('value', new Float32()),
  ]);
  const map = new Map_(new Field('entries', entry, false));
  yield childless('lists of codes without a child', new Field('code', bytes), 'codes');
  yield childless('lists of vectors without a child', new Field('vector', floats), 'vectors');
  yield childless('a map without entries', new Field('bag', map), 'sparse');
}

/**
 * Slot 0 of a schema, which writers leave out where it is 0, is made to refer to the name of the third
 * column: the text "\u0001" and the zero after it are the number 1, big-endian.
 */
function claimBigEndian(p: Patch, schema: FlatTable): void {
  const name = schema.tables(SLOTS.schema.fields)[2].vector(SLOTS.field.name) + 4;
  p.view.setUint16(schema.vtable + 2, name + 2 - schema.at, true); // the table reaches so far
  p.view.setUint16(schema.vtable + 4, name - schema.at, true);
}

export function* badValues(workshop: Workshop): Generator<HostileFile> {
  /** Sets one offset of a column of text, bytes, lists or a map, the first column of its file. */
  const offset = (
    what: string,
    file: string,
    buffer: number,
    [row, value]: readonly [number, number],
    hostility: Hostility = {},
  ) =>
    workshop.make(what, file, (p) => p.int32(p.data(buffer) + 4 * row, value), {
      ...hostility,
    });
  const places = {
    'ends beyond the values': [5, 100_000],
    'ends before it starts': [5, 0],
    'ends before the values': [5, -3],
    'starts before the values': [0, -2],
    'starts far before the values': [0, -(2 ** 31)],
  } as const;
  const sparse = { indices: 'terms', values: 'weights' };
  for (const [how, place] of Object.entries(places)) {
    const text = workshop.open('pyarrow-codes-id-string').column('id') === 0 ? 1 : 3;
    const id = { options: { id: 'id' } };
    yield offset(`an id that ${how}`, 'pyarrow-codes-id-string', text, place, id);
    yield offset(`a code that ${how}`, 'pyarrow-codes-binary', 1, place);
    const lists = workshop.open('pyarrow-vectors-list-float32').column('vector') === 0 ? 1 : 3;
    yield offset(`a vector that ${how}`, 'pyarrow-vectors-list-float32', lists, place, {
      ...{ reads: 'vectors', options: { column: 'vector' } },
    });
    yield offset(`a map that ${how}`, 'pyarrow-sparse-map-int32-double', 1, place, {
      ...{ reads: 'sparse', options: { column: 'bag' } },
    });
    const terms = workshop.open('pyarrow-sparse-uint32-float64').column('terms') === 0 ? 1 : 5;
    yield offset(`a list that ${how}`, 'pyarrow-sparse-uint32-float64', terms, place, {
      ...{ reads: 'sparse', options: sparse },
    });
  }
  yield workshop.make(
    'an id that its dictionary does not have',
    'pyarrow-codes-id-dictionary',
    (p) => p.int32(p.data(p.column('id') === 0 ? 1 : 3), 1000),
    { options: { id: 'id' }, message: /row 0: / },
  );
  // One long row and many short ones: memory was taken for all as long as the first.
  const binary = vectorFromArray([new Uint8Array(8000), ...rowsOf(20_000, 1)], new Binary());
  const codes = fileOf({ code: binary });
  yield workshop.make('a long code and 20,000 short ones', codes, () => {}, {
    message: /20001 rows of 8000 bytes/,
  });
  const message = /row 1: /;
  yield workshop.make('a long vector and 20,000 short ones', raggedVectors(20_000), () => {}, {
    ...{ reads: 'vectors', message },
  });
}

function raggedVectors(count: number): Uint8Array {
  const type = new List(new Field('item', new Float32()));
  const starts = (_: unknown, row: number) => (row === 0 ? 0 : 7999 + row);
  const valueOffsets = Int32Array.from({ length: count + 1 }, starts);
  const length = valueOffsets[count];
  const values = { type: new Float32(), length, nullCount: 0, data: new Float32Array(length) };
  const lists = { type, length: count, nullCount: 0, valueOffsets, child: makeData(values) };
  const schema = new Schema([new Field('vector', type)]);
  const struct = new Struct(schema.fields);
  const children = [makeData(lists)];
  const data = makeData({ type: struct, length: count, nullCount: 0, children });
  return tableToIPC(new Table(schema, [new RecordBatch(schema, data)]), 'file');
}
