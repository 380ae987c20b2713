/**
 * Turns waiting rows into the blocks of new segments. With centroids, each row is assigned to the
 * partition of the nearest one, gets a residual code and waits in a temporary file; rows with equal
 * codes share the partition of the first. Without centroids the rows stay in their order.
 */

import { lengthOf } from '../base/length';
import { type LongCall, runStepsAsync, type Steps } from '../base/steps';
import { ResidualCodes } from '../index/partitions/residual-codes';
import { type Space, spaceOf } from '../index/partitions/space';
import { joined, picked, pieceBytes, piecesIn } from '../table/sealed/segment-pieces';
import { NO_PARTITION, type SegmentLayout, type SegmentRows } from '../table/sealed/segment-tables';
import type { BlockCursor } from './block-cursor';
import { idsAs, widestId } from './block-cursor';
import type { SharedCodes } from './compared-rows';
import type { GenerationWriter } from './generations';
import type { NewRows } from './new-rows';
import { Spill } from './spill';

/** Rows that are assigned or compared together, and points of them that a thread takes at once. */
export const TOGETHER_ROWS = 32_768;
export const PART_POINTS = 2048;

/** Centroids of partitions, and how the nearest of each point is found. */
export interface Centroids {
  /** One after another, as the partitions of an index in memory have them. */
  readonly values: Int16Array;
  /** See `Partitions.nearness`. */
  readonly nearness: number;
  /** Writes the number of the nearest centroid of each point to `out`. */
  nearest(points: Int16Array, out: Uint32Array): Steps<void>;
}

/**
 * Gives the vectors and codes of one piece at a time: as points, as unit vectors, or as residual
 * codes. All results are for the piece that was set last.
 */
export class PieceVectors {
  readonly space: Space;
  readonly residualCodes: ResidualCodes | null;
  readonly #dimensions: number;
  #piece: SegmentRows | null = null;

  constructor({ parts }: Pick<NewRows, 'parts'>) {
    const { bits, hasher, kernel, vectors } = parts;
    const isDense = vectors !== null && vectors.kind !== 'sparse';
    const dimensions = hasher.dimensions ?? 0;
    this.#dimensions = dimensions;
    // The space and the residual codes read rows through these functions, so they follow `piece`.
    const valuesAt = (i: number) => this.valuesAt(i);
    const dense = isDense
      ? { dimensions, valuesAt, normOf: (i: number) => lengthOf(valuesAt(i)) }
      : null;
    const width = Math.ceil(bits / 8);
    const codeAt = (i: number) =>
      (this.#piece?.codes ?? new Uint8Array()).subarray(i * width, (i + 1) * width);
    this.space = spaceOf({ dense, bits }, { rowOf: (i) => i, codeAt });
    const encoded = { vectors: dense, seed: hasher.seed, ...(kernel !== undefined && { kernel }) };
    this.residualCodes = ResidualCodes.of(encoded, 0);
  }

  get #values() {
    return this.#piece?.vectors ?? new Int8Array();
  }

  /** Makes `piece` the one that all other members read. */
  set piece(piece: SegmentRows) {
    this.#piece = piece;
  }

  /** The values of row `i` of the piece as they are held, a view: int8 without their scale. */
  valuesAt(i: number): Float32Array | Int8Array {
    return this.#values.subarray(i * this.#dimensions, (i + 1) * this.#dimensions);
  }

  /** The vector of row `i` at length 1; zeros stay zeros. */
  unitOf(i: number): Float64Array {
    const values = this.valuesAt(i);
    const length = lengthOf(values);
    return Float64Array.from(values, (value) => (length > 0 ? value / length : 0));
  }

  /** The first `count` rows as points, one after another. */
  points(count: number): Int16Array {
    const { width } = this.space;
    const points = new Int16Array(count * width);
    for (let i = 0; i < count; i++) this.space.vectorInto(i, points, i * width);
    return points;
  }
}

/**
 * `assign` sends the waiting rows to their partitions; `cursor` then gives the blocks of each
 * segment.
 */
export class NewSegments {
  readonly #rows: NewRows;
  readonly #shared: SharedCodes;
  readonly #centroids: Centroids | null;
  readonly #vectors: PieceVectors;
  readonly #spill: Spill;
  /** By new row its partition, where it has a code; null without centroids. */
  readonly #partitionOf: Uint16Array | null;
  /** The type of all ids: the widest of those of the pieces. */
  readonly idType: string | null;
  /** Bytes of a residual code; 0 where there are none. */
  readonly residualBytes: number;

  constructor(
    writer: GenerationWriter,
    {
      rows,
      shared,
      centroids,
      memory,
    }: {
      rows: NewRows;
      shared: SharedCodes;
      centroids: Centroids | null;
      memory: number;
    },
  ) {
    this.#rows = rows;
    this.#shared = shared;
    this.#centroids = centroids;
    this.#vectors = new PieceVectors(rows);
    this.#spill = new Spill(writer, memory);
    this.idType = widestId([...rows.idTypes]);
    this.#partitionOf = centroids && new Uint16Array(rows.nextRow - rows.firstRow);
    this.residualBytes =
      centroids === null ? 0 : (this.#vectors.residualCodes?.memory.bytesPerRow ?? 0);
  }

  /** The columns of the blocks. */
  get layout(): SegmentLayout {
    const hasFirsts = this.#shared.firsts !== null;
    const { residualBytes } = this;
    return { ...this.#rows.layoutOf(this.idType), hasFirsts, residualBytes };
  }

  /** The partition of a new row that has a code; 0 without centroids. */
  partitionOf(row: number): number {
    return this.#partitionOf?.[row - this.#rows.firstRow] ?? 0;
  }

  /**
   * Assigns all rows to their partitions, in which they wait for `cursor`. `cuts` has the first
   * pieces of the segments, ascending. Does nothing without centroids.
   */
  async assign(cuts: readonly { readonly firstPiece: number }[], call: LongCall): Promise<void> {
    if (this.#centroids === null) return;
    const { pieceCount } = this.#rows;
    let segment = -1;
    for (let first = 0; first < pieceCount; ) {
      call.signal?.throwIfAborted();
      if (cuts[segment + 1]?.firstPiece === first) segment++;
      const limit = cuts[segment + 1]?.firstPiece ?? pieceCount;
      const coded: SegmentRows[] = [];
      const others: SegmentRows[] = [];
      // Stops while another piece, of at most 8,192 rows, still fits.
      for (let rows = 0; first < limit && rows < TOGETHER_ROWS - 8192; first++) {
        for (const piece of await this.#piece(first)) {
          (piece.partition === NO_PARTITION ? others : coded).push(piece);
          rows += piece.count;
        }
      }
      if (coded.length > 0) await this.#send(joined(coded), segment, call);
      if (others.length > 0) this.#put(this.#withResiduals(joined(others), null), segment);
      await this.#spill.settle();
      call.onProgress?.(first, pieceCount);
    }
  }

  /** The parts of a piece, with ids of one type and with first rows. */
  async #piece(number: number): Promise<SegmentRows[]> {
    const { firsts } = this.#shared;
    const { firstRow } = this.#rows;
    return (await this.#rows.piece(number)).map((piece) => ({
      ...piece,
      ids: idsAs(piece.ids, this.idType),
      firsts: firsts && piece.rows.map((row) => firsts[row - firstRow]),
    }));
  }

  /** Sends rows that have codes, in ascending order, to the buckets of their partitions. */
  async #send(all: SegmentRows, segment: number, call: LongCall): Promise<void> {
    const { values, nearest } = this.#centroids as Centroids;
    this.#vectors.piece = all;
    const partitions = new Uint32Array(all.count);
    // Progress counts pieces, so the progress of the search for centroids is dropped.
    const points = this.#vectors.points(all.count);
    await runStepsAsync(nearest(points, partitions), { ...call, onProgress: () => undefined });
    const { firstRow } = this.#rows;
    const partitionOf = this.#partitionOf as Uint16Array;
    const count = values.length / this.#vectors.space.width;
    const starts = new Uint32Array(count + 1);
    all.rows.forEach((row, i) => {
      // The partition of the first row with the same code, which was assigned before.
      const first = this.#shared.firsts?.[row - firstRow] ?? row;
      // An old first row is not in `#partitionOf`; its partition was read from its block.
      if (first < firstRow) partitions[i] = this.#shared.partitions.get(first) as number;
      else if (first < row) partitions[i] = partitionOf[first - firstRow];
      partitionOf[row - firstRow] = partitions[i];
      starts[partitions[i] + 1]++;
    });
    const whole = this.#withResiduals(all, partitions);
    // Counting sort by partition, which leaves rows ascending within each.
    for (let p = 0; p < count; p++) starts[p + 1] += starts[p];
    const order = new Uint32Array(all.count);
    const next = starts.slice();
    partitions.forEach((p, i) => {
      order[next[p]++] = i;
    });
    for (let p = 0; p < count; p++) {
      if (starts[p] === starts[p + 1]) continue;
      const own = picked(whole, order.subarray(starts[p], starts[p + 1]));
      this.#put({ ...own, partition: p }, segment);
    }
  }

  /** Rows with residual codes and scales, which are zeros where `partitions` is null. */
  #withResiduals(all: SegmentRows, partitions: Uint32Array | null): SegmentRows {
    const { residualCodes, space } = this.#vectors;
    if (residualCodes === null) return all;
    const width = this.residualBytes;
    const residuals = new Uint8Array(all.count * width);
    const residualScales = new Float32Array(all.count);
    const { values, nearness: length } = this.#centroids as Centroids;
    partitions?.forEach((p, i) => {
      const centroid = values.subarray(p * space.width, (p + 1) * space.width);
      const middle = { centroid, length };
      residualScales[i] = residualCodes.encodeInto(i, middle, residuals, i * width);
    });
    return { ...all, residuals, residualScales };
  }

  #put(piece: SegmentRows, segment: number): void {
    this.#spill.add(this.#bucketOf(segment, piece.partition), pieceBytes(piece));
  }

  /**
   * The number of a bucket, ascending by segment, then partition. There are at most 65,536
   * partitions; the bucket after them has the rows without a code.
   */
  #bucketOf(segment: number, partition: number): number {
    return segment * 2 ** 17 + Math.min(partition, 2 ** 16);
  }

  /** The blocks of segment number `segment`, whose pieces are `first` to `end - 1`. */
  cursor(segment: number, first: number, end: number): BlockCursor {
    const { layout } = this;
    if (this.#centroids === null) {
      const parts = [0, NO_PARTITION].flatMap((partition) =>
        Array.from({ length: end - first }, (_, i) => ({
          partition,
          read: async () =>
            (await this.#piece(first + i)).find((one) => one.partition === partition),
        })),
      );
      return new PartCursor(parts);
    }
    // The buckets of a segment ascend by partition, as the blocks of a segment must.
    const buckets = this.#spill.bucketsFrom(
      this.#bucketOf(segment, 0),
      this.#bucketOf(segment + 1, 0),
    );
    const parts = buckets.map((bucket) => {
      const own = bucket - this.#bucketOf(segment, 0);
      return {
        partition: own === 2 ** 16 ? NO_PARTITION : own,
        read: async () => joined([...piecesIn(layout, await this.#spill.read(bucket))]),
      };
    });
    return new PartCursor(parts);
  }

  /** Frees memory and deletes the temporary file. */
  async close(): Promise<void> {
    await this.#spill.close();
  }
}

/** Rows of one partition, read on demand. */
interface Part {
  readonly partition: number;
  read(): Promise<SegmentRows | undefined>;
}

/** The rows of some parts, one part after another. */
class PartCursor implements BlockCursor {
  #at = 0;

  constructor(readonly parts: readonly Part[]) {}

  get partition(): number | null {
    return this.parts[this.#at]?.partition ?? null;
  }

  async next(): Promise<SegmentRows> {
    const part = this.parts[this.#at++];
    return (await part.read()) ?? NOTHING;
  }
}

/** Stands for missing rows: a piece may have no rows with a code, or none without. */
const NOTHING: SegmentRows = {
  ...{ count: 0, partition: 0, rows: new Uint32Array(), ids: null, firsts: null },
  ...{ codes: new Uint8Array(), validity: null, vectors: null, scales: null, sparse: null },
  ...{ residuals: null, residualScales: null, checks: null },
};
