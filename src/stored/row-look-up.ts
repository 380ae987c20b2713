/**
 * Reads one row of a stored index by its id: the hash of the id leads to its block, then its vector
 * is read.
 */

import type { Id } from '../index/id-table';
import type { IndexRow } from '../index/search';
import { hashOfId } from '../table/sealed/look-up-tables';
import { NO_PARTITION } from '../table/sealed/segment-tables';
import { type LoadedBlock, type RowPlace, rowPlace } from './block-reader';
import type { LookUps } from './look-ups';
import type { Passing } from './passing-blocks';
import { checkVector, readVectorsAt } from './vector-cache';

/** A row, and the place of its vector. */
interface FoundRow {
  readonly row: number;
  readonly id: Id;
  /** Null if the row has no code. */
  readonly code: Uint8Array | null;
  readonly place: RowPlace;
}

/** The live row with an id; null if there is none, also for an id of another kind. */
export async function findRow(
  passing: Passing,
  lookUps: LookUps,
  id: Id,
): Promise<FoundRow | null> {
  const { content, reader, signal } = passing;
  const kind = content.header.ids;
  if (kind !== (typeof id === 'number' && kind === 'row' ? 'row' : typeof id)) return null;
  const isNumber = typeof id === 'number';
  // Such a number cannot be an id, and has no hash.
  if (isNumber && !Number.isSafeInteger(id)) return null;
  // Several rows may have the hash: the block shows which one has the id.
  for await (const { segment, block } of lookUps.find('ids', [hashOfId(id)], signal)) {
    const [read] = await reader.blocks([{ segment, block }], signal);
    const found = inBlock(passing, read, id);
    if (found !== null) return found;
  }
  return null;
}

/** The live row of an id within a block, or null. */
function inBlock({ content, view }: Passing, block: LoadedBlock, id: Id): FoundRow | null {
  const kind = content.header.ids;
  const width = view.distinctCodes.bytesPerCode;
  const { rows, count, ids, codes, partition } = block.rows;
  for (let place = 0; place < count; place++) {
    const own = ids?.at(place) ?? rows[place];
    if ((kind === 'number' ? Number(own) : own) !== id || content.removed.has(rows[place]))
      continue;
    const code =
      partition === NO_PARTITION ? null : codes.slice(place * width, (place + 1) * width);
    return { row: rows[place], id, code, place: rowPlace(block, place) };
  }
  return null;
}

/**
 * The row with its vector, as `SimHashIndex.get` returns it. A float32 vector is read alone; other
 * vectors are read with their whole block.
 */
export async function readRow(
  { reader, signal }: Passing,
  { row, id, code, place: at }: FoundRow,
): Promise<IndexRow> {
  const { segment, place } = at;
  const { table } = segment;
  if (segment.vectors === null || code === null) return { row, id, code, vector: null };
  if (table.layout.vectors === 'float32') {
    const [bytes] = await readVectorsAt(reader, [at], 4 * table.layout.dimensions, signal);
    // A copy that the caller may keep and change.
    const vector = new Float32Array(bytes.slice().buffer);
    checkVector(reader, at, [vector]);
    return { row, id, code, vector };
  }
  // The data of an int8 or sparse row lie in several columns of the block.
  const [{ vectors, scales, sparse }] = await reader.vectors([at], signal);
  if (sparse !== null) {
    const [from, to] = [sparse.offsets[place], sparse.offsets[place + 1]];
    const vector = {
      indices: sparse.indices.slice(from, to),
      values: sparse.weights.slice(from, to),
    };
    return { row, id, code, vector };
  }
  const { dimensions } = table.layout;
  const values = vectors?.subarray(place * dimensions, (place + 1) * dimensions) ?? [];
  const scale = scales?.[place] ?? 1;
  return { row, id, code, vector: Float32Array.from(values, (value) => value * scale) };
}
