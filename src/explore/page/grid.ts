/**
 * Finds points of the map by place: the nearest to a pointer, and those within a lasso. A grid of
 * 256 by 256 cells lists the points of each cell; it is made once, in linear time, and searches
 * look at the points of few cells. Results are exact.
 */

/** Cells along a side. */
const SIDE = 256;

/** Places have 16 bits: the upper 8 are the cell, these lower ones a place within it. */
const SHIFT = 8;

/** Points that do not move; point i is at `x[i]`, `y[i]`. The arrays are not copied. */
export class Grid {
  readonly #x: Uint16Array;
  readonly #y: Uint16Array;
  /** Points of cell c: `#points` from `#starts[c]` to `#starts[c + 1]` - 1. */
  readonly #starts = new Uint32Array(SIDE * SIDE + 1);
  /** Points by cell, ascending within one. */
  readonly #points: Uint32Array;

  constructor(x: Uint16Array, y: Uint16Array) {
    this.#x = x;
    this.#y = y;
    // A counting sort by cell.
    const starts = this.#starts;
    for (let i = 0; i < x.length; i++) starts[cellOf(x[i], y[i]) + 1]++;
    for (let cell = 0; cell < SIDE * SIDE; cell++) starts[cell + 1] += starts[cell];
    const next = starts.slice();
    this.#points = new Uint32Array(x.length);
    for (let i = 0; i < x.length; i++) this.#points[next[cellOf(x[i], y[i])]++] = i;
  }

  /** Calls `take` with each point of the cells that a rectangle touches. */
  #eachNear(left: number, top: number, right: number, bottom: number, take: (i: number) => void) {
    const cell = (value: number) => Math.max(0, Math.min(SIDE - 1, Math.floor(value) >> SHIFT));
    for (let row = cell(top); row <= cell(bottom); row++) {
      // Cells of one line are neighbours in `#points`: their points are one range.
      const from = this.#starts[row * SIDE + cell(left)];
      const to = this.#starts[row * SIDE + cell(right) + 1];
      for (let at = from; at < to; at++) take(this.#points[at]);
    }
  }

  /** The point nearest to a place, within a radius; of equally near ones the first; -1 for none. */
  nearest(x: number, y: number, radius: number): number {
    let [best, found] = [radius * radius, -1];
    this.#eachNear(x - radius, y - radius, x + radius, y + radius, (i) => {
      const square = (this.#x[i] - x) ** 2 + (this.#y[i] - y) ** 2;
      if (square < best || (square === best && (found < 0 || i < found))) {
        best = square;
        found = i;
      }
    });
    return found;
  }

  /** The points within the closed line through `corners`, by the even-odd rule; ascending. */
  within(corners: readonly (readonly [x: number, y: number])[]): number[] {
    const found: number[] = [];
    if (corners.length < 3) return found;
    const [xs, ys] = [corners.map(([x]) => x), corners.map(([, y]) => y)];
    const box = [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)] as const;
    this.#eachNear(...box, (i) => {
      if (isInside(this.#x[i], this.#y[i], corners)) found.push(i);
    });
    return found.sort((a, b) => a - b);
  }
}

const cellOf = (x: number, y: number) => (y >> SHIFT) * SIDE + (x >> SHIFT);

/** Whether a ray from the place to the right crosses the line an odd number of times. */
function isInside(x: number, y: number, corners: readonly (readonly [number, number])[]): boolean {
  let inside = false;
  let [x1, y1] = corners[corners.length - 1];
  for (const [x2, y2] of corners) {
    if (y1 > y !== y2 > y && x < ((x2 - x1) * (y - y1)) / (y2 - y1) + x1) inside = !inside;
    [x1, y1] = [x2, y2];
  }
  return inside;
}
