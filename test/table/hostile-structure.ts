/** Hostile files whose rows, footer, body, metadata or messages are not what they say. */

import {
  Field,
  FixedSizeBinary,
  FixedSizeList,
  List,
  Schema,
  Struct,
  Table,
  tableToIPC,
  Uint8,
  vectorFromArray,
} from 'apache-arrow';
import { mapStream, SLOTS, viewOf } from './arrow-map';
import { type Patch, SECOND } from './arrow-patch';
import { fileOf, type HostileFile, hostile, rowsOf, type Workshop } from './hostile';

const PLAIN = 'pyarrow-codes-fixed-size-binary';
const HUGE = 2n ** 40n;
const ID = { options: { id: 'id' } };

export function* rowClaims(workshop: Workshop): Generator<HostileFile> {
  const plain = (name: string, change: (p: Patch) => void, message = /rows/) =>
    workshop.make(name, PLAIN, change, { message });
  yield plain('2^40 rows', (p) => p.claimRows(HUGE), /1099511627776 rows/);
  yield plain('2^63 - 1 rows', (p) => p.claimRows(2n ** 63n - 1n));
  yield plain('-1 rows', (p) => p.claimRows(-1n));
  yield plain('a batch of 2^40 rows over sound columns', (p) => {
    p.int64(p.batch.must(SLOTS.batch.length), HUGE);
  });
  yield plain('a column of 2^40 rows in a sound batch', (p) => p.int64(p.nodes()[0], HUGE));
  yield plain('a column shorter than its batch', (p) => p.int64(p.nodes()[0], 11n), /./);
  // As many rows as the file has bits, each of 2,048 bytes: 16,384 times what is there.
  const binary = new FixedSizeBinary(2048);
  const list = new FixedSizeList(2048, new Field('item', new Uint8()));
  for (const [kind, type] of [
    ['codes', binary],
    ['lists', list],
  ] as const) {
    const file = fileOf({ code: vectorFromArray(rowsOf(100, 2048), type) });
    yield workshop.make(`as many wide ${kind} as there are bits`, file, (p) => {
      p.int64(p.batch.must(SLOTS.batch.length), 8n * 204_800n);
      p.int64(p.nodes()[0], 8n * 204_800n);
    });
  }
}

export function* footers(workshop: Workshop): Generator<HostileFile> {
  for (const length of [2 ** 31 - 1, -(2 ** 31), -1, 0, 1, 4, 600]) {
    const change = (p: Patch) => p.int32(p.map.footerLength, length);
    yield workshop.make(`a footer of ${length} bytes`, PLAIN, change);
  }
  const block = (name: string, place: number, value: bigint, message = /./) =>
    workshop.make(
      `a footer that points to ${name}`,
      PLAIN,
      (p) => {
        if (place === 8) p.int32(p.map.blocks[0] + 8, Number(value));
        else p.int64(p.map.blocks[0] + place, value);
      },
      { message },
    );
  yield block('2^40', 0, HUGE, /points to/);
  yield block('2^62', 0, 2n ** 62n, /points to/);
  yield block('a negative place', 0, -8n);
  yield block('what is beyond the file', 0, 100_000n, /points to/);
  yield block('the schema', 0, 8n);
  yield block('the middle of a message', 0, 16n);
  yield block('metadata of 2^31 - 1 bytes', 8, 2n ** 31n - 1n, /points to/);
  yield block('metadata of -1 bytes', 8, -1n);
  yield block('a body of 2^40 bytes', 16, HUGE, /points to/);
  yield block('a body of -1 bytes', 16, -1n);
  yield workshop.make(
    'a footer that names one batch twice',
    'pyarrow-codes-batches',
    (p) => {
      const [, second, , fourth] = p.map.blocks;
      p.bytes.copyWithin(second, fourth, fourth + 24);
    },
    ID,
  );
  yield workshop.make(
    'a footer that leaves the dictionary out',
    'pyarrow-codes-id-dictionary',
    (p) => p.int32(p.map.footer.vector(SLOTS.footer.dictionaries), 0),
    ID,
  );
}

export function* bodies(workshop: Workshop): Generator<HostileFile> {
  const buffer = (name: string, place: number, value: bigint) =>
    workshop.make(`a buffer ${name}`, PLAIN, (p) => p.int64(p.buffers()[1] + place, value));
  yield buffer('beyond its body', 0, 8n);
  yield buffer('at 2^40', 0, HUGE);
  yield buffer('at 2^62', 0, 2n ** 62n);
  yield buffer('at a negative place', 0, -8n);
  yield buffer('of 2^40 bytes', SECOND, HUGE);
  yield buffer('of -1 bytes', SECOND, -1n);
  yield buffer('shorter than its rows', SECOND, 95n);
  const body = (bytes: bigint) =>
    workshop.make(`a body of ${bytes} bytes`, PLAIN, (p) => {
      p.int64(p.message.root.must(SLOTS.message.bodyLength), bytes);
    });
  yield body(HUGE);
  yield body(-1n);
  yield workshop.make(
    'a validity bitmap shorter than its rows',
    'pyarrow-codes-nulls',
    (p) => p.int64(p.buffers()[2 * p.column('code')] + SECOND, 1n),
    { options: { column: 'code' } },
  );
}

export function* badMetadata(workshop: Workshop): Generator<HostileFile> {
  const noted = new Schema(
    [new Field('code', new FixedSizeBinary(1))],
    new Map([['made', 'by hand']]),
  );
  const counts: [string, string | Uint8Array, (p: Patch) => number][] = [
    ['blocks', PLAIN, (p) => p.map.footer.vector(SLOTS.footer.recordBatches)],
    [
      'dictionaries',
      'pyarrow-codes-id-dictionary',
      (p) => p.map.footer.vector(SLOTS.footer.dictionaries),
    ],
    ['fields', PLAIN, (p) => p.schemas()[0].vector(SLOTS.schema.fields)],
    [
      'notes on a schema',
      tableToIPC(new Table(noted), 'file'),
      (p) => p.schemas()[0].vector(SLOTS.schema.customMetadata),
    ],
    [
      'children',
      'pyarrow-codes-fixed-size-list',
      (p) => p.fields([0])[0].vector(SLOTS.field.children),
    ],
    ['bytes of a name', PLAIN, (p) => p.fields([0])[0].vector(SLOTS.field.name)],
    ['nodes', PLAIN, (p) => p.batch.vector(SLOTS.batch.nodes)],
    ['buffers', PLAIN, (p) => p.batch.vector(SLOTS.batch.buffers)],
    [
      'view columns',
      'pyarrow-codes-binary-view',
      (p) => p.batch.vector(SLOTS.batch.variadicBufferCounts),
    ],
  ];
  for (const [name, file, find] of counts) {
    for (const count of [2 ** 31, 2 ** 31 - 1, 2 ** 32 - 1, 100_000]) {
      yield workshop.make(`${count} ${name}`, file, (p) => p.int32(find(p), count | 0), {
        message: /points outside/,
      });
    }
  }
  for (const count of [2n ** 24n, HUGE, -1n]) {
    // The library makes an array of so many parts, whatever is there: the heap overflowed.
    yield workshop.make(
      `${count} buffers in a view column`,
      'polars-codes-newest-lz4',
      (p) => p.int64(p.batch.vector(SLOTS.batch.variadicBufferCounts) + 4, count),
      ID,
    );
  }
  for (const [name, slot] of [
    ['nodes', SLOTS.batch.nodes],
    ['buffers', SLOTS.batch.buffers],
  ] as const) {
    const change = (p: Patch) => p.int32(p.batch.vector(slot), 1);
    yield workshop.make(`fewer ${name} than columns`, 'pyarrow-codes-id-int64', change, ID);
  }
  yield workshop.make('an offset backwards', PLAIN, (p) => {
    p.int32(p.schemas()[0].must(SLOTS.schema.fields), -16);
  });
  yield workshop.make('a table that is its own child', 'pyarrow-codes-fixed-size-list', (p) => {
    const [field] = p.fields([0]);
    const child = field.vector(SLOTS.field.children) + 4;
    p.int32(child, field.at - child);
  });
  yield workshop.make('a vtable of 65,535 bytes', PLAIN, (p) => {
    p.view.setUint16(p.message.root.vtable, 0xffff, true);
  });
  yield deepLists(1000);
  yield sharedStructs(40, workshop);
}

function deepLists(depth: number): HostileFile {
  let field: Field = new Field('item', new Uint8());
  for (let level = 0; level < depth; level++) field = new Field('item', new List(field));
  const bytes = tableToIPC(new Table(new Schema([field])), 'file');
  return hostile(`lists nested ${depth} deep`, bytes, { message: /deep/ });
}

/** Each level's two children become one, so that the number of paths doubles at every level. */
function sharedStructs(depth: number, workshop: Workshop): HostileFile {
  let field: Field = new Field('leaf', new Uint8());
  for (let level = 0; level < depth; level++) {
    field = new Field('both', new Struct([field, new Field('leaf', new Uint8())]));
  }
  const file = tableToIPC(new Table(new Schema([field])), 'file');
  const share = (p: Patch) => {
    for (let path = [0]; path.length <= depth; path = [...path, 0]) {
      for (const parent of p.fields(path)) {
        const [first, second] = parent.structs(SLOTS.field.children, 4);
        p.int32(second, p.view.getInt32(first, true) - 4);
      }
    }
  };
  return workshop.make(`2^${depth} paths to one field`, file, share, { message: /deep/ });
}

export function* streams(workshop: Workshop): Generator<HostileFile> {
  const options = { column: 'code', id: 'id' };
  const sound = workshop.read('pyarrow-codes-stream-batches.arrows');
  const [schema, batch] = mapStream(sound);
  const changed = (name: string, change: (view: DataView) => void) => {
    const bytes = Uint8Array.from(sound);
    change(viewOf(bytes));
    return hostile(`stream: ${name}`, bytes, { options });
  };
  for (const length of [2 ** 31 - 1, -2, -(2 ** 31)]) {
    yield changed(`a message of ${length} bytes`, (view) => view.setInt32(4, length, true));
  }
  yield changed('a body of 2^40 bytes', (view) => {
    view.setBigInt64(batch.root.must(SLOTS.message.bodyLength), HUGE, true);
  });
  const other = (name: string, bytes: Uint8Array) => hostile(`stream: ${name}`, bytes, { options });
  yield other('no schema', sound.slice(schema.end));
  yield other('a second schema', Uint8Array.from([...sound.slice(0, schema.end), ...sound]));
  yield other('nothing but its end', Uint8Array.of(255, 255, 255, 255, 0, 0, 0, 0));
  yield other('text', new TextEncoder().encode('{"codes": [1, 2, 3]}\n'));
  yield other('a picture', Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10, 0, 0, 0, 13));

  // The guard took such a table for one slot shorter than the library did, which then went through
  // as many entries of metadata as the bytes there happened to say: 1 to 7 seconds.
  const sparse = workshop.read('pyarrow-sparse-batches.arrows');
  for (const [index, { root }] of mapStream(sparse).entries()) {
    const odd = Uint8Array.from(sparse);
    odd[root.vtable]++;
    yield hostile(`stream: a vtable of odd length in message ${index}`, odd, {
      reads: 'sparse',
      options: { indices: 'terms', values: 'weights', id: 'id' },
    });
  }
}
