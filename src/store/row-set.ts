/** A set of row numbers, with one bit for each number: the rows in files, or the removed rows. */

/** Memory grows with the highest number. */
export class RowSet {
  #bits = new Uint8Array(64);
  #isEmpty = true;

  get isEmpty(): boolean {
    return this.#isEmpty;
  }

  add(row: number): void {
    this.addRange(row, row + 1);
  }

  /** Adds the rows `first` to `end - 1`, whole bytes at once. */
  addRange(first: number, end: number): void {
    if (first < end) this.#isEmpty = false;
    if (8 * this.#bits.length < end) {
      const grown = new Uint8Array(Math.max(Math.ceil(end / 8), 2 * this.#bits.length));
      grown.set(this.#bits);
      this.#bits = grown;
    }
    // Single bits up to the next whole byte, then whole bytes, then the remaining bits.
    let row = first;
    for (; row < end && row % 8 > 0; row++) this.#bits[row >>> 3] |= 1 << (row & 7);
    const whole = row + 8 * Math.floor((end - row) / 8);
    if (whole > row) this.#bits.fill(0xff, row / 8, whole / 8);
    for (row = Math.max(row, whole); row < end; row++) this.#bits[row >>> 3] |= 1 << (row & 7);
  }

  has(row: number): boolean {
    return ((this.#bits[row >>> 3] >> (row & 7)) & 1) === 1;
  }

  /** The rows of the set from `first` to `end - 1`, ascending, in a new array. */
  within(first: number, end: number): Uint32Array {
    const rows = new Uint32Array(end - first);
    let count = 0;
    for (let row = first; row < end; row++) if (this.has(row)) rows[count++] = row;
    return rows.subarray(0, count);
  }
}
