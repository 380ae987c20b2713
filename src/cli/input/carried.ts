/** The columns that an index carries, found by the number of a row. */

import { liveRows } from '../../measure/rows';
import type { IndexFolder, SimHashIndex } from '../../node';
import type { Call } from '../call';
import { parseFilter, placesThatMeet } from './filter';

export class Carried {
  readonly #values = new Map<string, readonly unknown[]>();
  /** Place of each row in the columns. */
  readonly #places = new Map<number, number>();
  readonly #rows: Uint32Array;

  private constructor(rows: Uint32Array) {
    this.#rows = rows;
  }

  static async read(
    folder: IndexFolder,
    index: SimHashIndex,
    names: readonly string[],
  ): Promise<Carried> {
    if (names.length === 0) return new Carried(new Uint32Array());
    const carried = new Carried(liveRows(index));
    const columns = await folder.columns([...new Set(names)]);
    carried.#rows.forEach((row, place) => {
      carried.#places.set(row, place);
    });
    for (const name of names) carried.#values.set(name, columns?.values(name) ?? []);
    return carried;
  }

  valuesOf(name: string, rows: Iterable<number>): unknown[] {
    const values = this.#values.get(name) ?? [];
    return Array.from(rows, (row) => values[this.#places.get(row) ?? -1] ?? null);
  }

  /** The rows that a filter lets through. */
  rowsThatMeet(filter: string): Uint32Array {
    let places = Array.from(this.#rows, (_, place) => place);
    for (const condition of parseFilter(filter)) {
      places = placesThatMeet(condition, this.#values.get(condition.column) ?? [], places);
    }
    return Uint32Array.from(places, (place) => this.#rows[place]);
  }
}

/** The columns that a filter asks for, all of which the index must carry. */
export function columnsOfFilter(call: Call, folder: IndexFolder): readonly string[] {
  const filter = call.text('filter');
  if (filter === undefined) return [];
  return parseFilter(filter).map(({ column }) => carriedName(call, folder, column));
}

export function carriedName(call: Call, folder: IndexFolder, name: string): string {
  const names = folder.columnInfo.map((column) => column.name);
  if (names.includes(name)) return name;
  const there = names.length === 0 ? 'no columns' : names.join(', ');
  return call.fail(`${folder.path} does not carry a column "${name}", it carries ${there}`);
}
