import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import xxhash from 'xxhash-wasm';
import { FormatError } from '../../src/base/check';
import { type OpenRowsOptions, openRecords, openRows } from '../../src/formats/open-rows';
import type { FileStates } from '../../src/formats/web-source';

/** Files that other programs wrote, and what those programs put in. */
const fixtures = new URL('../fixtures/formats/', import.meta.url);
const expected: Record<string, { rows: object[]; types?: OpenRowsOptions['types'] }> = JSON.parse(
  readFileSync(new URL('expected.json', fixtures), 'utf8'),
);
const names = Object.keys(expected);
const NIGHTLY = { tags: 'full' } as const;

const folder = mkdtempSync(join(tmpdir(), 'halfspace-rows-'));
afterAll(() => rmSync(folder, { recursive: true }));
const path = (name: string) => join(folder, name);

/** Values as JSON has them: bytes in hexadecimal, integers as numbers. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  if (typeof value === 'bigint') return Number(value);
  return Array.isArray(value) ? value.map(plain) : value;
}

/** All rows as objects. */
async function rowsOf(
  source: string | AsyncIterable<Uint8Array>,
  options?: OpenRowsOptions,
): Promise<object[]> {
  const rows: object[] = [];
  for await (const batch of await openRows(source, options)) {
    expect(batch.firstRow).toBe(rows.length);
    const columns = batch.columns.map(({ name }) => [name, batch.values(name)] as const);
    for (let row = 0; row < batch.count; row++) {
      rows.push(Object.fromEntries(columns.map(([name, all]) => [name, plain(all[row])])));
    }
  }
  return rows;
}

async function* pieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

describe.each(names)('%s', (name) => {
  const file = new URL(name, fixtures).pathname;
  const { rows, types } = expected[name];

  it('has the rows that its writer put in', async () => {
    expect(await rowsOf(file, { types })).toEqual(rows);
  });

  it('has them in batches of any size, as a file and as a stream in pieces of any size', async () => {
    const bytes = readFileSync(file);
    for (const size of [1, 7, 64]) {
      expect(await rowsOf(file, { types, batchRows: size })).toEqual(rows);
      const reader = await openRows(file);
      const { format } = reader;
      await reader.close();
      const options = {
        types,
        format,
      } as const;
      expect(await rowsOf(pieces(bytes, 97 * size), options)).toEqual(rows);
    }
  });

  it('says how many rows it has, or null, and reads some columns only', async () => {
    const reader = await openRows(file, { types });
    const counts = { arrow: true, parquet: true, npy: true } as Record<string, boolean>;
    expect(reader.rowCount).toBe(counts[reader.format] ? rows.length : null);
    const [first] = reader.columns;
    await reader.close();
    const only = await rowsOf(file, { columns: [first.name], types: undefined });
    expect(only.map((row) => Object.keys(row))).toEqual(rows.map(() => [first.name]));
  });

  for (const cuts of [8, 40]) {
    const title = `is refused, named, wherever it is cut, or has its first rows: ${cuts} times`;
    it(title, cuts < 40 ? {} : NIGHTLY, async () => {
      const bytes = readFileSync(file);
      const cut = path(name);
      const lines = /\.(csv|tsv|jsonl)$/.test(name);
      for (let i = 0; i < cuts; i++) {
        const length = Math.floor((bytes.length * i) / cuts);
        writeFileSync(cut, bytes.subarray(0, length));
        const read: unknown = await rowsOf(cut, { types }).catch((error) => error);
        if (read instanceof Error) {
          expect(read).toBeInstanceOf(FormatError);
          expect(read.message.startsWith(`${cut}: `)).toBe(true);
          expect(read.message).not.toMatch(/undefined|DataView|out of bounds|is not a function/);
        } else {
          // Text may be cut at the end of a line, a stream between two messages.
          expect(lines || name.endsWith('.arrows')).toBe(true);
          const count = (read as object[]).length;
          const whole = lines ? count - 1 : count;
          expect((read as object[]).slice(0, whole)).toEqual(rows.slice(0, whole));
        }
      }
    });
  }
});

describe('a damaged file', () => {
  const small = names.filter((name) => /zstd|snappy|gzip|deltas|version-1|lz4\.feather/.test(name));
  const cases = small.flatMap((name) => [16, 60].map((flips) => ({ name, flips })));
  for (const { name, flips } of cases) {
    const title = `ends in rows or in an error that names it, ${flips} bytes changed: ${name}`;
    it(title, flips < 60 ? {} : NIGHTLY, async () => {
      const bytes = readFileSync(new URL(name, fixtures));
      const damaged = path(`damaged-${name}`);
      for (let i = 0; i < flips; i++) {
        const at = Math.floor((bytes.length * i) / flips);
        const copy = Uint8Array.from(bytes);
        copy[at] ^= 0xff;
        writeFileSync(damaged, copy);
        const read: unknown = await rowsOf(damaged).catch((error) => error);
        if (read instanceof Error) {
          expect([name, at, read.constructor.name]).toEqual([name, at, 'FormatError']);
          expect((read as FormatError).file).toBe(damaged);
        }
      }
      expect(bytes.length).toBeGreaterThan(60);
    });
  }
});

describe('what cannot be opened', () => {
  const failure = async (source: string, options?: OpenRowsOptions) =>
    rowsOf(source, options).then(
      () => new Error('nothing failed'),
      (error: Error) => error,
    );

  it('is reported by the system where there is no file', async () => {
    const error = await failure(path('none.csv'));
    expect(error).toMatchObject({ code: 'ENOENT' });
    expect(error.message).toContain(path('none.csv'));
  });

  it.each(['a.csv', 'a.jsonl', 'a.npy', 'a.parquet', 'a.arrow', 'a.txt', 'a'])(
    'is an empty file: %s',
    async (name) => {
      writeFileSync(path(name), '');
      const error = await failure(path(name));
      expect(error).toBeInstanceOf(FormatError);
      expect(error.message).toMatch(/: empty/);
    },
  );

  it('is a folder where a file is needed, and a folder without files', async () => {
    mkdirSync(path('nothing'));
    expect((await failure(path('nothing'), { format: 'csv' })).message).toContain('a folder');
    expect((await failure(path('nothing'))).message).toContain('a folder without files');
  });

  it('is of no known format, or one that is only written', async () => {
    writeFileSync(path('blob.bin'), 'GIF89a');
    expect((await failure(path('blob.bin'))).message).toContain('say which with format');
    writeFileSync(path('rows.json'), '[{"a":1}]');
    expect((await failure(path('rows.json'))).message).toContain('a JSON object a line');
  });

  it('is a column that is not there: those that are, and the nearest', async () => {
    writeFileSync(path('wide.csv'), 'id,body,title\n1,a,b\n');
    const error = await failure(path('wide.csv'), { columns: ['boddy'] });
    expect(error).toBeInstanceOf(RangeError);
    expect(error.message).toBe(
      'no column "boddy", there are "id", "body", "title"; did you mean "body"?',
    );
  });

  it('is a .npy of the other order of bytes or axes: it says how to save it', async () => {
    for (const name of ['refused-big-endian.npy', 'refused-fortran.npy']) {
      const error = await failure(new URL(name, fixtures).pathname);
      expect(error).toBeInstanceOf(FormatError);
      expect(error.message).toContain("no .npy file of vectors, {'descr'");
      expect(error.message).toContain("save by numpy.ascontiguousarray(array).astype('<f4')");
    }
  });

  it('is an option that is unknown or wrong', async () => {
    writeFileSync(path('one.csv'), 'a\n1\n');
    await expect(openRows(path('one.csv'), { colums: ['a'] } as object)).rejects.toThrow('columns');
    await expect(openRows(path('one.csv'), { batchRows: 0 })).rejects.toThrow(RangeError);
    await expect(openRows(5 as never)).rejects.toThrow(TypeError);
  });

  it('is a reader whose rows were read before', async () => {
    writeFileSync(path('one.csv'), 'a\n1\n');
    const reader = await openRows(path('one.csv'));
    for await (const batch of reader) expect(batch.count).toBe(1);
    await expect(reader[Symbol.asyncIterator]().next()).rejects.toThrow('read already');
  });
});

describe('texts', () => {
  it('are a document a line, also an empty one, without the end marks', async () => {
    writeFileSync(path('lines.txt'), '\ufeffone\r\n\ntwo  \nkäse');
    expect(await rowsOf(path('lines.txt'))).toEqual(
      ['one', '', 'two  ', 'käse'].map((text) => ({ text })),
    );
  });

  it('are a file each of a folder, in order, hidden ones left out', async () => {
    const root = path('texts');
    mkdirSync(join(root, 'b', '.hidden'), { recursive: true });
    for (const [name, text] of [
      ['z.txt', 'last'],
      ['b/two.md', 'line\nline\n'],
      ['b/.hidden/x', 'no'],
      ['.also', 'no'],
      ['a', ''],
    ]) {
      writeFileSync(join(root, name), text);
    }
    expect(await rowsOf(root)).toEqual([
      { file: 'a', text: '' },
      { file: 'b/two.md', text: 'line\nline\n' },
      { file: 'z.txt', text: 'last' },
    ]);
  });

  it('must be UTF-8: the line that is not is named', async () => {
    writeFileSync(path('latin.txt'), Buffer.from('abc\nk\xe4se\n', 'latin1'));
    await expect(rowsOf(path('latin.txt'))).rejects.toThrow('line 2: not UTF-8 text');
  });
});

describe('names that every object has', () => {
  const NAMES = ['constructor', 'toString', '__proto__', 'hasOwnProperty'];

  it('may be those of columns: 0.1 failed with "undefined is not iterable"', async () => {
    writeFileSync(path('names.csv'), `${NAMES.join()}\n1,a,2.5,x\n1,b,3,y\n`);
    const line = NAMES.map((name, i) => `${JSON.stringify(name)}:${i}`).join();
    writeFileSync(path('names.jsonl'), `{${line}}\n{${line}}\n`);
    const types = Object.fromEntries([['toString', 'text' as const]]);
    for (const name of ['names.csv', 'names.jsonl']) {
      const reader = await openRows(path(name));
      expect(reader.columns.map((column) => column.name)).toEqual(NAMES);
      for await (const batch of reader) expect(batch.count).toBe(2);
      const one = await openRows(path(name), {
        columns: ['__proto__'],
        types,
      });
      for await (const batch of one) expect(batch.columns).toHaveLength(1);
    }
  });

  it('are no type of .npy elements', async () => {
    const header = "{'descr': '<constructor', 'fortran_order': False, 'shape': (1, 1), }\n";
    const size = Uint8Array.of(header.length, 0);
    const magic = Buffer.from('\x93NUMPY\x01\x00', 'latin1');
    writeFileSync(path('bad.npy'), Buffer.concat([magic, size, Buffer.from(header), size]));
    await expect(rowsOf(path('bad.npy'))).rejects.toThrow("vectors, {'descr': '<constructor'");
  });
});

it('texts are never taken for integers: 0.1 read "\\u0000int:5" as 5', async () => {
  const nested = '{"a":["\\u0000int:5","\\u0000\\u00007"],"n":12345678901234567890}';
  writeFileSync(path('nul.jsonl'), `{"t":"\\u0000int:5","n":9007199254740993,"o":${nested}}\n`);
  for await (const batch of await openRows(path('nul.jsonl'))) {
    expect(batch.values('t')).toEqual(['\0int:5']);
    expect(batch.values('n')).toEqual([9007199254740993n]);
    expect(batch.values('o')).toEqual([nested]);
  }
});

it.each([
  ['after an empty line', '\nid;text\n1;"tea, black"\n'],
  ['in names of several lines', '"id";"a\n,b, c"\n1;tea\n'],
])('the delimiter of CSV is that of its first line with cells: %s', async (_, text) => {
  writeFileSync(path('first.csv'), text);
  const reader = await openRows(path('first.csv'));
  await reader.close();
  expect([reader.columns.length, reader.columns[0].name]).toEqual([2, 'id']);
});

describe('a file that was read before', () => {
  const lines = Array.from({ length: 90_000 }, (_, i) => `{"id":${i},"text":"${i * i}"}\n`);
  const read = async (name: string, states: FileStates) => {
    const reader = await openRecords(path(name), {}, { states });
    for await (const batch of reader) expect(batch.count).toBeGreaterThan(0);
  };

  it.each(['plain.jsonl', 'packed.jsonl.gz'])('has its checksum noted: %s', async (name) => {
    const { create64 } = await xxhash();
    const bytes = Buffer.from(lines.join(''));
    writeFileSync(path(name), name.endsWith('.gz') ? gzipSync(bytes, { level: 0 }) : bytes);
    const states: FileStates = new Map();
    await read(name, states);
    let sum = 0n;
    const written = readFileSync(path(name));
    expect(written.length).toBeGreaterThan(2 ** 21);
    for (let at = 0; at < written.length; at += 2 ** 20) {
      sum = create64(sum)
        .update(written.subarray(at, at + 2 ** 20))
        .digest();
    }
    expect(states.get(path(name))?.checksum).toBe(sum.toString(16).padStart(16, '0'));
  });

  it('is an error where it has changed', async () => {
    const states: FileStates = new Map();
    writeFileSync(path('grows.jsonl'), lines.slice(0, 9).join(''));
    await read('grows.jsonl', states);
    await read('grows.jsonl', states);
    writeFileSync(path('grows.jsonl'), lines.slice(0, 10).join(''));
    await expect(read('grows.jsonl', states)).rejects.toThrow(/grows.jsonl: changed while it was/);
  });
});
