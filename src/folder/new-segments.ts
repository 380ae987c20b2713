/**
 * New rows as blocks of segments: where there are centroids, each row goes to its partition, with
 * a residual code, by a temporary file; rows of one code go to the partition of the first. Where
 * there are none, the rows stay in the order in which they came.
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

/** Rows that are assigned or compared together, and points of them that a thread takes. */
export const TOGETHER_ROWS = 32_768;
export const PART_POINTS = 2048;

/** Centroids, and how the nearest of each point is found. */
export interface Centroids {
  readonly values: Int16Array;
  /** See `Partitions.nearness`. */
  readonly nearness: number;
  nearest(points: Int16Array, out: Uint32Array): Steps<void>;
}

/** The vectors and codes of a piece, as points and residual codes are made of them. */
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

  set piece(piece: SegmentRows) {
    this.#piece = piece;
  }

  /** The values of a row of the piece, as they are held: int8 without their scale. */
  valuesAt(i: number): Float32Array | Int8Array {
    return this.#values.subarray(i * this.#dimensions, (i + 1) * this.#dimensions);
  }

  /** The vector of a row at length 1; zeros stay zeros. */
  unitOf(i: number): Float64Array {
    const values = this.valuesAt(i);
    const length = lengthOf(values);
    return Float64Array.from(values, (value) => (length > 0 ? value / length : 0));
  }

  /** All rows as points, one after another. */
  points(count: number): Int16Array {
    const { width } = this.space;
    const points = new Int16Array(count * width);
    for (let i = 0; i < count; i++) this.space.vectorInto(i, points, i * width);
    return points;
  }
}

export class NewSegments {
  readonly #rows: NewRows;
  readonly #shared: SharedCodes;
  readonly #centroids: Centroids | null;
  readonly #vectors: PieceVectors;
  readonly #spill: Spill;
  /** The partition of each new row, where it has a code. */
  readonly #partitionOf: Uint16Array | null;
  readonly idType: string | null;
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

  get layout(): SegmentLayout {
    const hasFirsts = this.#shared.firsts !== null;
    const { residualBytes } = this;
    return { ...this.#rows.layoutOf(this.idType), hasFirsts, residualBytes };
  }

  /** The partition of a row that has a code. */
  partitionOf(row: number): number {
    return this.#partitionOf?.[row - this.#rows.firstRow] ?? 0;
  }

  /**
   * Sends all rows to their partitions. `cuts` are the pieces with which segments begin.
   */
  async assign(cuts: readonly number[], call: LongCall): Promise<void> {
    if (this.#centroids === null) return;
    const { pieceCount } = this.#rows;
    let segment = -1;
    for (let first = 0; first < pieceCount; ) {
      call.signal?.throwIfAborted();
      if (cuts[segment + 1] === first) segment++;
      const limit = cuts[segment + 1] ?? pieceCount;
      const coded: SegmentRows[] = [];
      const others: SegmentRows[] = [];
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

  /** The rows of a piece, with the columns of all. */
  async #piece(number: number): Promise<SegmentRows[]> {
    const { firsts } = this.#shared;
    const { firstRow } = this.#rows;
    return (await this.#rows.piece(number)).map((piece) => ({
      ...piece,
      ids: idsAs(piece.ids, this.idType),
      firsts: firsts && piece.rows.map((row) => firsts[row - firstRow]),
    }));
  }

  async #send(all: SegmentRows, segment: number, call: LongCall): Promise<void> {
    const { values, nearest } = this.#centroids as Centroids;
    this.#vectors.piece = all;
    const partitions = new Uint32Array(all.count);
    const points = this.#vectors.points(all.count);
    await runStepsAsync(nearest(points, partitions), { ...call, onProgress: () => undefined });
    const { firstRow } = this.#rows;
    const partitionOf = this.#partitionOf as Uint16Array;
    const count = values.length / this.#vectors.space.width;
    const starts = new Uint32Array(count + 1);
    all.rows.forEach((row, i) => {
      const first = this.#shared.firsts?.[row - firstRow] ?? row;
      if (first < firstRow) partitions[i] = this.#shared.partitions.get(first) as number;
      else if (first < row) partitions[i] = partitionOf[first - firstRow];
      partitionOf[row - firstRow] = partitions[i];
      starts[partitions[i] + 1]++;
    });
    const whole = this.#withResiduals(all, partitions);
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

  /** Partitions are 65,536 at most. */
  #bucketOf(segment: number, partition: number): number {
    return segment * 2 ** 17 + Math.min(partition, 2 ** 16);
  }

  /** The blocks of a segment whose pieces are `first` to `end - 1`. */
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

  async close(): Promise<void> {
    await this.#spill.close();
  }
}

interface Part {
  readonly partition: number;
  read(): Promise<SegmentRows | undefined>;
}

/** Rows that are read part by part. */
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

/** A piece all of whose rows have a code has none without, and the other way round. */
const NOTHING: SegmentRows = {
  ...{ count: 0, partition: 0, rows: new Uint32Array(), ids: null, firsts: null },
  ...{ codes: new Uint8Array(), validity: null, vectors: null, scales: null, sparse: null },
  ...{ residuals: null, residualScales: null, checks: null },
};
