/** Loads the index of a generation into memory, from wherever its files are. */

import { asFormatError } from '../base/format-error';
import type { LongCall } from '../base/long-work';
import type { IndexCore } from '../index/index-core';
import { MemoryIndex } from '../index/memory-index';
import { IdRules } from '../index/row-ids';
import type { Segment } from '../index/segment';
import { coreOf, SimHashIndex } from '../index/simhash-index';
import { type Content, openContent } from './content';
import { optionsOf } from './header';
import { loadSegment } from './load-segment';
import { filesOf, type Manifest, manifestName, type SegmentFiles } from './manifest';
import type { Place } from './place';
import { Reader } from './reader';

/** By segment in memory the files that have it, until it is merged or the files are gone. */
export const savedSegments = new WeakMap<Segment, SegmentFiles>();

/** By checksum of a file of a space, which this process wrote or read, the name of the space. */
export const spaceNames = new Map<string, string>();

/** The index of a generation; closes the place. */
export async function loadIndex(
  place: Place,
  manifest: Manifest,
  call: LongCall,
): Promise<SimHashIndex> {
  const path = `${place.name}/${manifestName(manifest.generation)}`;
  try {
    // A file of the wrong size is found before anything is read.
    for (const file of filesOf(manifest)) await place.read(file, []);
    const content = await openContent(place, manifest, { signal: call.signal });
    const index = asFormatError(path, () => new SimHashIndex(optionsOf(manifest.index)));
    const core = coreOf(index);
    core.isForeign = content.parts.isForeign;
    core.report = content.parts.report;
    if (content.parts.dense !== null) core.dense?.zeros.add(content.parts.dense.zeros);
    core.ids = new IdRules(manifest.index.ids);
    const segments = await loadSegments(content, core, call);
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
  } finally {
    await place.close();
  }
}

async function loadSegments(content: Content, core: IndexCore, call: LongCall): Promise<Segment[]> {
  const reader = new Reader(content);
  const segments: Segment[] = [];
  let done = 0;
  for (const stored of content.segments) {
    const vectors = core.rows.options.newVectors?.() ?? null;
    const segment = await loadSegment(content, reader, stored, vectors, call.signal);
    const { rows } = segment;
    if (core.ids.kind === 'bigint') {
      core.ids.learn(Array.from({ length: rows.count }, (_, at) => rows.idAt(at, 0)));
    }
    savedSegments.set(segment, content.manifest.segments[stored.number]);
    segments.push(segment);
    done += stored.count;
    call.onProgress?.(Math.min(done, content.manifest.rows), content.manifest.rows);
  }
  return segments;
}
