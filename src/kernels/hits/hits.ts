/**
 * Searches for the `want` lightest codes, where codes have small integer weights (distances, or
 * 2,048 less a cosine) and a limit falls as better codes are seen. The result holds every code
 * within the final limit; equal weights are not broken here, so callers can order them by row.
 */

/** In `rows`: this code stands for no row, and is skipped. */
export const NO_ROW = 0xffff_ffff;

/** The codes that are searched, and the row that each stands for, or NO_ROW. */
export interface RowCodes {
  readonly bytesPerCode: number;
  readonly codes: Uint8Array;
  readonly rows: Uint32Array;
}

/** `count` pairs (code, weight), in no order: all that were within the limit when seen. */
export interface Hits {
  readonly codes: Uint32Array;
  readonly weights: Uint32Array;
  readonly count: number;
}

export interface Search {
  /** Inclusive. At least `want` of the codes seen are within it, once so many have been seen. */
  readonly limit: number;
  /** How many of the codes seen are within the limit. */
  readonly held: number;
  /** All codes seen within the limit, and perhaps others. Valid until the next search begins. */
  hits(): Hits;
}

/** A search over codes that lie one after another. */
export interface HitSearch extends Search {
  /** Looks at codes `first` to `end - 1`. */
  range(first: number, end: number): void;
}

/** The hits within a limit by weight, equal ones in the order of the list. */
export function sortedHits({ codes, weights, count }: Hits, limit: number): Hits {
  const order = Array.from({ length: count }, (_, i) => i)
    .filter((i) => weights[i] <= limit)
    .sort((a, b) => weights[a] - weights[b] || a - b);
  return {
    codes: Uint32Array.from(order, (i) => codes[i]),
    weights: Uint32Array.from(order, (i) => weights[i]),
    count: order.length,
  };
}

/** Hits in arrays that double when they are full. */
export class HitList implements Hits {
  codes = new Uint32Array(256);
  weights = new Uint32Array(256);
  count = 0;

  push(code: number, weight: number): void {
    if (this.count === this.codes.length) {
      this.codes = doubled(this.codes);
      this.weights = doubled(this.weights);
    }
    this.codes[this.count] = code;
    this.weights[this.count++] = weight;
  }
}

function doubled(list: Uint32Array): Uint32Array<ArrayBuffer> {
  const longer = new Uint32Array(2 * list.length);
  longer.set(list);
  return longer;
}

/** The falling limit in plain loops: what scalar kernels use for the state of hits.assembly.ts. */
export class FallingLimit {
  readonly list = new HitList();
  readonly #counts: Uint32Array;
  readonly #want: number;
  limit: number;
  held = 0;

  /** Weights are 0 to `maxWeight`. */
  constructor(maxWeight: number, want: number) {
    this.#counts = new Uint32Array(maxWeight + 1);
    this.#want = want;
    this.limit = maxWeight;
  }

  /** Keeps a code if its weight is within the limit, and lowers the limit where it can. */
  take(code: number, weight: number): void {
    if (weight > this.limit) return;
    this.list.push(code, weight);
    this.#counts[weight]++;
    this.held++;
    while (this.limit > 0 && this.held - this.#counts[this.limit] >= this.#want) {
      this.held -= this.#counts[this.limit--];
    }
  }

  /** A search that calls `look` for one code after another. */
  search(look: (code: number) => void): HitSearch {
    const hits = this;
    return {
      get limit() {
        return hits.limit;
      },
      get held() {
        return hits.held;
      },
      range(first, end) {
        for (let code = first; code < end; code++) look(code);
      },
      hits: () => hits.list,
    };
  }
}
