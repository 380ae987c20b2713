/**
 * Chooses which bits of a code are the key of which hash table, by the pigeonhole principle: of
 * codes cut into m blocks, two within distance m - 1 agree in a whole block, and two within
 * distance r differ in at most floor(r / m) bits of some block (Norouzi, Punjani & Fleet 2012).
 * Keys of several blocks make buckets smaller and need more tables (Manku, Jain & Das Sarma 2007,
 * section 3). Searches by bands and joins, which use the tables, estimate what they cost.
 */

/** Consecutive bits of a code; `firstBit` counts from 0. */
export interface BitRun {
  readonly firstBit: number;
  readonly bits: number;
}

/** For each table, the runs whose bits, one after another, are the table's key. */
export type TableLayout = readonly (readonly BitRun[])[];

/** Number of key bits of one table. */
export function keyBits(table: readonly BitRun[]): number {
  return table.reduce((sum, { bits }) => sum + bits, 0);
}

/**
 * Cuts a run into `parts` runs whose widths differ by at most one bit, the wider ones first. A run
 * of fewer bits than parts gives empty ones.
 */
export function cut({ firstBit, bits }: BitRun, parts: number): BitRun[] {
  const wider = bits % parts;
  return Array.from({ length: parts }, (_, part) => ({
    firstBit: firstBit + part * Math.floor(bits / parts) + Math.min(part, wider),
    bits: Math.floor(bits / parts) + (part < wider ? 1 : 0),
  }));
}

/**
 * The layout of 16 tables by which Manku et al. find all 64-bit codes within distance 3. A key is
 * one of four blocks and one of four parts of the other three, 28 bits. Three differing bits leave
 * one block equal, and one part of the rest.
 */
export function mankuLayout(): TableLayout {
  const blocks = cut({ firstBit: 0, bits: 64 }, 4);
  return blocks.flatMap((block) => {
    const rest = blocks.filter((other) => other !== block);
    return blocksOf(rest, 4).map((part) => [block, ...part]);
  });
}

/** A table for each choice of `count` of the blocks; its key is all runs of the chosen blocks. */
export function choicesOf(blocks: TableLayout, count: number): BitRun[][] {
  if (count === 0) return [[]];
  return blocks.flatMap((block, i) =>
    choicesOf(blocks.slice(i + 1), count - 1).map((others) => [...block, ...others]),
  );
}

/** Cuts the bits of some runs, taken one after another, into blocks of nearly equal width. */
export function blocksOf(runs: readonly BitRun[], blocks: number): BitRun[][] {
  return cut({ firstBit: 0, bits: keyBits(runs) }, blocks).map((part) => {
    let before = 0; // bits of the runs before this one
    return runs.flatMap(({ firstBit, bits }) => {
      const from = Math.max(0, part.firstBit - before);
      const to = Math.min(bits, part.firstBit + part.bits - before);
      before += bits;
      return from < to ? [{ firstBit: firstBit + from, bits: to - from }] : [];
    });
  });
}

/**
 * The number of ways to choose `some` of `all`; 0 where `some` exceeds `all`. Exact where the
 * result times `some` is below 2^53.
 */
export function binomial(all: number, some: number): number {
  if (some > all) return 0;
  // After step i, `ways` is the number of ways to choose i, so each division has no remainder.
  let ways = 1;
  for (let i = 1; i <= Math.min(some, all - some); i++) ways = (ways * (all - i + 1)) / i;
  return ways;
}
