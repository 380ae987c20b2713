/** Rows in memory as what is asked of them: codes alone, with their vectors, or with their sums. */

import { vectorAt } from '../../measure/rows';
import {
  type Codes,
  type DenseMatrix,
  type RowBatch,
  type RowSource,
  SimHasher,
  SimHashIndex,
  type SimHashIndexOptions,
} from '../../node';
import { DEFAULT_BITS, type HashSource, hasherOptionsOf, type Piece } from './hashing';
import { joinCodes, joinVectors } from './join';

export interface HeldRows {
  /** Of memory, known after the first rows. */
  readonly bytesPerRow: number;
  add(batch: RowBatch): Promise<void>;
  finish(): Promise<{ readonly source: RowSource; readonly sums: DenseMatrix | null }>;
}

/** Parts, and at the end all as one. */
const TWICE = 2;

export class CodeRows implements HeldRows {
  readonly #source: HashSource;
  readonly #parts: Codes[] = [];

  constructor(source: HashSource) {
    this.#source = source;
  }

  get bytesPerRow(): number {
    return TWICE * (this.#parts[0]?.bytesPerCode ?? 0);
  }

  async add(batch: RowBatch): Promise<void> {
    this.#parts.push(await this.#source.hash(batch));
  }

  async finish() {
    return { source: await joinCodes(this.#parts, { bits: bitsOf(this.#source) }), sums: null };
  }
}

/** With their vectors; or as the rows of another index, which `options` are of. */
export class IndexRows implements HeldRows {
  readonly #source: HashSource;
  readonly #options: SimHashIndexOptions | null;
  #index: SimHashIndex | null = null;
  #dimensions = 0;

  constructor(source: HashSource, options: SimHashIndexOptions | null) {
    this.#source = source;
    this.#options = options;
  }

  get bytesPerRow(): number {
    return Math.ceil((this.#index?.bits ?? 0) / 8) + 4 * this.#dimensions;
  }

  async add(batch: RowBatch): Promise<void> {
    eachPiece(this.#source, batch, ({ vectors }) => {
      const dimensions = 'dimensions' in vectors ? vectors.dimensions : undefined;
      this.#dimensions = dimensions ?? 0;
      this.#index ??= new SimHashIndex(
        this.#options ?? {
          ...hasherOptionsOf(this.#source.call, dimensions),
          ...{ zero: 'null', vectors: 'float32' },
        },
      );
      this.#index.addAll(vectors);
    });
  }

  async finish() {
    const source = this.#index ?? (await joinCodes([], { bits: bitsOf(this.#source) }));
    return { source, sums: null };
  }
}

/** With the sums whose signs are the code: more than it of a vector of any dimensions. */
export class SumRows implements HeldRows {
  readonly #source: HashSource;
  readonly #codes: Codes[] = [];
  readonly #sums: DenseMatrix[] = [];
  #hasher: SimHasher | null = null;

  constructor(source: HashSource) {
    this.#source = source;
  }

  get bytesPerRow(): number {
    const bits = this.#hasher?.bits ?? 0;
    return TWICE * (Math.ceil(bits / 8) + 4 * bits);
  }

  async add(batch: RowBatch): Promise<void> {
    eachPiece(this.#source, batch, ({ count, vectors }) => {
      if ('bytesPerCode' in vectors) throw new Error('codes have no sums');
      const dimensions = 'dimensions' in vectors ? vectors.dimensions : undefined;
      this.#hasher ??= new SimHasher({
        ...{ ...hasherOptionsOf(this.#source.call, dimensions), zero: 'null' },
      });
      const hasher = this.#hasher;
      const codes = hasher.hashAll(vectors);
      const values = new Float32Array(count * hasher.bits);
      for (let row = 0; row < count; row++) {
        if (codes.isNull(row)) continue;
        values.set(hasher.accumulate(vectorAt(vectors, row)), row * hasher.bits);
      }
      this.#codes.push(codes);
      this.#sums.push({ values, dimensions: hasher.bits });
    });
  }

  async finish() {
    const source = await joinCodes(this.#codes, { bits: bitsOf(this.#source) });
    const sums = this.#sums.length > 0 ? joinVectors(this.#sums) : null;
    return { source, sums };
  }
}

function bitsOf({ call }: HashSource): number {
  return call.integer('bits') ?? DEFAULT_BITS;
}

function eachPiece(source: HashSource, batch: RowBatch, take: (piece: Piece) => void): void {
  for (const piece of source.piecesOf(batch)) source.named(piece.firstRow, () => take(piece));
}
