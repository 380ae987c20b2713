/** An index of the rows of an input, with the columns that are carried beside it. */

import {
  type Codes,
  type DenseMatrix,
  RowBatch,
  SimHashIndex,
  type VectorStorage,
} from '../../node';
import type { Call } from '../call';
import { columnOf, type SourceKind } from './columns';
import { DEFAULT_BITS, type HashSource, hasherOptionsOf, openSource, type Piece } from './hashing';
import { checkMemory, idBytes, type Parts, rowsToCome } from './memory';

export interface BuiltIndex {
  readonly source: HashSource;
  readonly index: SimHashIndex;
  /** Of the rows in their order; null where none are carried. */
  readonly columns: RowBatch | null;
}

export async function buildIndex(call: Call, input: string | undefined): Promise<BuiltIndex> {
  const source = await openSource(call, input);
  const storage = (call.text('vectors') ?? 'none') as VectorStorage;
  checkStorage(call, storage, source.source.kind);
  const carried = carriedColumns(call, source);
  await source.narrow(carried);
  const { reader } = source;
  const rows = await rowsToCome(reader);
  const batches: RowBatch[] = [];
  let index: SimHashIndex | null = null;
  for await (const batch of reader) {
    for (const { piece, ids } of piecesWithIds(source, batch)) {
      if (index === null) {
        const need = needOf(call, { rows: rows ?? 0, storage, source, piece, carried });
        checkMemory(call, rows, need);
        index = await emptyIndex(call, piece.vectors, storage);
      }
      const { signal } = call;
      await source.namedAsync(piece.firstRow, index.addAllAsync(piece.vectors, ids, { signal }));
    }
    if (carried.length > 0) batches.push(only(batch, carried));
  }
  if (index === null) call.fail(`${reader.file} has no rows`);
  return { source, index, columns: joinColumns(batches) };
}

/** Fails where vectors are to be kept that the input does not have. */
function checkStorage(call: Call, storage: VectorStorage, kind: SourceKind): void {
  if (storage === 'none') return;
  const isSparse = kind === 'text' || kind === 'sparse';
  if (storage === 'sparse' ? isSparse : kind === 'vector') return;
  const what = storage === 'sparse' ? 'texts and sparse vectors' : 'dense vectors';
  const instead = isSparse ? '--vectors sparse or none' : 'leave it out, or say --vectors none';
  call.misuse(`--vectors ${storage} is for ${what}: ${instead}`);
}

/** The pieces of a batch with their ids. */
function* piecesWithIds(source: HashSource, batch: RowBatch) {
  const ids = source.idsOf(batch);
  for (const piece of source.piecesOf(batch)) {
    const at = piece.firstRow - batch.firstRow;
    yield { piece, ids: ids?.slice(at, at + piece.count) };
  }
}

async function emptyIndex(call: Call, vectors: Piece['vectors'], storage: VectorStorage) {
  if ('bytesPerCode' in vectors) {
    const { bits, origin } = vectors as Codes;
    return new SimHashIndex({ bits, ...(origin && { seed: BigInt(origin.seed) }) });
  }
  const dimensions = 'dimensions' in vectors ? vectors.dimensions : undefined;
  return new SimHashIndex({ ...hasherOptionsOf(call, dimensions), vectors: storage, zero: 'null' });
}

/** Columns to carry: those asked for, or all plain ones but the one that becomes codes. */
export function carriedColumns(call: Call, source: HashSource): readonly string[] {
  const { reader } = source;
  if (call.has('columns')) return toldColumns(call, source);
  const plain = reader.columns.filter(({ fits }) =>
    fits.some((fit) => fit === 'text' || fit === 'number' || fit === 'id'),
  );
  const names = plain.map(({ name }) => name);
  return source.otherColumns.filter((name) => names.includes(name));
}

/** The columns that `--columns` names; "none" is none, unless a column is called so. */
export function toldColumns(call: Call, { reader }: HashSource): readonly string[] {
  const names = call.list('columns');
  const isNone = names.length === 1 && names[0] === 'none';
  if (isNone && !reader.columns.some(({ name }) => name === 'none')) return [];
  return names.map((name) => columnOf(call, reader, name).name);
}

export function only(batch: RowBatch, names: readonly string[]): RowBatch {
  return batch.without(
    batch.columns.map(({ name }) => name).filter((name) => !names.includes(name)),
  );
}

/** The batches of some columns as one; null where there are none. */
export function joinColumns(batches: readonly RowBatch[]): RowBatch | null {
  return batches.length === 0 ? null : RowBatch.join(batches);
}

/** Bytes a row of carried columns while they are read and written, as measured. */
function carriedBytes({ reader }: HashSource, names: readonly string[]): number {
  const own = reader.columns.filter(({ name }) => names.includes(name));
  return own.reduce((sum, { fits }) => sum + (fits.includes('number') ? 32 : 420), 0);
}

/** Bytes of a kept vector like those of the first piece. */
function keptBytes(storage: VectorStorage, { vectors, count }: Piece): number {
  if ('offsets' in vectors) return 20 + (16 * vectors.values.length) / Math.max(1, count);
  const { dimensions } = vectors as DenseMatrix;
  return 8 + (storage === 'int8' ? 1 : 4) * dimensions;
}

interface Need {
  readonly rows: number;
  readonly storage: VectorStorage;
  readonly source: HashSource;
  readonly piece: Piece;
  readonly carried: readonly string[];
}

function needOf(call: Call, { rows, storage, source, piece, carried }: Need) {
  const { vectors } = piece;
  const bits = 'bytesPerCode' in vectors ? vectors.bits : (call.number('bits') ?? DEFAULT_BITS);
  const perVector = storage === 'none' ? 0 : keptBytes(storage, piece);
  const codes = rows * (Math.ceil(bits / 8) + 12);
  const parts: Parts = {
    codes,
    'kept vectors': rows * perVector,
    ids: idBytes(rows, source.idColumn !== null),
    'carried columns': rows * carriedBytes(source, carried),
    'writing it': codes + rows * perVector,
  };
  const advice = [
    `fewer --bits (${Math.max(32, bits / 2)} halve the codes)`,
    ...(storage === 'float32'
      ? ['--vectors int8 or none']
      : storage === 'none'
        ? []
        : ['--vectors none']),
    ...(carried.length > 0 ? ['fewer --columns'] : []),
  ];
  return { parts, advice: `take ${advice.join(', ')}, or allow more` };
}
