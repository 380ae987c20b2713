/**
 * New rows on their way into a folder; memory holds only a part of them. Rows are checked and
 * hashed batch by batch and written to a temporary file in pieces. Their ids and codes are stored
 * by hash, so that compared-rows.ts can find equal ones, both among the new rows and in the folder.
 */

import { ascending } from '../base/arrays';
import { wrongValue } from '../base/check';
import type { Ids } from '../base/ids';
import type { LongCall } from '../base/long-work';
import { runStepsAsync } from '../base/steps';
import { additionOf, type RowsToAdd } from '../index/add-rows';
import { type Id, type IdKind, IdTable } from '../index/id-table';
import type { Addition, IndexParts } from '../index/index-parts';
import { type DenseVectors, denseColumns } from '../index/vectors/dense-vectors';
import { SparseVectors } from '../index/vectors/sparse-vectors';
import { typeOf } from '../index/write-segment';
import { RowSet } from '../stored/row-set';
import { bytesOfId, hashOfCode, hashOfId } from '../table/sealed/look-up-tables';
import {
  joined,
  NO_VECTORS,
  picked,
  pieceBytes,
  piecesIn,
  range,
} from '../table/sealed/segment-pieces';
import {
  NO_PARTITION,
  type SegmentLayout,
  type SegmentRows,
  vectorChecks,
} from '../table/sealed/segment-tables';
import type { DenseMatrix, SparseMatrix } from '../vectors/vectors';
import type { GenerationWriter } from './generations';
import { HashGroups } from './hash-groups';
import { Spill } from './spill';

/** Most rows of a piece. */
export const PIECE_ROWS = 8192;
/** Most bytes of waiting rows in memory, however large the limit is. */
const ROW_BYTES = 2 ** 26;

interface NewRowsOptions {
  /** Parts of an index without rows. Its options check and hash the rows. */
  readonly parts: IndexParts;
  /** The kind of the ids that the folder has; null if it has no rows. */
  readonly ids: IdKind | null;
  /** The number of the first row. */
  readonly firstRow: number;
  /** Memory limit in bytes. Rows, ids and codes get one eighth each. */
  readonly memory: number;
}

/** Waiting rows in numbered pieces; a piece can be read back at any time. */
export class NewRows {
  /** Rows so far. */
  count = 0;
  /** The rows that have a code, and how many these are. */
  readonly #coded = new RowSet();
  codedCount = 0;
  /** True where the codes were not made by the options of the index. */
  isForeign = false;
  ids: IdKind | null;
  readonly firstRow: number;
  /** One more than the highest row number so far. */
  nextRow: number;
  /** The types of the ids in the pieces, as Arrow calls them; null where rows are the ids. */
  readonly idTypes = new Set<string | null>();
  readonly parts: IndexParts;
  /** The rows by the hashes of their ids, and by the hashes of their codes. */
  readonly byId: HashGroups;
  readonly byCode: HashGroups;
  /** Type of the ids and number of rows of each piece. */
  readonly #pieces: { readonly id: string | null; count: number }[] = [];
  readonly #rows: Spill;

  constructor(writer: GenerationWriter, { parts, ids, firstRow, memory }: NewRowsOptions) {
    this.parts = parts;
    this.ids = ids;
    this.firstRow = firstRow;
    this.nextRow = firstRow;
    this.#rows = new Spill(writer, Math.min(ROW_BYTES, memory / 8));
    this.byId = new HashGroups(writer, memory / 8);
    this.byCode = new HashGroups(writer, memory / 8);
  }

  /**
   * Adds a batch, whose rows get the next numbers. Throws where a row of it is refused; the message
   * counts rows over all batches.
   */
  async add(batch: RowsToAdd, ids: unknown, call: LongCall): Promise<void> {
    // An index without rows checks the batch by itself; ids of other rows are compared later.
    const empty = this.parts.emptyWith(new IdTable(this.ids));
    empty.isForeign = this.count > 0 ? this.isForeign : this.parts.isForeign;
    const addition = await runStepsAsync(additionOf(empty, batch, ids, true), call).catch((error) =>
      Promise.reject(countedOn(error, this.count)),
    );
    const { count } = addition.codes;
    if (count === 0) return;
    const isFirst = this.ids === null && this.count === 0;
    if (!isFirst && addition.isForeign !== (this.count > 0 ? this.isForeign : this.parts.isForeign))
      throw new Error('these codes were made otherwise than those of the index');
    this.isForeign = addition.isForeign;
    this.ids ??= addition.ids === null ? 'row' : (typeof addition.ids[0] as IdKind);
    if (this.nextRow + count > 2 ** 31)
      throw wrongValue('rows', 'at most 2^31', this.count + count);
    const table = new IdTable(this.ids);
    table.append(addition.ids, count);
    for (let first = 0; first < count; first += PIECE_ROWS) {
      call.signal?.throwIfAborted();
      const places = range(first, Math.min(first + PIECE_ROWS, count));
      await this.#take(addition, places, table.columnOf(places));
    }
  }

  /** Stores consecutive rows of an addition as one piece, those with a code first. */
  async #take({ codes, vectors }: Addition, places: Uint32Array, ids: Ids | null): Promise<void> {
    const id = typeOf(ids);
    const count = places.length;
    const [{ bytesPerCode }, first] = [codes, places[0]];
    const columns = vectorsOf(this.parts, vectors, places, (place) => !codes.isNull(place));
    const whole: SegmentRows = {
      ...{ count, partition: 0, rows: places.map((_, i) => this.nextRow + i), ids },
      codes: codes.bytes.subarray(first * bytesPerCode, (first + count) * bytesPerCode),
      ...{ validity: null, residuals: null, residualScales: null },
      ...{ ...columns, checks: vectorChecks(columns, count) },
    };
    const parts: SegmentRows[] = [];
    for (const partition of [0, NO_PARTITION]) {
      const isNull = partition === NO_PARTITION;
      const some = range(0, count).filter((i) => codes.isNull(first + i) === isNull);
      if (some.length === 0) continue;
      parts.push({ ...picked(whole, some), partition });
    }
    this.beginPiece(id, this.nextRow + count);
    for (const piece of parts) {
      this.#noteIds(piece);
      this.put(this.#pieces.length - 1, piece);
    }
    await this.settle();
  }

  /** Begins a piece whose ids are of type `id`, and whose rows have numbers below `nextRow`. */
  beginPiece(id: string | null, nextRow: number): void {
    this.#pieces.push({ id, count: 0 });
    this.idTypes.add(id);
    this.nextRow = nextRow;
  }

  /**
   * Appends numbered rows to a piece. Callers must call `settle` regularly: nothing is written
   * before.
   */
  put(number: number, piece: SegmentRows): void {
    this.#rows.add(number, pieceBytes(piece));
    this.#noteCodes(piece);
    this.#pieces[number].count += piece.count;
    this.count += piece.count;
  }

  /** Writes buffered bytes to the temporary files if they exceed their limits. */
  async settle(): Promise<void> {
    await this.#rows.settle();
    await this.byId.settle();
    await this.byCode.settle();
  }

  /**
   * Stores the ids of rows by hash. Rows without ids need no comparison, since their numbers are
   * unique.
   */
  #noteIds({ rows, ids }: SegmentRows): void {
    rows.forEach((row, i) => {
      if (ids !== null) this.byId.add(hashOfId(ids[i]), row, bytesOfId(ids[i]));
    });
  }

  #noteCodes({ rows, codes, partition, count }: SegmentRows): void {
    if (partition === NO_PARTITION) return;
    const width = codes.length / count;
    for (let i = 0; i < count; i++) {
      this.codedCount++;
      this.#coded.add(rows[i]);
      const code = codes.subarray(i * width, (i + 1) * width);
      this.byCode.add(hashOfCode(code), rows[i], code);
    }
  }

  /** The columns of pieces whose ids are of type `id`: no first rows, no residual codes. */
  layoutOf(id: string | null): SegmentLayout {
    const { bits, hasher, vectors } = this.parts;
    return {
      ...{ bits, dimensions: hasher.dimensions ?? 0, vectors: vectors?.kind ?? 'none' },
      ...{ id, hasFirsts: false, residualBytes: 0, link: null },
    };
  }

  /** Rows that have a code, ascending. */
  rowsWithCodes(): Uint32Array {
    return this.#coded.within(this.firstRow, this.nextRow);
  }

  /** Rows of each piece. */
  get pieceCounts(): number[] {
    return this.#pieces.map(({ count }) => count);
  }

  /** How many pieces there are. */
  get pieceCount(): number {
    return this.#pieces.length;
  }

  /** All rows, piece by piece. */
  async *passing(): AsyncGenerator<SegmentRows> {
    for (let number = 0; number < this.pieceCount; number++) yield* await this.piece(number);
  }

  /**
   * The rows of a piece in at most two parts: rows with a code, then rows without. Each part is
   * sorted by row.
   */
  async piece(number: number): Promise<SegmentRows[]> {
    const layout = this.layoutOf(this.#pieces[number].id);
    const all = [...piecesIn(layout, await this.#rows.read(number))];
    return [0, NO_PARTITION].flatMap((partition) => {
      const own = all.filter((piece) => piece.partition === partition);
      return own.length > 0 ? inOrder(joined(own)) : [];
    });
  }

  /** Frees the ids and codes, once they have been compared. */
  async closeGroups(): Promise<void> {
    await this.byId.close();
    await this.byCode.close();
  }

  /** Frees memory and deletes the temporary files. */
  async close(): Promise<void> {
    await this.closeGroups();
    await this.#rows.close();
  }

  /** The id that has these bytes, as `bytesOfId` makes them. */
  idOf(bytes: Uint8Array): Id {
    if (this.ids === 'string') return Buffer.from(bytes).toString();
    const integer = new DataView(bytes.buffer, bytes.byteOffset).getBigInt64(0, true);
    if (this.ids === 'number') return Number(integer);
    // Unsigned ids of 2^63 and more have the bytes of negative numbers.
    return this.idTypes.has('Uint64') ? BigInt.asUintN(64, integer) : integer;
  }
}

/** The rows of a piece, ascending. */
function inOrder(piece: SegmentRows): SegmentRows {
  const { rows, count } = piece;
  return picked(
    piece,
    ascending(count).sort((a, b) => rows[a] - rows[b]),
  );
}

/** The vectors of some new rows as files store them; rows without a code get zeros. */
function vectorsOf(
  { vectors, dense }: IndexParts,
  given: Addition['vectors'],
  places: Uint32Array,
  isPresent: (place: number) => boolean,
): Pick<SegmentRows, 'vectors' | 'scales' | 'sparse'> {
  if (vectors === null) return NO_VECTORS;
  if (vectors.kind === 'sparse') {
    const sparse = new SparseVectors();
    sparse.append(given as SparseMatrix, places[0], places[0] + places.length, isPresent);
    return sparse.gather(range(0, places.length));
  }
  const matrix = given as DenseMatrix;
  const columns = denseColumns(dense as DenseVectors, matrix, places);
  places.forEach((place, i) => {
    if (isPresent(place)) return;
    columns.vectors?.fill(0, i * matrix.dimensions, (i + 1) * matrix.dimensions);
    columns.scales?.fill(0, i, i + 1);
  });
  return columns;
}

/** The error for an id that is there already; `place` counts the new rows from 0. */
export function twice(place: number, id: Id): RangeError {
  return wrongValue(`ids[${place}]`, 'an id that is not there yet', id);
}

/**
 * Changes the row in an error message: counted from the first of all batches, not of the current
 * one.
 */
function countedOn(error: unknown, before: number): unknown {
  if (!(error instanceof Error) || before === 0) return error;
  const count = (_: string, head: string, row: string) => `${head}${Number(row) + before}`;
  error.message = error.message.replace(/^(row |"ids"\[)(\d+)/, count);
  return error;
}
