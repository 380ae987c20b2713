/** A folder optimized where it is: rows go to new partitions, and memory holds a part of them. */

import { checkByteCount } from '../base/byte-count';
import { checkOptions } from '../base/check';
import { checkLongCall, LONG_CALL, type LongCall } from '../base/long-work';
import { OPTIMIZE_OPTIONS, type OptimizeOptions } from '../index/index-options';
import { MIN_CODES } from '../index/make-partitions';
import { filesOf, type Manifest } from '../stored/manifest';
import { movedRows } from './moved-rows';
import { checkDisk, checkWantedInFiles, DISK_TIMES, publishRows, rowBytesOf } from './publish-rows';
import { changing } from './stored-operations';

export interface FolderOptimizeOptions extends OptimizeOptions, LongCall {
  /** What memory may hold of the rows: bytes, or a text as '2GB'. The index is loaded without. */
  memory?: number | string;
}

interface StoredOptimize {
  /** Null where the index is loaded. */
  readonly memory: number | null;
  readonly call: LongCall;
  readonly optimize: OptimizeOptions;
}

export function checkFolderOptimize(options: FolderOptimizeOptions | undefined): StoredOptimize {
  const known = ['memory', ...OPTIMIZE_OPTIONS, ...LONG_CALL];
  const { memory, ...given } = checkOptions('options', options, known);
  const { signal, onProgress, threads, ...optimize } = given;
  const call = checkLongCall({ signal, onProgress, threads });
  const limit = memory === undefined ? null : checkByteCount('memory', memory);
  return { memory: limit, call, optimize };
}

/**
 * Trains centroids on a sample of the rows and writes all segments again; returns the manifest.
 * Null where the folder has too few distinct codes for partitions: nothing is written.
 */
export function optimizeStored(
  folder: string,
  base: Manifest,
  { memory, call, optimize }: StoredOptimize & { readonly memory: number },
): Promise<Manifest | null> {
  const { signal } = call;
  const how = { memory, ...(signal && { call: { signal } }) };
  return changing(folder, base, how, async (change, old) => {
    const { parts } = old;
    const wanted = checkWantedInFiles(parts, optimize);
    const { distinct = 0 } = base.index;
    if (distinct < (wanted.partitions === undefined ? MIN_CODES : 1)) return null;
    const columnBytes = filesOf(base, 'columns').reduce((sum, { bytes }) => sum + bytes, 0);
    const rowBytes = DISK_TIMES * base.rows * rowBytesOf(parts);
    await checkDisk(folder, rowBytes + columnBytes, 'optimizing');
    const { rows, segments: before } = await movedRows(change.writer, old, { memory, call });
    return publishRows(change, {
      ...{ rows, wanted, memory, call },
      async write(segments, { index, centroids }) {
        await segments.assign(before, call);
        const { columns, text } = base;
        const others = [...centroids, ...filesOf(base, 'frequencies')];
        const outcome = { index, columns, text, others, rowsAdded: 0, removed: new Uint32Array() };
        const sourceOf = (i: number) => {
          const { firstPiece, endPiece, held } = before[i];
          const copies = segments.layout.link === null ? null : segments.copies(i);
          return { cursor: segments.cursor(i, firstPiece, endPiece), copies, held };
        };
        return change.write(outcome, { moved: { layout: segments.layout, sourceOf } });
      },
    });
  });
}
