/** The columns that an index carries: read once, found by row, and what a filter says of them. */

import { liveRows } from '../../measure/rows';
import type { IndexFolder, SimHashIndex } from '../../node';
import type { Call } from '../call';
import { parseFilter, placesThatMeet } from './filter';

/** Columns in memory; rows that were removed have no values. */
export class Carried {
  readonly #values = new Map<string, readonly unknown[]>();
  /** The rows that the columns have values of, and the position of each. */
  readonly #rows: Uint32Array;
  readonly #positions: ReadonlyMap<number, number>;

  private constructor(rows: Uint32Array) {
    this.#rows = rows;
    this.#positions = new Map(Array.from(rows, (row, position) => [row, position]));
  }

  /** Reads columns of a folder, which must have them, for the rows of its index. */
  static async read(
    folder: IndexFolder,
    index: SimHashIndex,
    names: readonly string[],
  ): Promise<Carried> {
    if (names.length === 0) return new Carried(new Uint32Array());
    const carried = new Carried(liveRows(index));
    const columns = await folder.columns([...new Set(names)]);
    for (const name of names) carried.#values.set(name, columns?.values(name) ?? []);
    return carried;
  }

  /** The values of a column for some rows, null where a row has none. */
  valuesOf(name: string, rows: Iterable<number>): unknown[] {
    const values = this.#values.get(name) ?? [];
    return Array.from(rows, (row) => values[this.#positions.get(row) ?? -1] ?? null);
  }

  /** The rows that a filter lets through. */
  rowsThatMeet(filter: string): Uint32Array {
    let positions = [...this.#rows.keys()];
    for (const condition of parseFilter(filter)) {
      positions = placesThatMeet(condition, this.#values.get(condition.column) ?? [], positions);
    }
    return Uint32Array.from(positions, (position) => this.#rows[position]);
  }
}

/** The columns that a filter asks for, all of which the index must carry. */
export function columnsOfFilter(call: Call, folder: IndexFolder): readonly string[] {
  const filter = call.text('filter');
  if (filter === undefined) return [];
  return parseFilter(filter).map(({ column }) => carriedName(call, folder, column));
}

/** Fails where the index carries no column of that name; the error names those that it does. */
export function carriedName(call: Call, folder: IndexFolder, name: string): string {
  const names = folder.columnInfo.map((column) => column.name);
  if (names.includes(name)) return name;
  const there = names.length === 0 ? 'no columns' : names.join(', ');
  return call.fail(`${folder.path} does not carry a column "${name}", it carries ${there}`);
}
