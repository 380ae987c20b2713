/**
 * The rows of a file, a stream or an index folder as something that pairs, plans and clusters are
 * made of: codes in memory with the ids, and vectors only where exact cosines are asked for. The
 * texts are not held.
 */

import { vectorAt } from '../../measure/rows';
import {
  Codes,
  type DenseMatrix,
  type Ids,
  IndexFolder,
  type RowBatch,
  type RowSource,
  type SimHasher,
  SimHashIndex,
  type SimHashIndexOptions,
} from '../../node';
import type { Call } from '../call';
import {
  DEFAULT_BITS,
  type HashSource,
  hasherOptionsOf,
  openSource,
  type TextTerms,
} from './hashing';
import { isIndexFolder, refuseOtherSettings } from './index-folder';
import { joinDense, joinIds, rowsOfIndex } from './join';
import { checkMemory, idBytes, rowsToCome } from './memory';

/** Rows in memory: of a file or stream as codes or an index, of a folder as its index. */
export interface Collection {
  readonly path: string;
  readonly source: RowSource;
  /** By row the sums whose signs are its code, where they were asked for. */
  readonly sums: DenseMatrix | null;
  readonly bits: number;
  /** Rows, those without a code included. */
  readonly count: number;
  /** The rows of an index that were not removed; null where all are there. */
  readonly there: Uint32Array | null;
  readonly ids: Ids | null;
  readonly isIndex: boolean;
  /** Whether vectors are kept, so that cosines are exact. */
  readonly hasVectors: boolean;
  /** The column of the texts that the codes are of. */
  readonly textColumn: string | null;
  /** How another collection is made to be compared with it. */
  readonly like: Likeness;
}

/** What made the codes of a collection. */
export interface Likeness {
  /** Null where the call's own options made the codes. */
  readonly index: SimHashIndexOptions | null;
  /** Null where they are not of texts. */
  readonly text: TextTerms | null;
}

/** What a verb needs of the rows, beyond their codes and ids. */
export interface CollectionWish {
  /** Hold with the codes the vectors, where there are dense ones, or the sums. */
  readonly hold?: 'vectors' | 'sums' | undefined;
  /** Make the codes as those of another collection, to be compared with them. */
  readonly like?: Likeness;
  /** Called before the rows are read, with what they will be made of; null for an index. */
  readonly begin?: (source: HashSource | null) => void;
  /** Columns that `take` looks at; asked for after `begin`. */
  readonly columns?: () => readonly string[];
  /** Called with these and the rows' own, batch by batch. */
  readonly take?: (batch: RowBatch) => void;
  /** Bytes that the work needs for a row, besides its code and id. */
  readonly bytesPerRow?: number;
}

/** Reads an index folder as it is, and the rows of anything else as the call's options say. */
export async function readCollection(
  call: Call,
  path: string,
  wish: CollectionWish = {},
): Promise<Collection> {
  if (!(await isIndexFolder(path))) return readRows(call, path, wish);
  wish.begin?.(null);
  return openFolder(call, path);
}

/** An index is not read again: its rows, ids and settings are those of the folder. */
async function openFolder(call: Call, path: string): Promise<Collection> {
  const folder = await IndexFolder.open(path);
  refuseOtherSettings(call, folder);
  const index = await call.long(`opening ${path}`, (work) => folder.index(work));
  const { options, text } = folder;
  const { rows, ids } = rowsOfIndex(index);
  return {
    ...{ path, source: index, bits: index.bits, isIndex: true, sums: null, textColumn: null },
    ...{ count: ids.length, there: rows, ids },
    // Exact cosines of pairs need vectors of one width, which sparse ones do not have.
    hasVectors: index.vectors !== 'none' && options.dimensions !== undefined,
    like: {
      index: options,
      text: text && { settings: text, frequencies: await folder.frequencies() },
    },
  };
}

/** Rows of a file or stream, hashed batch by batch; fails early where memory would not do. */
async function readRows(call: Call, path: string, wish: CollectionWish): Promise<Collection> {
  const { like, take } = wish;
  const source = await openSource(call, path, { text: like?.text });
  wish.begin?.(source);
  await source.narrow(wish.columns?.() ?? []);
  const held = holderOf(wish, source);
  const ids: Ids[] = [];
  let count = 0;
  for await (const batch of source.reader) {
    const own = source.idsOf(batch);
    if (own !== null) ids.push(own);
    take?.(batch);
    held.add(batch);
    if (count === 0) await checkRoom(call, source, held.bytesPerRow() + (wish.bytesPerRow ?? 0));
    count += batch.count;
  }
  source.sayNulls();
  const made = held.finish();
  return {
    ...{ path, count, ...made, bits: made.source.bits, isIndex: false, there: null },
    ids: source.idColumn === null ? null : joinIds(ids),
    hasVectors: 'vectors' in made.source && made.source.vectors !== 'none',
    textColumn: source.kind === 'text' ? source.columns[0] : null,
    like: { index: like?.index ?? null, text: source.text },
  };
}

/** Rows in memory as what is asked of them, batch by batch. */
interface HeldRows {
  /** Memory, known after the first rows. */
  bytesPerRow(): number;
  add(batch: RowBatch): void;
  finish(): { readonly source: RowSource; readonly sums: DenseMatrix | null };
}

/** What the rows become; codes that came ready have no vectors and no sums. */
function holderOf({ hold, like }: CollectionWish, source: HashSource): HeldRows {
  if (like?.index) return heldIndex(source, like.index);
  if (hold === 'vectors' && source.kind === 'vector') return heldIndex(source, null);
  return hold === 'sums' && source.kind !== 'code' ? heldSums(source) : heldCodes(source);
}

/** Codes as one; where there were no rows, none of the width that they would have. */
function joinedCodes(parts: readonly Codes[], { call }: HashSource): Codes {
  return Codes.join(parts, { bits: call.number('bits') ?? DEFAULT_BITS });
}

/** Codes alone: parts, and at the end all as one, so twice their bytes. */
function heldCodes(source: HashSource): HeldRows {
  const parts: Codes[] = [];
  return {
    bytesPerRow: () => 2 * (parts[0]?.bytesPerCode ?? 0),
    add: (batch) => parts.push(source.hash(batch)),
    finish: () => ({ source: joinedCodes(parts, source), sums: null }),
  };
}

/** Codes with their vectors; or codes as another index makes them, which `options` are of. */
function heldIndex(source: HashSource, options: SimHashIndexOptions | null): HeldRows {
  let index: SimHashIndex | null = null;
  let dimensions = 0;
  return {
    bytesPerRow: () => Math.ceil((index?.bits ?? 0) / 8) + 4 * dimensions,
    add(batch) {
      for (const { firstRow, vectors } of source.piecesOf(batch)) {
        dimensions = 'dimensions' in vectors ? vectors.dimensions : 0;
        const hashing = hasherOptionsOf(source.call, dimensions || undefined);
        const made =
          index ?? new SimHashIndex(options ?? { ...hashing, zero: 'null', vectors: 'float32' });
        source.named(firstRow, () => made.addAll(vectors));
        index = made;
      }
    },
    finish: () => ({ source: index ?? joinedCodes([], source), sums: null }),
  };
}

/** Codes with the sums whose signs they are: these say more of a vector than its code. */
function heldSums(source: HashSource): HeldRows {
  const codes: Codes[] = [];
  const sums: DenseMatrix[] = [];
  let hasher: SimHasher | null = null;
  return {
    bytesPerRow: () => 2 * (Math.ceil((hasher?.bits ?? 0) / 8) + 4 * (hasher?.bits ?? 0)),
    add(batch) {
      for (const { firstRow, count, vectors } of source.piecesOf(batch)) {
        if ('bytesPerCode' in vectors) throw new Error('codes have no sums');
        const made = source.hasherFor(vectors);
        const values = new Float32Array(count * made.bits);
        source.named(firstRow, () => {
          const own = made.hashAll(vectors);
          for (let row = 0; row < count; row++) {
            if (own.isNull(row)) continue;
            values.set(made.accumulate(vectorAt(vectors, row)), row * made.bits);
          }
          codes.push(own);
        });
        sums.push({ values, dimensions: made.bits });
        hasher = made;
      }
    },
    finish: () => ({
      source: joinedCodes(codes, source),
      sums: sums.length > 0 ? joinDense(sums) : null,
    }),
  };
}

/** Refuses what would need more memory than is allowed; the first rows show how wide they are. */
async function checkRoom(call: Call, source: HashSource, bytesPerRow: number): Promise<void> {
  const rows = call.has('max-memory') ? await rowsToCome(source.reader) : null;
  checkMemory(call, rows, {
    parts: {
      rows: (rows ?? 0) * bytesPerRow,
      ids: idBytes(rows ?? 0, source.idColumn !== null),
    },
    advice: 'take fewer --bits, or a part of the file',
  });
}
