/** Loads the index of a generation into memory, from wherever its files are. */

import { asFormatError } from '../base/check';
import type { LongCall } from '../base/long-work';
import { MemoryIndex } from '../index/memory-index';
import { Rows } from '../index/rows';
import { Entries, firstEntries, Segment } from '../index/segment';
import { coreOf, SimHashIndex } from '../index/simhash-index';
import type { RowVectors } from '../index/vectors/row-vectors';
import { ResidualMemory } from '../kernels/residual-memory';
import { copyResiduals, type Residuals } from '../kernels/residuals';
import { type BlockRows, idAt, NO_PARTITION } from './blocks';
import { type Content, openContent, type StoredSegment } from './content';
import { type FolderFile, filesOf, type Manifest, manifestName, optionsOf } from './manifest';
import { explained, type Place, withPlace } from './place';
import { blockGroups, copiedIn, inGroups, positionsIn, Reader } from './reader';

/**
 * The index of a generation; closes the place. Segments become one where that fits into a memory,
 * since one is searched in less time than several.
 */
export function loadIndex(place: Place, manifest: Manifest, call: LongCall): Promise<SimHashIndex> {
  const path = `${place.name}/${manifestName(manifest.generation)}`;
  return withPlace(place, async () => {
    // A file of the wrong size is found before anything is read.
    for (const file of filesOf(manifest)) {
      await explained(place, manifest.generation, place.read(file, [], new Uint8Array()));
    }
    const content = await openContent(place, manifest, call.signal);
    const index = new SimHashIndex(optionsOf(manifest.index));
    const core = coreOf(index);
    core.take(content.parts);
    core.idKind = manifest.index.ids;
    const { options } = core.rows;
    const { nextRow } = manifest.index;
    const { mostRows } = new MemoryIndex(options, content.space, nextRow);
    const segments: Segment[] = [];
    let done = 0;
    for (const stored of inGroups(content.segments, ({ count }) => count, mostRows)) {
      const segment = await loadSegment(
        content,
        stored,
        options.newVectors(),
        manifest.index.copies,
        call.signal,
      );
      segments.push(segment);
      done += segment.rows.count;
      call.onProgress?.(Math.min(done, manifest.rows), manifest.rows);
      call.signal?.throwIfAborted();
    }
    core.rows = new MemoryIndex(options, content.space, nextRow, segments);
    if (index.count !== manifest.rows) {
      asFormatError(path, () => {
        throw new Error(`${index.count} rows were found, it says ${manifest.rows}`);
      });
    }
    return index;
  });
}

/**
 * Loads neighbours as one segment, of which each partition has the rows of all; `vectors` is an
 * empty place for their vectors, null where there are none. Copies need all rows to be there.
 */
export async function loadSegment(
  content: Content,
  stored: readonly StoredSegment[],
  vectors: RowVectors | null,
  hasCopies: boolean,
  signal?: AbortSignal,
): Promise<Segment> {
  const { space, parts, manifest, removed } = content;
  const partitions = space?.count ?? 1;
  const { starts, counts, firsts, next, placesOf } = listsOf(stored, partitions, hasCopies);
  const coded = starts[partitions];
  const { firstRow } = stored[0];
  const { endRow } = stored[stored.length - 1];
  const count = stored.reduce((sum, one) => sum + one.count, 0);
  const from = { firstRow, bytesPerCode: parts.hasher.bytesPerCode, vectors };
  const rows = Rows.toFill(from, endRow, count, coded);
  const bytesPerEntry = space?.bytesPerEntry ?? 0;
  const entryCount = firsts[partitions];
  const memory = bytesPerEntry > 0 ? new ResidualMemory(bytesPerEntry, entryCount) : null;
  const entries =
    memory && new Entries(memory, rows, hasCopies ? new Uint32Array(entryCount) : null);
  const isNumber = manifest.index.ids === 'number';
  const how = { hasCodes: true, hasVectors: true, signal } as const;
  const reader = new Reader(content);
  await reader.each(blockGroups(stored, true), how, (blocks) => {
    for (const loaded of blocks) {
      const { rows: own, segment } = loaded;
      const { ids } = own;
      const moved = placesOf.get(segment) as Uint32Array;
      const positions = positionsIn(loaded).map((position) => moved[position]);
      const [at] = positions;
      rows.fill(at, own.rows, own.codes, ids && ((place) => idAt(ids, place, 0, isNumber)));
      vectors?.restore(loaded.vectors, positions);
      if (entries === null || own.partition === NO_PARTITION) continue;
      takeEntries(own, entries, 0, positions, next.rows);
      if (!hasCopies) continue;
      const path = reader.pathOf(segment.files.rows as FolderFile);
      const copied = asFormatError(path, () => copiedIn(loaded)).map((at) => moved[at]);
      takeEntries(own, entries, own.count, copied, next.copies);
    }
  });
  rows.endFilling();
  const made = new Segment(rows, {
    entries,
    starts,
    firsts,
    counts: entries === null ? new Uint32Array(partitions) : counts,
  });
  for (const row of removed.within(firstRow, endRow)) {
    const position = rows.positionOf(row);
    if (position >= 0) made.remove(position);
  }
  return made;
}

/** Takes the entries of a block from `from` on, which are of rows at these positions. */
function takeEntries(
  { partition, residuals }: BlockRows,
  to: Entries,
  from: number,
  positions: Uint32Array,
  next: Uint32Array,
): void {
  copyResiduals(residuals as Residuals, from, to.memory, next[partition], positions.length);
  to.positions?.set(positions, next[partition]);
  next[partition] += positions.length;
}

/**
 * For each partition the position of its first row, last how many rows have codes; how many entries
 * it has, of its rows and of copies of others, and the first one; and the next of both. And of each
 * segment the positions that its rows get.
 */
function listsOf(stored: readonly StoredSegment[], partitions: number, hasCopies: boolean) {
  const starts = new Uint32Array(partitions + 1);
  const counts = new Uint32Array(partitions);
  for (const { blocks } of stored) {
    blocks.partitions.forEach((p, block) => {
      if (p === NO_PARTITION) return;
      counts[p] += blocks.rows[block] + (hasCopies ? blocks.copies[block] : 0);
      starts[p + 1] += blocks.rows[block];
    });
  }
  for (let p = 0; p < partitions; p++) starts[p + 1] += starts[p];
  const firsts = firstEntries(counts);
  const copies = firsts.map((first, p) => (p < partitions ? first + starts[p + 1] - starts[p] : 0));
  // Rows without codes follow all others.
  const ends = starts.slice();
  const placesOf = new Map(stored.map((one) => [one, new Uint32Array(one.count)]));
  for (const [{ blocks }, own] of placesOf) {
    blocks.partitions.forEach((of, block) => {
      const p = of === NO_PARTITION ? partitions : of;
      const first = blocks.starts[block];
      for (let i = 0; i < blocks.rows[block]; i++) own[first + i] = ends[p]++;
    });
  }
  return { starts, counts, firsts, next: { rows: firsts.slice(), copies }, placesOf };
}
