/** What each generation of the crash test changes: known from its number alone. */

export const BITS = 24;
/** Rows stay for so many generations. */
const STAY = 30;

export interface Change {
  readonly isCompaction: boolean;
  readonly added: readonly { id: string; code: Uint8Array }[];
  readonly removed: readonly string[];
}

export function changeOf(generation: number): Change {
  const isCompaction = generation % 7 === 0;
  const rows = isCompaction ? [] : rowsOf(generation);
  const removed =
    isCompaction || generation <= STAY ? [] : rowsOf(generation - STAY).map(({ id }) => id);
  return { isCompaction, added: rows, removed };
}

function rowsOf(generation: number): { id: string; code: Uint8Array }[] {
  if (generation % 7 === 0) return [];
  const count = (generation * 7919) % 23;
  return Array.from({ length: count }, (_, i) => {
    const word = Math.imul(generation % 50, 2654435761) ^ Math.imul(i % 9, 40503);
    return { id: `${generation}/${i}`, code: Uint8Array.of(word, word >>> 8, word >>> 16) };
  });
}
