/** Folders whose blocks were changed before they were written, with checksums that are right. */

import type { Id } from '../../src/index';
import { idAt, idColumn } from '../../src/store/blocks';
import { openContent } from '../../src/store/content';
import { FolderPlace } from '../../src/store/folder-place';
import { GenerationWriter, newestManifest } from '../../src/store/generations';
import type { Manifest } from '../../src/store/manifest';
import { Reader } from '../../src/store/reader';
import { SegmentWriter } from '../../src/store/write-segment';

/** What is changed in place: columns of each block. */
export interface Change {
  readonly ids?: (ids: Id[]) => void;
  readonly rows?: (rows: Uint32Array) => void;
  /** The positions of copies. */
  readonly copies?: (positions: Uint32Array) => void;
  readonly vectors?: (vectors: Int8Array) => void;
  /** The checksums of vectors, of rows and of copies. */
  readonly checks?: (checks: Uint32Array) => void;
  readonly residuals?: (residuals: Uint8Array) => void;
  /** Writes the rows without their ids. */
  readonly withoutIds?: boolean;
}

/** Saves a folder of one segment of int8 vectors again, as the next generation. */
export async function rewritten(folder: string, change: Change): Promise<void> {
  const base = (await newestManifest(folder)) as Manifest;
  const place = new FolderPlace(folder);
  const content = await openContent(place, base);
  const reader = new Reader(content);
  const [segment] = content.segments;
  const { layout } = segment.blocks;
  const { firstRow, endRow, count } = segment;
  const id = change.withoutIds ? null : layout.id;
  const writer = new GenerationWriter(folder, base);
  const range = { firstRow, endRow, count };
  const output = await SegmentWriter.open(writer, base.index, { ...layout, id }, range);
  for (const block of segment.blocks.rows.keys()) {
    const name = { segment, block };
    const how = { hasCodes: true, hasVectors: true } as const;
    const [{ rows: own, vectors }] = await reader.blocks([name], how);
    const rows = [...own.rows, ...own.copies];
    const ids = rows.map((row, i) => idAt(own.ids, i, row, false));
    change.ids?.(ids);
    change.rows?.(own.rows);
    if (own.positions !== null) change.copies?.(own.positions.subarray(own.count));
    change.vectors?.(vectors.vectors as Int8Array);
    change.checks?.(own.checks as Uint32Array);
    if (own.residuals !== null) change.residuals?.(own.residuals.bytes);
    await output.add({ ...own, vectors, ids: idColumn(ids, id) });
  }
  const files = await output.end();
  await place.close();
  const { generation: _, previous: __, checksum: ___, ...rest } = base;
  await writer.commit({ ...rest, segments: [files] });
}
