/**
 * A space as a sealed file: the centroids of its partitions, then those of the groups of partitions
 * by which rows find theirs, and in the schema all else. And a file of removed rows.
 */

import { checkInteger, checkNumber, checkOneOf, wrongValue } from '../base/check';
import { Space } from '../index/space';
import { checkedTree } from '../k-means/centroid-tree';
import { allocatePoints } from '../k-means/k-means';
import { endPoint, MOST, pointWidth } from '../kernels/products';
import { asArrow } from '../table/arrow/batches';
import {
  type ColumnSchema,
  openTable,
  readNumbers,
  writeTable,
} from '../table/sealed/sealed-table';

const CENTROID = (width: number | null): ColumnSchema => {
  return { name: 'centroid', type: { vector: 'int8', width } };
};

export function spaceToArrow(space: Space): Uint8Array {
  const { kind, dimensions, seed, nearness, tree } = space.parts;
  const { width } = space;
  const count = (tree.centroids.length + tree.coarse.length) / width;
  const centroid = new Int8Array(count * dimensions);
  for (let i = 0; i < count; i++) {
    const [from, at] = i < space.count ? [tree.centroids, i] : [tree.coarse, i - space.count];
    centroid.set(from.subarray(at * width, at * width + dimensions), i * dimensions);
  }
  const header = {
    kind: 'space',
    of: kind,
    dimensions,
    seed: String(seed),
    nearness,
    partitions: space.count,
    starts: Array.from(tree.starts),
  };
  const batch = { count, rows: { centroid } };
  return writeTable([CENTROID(dimensions)], header, [batch]);
}

/** Reads the space of an index of so many dimensions and bits; a FormatError names the file. */
export function spaceFromArrow(
  bytes: Uint8Array,
  file: string,
  { bits, dimensions, hasCopies }: { bits: number; dimensions: number; hasCopies: boolean },
): Space {
  const table = openTable(bytes, file, { kind: 'space' });
  return asArrow(file, () => {
    const { of, seed, nearness, partitions, starts } = table.header;
    const kind = checkOneOf('of', of as 'dense', ['dense', 'codes']);
    const wanted = kind === 'dense' ? dimensions : bits;
    checkInteger('dimensions', table.header.dimensions, wanted, wanted);
    const width = pointWidth(wanted);
    const count = checkInteger('partitions', partitions, 1, table.count);
    const values = readNumbers(table, CENTROID(null)) as Int8Array;
    if (values.length !== table.count * wanted) {
      throw wrongValue('centroid', `${wanted} integers`, values.length / table.count);
    }
    const wrong = values.find((value) => Math.abs(value) > MOST);
    if (wrong !== undefined) throw wrongValue('centroid', `integers up to ${MOST}`, wrong);
    const rowsOf = (from: number, to: number) => {
      const own = allocatePoints(to - from, width);
      for (let i = 0; i < to - from; i++) {
        const first = (from + i) * wanted;
        own.set(values.subarray(first, first + wanted), i * width);
        endPoint({ values: own, width }, i * width);
      }
      return own;
    };
    return new Space({
      kind,
      hasCopies,
      dimensions: wanted,
      seed: BigInt(String(seed)),
      nearness: checkNumber('nearness', nearness, 0, 1),
      tree: checkedTree({
        centroids: rowsOf(0, count),
        coarse: rowsOf(count, table.count),
        width,
        starts,
      }),
    } as ConstructorParameters<typeof Space>[0]);
  });
}

const REMOVED: ColumnSchema = { name: 'row', type: 'uint32' };

/** The bytes of a file with the numbers of removed rows, which ascend. */
export function removedToArrow(rows: Uint32Array): Uint8Array {
  return writeTable([REMOVED], { kind: 'removed' }, [{ count: rows.length, rows: { row: rows } }]);
}

/** Reads such a file; a FormatError where the numbers do not ascend. */
export function removedFromArrow(bytes: Uint8Array, file: string): Uint32Array {
  const table = openTable(bytes, file, { kind: 'removed' });
  return asArrow(file, () => {
    const rows = readNumbers(table, REMOVED) as Uint32Array;
    for (let i = 1; i < rows.length; i++) {
      if (rows[i] <= rows[i - 1]) throw new Error(`row ${rows[i]} after row ${rows[i - 1]}`);
    }
    return rows;
  });
}
