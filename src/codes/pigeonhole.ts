/**
 * Which bits of a code are the key of which table, by the pigeonhole principle: of codes cut into m
 * blocks, two within distance m - 1 agree in a whole block, and two within distance r differ in at
 * most floor(r / m) bits of some block (Norouzi, Punjani & Fleet 2012). Keys of several blocks make
 * buckets smaller and need more tables (Manku, Jain & Das Sarma 2007, section 3). What a layout
 * costs is estimated by its users, searches by bands and joins.
 */

import { checkBits, checkInteger, wrongType, wrongValue } from '../base/check';

/** Consecutive bits of a code. */
export interface BitRun {
  readonly firstBit: number;
  readonly bits: number;
}

/** For each table, the runs whose bits, laid end to end, are the table's key. */
export type BandLayout = readonly (readonly BitRun[])[];

/** Tables of `mankuLayout`. */
export const MANKU_TABLES = [4, 10, 16, 20] as const;
export type MankuTables = (typeof MANKU_TABLES)[number];

/** Number of key bits of one table. */
export function keyBits(table: readonly BitRun[]): number {
  return table.reduce((sum, { bits }) => sum + bits, 0);
}

/** A run cut into nearly equal parts, the wider ones first. */
function cut({ firstBit, bits }: BitRun, parts: number): BitRun[] {
  const wider = bits % parts;
  return Array.from({ length: parts }, (_, part) => ({
    firstBit: firstBit + part * Math.floor(bits / parts) + Math.min(part, wider),
    bits: Math.floor(bits / parts) + (part < wider ? 1 : 0),
  }));
}

/** A code of `bits` cut into `blocks` nearly equal blocks, each the key of one table. */
export function blockLayout(bits: number, blocks: number): BandLayout {
  checkInteger('blocks', blocks, 1, checkBits(bits));
  return blocksOf([{ firstBit: 0, bits }], blocks);
}

/**
 * The four layouts of Manku et al. that find all 64-bit codes within distance 3 by equal keys:
 * 4 tables of 16 bits, 10 of two of five blocks (25 or 26 bits), 16 of one of four blocks and one
 * of four parts of the rest (28 bits), 20 of three of six blocks (31 to 33 bits).
 */
export function mankuLayout(tables: MankuTables): BandLayout {
  if (tables === 4) return blockLayout(64, 4);
  if (tables === 10) return choicesOf(blockLayout(64, 5), 2);
  if (tables === 20) return choicesOf(blockLayout(64, 6), 3);
  if (tables !== 16) throw wrongValue('tables', `one of ${MANKU_TABLES.join(', ')}`, tables);
  const blocks = cut({ firstBit: 0, bits: 64 }, 4);
  return blocks.flatMap((block) => {
    const rest = blocks.filter((other) => other !== block);
    return cut({ firstBit: 0, bits: 48 }, 4).map((part) => [block, ...slice(rest, part)]);
  });
}

/** A table for each choice of `count` of the blocks; each block is a list of runs. */
export function choicesOf(blocks: BandLayout, count: number): BitRun[][] {
  if (count === 0) return [[]];
  return blocks.flatMap((block, i) =>
    choicesOf(blocks.slice(i + 1), count - 1).map((others) => [...block, ...others]),
  );
}

/** The bits of some runs, laid end to end, cut into nearly equal blocks. */
export function blocksOf(runs: readonly BitRun[], blocks: number): BandLayout {
  const whole = { firstBit: 0, bits: keyBits(runs) };
  return cut(whole, blocks).map((part) => slice(runs, part));
}

/** The runs of bits that `part` covers when `runs` are laid end to end. */
function slice(runs: readonly BitRun[], part: BitRun): BitRun[] {
  let before = 0;
  return runs.flatMap(({ firstBit, bits }) => {
    const from = Math.max(0, part.firstBit - before);
    const to = Math.min(bits, part.firstBit + part.bits - before);
    before += bits;
    return from < to ? [{ firstBit: firstBit + from, bits: to - from }] : [];
  });
}

/** Throws unless there is a table, and each key lies inside the code and has no bit twice. */
export function checkLayout(layout: BandLayout, bits: number): BandLayout {
  if (!Array.isArray(layout)) throw wrongType('layout', 'an array of tables', layout);
  if (layout.length === 0) throw wrongValue('layout', 'at least one table', 'none');
  layout.forEach((table, t) => {
    const seen = new Set<number>();
    for (const run of table) {
      checkInteger(`layout[${t}]: bits`, run.bits, 1, bits);
      checkInteger(`layout[${t}]: firstBit`, run.firstBit, 0, bits - run.bits);
      for (let bit = run.firstBit; bit < run.firstBit + run.bits; bit++) seen.add(bit);
    }
    if (seen.size === 0 || seen.size < keyBits(table)) {
      const got = `${seen.size} bits in runs of ${keyBits(table)}`;
      throw wrongValue(`layout[${t}]`, 'a key of different bits, at least one', got);
    }
  });
  return layout;
}

/** Whether no bit is in the keys of two tables. Only then can flipped keys extend the radius. */
export function isDisjoint(layout: BandLayout): boolean {
  return [...tablesOfBits(layout).values()].every((tables) => tables.length === 1);
}

/** For each bit that is in a key, the tables that have it. */
function tablesOfBits(layout: BandLayout): Map<number, number[]> {
  const tables = new Map<number, number[]>();
  layout.forEach((table, t) => {
    for (const { firstBit, bits } of table) {
      for (let bit = firstBit; bit < firstBit + bits; bit++) {
        tables.set(bit, [...(tables.get(bit) ?? []), t]);
      }
    }
  });
  return tables;
}

/**
 * The largest distance at which two codes surely agree in the whole key of some table: one less
 * than the fewest bits that touch every table.
 */
export function guaranteedDistance(layout: BandLayout): number {
  if (isDisjoint(layout)) return layout.length - 1;
  const kinds = new Map<string, number[]>();
  for (const tables of tablesOfBits(layout).values()) kinds.set(tables.join(), tables);
  const touches = [...kinds.values()];
  /** Whether `bits` more bits can touch the rest: one of them has to touch its first table. */
  const canTouch = (rest: readonly number[], bits: number): boolean => {
    if (rest.length === 0) return true;
    if (bits === 0) return false;
    return touches.some(
      (tables) =>
        tables.includes(rest[0]) &&
        canTouch(
          rest.filter((table) => !tables.includes(table)),
          bits - 1,
        ),
    );
  };
  const all = layout.map((_, table) => table);
  let distance = 0;
  while (!canTouch(all, distance + 1)) distance++;
  return distance;
}

/** The number of ways to choose `some` of `all`, exact below 2^53; 0 where `some` exceeds `all`. */
export function binomial(all: number, some: number): number {
  if (some > all) return 0;
  let ways = 1;
  for (let i = 1; i <= Math.min(some, all - some); i++) ways = (ways * (all - i + 1)) / i;
  return ways;
}
