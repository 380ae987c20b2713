/**
 * Rows on their way into a folder, of which memory holds a part: checked and hashed batch by batch,
 * written to a temporary file as they come, and compared by their ids and codes with each other and
 * with the rows that are there.
 */

import { ascending } from '../base/arrays';
import { wrongValue } from '../base/check';
import type { Ids } from '../base/ids';
import { type LongCall, runStepsAsync } from '../base/steps';
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

/** Rows that are taken together. */
export const PIECE_ROWS = 8192;
/** Bytes of rows that memory holds. */
const ROW_BYTES = 2 ** 26;

interface NewRowsOptions {
  /** Of an index without rows, by whose options rows are checked and hashed. */
  readonly parts: IndexParts;
  /** What the ids of the rows before are; null without rows. */
  readonly ids: IdKind | null;
  /** The number of the first row. */
  readonly firstRow: number;
  /** Bytes that memory may hold. */
  readonly memory: number;
}

export class NewRows {
  count = 0;
  /** Rows that have a code, and how many these are. */
  readonly #coded = new RowSet();
  codedCount = 0;
  isForeign = false;
  ids: IdKind | null;
  readonly firstRow: number;
  /** Behind the last number of a row so far. */
  nextRow: number;
  /** Types of the ids, as Arrow calls them. */
  readonly idTypes = new Set<string | null>();
  readonly parts: IndexParts;
  /** Rows by the hashes of their ids, and of their codes. */
  readonly byId: HashGroups;
  readonly byCode: HashGroups;
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

  /** Adds a batch, or throws where a row of it is refused. */
  async add(batch: RowsToAdd, ids: unknown, call: LongCall): Promise<void> {
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

  /** Takes rows of an addition that follow one another as a piece. */
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

  /** Begins a piece, whose rows have numbers below `nextRow`. */
  beginPiece(id: string | null, nextRow: number): void {
    this.#pieces.push({ id, count: 0 });
    this.idTypes.add(id);
    this.nextRow = nextRow;
  }

  /** Puts rows that have their numbers into a piece; `settle` must be called now and then. */
  put(number: number, piece: SegmentRows): void {
    this.#rows.add(number, pieceBytes(piece));
    this.#noteCodes(piece);
    this.#pieces[number].count += piece.count;
    this.count += piece.count;
  }

  /** Writes what memory holds, where that is more than the limit. */
  async settle(): Promise<void> {
    await this.#rows.settle();
    await this.byId.settle();
    await this.byCode.settle();
  }

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

  /** How the pieces are laid out. */
  layoutOf(id: string | null): SegmentLayout {
    const { bits, hasher, vectors } = this.parts;
    return {
      ...{ bits, dimensions: hasher.dimensions ?? 0, keep: vectors?.kind ?? 'none' },
      ...{ id, hasFirsts: false, residualBytes: 0 },
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

  /** How many pieces there are: rows that came one after another. */
  get pieceCount(): number {
    return this.#pieces.length;
  }

  /** The rows of a piece, ascending: those that have a code, and those that have none. */
  async piece(number: number): Promise<SegmentRows[]> {
    const layout = this.layoutOf(this.#pieces[number].id);
    const all = [...piecesIn(layout, await this.#rows.read(number))];
    return [0, NO_PARTITION].flatMap((partition) => {
      const own = all.filter((piece) => piece.partition === partition);
      return own.length > 0 ? inOrder(joined(own)) : [];
    });
  }

  /** Frees ids and codes, which were compared. */
  async closeGroups(): Promise<void> {
    await this.byId.close();
    await this.byCode.close();
  }

  async close(): Promise<void> {
    await this.closeGroups();
    await this.#rows.close();
  }

  /** The id of bytes that were noted. */
  idOf(bytes: Uint8Array): Id {
    if (this.ids === 'string') return Buffer.from(bytes).toString();
    const integer = new DataView(bytes.buffer, bytes.byteOffset).getBigInt64(0, true);
    if (this.ids === 'number') return Number(integer);
    return this.idTypes.has('Uint64') ? BigInt.asUintN(64, integer) : integer;
  }
}

/** Rows by their numbers. */
function inOrder(piece: SegmentRows): SegmentRows {
  const { rows, count } = piece;
  return picked(
    piece,
    ascending(count).sort((a, b) => rows[a] - rows[b]),
  );
}

/** What is held of the vectors of rows of an addition: zeros of those that are not present. */
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

/** The error for an id that is there already, by its place among all new rows. */
export function twice(place: number, id: Id): RangeError {
  return wrongValue(`ids[${place}]`, 'an id that is not there yet', id);
}

/** An error of a row of a batch, of which others came before. */
function countedOn(error: unknown, before: number): unknown {
  if (!(error instanceof Error) || before === 0) return error;
  const count = (_: string, head: string, row: string) => `${head}${Number(row) + before}`;
  error.message = error.message.replace(/^(row |"ids"\[)(\d+)/, count);
  return error;
}
