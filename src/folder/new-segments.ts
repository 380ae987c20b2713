/**
 * Turns waiting rows into the blocks of new segments. With centroids, each row is assigned to the
 * partition of the nearest one, gets a residual code and waits in a temporary file; rows with equal
 * codes share the partition of the first. Without centroids the rows stay in their order.
 */

import { lengthOf } from '../base/length';
import type { LongCall } from '../base/long-work';
import { runStepsAsync, type Steps } from '../base/steps';
import { ResidualCodes } from '../index/partitions/residual-codes';
import { type Space, spaceOf } from '../index/partitions/space';
import type { QueryParts } from '../index/query-parts';
import { type SecondsState, secondsOf } from '../k-means/second-centroid';
import { joined, NO_VECTORS, picked, pieceBytes, piecesIn } from '../table/sealed/segment-pieces';
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
  /** The second centroid of each point, whose first is `own`; null without copies. */
  readonly seconds: ((points: Int16Array, own: Uint32Array) => Steps<Uint32Array>) | null;
}

/** How the second centroids of points are found. */
export function secondsBy(state: SecondsState): NonNullable<Centroids['seconds']> {
  const { width } = state;
  return (points, own) =>
    secondsOf(state, own, (first, end) => points.slice(first * width, end * width));
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

  constructor({ parts }: { readonly parts: QueryParts }) {
    const { bits, hasher, vectors } = parts;
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
    const encoded = { vectors: dense, seed: hasher.seed };
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
  readonly #copies: Spill;
  /** By new row its partition, where it has a code; null without centroids. */
  readonly #partitionOf: Uint16Array | null;
  /** By new row its second partition; null without copies. */
  readonly #secondOf: Uint16Array | null;
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
    const hasCopies = centroids !== null && centroids.seconds !== null;
    this.#spill = new Spill(writer, hasCopies ? memory / 2 : memory);
    this.#copies = new Spill(writer, memory / 2);
    this.idType = widestId([...rows.idTypes]);
    this.#partitionOf = centroids && new Uint16Array(rows.nextRow - rows.firstRow);
    this.#secondOf = hasCopies ? new Uint16Array(rows.nextRow - rows.firstRow) : null;
    this.residualBytes =
      centroids === null ? 0 : (this.#vectors.residualCodes?.parts.bytesPerRow ?? 0);
  }

  /** The columns of the blocks. */
  get layout(): SegmentLayout {
    const hasFirsts = this.#shared.firsts !== null;
    const { residualBytes } = this;
    const link = this.#secondOf === null ? null : 'second';
    return { ...this.#rows.layoutOf(this.idType), hasFirsts, residualBytes, link };
  }

  /** The partition of a new row that has a code; 0 without centroids. */
  partitionOf(row: number): number {
    return this.#partitionOf?.[row - this.#rows.firstRow] ?? 0;
  }

  /** Its second partition; the same one without copies. */
  secondOf(row: number): number {
    return this.#secondOf?.[row - this.#rows.firstRow] ?? this.partitionOf(row);
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
      if (others.length > 0) {
        const uncoded = this.#withResiduals(joined(others), null);
        const links = this.#secondOf && new Uint32Array(uncoded.count);
        this.#spill.add(this.#bucketOf(segment, NO_PARTITION), pieceBytes({ ...uncoded, links }));
      }
      await this.#spill.settle();
      await this.#copies.settle();
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
    const { nearest, seconds } = this.#centroids as Centroids;
    this.#vectors.piece = all;
    // Progress counts pieces, so the progress of the search for centroids is dropped.
    const quiet = { ...call, onProgress: () => undefined };
    const points = this.#vectors.points(all.count);
    const partitions = new Uint32Array(all.count);
    await runStepsAsync(nearest(points, partitions), quiet);
    const known = this.#shared.partitions;
    const partitionOf = this.#partitionOf as Uint16Array;
    this.#takeShared(all, partitions, partitionOf, (row) => known.get(row)?.partition);
    if (seconds === null) {
      this.#scatter(this.#spill, this.#withResiduals(all, partitions), partitions, segment);
      return;
    }
    const links = await runStepsAsync(seconds(points, partitions), quiet);
    const secondOf = this.#secondOf as Uint16Array;
    this.#takeShared(all, links, secondOf, (row) => known.get(row)?.second ?? undefined);
    const own = { ...this.#withResiduals(all, partitions), links };
    this.#scatter(this.#spill, own, partitions, segment);
    const copies = { ...this.#withResiduals(all, links), links, ...NO_VECTORS };
    this.#scatter(this.#copies, copies, links, segment);
  }

  /**
   * Notes the partitions of rows in `of`. Rows take that of the first row with their code, which
   * was assigned before; old ones are `known`.
   */
  #takeShared(
    { rows }: SegmentRows,
    partitions: Uint32Array,
    of: Uint16Array,
    known: (row: number) => number | undefined,
  ): void {
    const { firstRow } = this.#rows;
    rows.forEach((row, i) => {
      const first = this.#shared.firsts?.[row - firstRow] ?? row;
      if (first < firstRow) partitions[i] = known(first) as number;
      else if (first < row) partitions[i] = of[first - firstRow];
      of[row - firstRow] = partitions[i];
    });
  }

  /** Adds rows to the buckets of their partitions, in ascending order within each. */
  #scatter(spill: Spill, all: SegmentRows, partitions: Uint32Array, segment: number): void {
    const { values } = this.#centroids as Centroids;
    const count = values.length / this.#vectors.space.width;
    const starts = new Uint32Array(count + 1);
    for (const p of partitions) starts[p + 1]++;
    // A counting sort, which leaves rows ascending.
    for (let p = 0; p < count; p++) starts[p + 1] += starts[p];
    const order = new Uint32Array(all.count);
    const next = starts.slice();
    partitions.forEach((p, i) => {
      order[next[p]++] = i;
    });
    for (let p = 0; p < count; p++) {
      if (starts[p] === starts[p + 1]) continue;
      const own = picked(all, order.subarray(starts[p], starts[p + 1]));
      spill.add(this.#bucketOf(segment, p), pieceBytes({ ...own, partition: p }));
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
    return this.#waiting(this.#spill, layout, segment);
  }

  /** The copies of its rows, by their second partitions; none without copies. */
  copies(segment: number): BlockCursor {
    return this.#waiting(this.#copies, { ...this.layout, link: 'at' }, segment);
  }

  #waiting(spill: Spill, layout: SegmentLayout, segment: number): BlockCursor {
    // The buckets of a segment ascend by partition, as the blocks of a segment must.
    const buckets = spill.bucketsFrom(this.#bucketOf(segment, 0), this.#bucketOf(segment + 1, 0));
    const parts = buckets.map((bucket) => {
      const own = bucket - this.#bucketOf(segment, 0);
      return {
        partition: own === 2 ** 16 ? NO_PARTITION : own,
        read: async () => joined([...piecesIn(layout, await spill.read(bucket))]),
      };
    });
    return new PartCursor(parts);
  }

  /** Frees memory and deletes the temporary files. */
  async close(): Promise<void> {
    await this.#spill.close();
    await this.#copies.close();
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
