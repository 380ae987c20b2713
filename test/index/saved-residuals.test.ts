import { tableFromIPC } from 'apache-arrow';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Id } from '../../src/index/id-table';
import { Partitions } from '../../src/index/partitions/partitions';
import { indexFromArrow } from '../../src/index/read-index';
import { partsOf, SimHashIndex } from '../../src/index/simhash-index';
import { indexToArrow } from '../../src/index/write-index';
import { RowBatch } from '../../src/table/row-batch';
import { columnsOfIndex } from '../../src/table/sealed/carried-columns';
import { indexToArrow as rowsToArrow } from '../../src/table/sealed/index-rows';
import { writeTable } from '../../src/table/sealed/sealed-table';
import { Draws } from '../reference/random';

/** Residual codes in the one file of an index: read as they were, never made again. */

const DIMENSIONS = 20;
const ROWS = 5000;
const draws = new Draws('saved residuals');
/** A row of zeros, and every seventh row with the code of an earlier one, but another vector. */
const vectors = Array.from({ length: ROWS }, (_, row) => {
  const length = row === 17 ? 0 : 1;
  return draws.gaussians(DIMENSIONS).map((value) => length * value);
});
for (let row = 7; row < ROWS; row += 7) {
  vectors[row] = vectors[row % 21].map((value) => value * (1 + 1e-4 * draws.uniform()));
}

function optimized(keep: 'float32' | 'int8', idOf: ((row: number) => string) | undefined) {
  const index = new SimHashIndex<Id>({
    ...{ bits: 64, dimensions: DIMENSIONS, projection: 'hadamard', vectors: keep, zero: 'null' },
  });
  const ids = idOf && vectors.map((_, row) => idOf(row));
  index.addAll(vectors, ids as string[]);
  index.optimize({ recall: 0.8, k: 5, partitions: 32, queries: 50, seed: 1 });
  return index;
}

/** Removes first rows of shared codes and whole codes, which come back with another first row. */
function changed(index: SimHashIndex<Id>, idOf: (row: number) => Id) {
  for (let row = 0; row < ROWS; row += 5) index.remove(idOf(row));
  const again = vectors.filter((_, row) => row % 10 === 0);
  const own = (i: number) => (typeof idOf(0) === 'string' ? `again ${i}` : undefined);
  again.forEach((vector, i) => {
    index.add(
      vector.map((value) => 3 * value + 1e-4),
      own(i),
    );
  });
}

/** The residual code of each code with its partition, by first rows. */
function residualsOf(index: SimHashIndex<Id>) {
  const { distinctCodes, partitions } = partsOf(index);
  const { residualCodes } = partitions as Partitions;
  const partitionOf = (partitions as Partitions).partitionOfEach(distinctCodes.count);
  const width = residualCodes?.parts.bytesPerRow ?? 0;
  return Array.from(distinctCodes.rowsWithCodes()).flatMap((row) => {
    const distinct = distinctCodes.distinctOf(row);
    if (distinctCodes.rowOf(distinct) !== row) return [];
    const code = new Uint8Array(width);
    const scale = (partitions as Partitions).residualInto(row, code, 0);
    return [{ row, partition: partitionOf[distinct], scale, code: code.join() }];
  });
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe.each(['float32', 'int8'] as const)('an index of %s', (keep) => {
  it.each([
    ['row numbers', undefined],
    ['texts', (row: number) => `r${row}`],
  ] as const)('is opened with the residual codes that it had, ids being %s', (_, idOf) => {
    const index = optimized(keep, idOf);
    for (const change of [null, changed]) {
      change?.(index, idOf ?? ((row) => row));
      const bytes = indexToArrow(index);
      const made = vi.spyOn(Partitions.prototype, 'encode');
      const back = indexFromArrow(bytes) as SimHashIndex<Id>;
      expect(made).not.toHaveBeenCalled();
      made.mockRestore();
      expect(residualsOf(back)).toEqual(residualsOf(index));
      const [before, after] = [bytes, indexToArrow(back)].map((own) => tableFromIPC(own));
      for (const name of ['partition', 'residual', 'residual_scale']) {
        expect(after.getChild(name)?.toJSON()).toEqual(before.getChild(name)?.toJSON());
      }
      for (const query of vectors.filter((one, row) => row % 97 === 0 && one.some(Boolean))) {
        for (const probes of [2, 8]) {
          const options = { k: 8, method: 'partitions', probes } as const;
          expect(back.search(query, options)).toEqual(index.search(query, options));
        }
      }
      expect(residualsOf(index).length).toBeGreaterThan(ROWS / 2);
    }
  });
});

it('a file without partitions has no residual codes', () => {
  const index = new SimHashIndex({ bits: 64, dimensions: DIMENSIONS, vectors: 'float32' });
  index.addAll(vectors.slice(0, 10));
  const names = tableFromIPC(indexToArrow(index)).schema.fields.map(({ name }) => name);
  expect(names).toEqual(['code', 'vector']);
});

describe('columns of residual codes', () => {
  const columns = RowBatch.of({ residual: ['a', 'b', 'c'], residual_scale: [5, 6, 7] });
  const header = {
    ...{ kind: 'index', bits: 8, projection: 'signs', seed: '0', dimensions: 2, zero: 'error' },
    ...{ vectors: 'float32', mean: null, isForeign: false, ids: 'row', nextRow: 3, report: null },
    centroids: Buffer.from(new Int16Array(8).buffer).toString('base64'),
  };
  const rows = {
    ...{ count: 3, rows: null, ids: null, codes: Uint8Array.of(1, 2, 3), validity: null },
    ...{ vectors: Float32Array.of(1, 2, 3, 4, 5, 6), scales: null, sparse: null },
    partitions: new Uint32Array(3),
  };
  const made = (head: object, own: object, carried?: RowBatch) => {
    const runs = {
      rowsOf: () => ({ ...rows, ...own }) as never,
      endOf: (_: number, end: number) => end,
    };
    return rowsToArrow({ ...header, ...head } as never, 3, runs, carried);
  };

  it('are told apart from carried ones of these names', () => {
    const own = { residuals: new Uint8Array(72), residualScales: new Float32Array(3).fill(1) };
    const bytes = made({ residualBytes: 24 }, own, columns);
    const names = tableFromIPC(bytes).schema.fields.map(({ name }) => name);
    expect(names.slice(3)).toEqual(['residual', 'residual_scale', 'residual_', 'residual_scale_']);
    expect(columnsOfIndex(bytes, 'f')?.values('residual')).toEqual(['a', 'b', 'c']);
    expect(residualsOf(indexFromArrow(bytes))[2].scale).toBe(1);
  });

  it('are not taken from carried ones in files that have none', () => {
    // Carried columns had these names before files had residual codes.
    const { schema, data } = columns.toArrow();
    const carried = schema.fields.map((field, i) => ({ field, data: data.children[i] }));
    const { codes, vectors, partitions } = rows;
    const table = {
      code: { bytes: codes, validity: null },
      vector: vectors,
      partition: partitions,
    };
    const bytes = writeTable(
      [
        { name: 'code', type: { bytes: 1 }, isNullable: true },
        { name: 'vector', type: { vector: 'float32', width: 2 } },
        { name: 'partition', type: 'uint32' },
      ],
      { ...header, carried: columns.columns.map(({ name }) => name) },
      [{ count: 3, rows: table, carried }],
    );
    expect(columnsOfIndex(bytes, 'f')?.values('residual')).toEqual(['a', 'b', 'c']);
    expect(residualsOf(indexFromArrow(bytes)).length).toBe(3);
  });

  it.each([
    ['codes of another width', 23, { residuals: new Uint8Array(69) }, /24 bytes, got 23/],
    ['a scale that is no number', 24, { residualScales: Float32Array.of(1, Number.NaN, 1) }, /NaN/],
    ['a scale below 0', 24, { residualScales: Float32Array.of(1, 1, -1) }, /residual_scale.*-1/],
  ])('are refused with %s', (_, residualBytes, own, message) => {
    const whole = { residuals: new Uint8Array(72), residualScales: new Float32Array(3) };
    const write = () => indexFromArrow(made({ residualBytes }, { ...whole, ...own }));
    expect(write).toThrow(message);
  });
});
