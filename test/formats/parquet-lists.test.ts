import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { ByteWriter, ParquetWriter, parquetWriteBuffer } from 'hyparquet-writer';
import { afterAll, expect, it } from 'vitest';
import { openRows } from '../../src/node';

/** Lists that go on in the next page, which pyarrow never writes: files made by hand. */

type SchemaElement = ConstructorParameters<typeof ParquetWriter>[0]['schema'][number];

const folder = mkdtempSync(join(tmpdir(), 'halfspace-lists-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Thrift's compact protocol, as far as a file needs it. */
type Field = number | bigint | string | Fields | readonly (Fields | string | number)[];
interface Fields {
  readonly [id: number]: Field;
}
const varint = (value: number): number[] =>
  value < 128 ? [value] : [(value & 127) | 128, ...varint(value >>> 7)];
const zigzag = (value: number) => varint(value < 0 ? -2 * value - 1 : 2 * value);
const bytesOf = (value: string) => [...varint(value.length), ...Buffer.from(value)];
const kindOf = (value: Field) =>
  ({ number: 5, bigint: 6, string: 8 })[typeof value as 'number'] ??
  (Array.isArray(value) ? 9 : 12);
function encode(value: Field): number[] {
  if (typeof value === 'number') return zigzag(value);
  if (typeof value === 'bigint') return zigzag(Number(value));
  if (typeof value === 'string') return bytesOf(value);
  if (Array.isArray(value)) {
    return [value.length * 16 + kindOf(value[0]), ...value.flatMap((item) => encode(item))];
  }
  let before = 0;
  const fields = Object.entries(value as Fields).flatMap(([id, own]) => {
    const head = (Number(id) - before) * 16 + kindOf(own);
    before = Number(id);
    return [head, ...encode(own)];
  });
  return [...fields, 0];
}

/** Definition levels: of a value, a null item, a list without items, a null list. */
const [VALUE, NULL_ITEM, EMPTY, NULL] = [3, 2, 1, 0];
type Level = readonly [begins: 0 | 1, depth: number];
type Pack = (levels: readonly number[]) => number[];

/** Levels as runs of one value each: twice the length, then the value. */
const runs: Pack = (levels) => levels.flatMap((level) => [2, level]);
/** Up to eight levels of one bit each, as a packed run of one group. */
const packed: Pack = (levels) => [3, levels.reduce((byte, level, i) => byte | (level << i), 0)];

function page(levels: readonly Level[], values: readonly number[], pack: Pack): number[] {
  const section = (bytes: number[]) => [bytes.length, 0, 0, 0, ...bytes];
  const content = [
    ...section(pack(levels.map(([begins]) => begins))),
    ...section(runs(levels.map(([, depth]) => depth))),
    ...Buffer.from(Float32Array.from(values).buffer),
  ];
  const size = content.length;
  const header = { 1: 0, 2: size, 3: size, 5: { 1: levels.length, 2: 0, 3: 3, 4: 3 } };
  return [...encode(header), ...content];
}

/** The rows of a file with one column of lists of floats, in these pages. */
async function listsOf(pages: readonly number[][], levels: number, rows: number): Promise<unknown> {
  const path = ['v', 'list', 'element'];
  const chunk = {
    ...{ 1: 4, 2: [0], 3: path, 4: 0, 5: BigInt(levels), 6: 0n },
    ...{ 7: BigInt(pages.flat().length), 9: 4n },
  };
  const footer = encode({
    1: 1,
    2: [
      { 4: 'root', 5: 1 },
      { 3: 1, 4: 'v', 5: 1, 6: 3 },
      { 3: 2, 4: 'list', 5: 1 },
      { 1: 4, 3: 1, 4: 'element' },
    ],
    3: BigInt(rows),
    4: [{ 1: [{ 2: 4n, 3: chunk }], 2: 0n, 3: BigInt(rows) }],
  });
  const length = Buffer.alloc(4);
  length.writeUInt32LE(footer.length);
  const file = join(folder, 'lists.parquet');
  const magic = Buffer.from('PAR1');
  writeFileSync(
    file,
    Buffer.concat([magic, Buffer.from([...pages.flat(), ...footer]), length, magic]),
  );
  const found: unknown[] = [];
  for await (const batch of await openRows(file)) found.push(...batch.values('v'));
  return found;
}

it.each([runs, packed])('a list with a null goes on in pages of values alone', async (pack) => {
  const of = (...levels: Level[]) => levels;
  const pages = [
    page(of([0, VALUE], [0, NULL_ITEM], [1, VALUE]), [1, 2], pack),
    page(of([1, VALUE], [1, VALUE]), [3, 4], pack),
    page(of([1, VALUE], [0, VALUE], [1, VALUE]), [5, 6, 7], pack),
    page(of([1, NULL_ITEM], [0, EMPTY], [0, NULL], [0, VALUE]), [8], pack),
  ];
  const lists = [[1], [null, 2, 3, 4, 5], [6, 7, null], [], null, [8]];
  expect(await listsOf(pages, 12, 6)).toEqual(lists);
  await expect(listsOf(pages, 12, 5)).rejects.toThrow('column "v" has 6 rows, not 5');
});

it.each([runs, packed])('an item outside of a list is refused', async (pack) => {
  const first = page([[1, VALUE]], [1], pack);
  await expect(listsOf([first], 1, 1)).rejects.toThrow('an item outside of a list');
  for (const depth of [NULL, EMPTY]) {
    const pages = [page([[0, depth]], [], pack), page([[1, VALUE]], [1], pack)];
    await expect(listsOf(pages, 2, 1)).rejects.toThrow('an item outside of a list');
  }
});

it.each(['GZIP', 'BROTLI'] as const)(
  'numbers are those of a page that %s has packed',
  async (codec) => {
    const floats = Array.from({ length: 300 }, (_, i) => Math.fround(Math.sin(i)));
    const doubles = floats.map((value) => value / 3);
    const written = parquetWriteBuffer({
      columnData: [
        { name: 'float', data: floats, type: 'FLOAT' },
        { name: 'double', data: doubles, type: 'DOUBLE' },
      ],
      codec,
      compressors: { GZIP: (page) => gzipSync(page), BROTLI: (page) => brotliCompressSync(page) },
      pageSize: 256,
    });
    const file = join(folder, `${codec}.parquet`);
    writeFileSync(file, Buffer.from(written));
    const found: unknown[][] = [[], []];
    for await (const batch of await openRows(file)) {
      found[0].push(...batch.values('float'));
      found[1].push(...batch.values('double'));
    }
    expect(found).toEqual([floats, doubles]);
  },
);

/** A file of nested columns: sparse rows, messages, and lists of lists. */
function nestedFile(): string {
  const list = (name: string, elements: SchemaElement[]): SchemaElement[] => [
    { name, repetition_type: 'OPTIONAL', num_children: 1, converted_type: 'LIST' },
    { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
    ...elements,
  ];
  const writer = new ByteWriter();
  const output = new ParquetWriter({
    writer,
    schema: [
      { name: 'root', num_children: 3 },
      { name: 'weights', repetition_type: 'OPTIONAL', num_children: 2 },
      ...list('at', [{ name: 'element', repetition_type: 'OPTIONAL', type: 'INT32' }]),
      ...list('value', [{ name: 'element', repetition_type: 'OPTIONAL', type: 'FLOAT' }]),
      ...list('messages', [
        { name: 'element', repetition_type: 'OPTIONAL', num_children: 2 },
        { name: 'role', repetition_type: 'OPTIONAL', type: 'BYTE_ARRAY', converted_type: 'UTF8' },
        { name: 'size', repetition_type: 'OPTIONAL', type: 'DOUBLE' },
      ]),
      ...list(
        'deep',
        list('element', [{ name: 'element', repetition_type: 'OPTIONAL', type: 'INT32' }]),
      ),
    ],
  });
  const messages = [
    { role: 'user', size: 1 },
    { role: 'bot', size: null },
  ];
  output.write({
    columnData: [
      { name: 'weights', data: [{ at: [3, 8], value: [1, 0.5] }, null, { at: [], value: [] }] },
      { name: 'messages', data: [messages, [], null] },
      { name: 'deep', data: [[[1], [2, 3]], [], [[4]]] },
    ],
  });
  output.finish();
  const file = join(folder, 'nested.parquet');
  writeFileSync(file, writer.getBytes());
  return file;
}

it('a value within a struct is a column, and one within a list of structs a list', async () => {
  const file = nestedFile();
  const names = ['weights.at', 'weights.value', 'messages.role', 'messages.size'];
  const reader = await openRows(file);
  expect(reader.columns.map(({ name }) => name)).toEqual([...names, 'deep']);
  await reader.close();
  for await (const batch of await openRows(file, { columns: names })) {
    expect(batch.values('messages.role')).toEqual([['user', 'bot'], [], null]);
    expect(batch.values('messages.size')).toEqual([[1, null], [], null]);
    const sparse = batch.sparse('weights.at', 'weights.value');
    expect(Array.from(sparse.indices)).toEqual([3, 8]);
    expect(Array.from(sparse.values)).toEqual([1, 0.5]);
    expect(sparse.validity).toEqual(Uint8Array.of(0b101));
  }
  const all = openRows(file).then(async (rows) => {
    for await (const batch of rows) batch.values('deep');
  });
  await expect(all).rejects.toThrow('nested.parquet: column "deep" has lists within lists');
});
