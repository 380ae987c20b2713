/**
 * Merges segments in files: lists of partitions are concatenated, removed rows left out; no row is
 * assigned again, and memory holds some partitions. Row numbers of segments may interleave, as
 * those of the pieces of a segment that was too large to be placed at once.
 */

import { ascending, concatenated, runOf } from '../base/arrays';
import { copyResiduals, newResiduals, type Residuals } from '../kernels/residuals';
import { idAt, idColumn, maxBlockRows, type NewBlock, ROWS, widerType } from './blocks';
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
  const mostRows = maxBlockRows(layout, content.space !== null);
  const positions = await newPositions(reader, merging, range);
  const how = { hasCodes: true, hasVectors: true, signal } as const;
  let written = 0;
  await eachPartition(reader, segments, 'all', how, async (blocks) => {
    for (const runs of runsOf(blocks, content.removed, mostRows)) {
      const made = gathered(runs, layout.id, header.ids === 'number');
      const links = made.isCopy && made.rows.map((row) => positions[row - range.firstRow]);
      await output.add(links ? { ...made, links } : made);
      if (!made.isCopy) written += made.count;
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
  await eachPartition(reader, segments, 'rows', { signal }, (blocks) => {
    for (const { block, from, to } of runsOf(blocks, content.removed).flat()) {
      for (let i = from; i < to; i++) positions[block.rows.rows[i] - firstRow] = next++;
    }
  });
  return positions;
}

/**
 * Takes the blocks of each partition, of all segments: of copies of rows there, then of its rows. A
 * large partition comes in pieces, unless rows of segments interleave.
 */
async function eachPartition(
  reader: Reader,
  segments: readonly StoredSegment[],
  of: 'rows' | 'all',
  how: Reading,
  take: (blocks: readonly LoadedBlock[]) => void | Promise<void>,
): Promise<void> {
  const lists = new Map<number, BlockName[]>();
  for (const name of blockNames(segments, of)) {
    const { blocks } = name.segment;
    const place = 2 * blocks.partitions[name.block] + Number(blocks.of[name.block] === ROWS);
    const own = lists.get(place) ?? [];
    lists.set(place, own);
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

/** Rows `from` to `to - 1` of a block. */
interface Run {
  readonly block: LoadedBlock;
  readonly from: number;
  to: number;
}

/** The rows of some blocks that are left, by ascending row, in lists of at most `most`. */
function runsOf(
  blocks: readonly LoadedBlock[],
  removed: RowSet,
  most = Number.POSITIVE_INFINITY,
): Run[][] {
  const rows = concatenated(blocks.map(({ rows }) => rows.rows));
  const order = ascending(rows.length);
  // Row numbers of segments may interleave.
  if (rows.some((row, i) => row < rows[i - 1])) order.sort((a, b) => rows[a] - rows[b]);
  let end = 0;
  const ends = Uint32Array.from(blocks, ({ rows }) => (end += rows.count));
  const starts = ends.map((end, i) => end - blocks[i].rows.count);
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

/** The rows of some runs as a block; `id` is the type of its ids. */
function gathered(runs: readonly Run[], id: string | null, isNumber: boolean): NewBlock {
  const [{ block }] = runs;
  const count = runs.reduce((sum, { from, to }) => sum + to - from, 0);
  /** The values of the rows, of which each has as many as others where `start` is not given. */
  const all = <T extends Values>(
    of: (block: LoadedBlock) => T | null | undefined,
    start?: (block: LoadedBlock, i: number) => number,
  ): T | null => {
    if (!of(block)) return null;
    const parts = runs.map(({ block, from, to }) => {
      const values = of(block) as T;
      const at = start ?? ((_, i) => (i * values.length) / block.rows.count);
      return values.subarray(at(block, from), at(block, to)) as T;
    });
    return concatenated(parts);
  };
  const ids = (id === null ? [] : runs).flatMap(({ block: { rows }, from, to }) =>
    Array.from({ length: to - from }, (_, i) =>
      idAt(rows.ids, from + i, rows.rows[from + i], isNumber),
    ),
  );
  const entryAt = ({ vectors }: LoadedBlock, i: number) => vectors.sparse?.offsets[i] as number;
  const entries = all(({ rows }) => rows.entries);
  let end = 0;
  const sparse = entries && {
    offsets: Int32Array.of(0, ...entries.map((some) => (end += some))),
    indices: all(({ vectors }) => vectors.sparse?.indices, entryAt) as BigUint64Array,
    weights: all(({ vectors }) => vectors.sparse?.weights, entryAt) as Float32Array,
  };
  return {
    partition: block.rows.partition,
    isCopy: block.rows.isCopy,
    count,
    ids: idColumn(ids, id),
    rows: all(({ rows }) => rows.rows) as Uint32Array,
    codes: all(({ rows }) => rows.codes) as Uint8Array,
    residuals: residualsOf(runs, count),
    checks: all(({ rows }) => rows.checks),
    links: all(({ rows }) => rows.links),
    vectors: {
      vectors: all<Float32Array | Int8Array>(({ vectors }) => vectors.vectors),
      scales: all(({ vectors }) => vectors.scales),
      sparse,
    },
  };
}

function residualsOf(runs: readonly Run[], count: number): Residuals | null {
  const first = runs[0].block.rows.residuals;
  if (first === null) return null;
  const all = newResiduals(first.bytesPerRow, count);
  let at = 0;
  for (const { block, from, to } of runs) {
    copyResiduals(block.rows.residuals as Residuals, from, all, at, to - from);
    at += to - from;
  }
  return all;
}
