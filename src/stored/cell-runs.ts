/**
 * Where the partitions in memory have their cells: as runs of adjacent ones, almost always one run.
 * Flat arrays, since a search asks for hundreds of partitions: when each was an object, reading
 * those of 200 partitions was a fifth of the time of a search.
 */

import { SecondChance } from './second-chance';

export class CellRuns {
  readonly #isHere: Uint8Array;
  /** A search that asks for a partition uses it. */
  readonly #uses: SecondChance;
  readonly #runCounts: Uint32Array;
  /** First cell and number of cells of the first run. */
  readonly #cells: Uint32Array;
  readonly #counts: Uint32Array;
  /** All runs, as first cell and number of cells, of the partitions that have several. */
  readonly #several = new Map<number, readonly number[]>();

  constructor(partitions: number) {
    this.#isHere = new Uint8Array(partitions);
    this.#uses = new SecondChance(partitions);
    this.#runCounts = new Uint32Array(partitions);
    this.#cells = new Uint32Array(partitions);
    this.#counts = new Uint32Array(partitions);
  }

  has(partition: number): boolean {
    return this.#isHere[partition] === 1;
  }

  /** Enters a partition: of each run its first cell and its number of cells, one after another. */
  set(partition: number, runs: readonly number[]): void {
    this.#isHere[partition] = 1;
    this.#uses.mark(partition, false);
    this.#runCounts[partition] = runs.length / 2;
    [this.#cells[partition], this.#counts[partition]] = runs;
    if (runs.length > 2) this.#several.set(partition, runs);
  }

  delete(partition: number): void {
    this.#isHere[partition] = 0;
    this.#several.delete(partition);
  }

  /** The partition in memory that makes room for others; those that are wanted stay. */
  evicted(wanted: { has(partition: number): boolean }): number {
    return this.#uses.evicted((one) => this.has(one) && !wanted.has(one));
  }

  /** The number of runs of the partitions at these places of an order; all must be in memory. */
  countOf(order: Uint32Array, places: Uint32Array): number {
    let count = 0;
    for (const place of places) count += this.#runCounts[order[place]];
    return count;
  }

  /** Calls `take` for each run of a partition in memory, which counts as asked for. */
  each(partition: number, take: (cell: number, count: number) => void): void {
    this.#uses.mark(partition, true);
    const runs = this.#runCounts[partition];
    if (runs === 1) take(this.#cells[partition], this.#counts[partition]);
    if (runs < 2) return;
    const several = this.#several.get(partition) as readonly number[];
    for (let i = 0; i < several.length; i += 2) take(several[i], several[i + 1]);
  }
}
