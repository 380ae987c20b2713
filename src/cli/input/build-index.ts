/** An index of the rows of an input, with the columns that it carries; `--append` is next to it. */

import { type DenseMatrix, RowBatch, SimHashIndex, type VectorStorage } from '../../node';
import type { Call } from '../call';
import { columnOf, type SourceKind } from './columns';
import { DEFAULT_BITS, type HashSource, hasherOptionsOf, openSource, type Piece } from './hashing';
import { checkMemory, idBytes, rowsToCome } from './memory';

/** An index in memory, and what is saved with it. */
export interface BuiltIndex {
  readonly source: HashSource;
  readonly index: SimHashIndex;
  /** Of the rows in their order; undefined where none are carried. */
  readonly columns: RowBatch | undefined;
  /** The vectors of the rows, where recall is measured by them and the index does not hold them. */
  readonly vectors: DenseMatrix | undefined;
}

/** Reads an input into a new index, by the options of the call; fails where it has no rows. */
export async function buildIndex(call: Call, input: string | undefined): Promise<BuiltIndex> {
  const source = await openSource(call, input);
  const isMeasured = source.kind === 'vector' && call.has('optimize');
  const usual = isMeasured ? 'int8' : 'none';
  const storage = (call.text('vectors') ?? usual) as VectorStorage;
  checkStorage(call, storage, source.kind);
  const carried = carriedColumns(call, source);
  await source.narrow(carried);
  const { reader } = source;
  const rows = await rowsToCome(reader);
  const batches: RowBatch[] = [];
  const given: DenseMatrix[] = [];
  let index: SimHashIndex | null = null;
  for await (const batch of reader) {
    const ids = source.idsOf(batch);
    for (const piece of source.piecesOf(batch)) {
      const { firstRow, count, vectors } = piece;
      if (index === null) {
        const need = needOf(call, { rows: rows ?? 0, storage, source, piece, carried });
        checkMemory(call, rows, need);
        index = emptyIndex(call, vectors, storage);
      }
      const into = index;
      if (isMeasured && storage === 'none') given.push(vectors as DenseMatrix);
      const at = firstRow - batch.firstRow;
      const own = ids?.slice(at, at + count);
      await source.named(firstRow, () => into.addAllAsync(vectors, own, { signal: call.signal }));
    }
    if (carried.length > 0) batches.push(only(batch, carried));
  }
  if (index === null) call.fail(`${reader.file} has no rows`);
  return { source, index, columns: joinColumns(batches), vectors: joinMatrices(given) };
}

/** Matrices as one; undefined where there are none. */
function joinMatrices(matrices: readonly DenseMatrix[]): DenseMatrix | undefined {
  if (matrices.length === 0) return undefined;
  const [{ dimensions }] = matrices;
  const values = new Float32Array(matrices.reduce((sum, one) => sum + one.values.length, 0));
  let at = 0;
  for (const one of matrices) {
    values.set(one.values, at);
    at += one.values.length;
  }
  return { values, dimensions };
}

/** Fails where vectors must be held that the input does not have. */
function checkStorage(call: Call, storage: VectorStorage, kind: SourceKind): void {
  if (storage === 'none') return;
  const isSparse = kind === 'text' || kind === 'sparse';
  if (storage === 'sparse' ? isSparse : kind === 'vector') return;
  const what = storage === 'sparse' ? 'texts and sparse vectors' : 'dense vectors';
  const instead = isSparse ? '--vectors sparse or none' : 'leave it out, or say --vectors none';
  call.misuse(`--vectors ${storage} is for ${what}: ${instead}`);
}

/** An index for rows like these; codes say themselves how they were made. */
function emptyIndex(call: Call, vectors: Piece['vectors'], storage: VectorStorage): SimHashIndex {
  if ('bytesPerCode' in vectors) {
    const { bits, origin } = vectors;
    return new SimHashIndex({ bits, seed: origin && BigInt(origin.seed) });
  }
  const dimensions = 'dimensions' in vectors ? vectors.dimensions : undefined;
  return new SimHashIndex({ ...hasherOptionsOf(call, dimensions), vectors: storage, zero: 'null' });
}

/** Columns to carry: those of `--columns`, or all plain ones but the one that becomes codes. */
export function carriedColumns(call: Call, source: HashSource): readonly string[] {
  if (call.has('columns')) return namedColumns(call, source);
  const plain = source.reader.columns.filter(({ fits }) =>
    fits.some((fit) => fit === 'text' || fit === 'number' || fit === 'id'),
  );
  return source.otherColumns.filter((name) => plain.some((column) => column.name === name));
}

/** The columns that `--columns` names; "none" is none, unless a column is called so. */
export function namedColumns(call: Call, { reader }: HashSource): readonly string[] {
  const names = call.list('columns');
  const isNone = names.length === 1 && names[0] === 'none';
  if (isNone && !reader.columns.some(({ name }) => name === 'none')) return [];
  return names.map((name) => columnOf(call, reader, name).name);
}

/** A batch with these of its columns. */
export function only(batch: RowBatch, names: readonly string[]): RowBatch {
  return batch.without(
    batch.columns.map(({ name }) => name).filter((name) => !names.includes(name)),
  );
}

/** The batches of some columns as one; undefined where there are none. */
export function joinColumns(batches: readonly RowBatch[]): RowBatch | undefined {
  return batches.length === 0 ? undefined : RowBatch.join(batches);
}

/** What the prediction of memory goes by. */
interface Need {
  readonly rows: number;
  readonly storage: VectorStorage;
  readonly source: HashSource;
  /** The first rows, by which the others are estimated. */
  readonly piece: Piece;
  readonly carried: readonly string[];
}

/** The memory that an index needs, by its parts, and what to change where that is too much. */
function needOf(call: Call, { rows, storage, source, piece, carried }: Need) {
  const { vectors, count } = piece;
  const bits = 'bytesPerCode' in vectors ? vectors.bits : (call.number('bits') ?? DEFAULT_BITS);
  const codes = rows * (Math.ceil(bits / 8) + 12);
  let perVector = 0;
  if (storage !== 'none' && 'offsets' in vectors) {
    perVector = 20 + (16 * vectors.values.length) / Math.max(1, count);
  } else if (storage !== 'none' && 'dimensions' in vectors) {
    perVector = 8 + (storage === 'int8' ? 1 : 4) * vectors.dimensions;
  }
  // Bytes a row of carried columns while they are read and written, as measured.
  const perCarried = source.reader.columns
    .filter(({ name }) => carried.includes(name))
    .reduce((sum, { fits }) => sum + (fits.includes('number') ? 32 : 420), 0);
  const fewer = storage === 'float32' ? '--vectors int8 or none' : '--vectors none';
  const advice = [
    `fewer --bits (${Math.max(32, bits / 2)} halve the codes)`,
    ...(storage === 'none' ? [] : [fewer]),
    ...(carried.length > 0 ? ['fewer --columns'] : []),
  ];
  return {
    parts: {
      codes,
      'kept vectors': rows * perVector,
      ids: idBytes(rows, source.idColumn !== null),
      'carried columns': rows * perCarried,
      'writing it': codes + rows * perVector,
    },
    advice: `take ${advice.join(', ')}, or allow more`,
  };
}
