/**
 * What becomes of a scan's hits. They come in order of row, below a limit that may fall as better
 * ones are seen, and leave in the total order of distance, then row, by a counting sort: nothing is
 * sorted by comparison, and for the k nearest no more than a few times k are ever held.
 */

/** Rows and their distances, nearest first; equal distances in order of row. */
export interface Neighbors {
  readonly rows: Uint32Array;
  readonly distances: Uint16Array;
}

/** Takes the hits of one query. */
export interface Collector {
  /** Only hits below this distance are of use. */
  readonly limit: number;
  /** Takes one hit, of a row above all those seen before. */
  take(row: number, distance: number): void;
  result(): Neighbors;
}

/** Held before thinning; each thinning is one pass over them, so its cost a hit stays constant. */
const SPARE = 128;

/** Keeps the k nearest. */
export class Nearest implements Collector {
  readonly #k: number;
  readonly #counts: Uint32Array;
  readonly #rows: Uint32Array;
  readonly #distances: Uint16Array;
  #held = 0;
  limit: number;

  constructor(k: number, count: number, bits: number) {
    this.#k = Math.min(k, count);
    this.limit = this.#k === 0 ? 0 : bits + 1;
    this.#counts = new Uint32Array(bits + 1);
    const room = this.#k + Math.min(count, this.#k + SPARE);
    this.#rows = new Uint32Array(room);
    this.#distances = new Uint16Array(room);
  }

  take(row: number, distance: number): void {
    if (distance >= this.limit) return;
    this.#rows[this.#held] = row;
    this.#distances[this.#held++] = distance;
    if (this.#held === this.#rows.length) this.#thin();
  }

  /** Keeps the best k in order of row: all below the k-th distance, and the first ones at it. */
  #thin(): void {
    const counts = this.#counts.fill(0);
    for (let i = 0; i < this.#held; i++) counts[this.#distances[i]]++;
    let below = 0;
    let cut = 0;
    while (below + counts[cut] < this.#k) below += counts[cut++];
    let places = this.#k - below;
    let kept = 0;
    for (let i = 0; i < this.#held; i++) {
      const distance = this.#distances[i];
      if (distance > cut || (distance === cut && places-- <= 0)) continue;
      this.#rows[kept] = this.#rows[i];
      this.#distances[kept++] = distance;
    }
    this.#held = kept;
    this.limit = cut; // a later row at this distance comes after the k
  }

  result(): Neighbors {
    if (this.#held > this.#k) this.#thin();
    return inOrder(this.#rows, this.#distances, this.#held, this.#counts);
  }
}

/** Keeps all hits within a distance. */
export class Within implements Collector {
  readonly limit: number;
  #rows = new Uint32Array(64);
  #distances = new Uint16Array(64);
  #held = 0;

  constructor(maxDistance: number) {
    this.limit = maxDistance + 1;
  }

  take(row: number, distance: number): void {
    if (this.#held === this.#rows.length) this.#grow(2 * this.#held);
    this.#rows[this.#held] = row;
    this.#distances[this.#held++] = distance;
  }

  #grow(room: number): void {
    const rows = new Uint32Array(room);
    const distances = new Uint16Array(room);
    rows.set(this.#rows);
    distances.set(this.#distances);
    this.#rows = rows;
    this.#distances = distances;
  }

  result(): Neighbors {
    return inOrder(this.#rows, this.#distances, this.#held, new Uint32Array(this.limit));
  }
}

/** Sorts by distance and keeps rows of one distance in order. `counts` has an entry a distance. */
function inOrder(
  rows: Uint32Array,
  distances: Uint16Array,
  held: number,
  counts: Uint32Array,
): Neighbors {
  const places = counts.fill(0);
  for (let i = 0; i < held; i++) places[distances[i]]++;
  let start = 0;
  for (let distance = 0; distance < places.length; distance++) {
    const count = places[distance];
    places[distance] = start;
    start += count;
  }
  const sorted = { rows: new Uint32Array(held), distances: new Uint16Array(held) };
  for (let i = 0; i < held; i++) {
    const place = places[distances[i]]++;
    sorted.rows[place] = rows[i];
    sorted.distances[place] = distances[i];
  }
  return sorted;
}
