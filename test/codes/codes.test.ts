import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Codes, hammingDistance, reverseBits } from '../../src/codes/codes';
import { cluster, codesToArrow, dedup, pairs, SimHashIndex, scan } from '../../src/node';
import { collected } from '../reference/collected';
import { bitString, parseBits } from './bits';

const SEED = 20_261_121;

/** numpy.packbits, in its plainest form: bits to bytes, the first bit highest or lowest. */
function packBits(bits: readonly number[], order: 'lsb' | 'msb'): number[] {
  const bytes: number[] = Array(Math.ceil(bits.length / 8)).fill(0);
  bits.forEach((bit, j) => {
    const place = order === 'lsb' ? j % 8 : 7 - (j % 8);
    bytes[Math.floor(j / 8)] += bit * 2 ** place;
  });
  return bytes;
}

function naiveDistance(a: readonly number[], b: readonly number[]): number {
  return a.filter((bit, j) => bit !== b[j]).length;
}

/** Rows of bits, all of one width. */
const bitRows = fc
  .integer({ min: 1, max: 140 })
  .chain((bits) => fc.array(fc.array(fc.nat(1), { minLength: bits, maxLength: bits })))
  .filter((rows) => rows.length > 0);

describe('Codes.from', () => {
  it('takes an array that was given away as one without codes', () => {
    const bytes = new Uint8Array(8);
    structuredClone(bytes, { transfer: [bytes.buffer] });
    expect(Codes.from(bytes, { bits: 8 }).count).toBe(0);
  });

  it('says so when its memory was given away', async () => {
    const codes = Codes.from(new Uint8Array(24), { bits: 64 });
    structuredClone(codes.bytes, { transfer: [codes.bytes.buffer] });
    const calls = [
      () => codes.at(0),
      () => codes.distance(0, 1),
      () => Codes.join([codes, codes], { bits: 64 }),
      () => scan(codes, new Uint8Array(8)),
      () => dedup(codes, { maxDistance: 3 }),
      () => collected(pairs(codes, { maxDistance: 3 })),
      () => cluster(codes, { clusters: 2 }),
      () => codesToArrow(codes),
      () => new SimHashIndex({ bits: 64 }).addAll(codes),
    ];
    for (const call of calls) {
      await expect((async () => call())()).rejects.toThrow('memory of these codes was given away');
    }
  });

  it('holds what it was given, for every width', () => {
    const property = fc.property(bitRows, (rows) => {
      const bits = rows[0].length;
      const bytes = Uint8Array.from(rows.flatMap((row) => packBits(row, 'lsb')));
      const codes = Codes.from(bytes, { bits });
      expect(codes).toMatchObject({ bits, count: rows.length, validity: null, origin: undefined });
      expect(codes.bytesPerCode).toBe(Math.ceil(bits / 8));
      expect(codes.bytes).toEqual(bytes);
      rows.forEach((row, i) => {
        expect([...codes.at(i)]).toEqual(packBits(row, 'lsb'));
        expect(codes.distance(0, i)).toBe(naiveDistance(rows[0], row));
        expect(hammingDistance(codes.at(i), codes.at(0))).toBe(naiveDistance(rows[0], row));
      });
    });
    fc.assert(property, { seed: SEED });
  });

  it("turns the order of numpy.packbits around with bitOrder 'msb'", () => {
    const property = fc.property(bitRows, (rows) => {
      const bytes = Uint8Array.from(rows.flatMap((row) => packBits(row, 'msb')));
      const before = bytes.slice();
      const codes = Codes.from(bytes, { bits: rows[0].length, bitOrder: 'msb' });
      expect([...codes.bytes]).toEqual(rows.flatMap((row) => packBits(row, 'lsb')));
      expect(bytes).toEqual(before);
    });
    fc.assert(property, { seed: SEED });
  });

  it('agrees with numpy.packbits on a printed example', () => {
    // >>> numpy.packbits([[1,0,1],[0,1,0]], axis=1) is [[160], [64]]
    const codes = Codes.from(new Uint8Array([160, 64]), { bits: 3, bitOrder: 'msb' });
    expect([...codes.bytes]).toEqual([0b101, 0b010]);
    expect(bitString(codes.at(0), 3)).toBe('101');
    expect(codes.distance(0, 1)).toBe(3);
  });

  it.each([
    ['a Uint8Array', new Uint8Array([0b111])],
    ['a Buffer', Buffer.from([0b111])],
  ])('copies, validity as %s too: neither side sees later changes of the other', (_, validity) => {
    const bytes = new Uint8Array([1, 2, 3]);
    const codes = Codes.from(bytes, { bits: 8, validity });
    bytes.fill(255);
    expect([...codes.bytes]).toEqual([1, 2, 3]);
    codes.bytes.fill(9);
    expect([...bytes]).toEqual([255, 255, 255]);
    validity.fill(0);
    expect([0, 1, 2].map((row) => codes.isNull(row))).toEqual([false, false, false]);
  });

  it('reads views that start at any byte of a larger buffer', () => {
    const wide = Uint8Array.from({ length: 64 }, (_, i) => (i * 37) & 255);
    for (let start = 0; start < 24; start++) {
      const view = wide.subarray(start, start + 33);
      const codes = Codes.from(view, { bits: 88 });
      expect(codes.count).toBe(3);
      expect([...codes.at(1)]).toEqual([...wide.slice(start + 11, start + 22)]);
      const other = Codes.from(new Uint8Array(view), { bits: 88 });
      expect(codes.distance(0, 2)).toBe(other.distance(0, 2));
      expect(hammingDistance(view.subarray(0, 11), view.subarray(22))).toBe(codes.distance(0, 2));
    }
  });

  it('reads a Buffer and shared memory', () => {
    const shared = new Uint8Array(new SharedArrayBuffer(2));
    shared.set([7, 9]);
    expect([...Codes.from(shared, { bits: 8 }).bytes]).toEqual([7, 9]);
    expect([...Codes.from(Buffer.from([7, 9]), { bits: 8 }).bytes]).toEqual([7, 9]);
  });

  it('knows null rows, whose bytes are 0, and keeps the origin', () => {
    const origin = { projection: 'signs', seed: '18446744073709551615', dimensions: 3 };
    const validity = new Uint8Array([0b11111010, 0b1]);
    const bytes = Uint8Array.from({ length: 9 }, () => 0xff);
    const codes = Codes.from(bytes, { bits: 8, validity, origin });
    expect(Array.from({ length: 9 }, (_, row) => codes.isNull(row))).toEqual([
      ...[true, false, true, false, false, false, false, false, false],
    ]);
    expect([...codes.bytes]).toEqual([0, 255, 0, 255, 255, 255, 255, 255, 255]);
    expect(codes.origin).toEqual(origin);
    expect(codes.withoutValidity()).toMatchObject({ validity: null, bits: 8, count: 9, origin });
  });

  it('may hold set unused bits in a null row, which are cleared', () => {
    const validity = new Uint8Array([0b10]);
    const codes = Codes.from(new Uint8Array([0xff, 0x0f]), { bits: 4, validity });
    expect([...codes.bytes]).toEqual([0, 15]);
  });

  it('holds no codes at all', () => {
    const codes = Codes.from(new Uint8Array(0), { bits: 65_535 });
    expect(codes).toMatchObject({ count: 0, bytesPerCode: 8192 });
    expect(() => codes.at(0)).toThrow(RangeError);
  });

  it.each([1, 2, 3, 5, 7, 20, 65_535])(
    'refuses set bits beyond %i bits, naming the row',
    (bits) => {
      const width = Math.ceil(bits / 8);
      for (const row of [0, 1, 4]) {
        for (let bit = bits; bit < 8 * width; bit++) {
          const bytes = new Uint8Array(5 * width);
          bytes[row * width + (bit >> 3)] = 1 << (bit & 7);
          expect(() => Codes.from(bytes, { bits })).toThrow(RangeError);
          expect(() => Codes.from(bytes, { bits })).toThrow(`row ${row}: `);
          bytes[row * width + (bit >> 3)] = 1 << (7 - (bit & 7));
          expect(() => Codes.from(bytes, { bits, bitOrder: 'msb' })).toThrow(`row ${row}: `);
        }
      }
    },
  );

  it.each([
    [64, 7, '"bytes" expected a multiple of 8 bytes for 64 bits, got 7'],
    [20, 4, '"bytes" expected a multiple of 3 bytes for 20 bits, got 4'],
    [65_535, 8191, '"bytes" expected a multiple of 8192 bytes for 65535 bits, got 8191'],
  ])('refuses codes of %i bits cut to %i bytes', (bits, length, message) => {
    const make = () => Codes.from(new Uint8Array(length), { bits });
    expect(make).toThrow(RangeError);
    expect(make).toThrow(message);
  });

  it.each([0, -1, 65_536, 1.5, Number.NaN, Number.POSITIVE_INFINITY])('refuses %d bits', (bits) => {
    for (const make of [
      () => Codes.from(new Uint8Array(0), { bits }),
      () => Codes.allocate(0, { bits }),
    ]) {
      expect(make).toThrow(RangeError);
      expect(make).toThrow(`"bits" expected an integer in 1..65535, got ${bits}`);
    }
  });

  it.each([
    ['a Uint16Array', new Uint16Array(4), 'Uint16Array'],
    ['an ArrayBuffer', new ArrayBuffer(4), 'ArrayBuffer'],
    ['an array', [1, 2], 'Array'],
    ['text', 'abcd', '"abcd"'],
    ['nothing', undefined, 'undefined'],
    ['null', null, 'null'],
  ])('refuses %s for bytes', (_, bytes, got) => {
    const make = () => Codes.from(bytes as unknown as Uint8Array, { bits: 8 });
    expect(make).toThrow(TypeError);
    expect(make).toThrow(`"bytes" expected a Uint8Array, got ${got}`);
  });

  it.each([
    ['bits', { bits: '8' }, TypeError, '"bits" expected a number, got "8"'],
    ['bits', {}, TypeError, '"bits" expected a number, got undefined'],
    ['bitOrder', { bits: 8, bitOrder: 'big' }, RangeError, '"bitOrder" expected one of'],
    ['bitOrder', { bits: 8, bitOrder: 1 }, TypeError, '"bitOrder" expected one of'],
    ['validity', { bits: 8, validity: [255] }, TypeError, '"validity" expected a Uint8Array'],
    ['validity', { bits: 8, validity: 'all' }, TypeError, '"validity" expected a Uint8Array'],
    ['validity', { bits: 8, validity: new Uint8Array(0) }, RangeError, '"validity" expected'],
    ['origin', { bits: 8, origin: 5 }, TypeError, '"origin" expected'],
    ['options', 5, TypeError, '"options" expected an object, got 5'],
    ['options', null, TypeError, '"options" expected an object, got null'],
    ['options', { bits: 8, bitorder: 'msb' }, TypeError, 'did you mean "bitOrder"?'],
    ['options', { bits: 8, bit: 8 }, TypeError, 'did you mean "bits"?'],
  ])('refuses a wrong "%s": %o', (_, options, kind, message) => {
    const make = () => Codes.from(new Uint8Array(2), options as { bits: number });
    expect(make).toThrow(kind);
    expect(make).toThrow(message);
  });

  it('says that "bits" is missing when there are no options', () => {
    const make = () => (Codes.from as (bytes: Uint8Array) => Codes)(new Uint8Array(2));
    expect(make).toThrow(TypeError);
    expect(make).toThrow(/"(bits|options)" expected/);
  });
});

describe('Codes.allocate', () => {
  // On both sides of the size from which codes live in a WebAssembly memory.
  it.each([0, 1, 100, 8192, 8193, 100_000])('makes %i zeroed codes to be filled', (count) => {
    const codes = Codes.allocate(count, { bits: 64 });
    expect(codes).toMatchObject({ bits: 64, count, bytesPerCode: 8, validity: null });
    expect(codes.bytes.length).toBe(8 * count);
    expect(codes.bytes.every((byte) => byte === 0)).toBe(true);
    if (count === 0) return;
    codes.at(count - 1).fill(255);
    expect(codes.distance(0, count - 1)).toBe(count === 1 ? 0 : 64);
  });

  it('takes a validity that is filled later', () => {
    const validity = new Uint8Array(1);
    const codes = Codes.allocate(3, { bits: 8, validity });
    expect(codes.isNull(1)).toBe(true);
    validity[0] = 2;
    expect([0, 1, 2].map((row) => codes.isNull(row))).toEqual([true, false, true]);
  });

  it.each([
    [-1, RangeError, '"count" expected an integer from 0 on, got -1'],
    [1.5, RangeError, '"count" expected an integer from 0 on, got 1.5'],
    ['3', TypeError, '"count" expected a number, got "3"'],
    // It said "Invalid typed array length: 8589934592".
    [
      2 ** 40,
      RangeError,
      '"count" expected codes of 64 bits that fit one array, got 1099511627776',
    ],
    [Number.MAX_SAFE_INTEGER, RangeError, '"count" expected codes of 64 bits'],
  ])('refuses a count of %s', (count, kind, message) => {
    const make = () => Codes.allocate(count as number, { bits: 64 });
    expect(make).toThrow(kind);
    expect(make).toThrow(message);
  });

  it('refuses unknown options, and a validity too short for the rows', () => {
    const unknown = { bits: 8, bitorder: 'msb' };
    expect(() => Codes.allocate(3, unknown)).toThrow(TypeError);
    expect(() => Codes.allocate(3, unknown)).toThrow('has no option "bitorder"');
    const short = () => Codes.allocate(9, { bits: 8, validity: new Uint8Array(1) });
    expect(short).toThrow(RangeError);
    expect(short).toThrow('"validity" expected a bit for each of 9 rows');
  });
});

describe('rows of codes', () => {
  const codes = Codes.from(new Uint8Array([0b1011, 0b0001, 0]), {
    bits: 4,
    validity: new Uint8Array([0b011]),
  });

  it('are views, not copies', () => {
    expect(codes.at(1).buffer).toBe(codes.bytes.buffer);
  });

  it.each([-1, 3, 0.5, Number.NaN])('refuse row %d', (row) => {
    for (const use of [() => codes.at(row), () => codes.distance(0, row)]) {
      expect(use).toThrow(RangeError);
      expect(use).toThrow(`"row" expected an integer in 0..2, got ${row}`);
    }
  });

  it('refuse a row that is no number', () => {
    expect(() => codes.at('1' as unknown as number)).toThrow(TypeError);
  });

  it('have a distance, but null rows have none', () => {
    expect(codes.distance(0, 1)).toBe(2);
    expect(codes.distance(1, 1)).toBe(0);
    expect(() => codes.distance(0, 2)).toThrow(RangeError);
    expect(() => codes.distance(2, 0)).toThrow('2, which is null');
  });
});

describe('bits as text', () => {
  it('are written first bit first', () => {
    expect(bitString(new Uint8Array([0b00111001]), 6)).toBe('100111');
    expect(bitString(new Uint8Array([1, 128]))).toBe('1000000000000001');
  });

  it('are read as they are written', () => {
    const text = fc.string({ unit: fc.constantFrom('0', '1'), minLength: 1, maxLength: 300 });
    const property = fc.property(text, (bits) => {
      const code = parseBits(bits);
      expect([...code]).toEqual(packBits([...bits].map(Number), 'lsb'));
      expect(bitString(code, bits.length)).toBe(bits);
    });
    fc.assert(property, { seed: SEED });
  });
});

describe('hammingDistance', () => {
  it('counts the published examples', () => {
    expect(hammingDistance(parseBits('00101110'), parseBits('00001111'))).toBe(2);
    expect(hammingDistance(parseBits('100101'), parseBits('101100'))).toBe(2);
  });

  it('counts up to 65,535', () => {
    const all = parseBits('1'.repeat(65_535));
    expect(hammingDistance(all, new Uint8Array(8192))).toBe(65_535);
  });

  it('refuses codes of two widths, and other types', () => {
    const code = new Uint8Array(3);
    expect(() => hammingDistance(code, new Uint8Array(4))).toThrow(RangeError);
    expect(() => hammingDistance(code, new Uint8Array(4))).toThrow('"b" expected 3 bytes, got 4');
    expect(() => hammingDistance(code, [1, 2, 3] as never)).toThrow(TypeError);
    expect(() => hammingDistance('abc' as never, code)).toThrow('"a" expected a Uint8Array');
  });
});

describe('reverseBits', () => {
  it('turns every byte around, and back', () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, byte) => byte);
    reverseBits(bytes);
    bytes.forEach((reversed, byte) => {
      expect(reversed).toBe(
        Number.parseInt([...byte.toString(2).padStart(8, '0')].reverse().join(''), 2),
      );
    });
    reverseBits(bytes);
    expect(bytes.every((byte, i) => byte === i)).toBe(true);
  });
});

it.each([1n, '1', 0.5, Number.NaN, null, undefined, -1, 2, 2 ** 32])('has no row %s', (row) => {
  const codes = Codes.allocate(2, { bits: 8, validity: Uint8Array.of(2) });
  expect([codes.isNull(0), codes.isNull(1)]).toEqual([true, false]);
  expect(() => codes.isNull(row as number)).toThrow(/^"row" expected an? /);
});

it('refuses to join what is no collection, and collections of different widths', () => {
  const codes = Codes.allocate(2, { bits: 8 });
  const joined = (parts: unknown) => () => Codes.join(parts as Codes[], { bits: 8 });
  expect(joined(null)).toThrow('"parts" expected an array of Codes, got null');
  expect(joined([codes, {}])).toThrow('"parts"[1] expected Codes, got Object');
  expect(joined([undefined])).toThrow('"parts"[0] expected Codes, got undefined');
  const wide = Codes.allocate(1, { bits: 9 });
  expect(joined([codes, wide])).toThrow('"parts"[1] expected codes of 8 bits, got 9');
  expect(joined([])().count).toBe(0);
  const unknown = { bits: 8, validity: null } as { bits: number };
  for (const parts of [[], [codes], [codes, codes]]) {
    expect(() => Codes.join(parts, unknown)).toThrow('"options" has no option "validity"');
  }
});
