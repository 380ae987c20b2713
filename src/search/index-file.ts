/**
 * An index as the bytes of one Arrow file, and back. Row numbers, ids and results stay as they are:
 * removed rows are left out, and leave a gap in the numbers. docs/format.md is the specification.
 */

import { checkInteger, checkNumber, checkOneOf, wrongType, wrongValue } from '../check';
import { type IndexRows, indexToArrow, type OpenedIndex } from '../codes/arrow-index';
import { isValid } from '../codes/vectors';
import { integerWidth } from '../kernels/products.scalar';
import { runSteps } from '../long-call';
import type { IdKind } from './id-table';
import { RANKS, type SimHashIndexOptions } from './index-options';
import { allocateCentres } from './k-means';
import { KEEPS } from './kept-vectors';
import { groupedSlots, Partitions } from './partitions';
import type { RecallReport } from './recall-report';
import { MOST_ROWS } from './slots';
import type { IndexState } from './state';

/** What the schema's JSON says of an index, beside how its codes were made. */
interface IndexHeader {
  readonly kind: 'index';
  readonly bits: number;
  readonly projection: string;
  readonly seed: string;
  readonly dimensions?: number;
  readonly zero: string;
  readonly keep: string;
  readonly mean: readonly number[] | null;
  /** True when codes were added that these options did not make. */
  readonly isForeign: boolean;
  readonly ids: IdKind | null;
  /** The number that the next row gets. */
  readonly nextRow: number;
  readonly report: RecallReport | null;
  /** The partitions' centres as base64 of 16-bit integers, little-endian. */
  readonly centres: string | null;
}

export function bytesOfIndex(state: IndexState, keep: string): Uint8Array {
  const { slots, ids, vectors, partitions, hasher } = state;
  const live = slots.liveRows();
  const isSparse = slots.rowCount > mostNumbers(live.length);
  if (isSparse && ids.kind === 'row') {
    throw new Error('nearly all rows were removed, and their numbers are ids: add the rest anew');
  }
  // Where ids tell the rows apart, their numbers may begin anew.
  const hasGaps = !isSparse && live.length > 0 && live[live.length - 1] !== live.length - 1;
  const partitionOf = partitions?.partitionOfSlots(slots.count) ?? null;
  const header: IndexHeader = {
    kind: 'index',
    ...{ bits: state.bits, projection: hasher.projection, seed: String(hasher.seed) },
    ...(hasher.dimensions !== undefined && { dimensions: hasher.dimensions }),
    ...{ zero: hasher.zero, keep, mean: state.mean && Array.from(state.mean) },
    ...{
      isForeign: state.isForeign,
      ids: ids.kind,
      nextRow: isSparse ? live.length : slots.rowCount,
    },
    ...{ report: state.report, centres: partitions && toBase64(partitions.centres) },
  };
  const column = ids.columnOf(live);
  return indexToArrow({ ...header }, live.length, (first, end) => {
    const rows = live.subarray(first, end);
    const { codes, validity } = codesOf(state, rows);
    return {
      ...{ count: rows.length, rows: hasGaps ? rows.slice() : null, codes, validity },
      ids: column && (column.slice(first, end) as typeof column),
      vectors: vectors?.gather(rows) ?? null,
      scales: vectors?.keep === 'int8' ? Float32Array.from(rows, (r) => vectors.scaleOf(r)) : null,
      partitions: partitionOf && Uint32Array.from(rows, (row) => partitionOf[slots.slotOf(row)]),
    };
  });
}

/**
 * Most row numbers of so many rows: a gap takes memory too, and a file must not ask for any amount
 * of it. 64 numbers a row, or 2^26.
 */
function mostNumbers(count: number): number {
  return Math.min(MOST_ROWS, Math.max(2 ** 26, 64 * count));
}

function codesOf({ slots }: IndexState, rows: Uint32Array) {
  const codes = new Uint8Array(rows.length * slots.bytesPerCode);
  const validity = new Uint8Array(Math.ceil(rows.length / 8));
  rows.forEach((row, i) => {
    if (!slots.hasCode(row)) return;
    validity[i >> 3] |= 1 << (i & 7);
    codes.set(slots.codeAt(slots.slotOf(row)), i * slots.bytesPerCode);
  });
  return { codes, validity };
}

/** The options of an index that was saved. */
export function optionsOf({ header }: OpenedIndex): SimHashIndexOptions {
  const { projection, seed, dimensions, zero, keep, mean } = header as unknown as IndexHeader;
  if (typeof seed !== 'string' || !/^\d{1,20}$/.test(seed)) {
    throw wrongValue('seed', 'an integer as a string', seed);
  }
  return {
    ...{ bits: header.bits, projection: projection as 'signs', seed: BigInt(seed) },
    ...(dimensions !== undefined && { dimensions }),
    ...{ zero: zero as 'error', keep: checkOneOf('keep', keep, KEEPS) },
    ...(mean !== null && { mean }),
  };
}

/** Fills a new index with the rows that were saved. */
export function restoreInto(state: IndexState, { header, count, batches }: OpenedIndex): void {
  const { isForeign, nextRow, ids } = header as unknown as IndexHeader;
  if (typeof isForeign !== 'boolean') throw wrongType('isForeign', 'true or false', isForeign);
  checkInteger('nextRow', nextRow, count, mostNumbers(count));
  const partitionOf: number[] = [];
  state.slots.reserve(nextRow);
  state.vectors?.reserve(nextRow);
  for (const rows of batches()) restoreRows(state, rows, ids, nextRow, partitionOf);
  skipTo(state, nextRow);
  state.isForeign = isForeign;
  const { centres, report } = header as unknown as IndexHeader;
  if (report !== null) state.report = checkReport(report);
  if (centres !== null) restorePartitions(state, centres, partitionOf);
}

function restoreRows(
  state: IndexState,
  given: IndexRows,
  kind: IdKind | null,
  nextRow: number,
  partitionOf: number[],
): void {
  const { slots, vectors } = state;
  const { bytesPerCode } = slots;
  if ((vectors === null) !== (given.vectors === null)) {
    throw new Error('vectors are kept, but there is no column "vector", or the other way round');
  }
  if ((vectors?.keep === 'int8') !== (given.scales !== null)) {
    throw new Error('there is no column "scale" for vectors of int8, or one without such vectors');
  }
  const ids = idsOf(given, kind);
  const checked = state.ids.check(ids, given.count);
  for (let first = 0; first < given.count; ) {
    const row = given.rows?.[first] ?? slots.rowCount;
    if (row < slots.rowCount || row >= nextRow) {
      throw new Error(`row number ${row} after ${slots.rowCount - 1}, the next being ${nextRow}`);
    }
    skipTo(state, row);
    let end = first + 1;
    while (end < given.count && (given.rows === null || given.rows[end] === row + end - first))
      end++;
    state.ids.append(checked?.slice(first, end) ?? null, end - first);
    if (vectors !== null && given.vectors !== null) {
      const { dimensions } = vectors;
      const values = given.vectors.subarray(first * dimensions, end * dimensions);
      checkFinite(values, row, dimensions);
      if (given.scales !== null) checkFinite(given.scales.subarray(first, end), row, 1);
      vectors.restore(values, given.scales?.subarray(first, end) ?? null);
    }
    for (let i = first; i < end; i++) {
      const isThere = isValid(given.validity, i);
      slots.add(isThere ? given.codes.subarray(i * bytesPerCode, (i + 1) * bytesPerCode) : null);
      if (isThere && given.partitions !== null) {
        partitionOf[slots.slotOf(slots.rowCount - 1)] ??= given.partitions[i];
      }
    }
    first = end;
  }
}

function skipTo({ slots, ids, vectors }: IndexState, row: number): void {
  const missing = row - slots.rowCount;
  if (missing === 0) return;
  slots.skip(missing);
  ids.skip(missing);
  vectors?.skip(missing);
}

/** Ids of the kind that the header tells. */
function idsOf({ ids, count }: IndexRows, kind: IdKind | null): unknown {
  checkOneOf('ids', kind ?? 'none', ['none', 'row', 'number', 'bigint', 'string']);
  if ((ids === null) !== (kind === null || kind === 'row')) {
    if (count > 0 || ids !== null) throw new Error(`ids are of kind ${kind}, the column is not`);
  }
  if (ids === null || kind !== 'number' || typeof ids[0] !== 'bigint') return ids;
  return Array.from(ids as BigInt64Array, Number);
}

function checkFinite(values: Float32Array | Int8Array, row: number, dimensions: number): void {
  if (values instanceof Int8Array) return;
  for (let i = 0; i < values.length; i++) {
    if (Number.isFinite(values[i])) continue;
    throw new Error(
      `row ${row + Math.floor(i / dimensions)}: its vector or scale has ${values[i]}`,
    );
  }
}

function restorePartitions(state: IndexState, text: string, partitionOf: number[]): void {
  const { slots, vectors, bits } = state;
  const width = integerWidth(vectors?.dimensions ?? bits);
  const values = fromBase64(text);
  const count = values.length / width;
  checkInteger('number of centres', count, 1, 65_536);
  const ofSlots = new Uint32Array(slots.count);
  for (let slot = 0; slot < slots.count; slot++) {
    ofSlots[slot] = checkInteger('partition', partitionOf[slot], 0, count - 1);
  }
  const centres = allocateCentres(count, width);
  centres.set(values);
  const grouped = runSteps(groupedSlots(slots, ofSlots, count), {});
  state.slots = grouped.slots;
  state.partitions = runSteps(Partitions.of(state, grouped.slots, centres, grouped.starts), {});
}

/** A report decides how searches run, so its numbers are looked at. */
function checkReport(report: RecallReport): RecallReport {
  checkNumber('report.recall', report.recall, 0, 1);
  checkNumber('report.wanted', report.wanted, 0, 1);
  checkOneOf('report.plan', report.plan, ['scan', 'partitions']);
  checkInteger('report.oversample', report.oversample, 1, 2 ** 32);
  checkInteger('report.probes', report.probes, report.plan === 'scan' ? 0 : 1, 2 ** 32);
  checkOneOf('report.rank', report.rank, RANKS);
  for (const name of ['k', 'rows', 'rowsAdded', 'rowsRemoved'] as const) {
    checkInteger(`report.${name}`, report[name], 0, 2 ** 32);
  }
  return report;
}

/** Characters of a piece, a multiple of 4, and bytes, of 3. */
const PIECE = 3 << 12;

function toBase64(values: Int16Array): string {
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  let text = '';
  for (let at = 0; at < bytes.length; at += PIECE) {
    text += btoa(String.fromCharCode(...bytes.subarray(at, at + PIECE)));
  }
  return text;
}

function fromBase64(text: unknown): Int16Array {
  if (typeof text !== 'string') throw wrongType('centres', 'base64', text);
  const decoded = atob(text);
  const bytes = Uint8Array.from(decoded, (character) => character.charCodeAt(0));
  return new Int16Array(bytes.buffer, 0, bytes.length >> 1);
}
