/**
 * Rows on their way into a folder, of which memory holds a part: checked and hashed batch by batch,
 * written to a temporary file as they come, and compared by their ids and codes with each other and
 * with the rows that are there.
 */

import { wrongValue } from '../base/check';
import type { Ids } from '../base/ids';
import { type LongCall, runStepsAsync } from '../base/steps';
import { additionOf, type RowsToAdd } from '../index/add-rows';
import { type Id, type IdKind, IdTable } from '../index/id-table';
import type { Addition, IndexParts } from '../index/index-parts';
import { denseColumns } from '../index/vectors/dense-vectors';
import { SparseVectors } from '../index/vectors/sparse-vectors';
import { typeOf } from '../index/write-segment';
import { RowSet } from '../stored/row-set';
import { bytesOfId, hashOfCode, hashOfId } from '../table/sealed/look-up-tables';
import { NO_VECTORS, picked, pieceBytes, piecesIn, range } from '../table/sealed/segment-pieces';
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
const PIECE_ROWS = 8192;
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
  /** Types of the ids, as Arrow calls them. */
  readonly idTypes = new Set<string | null>();
  readonly parts: IndexParts;
  /** Rows by the hashes of their ids, and of their codes. */
  readonly byId: HashGroups;
  readonly byCode: HashGroups;
  readonly #pieces: { readonly id: string | null; readonly count: number }[] = [];
  readonly #rows: Spill;

  constructor(writer: GenerationWriter, { parts, ids, firstRow, memory }: NewRowsOptions) {
    this.parts = parts;
    this.ids = ids;
    this.firstRow = firstRow;
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
    if (this.firstRow + this.count + count > 2 ** 31)
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
      ...{ count, partition: 0, rows: places.map((_, i) => this.firstRow + this.count + i), ids },
      codes: codes.bytes.subarray(first * bytesPerCode, (first + count) * bytesPerCode),
      ...{ validity: null, residuals: null, residualScales: null },
      ...{ ...columns, checks: vectorChecks(columns, count) },
    };
    for (const partition of [0, NO_PARTITION]) {
      const isNull = partition === NO_PARTITION;
      const some = range(0, count).filter((i) => codes.isNull(first + i) === isNull);
      if (some.length === 0) continue;
      const piece = { ...picked(whole, some), partition };
      this.#rows.add(this.#pieces.length, pieceBytes(piece));
      this.#note(piece);
    }
    this.#pieces.push({ id, count });
    this.idTypes.add(id);
    this.count += count;
    await this.#rows.settle();
    await this.byId.settle();
    await this.byCode.settle();
  }

  #note({ rows, ids, codes, partition, count }: SegmentRows): void {
    const width = codes.length / count;
    for (let i = 0; i < count; i++) {
      if (ids !== null) {
        this.byId.add(hashOfId(ids[i]), rows[i], bytesOfId(ids[i]));
      }
      if (partition === NO_PARTITION) continue;
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
    return this.#coded.within(this.firstRow, this.firstRow + this.count);
  }

  /** Rows of each piece. */
  get pieceCounts(): number[] {
    return this.#pieces.map(({ count }) => count);
  }

  /** How many pieces there are: rows that came one after another. */
  get pieceCount(): number {
    return this.#pieces.length;
  }

  /** The rows of a piece: those that have a code, and those that have none. */
  async piece(number: number): Promise<SegmentRows[]> {
    const layout = this.layoutOf(this.#pieces[number].id);
    return [...piecesIn(layout, await this.#rows.read(number))];
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

/** What is held of the vectors of rows of an addition: zeros of those that are not present. */
function vectorsOf(
  { vectors }: IndexParts,
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
  const columns = denseColumns(vectors.kind, matrix, places);
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
