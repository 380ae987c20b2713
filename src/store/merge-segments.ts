/**
 * Merges segments in files: lists of partitions are concatenated, removed rows left out; no row is
 * assigned again, and memory holds some partitions. Row numbers of segments may interleave, as
 * those of the pieces of a segment that was too large to be placed at once.
 */

import { ascending, concatenated, runOf } from '../base/arrays';
import { copyResiduals, newResiduals, type Residuals } from '../kernels/residuals';
import { idAt, idColumn, maxBlockRows, type NewBlock, widerType } from './blocks';
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
import { layoutOf, SegmentWriter } from './write-segment';

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
    const rows = runsOf(blocks, 'rows', content.removed, most);
    const copies = runsOf(blocks, 'copies', content.removed, most);
    for (let i = 0; i < rows.length || i < copies.length; i++) {
      const made = gathered(blocks[0], rows[i] ?? [], copies[i] ?? [], layout.id, isNumber);
      const ofRows = made.rows.map((_, at) => written + at);
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
    for (const { block, from, to } of runsOf(blocks, 'rows', content.removed).flat()) {
      for (let i = from; i < to; i++) positions[block.rows.rows[i] - firstRow] = next++;
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

/** Rows `from` to `to - 1` of a block, or copies. */
interface Run {
  readonly block: LoadedBlock;
  readonly from: number;
  to: number;
}

/** The rows, or copies, of some blocks that are left, ascending, in lists of at most `most`. */
function runsOf(
  blocks: readonly LoadedBlock[],
  of: 'rows' | 'copies',
  removed: RowSet,
  most = Number.POSITIVE_INFINITY,
): Run[][] {
  const rows = concatenated([new Uint32Array(), ...blocks.map(({ rows }) => rows[of])]);
  const order = ascending(rows.length);
  // Row numbers of segments may interleave.
  if (rows.some((row, i) => row < rows[i - 1])) order.sort((a, b) => rows[a] - rows[b]);
  let end = 0;
  const ends = Uint32Array.from(blocks, ({ rows }) => (end += rows[of].length));
  const starts = ends.map((end, i) => end - blocks[i].rows[of].length);
  const lists: Run[][] = [];
  let room = 0;
  for (const place of order) {
    if (removed.has(rows[place])) continue;
    if (room === 0) {
      lists.push([]);
      room = most;
    }
    room--;
    const number = runOf(starts, place);
    const from = place - starts[number];
    const list = lists[lists.length - 1];
    const last = list.at(-1);
    if (last?.block === blocks[number] && last.to === from) last.to++;
    else list.push({ block: blocks[number], from, to: from + 1 });
  }
  return lists;
}

type Values = Uint8Array | Int8Array | Int32Array | Uint32Array | Float32Array | BigUint64Array;

/** Runs of rows and of copies as a block like `block`; `id` is the type of its ids. */
function gathered(
  block: LoadedBlock,
  ofRows: readonly Run[],
  ofCopies: readonly Run[],
  id: string | null,
  isNumber: boolean,
): NewBlock {
  // Columns that copies have too contain them behind the rows.
  const behind = ofCopies.map(({ block, from, to }) => {
    const { count } = block.rows;
    return { block, from: count + from, to: count + to };
  });
  const ofAll = [...ofRows, ...behind];
  /** Values of some runs, which begin at `start`: that of the run's row unless given. */
  const all = <T extends Values>(
    runs: readonly Run[],
    of: (block: LoadedBlock) => T | null | undefined,
    start: (block: LoadedBlock, i: number) => number = (_, i) => i,
  ): T | null => {
    const none = of(block)?.subarray(0, 0) as T | undefined;
    if (!none) return null;
    const parts = runs.map(({ block, from, to }) => {
      return (of(block) as T).subarray(start(block, from), start(block, to)) as T;
    });
    return concatenated([none, ...parts]);
  };
  /** The same of values of which each row has as many. */
  const wide = <T extends Values>(of: (block: LoadedBlock) => T | null | undefined) =>
    all(ofRows, of, (block, i) => (i * (of(block) as T).length) / block.rows.count);
  const rows = all(ofRows, ({ rows }) => rows.rows) as Uint32Array;
  const ids = (id === null ? [] : ofAll).flatMap(({ block: { rows: own }, from, to }) =>
    Array.from({ length: to - from }, (_, i) => idAt(own.ids, from + i, 0, isNumber)),
  );
  const entryAt = ({ vectors }: LoadedBlock, i: number) => vectors.sparse?.offsets[i] as number;
  const entries = all(ofRows, ({ rows }) => rows.entries);
  let end = 0;
  const sparse = entries && {
    offsets: Int32Array.of(0, ...entries.map((some) => (end += some))),
    indices: all(ofRows, ({ vectors }) => vectors.sparse?.indices, entryAt) as BigUint64Array,
    weights: all(ofRows, ({ vectors }) => vectors.sparse?.weights, entryAt) as Float32Array,
  };
  return {
    partition: block.rows.partition,
    count: rows.length,
    rows,
    copies: all(ofCopies, ({ rows }) => rows.copies) as Uint32Array,
    positions: null,
    ids: idColumn(ids, id),
    codes: wide(({ rows }) => rows.codes) as Uint8Array,
    residuals: residualsOf(block, ofAll),
    checks: all(ofAll, ({ rows }) => rows.checks),
    vectors: {
      vectors: wide<Float32Array | Int8Array>(({ vectors }) => vectors.vectors),
      scales: all(ofRows, ({ vectors }) => vectors.scales),
      sparse,
    },
  };
}

function residualsOf({ rows: { residuals } }: LoadedBlock, runs: readonly Run[]): Residuals | null {
  if (residuals === null) return null;
  const count = runs.reduce((sum, { from, to }) => sum + to - from, 0);
  const all = newResiduals(residuals.bytesPerRow, count);
  let at = 0;
  for (const { block, from, to } of runs) {
    copyResiduals(block.rows.residuals as Residuals, from, all, at, to - from);
    at += to - from;
  }
  return all;
}
