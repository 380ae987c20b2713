/**
 * The rows of a file, a stream or an index folder as something that pairs, plans and clusters are
 * made of: codes in memory with the ids, and vectors only where exact cosines are asked for. The
 * texts are not held: `rowTexts` reads those that are wanted again.
 */

import { ascending, concatenated } from '../../base/arrays';
import { type Measure, measureOf } from '../../codes/measure';
import { coreOf } from '../../index/simhash-index';
import {
  Codes,
  type DenseMatrix,
  type Id,
  type Ids,
  IndexFolder,
  type RowBatch,
  type RowSource,
  type SimHashIndex,
  type SimHashIndexOptions,
} from '../../node';
import { idColumn, idType } from '../../store/blocks';
import { isIndexFolder } from '../../store/generations';
import { BandKeys, type MinBands } from '../../text/text-set';
import type { Call } from '../call';
import { DEFAULT_BITS, type InputRows, type Likeness, openInputRows } from './input-rows';
import { columnOf, type Input } from './open-input';
import { likenessOf, refuseOtherSettings } from './saved-index';

/** Rows in memory: of a file or stream as codes or an index, of a folder as its index. */
export interface Collection {
  readonly path: Input;
  readonly source: RowSource;
  /** By row the sums whose signs are its code, where they were asked for. */
  readonly sums: DenseMatrix | null;
  readonly bits: number;
  /** Rows, those without a code included. */
  readonly count: number;
  /** The rows that are there, ascending: those of an index that were not removed. */
  readonly rows: Uint32Array;
  readonly ids: Ids | null;
  /** What the rows were read from; null for an index. */
  readonly input: InputRows | null;
  /** What distances of the codes estimate. */
  readonly measure: Measure;
  /** The vectors that the source holds, so that similarities are exact. */
  readonly vectors: 'dense' | 'sparse' | null;
  readonly texts: ReturnType<typeof rowTexts>;
  /** How another collection must be made to be comparable with this one. */
  readonly like: Likeness;
}

/** A column that is read with the rows; `take` gets every batch, in their order. */
export interface TakenColumn {
  readonly column: string;
  take(batch: RowBatch): void;
}

export interface CollectionNeeds {
  /** Hold with the codes the vectors, where these are dense; with 'sums' of others their sums. */
  readonly hold?: 'vectors' | 'sums' | undefined;
  /** Texts are compared as sets, unless an option asks for something else. */
  readonly areTextsSets?: boolean;
  /** Makes codes like those of another collection, so that both can be compared. */
  readonly like?: Likeness;
  /** Bands whose keys are made of texts that are sets, with codes of so many bits. */
  readonly bands?: ((bits: number) => MinBands | null) | undefined;
  /**
   * Called before the rows are read, to check options; gets the columns that codes are made of, or
   * null for an index. Returns further columns to read.
   */
  readonly begin?: (rows: InputRows | null) => readonly TakenColumn[];
}

/** Reads an index folder as it is, and the rows of anything else as the call's options say. */
export async function readCollection(
  call: Call,
  path: Input,
  needs: CollectionNeeds = {},
): Promise<Collection> {
  if (typeof path !== 'string' || !(await isIndexFolder(path))) return readRows(call, path, needs);
  const [taken] = needs.begin?.(null) ?? [];
  if (taken) {
    const advice = '--within and --keep by a column need a file';
    call.misuse(`column "${taken.column}" cannot be read from the index ${path}: ${advice}`);
  }
  const folder = await IndexFolder.open(path);
  refuseOtherSettings(call, folder);
  const index = await call.long(`opening ${path}`, (work) => folder.index(work));
  const rows = coreOf(index).rows.liveRows();
  const ids = idsOfIndex(index, rows);
  return {
    path,
    ...sourceOf(index),
    sums: null,
    count: ids.length,
    rows,
    ids,
    input: null,
    texts: rowTexts(null),
    like: await likenessOf(folder),
  };
}

async function readRows(call: Call, path: Input, needs: CollectionNeeds): Promise<Collection> {
  const { like, hold, areTextsSets } = needs;
  const rows = await openInputRows(call, path, { like, areTextsSets });
  const { kind, idColumn, text } = rows.choice;
  const taken = needs.begin?.(rows) ?? [];
  for (const { column } of taken) columnOf(call, rows.reader, column);
  if (needs.bands && like === undefined) rows.keys = keysFor(rows, needs.bands);
  await rows.narrow(taken.map(({ column }) => column));
  // Codes that came ready have no vectors and no sums; texts need an index for their vectors only.
  const isLikeIndex =
    like?.options && (kind !== 'text' || (like.options.vectors ?? 'none') !== 'none');
  const isIndexed = isLikeIndex || (hold !== undefined && kind === 'vector');
  const optionsOf = (vectors: object): SimHashIndexOptions => {
    const { dimensions } = vectors as { dimensions?: number };
    return like?.options ?? { ...rows.optionsFor(dimensions), vectors: 'float32' };
  };
  const hasSums = hold === 'sums' && (kind === 'text' || kind === 'sparse');
  const sums: Float32Array[] | undefined = hasSums ? [] : undefined;
  const codes: Codes[] = [];
  const ids: Ids[] = [];
  let index: SimHashIndex | null = null;
  let count = 0;
  for await (const batch of rows) {
    const own = rows.idsOf(batch);
    if (own !== null) ids.push(own);
    for (const column of taken) column.take(batch);
    count += batch.count;
    if (isIndexed) index = await rows.addTo(index, batch, null, optionsOf);
    else codes.push(await rows.hash(batch, sums));
  }
  rows.sayNulls();
  const made = index ?? Codes.join(codes, { bits: call.number('bits') ?? DEFAULT_BITS });
  // Texts that are split otherwise than into shingles have no keys.
  if (rows.keys?.all().length !== count * (rows.keys?.bands.count ?? 0)) rows.keys = null;
  return {
    path,
    ...sourceOf(made),
    sums: sums?.length ? { values: concatenated(sums), dimensions: made.bits } : null,
    count,
    rows: ascending(count),
    ids: idColumn === null ? null : joinedIds(ids),
    input: rows,
    texts: rowTexts(rows),
    like: {
      path: rows.reader.file,
      options: like?.options ?? null,
      text,
      projection: kind === 'code' ? (made as Codes).origin?.projection : undefined,
    },
  };
}

/** Codes or an index, and what follows from how they were made. */
function sourceOf(source: Codes | SimHashIndex) {
  const index = source instanceof Codes ? null : source;
  const projection = source instanceof Codes ? source.origin?.projection : source.hasher.projection;
  const held = index?.vectors ?? 'none';
  const vectors = held === 'int8' || held === 'float32' ? 'dense' : held === 'none' ? null : held;
  return { source, bits: source.bits, measure: measureOf(projection), vectors } as const;
}

/** What takes the keys of texts that become sets; null for other rows. */
export function keysFor(
  rows: InputRows,
  bandsOf: (bits: number) => MinBands | null,
): BandKeys | null {
  const { bits = DEFAULT_BITS, projection } = rows.optionsFor(undefined);
  const bands = projection === 'minwise' && rows.choice.kind === 'text' ? bandsOf(bits) : null;
  return bands && new BandKeys(bands);
}

/** Ids of one kind: strings, or integers of one type. */
function joinedIds(parts: readonly Ids[]): Ids {
  if (parts.length <= 1) return parts[0] ?? [];
  const [{ constructor: type }] = parts;
  const isOne = !parts.some(Array.isArray) && parts.every((part) => part.constructor === type);
  return isOne
    ? concatenated(parts as Int32Array[])
    : parts.flatMap((part) => Array.from<Id, string>(part, String));
}

/** By row the ids of an index, in the type that they have there; of removed rows empty ones. */
function idsOfIndex(index: SimHashIndex, rows: Uint32Array): Ids {
  const { idKind } = coreOf(index);
  const none = idKind === 'string' ? '' : idKind === 'bigint' ? 0n : 0;
  const all = Array<Id>((rows.at(-1) ?? -1) + 1).fill(none);
  for (const row of rows) all[row] = index.idOf(row) ?? none;
  return (idKind === 'row' ? null : idColumn(all, idType(all))) ?? ascending(all.length);
}

/**
 * The texts of some rows of an input, which are not held while all rows are read: those that are
 * wanted are read again. `input` is null for an index.
 */
function rowTexts(input: InputRows | null) {
  const areThere = input?.choice.kind === 'text' && input.canReadAgain;
  /** The column of texts that can be read again; null for other rows, and for those of stdin. */
  const column = areThere ? input.choice.columns[0] : null;
  return {
    column,

    /**
     * The texts of these rows, by row, or what `cut` makes of each as it comes: they may be long,
     * and many. Empty where there are none. Reads the input up to the last of them.
     */
    async of(
      rows: readonly number[],
      cut = (_row: number, text: string) => text,
    ): Promise<ReadonlyMap<number, string>> {
      const texts = new Map<number, string>();
      if (column === null || input === null) return texts;
      const wanted = new Set(rows);
      if (wanted.size === 0) return texts;
      const isWanted = (row: number) => wanted.has(row);
      for await (const batch of await input.again(isWanted)) {
        const own = ascending(batch.count).filter((i) => isWanted(batch.firstRow + i));
        const all = own.length === 0 ? [] : batch.texts(column);
        for (const i of own) texts.set(batch.firstRow + i, cut(batch.firstRow + i, all[i] ?? ''));
        if (texts.size === wanted.size) break;
      }
      return texts;
    },
  };
}
