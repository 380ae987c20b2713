/**
 * Collects the hits of one query of a scan. They come in ascending order of row and are returned in
 * the order of (distance, row), by a counting sort: it is faster than any sort by comparison where
 * many rows are near. Where rows come in any order, `Smallest` of base/top-k selects instead.
 */

import { grown, toStarts } from '../base/arrays';

/** Rows and their distances in bits, nearest first; equal distances in order of row. */
export interface Neighbors {
  readonly rows: Uint32Array;
  readonly distances: Uint16Array;
}

/** Takes the hits of one query, in the order that each collector states. */
interface Collector {
  /** Only hits below this distance can still enter; it falls as nearer ones are found. */
  readonly limit: number;
  /** Takes one hit. */
  take(row: number, distance: number): void;
}

/** Hits held beyond 2 * k, so that thinning, a pass over all of them, costs little for each. */
const SPARE = 128;
/** Hits that have memory at first. */
const FIRST_CAPACITY = 256;

/**
 * Keeps the k nearest of the hits within `maxDistance`; all of them where k is `count` or more.
 * Each hit is of a row above all those taken before.
 */
export class Nearest implements Collector {
  readonly #k: number;
  readonly #maxHeld: number;
  /** An entry for each distance; scratch space of the counting sort. */
  readonly #counts: Uint32Array;
  /** `#held` hits in ascending order of row; there is always room for one more. */
  #rows: Uint32Array;
  #distances: Uint16Array;
  #held = 0;
  limit: number;

  /** `count` is the number of rows that are scanned. */
  constructor(k: number, maxDistance: number, count: number) {
    this.#k = Math.min(k, count);
    this.#maxHeld = 2 * this.#k + SPARE;
    this.limit = this.#k === 0 ? 0 : maxDistance + 1;
    this.#counts = new Uint32Array(maxDistance + 1);
    const capacity = Math.min(this.#maxHeld, FIRST_CAPACITY);
    this.#rows = new Uint32Array(capacity);
    this.#distances = new Uint16Array(capacity);
  }

  take(row: number, distance: number): void {
    if (distance >= this.limit) return;
    this.#rows[this.#held] = row;
    this.#distances[this.#held++] = distance;
    if (this.#held < this.#rows.length) return;
    if (this.#held < this.#maxHeld) this.#grow();
    else this.#thin();
  }

  #grow(): void {
    const capacity = Math.min(2 * this.#held, this.#maxHeld);
    this.#rows = grown(this.#rows, capacity);
    this.#distances = grown(this.#distances, capacity);
  }

  /** Drops all but the best k: keeps those below the k-th distance, and the first ones at it. */
  #thin(): void {
    const counts = this.#counts.fill(0);
    for (let i = 0; i < this.#held; i++) counts[this.#distances[i]]++;
    let below = 0;
    let cut = 0;
    while (below + counts[cut] < this.#k) below += counts[cut++];
    let ties = this.#k - below;
    let kept = 0;
    for (let i = 0; i < this.#held; i++) {
      const distance = this.#distances[i];
      if (distance > cut || (distance === cut && ties-- <= 0)) continue;
      this.#rows[kept] = this.#rows[i];
      this.#distances[kept++] = distance;
    }
    this.#held = kept;
    this.limit = cut; // a later row at this distance ranks after the k held ones
  }

  /** The hits by distance, as copies; rows of one distance stay in the order in which they came. */
  result(): Neighbors {
    if (this.#held > this.#k) this.#thin();
    const starts = this.#counts.fill(0);
    for (let i = 0; i < this.#held; i++) starts[this.#distances[i]]++;
    toStarts(starts);
    const rows = new Uint32Array(this.#held);
    const distances = new Uint16Array(this.#held);
    for (let i = 0; i < this.#held; i++) {
      const at = starts[this.#distances[i]]++;
      rows[at] = this.#rows[i];
      distances[at] = this.#distances[i];
    }
    return { rows, distances };
  }
}
