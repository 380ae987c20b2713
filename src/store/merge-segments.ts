/**
 * Merges segments in files: lists of partitions are concatenated, removed rows left out; no row is
 * assigned again, and memory holds some partitions. Row numbers of segments may interleave, as
 * those of the pieces of a segment that was too large to be placed at once.
 */

import { concatenated } from '../base/arrays';
import type { Id } from '../index/ids';
import type { VectorColumns } from '../index/vectors/row-vectors';
import { copyResiduals, newResiduals, type Residuals } from '../kernels/residuals';
import {
  type BlockRows,
  idAt,
  idColumn,
  maxBlockRows,
  type NewBlock,
  ROWS,
  widerType,
} from './blocks';
import { type Content, countLive, type RowSet, type StoredSegment } from './content';
import type { GenerationWriter } from './generations';
import type { IndexHeader, SegmentFiles } from './manifest';
import { type BlockName, bytesOfBlock, inGroups, type LoadedBlock, Reader } from './reader';
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

/** Rows `from` to `to - 1` of a block. */
interface Run {
  readonly piece: LoadedBlock;
  readonly from: number;
  readonly to: number;
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
  const isNumber = header.ids === 'number';
  const positions = await newPositions(reader, merging, range);
  let written = 0;
  const groups = partitionGroups(segments);
  const names = groups.map((group) => group.flatMap(({ blocks }) => blocks));
  for await (const pieces of reader.each(names, { part: 'whole', hasVectors: true, signal })) {
    let first = 0;
    for (const { partition, blocks } of groups.shift() ?? []) {
      const all = pieces.slice(first, first + blocks.length);
      first += blocks.length;
      for (const isCopy of [true, false]) {
        const own = all.filter(({ rows }) => rows.isCopy === isCopy);
        for (const runs of cut(runsOf(own, content.removed), mostRows)) {
          const block = gathered(runs, { partition, isCopy }, layout.id, isNumber);
          const links = isCopy && block.rows.map((row) => positions[row - range.firstRow]);
          await output.add(links ? { ...block, links } : block);
          if (!isCopy) written += block.count;
        }
      }
    }
    passed?.(written);
  }
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
  const groups = partitionGroups(segments, true);
  const names = groups.map((group) => group.flatMap(({ blocks }) => blocks));
  for await (const pieces of reader.each(names, { part: 'head', signal })) {
    let first = 0;
    for (const { blocks } of groups.shift() ?? []) {
      const own = pieces.slice(first, first + blocks.length);
      first += blocks.length;
      for (const { piece, from, to } of runsOf(own, content.removed)) {
        for (let i = from; i < to; i++) positions[piece.rows.rows[i] - firstRow] = next++;
      }
    }
  }
  return positions;
}

/** The blocks of each partition, of all segments, in groups that are read together. */
function partitionGroups(segments: readonly StoredSegment[], isOfRows = false) {
  const byPartition = new Map<number, BlockName[]>();
  for (const segment of segments) {
    segment.blocks.partitions.forEach((p, block) => {
      if (isOfRows && segment.blocks.of[block] !== ROWS) return;
      const own = byPartition.get(p) ?? [];
      byPartition.set(p, own);
      own.push({ segment, block });
    });
  }
  const inOrder = [...byPartition].sort(([a], [b]) => a - b);
  const all = inOrder.map(([partition, blocks]) => ({ partition, blocks }));
  return inGroups(all, ({ blocks }) =>
    blocks.reduce((sum, name) => sum + bytesOfBlock(name, true), 0),
  );
}

/** Runs of rows that are left, by ascending row. */
function runsOf(pieces: readonly LoadedBlock[], removed: RowSet): Run[] {
  const runs: Run[] = [];
  for (const piece of pieces) {
    const { rows, count } = piece.rows;
    for (let from = 0, to = 0; from < count; from = to + 1) {
      to = from;
      while (to < count && !removed.has(rows[to])) to++;
      if (to > from) runs.push({ piece, from, to });
    }
  }
  const firstOf = ({ piece, from }: Run) => piece.rows.rows[from];
  const lastOf = ({ piece, to }: Run) => piece.rows.rows[to - 1];
  const isInOrder = runs.every((run, i) => i === 0 || firstOf(run) > lastOf(runs[i - 1]));
  if (isInOrder) return runs;
  // Row numbers of pieces interleave, so rows are taken one by one.
  const single = runs.flatMap(({ piece, from, to }) =>
    Array.from({ length: to - from }, (_, i) => ({ piece, from: from + i, to: from + i + 1 })),
  );
  return single.sort((a, b) => firstOf(a) - firstOf(b));
}

/** The same runs in lists of at most so many rows. */
function cut(runs: readonly Run[], most: number): Run[][] {
  const lists: Run[][] = [];
  let room = 0;
  for (const { piece, from, to } of runs) {
    for (let first = from; first < to; ) {
      if (room === 0) {
        lists.push([]);
        room = most;
      }
      const end = Math.min(to, first + room);
      lists[lists.length - 1].push({ piece, from: first, to: end });
      room -= end - first;
      first = end;
    }
  }
  return lists;
}

type Values = Uint8Array | Int8Array | Uint32Array | Float32Array | BigUint64Array;

/** The rows of some runs as a block. */
function gathered(
  runs: readonly Run[],
  of: Pick<BlockRows, 'partition' | 'isCopy'>,
  id: string | null,
  isNumber: boolean,
): NewBlock {
  const count = runs.reduce((sum, { from, to }) => sum + to - from, 0);
  const all = <T extends Values>(of: (piece: LoadedBlock) => T | null): T | null => {
    const first = of(runs[0].piece);
    if (first === null) return null;
    const width = first.length / runs[0].piece.rows.count;
    const values = new (first.constructor as new (length: number) => T)(count * width);
    let at = 0;
    for (const { piece, from, to } of runs) {
      values.set((of(piece) as T).subarray(from * width, to * width) as never, at * width);
      at += to - from;
    }
    return values;
  };
  const ids: Id[] = [];
  for (const { piece, from, to } of id === null ? [] : runs) {
    const { rows, ids: own } = piece.rows;
    for (let i = from; i < to; i++) ids.push(idAt(own, i, rows[i], isNumber));
  }
  return {
    ...of,
    count,
    ids: idColumn(ids, id),
    rows: all(({ rows }) => rows.rows) as Uint32Array,
    codes: all(({ rows }) => rows.codes) as Uint8Array,
    residuals: residualsOf(runs, count),
    checks: all(({ rows }) => rows.checks),
    links: all(({ rows }) => rows.links),
    vectors: {
      vectors: all(({ vectors }) => vectors.vectors as Float32Array | null),
      scales: all(({ vectors }) => vectors.scales),
      sparse: sparseOf(runs),
    },
  };
}

function residualsOf(runs: readonly Run[], count: number): Residuals | null {
  const first = runs[0].piece.rows.residuals;
  if (first === null) return null;
  const all = newResiduals(first.bytesPerRow, count);
  let at = 0;
  for (const { piece, from, to } of runs) {
    copyResiduals(piece.rows.residuals as Residuals, from, all, at, to - from);
    at += to - from;
  }
  return all;
}

function sparseOf(runs: readonly Run[]): VectorColumns['sparse'] {
  if (runs[0].piece.vectors.sparse === null) return null;
  const offsets = [0];
  const indices: BigUint64Array[] = [];
  const weights: Float32Array[] = [];
  for (const { piece, from, to } of runs) {
    const own = piece.vectors.sparse as NonNullable<VectorColumns['sparse']>;
    for (let i = from; i < to; i++) {
      offsets.push((offsets.at(-1) as number) + own.offsets[i + 1] - own.offsets[i]);
    }
    indices.push(own.indices.subarray(own.offsets[from], own.offsets[to]));
    weights.push(own.weights.subarray(own.offsets[from], own.offsets[to]));
  }
  return {
    offsets: Int32Array.from(offsets),
    indices: concatenated(indices),
    weights: concatenated(weights),
  };
}
