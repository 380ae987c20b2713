/** The edges of a graph in growing arrays, and their order by an integer height. */

import { grown } from '../base/arrays';
import type { Steps } from '../base/steps';

/** Edges between two steps. */
export const STEP_EDGES = 2 ** 16;

/** Pairs of nodes and their distances. */
export class Edges {
  #a: Uint32Array;
  #b: Uint32Array;
  #distances: Uint16Array;
  #count = 0;

  /** Grows beyond `capacity` edges by doubling. */
  constructor(capacity: number) {
    this.#a = new Uint32Array(capacity + 1);
    this.#b = new Uint32Array(capacity + 1);
    this.#distances = new Uint16Array(capacity + 1);
  }

  get count(): number {
    return this.#count;
  }

  /** Both ends of an edge and their distance. */
  at(edge: number): readonly [a: number, b: number, distance: number] {
    return [this.#a[edge], this.#b[edge], this.#distances[edge]];
  }

  /** Mutual reachability of its ends: the largest of their distance and both core distances. */
  heightOf(edge: number, cores: Uint32Array): number {
    return Math.max(this.#distances[edge], cores[this.#a[edge]], cores[this.#b[edge]]);
  }

  add(a: number, b: number, distance: number): void {
    if (this.#count === this.#a.length) this.#grow();
    this.#a[this.#count] = a;
    this.#b[this.#count] = b;
    this.#distances[this.#count++] = distance;
  }

  #grow(): void {
    const capacity = 2 * this.#count;
    this.#a = grown(this.#a, capacity);
    this.#b = grown(this.#b, capacity);
    this.#distances = grown(this.#distances, capacity);
  }

  /** The edges of a height of at most `most`, by height, then as they came: a counting sort. */
  *inOrder(most: number, heightOf: (edge: number) => number): Steps<Uint32Array> {
    const starts = new Uint32Array(most + 2);
    for (let edge = 0; edge < this.#count; edge++) {
      const height = heightOf(edge);
      if (height <= most) starts[height + 1]++;
      if (edge % STEP_EDGES === STEP_EDGES - 1) yield undefined;
    }
    for (let height = 0; height <= most; height++) starts[height + 1] += starts[height];
    const order = new Uint32Array(starts[most + 1]);
    for (let edge = 0; edge < this.#count; edge++) {
      const height = heightOf(edge);
      if (height <= most) order[starts[height]++] = edge;
      if (edge % STEP_EDGES === STEP_EDGES - 1) yield undefined;
    }
    return order;
  }
}
