/**
 * Weighted distances in plain loops: the reference twin. Each bit in which a code differs from the
 * query counts with an integer weight of its own; a table of 16 sums for each four bits holds them.
 * A search keeps what may be among the `want` lightest: its limit falls as hits are counted.
 */

/** In `rows`: this code stands for no row, and is passed over. */
export const NO_ROW = 0xffff_ffff;

/** The codes that are searched, and the row that each stands for. */
export interface WeightedCodes {
  readonly bytesPerCode: number;
  readonly codes: Uint8Array;
  readonly rows: Uint32Array;
}

/**
 * Weights by four bits: entry 16 g + v is the weight of code bits 4 g to 4 g + 3 being v. Two
 * groups a byte, padded by zeros to 8 bytes; entries are at most 31, a code's sum at most `most`,
 * 65,535.
 */
export interface WeightTables {
  readonly tables: Uint8Array;
  readonly most: number;
}

/** Pairs (code, weight), in no order, of all that were within the limit when they were seen. */
export interface WeightedHits {
  readonly codes: Uint32Array;
  readonly weights: Uint32Array;
  readonly count: number;
}

/** One search: ranges are looked at one after another, then the hits are taken. */
export interface WeightedSearch {
  /** Inclusive: at least `want` of the codes seen are within it, once there are as many. */
  readonly limit: number;
  /** How many of the codes seen are within the limit. */
  readonly held: number;
  /** Looks at codes `first` to `end - 1`. */
  range(first: number, end: number): void;
  /** All seen codes within the limit, and perhaps others. Valid until the next search. */
  hits(): WeightedHits;
}

export interface WeightedKernel {
  readonly name: string;
  search(from: WeightedCodes, weights: WeightTables, want: number): WeightedSearch;
}

/** Widest sums; beyond, entries have to be smaller. */
export const MOST_WEIGHT = 65_535;
export const MOST_ENTRY = 31;

/** Hits that are drained from a search, growing. */
export class HitList implements WeightedHits {
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

export const scalarWeighted: WeightedKernel = {
  name: 'scalar',

  search({ bytesPerCode, codes, rows }, { tables, most }, want) {
    const counts = new Uint32Array(most + 1);
    const list = new HitList();
    let limit = most;
    let held = 0;
    return {
      get limit() {
        return limit;
      },
      get held() {
        return held;
      },
      range(first, end) {
        for (let code = first, at = first * bytesPerCode; code < end; code++) {
          let weight = 0;
          for (let group = 0; group < bytesPerCode * 32; group += 32, at++) {
            weight += tables[group + (codes[at] & 15)] + tables[group + 16 + (codes[at] >> 4)];
          }
          if (weight > limit || rows[code] === NO_ROW) continue;
          list.push(code, weight);
          counts[weight]++;
          held++;
          while (limit > 0 && held - counts[limit] >= want) held -= counts[limit--];
        }
      },
      hits: () => list,
    };
  },
};
