/** Appending, removing and compacting without loading an index: what `IndexFolder` offers. */

import type { LongCall } from '../base/long-work';
import type { Steps } from '../base/steps';
import type { Id } from '../index/id-table';
import { afterChanges } from '../index/index-options';
import { checkReport } from '../index/saved-header';
import { zerosOf } from '../index/write-index';
import { flatSecondsState } from '../k-means/second-centroid';
import { integerWidth, productsKernel } from '../kernels/products';
import type { StoredContent } from '../stored/content';
import { type FolderFile, filesOf, type Manifest, segmentsOf } from '../stored/manifest';
import type { RowBatch } from '../table/row-batch';
import { hashOfCode } from '../table/sealed/look-up-tables';
import { columnsOfFile, NewColumns } from './column-stream';
import { replacedRows, sharedCodes } from './compared-rows';
import { type Cut, FolderChange, type NewBatch } from './folder-change';
import { NewRows } from './new-rows';
import { type Centroids, NewSegments, secondsBy } from './new-segments';
import { type FoundRow, OldRows, wantedId } from './old-rows';

/** Bytes that a change holds, where no limit is given. */
export const USUAL_MEMORY = 2 ** 29;

export interface AppendOptions extends LongCall {
  /** Of the new rows, where the folder carries columns. */
  columns?: RowBatch;
  /** Removes rows that have the ids of new ones, in the same generation. */
  replace?: boolean;
}

export interface StoredAppend extends LongCall {
  readonly replace: boolean;
  readonly memory?: number;
}

/** Appends rows; returns the manifest, and the first of their numbers. */
export function appendStored(
  folder: string,
  base: Manifest,
  batches: AsyncIterable<NewBatch> | Iterable<NewBatch>,
  { replace, memory = USUAL_MEMORY, ...call }: StoredAppend,
): Promise<{ manifest: Manifest; firstRow: number }> {
  const work = async (change: FolderChange, old: OldRows) => {
    const { writer } = change;
    const { index } = base;
    const { parts } = old;
    const firstRow = index.nextRow;
    const rows = new NewRows(writer, { parts, ids: index.ids, firstRow, memory });
    const columns = new NewColumns(writer, base.columns, await withoutRows(folder, base));
    for await (const batch of batches) {
      const before = rows.count;
      await rows.add(batch.vectors, batch.ids, call);
      const added = rows.count - before;
      await columns.add(batch.columns, added);
    }
    const replaced = await replacedRows(rows, old, replace);
    const emptied = await emptiedCodes(old, replaced, change);
    const shared = await sharedCodes(rows, old, (row) => !change.isLive(row));
    await rows.closeGroups();
    const centroids = centroidsOf(old.content);
    const segments = new NewSegments(writer, { rows, shared, centroids, memory: memory / 4 });
    const cuts = cutsOf(rows, change.rowsPerFile(segments.layout));
    await segments.assign(cuts, call);
    const outcome = {
      index: {
        ...{
          ...index,
          nextRow: firstRow + rows.count,
          ids: rows.ids,
          isForeign: index.isForeign || rows.isForeign,
          ...zerosOf(parts),
        },
        distinct: (index.distinct ?? 0) - emptied + shared.distinct,
        shared: index.shared === true || shared.firsts !== null,
        report: changed(base, { rowsAdded: rows.count, rowsRemoved: replaced.length }),
      },
      ...{ text: base.text, others: othersOf(base) },
      ...{ rowsAdded: rows.count, columns: columns.columns, removed: numbersOf(replaced) },
    };
    const incoming = { segments, columns, cuts };
    const content = await change.write(outcome, { incoming });
    for (const waiting of [segments, rows, columns]) await waiting.close();
    return { manifest: await change.publish(content), firstRow };
  };
  const { signal } = call;
  return changing(folder, base, { memory, ...(signal && { call: { signal } }) }, work);
}

/** Removes rows by their ids; returns the manifest, null where none is there, and how many were. */
export function removeStored(
  folder: string,
  base: Manifest,
  ids: readonly Id[],
): Promise<{ manifest: Manifest | null; count: number }> {
  const work = async (change: FolderChange, old: OldRows) => {
    const found = await rowsOfIds(old, idsOfKind(old, ids));
    if (found.length === 0) return { manifest: null, count: 0 };
    const removed = numbersOf(found);
    const emptied = await emptiedCodes(old, found, change);
    const distinct = (base.index.distinct ?? 0) - emptied;
    const report = changed(base, { rowsRemoved: removed.length });
    const outcome = {
      ...{ index: { ...base.index, distinct, report }, columns: base.columns, text: base.text },
      ...{ rowsAdded: 0, removed, others: othersOf(base) },
    };
    const manifest = await change.publish(await change.write(outcome, {}));
    return { manifest, count: removed.length };
  };
  return changing(folder, base, { memory: USUAL_MEMORY }, work);
}

/** Merges segments, and drops removed rows. Progress counts the rows of the next generation. */
export function compactStored(folder: string, base: Manifest, call: LongCall): Promise<Manifest> {
  const work = async (change: FolderChange) => {
    const { index, columns, text } = base;
    const others = othersOf(base);
    const outcome = { index, columns, text, rowsAdded: 0, others, removed: new Uint32Array() };
    return change.publish(await change.write(outcome, { isWhole: true }));
  };
  return changing(folder, base, { memory: USUAL_MEMORY, call }, work);
}

/** Opens the rows of a generation, and changes it. */
export async function changing<T>(
  folder: string,
  base: Manifest,
  how: { memory: number; call?: LongCall },
  work: (change: FolderChange, old: OldRows) => Promise<T>,
): Promise<T> {
  const old = await OldRows.open(folder, base.generation);
  const start = { folder, base, old, ...how, parts: old.parts };
  return FolderChange.run(start, (change) => work(change, old));
}

/** Files that a change leaves as they are. */
export function othersOf(base: Pick<Manifest, 'files'>): FolderFile[] {
  return [...filesOf(base, 'centroids'), ...filesOf(base, 'frequencies')];
}

/** The file of the centroids; undefined where there are no partitions. */
export function centroidsFileOf(base: Pick<Manifest, 'files'>): FolderFile | undefined {
  return filesOf(base, 'centroids')[0];
}

/** The report of `optimize`, with what came and went since. */
function changed({ index }: Manifest, changes: { rowsAdded?: number; rowsRemoved?: number }) {
  return index.report && afterChanges(checkReport(index.report), changes);
}

/** Which of these ids the rows of a folder have. */
export async function idsAmong(folder: string, base: Manifest, ids: readonly Id[]): Promise<Id[]> {
  const old = await OldRows.open(folder, base.generation);
  try {
    const own = idsOfKind(old, ids);
    return (await rowsOfIds(old, own)).map(({ asked }) => own[asked]);
  } finally {
    await old.close();
  }
}

/** Ids that rows of the folder can have, each once; row numbers ascend. */
function idsOfKind({ content }: OldRows, ids: readonly Id[]): readonly Id[] {
  const kind = content.header.ids;
  const own = [...new Set(ids)].filter((id) => typeof id === (kind === 'row' ? 'number' : kind));
  if (kind === 'number') return own.filter((id) => Number.isSafeInteger(id));
  if (kind === 'bigint') return own.filter((id) => BigInt.asIntN(65, id as bigint) === id);
  if (kind !== 'row') return own;
  const rows = (own as number[]).filter((row) => Number.isInteger(row) && row >= 0);
  return rows.filter((row) => row < 2 ** 32).sort((a, b) => a - b);
}

function rowsOfIds(old: OldRows, own: readonly Id[]): Promise<FoundRow[]> {
  if (old.content.header.ids !== 'row') return old.withIds(own.map(wantedId));
  return old.numbered(Uint32Array.from(own as number[]));
}

function numbersOf(found: readonly FoundRow[]): Uint32Array {
  return Uint32Array.from(found, ({ row }) => row).sort();
}

/** Removes rows from a change; returns how many codes have no row any more. */
async function emptiedCodes(
  old: OldRows,
  found: readonly FoundRow[],
  change: FolderChange,
): Promise<number> {
  change.remove(Uint32Array.from(found, ({ row }) => row));
  const coded = found.filter(({ code }) => code.length > 0);
  if (old.content.header.shared !== true) return coded.length;
  const codes = new Map(coded.map(({ code }) => [hashOfCode(code), code]));
  const wanted = Array.from(codes, ([hash, bytes]) => ({ hash, bytes }));
  const there = new Set<number>();
  for (const { asked, row } of await old.withCodes(wanted)) {
    if (change.isLive(row)) there.add(asked);
  }
  return wanted.length - there.size;
}

/** Centroids of a folder, of which the nearest is found as an index in memory finds it. */
export function centroidsOf({ centroids, parts, header }: StoredContent): Centroids | null {
  const { nearness = 0 } = header;
  if (centroids === null) return null;
  const rows = { values: centroids, width: integerWidth(parts.dense?.dimensions ?? parts.bits) };
  return {
    values: centroids,
    nearness,
    seconds: header.copies ? secondsBy(flatSecondsState(centroids, rows.width)) : null,
    *nearest(points, out): Steps<void> {
      const most = 256;
      for (let first = 0; first < out.length; first += most) {
        const some = points.subarray(first * rows.width, (first + most) * rows.width);
        productsKernel.nearestInto(rows, some, out.subarray(first, first + most));
        yield undefined;
      }
    },
  };
}

/** Pieces of segments of so many rows. */
export function cutsOf(rows: NewRows, rowsPerFile: number): Cut[] {
  const cuts: Cut[] = [];
  let firstPiece = 0;
  let firstRow = rows.firstRow;
  let nextRow = firstRow;
  rows.pieceCounts.forEach((count, piece) => {
    if (nextRow > firstRow && nextRow + count - firstRow > rowsPerFile) {
      cuts.push({ firstPiece, endPiece: piece, firstRow, nextRow });
      [firstPiece, firstRow] = [piece, nextRow];
    }
    nextRow += count;
  });
  if (nextRow > firstRow) cuts.push({ firstPiece, endPiece: rows.pieceCount, firstRow, nextRow });
  return cuts;
}

/** The carried columns as the last segment has them, without rows. */
async function withoutRows(folder: string, base: Manifest) {
  const file = segmentsOf(base).at(-1)?.columns ?? null;
  if (file === null || base.columns.length === 0) return null;
  for await (const batch of columnsOfFile(folder, file)) return batch.slice(0, 0);
  return null;
}
