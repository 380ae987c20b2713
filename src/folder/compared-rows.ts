/**
 * New rows compared with each other and with those of a folder: ids must be new, or replace; of
 * equal codes the first row is known, and its partition, in which the others must be.
 */

import type { NewRows } from './new-rows';
import { twice } from './new-rows';
import type { FoundRow, OldRows } from './old-rows';

/**
 * Throws where an id is there twice; the error names the one that came first. With `replace`
 * returns the old rows that the new ones replace.
 */
export async function replacedRows(
  rows: NewRows,
  old: OldRows | null,
  replace: boolean,
): Promise<FoundRow[]> {
  let refused: { row: number; bytes: Uint8Array } | null = null;
  const refuse = (row: number, bytes: Uint8Array) => {
    if (refused === null || row < refused.row) refused = { row, bytes: bytes.slice() };
  };
  const replaced: FoundRow[] = [];
  for await (const groups of rows.byId.groups()) {
    for (const group of groups) {
      const [, second] = group.map(({ row }) => row).sort((a, b) => a - b);
      if (second !== undefined) refuse(second, group[0].bytes);
    }
    const heads = groups.map(([head]) => head);
    for (const found of (await old?.withIds(heads)) ?? []) {
      if (replace) replaced.push(found);
      else refuse(heads[found.asked].row, heads[found.asked].bytes);
    }
  }
  if (refused !== null) {
    const { row, bytes } = refused as { row: number; bytes: Uint8Array };
    throw twice(row - rows.firstRow, rows.idOf(bytes));
  }
  return replaced;
}

/** Which new rows have the code of an earlier row. */
export interface SharedCodes {
  /** The first row with the code of each new row, itself where it has none; null where all are. */
  readonly firsts: Uint32Array | null;
  /** Partitions of the first rows that are old ones, by their numbers. */
  readonly partitions: ReadonlyMap<number, number>;
  /** Codes that no row had before. */
  readonly distinct: number;
}

export async function sharedCodes(
  rows: NewRows,
  old: OldRows | null,
  isRemoved: (row: number) => boolean,
): Promise<SharedCodes> {
  let firsts: Uint32Array | null = null;
  const partitions = new Map<number, number>();
  let distinct = 0;
  for await (const groups of rows.byCode.groups()) {
    const oldest = new Map<number, number>();
    const heads = groups.map(([head]) => head);
    for (const { asked, row, partition } of (await old?.withCodes(heads)) ?? []) {
      if (isRemoved(row) || row >= (oldest.get(asked) ?? Number.POSITIVE_INFINITY)) continue;
      oldest.set(asked, row);
      partitions.set(row, partition);
    }
    distinct += groups.length - oldest.size;
    groups.forEach((group, i) => {
      const first = oldest.get(i) ?? group[0].row;
      for (const { row } of group) {
        if (row === first) continue;
        firsts ??= Uint32Array.from(
          { length: rows.nextRow - rows.firstRow },
          (_, at) => rows.firstRow + at,
        );
        firsts[row - rows.firstRow] = first;
      }
    });
  }
  return { firsts, partitions, distinct };
}
