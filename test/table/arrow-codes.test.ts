import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  Binary,
  type DataType,
  Field,
  FixedSizeBinary,
  FixedSizeList,
  Int32,
  makeVector,
  Table,
  tableFromArrays,
  tableFromIPC,
  tableToIPC,
  Uint8,
  Uint64,
  Utf8,
  type Vector,
  vectorFromArray,
} from 'apache-arrow';
import fc from 'fast-check';
import seedrandom from 'seedrandom';
import { describe, expect, it } from 'vitest';
import { FormatError, type Ids } from '../../src/base/check';
import { Codes } from '../../src/codes/codes';
import {
  type CodesFromArrowOptions,
  codesFromArrow,
  codesToArrow,
} from '../../src/table/from-arrow';
import { runInChild } from './in-child';
import type { MemoryReport } from './memory.child';

const SEED = 20_261_121;
const BATCH_ROWS = 65_536;

interface Recipe {
  bits: number;
  count: number;
  seed: string;
  nullShare?: number;
  origin?: { projection: string; seed: string; dimensions?: number };
}

/** Random codes, the same ones for the same recipe. */
function makeCodes({ bits, count, seed, nullShare = 0, origin }: Recipe): Codes {
  const random = seedrandom.alea(seed);
  const width = Math.ceil(bits / 8);
  const bytes = Uint8Array.from({ length: count * width }, () => random.int32() & 255);
  const mask = 0xff >> (8 * width - bits);
  for (let at = width - 1; at < bytes.length; at += width) bytes[at] &= mask;
  const validity = new Uint8Array(Math.ceil(count / 8));
  for (let row = 0; row < count; row++) {
    if (random() >= nullShare) validity[row >> 3] |= 1 << (row & 7);
  }
  return Codes.from(bytes, {
    bits,
    ...(nullShare > 0 && { validity }),
    ...(origin && { origin }),
  });
}

function expectEqualCodes(actual: Codes, expected: Codes): void {
  expect(actual.bits).toBe(expected.bits);
  expect(actual.count).toBe(expected.count);
  expect(actual.origin).toEqual(expected.origin);
  expect(Buffer.compare(actual.bytes, expected.bytes)).toBe(0);
  let firstOther = -1;
  for (let row = 0; row < expected.count && firstOther < 0; row++) {
    if (actual.isNull(row) !== expected.isNull(row)) firstOther = row;
  }
  expect(firstOther).toBe(-1);
}

const KINDS = {
  none: () => undefined,
  strings: (count: number) => Array.from({ length: count }, (_, row) => `doc-${row}`),
  'odd strings': (count: number) => {
    const odd = ['', 'é', '漢字', '😀', '\u{10ffff}', '\0', 'a'.repeat(300), '"\n'];
    return Array.from({ length: count }, (_, row) => odd[row % odd.length]);
  },
  'small numbers': (count: number) => Array.from({ length: count }, (_, row) => row - 7),
  'numbers beyond 2^31': (count: number) => {
    return Array.from(
      { length: count },
      (_, row) => [2 ** 31, -(2 ** 53) + 1, 2 ** 53 - 1][row % 3],
    );
  },
  Int32Array: (count: number) => Int32Array.from({ length: count }, (_, row) => -(2 ** 31) + row),
  Uint32Array: (count: number) =>
    Uint32Array.from({ length: count }, (_, row) => 2 ** 32 - 1 - row),
  BigInt64Array: (count: number) => {
    return BigInt64Array.from({ length: count }, (_, row) => -(2n ** 63n) + BigInt(row));
  },
  BigUint64Array: (count: number) => {
    return BigUint64Array.from({ length: count }, (_, row) => 2n ** 64n - 1n - BigInt(row));
  },
} satisfies Record<string, (count: number) => Ids | readonly number[] | undefined>;
type Kind = keyof typeof KINDS;
const kinds = Object.keys(KINDS) as Kind[];

/** Typed arrays and strings keep their type, plain numbers become the narrowest of two. */
function expectEqualIds(actual: Ids | null, expected: Ids | readonly number[] | undefined): void {
  if (expected === undefined) {
    expect(actual).toBeNull();
    return;
  }
  const isPlain = Array.isArray(expected) && typeof expected[0] === 'number';
  const isNarrow = isPlain && expected.every((id) => id === (id | 0));
  const kind = isPlain ? (isNarrow ? Int32Array : BigInt64Array) : expected.constructor;
  expect(actual?.constructor).toBe(kind);
  expect(actual?.length).toBe(expected.length);
  // Compared without `toEqual`, which takes a second for 200,000.
  const same = (row: number) => (isPlain ? Number(actual?.[row]) : actual?.[row]) === expected[row];
  const rows = Array.from({ length: expected.length }, (_, row) => row);
  expect(rows.find((row) => !same(row))).toBeUndefined();
}

function idsOption(kind: Kind, count: number) {
  const ids = KINDS[kind](count);
  return { ids, options: ids === undefined ? {} : { ids } };
}

describe('codes through Arrow', () => {
  it('come back as they were: every width, with nulls, ids and origin', () => {
    const origins = fc.option(
      fc.record(
        {
          projection: fc.constantFrom('signs', 'gaussian', 'hadamard', 'direct'),
          seed: fc.bigInt(0n, 2n ** 64n - 1n).map(String),
          dimensions: fc.integer({ min: 1, max: 2 ** 53 - 1 }),
        },
        { requiredKeys: ['projection', 'seed'] },
      ),
      { nil: undefined },
    );
    const recipes = fc.record({
      bits: fc.integer({ min: 1, max: 200 }),
      count: fc.integer({ min: 0, max: 40 }),
      seed: fc.string(),
      nullShare: fc.constantFrom(0, 0, 0.3, 1),
      origin: origins,
      kind: fc.constantFrom(...kinds),
    });
    const property = fc.property(recipes, ({ kind, origin, ...recipe }) => {
      const codes = makeCodes({ ...recipe, ...(origin && { origin }) });
      const { ids, options } = idsOption(kind, recipe.count);
      const bytes = codesToArrow(codes, options);
      const read = codesFromArrow(bytes);
      expectEqualCodes(read.codes, codes);
      if (recipe.count > 0) expectEqualIds(read.ids, ids);
      const table = codesFromArrow(codesToTable(codes, options));
      expectEqualCodes(table.codes, codes);
      if (recipe.count > 0) expectEqualIds(table.ids, ids);
      const stream = codesFromArrow(tableToIPC(codesToTable(codes, options), 'stream'));
      expectEqualCodes(stream.codes, codes);
    });
    fc.assert(property, { seed: SEED, numRuns: 120 });
  });

  it('keep strings of any characters as ids', () => {
    const property = fc.property(fc.array(fc.string({ unit: 'binary' })), (ids) => {
      const codes = makeCodes({ bits: 9, count: ids.length, seed: 'strings' });
      const read = codesFromArrow(codesToArrow(codes, { ids }));
      expect(read.ids).toEqual(ids);
    });
    fc.assert(property, { seed: SEED, numRuns: 40 });
  });

  it('keep a byte order mark at the start of an id', () => {
    // By default a text decoder drops it, and "\ufeffa" and "a" become one id.
    const codes = makeCodes({ bits: 8, count: 3, seed: 'mark' });
    const ids = ['\ufeffa', 'a', '\ufeff'];
    expect(codesFromArrow(codesToArrow(codes, { ids })).ids).toEqual(ids);
  });

  it('refuse an id that UTF-8 cannot hold: half of a surrogate pair', () => {
    // It would be written as U+FFFD, and two different ids come back as one.
    const codes = makeCodes({ bits: 8, count: 3, seed: 'lone' });
    const write = () => codesToArrow(codes, { ids: ['a', '\ud83d', '\ude00'] });
    expect(write).toThrow(/"ids"\[1\]/);
  });

  it.each([0, 1, 2, 9])('hold %i codes of 65,535 bits', (count) => {
    const codes = makeCodes({
      bits: 65_535,
      count,
      seed: 'wide',
      nullShare: count === 9 ? 0.5 : 0,
    });
    const bytes = codesToArrow(codes);
    expectEqualCodes(codesFromArrow(bytes).codes, codes);
  });

  it.each(
    [0, 1, 2, BATCH_ROWS, 2 * BATCH_ROWS + 1].flatMap((count) =>
      (['none', 'strings', 'numbers beyond 2^31', 'BigUint64Array'] as const).map(
        (kind) => [count, kind] as const,
      ),
    ),
  )('hold %i rows with ids: %s', (count, kind) => {
    const codes = makeCodes({ bits: 20, count, seed: 'many', nullShare: 0.01 });
    const { ids, options } = idsOption(kind, count);
    const read = codesFromArrow(codesToArrow(codes, options));
    expectEqualCodes(read.codes, codes);
    if (count > 0) expectEqualIds(read.ids, ids);
  });

  it('may be null in some batches only', () => {
    const codes = makeCodes({ bits: 8, count: 2 * BATCH_ROWS + 3, seed: 'some', nullShare: 1e-5 });
    expect(codes.validity).not.toBeNull();
    expectEqualCodes(codesFromArrow(codesToArrow(codes)).codes, codes);
  });

  it('open in the Arrow library as a plain table', () => {
    const origin = { projection: 'hadamard', seed: '18446744073709551615', dimensions: 384 };
    const count = BATCH_ROWS + 10;
    const codes = makeCodes({ bits: 20, count, seed: 'plain', nullShare: 0.1, origin });
    const ids = KINDS.strings(count);
    const table = tableFromIPC(codesToArrow(codes, { ids }));
    expect(table.numRows).toBe(count);
    expect(table.batches.map((batch) => batch.numRows)).toEqual([BATCH_ROWS, 10]);
    expect(table.schema.fields.map(({ name, type }) => [name, String(type)])).toEqual([
      ['id', 'Utf8'],
      ['code', 'FixedSizeBinary[3]'],
    ]);
    expect(table.schema.fields.map(({ nullable }) => nullable)).toEqual([false, true]);
    expect([...table.schema.metadata.keys()]).toEqual(['halfspace']);
    const header = JSON.parse(table.schema.metadata.get('halfspace') ?? '');
    expect(header).toEqual({ version: 1, bits: 20, ...origin });
    for (const row of [0, 1, 1000, BATCH_ROWS - 1, BATCH_ROWS, count - 1]) {
      expect(table.getChild('id')?.get(row)).toBe(ids[row]);
      const code = table.getChild('code')?.get(row);
      expect(code).toEqual(codes.isNull(row) ? null : codes.at(row));
    }
  });

  it.each([
    ['strings', 'Utf8'],
    ['small numbers', 'Int32'],
    ['numbers beyond 2^31', 'Int64'],
    ['Int32Array', 'Int32'],
    ['Uint32Array', 'Uint32'],
    ['BigInt64Array', 'Int64'],
    ['BigUint64Array', 'Uint64'],
  ] as const)('write ids of kind %s as %s', (kind, type) => {
    const codes = makeCodes({ bits: 8, count: 3, seed: 'types' });
    const { schema } = tableFromIPC(codesToArrow(codes, idsOption(kind, 3).options));
    expect(schema.fields.map((field) => `${field.name} ${field.type}`)).toEqual([
      `id ${type}`,
      'code FixedSizeBinary[1]',
    ]);
    expect(schema.fields[1].nullable).toBe(false);
  });

  it('say of each batch where it lies among the rows, and which is the last', () => {
    const { batches } = codesToTable(makeCodes({ bits: 8, count: BATCH_ROWS + 1, seed: 'seals' }));
    const seals = batches.map((batch) => JSON.parse(batch.metadata.get('halfspace') ?? ''));
    expect(seals[0]).toMatchObject({ row: 0, rows: BATCH_ROWS, end: false });
    expect(seals[1]).toMatchObject({ row: BATCH_ROWS, rows: 1, end: true });
  });

  it('are written the same every time', () => {
    const codes = makeCodes({ bits: 33, count: 50, seed: 'same', nullShare: 0.2 });
    const options = { ids: KINDS.strings(50) };
    expect(codesToArrow(codes, options)).toEqual(codesToArrow(codes, options));
  });

  it('leave their inputs as they were', () => {
    const codes = makeCodes({ bits: 20, count: 30, seed: 'inputs', nullShare: 0.2 });
    const before = [codes.bytes.slice(), codes.validity?.slice()];
    const ids = BigInt64Array.from({ length: 30 }, (_, row) => BigInt(row));
    const bytes = codesToArrow(codes, { ids });
    expect([codes.bytes, codes.validity]).toEqual(before);
    expect(ids).toEqual(BigInt64Array.from({ length: 30 }, (_, row) => BigInt(row)));
    const file = bytes.slice();
    const read = codesFromArrow(bytes);
    read.codes.bytes.fill(255);
    (read.ids as BigInt64Array).fill(9n);
    expect(bytes).toEqual(file);
    const table = codesToTable(codes, { ids });
    const fromTable = codesFromArrow(table);
    fromTable.codes.bytes.fill(255);
    (fromTable.ids as BigInt64Array).fill(9n);
    expect([codes.bytes, codes.validity]).toEqual(before);
    expect(ids[3]).toBe(3n);
  });

  it('can be read from other machines’ order: bitOrder turns a file of another maker around', () => {
    const table = tableOf({ code: fixedBinary([[0b1100_0000], [0b0000_0001]]) });
    expect([...codesFromArrow(table).codes.bytes]).toEqual([0b1100_0000, 1]);
    const read = codesFromArrow(table, { bits: 8, bitOrder: 'msb' });
    expect([...read.codes.bytes]).toEqual([0b0000_0011, 0b1000_0000]);
  });
});

/** A table of one batch from columns, as they are. */
function tableOf(columns: Record<string, Vector>): Table {
  return new Table(columns);
}

function fixedBinary(rows: (readonly number[] | null)[], width = rows[0]?.length ?? 1): Vector {
  return vectorFromArray(
    rows.map((row) => row && Uint8Array.from(row)),
    new FixedSizeBinary(width),
  );
}

function binary(rows: (readonly number[] | null)[]): Vector {
  return vectorFromArray(
    rows.map((row) => row && Uint8Array.from(row)),
    new Binary(),
  );
}

/** The table in batches of the given rows. */
function rebatch(table: Table, ...cuts: number[]): Table {
  const batches = cuts.flatMap((cut, i) => table.slice(cut, cuts[i + 1]).batches);
  return new Table(table.schema, batches);
}

describe('where codes come from', () => {
  const codes = makeCodes({ bits: 20, count: 40, seed: 'sources', nullShare: 0.2 });
  const ids = KINDS['odd strings'](40);
  const bytes = codesToArrow(codes, { ids });

  it('may be any bytes: a Buffer, an ArrayBuffer, a view at any offset, shared memory', () => {
    const shared = new Uint8Array(new SharedArrayBuffer(bytes.length));
    shared.set(bytes);
    const sources = [Buffer.from(bytes), bytes.slice().buffer, shared];
    for (let offset = 0; offset < 9; offset++) {
      const larger = new Uint8Array(bytes.length + 20).fill(0xaa);
      larger.set(bytes, offset);
      sources.push(larger.subarray(offset, offset + bytes.length) as never);
    }
    for (const source of sources) {
      const read = codesFromArrow(source as Uint8Array);
      expectEqualCodes(read.codes, codes);
      expect(read.ids).toEqual(ids);
    }
  });

  it('may be a table that was read, or its slice, from our own file', () => {
    for (const table of [tableFromIPC(bytes)]) {
      expectEqualCodes(codesFromArrow(table).codes, codes);
      const read = codesFromArrow(table.slice(3, 21));
      expect(read.codes).toMatchObject({ count: 18, bits: 20 });
      for (let row = 0; row < 18; row++) {
        expect(read.codes.isNull(row)).toBe(codes.isNull(row + 3));
        expect(read.codes.at(row)).toEqual(codes.at(row + 3));
      }
      expect(read.ids).toEqual(ids.slice(3, 21));
    }
  });

  it('may be a slice over several batches', () => {
    const many = makeCodes({ bits: 12, count: BATCH_ROWS + 100, seed: 'slice', nullShare: 0.1 });
    const rows = Int32Array.from({ length: many.count }, (_, row) => row);
    const table = codesToTable(many, { ids: rows }).slice(BATCH_ROWS - 13, BATCH_ROWS + 29);
    const read = codesFromArrow(table);
    expect(read.ids).toEqual(rows.slice(BATCH_ROWS - 13, BATCH_ROWS + 29));
    for (let row = 0; row < 42; row++) {
      expect(read.codes.at(row)).toEqual(many.at(row + BATCH_ROWS - 13));
      expect(read.codes.isNull(row)).toBe(many.isNull(row + BATCH_ROWS - 13));
    }
  });

  it.each([
    ['FixedSizeBinary', fixedBinary],
    ['Binary', binary],
    [
      'FixedSizeList<uint8>',
      (rows: (readonly number[] | null)[]) =>
        vectorFromArray(rows, new FixedSizeList(2, new Field('item', new Uint8()))),
    ],
  ])('may be a sliced table of another maker, in batches: %s', (_, column) => {
    const rows = Array.from({ length: 30 }, (_, row) =>
      row % 7 === 3 ? null : [row, (row * 83) & 255],
    );
    const whole = tableOf({
      name: vectorFromArray(rows.map(String), new Utf8()),
      code: column(rows),
    });
    for (const table of [whole, rebatch(whole, 0, 9, 9, 24), rebatch(whole, 5, 6)]) {
      const first = table === whole || table.batches.length > 2 ? 0 : 5;
      for (const [start, end] of [
        [0, 25],
        [1, 2],
        [7, 23],
      ]) {
        const read = codesFromArrow(table.slice(start, end), { id: 'name' });
        expect(read.codes.count).toBe(end - start);
        for (let row = start; row < end; row++) {
          const expected = rows[row + first];
          expect(read.codes.isNull(row - start)).toBe(expected === null);
          expect([...read.codes.at(row - start)]).toEqual(expected ?? [0, 0]);
          expect(read.ids?.[row - start]).toBe(String(rows[row + first]));
        }
      }
    }
  });

  it('may be a table of another copy of the Arrow library', () => {
    // `import` and `require` give two copies of it, with classes of their own, in one process.
    const other: typeof import('apache-arrow') = createRequire(import.meta.url)('apache-arrow');
    expect(other.Table).not.toBe(Table);
    const table = other.tableFromIPC(bytes);
    expect(table.constructor).not.toBe(Table);
    const read = codesFromArrow(table as unknown as Table);
    expectEqualCodes(read.codes, codes);
    expect(read.ids).toEqual(ids);
    for (const type of [new other.FixedSizeBinary(2), new other.Binary()]) {
      const rows = [Uint8Array.of(1, 2), null, Uint8Array.of(3, 4)];
      const foreign = new other.Table({ code: other.vectorFromArray(rows, type as DataType) });
      expect([...codesFromArrow(foreign as unknown as Table).codes.bytes]).toEqual([
        1, 2, 0, 0, 3, 4,
      ]);
    }
    expect(other.tableFromIPC(codesToArrow(codes, { ids })).numRows).toBe(40);
  });

  it('may be 64-bit fingerprints, where they are named', () => {
    const words = makeVector(BigUint64Array.of(1n, 2n ** 63n));
    const expected = [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 128];
    expect([...codesFromArrow(tableOf({ code: words })).codes.bytes]).toEqual(expected);
    const named = codesFromArrow(tableOf({ hash: words }), { column: 'hash' });
    expect([...named.codes.bytes]).toEqual(expected);
    expect(named.codes.bits).toBe(64);
    expect(() => codesFromArrow(tableOf({ hash: words }))).toThrow(RangeError);
  });

  it.each([
    ['null', null],
    ['nothing', undefined],
    ['text', 'codes.arrow'],
    ['an array', [1, 2]],
    ['a plain object', {}],
    ['a number array', new Float32Array(8)],
    ['a promise', Promise.resolve(new Uint8Array(8))],
  ])('may not be %s', (_, source) => {
    const read = () => codesFromArrow(source as Uint8Array);
    expect(read).toThrow(TypeError);
    expect(read).toThrow('"source" expected Arrow bytes or an Arrow table, got ');
  });
});

describe('codesFromArrow', () => {
  const two = tableOf({
    left: fixedBinary([[1], [2]]),
    right: fixedBinary([[3], [4]]),
    id: vectorFromArray(['a', 'b'], new Utf8()),
    name: vectorFromArray(['c', 'd'], new Utf8()),
    weight: makeVector(Float32Array.of(1, 2)),
  });

  it('takes the column "code" and the ids "id" by their names', () => {
    const columns = { other: two.getChild('left'), code: two.getChild('right') };
    const read = codesFromArrow(tableOf(columns as Record<string, Vector>));
    expect([...read.codes.bytes]).toEqual([3, 4]);
    expect(read.ids).toBeNull();
    expect(codesFromArrow(two, { column: 'left' }).ids).toEqual(['a', 'b']);
    expect(codesFromArrow(two, { column: 'left', id: 'name' }).ids).toEqual(['c', 'd']);
  });

  it.each<[string, unknown, ErrorConstructor, string]>([
    ['no column called "code"', {}, RangeError, 'no column "code", there are "left", "right"'],
    ['no such column', { column: 'x' }, RangeError, 'no column "x", there are "left", "right"'],
    ['a column of floats', { column: 'weight' }, TypeError, 'column "weight" of type Float32'],
    ['a column of text', { column: 'id' }, TypeError, 'column "id" of type Utf8'],
    ['a number for a column', { column: 5 }, TypeError, '"column" expected a string, got 5'],
    ['no such ids', { column: 'left', id: 'x' }, RangeError, 'no column "x"'],
    [
      'ids of floats',
      { column: 'left', id: 'weight' },
      TypeError,
      'column "weight" of type Float32',
    ],
    ['a number for ids', { column: 'left', id: 5 }, TypeError, '"id" expected a string, got 5'],
    [
      'a wrong width',
      { column: 'left', bits: 64 },
      Error,
      'column "left" has 1 bytes a code, 64 bits',
    ],
    [
      'absurd bits',
      { column: 'left', bits: 0 },
      RangeError,
      '"bits" expected an integer in 1..65535',
    ],
    ['bits as text', { column: 'left', bits: '8' }, TypeError, '"bits" expected a number, got "8"'],
    ['a wrong order', { column: 'left', bitOrder: 'le' }, RangeError, '"bitOrder" expected one of'],
    ['an unknown option', { columns: 'left' }, TypeError, 'did you mean "column"?'],
    ['no options object', 'left', TypeError, '"options" expected an object, got "left"'],
    ['unused bits', { column: 'right', bits: 2 }, Error, 'row 1: a code of 2 bits has bits set'],
  ])('refuses %s: %o', (_, options, kind, message) => {
    const read = () => codesFromArrow(two, options as CodesFromArrowOptions);
    expect(read).toThrow(kind);
    expect(read).toThrow(message);
  });

  it('says which columns there are when none fits', () => {
    const table = tableFromArrays({ weight: Float32Array.of(1), other: Float64Array.of(2) });
    expect(() => codesFromArrow(table)).toThrow(RangeError);
    expect(() => codesFromArrow(table)).toThrow('no column "code", there are "weight", "other"');
    expect(() => codesFromArrow(new Table())).toThrow('no column "code"');
  });

  it.each<[string, Vector, RegExp]>([
    ['codes of two lengths', binary([null, [1, 2], [3, 4], [5]]), /row 3: .* 2 bytes, got 1/],
    ['an empty code', binary([[1], []]), /row 1: .* 1 bytes, got 0/],
    [
      'nothing but nulls',
      binary([null, null]),
      /"code" has no code that shows its width, give "bits"/,
    ],
    [
      'a null within a code',
      vectorFromArray(
        [[1, 2], null, [3, null]],
        new FixedSizeList(2, new Field('item', new Uint8(), true)),
      ),
      /row 2: a null within the code/,
    ],
  ])('refuses %s', (_, code, message) => {
    const read = () => codesFromArrow(tableOf({ code }), { file: 'maker.arrow' });
    expect(read).toThrow(FormatError);
    expect(read).toThrow(message);
    expect(read).toThrow(/^maker\.arrow: /);
  });

  it('reads a binary column of nulls when its width is given', () => {
    const { codes } = codesFromArrow(tableOf({ code: binary([null, null]) }), { bits: 12 });
    expect(codes).toMatchObject({ bits: 12, count: 2 });
    expect([codes.isNull(0), codes.isNull(1)]).toEqual([true, true]);
  });

  it.each([
    ['text', vectorFromArray(['a', null], new Utf8())],
    ['integers', vectorFromArray([1, null], new Int32())],
    ['64-bit integers', vectorFromArray([1n, null], new Uint64())],
    ['a dictionary', vectorFromArray(['a', null])],
  ])('refuses a null among ids of %s, naming the row', (_, id) => {
    const table = tableOf({ id, code: fixedBinary([[1], [2]]) });
    expect(() => codesFromArrow(table, { file: 'ids.arrow' })).toThrow(FormatError);
    expect(() => codesFromArrow(table, { file: 'ids.arrow' })).toThrow(/^ids\.arrow: .*row 1: /);
  });

  it('refuses codes wider than 65,535 bits', () => {
    const table = tableOf({ code: fixedBinary([Array(8193).fill(1)]) });
    expect(() => codesFromArrow(table)).toThrow(FormatError);
    expect(() => codesFromArrow(table)).toThrow(/65,?535|too wide/);
  });

  it('refuses a table whose column is shorter than its batch', () => {
    const table = tableOf({ code: fixedBinary([[1], [2]]) });
    const [batch] = table.batches;
    batch.data.children[0] = batch.data.children[0].slice(0, 1);
    expect(() => codesFromArrow(table, { file: 'short.arrow' })).toThrow(FormatError);
    expect(() => codesFromArrow(table, { file: 'short.arrow' })).toThrow(/^short\.arrow: .*"code"/);
  });
});

describe('codesToArrow', () => {
  const codes = makeCodes({ bits: 8, count: 3, seed: 'options' });

  it.each<[string, unknown, ErrorConstructor, string]>([
    ['too few ids', { ids: ['a'] }, RangeError, '"ids" expected 3, one a row, got 1'],
    ['too many ids', { ids: new Int32Array(4) }, RangeError, '"ids" expected 3, one a row, got 4'],
    ['mixed kinds', { ids: ['a', 2, 'c'] }, TypeError, 'all strings or all integers'],
    ['mixed kinds', { ids: [1, 2, 'c'] }, TypeError, '"ids"[2]'],
    ['a missing id', { ids: ['a', undefined, 'c'] }, TypeError, '"ids"'],
    ['a hole', { ids: Object.assign(Array(3), ['a', 'b']) }, TypeError, '"ids"'],
    ['a fraction', { ids: [1, 2.5, 3] }, TypeError, '"ids"[1]'],
    ['an unsafe integer', { ids: [1, 2, 2 ** 53] }, TypeError, '"ids"[2]'],
    ['NaN', { ids: [Number.NaN, 2, 3] }, TypeError, '"ids"[0]'],
    ['floats', { ids: new Float64Array(3) }, TypeError, '"ids" expected an array of strings'],
    ['bytes', { ids: new Uint8Array(3) }, TypeError, '"ids" expected an array of strings'],
    ['text', { ids: 'abc' }, TypeError, '"ids" expected an array of strings'],
    ['null', { ids: null }, TypeError, '"ids" expected an array of strings'],
    ['an unknown option', { id: ['a', 'b', 'c'] }, TypeError, 'did you mean "ids"?'],
    ['no options object', ['a', 'b', 'c'], TypeError, '"options" expected an object, got Array'],
  ])('refuses %s: %o', (_, options, kind, message) => {
    expect(() => codesToArrow(codes, options as object)).toThrow(kind);
    expect(() => codesToArrow(codes, options as object)).toThrow(message);
  });

  it.each([null, undefined, new Uint8Array(8), { bits: 8 }])('refuses %o for codes', (value) => {
    expect(() => codesToArrow(value as unknown as Codes)).toThrow(TypeError);
    expect(() => codesToArrow(value as unknown as Codes)).toThrow('"codes" expected Codes, got ');
  });

  it('writes only what it knows of an origin, so that a file can be read again', () => {
    const origin = { projection: 'signs', seed: '7', dimensions: 3, version: 9, bits: 99 };
    const odd = Codes.from(new Uint8Array(2), { bits: 8, origin });
    const read = codesFromArrow(codesToArrow(odd));
    expect(read.codes.bits).toBe(8);
    expect(read.codes.origin).toEqual({ projection: 'signs', seed: '7', dimensions: 3 });
  });
});

describe('memory', () => {
  /**
   * The resident set of a fresh process, because it counts all there is: buffers, WebAssembly memories
   * and the heap, at their highest too. It moves by less than 1 % between runs, `arrayBuffers` and
   * `external` leave the peak within a call unseen.
   */
  it('reading 1,000,000 codes of 32 bytes takes at most 1.3 times the codes', {
    tags: 'thorough',
  }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'halfspace-memory-'));
    try {
      const paths = [10_000, 1_000_000].map((count) => {
        const path = join(folder, `${count}.arrow`);
        writeFileSync(path, codesToArrow(Codes.allocate(count, { bits: 256 })));
        return path;
      });
      const report = await runInChild<MemoryReport>('memory.child.ts', {
        nodeOptions: ['--expose-gc'],
        args: paths,
        timeoutMs: 30_000,
      });
      expect(report.count).toBe(1_000_000);
      expect(report.keptBytes).toBeLessThan(1.3 * 32_000_000);
      expect(report.peakBytes).toBeLessThan(1.3 * 32_000_000);
      expect(report.peakBytes).toBeGreaterThan(0.9 * 32_000_000); // it does measure
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

const codesToTable = (...args: Parameters<typeof codesToArrow>) =>
  tableFromIPC(codesToArrow(...args));
