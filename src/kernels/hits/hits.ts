/**
 * Searches whose limit falls as better codes are seen: codes are weighed by small integers, and
 * what may be among the `want` lightest is kept.
 */

/** In `rows`: this code stands for no row, and is passed over. */
export const NO_ROW = 0xffff_ffff;

/** The codes that are searched, and the row that each stands for. */
export interface RowCodes {
  readonly bytesPerCode: number;
  readonly codes: Uint8Array;
  readonly rows: Uint32Array;
}

/** Pairs (code, weight), in no order, of all that were within the limit when they were seen. */
export interface Hits {
  readonly codes: Uint32Array;
  readonly weights: Uint32Array;
  readonly count: number;
}

/** One search: codes are looked at some after others, then the hits are taken. */
export interface Search {
  /** Inclusive: at least `want` of the codes seen are within it, once there are as many. */
  readonly limit: number;
  /** How many of the codes seen are within the limit. */
  readonly held: number;
  /** All seen codes within the limit, and perhaps others. Valid until the next search. */
  hits(): Hits;
}

export interface HitSearch extends Search {
  /** Looks at codes `first` to `end - 1`. */
  range(first: number, end: number): void;
}

/** Hits that are drained from a search, growing. */
export class HitList implements Hits {
  codes = new Uint32Array(256);
  weights = new Uint32Array(256);
  count = 0;

  push(code: number, weight: number): void {
    if (this.count === this.codes.length) {
      this.codes = grown(this.codes);
      this.weights = grown(this.weights);
    }
    this.codes[this.count] = code;
    this.weights[this.count++] = weight;
  }
}

function grown(list: Uint32Array): Uint32Array<ArrayBuffer> {
  const longer = new Uint32Array(2 * list.length);
  longer.set(list);
  return longer;
}

/** The falling limit in plain loops. */
export class FallingLimit {
  readonly list = new HitList();
  readonly #counts: Uint32Array;
  readonly #want: number;
  limit: number;
  held = 0;

  /** Weights are 0 to `most`. */
  constructor(most: number, want: number) {
    this.#counts = new Uint32Array(most + 1);
    this.#want = want;
    this.limit = most;
  }

  take(code: number, weight: number): void {
    if (weight > this.limit) return;
    this.list.push(code, weight);
    this.#counts[weight]++;
    this.held++;
    while (this.limit > 0 && this.held - this.#counts[this.limit] >= this.#want) {
      this.held -= this.#counts[this.limit--];
    }
  }
}

/** A search that looks at codes one by one. */
export function searchOf(hits: FallingLimit, look: (code: number) => void): HitSearch {
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
