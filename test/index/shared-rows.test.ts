// Rows that share a distinct code, against plain lists: rows come, go and are visited at random.

import { describe, expect, it } from 'vitest';
import { SharedRows } from '../../src/index/distinct/shared-rows';
import { Draws } from '../reference/random';

const DISTINCT = 40;

/**
 * Distinct codes of ascending rows; a removed row is passed over, as the owner of the rows tells.
 */
class Model {
  readonly shared = new SharedRows();
  readonly lists = new Map<number, number[]>();
  readonly removed = new Set<number>();
  readonly isThere = (row: number) => !this.removed.has(row);
  nextRow = 0;

  add(distinct: number): void {
    const row = this.nextRow++;
    this.lists.set(distinct, [...(this.lists.get(distinct) ?? []), row]);
    this.shared.add(distinct, row);
  }

  remove(distinct: number, index: number): void {
    const list = this.lists.get(distinct) ?? [];
    const [row] = list.splice(index, 1);
    this.removed.add(row);
    this.shared.noteRemoved(distinct, this.isThere);
  }

  takeFirst(distinct: number): void {
    const taken = this.shared.takeFirst(distinct, this.isThere, -1);
    expect(taken).toBe(this.lists.get(distinct)?.shift() ?? -1);
  }

  rowsOf(distinct: number, most = Number.POSITIVE_INFINITY): number[] {
    const rows: number[] = [];
    this.shared.each(distinct, this.isThere, (row) => rows.push(row) < most);
    return rows;
  }

  check(): void {
    for (let distinct = 0; distinct < DISTINCT; distinct++) {
      expect(this.rowsOf(distinct)).toEqual(this.lists.get(distinct) ?? []);
    }
  }
}

describe('rows that share a distinct code', () => {
  it('are as plain lists have them, whatever comes and goes', () => {
    const draws = new Draws('shared rows');
    const model = new Model();
    for (let step = 0; step < 20_000; step++) {
      const distinct = draws.integer(DISTINCT);
      const held = model.lists.get(distinct)?.length ?? 0;
      const what = draws.integer(step % 4000 < 2000 ? 10 : 20); // lists grow, then shrink
      if (what < 6) model.add(distinct);
      else if (what < 12 && held > 0) model.remove(distinct, draws.integer(held));
      else if (held > 0) model.takeFirst(distinct);
      expect(model.rowsOf(distinct)).toEqual(model.lists.get(distinct) ?? []);
      if (step % 500 === 0) model.check();
    }
    model.check();
  });

  it('may be visited in part', () => {
    const model = new Model();
    for (let i = 0; i < 5; i++) model.add(7);
    expect(model.rowsOf(7, 2)).toEqual([0, 1]);
    expect(model.rowsOf(8)).toEqual([]);
  });

  it('are found in distinct codes that are far apart', () => {
    const distinctOf = (index: number) => 100_000_007 * (index + 1);
    const model = new Model();
    const shared = new SharedRows();
    for (let row = 0; row < 5000; row++) {
      shared.add(distinctOf(row % DISTINCT), row);
      model.lists.set(row % DISTINCT, [...(model.lists.get(row % DISTINCT) ?? []), row]);
    }
    expect(shared.size).toBe(DISTINCT);
    const told = (from: SharedRows, distinct: number) => {
      const rows: number[] = [];
      from.each(
        distinct,
        () => true,
        (row) => rows.push(row) > 0,
      );
      return rows;
    };
    for (const [index, rows] of model.lists) expect(told(shared, distinctOf(index))).toEqual(rows);
  });

  it('are found where distinct codes gather on one part of the table', () => {
    // Distinct codes that the multiplicative hash sends to a sixteenth of all places.
    const gathered: number[] = [];
    for (let distinct = 0; gathered.length < 3000; distinct++) {
      if (Math.imul(distinct, 0x9e37_79b1) >>> 28 === 0) gathered.push(distinct);
    }
    const shared = new SharedRows();
    for (let row = 0; row < 3 * gathered.length; row++)
      shared.add(gathered[row % gathered.length], row);
    expect(shared.size).toBe(gathered.length);
    gathered.forEach((distinct, i) => {
      const rows: number[] = [];
      shared.each(
        distinct,
        () => true,
        (row) => rows.push(row) > 0,
      );
      expect(rows).toEqual([i, i + gathered.length, i + 2 * gathered.length]);
    });
  });

  it('take little memory, and use again what is free', () => {
    const model = new Model();
    for (let i = 0; i < 10_000; i++) model.add(i % 2500);
    expect(model.shared.bytes).toBeLessThan(10_000 * 12 + 2500 * 64);
    const { bytes } = model.shared;
    for (let round = 0; round < 20; round++) {
      for (let distinct = 0; distinct < 2500; distinct++) model.takeFirst(distinct);
      for (let distinct = 0; distinct < 2500; distinct++) model.add(distinct);
    }
    expect(model.shared.bytes).toBe(bytes);
  });
});
