/**
 * Puts rows into the partitions of a space: the only function that assigns rows, whether they were
 * just added, are built from files, or get another space. Threads share the work of many rows.
 */

import { NO_ROW } from '../kernels/hits';
import type { Task } from '../threads/job';
import { Space, type SpaceParts } from './space';

/** Rows as a space places them: their vectors where it is dense, else their codes. */
export interface RowsToPlace {
  /** By place the row, or NO_ROW where there is none that can be found. */
  readonly rows: Uint32Array;
  /** Dense vectors, one after another, and their lengths. */
  readonly values: Float32Array | Int8Array | null;
  readonly norms: Float64Array | null;
  readonly codes: Uint8Array | null;
}

/** What a space says of rows, in their order. */
export interface PlacedRows {
  readonly partitions: Uint32Array;
  /** Null without copies. */
  readonly seconds: Uint32Array | null;
  /** Entries of dense rows, those of one row next to each other; scale 0 where there is none. */
  readonly entries: { readonly codes: Uint8Array; readonly scales: Float32Array } | null;
}

/** Rows of one call: some milliseconds. */
export const PLACED_AT_ONCE = 1024;

export function place(space: Space, hasCopies: boolean, given: RowsToPlace): PlacedRows {
  const points = pointsOf(space, given);
  const partitions = space.nearestTo(points);
  const seconds = hasCopies ? space.secondsOf(points, partitions) : null;
  const known = { partitions, seconds };
  return { ...known, entries: entriesOf(space, known, given) };
}

/** The entries of rows in their partitions; null where the space has none. */
function entriesOf(
  space: Space,
  { partitions, seconds }: Pick<PlacedRows, 'partitions' | 'seconds'>,
  { rows, values: all, norms }: RowsToPlace,
): PlacedRows['entries'] {
  const { bytesPerEntry } = space;
  if (bytesPerEntry === 0) return null;
  const each = seconds === null ? 1 : 2;
  const values = all as Float32Array | Int8Array;
  const { dimensions } = space.parts;
  const codes = new Uint8Array(each * rows.length * bytesPerEntry);
  const scales = new Float32Array(each * rows.length);
  for (let i = 0; i < rows.length; i++) {
    const norm = (norms as Float64Array)[i];
    if (rows[i] === NO_ROW || !(norm > 0)) continue;
    const rotated = space.rotated(values.subarray(i * dimensions, (i + 1) * dimensions), norm);
    for (let own = 0; own < each; own++) {
      const p = own === 0 || seconds === null ? partitions[i] : seconds[i];
      const made = space.encode(rotated, p);
      codes.set(made.code, (each * i + own) * bytesPerEntry);
      scales[each * i + own] = made.scale;
    }
  }
  return { codes, scales };
}

/** The points of rows; zeros where there is no row. */
export function pointsOf(space: Space, { rows, values, norms, codes }: RowsToPlace): Int16Array {
  const { width } = space;
  const { dimensions, kind } = space.parts;
  const points = new Int16Array(rows.length * width);
  const bytesPerCode = Math.ceil(dimensions / 8);
  for (let i = 0; i < rows.length; i++) {
    if (rows[i] === NO_ROW) continue;
    if (kind === 'codes') {
      const code = (codes as Uint8Array).subarray(i * bytesPerCode, (i + 1) * bytesPerCode);
      space.pointOfCode(code, points, i * width);
    } else {
      const own = (values as Float32Array).subarray(i * dimensions, (i + 1) * dimensions);
      space.pointOfVector(own, (norms as Float64Array)[i], points, i * width);
    }
  }
  return points;
}

/** The state that is sent to a thread before it places rows. */
interface PlacingState {
  readonly space: SpaceParts;
  readonly hasCopies: boolean;
}

export const PLACING: Task<PlacingState, RowsToPlace, PlacedRows> = {
  name: 'placing',
  open({ space: parts, hasCopies }) {
    const space = new Space(parts);
    return (rows) => place(space, hasCopies, rows);
  },
};
