/**
 * Which bits of a code are the key of which table, by the pigeonhole principle: of codes cut into m
 * blocks, two within distance m - 1 agree in a whole block, and two within distance r differ in at
 * most floor(r / m) bits of some block (Norouzi, Punjani & Fleet 2012). Keys of several blocks make
 * buckets smaller and need more tables (Manku, Jain & Das Sarma 2007, section 3). What tables cost
 * is estimated by their users, searches by bands and joins.
 */

/** Consecutive bits of a code. */
export interface BitRun {
  readonly firstBit: number;
  readonly bits: number;
}

/** For each table, the runs whose bits, laid end to end, are the table's key. */
export type TableLayout = readonly (readonly BitRun[])[];

/** Number of key bits of one table. */
export function keyBits(table: readonly BitRun[]): number {
  return table.reduce((sum, { bits }) => sum + bits, 0);
}

/** A run cut into nearly equal parts, the wider ones first; there must be a bit for each. */
export function cut({ firstBit, bits }: BitRun, parts: number): BitRun[] {
  const wider = bits % parts;
  return Array.from({ length: parts }, (_, part) => ({
    firstBit: firstBit + part * Math.floor(bits / parts) + Math.min(part, wider),
    bits: Math.floor(bits / parts) + (part < wider ? 1 : 0),
  }));
}

/**
 * The layout of 16 tables by which Manku et al. find all 64-bit codes within distance 3: keys of
 * one of four blocks and one of four parts of the rest, 28 bits.
 */
export function mankuLayout(): TableLayout {
  const blocks = cut({ firstBit: 0, bits: 64 }, 4);
  return blocks.flatMap((block) => {
    const rest = blocks.filter((other) => other !== block);
    return blocksOf(rest, 4).map((part) => [block, ...part]);
  });
}

/** A table for each choice of `count` of the blocks; each block is a list of runs. */
export function choicesOf(blocks: TableLayout, count: number): BitRun[][] {
  if (count === 0) return [[]];
  return blocks.flatMap((block, i) =>
    choicesOf(blocks.slice(i + 1), count - 1).map((others) => [...block, ...others]),
  );
}

/** The bits of some runs, laid end to end, cut into nearly equal blocks. */
export function blocksOf(runs: readonly BitRun[], blocks: number): BitRun[][] {
  return cut({ firstBit: 0, bits: keyBits(runs) }, blocks).map((part) => {
    let before = 0;
    return runs.flatMap(({ firstBit, bits }) => {
      const from = Math.max(0, part.firstBit - before);
      const to = Math.min(bits, part.firstBit + part.bits - before);
      before += bits;
      return from < to ? [{ firstBit: firstBit + from, bits: to - from }] : [];
    });
  });
}

/** The number of ways to choose `some` of `all`, exact below 2^53; 0 where `some` exceeds `all`. */
export function binomial(all: number, some: number): number {
  if (some > all) return 0;
  let ways = 1;
  for (let i = 1; i <= Math.min(some, all - some); i++) ways = (ways * (all - i + 1)) / i;
  return ways;
}
