/**
 * The rows of a file, a stream or an index folder as something that pairs, plans and clusters are
 * made of: codes in memory with the ids, and vectors only where exact cosines are asked for. The
 * texts are not held. Also the rows in blocks, to be written.
 */

import { ascending, concatenated } from '../../base/arrays';
import { type Measure, measureOf } from '../../codes/measure';
import { BandKeys, type MinBands } from '../../hashing/min-bands';
import { liveRows } from '../../measure/measured-rows';
import {
  Codes,
  type DenseMatrix,
  type Id,
  type Ids,
  IndexFolder,
  type RowBatch,
  type RowSource,
  SimHashIndex,
  type SimHashIndexOptions,
} from '../../node';
import type { Call } from '../call';
import { type HashSource, openSource } from './hash-source';
import { DEFAULT_BITS, hasherOptionsOf } from './hasher-options';
import { isIndexFolder, refuseOtherSettings } from './index-folder';
import type { Input } from './open-input';
import type { TextTerms } from './texts';

/** Rows in memory: of a file or stream as codes or an index, of a folder as its index. */
export interface Collection {
  readonly path: Input;
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
  /** What distances of the codes estimate. */
  readonly measure: Measure;
  /** The vectors that the source holds, so that similarities are exact. */
  readonly vectors: 'dense' | 'sparse' | null;
  /** Keys of the rows' sets, which near rows share; null where they were not made. */
  readonly keys: BandKeys | null;
  /** Reads the vectors of wanted rows again; null where they came by a stream, or are codes. */
  readonly again: ((isWanted?: (row: number) => boolean) => Promise<HashSource>) | null;
  /** The file of a row, where they lie in several. */
  readonly fileAt: (row: number) => string | undefined;
  /** The column of the texts that the codes are of. */
  readonly textColumn: string | null;
  /** How another collection is made to be compared with it. */
  readonly like: Likeness;
}

/** What made the codes of a collection. */
interface Likeness {
  /** Null where the call's own options made the codes. */
  readonly index: SimHashIndexOptions | null;
  /** Null where they are not of texts. */
  readonly text: TextTerms | null;
}

/** What a verb needs of the rows, beyond their codes and ids. */
export interface CollectionNeeds {
  /** Hold with the codes the vectors, where there are dense ones, or the sums. */
  readonly hold?: 'vectors' | 'sums' | undefined;
  /** Texts are compared as sets, unless an option asks for something else. */
  readonly areTextsSets?: boolean;
  /** Make the codes as those of another collection, to be compared with them. */
  readonly like?: Likeness;
  /** Bands whose keys are made of texts that are sets, with codes of so many bits. */
  readonly bands?: (bits: number) => MinBands | null;
  /** Called before the rows are read, with what they will be made of; null for an index. */
  readonly begin?: (source: HashSource | null) => void;
  /** Columns that `take` looks at; asked for after `begin`. */
  readonly columns?: () => readonly string[];
  /** Called with these and the rows' own, batch by batch. */
  readonly take?: (batch: RowBatch) => void;
}

/** Reads an index folder as it is, and the rows of anything else as the call's options say. */
export async function readCollection(
  call: Call,
  path: Input,
  needs: CollectionNeeds = {},
): Promise<Collection> {
  if (typeof path !== 'string' || !(await isIndexFolder(path))) return readRows(call, path, needs);
  needs.begin?.(null);
  const folder = await IndexFolder.open(path);
  refuseOtherSettings(call, folder);
  const index = await call.long(`opening ${path}`, (work) => folder.index(work));
  const { options, text: settings } = folder;
  const text = settings && { settings, frequencies: await folder.frequencies() };
  const there = liveRows(index);
  const ids = idsOfIndex(index, there);
  return {
    ...{ path, source: index, bits: index.bits, isIndex: true, sums: null, textColumn: null },
    ...{ count: ids.length, there, ids, like: { index: options, text } },
    measure: measureOf(options.projection),
    vectors: index.vectors === 'none' ? null : index.vectors === 'sparse' ? 'sparse' : 'dense',
    ...{ again: null, keys: null, fileAt: () => undefined },
  };
}

/** Rows of a file or stream, hashed batch by batch. */
async function readRows(call: Call, path: Input, needs: CollectionNeeds): Promise<Collection> {
  const { like, take, hold } = needs;
  const source = await openSource(call, path, { text: like?.text });
  const { kind, columns, idColumn, text } = source.choice;
  needs.begin?.(source);
  if (like?.index) source.hashAs(like.index);
  else if (needs.areTextsSets) source.takeTextsAsSets();
  if (needs.bands && like === undefined) source.keys = keysFor(source, needs.bands);
  await source.narrow(needs.columns?.() ?? []);
  // Codes that came ready have no vectors and no sums; texts need an index for their vectors only.
  const isLikeIndex = Boolean(like?.index && (kind !== 'text' || holdsVectors(like.index)));
  const isIndexed = isLikeIndex || (hold === 'vectors' && kind === 'vector');
  const sums: Float32Array[] | null = hold === 'sums' && kind !== 'code' ? [] : null;
  const codes: Codes[] = [];
  const ids: Ids[] = [];
  let index: SimHashIndex | null = null;
  const shards = idColumn === null ? null : new ShardIds(call, source);
  let count = 0;
  for await (const batch of source) {
    const own = source.idsOf(batch);
    if (own !== null) {
      ids.push(own);
      shards?.take(own, batch.firstRow);
    }
    take?.(batch);
    count += batch.count;
    if (isIndexed) index = addTo(index, source, { batch, options: like?.index ?? null });
    else codes.push(await source.hash(batch, sums ?? undefined));
  }
  source.sayNulls();
  const made = index ?? Codes.join(codes, { bits: call.number('bits') ?? DEFAULT_BITS });
  const { bits } = made;
  return {
    ...{ path, count, source: made, bits, isIndex: false, there: null },
    sums: sums && sums.length > 0 ? { values: concatenated(sums), dimensions: bits } : null,
    ids: idColumn === null ? null : joinedIds(ids),
    measure: measureOf(index?.hasher.projection ?? codes[0]?.origin?.projection),
    vectors: index !== null && index.vectors !== 'none' ? 'dense' : null,
    keys: hasKeys(source.keys, count) ? source.keys : null,
    again: path === '-' || kind === 'code' ? null : (isWanted) => source.again(isWanted),
    fileAt: (row) => source.reader.shardAt(row),
    textColumn: kind === 'text' ? columns[0] : null,
    like: { index: like?.index ?? null, text },
  };
}

function holdsVectors({ vectors = 'none' }: SimHashIndexOptions): boolean {
  return vectors !== 'none';
}

/** What takes the keys of texts that become sets; null for other rows. */
function keysFor(source: HashSource, bandsOf: (bits: number) => MinBands | null): BandKeys | null {
  const { bits = DEFAULT_BITS, projection } = source.optionsFor(undefined);
  const bands = projection === 'minwise' && source.choice.kind === 'text' ? bandsOf(bits) : null;
  return bands && new BandKeys(bands);
}

/** Whether each of so many rows has its keys: texts that are split otherwise have none. */
function hasKeys(keys: BandKeys | null, rows: number): boolean {
  return keys?.all().length === rows * (keys?.bands.count ?? 0);
}

/** Adds a batch to an index, which is made at first: with vectors, or as another one, `options`. */
function addTo(
  there: SimHashIndex | null,
  source: HashSource,
  { batch, options }: { batch: RowBatch; options: SimHashIndexOptions | null },
): SimHashIndex | null {
  let index = there;
  for (const { firstRow, vectors } of source.piecesOf(batch)) {
    const dimensions = 'dimensions' in vectors ? vectors.dimensions : undefined;
    const own = { zero: 'null', vectors: 'float32' } as const;
    const into =
      index ?? new SimHashIndex(options ?? { ...hasherOptionsOf(source.call, dimensions), ...own });
    source.named(firstRow, () => into.addAll(vectors));
    index = into;
  }
  return index;
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

/** Refuses ids that are in several shards, by their names: a plan could not be reviewed by them. */
class ShardIds {
  readonly #shardOf = new Map<Id, string>();

  constructor(
    readonly call: Call,
    readonly source: HashSource,
  ) {}

  /** Takes the ids of the next rows; those of one file may be repeated. */
  take(ids: Ids, firstRow: number): void {
    const file = this.source.reader.shardAt(firstRow);
    if (file === undefined) return;
    for (const id of ids) {
      const other = this.#shardOf.get(id);
      if (other === undefined) this.#shardOf.set(id, file);
      else if (other !== file) {
        const { idColumn } = this.source.choice;
        this.call.fail(
          `${file}: its "${idColumn}" ${id} is in ${other} too; --id COLUMN names a column whose ` +
            'values are different in all shards, --id none goes by numbers of rows',
        );
      }
    }
  }
}

/**
 * By row the ids of an index, those of removed rows empty: strings where one is, else integers of
 * the narrowest type that holds all.
 */
export function idsOfIndex(
  index: SimHashIndex,
  rows: Uint32Array,
  count = (rows.at(-1) ?? -1) + 1,
): Ids {
  const all: (Id | undefined)[] = Array(count).fill(undefined);
  for (const row of rows) all[row] = index.idOf(row);
  if (all.some((id) => typeof id === 'string')) return all.map((id) => String(id ?? ''));
  const integers = all.map((id) => BigInt(id ?? 0));
  if (integers.every((id) => id === BigInt.asUintN(32, id))) {
    return Uint32Array.from(integers, Number);
  }
  return bigIntegers(integers);
}

/** Integers of 64 bits as a column, signed where that holds all. */
export function bigIntegers(ids: readonly bigint[]): BigInt64Array | BigUint64Array {
  const isSigned = ids.every((id) => id === BigInt.asIntN(64, id));
  return (isSigned ? BigInt64Array : BigUint64Array).from(ids);
}

/** Rows of an output that are made at once. */
const BATCH_ROWS = 8192;

/** The rows of a collection, a batch of an output at a time; one empty batch without rows. */
export function* rowBlocks({ there, count }: Collection): Generator<Uint32Array> {
  const all = there ?? ascending(count);
  for (let first = 0; first === 0 || first < all.length; first += BATCH_ROWS) {
    yield all.slice(first, first + BATCH_ROWS);
  }
}
