/** A falling limit by single weights, where the kernel has bins. */
export class FallingLimit {
  /** All codes that were within the limit when they were taken. */
  readonly #list: [code: number, weight: number][] = [];
  /** Codes taken, by weight. */
  readonly #counts: Uint32Array;
  readonly #want: number;
  /** As in `Search`. */
  limit: number;
  /** The sum of `#counts` from 0 to `limit`. */
  held = 0;

  /** Weights are 0 to `maxWeight`, which is the first limit. */
  constructor(maxWeight: number, want: number) {
    this.#counts = new Uint32Array(maxWeight + 1);
    this.#want = want;
    this.limit = maxWeight;
  }

  /** Adds a code if its weight is within the limit, and lowers the limit as far as possible. */
  take(code: number, weight: number): void {
    if (weight > this.limit) return;
    this.#list.push([code, weight]);
    this.#counts[weight]++;
    this.held++;
    while (this.limit > 0 && this.held - this.#counts[this.limit] >= this.#want) {
      this.held -= this.#counts[this.limit--];
    }
  }

  /** All within the last limit. */
  hits() {
    const within = this.#list.filter(([, weight]) => weight <= this.limit);
    return { rows: within.map(([code]) => code), weights: within.map(([, weight]) => weight) };
  }
}
