/**
 * A space as a sealed file: the centroids of its partitions, then those of the groups of partitions
 * by which rows find theirs, and in the schema all else. And a file of removed rows.
 */

import { checkInteger, checkNumber, checkOneOf, wrongValue } from '../base/check';
import { Space } from '../index/space';
import { centroidBits, checkedTree } from '../k-means/centroid-tree';
import { allocatePoints } from '../k-means/k-means';
import { endPoint, pointWidth } from '../kernels/products';
import { asArrow } from '../table/arrow/batches';
import {
  type ColumnSchema,
  openTable,
  readNumbers,
  writeTable,
} from '../table/sealed/sealed-table';

const CENTROID = (width: number | null): ColumnSchema => {
  return { name: 'centroid', type: { vector: 'uint8', width } };
};

/** Values of so many bits, one after another in each row of whole bytes, the lowest bits first. */
interface PackedBits {
  readonly bits: number;
  readonly dimensions: number;
}

const bytesOf = ({ bits, dimensions }: PackedBits) => Math.ceil((bits * dimensions) / 8);

/** Calls `take` for each value of a row with the first byte that it is in, and its shift. */
function eachValue(
  row: number,
  packed: PackedBits,
  take: (dimension: number, byte: number, shift: number) => void,
): void {
  const first = 8 * row * bytesOf(packed);
  for (let i = 0, at = first; i < packed.dimensions; i++, at += packed.bits) {
    take(i, at >> 3, at & 7);
  }
}

export function spaceToArrow(space: Space): Uint8Array {
  const { kind, dimensions, seed, nearness, tree } = space.parts;
  const { width } = space;
  const count = (tree.centroids.length + tree.coarse.length) / width;
  const packed = { bits: centroidBits(dimensions), dimensions };
  const centroid = new Uint8Array(count * bytesOf(packed));
  for (let i = 0; i < count; i++) {
    const [from, at] = i < space.count ? [tree.centroids, i] : [tree.coarse, i - space.count];
    eachValue(i, packed, (dimension, byte, shift) => {
      const value = from[at * width + dimension] + 2 ** (packed.bits - 1);
      centroid[byte] |= value << shift;
      if (shift + packed.bits > 8) centroid[byte + 1] |= value >> (8 - shift);
    });
  }
  const header = {
    kind: 'space',
    of: kind,
    dimensions,
    seed: String(seed),
    nearness,
    centroidBits: packed.bits,
    partitions: space.count,
    starts: Array.from(tree.starts),
  };
  const batch = { count, rows: { centroid } };
  return writeTable([CENTROID(bytesOf(packed))], header, [batch]);
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
    const packed = { bits: centroidBits(wanted), dimensions: wanted };
    checkInteger('centroidBits', table.header.centroidBits, packed.bits, packed.bits);
    const bytes = readNumbers(table, CENTROID(null)) as Uint8Array;
    if (bytes.length !== table.count * bytesOf(packed)) {
      throw wrongValue('centroid', `${bytesOf(packed)} bytes`, bytes.length / table.count);
    }
    const lowest = -(2 ** (packed.bits - 1));
    const rowsOf = (from: number, to: number) => {
      const own = allocatePoints(to - from, width);
      for (let i = 0; i < to - from; i++) {
        eachValue(from + i, packed, (dimension, byte, shift) => {
          const value = ((bytes[byte] | (bytes[byte + 1] << 8)) >> shift) & (-2 * lowest - 1);
          if (value === 0) throw wrongValue('centroid', `integers above ${lowest}`, lowest);
          own[i * width + dimension] = value + lowest;
        });
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
