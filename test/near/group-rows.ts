import type { DedupOptions } from '../../src/near/dedup';
import { dedup } from '../../src/near/dedup';
import type { RowSource } from '../../src/near/rows';

/** The groups of two rows or more that a plan has, by name: their rows, and the one that is kept. */
export async function groupRows(source: RowSource, options: DedupOptions) {
  const { groups: groupOf, kept } = await dedup(source, options);
  const rowsOf = new Map<number, number[]>();
  groupOf.forEach((name, row) => {
    rowsOf.set(name, [...(rowsOf.get(name) ?? []), row]);
  });
  const groups = [...rowsOf]
    .filter(([, rows]) => rows.length > 1)
    .map(([name, rows]) => {
      return {
        name,
        rows: Uint32Array.from(rows),
        kept: rows.find((row) => kept[row] === 1) as number,
      };
    });
  return { groupOf, groups: groups.sort((a, b) => a.name - b.name) };
}
