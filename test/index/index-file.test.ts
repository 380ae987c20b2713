import { tableFromIPC } from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { FormatError } from '../../src/base/check';
import { Codes } from '../../src/codes/codes';
import { SimHashIndex } from '../../src/index/simhash-index';
import { columnsOfIndex, indexFromArrow, indexToArrow } from '../../src/store/arrow-index';
import { codesFromArrow } from '../../src/table/from-arrow';
import { tableOfVectors } from '../../src/table/sealed/index-rows';
import { batchRanges, type TableRows, writeTable } from '../../src/table/sealed/sealed-table';
import { Draws } from '../reference/random';

/** An index as Arrow bytes and back: everything is as before, and damage never gives an index. */

const DIMENSIONS = 12;

function clustered(count: number, seed: number) {
  const draws = new Draws(seed);
  const centres = draws.gaussians(40 * DIMENSIONS);
  const noise = draws.gaussians(count * DIMENSIONS);
  const values = new Float32Array(count * DIMENSIONS);
  for (let row = 0; row < count; row++) {
    const from = draws.integer(40) * DIMENSIONS;
    for (let i = 0; i < DIMENSIONS; i++) {
      values[row * DIMENSIONS + i] = centres[from + i] + 0.4 * noise[row * DIMENSIONS + i];
    }
  }
  return { values, dimensions: DIMENSIONS };
}

const rowOf = ({ values }: { values: Float32Array }, row: number) =>
  values.subarray(row * DIMENSIONS, (row + 1) * DIMENSIONS);

const kinds = {
  'row numbers': undefined,
  strings: (row: number) => `word ${row} ü`,
  numbers: (row: number) => 3 * row - 100,
  'large numbers': (row: number) => 2 ** 40 + row,
  'big integers': (row: number) => 2n ** 62n + BigInt(row),
};

/** Ids of every kind next to one kind of vectors, of two kinds next to the others. */
const kindsNextTo = (keep: string) =>
  Object.entries(kinds).slice(0, keep === 'float32' ? undefined : 2);

describe.each(['none', 'float32', 'int8'] as const)('keep %s', (keep) => {
  it.each(kindsNextTo(keep))('is the same after a save, ids being %s', async (_, idOf) => {
    const vectors = clustered(700, 3);
    const ids = idOf && Array.from({ length: 700 }, (_, row) => idOf(row));
    const index = new SimHashIndex({ bits: 60, dimensions: DIMENSIONS, vectors: keep, seed: 9n });
    await index.addAll(vectors, ids as string[]);
    for (let row = 0; row < 700; row += 5) index.remove(idOf ? idOf(row) : row);
    const back = indexFromArrow(indexToArrow(index));
    expect(back.count).toBe(index.count);
    for (let row = 0; row < 700; row += 31) {
      const query = rowOf(vectors, row);
      const id = idOf ? idOf(row) : row;
      expect(back.has(id)).toBe(index.has(id));
      expect(back.get(id)).toEqual(index.get(id));
      for (const options of [{}, { rank: 'hamming' }, { k: 30 }] as const) {
        expect(back.search(query, options)).toEqual(index.search(query, options));
      }
    }
    for (const one of [index, back]) expect(one.add(rowOf(vectors, 1), idOf?.(5000))).toBe(700);
    expect(indexToArrow(back)).toEqual(indexToArrow(index));
  });
});

it.each(['none', 'float32', 'int8'] as const)(
  'keeps partitions and report, keep %s',
  async (keep) => {
    const vectors = clustered(2000, 4);
    const index = new SimHashIndex({
      ...{ bits: 128, dimensions: DIMENSIONS, projection: 'hadamard', vectors: keep },
    });
    await index.addAll(vectors);
    const report = await index.optimize({ recall: 0.9, k: 5, queries: 50, partitions: 24 });
    await index.addAll({ values: clustered(100, 5).values, dimensions: DIMENSIONS });
    for (let row = 0; row < 2100; row += 11) index.remove(row);
    const back = indexFromArrow(indexToArrow(index));
    expect(back.report).toEqual(index.report);
    expect(back.report).toMatchObject({ wanted: 0.9, recall: report.recall, rowsAdded: 100 });
    for (let row = 0; row < 2000; row += 117) {
      const query = rowOf(vectors, row);
      expect(back.search(query, { k: 5 })).toEqual(index.search(query, { k: 5 }));
      if (index.report?.method !== 'partitions') continue;
      const few = { k: 5, probes: 3 };
      expect(back.search(query, few)).toEqual(index.search(query, few));
    }
  },
);

it('finds the same when rows that were added to partitions are put in their order', async () => {
  const draws = new Draws(12);
  const [known, added] = [5000, 300].map((count) => ({
    values: Float32Array.from(draws.gaussians(count * DIMENSIONS)),
    dimensions: DIMENSIONS,
  }));
  const index = new SimHashIndex({
    ...{ bits: 128, dimensions: DIMENSIONS, projection: 'hadamard', vectors: 'float32' },
  });
  await index.addAll(known);
  await index.optimize({ recall: 0.9, k: 5 });
  expect(index.report?.method).toBe('partitions');
  await index.addAll(added);
  for (let row = 0; row < 5300; row += 11) index.remove(row);
  const back = indexFromArrow(indexToArrow(index));
  for (let row = 0; row < 5000; row += 45) {
    for (const probes of [8, 16, 40]) {
      const options = { k: 5, probes };
      const query = rowOf(known, row);
      expect(back.search(query, options)).toEqual(index.search(query, options));
    }
  }
});

it('holds null rows, foreign codes, and nothing at all', async () => {
  const empty = indexFromArrow(indexToArrow(new SimHashIndex({ bits: 33 })));
  expect([empty.count, empty.bits]).toEqual([0, 33]);
  expect(empty.add({ indices: [4], values: [1] }, 'a')).toBe(0);

  const nulls = new SimHashIndex({ bits: 16, dimensions: 2, vectors: 'float32', zero: 'null' });
  await nulls.addAll(
    [
      [0, 0],
      [1, 2],
      [0, 0],
    ] as number[][],
    ['x', 'y', 'z'],
  );
  const back = indexFromArrow(indexToArrow(nulls));
  expect(back.get('x')).toEqual(nulls.get('x'));
  expect(back.search([1, 2]).ids).toEqual(['y']);

  const foreign = new SimHashIndex({ bits: 8 });
  await foreign.addAll(Codes.from(Uint8Array.of(1, 2, 3), { bits: 8 }));
  const again = indexFromArrow(indexToArrow(foreign));
  expect(() => again.search([1, 2])).toThrow(/made elsewhere/);
  expect([...again.search(Uint8Array.of(3)).rows]).toEqual([2, 0, 1]);
});

it('is a file of codes for every Arrow reader', async () => {
  const vectors = clustered(50, 6);
  const index = new SimHashIndex({ bits: 24, dimensions: DIMENSIONS, vectors: 'float32', seed: 5 });
  await index.addAll(
    vectors,
    Array.from({ length: 50 }, (_, row) => `n${row}`),
  );
  const bytes = indexToArrow(index);
  const { codes, ids } = codesFromArrow(bytes);
  expect(ids).toEqual(Array.from({ length: 50 }, (_, row) => `n${row}`));
  expect(codes.at(7)).toEqual(index.hasher.hash(rowOf(vectors, 7)));
  const table = tableFromIPC(bytes);
  expect(table.schema.fields.map(({ name }) => name)).toEqual(['id', 'code', 'vector']);
  expect(table.getChild('vector')?.get(7).toArray()).toEqual(rowOf(vectors, 7));
});

describe('a damaged file', async () => {
  const vectors = clustered(4200, 7);
  const index = new SimHashIndex({ bits: 32, dimensions: DIMENSIONS, vectors: 'int8' });
  await index.addAll(vectors);
  await index.optimize({ recall: 0.5, k: 3, queries: 20, partitions: 8 });
  const bytes = indexToArrow(index);
  const answer = index.search(rowOf(vectors, 3));

  it('is refused, or gives the same index, wherever a bit is flipped or the end is cut', () => {
    const draws = new Draws(8);
    let refused = 0;
    for (let trial = 0; trial < 160; trial++) {
      const other = bytes.slice();
      // Half of the trials among metadata, at both ends of the file.
      const near = draws.integer(6000);
      const at =
        trial % 2 ? draws.integer(bytes.length) : trial % 4 ? near : bytes.length - near - 1;
      other[at] ^= 1 << draws.integer(8);
      const damaged = trial % 10 === 9 ? other.subarray(0, at) : other;
      try {
        const read = indexFromArrow(damaged, { file: 'some.arrow' });
        expect(read.count).toBe(4200);
        expect(read.search(rowOf(vectors, 3))).toEqual(answer);
        expect(read.report).toEqual(index.report);
      } catch (error) {
        expect(error).toBeInstanceOf(FormatError);
        expect((error as Error).message).toMatch(/^some\.arrow: /);
        refused++;
      }
    }
    expect(refused).toBeGreaterThan(106);
  });
});

it('an index of several batches comes back', () => {
  const header = {
    ...{ kind: 'index', bits: 8, projection: 'signs', seed: '0', zero: 'error', vectors: 'none' },
    ...{ isForeign: false, ids: 'row', nextRow: 131_079, report: null, space: null },
    ...{ copies: false, zeros: null },
  };
  const count = 2 * 65_536 + 7;
  const batches = batchRanges(count).map(([first, end]) => {
    const codes = Uint8Array.from({ length: end - first }, (_, i) => (first + i) % 251);
    return { count: end - first, rows: { code: { bytes: codes, validity: null } } };
  });
  const index = indexFromArrow(writeTable(columnsOfIndex(header as never), header, batches));
  const again = tableFromIPC(indexToArrow(index)).batches;
  expect(again.map(({ numRows }) => numRows)).toEqual([65_536, 65_536, 7]);
  const rows = [0, 65_535, 65_536, 131_071, 131_072, count - 1];
  expect(rows.map((row) => index.get(row)?.code?.[0])).toEqual(rows.map((row) => row % 251));
});

describe('a hostile file, its checksums right,', () => {
  const header = {
    ...{ kind: 'index', bits: 8, projection: 'signs', seed: '0', dimensions: 2, zero: 'error' },
    ...{ vectors: 'float32', isForeign: false, ids: 'row', nextRow: 3, report: null },
    ...{ space: null, copies: false, zeros: null },
  };
  const made = (head: object, columns: Record<string, unknown> = {}) => {
    const vectors = Float32Array.of(1, 2, 3, 4, 5, 6);
    const held = tableOfVectors({ vectors, scales: null, sparse: null, ...columns });
    const { codes = Uint8Array.of(1, 2, 3), ids, rows } = columns;
    const code = { bytes: codes, validity: null };
    const table = { id: ids, row: rows, code, ...held } as TableRows;
    const whole = { ...header, ...head };
    const stored = columns.scales ? whole : header;
    return writeTable(columnsOfIndex(stored as never), whole, [{ count: 3, rows: table }]);
  };
  const report = {
    ...{ wanted: 0.9, recall: 0.9, method: 'scan', k: 1, oversample: 1, probes: 0 },
    ...{ rows: 3, rowsAdded: 0, rowsRemoved: 0, reached: true, interval: [0.8, 1] },
    ...{ queries: 9, truth: 'cosine', partitions: 0, slack: 0 },
    ...{ source: 'rows', warnings: [] },
  };
  /** A file of a space of two centroids and one for both of them. */
  const zeros = [0x40, 0x20]; // 64 and 64, 7 bits each
  const spaceOf = (change: object = {}, second = zeros) => {
    const head = { kind: 'space', of: 'dense', dimensions: 2, centroidBits: 7, seed: '0' };
    const rows = { centroid: Uint8Array.of(...zeros, ...second, ...zeros) };
    const column = { name: 'centroid', type: { vector: 'uint8', width: 2 } } as const;
    const whole = { ...head, nearness: 0.5, partitions: 2, starts: [0, 2], name: '', ...change };
    const bytes = writeTable([column], whole, [{ count: 3, rows }]);
    return Buffer.from(bytes).toString('base64');
  };

  it('is read when nothing is wrong', () => {
    expect(indexFromArrow(made({})).count).toBe(3);
    expect(indexFromArrow(made({ report })).report).toEqual({ ...report, stale: false });
    expect(indexFromArrow(made({ space: spaceOf() })).count).toBe(3);
    expect(indexFromArrow(made({ space: spaceOf(), copies: true })).count).toBe(3);
  });

  it.each([
    [{ kind: 'codes' }, {}, /no index/],
    [{ projection: 'wavelet' }, {}, /projection/],
    [{ seed: 7 }, {}, /seed/],
    [{ seed: '99999999999999999999' }, {}, /seed/],
    [{ dimensions: 3 }, {}, /vector/],
    [{ zero: 'maybe' }, {}, /zero/],
    [{ vectors: 'sparse' }, {}, /indices/],
    [{ vectors: 'int8' }, {}, /Int8/],
    [{ isForeign: 1 }, {}, /isForeign/],
    [{ ids: 'string' }, {}, /ids are of kind/],
    [{ ids: 'other' }, {}, /ids/],
    [{ nextRow: 2 }, {}, /nextRow/],
    [{ nextRow: 2 ** 33 }, {}, /nextRow/],
    [{ nextRow: 2 ** 32 - 17 }, {}, /nextRow/],
    [{ report: { method: 'magic' } }, {}, /report/],
    [{ report: { ...report, oversample: 0 } }, {}, /report.*oversample/],
    [{ report: { ...report, method: 'partitions', probes: 0 } }, {}, /report.*probes/],
    [{ report: { ...report, slack: 2.5 } }, {}, /report.*slack/],
    [{ report: { ...report, interval: '80 to 100' } }, {}, /report.*interval.*two numbers/],
    [{ report: { ...report, interval: [0, 2] } }, {}, /report.*interval.*0..1/],
    [{ report: { ...report, truth: 'hearsay' } }, {}, /report.*truth/],
    [{ report: { ...report, warnings: [1] } }, {}, /report.*warnings/],
    [{ report: { ...report, partitions: -1 } }, {}, /report.*partitions/],
    [{ report: 'good' }, {}, /report/],
    [{ report: { ...report, method: 'bands' } }, {}, /report.*method/],
    [
      { vectors: 'int8' },
      { vectors: new Int8Array(6).fill(1), scales: Float32Array.of(1, Number.NaN, 1) },
      /row 1/,
    ],
    [{ space: 'some' }, {}, /space/],
    [{ space: 7 }, {}, /"space" expected base64/],
    [{ space: '?' }, {}, /./],
    [{ space: spaceOf({}, [0x40, 0]) }, {}, /integers above -64, got -64/],
    [{ space: spaceOf({ centroidBits: 5 }) }, {}, /space.*centroidBits/],
    [{ space: spaceOf({ of: 'round' }) }, {}, /space.*of/],
    [{ space: spaceOf({ nearness: 2 }) }, {}, /space.*nearness/],
    [{ space: spaceOf({ dimensions: 3 }) }, {}, /space.*dimensions/],
    [{ space: spaceOf({ partitions: 4 }) }, {}, /space.*partitions/],
    [{ space: spaceOf({ seed: 'x' }) }, {}, /space/],
    [{ space: spaceOf({ starts: 7 }) }, {}, /space.*starts/],
    [{ space: spaceOf({ starts: [0, 3] }) }, {}, /space.*starts/],
    [{ space: spaceOf({ starts: [0, 1] }) }, {}, /groups/],
    [{ copies: 1 }, {}, /copies/],
    [{ zeros: 'none' }, {}, /zeros/],
    [{ zeros: [-1, 0] }, {}, /zeros/],
    [{}, { rows: Uint32Array.of(0, 2, 1) }, /row number/],
    [{}, { rows: Uint32Array.of(0, 1, 3) }, /row number/],
    [{}, { vectors: Float32Array.of(1, 2, 3, Number.NaN, 5, 6) }, /row 1/],
    [{ ids: 'number' }, { ids: Int32Array.of(4, 5, 4) }, /not there yet/],
    [{ ids: 'string' }, { ids: ['a', 'b', 'a'] }, /not there yet/],
    [{ bits: 6 }, { codes: Uint8Array.of(1, 2, 255) }, /row 2/],
  ])('%j %j is refused', (head, columns, message) => {
    const bytes = made(head, columns);
    expect(() => indexFromArrow(bytes)).toThrow(FormatError);
    expect(() => indexFromArrow(bytes)).toThrow(message);
  });

  it('of another kind is refused by what it is', () => {
    expect(() => indexFromArrow(new Uint8Array(50))).toThrow(FormatError);
    expect(() => indexFromArrow('x' as never)).toThrow(TypeError);
  });
});
