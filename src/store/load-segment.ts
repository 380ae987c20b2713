/** Loads a segment into memory: its rows lie there in the same order as in its files. */

import { Entries, firstEntries } from '../index/entries';
import { Rows } from '../index/rows';
import { Segment } from '../index/segment';
import type { RowVectors } from '../index/vectors/row-vectors';
import { idAt, NO_PARTITION } from './blocks';
import type { BlockList, Content, StoredSegment } from './content';
import { type BlockName, blockGroups, type Reader } from './reader';

/** Bytes of blocks that are read together. */
const READ_BYTES = 2 ** 23;

/** Loads a segment; `vectors` is an empty place for its vectors, null where there are none. */
export async function loadSegment(
  content: Content,
  reader: Reader,
  segment: StoredSegment,
  vectors: RowVectors | null,
  signal?: AbortSignal,
): Promise<Segment> {
  const { space, parts, manifest, removed } = content;
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
  for (const group of entries === null ? [] : copyGroups(segment)) {
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

/** The blocks of copies of a segment, some at a time. */
function copyGroups(segment: StoredSegment): BlockName[][] {
  const { copies: list } = segment;
  if (list === null) return [];
  const groups: BlockName[][] = [];
  let bytes = READ_BYTES;
  for (let block = 0; block < list.table.count; block++) {
    if (bytes >= READ_BYTES) {
      groups.push([]);
      bytes = 0;
    }
    groups[groups.length - 1].push({ segment, list, block });
    bytes += list.table.bytes[block];
  }
  return groups;
}
