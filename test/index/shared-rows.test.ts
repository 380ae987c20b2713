// Rows that share a slot, against plain lists: rows come, go and are visited at random.

import { describe, expect, it } from 'vitest';
import { runSteps } from '../../src/base/steps';
import { SharedRows } from '../../src/index/distinct/shared-rows';
import { Draws } from '../reference/random';

const SLOTS = 40;

/** Slots of ascending rows; a removed row is passed over, as the owner of the rows tells. */
class Model {
  readonly shared = new SharedRows();
  readonly lists = new Map<number, number[]>();
  readonly removed = new Set<number>();
  readonly isThere = (row: number) => !this.removed.has(row);
  nextRow = 0;

  add(slot: number): void {
    const row = this.nextRow++;
    this.lists.set(slot, [...(this.lists.get(slot) ?? []), row]);
    this.shared.add(slot, row);
  }

  remove(slot: number, index: number): void {
    const list = this.lists.get(slot) ?? [];
    const [row] = list.splice(index, 1);
    this.removed.add(row);
    this.shared.noteRemoved(slot, this.isThere);
  }

  takeFirst(slot: number): void {
    const taken = this.shared.takeFirst(slot, this.isThere, -1);
    expect(taken).toBe(this.lists.get(slot)?.shift() ?? -1);
  }

  rowsOf(slot: number, most = Number.POSITIVE_INFINITY): number[] {
    const rows: number[] = [];
    this.shared.each(slot, this.isThere, (row) => rows.push(row) < most);
    return rows;
  }

  check(): void {
    for (let slot = 0; slot < SLOTS; slot++) {
      expect(this.rowsOf(slot)).toEqual(this.lists.get(slot) ?? []);
    }
  }
}

describe('rows that share a slot', () => {
  it('are as plain lists have them, whatever comes and goes', () => {
    const draws = new Draws('shared rows');
    const model = new Model();
    for (let step = 0; step < 20_000; step++) {
      const slot = draws.integer(SLOTS);
      const held = model.lists.get(slot)?.length ?? 0;
      const what = draws.integer(step % 4000 < 2000 ? 10 : 20); // lists grow, then shrink
      if (what < 6) model.add(slot);
      else if (what < 12 && held > 0) model.remove(slot, draws.integer(held));
      else if (held > 0) model.takeFirst(slot);
      expect(model.rowsOf(slot)).toEqual(model.lists.get(slot) ?? []);
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

  it('are found in slots that are far apart', () => {
    const slotOf = (index: number) => 100_000_007 * (index + 1);
    const model = new Model();
    const shared = new SharedRows();
    for (let row = 0; row < 5000; row++) {
      shared.add(slotOf(row % SLOTS), row);
      model.lists.set(row % SLOTS, [...(model.lists.get(row % SLOTS) ?? []), row]);
    }
    expect(shared.size).toBe(SLOTS);
    const told = (from: SharedRows, slot: number) => {
      const rows: number[] = [];
      from.each(
        slot,
        () => true,
        (row) => rows.push(row) > 0,
      );
      return rows;
    };
    for (const [index, rows] of model.lists) expect(told(shared, slotOf(index))).toEqual(rows);
  });

  it('go with slots that are numbered anew, and go on apart', () => {
    const model = new Model();
    for (let i = 0; i < 1000; i++) model.add((7 * i) % SLOTS);
    const places = Uint32Array.from({ length: SLOTS }, (_, slot) => SLOTS - slot);
    const other = runSteps(model.shared.renumbered(places), {});
    for (let slot = 0; slot < SLOTS; slot++) {
      const rows: number[] = [];
      other.each(SLOTS - slot, model.isThere, (row) => rows.push(row) > 0);
      expect(rows).toEqual(model.lists.get(slot));
    }
    other.add(SLOTS - 3, 1e6);
    model.add(3);
    model.check();
  });

  it('are found where slots crowd on one part of the table', () => {
    // Slots that the multiplicative hash sends to a sixteenth of all places.
    const crowd: number[] = [];
    for (let slot = 0; crowd.length < 3000; slot++) {
      if (Math.imul(slot, 0x9e37_79b1) >>> 28 === 0) crowd.push(slot);
    }
    const shared = new SharedRows();
    for (let row = 0; row < 3 * crowd.length; row++) shared.add(crowd[row % crowd.length], row);
    expect(shared.size).toBe(crowd.length);
    crowd.forEach((slot, i) => {
      const rows: number[] = [];
      shared.each(
        slot,
        () => true,
        (row) => rows.push(row) > 0,
      );
      expect(rows).toEqual([i, i + crowd.length, i + 2 * crowd.length]);
    });
  });

  it('take little memory, and use again what is free', () => {
    const model = new Model();
    for (let i = 0; i < 10_000; i++) model.add(i % 2500);
    expect(model.shared.bytes).toBeLessThan(10_000 * 12 + 2500 * 64);
    const { bytes } = model.shared;
    for (let round = 0; round < 20; round++) {
      for (let slot = 0; slot < 2500; slot++) model.takeFirst(slot);
      for (let slot = 0; slot < 2500; slot++) model.add(slot);
    }
    expect(model.shared.bytes).toBe(bytes);
  });
});
