import {
  chmodSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type DataType,
  Field,
  Int32,
  LargeUtf8,
  Map_,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  Utf8,
  Utf8View,
  vectorFromArray,
} from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FormatError } from '../../src/base/check';
import { Codes } from '../../src/codes/codes';
import { createRows } from '../../src/formats/create-rows';
import { type CodesWithIds, codesToArrow } from '../../src/table/from-arrow';
import { RowBatch } from '../../src/table/row-batch';
import { readCodes, readVectors, sparseFromArrow, type vectorsFromArrow } from '../reference/arrow';

const fixtures = new URL('../fixtures/arrow/', import.meta.url);
type Read = CodesWithIds | ReturnType<typeof vectorsFromArrow | typeof sparseFromArrow>;
type Reader = (path: string, options?: object) => Promise<Read>;
const readers: Record<'codes' | 'vectors' | 'sparse', Reader> = {
  codes: readCodes,
  vectors: readVectors,
  sparse: async (path, options) => {
    return sparseFromArrow(readFileSync(path), { ...options, file: path });
  },
};
const files = readdirSync(fixtures).filter((name) => /\.arrows?$/.test(name));

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'halfspace-file-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const ids = ['', 'b', '😀'];
const codes = Codes.from(Uint8Array.of(1, 2, 3, 4, 0, 0), {
  ...{ bits: 12, validity: Uint8Array.of(0b011) },
  origin: { projection: 'signs', seed: '7' },
});

/** The error of a promise that must fail. */
async function failure(
  promise: Promise<unknown>,
): Promise<Error & { code?: string; file?: string }> {
  return promise.then(
    () => {
      throw new Error('nothing failed');
    },
    (error) => error,
  );
}

async function writeCodes(path: string, code: Codes): Promise<void> {
  const output = await createRows(path, { force: true });
  await output.write(RowBatch.of({ code }));
  await output.close();
}

describe('an output', () => {
  it('replaces an existing file by another, and does not write into it', async () => {
    const path = join(folder, 'codes.arrow');
    const other = join(folder, 'hard link to the old one');
    writeFileSync(path, 'the old one');
    linkSync(path, other);
    await writeCodes(path, codes);
    expect((await readCodes(path)).codes.count).toBe(3);
    expect(readFileSync(other, 'utf8')).toBe('the old one'); // so nobody saw half of each
    expect(statSync(path).ino).not.toBe(statSync(other).ino);
    expect(readdirSync(folder).sort()).toEqual(['codes.arrow', 'hard link to the old one']);
  });

  it('leaves one whole file when it is called many times at once', async () => {
    const path = join(folder, 'codes.arrow');
    const counts = [1, 70_000, 2, 5, 140_000, 3];
    const writes = counts.map((count) => writeCodes(path, Codes.allocate(count, { bits: 8 })));
    await Promise.all(writes);
    expect(counts).toContain((await readCodes(path)).codes.count);
    expect(readdirSync(folder)).toEqual(['codes.arrow']);
  });

  it('leaves nothing behind when the target is a folder', async () => {
    const path = join(folder, 'codes.arrow');
    mkdirSync(path);
    writeFileSync(join(path, 'inside'), 'kept');
    const error = await failure(writeCodes(path, codes));
    expect(error.code).toMatch(/^E(ISDIR|EXIST|NOTEMPTY|PERM)$/);
    expect(error.message).toContain(path);
    expect(readdirSync(folder)).toEqual(['codes.arrow']);
    expect(readdirSync(path)).toEqual(['inside']);
  });

  it('says that there is no such folder, and makes none', async () => {
    const path = join(folder, 'missing', 'codes.arrow');
    const error = await failure(writeCodes(path, codes));
    expect(error.code).toBe('ENOENT');
    expect(error.message).toContain(join(folder, 'missing'));
    expect(readdirSync(folder)).toEqual([]);
  });

  // Who may do anything is not stopped by permissions.
  it.runIf(process.getuid?.() !== 0)('leaves a read-only folder as it was', async () => {
    const path = join(folder, 'codes.arrow');
    writeFileSync(path, 'the old one');
    chmodSync(folder, 0o500);
    try {
      const error = await failure(writeCodes(path, codes));
      expect(error.code).toBe('EACCES');
      expect(readFileSync(path, 'utf8')).toBe('the old one');
      expect(readdirSync(folder)).toEqual(['codes.arrow']);
    } finally {
      chmodSync(folder, 0o700);
    }
  });
});

describe('readCodes, readVectors and sparseFromArrow', () => {
  it.each(files)('read files of other programs: %s', async (name) => {
    const path = new URL(name, fixtures).pathname;
    const facts = JSON.parse(readFileSync(path.replace(/\.arrows?$/, '.json'), 'utf8'));
    const count = (facts.expect.codes ?? facts.expect.rows).length;
    const read = await readers[facts.reads as keyof typeof readers](path, facts.options);
    if ('codes' in read) {
      expect(read.codes.count).toBe(count);
    } else {
      const { vectors } = read;
      const rows =
        'offsets' in vectors
          ? vectors.offsets.length - 1
          : vectors.values.length / vectors.dimensions;
      expect(rows).toBe(count);
    }
    if (facts.expect.ids) expect(Array.from(read.ids ?? [], String)).toEqual(facts.expect.ids);
  });

  const each = Object.entries(readers);

  it.each(each)('%s: a file that is not there stays a system error', async (_, read) => {
    const path = join(folder, 'none.arrow');
    const error = await failure(read(path));
    expect(error).not.toBeInstanceOf(FormatError);
    expect(error.code).toBe('ENOENT');
    expect(error.message).toContain(path);
  });

  it.each(each)('%s: an empty file is a FormatError that names it', async (_, read) => {
    const path = join(folder, 'empty.arrow');
    writeFileSync(path, '');
    const error = await failure(read(path));
    expect(error).toBeInstanceOf(FormatError);
    expect(error.file).toBe(path);
    expect(error.message.startsWith(`${path}: `)).toBe(true);
    expect(error.message).toContain('empty');
  });

  it.each(each)('%s: a file of another kind is a FormatError that names it', async (_, read) => {
    const path = join(folder, 'text.arrow');
    for (const text of ['id,code\n1,ff\n', 'ARROW1', 'ARROW1\0\0 and no more than that', 'PAR1']) {
      writeFileSync(path, text);
      const error = await failure(read(path));
      expect(error).toBeInstanceOf(FormatError);
      expect(error.message.startsWith(`${path}: `)).toBe(true);
    }
  });

  it('say which column of our own file fails its checksum', async () => {
    const path = join(folder, 'codes.arrow');
    const bytes = codesToArrow(codes);
    bytes[bytes.findIndex((byte, at) => byte === 3 && bytes[at + 1] === 4)] ^= 1;
    writeFileSync(path, bytes);
    const error = await failure(readCodes(path));
    expect(error).toBeInstanceOf(FormatError);
    expect(error.message.startsWith(`${path}: `)).toBe(true);
    expect(error.message).toContain('column "code"');
  });

  it('follow a link', async () => {
    writeFileSync(join(folder, 'codes.arrow'), codesToArrow(codes, { ids }));
    symlinkSync('codes.arrow', join(folder, 'link.arrow'));
    expect((await readCodes(join(folder, 'link.arrow'))).ids).toEqual(ids);
  });

  it('check their options', async () => {
    const path = join(folder, 'codes.arrow');
    await writeCodes(path, codes);
    const error = await failure(readCodes(path, { columns: 'code' } as object));
    expect(error).toBeInstanceOf(TypeError);
    expect(error.message).toContain('did you mean "column"?');
    expect(await failure(readCodes(path, { column: 'x' }))).toBeInstanceOf(RangeError);
    expect(await failure(readCodes(path, { bits: 0 }))).toBeInstanceOf(RangeError);
    expect(await failure(readVectors(path))).toBeInstanceOf(RangeError);
  });
});

/** A batch of one column, a map in two rows: a and a long key, then none. */
function mapsWith(keyType: DataType): RowBatch {
  const keys = vectorFromArray(['a', 'longer than twelve bytes'], keyType as Utf8).data[0];
  const values = vectorFromArray([1, 2], new Int32()).data[0];
  const entry = new Struct([new Field('key', keyType, false), new Field('value', new Int32())]);
  const child = makeData({ type: entry, length: 2, nullCount: 0, children: [keys, values] });
  const type = new Map_(new Field('entries', entry as never, false));
  const valueOffsets = Int32Array.of(0, 2, 2);
  const map = makeData({ type, length: 2, nullCount: 0, valueOffsets, child } as never);
  const field = new Field('map', type, true);
  const rows = makeData({ type: new Struct([field]), length: 2, nullCount: 0, children: [map] });
  return RowBatch.fromArrow(new RecordBatch(new Schema([field]), rows));
}

describe('a map whose keys are texts', () => {
  it.each([new Utf8(), new LargeUtf8(), new Utf8View()])('is an object, by keys of %s', (type) => {
    expect(mapsWith(type).values('map')).toEqual([{ a: 1, 'longer than twelve bytes': 2 }, {}]);
  });
});
