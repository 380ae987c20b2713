/**
 * Restricts which near pairs are found: within groups of rows, by bits that must agree or differ,
 * or only as many as connect the rows. A group is 32 more bits of a code, in which pairs must
 * agree, so all groups are joined at once, however many there are.
 */

import { checkInteger, wrongType, wrongValue } from '../base/check';
import { UnionFind } from '../base/union-find';
import { Codes } from '../codes/codes';
import type { BitRun } from '../codes/pigeonhole';
import type { PairBits } from './join';
import { runsWithout } from './join-layout';
import type { PairBatch } from './pair-order';

/** Options of `pairs` that leave out some near pairs. */
export interface PairFilter {
  /** For each row its group, -1 for none: only rows of one group are paired. */
  group?: Int32Array;
  /** Bits in which the codes of a pair must agree. */
  agree?: readonly BitRun[];
  /** Sets of bits; in each set the codes of a pair must differ in at least one bit. */
  differ?: readonly (readonly BitRun[])[];
  /**
   * Only pairs that connect rows which no earlier pair connects: fewer than there are rows, however
   * many rows are near, and the same rows are connected. Within one collection without `minCosine`
   * it implies `equal: 'first'`.
   */
  forest?: boolean;
}

/** Names of the options of `PairFilter`. */
export const PAIR_FILTER = ['group', 'agree', 'differ', 'forest'] as const;

/** The bits that restrict a join of these codes; undefined without any. Throws for bad runs. */
export function pairBitsOf(
  { agree, differ, group }: PairFilter,
  codes: Codes,
): PairBits | undefined {
  if (agree === undefined && differ === undefined && group === undefined) return undefined;
  const own = agree === undefined ? [] : merged('agree', agree, codes.bits);
  if (differ !== undefined && !Array.isArray(differ)) {
    throw wrongType('differ', 'an array of sets of bits', differ);
  }
  return {
    agree: group === undefined ? own : [...own, { firstBit: 8 * codes.bytesPerCode, bits: 32 }],
    differ: (differ ?? []).map((runs, i) => merged(`differ[${i}]`, runs, codes.bits)),
  };
}

/** The same bits as runs that do not overlap, ascending. */
function merged(name: string, runs: readonly BitRun[], bits: number): BitRun[] {
  if (!Array.isArray(runs)) throw wrongType(name, 'an array of runs of bits', runs);
  for (const run of runs) {
    checkInteger(`${name}.firstBit`, run?.firstBit, 0, bits - 1);
    checkInteger(`${name}.bits`, run.bits, 1, bits - run.firstBit);
  }
  const all = [{ firstBit: 0, bits }];
  return runsWithout(all, runsWithout(all, runs));
}

/** Throws unless each of `count` rows has a group. */
export function checkGroup(group: unknown, count: number): void {
  if (!(group instanceof Int32Array)) throw wrongType('group', 'an Int32Array', group);
  if (group.length === count) return;
  throw wrongValue('group', `a group for each of ${count} rows`, group.length);
}

/** A copy of codes with the group of each row behind its bits; rows without a group become null. */
export function groupedCodes(codes: Codes, group: Int32Array): Codes {
  const { bytesPerCode: width, count, origin } = codes;
  checkGroup(group, count);
  const validity = new Uint8Array(Math.ceil(count / 8));
  const options = { bits: 8 * width + 32, validity, ...(origin && { origin }) };
  const grouped = Codes.allocate(count, options);
  for (let row = 0; row < count; row++) {
    if (group[row] < 0 || codes.isNull(row)) continue;
    validity[row >> 3] |= 1 << (row & 7);
    const code = grouped.at(row);
    code.set(codes.at(row));
    for (let i = 0; i < 4; i++) code[width + i] = group[row] >> (8 * i);
  }
  return grouped;
}

/** Which rows the pairs so far connect, by union-find. */
export class Forest {
  readonly #sets: UnionFind;
  /** Number that the first row of a second collection has here. */
  readonly #firstOther: number;

  constructor(rows: number, others?: number) {
    this.#sets = new UnionFind(rows + (others ?? 0));
    this.#firstOther = others === undefined ? 0 : rows;
  }

  /** True if two rows are connected already. */
  has(a: number, b: number): boolean {
    return this.#sets.find(a) === this.#sets.find(b);
  }

  /** The pairs of a batch that connect further rows, taken in their order. */
  grownBy({ a, b, distances }: PairBatch): PairBatch {
    const isNew = a.map((row, i) => {
      const other = this.#firstOther + b[i];
      if (this.has(row, other)) return 0;
      this.#sets.union(row, other);
      return 1;
    });
    const only = (_: number, i: number) => isNew[i] === 1;
    return { a: a.filter(only), b: b.filter(only), distances: distances.filter(only) };
  }
}
