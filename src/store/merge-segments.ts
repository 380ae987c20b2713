/**
 * Merges segments in files: lists of partitions are concatenated, removed rows left out; no row is
 * assigned again, and memory holds some partitions. Row numbers of segments may interleave, as
 * those of the pieces of a segment that was too large to be placed at once.
 */

import { concatenated } from '../base/arrays';
import { copyResiduals, newResiduals, type Residuals } from '../kernels/residuals';
import { idAt, idColumn, layoutOf, maxBlockRows, type NewBlock, widerType } from './blocks';
import { type Content, countLive, type RowSet, type StoredSegment } from './content';
import type { GenerationWriter } from './generations';
import type { IndexHeader, SegmentFiles } from './manifest';
import {
  type BlockName,
  blockNames,
  bytesOfBlock,
  inGroups,
  type LoadedBlock,
  Reader,
  type Reading,
} from './reader';
import { SegmentWriter } from './write-segment';

/** What is merged, and how far it has come. */
interface Merging {
  /** Its removed rows are left out: all of these are in the files. */
  readonly content: Content;
  readonly segments: readonly StoredSegment[];
  readonly signal?: AbortSignal | undefined;
  /** Called with how many rows were written. */
  passed?(rows: number): void;
}

/** Writes the rows of some segments as one, without their carried columns. */
export async function mergeSegments(
  writer: GenerationWriter,
  header: IndexHeader,
  merging: Merging,
): Promise<SegmentFiles> {
  const { segments, content, signal, passed } = merging;
  const reader = new Reader(content);
  const id = segments.reduce<string | null>(
    (type, { blocks }) => widerType(type, blocks.layout.id),
    null,
  );
  const layout = layoutOf(header, content.space, id);
  const range = {
    firstRow: Math.min(...segments.map(({ firstRow }) => firstRow)),
    endRow: Math.max(...segments.map(({ endRow }) => endRow)),
    count: countLive(segments, content.removed),
  };
  const output = await SegmentWriter.open(writer, header, layout, range);
  const most = maxBlockRows(layout, content.space !== null);
  const positions = await newPositions(reader, merging, range);
  const how = { hasCodes: true, hasVectors: true, signal } as const;
  const isNumber = header.ids === 'number';
  let written = 0;
  await eachPartition(reader, segments, how, async (blocks) => {
    const rows = placesIn(blocks, 'rows', content.removed);
    const copies = placesIn(blocks, 'copies', content.removed);
    for (let at = 0; at < rows.length || at < copies.length; at += most) {
      const [own, copied] = [rows, copies].map((all) => all.slice(at, at + most));
      const made = gathered(blocks[0], own, copied, layout.id, isNumber);
      const ofRows = made.rows.map((_, i) => written + i);
      const ofCopies = made.copies.map((row) => positions[row - range.firstRow]);
      await output.add({
        ...made,
        positions: layout.copies ? concatenated([ofRows, ofCopies]) : null,
      });
      written += made.count;
    }
    passed?.(written);
  });
  return output.end();
}

/** By row, from the first on, its position in the merged segment; none without copies. */
async function newPositions(
  reader: Reader,
  { segments, content, signal }: Merging,
  { firstRow, endRow }: Pick<SegmentFiles, 'firstRow' | 'endRow'>,
): Promise<Uint32Array> {
  if (!content.manifest.index.copies) return new Uint32Array();
  const positions = new Uint32Array(endRow - firstRow);
  let next = 0;
  await eachPartition(reader, segments, { signal }, (blocks) => {
    for (const place of placesIn(blocks, 'rows', content.removed)) {
      positions[rowAt(place) - firstRow] = next++;
    }
  });
  return positions;
}

/**
 * Takes the blocks of each partition, of all segments. A large partition comes in pieces, unless
 * rows of segments interleave.
 */
async function eachPartition(
  reader: Reader,
  segments: readonly StoredSegment[],
  how: Reading,
  take: (blocks: readonly LoadedBlock[]) => void | Promise<void>,
): Promise<void> {
  const lists = new Map<number, BlockName[]>();
  for (const name of blockNames(segments)) {
    const partition = name.segment.blocks.partitions[name.block];
    const own = lists.get(partition) ?? [];
    lists.set(partition, own);
    own.push(name);
  }
  const bytesOf = (name: BlockName) => bytesOfBlock(name, true);
  const isApart = ({ firstRow }: StoredSegment, i: number) =>
    firstRow >= (segments[i - 1]?.endRow ?? 0);
  const mayCut = segments.every(isApart);
  const pieces = [...lists]
    .sort(([a], [b]) => a - b)
    .flatMap(([, names]) => (mayCut ? inGroups(names, bytesOf) : [names]));
  const groups = inGroups(pieces, (names) => names.reduce((sum, name) => sum + bytesOf(name), 0));
  const names = groups.map((group) => group.flat());
  await reader.each(names, how, async (blocks) => {
    let first = 0;
    for (const { length } of groups.shift() ?? []) {
      await take(blocks.slice(first, first + length));
      first += length;
    }
  });
}

/** A row of a block, or a copy, which are behind its rows. */
interface Place {
  readonly block: LoadedBlock;
  readonly at: number;
}

function rowAt({ block: { rows: own }, at }: Place): number {
  return at < own.count ? own.rows[at] : own.copies[at - own.count];
}

/** The rows, or copies, of some blocks that are left, ascending. */
function placesIn(
  blocks: readonly LoadedBlock[],
  of: 'rows' | 'copies',
  removed: RowSet,
): readonly Place[] {
  const places: Place[] = [];
  let [last, isSorted] = [-1, true];
  for (const block of blocks) {
    const first = of === 'rows' ? 0 : block.rows.count;
    for (const [i, row] of block.rows[of].entries()) {
      if (removed.has(row)) continue;
      places.push({ block, at: first + i });
      isSorted &&= row > last;
      last = row;
    }
  }
  // Row numbers of segments may interleave.
  return isSorted ? places : places.sort((a, b) => rowAt(a) - rowAt(b));
}

type Values = Uint8Array | Int8Array | Float32Array | BigUint64Array;

/** Rows and copies as a block like `model`; `id` is the type of its ids. */
function gathered(
  model: LoadedBlock,
  own: readonly Place[],
  copied: readonly Place[],
  id: string | null,
  isNumber: boolean,
): NewBlock {
  const { partition, residuals, checks } = model.rows;
  const { vectors, scales, sparse } = model.vectors;
  const all = [...own, ...copied];
  const numbers = Uint32Array.from(all, rowAt);
  const ids = id === null ? [] : all.map(({ block, at }) => idAt(block.rows.ids, at, 0, isNumber));
  /** Values of rows, each of which has them from `start` on to that of the next row. */
  const joined = <T extends Values>(
    of: (block: LoadedBlock) => T | null | undefined,
    start: (block: LoadedBlock, at: number) => number,
  ): T => {
    const parts = own.map(({ block, at }) => {
      return (of(block) as T).subarray(start(block, at), start(block, at + 1)) as T;
    });
    return concatenated([(of(model) as T).subarray(0, 0) as T, ...parts]);
  };
  /** The same of values of which each row has as many. */
  const wide = <T extends Values>(of: (block: LoadedBlock) => T | null | undefined): T =>
    joined(of, (block, at) => (at * (of(block) as T).length) / block.rows.count);
  const offsetOf = (block: LoadedBlock, at: number) => block.vectors.sparse?.offsets[at] as number;
  let end = 0;
  const lengths = own.map(({ block, at }) => offsetOf(block, at + 1) - offsetOf(block, at));
  return {
    partition,
    count: own.length,
    rows: numbers.subarray(0, own.length),
    copies: numbers.subarray(own.length),
    positions: null,
    ids: idColumn(ids, id),
    codes: wide(({ rows }) => rows.codes),
    residuals: residuals && residualsOf(all, residuals.bytesPerRow),
    checks: checks && Uint32Array.from(all, ({ block, at }) => block.rows.checks?.[at] as number),
    vectors: {
      vectors: vectors && wide<Float32Array | Int8Array>((block) => block.vectors.vectors),
      scales: scales && wide((block) => block.vectors.scales),
      sparse: sparse && {
        offsets: Int32Array.of(0, ...lengths.map((length) => (end += length))),
        indices: joined((block) => block.vectors.sparse?.indices, offsetOf),
        weights: joined((block) => block.vectors.sparse?.weights, offsetOf),
      },
    },
  };
}

function residualsOf(places: readonly Place[], bytesPerRow: number): Residuals {
  const all = newResiduals(bytesPerRow, places.length);
  for (let i = 0, end = 0; i < places.length; i = end) {
    const { block, at } = places[i];
    do end++;
    while (places[end]?.block === block && places[end].at === at + end - i);
    copyResiduals(block.rows.residuals as Residuals, at, all, i, end - i);
  }
  return all;
}
