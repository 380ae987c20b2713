/**
 * The map as rows that Embedding Atlas opens (`--x x --y y --neighbors neighbors`): id and columns
 * of each row, its place and its cluster, and near rows by their numbers in the file.
 */

import { ascending } from '../../base/arrays';
import { type Neighbors, parquetWithNeighbors } from '../../formats/parquet/parquet-out';
import { type ColumnData, RowBatch } from '../../node';
import { dot, type MapPoints, type PlacedRows } from '../layout/map-rows';
import type { Explored } from './explored';
import { mapAnswer } from './map';

/** Rows whose vectors, with those of their neighbours, are in memory at once. */
const BLOCK_ROWS = 1024;

/** The Parquet file of a map. */
export function atlasFile(
  explored: Explored,
  points: MapPoints,
  placed: PlacedRows,
): Promise<Uint8Array> {
  const { rows, x, y, labels } = placed;
  const carried = explored.columnsOf(rows);
  const names = mapAnswer(explored, placed).clusters.map(({ name }) => name);
  const columns = (carried?.columns ?? []).map(({ name }) => [name, carried?.column(name)]);
  const batch = RowBatch.of({
    id: Array.from(rows, (row) => explored.index.idOf(row)) as ColumnData,
    ...(Object.fromEntries(columns) as Record<string, ColumnData>),
    x,
    y,
    cluster: Int32Array.from(labels),
    label: Array.from(labels, (cluster) => names[cluster]),
  });
  return parquetWithNeighbors(batch, neighborsOf(points, placed));
}

/** Distances are 1 minus the cosine of the vectors by which rows were laid out. */
function neighborsOf(points: MapPoints, { rows, neighbors }: PlacedRows): Neighbors[] {
  const found: Neighbors[] = [];
  for (let first = 0; first < rows.length; first += BLOCK_ROWS) {
    const block = ascending(Math.min(BLOCK_ROWS, rows.length - first)).map((i) => first + i);
    const lists = [...block].map((point) => Array.from(neighbors[point]));
    const all = Uint32Array.from(new Set([...block, ...lists.flat()])).sort();
    const at = new Map([...all].map((point, i) => [point, i]));
    const { values, dimensions } = points.vectorsOf(all);
    const product = (a: number, b: number) =>
      dot(values, a * dimensions, values, b * dimensions, dimensions);
    lists.forEach((ids, i) => {
      const own = at.get(block[i]) as number;
      const distances = ids.map((id) => {
        const other = at.get(id) as number;
        const lengths = Math.sqrt(product(own, own) * product(other, other));
        return Math.max(0, 1 - product(own, other) / lengths);
      });
      found.push({ ids, distances });
    });
  }
  return found;
}
