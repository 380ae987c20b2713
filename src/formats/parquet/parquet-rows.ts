/** Reads rows of Parquet, a row group at a time, so that memory is what one row group takes. */

import { asFormatError } from '../../base/format-error';
import type { ByteFile } from '../../table/arrow/batches';
import { type Column, plainColumn, plainData } from '../../table/columns/make';
import { RowBatch } from '../../table/row-batch';
import type { ByteSource } from '../byte-source';
import { checkColumns, type FormatRows, type ReadOptions } from '../row-reader';
import { columnData, kindOfNode, leafType } from './columns';
import { type Node, type RowGroup, readFooter } from './metadata';
import { Budget, LeafReader, type LeafValues } from './pages';

/** Reads rows of Parquet; memory holds one row group. */
export async function parquetRows(source: ByteSource, options: ReadOptions): Promise<FormatRows> {
  const { name: file } = source;
  const bytes = await source.randomAccess(); // its schema comes last
  const { columns, groups, rowCount } = await asParquet(file, () => readFooter(bytes));
  const names = columns.map(({ name }) => name);
  const wanted = new Set(options.columns ?? names);
  checkColumns(wanted, names);
  const plans = columns
    .filter(({ name }) => wanted.has(name))
    .map((node) => ({ node, name: node.name, kind: kindOfNode(node) }));
  const none = plans.map(({ name, kind }) => plainColumn(name, kind, plainData(kind, [])));
  const empty = RowBatch.ofColumns(none, 0, { file });

  const read: FormatRows['read'] = async (send) => {
    const nodes = plans.map(({ node }) => node);
    let firstRow = 0;
    for (const group of groups.filter(({ rows }) => rows > 0)) {
      const { rows } = group;
      const budget = new Budget(bytesOf(group, nodes, bytes.byteCount));
      const chunks = nodes.flatMap((node) => chunksOf(group, node));
      bytes.willRead?.(chunks.map(({ start: at, byteCount: length }) => ({ at, length })));
      const made: Column[] = [];
      for (const plan of plans) {
        const { node, name, kind } = plan;
        const data = await asParquet(file, async () => {
          const leaves = await leavesOf(node, group, bytes, new Budget(budget.bytes));
          return columnData({ ...plan, rows }, leaves, budget);
        });
        made.push(plainColumn(name, kind, data));
      }
      await send(RowBatch.ofColumns(made, rows, { firstRow, file }));
      firstRow += rows;
    }
    if (firstRow === 0) await send(empty);
  };
  return { columns: empty.columns, rowCount, read };
}

/** Bytes of some columns of a row group. Chunks may overlap, so at most the bytes of the file. */
function bytesOf(group: RowGroup, nodes: readonly Node[], max: number): number {
  const chunks = nodes.flatMap((node) => chunksOf(group, node));
  return Math.min(
    max,
    chunks.reduce((sum, { byteCount }) => sum + byteCount, 0),
  );
}

function chunksOf({ chunks }: RowGroup, { firstLeaf, leafCount }: Node) {
  return chunks.slice(firstLeaf, firstLeaf + leafCount);
}

/** The values of all leaves of a column in a row group. */
async function leavesOf(
  node: Node,
  group: RowGroup,
  file: ByteFile,
  budget: Budget,
): Promise<LeafValues[]> {
  const nodes = nodesOfLeaves(node);
  const leaves: LeafValues[] = [];
  for (const [i, chunk] of chunksOf(group, node).entries()) {
    const bytes = new Uint8Array(chunk.byteCount);
    await file.readInto(bytes, chunk.start);
    leaves.push(new LeafReader(nodes[i], chunk, leafType(nodes[i]).turn, budget).read(bytes));
  }
  return leaves;
}

function nodesOfLeaves(node: Node): Node[] {
  return node.children.length === 0 ? [node] : node.children.flatMap(nodesOfLeaves);
}

const asParquet = <T>(file: string, read: () => Promise<T>): Promise<T> =>
  asFormatError(file, read, 'cannot be read as Parquet');
