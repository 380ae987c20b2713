/**
 * An index as one Arrow file, which any Arrow reader opens: a row's id, code and vector in columns,
 * all else as JSON in the schema. Rows ascend; they are placed in the space again when the file is
 * read. Free functions, so that a bundle of `SimHashIndex` has no apache-arrow.
 */

import { ascending, isValid } from '../base/arrays';
import { checkInteger, checkOptions, checkText, type Ids, wrongType } from '../base/check';
import { checkUnusedBits } from '../codes/codes';
import { type Id, type IdKind, idsOnce, newIds } from '../index/ids';
import type { IndexCore } from '../index/index-core';
import { MemoryIndex } from '../index/memory-index';
import { Rows } from '../index/rows';
import { merged, Tail } from '../index/segment';
import { coreOf, SimHashIndex } from '../index/simhash-index';
import type { Space } from '../index/space';
import { type ArrowSource, asArrow } from '../table/arrow/batches';
import { tableOfVectors, vectorsOfTable } from '../table/sealed/index-rows';
import {
  BATCH_ROWS,
  batchRanges,
  type Rows as CodeRows,
  type ColumnSchema,
  openTable,
  readRows,
  type TableBatch,
  writeTable,
} from '../table/sealed/sealed-table';
import { columnsOfCodes, columnsOfVectors, idColumn, idType, layoutOf, NO_VECTORS } from './blocks';
import { headerOf, type IndexHeader, optionsOf, queryPartsOf } from './manifest';
import { spaceFromArrow, spaceToArrow } from './space-file';

/** What the schema of such a file says; a space is the base64 text of its own file. */
type FileHeader = IndexHeader & { readonly space: string | null };

/**
 * Largest `nextRow` for so many rows: 64 for each, or 2^26. A gap of removed rows takes memory as
 * well, and a damaged file must not ask for any amount of it.
 */
function maxNextRow(count: number): number {
  return Math.min(2 ** 32 - 16, Math.max(2 ** 26, 64 * count));
}

/** The columns of the file of an index with this header, in their order. */
export function columnsOfIndex(header: IndexHeader): readonly ColumnSchema[] {
  const layout = layoutOf(header, null, null);
  return [
    { name: 'id', type: 'ids', isOptional: true },
    { name: 'row', type: 'uint32', isOptional: true },
    ...columnsOfCodes(layout),
    ...columnsOfVectors(layout),
  ];
}

/** The index as the bytes of one Arrow file. */
export function indexToArrow(index: SimHashIndex): Uint8Array {
  const core = coreOf(index);
  core.refuseIfBusy();
  const live = core.rows.liveRows();
  const { space, nextRow } = core.rows;
  if (nextRow > maxNextRow(live.length)) {
    throw new Error('nearly all rows were removed: add the others to a new index');
  }
  const header = {
    kind: 'index',
    ...headerOf(core),
    space: space && toBase64(spaceToArrow(space)),
  };
  const hasGaps = live.length > 0 && live[live.length - 1] !== live.length - 1;
  const own = Array.from(live, (row) => core.rows.idOf(row) as Id);
  const ids = core.idKind === 'row' ? null : idColumn(own, idType(own));
  const batches = batchRanges(live.length, batchRows(header)).map(([first, end]): TableBatch => {
    const rows = live.subarray(first, end);
    const { codes: bytes, validity, vectors } = core.copyOf(rows);
    const held = tableOfVectors(vectors?.gather(ascending(rows.length)) ?? NO_VECTORS);
    const id = ids && (ids.slice(first, end) as Ids);
    const row = hasGaps ? rows : null;
    return { count: rows.length, rows: { id, row, code: { bytes, validity }, ...held } };
  });
  return writeTable(columnsOfIndex(header), header, batches);
}

/** Most bytes of the vectors in a batch: far below 2 GiB, which the Arrow library cannot write. */
const BATCH_BYTES = 2 ** 30;

function batchRows({ dimensions = 1 }: Pick<IndexHeader, 'dimensions'>): number {
  return Math.max(1, Math.min(BATCH_ROWS, Math.floor(BATCH_BYTES / (4 * dimensions))));
}

/**
 * An index that `indexToArrow` wrote. Damaged bytes throw a FormatError, with the name given by
 * `file`.
 *
 * @example
 * const index = new SimHashIndex<string>();
 * index.add([1, 0], 'a');
 * console.log(indexFromArrow(indexToArrow(index)).search([1, 0]).ids); // [ 'a' ]
 */
export function indexFromArrow(source: ArrowSource, options?: { file?: string }): SimHashIndex {
  const { file } = checkOptions(options, { file: checkText });
  const opened = openTable(source, file, { kind: 'index' });
  return asArrow(file, () => {
    const header = opened.header as unknown as FileHeader;
    const index = new SimHashIndex(optionsOf(header));
    const core = coreOf(index);
    core.take(queryPartsOf(header));
    checkInteger('nextRow', header.nextRow, opened.count, maxNextRow(opened.count));
    const { bits, dense } = core;
    const sizes = { bits, dimensions: dense?.dimensions ?? bits, hasCopies: header.copies };
    const space =
      header.space === null
        ? null
        : spaceFromArrow(fromBase64(header.space), file ?? 'space', sizes);
    core.rows = rowsOf(core, header, space, opened);
    return index;
  });
}

/** Reads the rows of a file, batch by batch, and places them in its space as one segment. */
function rowsOf(
  core: IndexCore,
  header: FileHeader,
  space: Space | null,
  { count: total, batches }: ReturnType<typeof openTable>,
): MemoryIndex {
  const { ids: kind, nextRow, bits } = header;
  const columns = columnsOfIndex(header);
  const { options } = core.rows;
  const { bytesPerCode, newVectors } = options;
  const rows = new Rows(0, bytesPerCode, newVectors());
  const tail = new Tail(rows, space);
  const numbers = new Uint32Array(total);
  const ids: Id[] = [];
  let last = -1;
  for (const batch of batches) {
    const { numRows: count } = batch;
    const table = readRows(batch, columns, rows.count);
    const { bytes: codes, validity } = table.code as CodeRows;
    checkUnusedBits(codes, bits, rows.count);
    const vectors = vectorsOfTable(table, rows.count);
    const own = count === 0 ? null : idsOf(table.id as Ids | null, kind);
    for (const id of own ?? []) ids.push(id);
    const places = Uint32Array.from({ length: count }, (_, i) => rows.count + i);
    for (const [i, place] of places.entries()) {
      const row = (table.row as Uint32Array | null)?.[i] ?? last + 1;
      if (row <= last || row >= nextRow) {
        throw new Error(`row number ${row} after ${last}, the next being ${nextRow}`);
      }
      numbers[place] = row;
      last = row;
    }
    const isNull = (i: number) => !isValid(validity, i);
    rows.append({ count, codes, isNull, ids: own, vectors: null }, 0, count);
    rows.vectors?.skip(count);
    rows.vectors?.restore(vectors, places);
  }
  core.idKind = kind;
  if (ids.length > 0) newIds(kind, ids, ids.length);
  idsOnce(ids, () => false)(0, ids.length);
  rows.number(numbers, nextRow);
  tail.assign();
  const rest = { bytesPerCode, vectors: newVectors(), space };
  return new MemoryIndex(options, space, nextRow, total === 0 ? [] : [merged([tail], rest)]);
}

/** The ids of a batch in the kind that the header names. */
function idsOf(ids: Ids | null, kind: IdKind | null): readonly Id[] | null {
  const isWide = kind === 'number' && typeof ids?.[0] === 'bigint';
  const own = ids && Array.from(ids as Iterable<Id>, (id) => (isWide ? Number(id) : id));
  if ((own === null ? 'row' : typeof own[0]) === (kind ?? 'row')) return own;
  throw new Error(`ids are of kind ${kind}, the column is not`);
}

/** Bytes of a piece: a multiple of 3, so that the base64 texts of pieces can be joined. */
const PIECE = 3 << 12;

function toBase64(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += PIECE) {
    text += btoa(String.fromCharCode(...bytes.subarray(at, at + PIECE)));
  }
  return text;
}

function fromBase64(text: unknown): Uint8Array {
  if (typeof text !== 'string') throw wrongType('space', 'base64 or null', text);
  const decoded = atob(text);
  const bytes = new Uint8Array(decoded.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = decoded.charCodeAt(i);
  return bytes;
}
