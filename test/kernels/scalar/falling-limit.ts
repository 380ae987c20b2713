/** The falling limit that the kernels have as the state of hits.assembly.ts. */
export class FallingLimit {
  /** All codes that were within the limit when they were taken. */
  readonly list = { codes: [] as number[], weights: [] as number[], count: 0 };
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
    this.list.codes.push(code);
    this.list.weights.push(weight);
    this.list.count++;
    this.#counts[weight]++;
    this.held++;
    while (this.limit > 0 && this.held - this.#counts[this.limit] >= this.#want) {
      this.held -= this.#counts[this.limit--];
    }
  }

  hits() {
    const { codes, weights, count } = this.list;
    return { codes: Uint32Array.from(codes), weights: Uint32Array.from(weights), count };
  }
}
