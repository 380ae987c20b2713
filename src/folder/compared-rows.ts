/**
 * Compares new rows with each other and with the rows of a folder. An id must be new, or the new
 * row replaces the old one. Among rows with equal codes the first is recorded, with its partition,
 * which the other rows share.
 */

import type { NewRows } from './new-rows';
import { twice } from './new-rows';
import type { FoundRow, OldRows } from './old-rows';

/**
 * Finds old rows that new rows replace by id. Throws where two new rows have one id, and, without
 * `replace`, where an old row has the id of a new one; the error names the lowest refused row.
 * `old` is null where the folder keeps no rows.
 */
export async function replacedRows(
  rows: NewRows,
  old: OldRows | null,
  replace: boolean,
): Promise<FoundRow[]> {
  let refused: { row: number; bytes: Uint8Array } | null = null;
  // Groups come in order of hash, so the lowest refused row is known only at the end.
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
  /**
   * For each new row the first row with the same code, or the row itself; null where no two rows
   * share a code.
   */
  readonly firsts: Uint32Array | null;
  /** The partition of each old row that `firsts` names, and the second one. */
  readonly partitions: ReadonlyMap<number, Pick<FoundRow, 'partition' | 'second'>>;
  /** How many codes are new to the folder. */
  readonly distinct: number;
}

/**
 * Finds new rows with equal codes, and old rows with the same codes, one bucket of hashes at a
 * time. Old rows that `isRemoved` accepts do not count.
 */
export async function sharedCodes(
  rows: NewRows,
  old: OldRows | null,
  isRemoved: (row: number) => boolean,
): Promise<SharedCodes> {
  let firsts: Uint32Array | null = null;
  const partitions = new Map<number, Pick<FoundRow, 'partition' | 'second'>>();
  let distinct = 0;
  for await (const groups of rows.byCode.groups()) {
    // By position in `heads`, the lowest old row with that code.
    const oldest = new Map<number, number>();
    const heads = groups.map(([head]) => head);
    for (const { asked, row, partition, second } of (await old?.withCodes(heads)) ?? []) {
      if (isRemoved(row) || row >= (oldest.get(asked) ?? Number.POSITIVE_INFINITY)) continue;
      oldest.set(asked, row);
      partitions.set(row, { partition, second });
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
