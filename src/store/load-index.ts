/** Loads the index of a generation into memory, from wherever its files are. */

import { asFormatError } from '../base/format-error';
import type { LongCall } from '../base/long-work';
import { Entries, firstEntries } from '../index/entries';
import { IdRules } from '../index/ids';
import { MemoryIndex } from '../index/memory-index';
import { Rows } from '../index/rows';
import { Segment } from '../index/segment';
import { coreOf, SimHashIndex } from '../index/simhash-index';
import type { RowVectors } from '../index/vectors/row-vectors';
import { idAt, NO_PARTITION } from './blocks';
import { type BlockList, type Content, openContent, type StoredSegment } from './content';
import { optionsOf } from './header';
import { filesOf, type Manifest, manifestName, type SegmentFiles } from './manifest';
import { type Place, withPlace } from './place';
import { blockGroups, Reader } from './reader';

/** By segment in memory the files that have it, until it is merged or the files are gone. */
export const savedSegments = new WeakMap<Segment, SegmentFiles>();

/** By checksum of a file of a space, which this process wrote or read, the name of the space. */
export const spaceNames = new Map<string, string>();

/** The index of a generation; closes the place. */
export function loadIndex(place: Place, manifest: Manifest, call: LongCall): Promise<SimHashIndex> {
  const path = `${place.name}/${manifestName(manifest.generation)}`;
  return withPlace(place, async () => {
    // A file of the wrong size is found before anything is read.
    for (const file of filesOf(manifest)) await place.read(file, []);
    const content = await openContent(place, manifest, { signal: call.signal });
    const index = asFormatError(path, () => new SimHashIndex(optionsOf(manifest.index)));
    const core = coreOf(index);
    core.take(content.parts);
    core.ids = new IdRules(manifest.index.ids);
    const segments: Segment[] = [];
    let done = 0;
    for (const stored of content.segments) {
      const vectors = core.rows.options.newVectors?.() ?? null;
      const segment = await loadSegment(content, stored, vectors, call.signal);
      const { rows } = segment;
      if (core.ids.kind === 'bigint') {
        core.ids.learn(Array.from({ length: rows.count }, (_, at) => rows.idAt(at, 0)));
      }
      savedSegments.set(segment, manifest.segments[stored.number]);
      segments.push(segment);
      done += stored.count;
      call.onProgress?.(Math.min(done, manifest.rows), manifest.rows);
    }
    const layout = { space: content.space, hasCopies: manifest.index.copies };
    core.rows = MemoryIndex.of(core.rows.options, layout, segments, manifest.index.nextRow);
    if (index.count !== manifest.rows) {
      asFormatError(path, () => {
        throw new Error(`${index.count} rows were found, it says ${manifest.rows}`);
      });
    }
    const { space } = manifest.files;
    if (space && content.space) spaceNames.set(space.checksum, content.space.name);
    return index;
  });
}

/** Bytes of blocks that are read together. */
const READ_BYTES = 2 ** 23;

/** Loads a segment; `vectors` is an empty place for its vectors, null where there are none. */
export async function loadSegment(
  content: Content,
  segment: StoredSegment,
  vectors: RowVectors | null,
  signal?: AbortSignal,
): Promise<Segment> {
  const { space, parts, manifest, removed } = content;
  const reader = new Reader(content);
  const { table } = segment.rows;
  const partitions = space?.count ?? 1;
  const starts = firstPositions(table, partitions);
  const coded = starts[partitions];
  const { firstRow, endRow, count } = segment;
  const from = { firstRow, bytesPerCode: parts.hasher.bytesPerCode, vectors };
  const rows = Rows.toFill(from, endRow, count, coded);
  const counts = entryCounts(segment, starts);
  const firsts = firstEntries(counts);
  const bytesPerEntry = space?.bytesPerEntry ?? 0;
  const hasCopies = segment.copies !== null;
  const entries =
    bytesPerEntry > 0
      ? Entries.ofSegment(bytesPerEntry, firsts[partitions], rows, hasCopies)
      : null;
  const seconds = hasCopies ? new Uint32Array(coded) : null;
  const isNumber = manifest.index.ids === 'number';
  for (const group of blockGroups([segment], READ_BYTES, 'rows and vectors')) {
    signal?.throwIfAborted();
    const blocks = await reader.blocks(group, 'whole', signal);
    const held = await reader.vectors(group, signal);
    for (const [i, { rows: own, block }] of blocks.entries()) {
      const at = table.starts[block];
      const { ids } = own;
      rows.fill(at, own.rows, own.codes, ids && ((place) => idAt(ids, place, 0, isNumber)));
      const positions = own.rows.map((_, place) => at + place);
      if (held.length > 0) vectors?.restore(held[i], positions);
      if (own.partition === NO_PARTITION) continue;
      if (own.links !== null) seconds?.set(own.links, at);
      const first = firsts[own.partition] + at - starts[own.partition];
      if (entries === null || own.residuals === null || own.scales === null) continue;
      entries.memory.setRows(first, own.residuals, own.scales);
      entries.positions?.set(positions, first);
    }
    reader.giveBack(blocks);
  }
  rows.endFilling();
  const copyEntries = await loadCopies(reader, segment, { entries, starts, firsts }, signal);
  const made = new Segment(rows, {
    entries,
    starts,
    firsts,
    counts: entries === null ? new Uint32Array(partitions) : counts,
    copies: seconds && { entries: copyEntries, seconds },
  });
  for (const row of removed.within(firstRow, endRow)) {
    const position = rows.positionOf(row);
    if (position >= 0) made.remove(position);
  }
  return made;
}

/** How many entries each partition has: its rows, and copies of others. */
function entryCounts({ copies }: StoredSegment, starts: Uint32Array): Uint32Array {
  const counts = starts.slice(1).map((end, p) => end - starts[p]);
  copies?.table.partitions.forEach((p, block) => {
    if (p !== NO_PARTITION) counts[p] += copies.table.rows[block];
  });
  return counts;
}

/** For each partition the position of its first row; last how many rows have codes. */
function firstPositions(table: BlockList['table'], partitions: number): Uint32Array {
  const starts = new Uint32Array(partitions + 1);
  table.partitions.forEach((p, block) => {
    if (p !== NO_PARTITION) starts[p + 1] += table.rows[block];
  });
  for (let p = 0; p < partitions; p++) starts[p + 1] += starts[p];
  return starts;
}

/** Adds the entries of copies behind those of each partition's own rows. */
async function loadCopies(
  reader: Reader,
  segment: StoredSegment,
  rows: { entries: Entries | null; starts: Uint32Array; firsts: Uint32Array },
  signal: AbortSignal | undefined,
): Promise<Uint32Array> {
  const { entries, starts, firsts } = rows;
  const last = starts.length - 1;
  const next = firsts.slice(0, last).map((first, p) => first + starts[p + 1] - starts[p]);
  const copyEntries = new Uint32Array(starts[last]);
  for (const group of entries === null ? [] : blockGroups([segment], READ_BYTES, 'copies')) {
    for (const { rows: own } of await reader.blocks(group, 'head', signal)) {
      const { partition, residuals, scales, links } = own;
      if (partition === NO_PARTITION || residuals === null || scales === null) continue;
      entries?.memory.setRows(next[partition], residuals, scales);
      entries?.positions?.set(links as Uint32Array, next[partition]);
      for (const link of links as Uint32Array) copyEntries[link] = next[partition]++;
    }
  }
  return copyEntries;
}
