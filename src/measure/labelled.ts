/**
 * Labelled pairs of rows in two halves. Rows that are the same by the labels stay in one half, so
 * that the half that judges has no record of the half that chose.
 */

import { shareAt } from '../base/random';
import { UnionFind } from '../base/union-find';
import { type Half, labelledHalf } from './contest';

/** A label of a person: whether two rows are the same. */
interface Label {
  readonly a: number;
  readonly b: number;
  readonly isSame: boolean;
}

/**
 * Divides labelled pairs into halves by chance; units with and without same pairs separately, so
 * that both halves have both kinds.
 */
export function labelledHalves<Row>(
  rows: readonly Row[],
  labels: readonly Label[],
  seed: number,
): [Half<Row>, Half<Row>] {
  const groups = new UnionFind(rows.length);
  for (const { a, b, isSame } of labels) if (isSame) groups.union(a, b);
  const unitOf = ({ a }: Label) => groups.find(a);
  const withSame = new Set(labels.filter(({ isSame }) => isSame).map(unitOf));
  const all = new Set(labels.map(unitOf));
  const units = [...all].sort((a, b) => shareAt(seed, a) - shareAt(seed, b) || a - b);
  // Every other unit of each kind, in random order.
  const kinds = [true, false].map((has) => units.filter((unit) => withSame.has(unit) === has));
  const held = new Set(kinds.flatMap((some) => some.filter((_, i) => i % 2 === 1)));
  const half = (isHeld: boolean) => {
    const own = labels.filter((label) => held.has(unitOf(label)) === isHeld);
    const ownRows = numbered(own.flatMap(({ a, b }) => [a, b]));
    const ownUnits = numbered(own.map(unitOf));
    const numbersOf = (of: (label: Label) => number, numbers: ReadonlyMap<number, number>) =>
      Uint32Array.from(own, (label) => numbers.get(of(label)) ?? 0);
    const rowsOfHalf = Array.from(ownRows.keys(), (row) => rows[row]);
    return labelledHalf(rowsOfHalf, {
      a: numbersOf(({ a }) => a, ownRows),
      b: numbersOf(({ b }) => b, ownRows),
      isSame: own.map(({ isSame }) => isSame),
      unit: numbersOf(unitOf, ownUnits),
    });
  };
  return [half(false), half(true)];
}

/** Distinct values, numbered from 0 in the order in which they come. */
function numbered(values: readonly number[]): Map<number, number> {
  return new Map([...new Set(values)].map((value, i) => [value, i]));
}
