/** The memory that an index needs while it is built and written, predicted by its first rows. */

import type { Ids, RowBatch, VectorStorage } from '../../node';
import { BATCH_ROWS } from '../../table/sealed/sealed-table';
import type { Call } from '../call';
import type { HashSource, Piece } from './hash-source';
import { DEFAULT_BITS } from './hasher-options';
import { idBytes, readingBytes } from './predicted-memory';

// Bytes of memory as measured (test/cli/memory.test.ts): of a row, and of an entry of a sparse
// vector. Rows are written in batches, of which one copy to two are in memory.
const ROW_BYTES = 60;
const ID_COPIES = 2.5;
const ENTRY_BYTES = { held: 20, written: 7 };
const CARRIED_COPIES = 1.9;

interface Need {
  readonly rows: number;
  readonly storage: VectorStorage;
  readonly source: HashSource;
  readonly batch: RowBatch;
  /** The first rows, by which the others are estimated. */
  readonly piece: Piece & { readonly ids: Ids | null };
  /** The columns of the batch that the index carries; null without any. */
  readonly carried: RowBatch | null;
}

/** The memory that an index needs, by its parts, and what to change where that is too much. */
export function needOf(call: Call, { rows, storage, source, batch, piece, carried }: Need) {
  const { vectors, count } = piece;
  const bits = 'bytesPerCode' in vectors ? vectors.bits : (call.number('bits') ?? DEFAULT_BITS);
  const bytesPerCode = Math.ceil(bits / 8);
  let [perVector, written] = [0, 2 * bytesPerCode];
  if (storage !== 'none' && 'offsets' in vectors) {
    const entries = vectors.values.length / Math.max(1, count);
    perVector = 20 + ENTRY_BYTES.held * entries;
    written += ENTRY_BYTES.written * entries;
  } else if (storage !== 'none' && 'dimensions' in vectors) {
    perVector = 8 + (storage === 'int8' ? 1 : 4) * vectors.dimensions;
    written += 1.5 * perVector;
  }
  const perCarried = (CARRIED_COPIES * (carried?.byteLength ?? 0)) / Math.max(1, batch.count);
  const held = {
    codes: rows * (bytesPerCode + ROW_BYTES),
    'kept vectors': rows * perVector,
    ids: ID_COPIES * idBytes(rows, piece.ids),
    'carried columns': rows * perCarried,
  };
  const perRow = Object.values(held).reduce((sum, bytes) => sum + bytes, 0) / Math.max(1, rows);
  const { reader, choice } = source;
  const fewer = storage === 'float32' ? '--vectors int8 or none' : '--vectors none';
  const advice = [
    `fewer --bits (${Math.max(32, bits / 2)} halve the codes)`,
    ...(storage === 'none' ? [] : [fewer]),
    ...(carried === null ? [] : ['fewer --columns']),
  ];
  return {
    parts: {
      ...held,
      'writing it': Math.min(rows, BATCH_ROWS) * written,
      reading: readingBytes(reader, choice.kind, batch, perRow + written),
    },
    advice: `take ${advice.join(', ')}, or allow more`,
  };
}
