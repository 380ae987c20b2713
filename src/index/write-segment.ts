/**
 * Rows of an index as the blocks of a segment (docs/format.md): in the order of their partitions,
 * with the residual codes that the index holds. Rows without a code come last.
 */

import { lowerBound } from '../base/arrays';
import type { Ids } from '../base/ids';
import {
  MAX_BLOCK_ROWS,
  NO_PARTITION,
  type SegmentLayout,
  type SegmentRows,
  vectorChecks,
} from '../table/sealed/segment-tables';
import { codesOf, firstsOf } from './distinct/row-codes';
import type { IndexParts } from './index-parts';

/** Bytes of codes of a block in an index without partitions. */
const BLOCK_BYTES = 2 ** 20;
/** Most bytes of the vectors of a block: far below the 2 GiB that Arrow's library can write. */
const VECTOR_BYTES = 2 ** 30;

/** Which rows a segment has, and how files name them. */
interface RowsToSave {
  /** The rows, ascending. */
  readonly rows: Uint32Array;
  /** All live rows, if rows are saved by their positions among them; null if they keep theirs. */
  readonly renumbered: Uint32Array | null;
  /** The partition of each distinct code; null without partitions. */
  readonly partitionOf: Uint32Array | null;
  /** Its second partition; null without copies. */
  readonly secondOf: Uint32Array | null;
}

/**
 * The layout of a segment and its blocks, one or more, each made when it is asked for. With
 * `isCopies` those of its rows in their second partitions, without vectors.
 */
export function segmentOf(
  parts: IndexParts,
  { rows: all, renumbered, ...of }: RowsToSave,
  isCopies = false,
): { layout: SegmentLayout; blocks: Generator<SegmentRows> } {
  const { distinctCodes, vectors, hasher, partitions } = parts;
  const ownOf = isCopies ? of.secondOf : of.partitionOf;
  const partitionOfRow = (row: number) => {
    if (!distinctCodes.hasCode(row)) return NO_PARTITION;
    return ownOf?.[distinctCodes.distinctOf(row)] ?? 0;
  };
  const rows = isCopies ? all.filter((row) => distinctCodes.hasCode(row)) : all;
  const { order, starts } = byPartition(rows, partitionOfRow, partitions?.count ?? 1);
  const numbered = (some: Uint32Array) =>
    renumbered === null ? some : some.map((row) => lowerBound(renumbered, row));
  const firsts = firstsOf(distinctCodes, order);
  const ids = parts.ids.columnOf(order);
  const whole = isCopies ? parts.ids.columnOf(all) : ids;
  const residualBytes = residualBytesIn(parts);
  const layout: SegmentLayout = {
    ...{ bits: parts.bits, dimensions: hasher.dimensions ?? 0, vectors: vectors?.kind ?? 'none' },
    ...{ id: typeOf(whole), hasFirsts: firsts !== null, residualBytes, link: linkOf(of, isCopies) },
  };
  const blockOf = (first: number, end: number): SegmentRows => {
    const some = order.slice(first, end);
    const columns = vectors?.gather(some) ?? { vectors: null, scales: null, sparse: null };
    const { secondOf } = of;
    const partition = partitionOfRow(some[0]);
    return {
      ...{ count: some.length, partition, rows: numbered(some) },
      ids: ids && idsLike(ids.slice(first, end) as Ids, whole),
      firsts: firsts && numbered(firsts.slice(first, end)),
      ...codesOf(distinctCodes, some),
      ...columns,
      checks: vectorChecks(columns, some.length),
      ...residualsOf(parts, some, isCopies),
      links: secondOf && some.map((row) => secondOf[distinctCodes.distinctOf(row)] ?? 0),
    };
  };
  const most = maxBlockRows(parts, partitions !== null);
  function* blocks(): Generator<SegmentRows> {
    for (let i = 0; i + 1 < starts.length; i++) {
      for (let first = starts[i]; first < starts[i + 1]; ) {
        const wanted = Math.min(starts[i + 1], first + most);
        const end = vectors?.endOf(order, first, wanted) ?? wanted;
        yield blockOf(first, end);
        first = end;
      }
    }
  }
  return { layout, blocks: blocks() };
}

/** Ids of some rows as an array of the type that those of all rows have, which is as wide. */
function idsLike(ids: Ids, whole: Ids | null): Ids {
  if (whole === null || ids.constructor === whole.constructor) return ids;
  const Type = whole.constructor as BigInt64ArrayConstructor;
  const isBig = whole instanceof BigInt64Array || whole instanceof BigUint64Array;
  return Type.from(ids as never, (isBig ? BigInt : Number) as never);
}

/** The column of links: none, or those of rows, or of copies. */
function linkOf({ secondOf }: Pick<RowsToSave, 'secondOf'>, isCopies: boolean) {
  if (secondOf === null) return null;
  return isCopies ? 'at' : 'second';
}

/** Most rows of a block. */
export function maxBlockRows(
  { hasher, distinctCodes }: IndexParts,
  isPartitioned: boolean,
): number {
  const byVectors = Math.floor(VECTOR_BYTES / (4 * (hasher.dimensions ?? 1)));
  const { bytesPerCode } = distinctCodes;
  const byCodes = isPartitioned ? MAX_BLOCK_ROWS : Math.ceil(BLOCK_BYTES / (bytesPerCode + 8));
  return Math.max(1, Math.min(MAX_BLOCK_ROWS, byVectors, byCodes));
}

/**
 * Rows ordered by partition, then row; those without a code last. Group i is `order[starts[i]]` to
 * `order[starts[i + 1] - 1]`.
 */
function byPartition(
  rows: Uint32Array,
  partitionOf: (row: number) => number,
  count: number,
): { order: Uint32Array; starts: Uint32Array } {
  const group = (row: number) => Math.min(partitionOf(row), count);
  const starts = new Uint32Array(count + 2);
  for (const row of rows) starts[group(row) + 1]++;
  for (let i = 1; i < starts.length; i++) starts[i] += starts[i - 1];
  const next = starts.slice();
  const order = new Uint32Array(rows.length);
  for (const row of rows) order[next[group(row)]++] = row;
  return { order, starts };
}

/** Bytes of a residual code of this index; 0 where it holds none. */
export function residualBytesIn({ partitions }: IndexParts): number {
  return partitions?.residualCodes?.parts.bytesPerRow ?? 0;
}

/**
 * Residual codes and scales of rows, with `isCopy` those in second partitions; zeros where a row
 * has no code, null where there are none.
 */
export function residualsOf(
  parts: IndexParts,
  rows: Uint32Array,
  isCopy = false,
): Pick<SegmentRows, 'residuals' | 'residualScales'> {
  const { partitions, distinctCodes } = parts;
  const width = residualBytesIn(parts);
  if (partitions === null || width === 0) return { residuals: null, residualScales: null };
  const residuals = new Uint8Array(rows.length * width);
  const residualScales = Float32Array.from(rows, (row, i) =>
    distinctCodes.hasCode(row) ? partitions.residualInto(row, residuals, i * width, isCopy) : 0,
  );
  return { residuals, residualScales };
}

/** The Arrow type of a column of these ids; null without ids. */
export function typeOf(ids: Ids | null): string | null {
  if (ids === null) return null;
  if (ids instanceof Int32Array) return 'Int32';
  if (ids instanceof Uint32Array) return 'Uint32';
  if (ids instanceof BigInt64Array) return 'Int64';
  return ids instanceof BigUint64Array ? 'Uint64' : 'Utf8';
}
