import {
  type Data,
  Field,
  Float32,
  List,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  Table,
  tableToIPC,
  Uint64,
  vectorFromArray,
} from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import type { VectorColumns } from '../../src/index/vectors/row-vectors';
import { SparseVectors } from '../../src/index/vectors/sparse-vectors';
import { openArrow } from '../../src/table/arrow/batches';
import {
  SPARSE_COLUMNS,
  type SparseColumns,
  tableOfVectors,
  vectorsOfTable,
} from '../../src/table/sealed/index-rows';
import { columnsOf, readRows } from '../../src/table/sealed/sealed-table';
import { Draws } from '../reference/random';

/** Sparse vectors out of memory and back, and through Arrow's own writer and reader. */

const draws = new Draws(3);

function kept(count: number): SparseVectors {
  const rows = new SparseVectors();
  for (let row = 0; row < count; row++) {
    const entries = draws.integer(6);
    const indices = BigUint64Array.from({ length: entries }, () => draws.word()).sort();
    const values = draws.gaussians(entries);
    rows.append({ offsets: [0, entries], indices, values }, 0, 1, () => true);
  }
  return rows;
}

/** The same columns as an Arrow file tells them. */
function throughArrow(columns: [Field, Data][]) {
  const fields = columns.map(([field]) => field);
  const children = columns.map(([, data]) => data);
  const { length } = children[0];
  const data = makeData({ type: new Struct(fields), length, nullCount: 0, children });
  const table = new Table(new Schema(fields), [new RecordBatch(new Schema(fields), data)]);
  return openArrow(tableToIPC(table, 'file'));
}

/** A list column from plain lists, by Arrow's own builders. */
function column(name: string, type: Uint64 | Float32, lists: unknown[]): [Field, Data] {
  const list = new List(new Field('item', type, false));
  return [new Field(name, list, false), vectorFromArray(lists, list).data[0]];
}

/** The two columns of sparse rows, as an index file has them. */
const sparseToColumns = (held: VectorColumns) =>
  columnsOf(SPARSE_COLUMNS, {
    count: (held.sparse as SparseColumns).offsets.length - 1,
    rows: tableOfVectors(held),
  }).map(({ field, data }): [Field, Data] => [field, data]);

/** Sparse rows of a file, whose first has this number. */
function sparseFromColumns({ batches }: ReturnType<typeof openArrow>, firstRow = 0) {
  return vectorsOfTable(readRows(batches[0], SPARSE_COLUMNS, firstRow), firstRow).sparse;
}

const rowsOf = (rows: SparseVectors, count: number) =>
  Array.from({ length: count }, (_, row) => rows.at(row));

describe('sparse vectors of an index', () => {
  it.each([0, 1, 700])('%d of them come back from Arrow as they were', (count) => {
    const rows = kept(count);
    const all = Uint32Array.from({ length: count }, (_, row) => row);
    const columns = sparseFromColumns(throughArrow(sparseToColumns(rows.gather(all))));
    expect(columns).not.toBeNull();
    const back = new SparseVectors();
    back.skip(count);
    if (columns !== null) back.restore({ vectors: null, scales: null, sparse: columns }, all);
    expect(rowsOf(back, count)).toEqual(rowsOf(rows, count));
    expect(back.bytes).toBe(rows.bytes);
    for (const row of all) expect(back.normOf(row)).toBe(rows.normOf(row));
  });

  it('are gathered in any order, and leave gaps for removed ones', () => {
    const rows = kept(50);
    const some = Uint32Array.of(40, 3, 3, 17);
    const back = new SparseVectors();
    back.skip(6);
    back.restore(rows.gather(some), Uint32Array.of(2, 3, 4, 5));
    expect(rowsOf(back, 6)).toEqual([
      ...Array.from({ length: 2 }, () => ({
        indices: new BigUint64Array(),
        values: new Float32Array(),
      })),
      ...Array.from(some, (row) => rows.at(row)),
    ]);
    const cosines = back.cosinesOf(Uint32Array.of(0, 2, 3, 4), rows.unitOf(3));
    expect([cosines[0], cosines[2], cosines[3]]).toEqual([0, cosines[3], cosines[2]]);
    expect(cosines[2]).toBeCloseTo(rows.normOf(3) > 0 ? 1 : 0, 12);
  });

  it('are columns that other readers understand', () => {
    const rows = new SparseVectors();
    const sparse = {
      offsets: Int32Array.of(0, 2, 2),
      indices: BigUint64Array.of(1n, 2n ** 64n - 1n),
      weights: Float32Array.of(0.5, -2),
    };
    rows.skip(2);
    rows.restore({ vectors: null, scales: null, sparse }, Uint32Array.of(0, 1));
    const opened = throughArrow(sparseToColumns(rows.gather(Uint32Array.of(0, 1))));
    const [batch] = opened.batches;
    expect(batch.getChild('indices')?.get(0)?.toArray()).toEqual(
      BigUint64Array.of(1n, 2n ** 64n - 1n),
    );
    expect(batch.getChild('weights')?.get(0)?.toArray()).toEqual(Float32Array.of(0.5, -2));
    expect(batch.getChild('weights')?.get(1)?.length).toBe(0);
  });
});

describe('columns that are not sparse rows', () => {
  const indices = (lists: unknown[]) => column('indices', new Uint64(), lists);
  const weights = (lists: unknown[]) => column('weights', new Float32(), lists);
  const read = (...columns: [Field, Data][]) => sparseFromColumns(throughArrow(columns), 10);

  it.each<[string, [Field, Data][], string]>([
    ['none', [column('other', new Float32(), [[1]])], 'no column "indices"'],
    ['one alone', [indices([[1n]])], 'no column "weights"'],
    [
      'another type',
      [column('indices', new Float32(), [[1]]), weights([[1]])],
      'column "indices" is of type List<Float32>, expected List<Uint64>',
    ],
    [
      'other lengths',
      [indices([[1n], [2n]]), weights([[1], [2, 3]])],
      'row 11: as many indices as weights',
    ],
    [
      'falling dimensions',
      [indices([[1n], [5n, 4n]]), weights([[1], [1, 2]])],
      'row 11: dimension',
    ],
    ['one twice', [indices([[5n, 5n]]), weights([[1, 2]])], 'row 10: dimension 5 after 5'],
    [
      'a weight that is none',
      [indices([[1n]]), weights([[Number.NaN]])],
      'row 10: its vector has NaN',
    ],
    ['a null row', [indices([[1n], null]), weights([[1], [2]])], 'column "indices" has nulls'],
  ])('are refused: %s', (_name, columns, message) => {
    expect(() => read(...columns)).toThrow(message);
  });
});
