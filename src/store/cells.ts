/**
 * Which keys have cells of a memory of a limited size: each key has its cells next to each other.
 * When it is full, keys give theirs up in turn, and one that was used since its last turn is spared
 * once (second chance).
 */

const NO_KEY = 0xffff_ffff;

/** A set of keys, or a map by key. */
interface Keys {
  keys(): Iterable<number>;
  has(key: number): boolean;
  readonly size: number;
}

export class Cells {
  readonly count: number;
  /** Wanted keys that were here, that were not, and keys that were evicted. */
  readonly counts = { hits: 0, misses: 0, evictions: 0 };
  readonly #sizeOf: (key: number) => number;
  readonly #onEvict: (key: number, first: number) => void;
  readonly #firstOf = new Map<number, number>();
  /** By cell the key whose cells begin there, and whether it was used since its last turn. */
  readonly #keyAt: Uint32Array;
  readonly #wasUsed: Uint8Array;
  #turn = 0;

  /** A key has `sizeOf(key)` cells, at least 1; `onEvict` is called before it loses them. */
  constructor(
    count: number,
    sizeOf: (key: number) => number,
    onEvict: (key: number, first: number) => void = () => undefined,
  ) {
    this.count = count;
    this.#sizeOf = sizeOf;
    this.#onEvict = onEvict;
    this.#keyAt = new Uint32Array(count).fill(NO_KEY);
    this.#wasUsed = new Uint8Array(count);
  }

  /** The first cell of a key; undefined where it has none. */
  firstOf(key: number): number | undefined {
    return this.#firstOf.get(key);
  }

  /**
   * Gives cells to all of these keys, which must fit together; returns those that had none. Their
   * cells must be filled, or given up by `drop`.
   */
  take(wanted: Keys): number[] {
    let missing: number[] = [];
    for (const key of wanted.keys()) {
      const first = this.#firstOf.get(key);
      if (first === undefined) missing.push(key);
      else this.#wasUsed[first] = 1;
    }
    this.counts.hits += wanted.size - missing.length;
    this.counts.misses += missing.length;
    if (!missing.every((key) => this.#takeOne(key, wanted))) {
      // Those that are wanted lie so that another does not fit between them: all lose theirs.
      this.clear();
      missing = [...wanted.keys()];
      for (const key of missing) this.#takeOne(key, wanted);
    }
    return missing;
  }

  /** False where there is no room between keys that are wanted. */
  #takeOne(key: number, wanted: Keys): boolean {
    const size = this.#sizeOf(key);
    let [first, end, rounds] = [this.#turn, this.#turn, 0];
    while (end - first < size) {
      if (first + size > this.count) {
        // After two rounds each key that may be evicted has had its turn.
        if (rounds++ === 2) return false;
        [first, end] = [0, 0];
        continue;
      }
      const old = this.#keyAt[end];
      if (old === NO_KEY) {
        end++;
        continue;
      }
      const isSpared = this.#wasUsed[end] === 1 || wanted.has(old);
      this.#wasUsed[end] = 0;
      end += this.#sizeOf(old);
      if (isSpared) first = end;
    }
    for (let at = first; at < end; at++) {
      if (this.#keyAt[at] !== NO_KEY) this.#evict(this.#keyAt[at], at);
    }
    this.#firstOf.set(key, first);
    this.#keyAt[first] = key;
    this.#wasUsed[first] = 1;
    this.#turn = first + size;
    return true;
  }

  #evict(key: number, first: number): void {
    this.#onEvict(key, first);
    this.counts.evictions++;
    this.#firstOf.delete(key);
    this.#keyAt[first] = NO_KEY;
  }

  /** Keys give up their cells, if they have some. */
  drop(keys: Iterable<number>): void {
    for (const key of keys) {
      const first = this.#firstOf.get(key);
      if (first !== undefined) this.#evict(key, first);
    }
  }

  clear(): void {
    this.drop([...this.#firstOf.keys()]);
    this.#turn = 0;
  }
}
