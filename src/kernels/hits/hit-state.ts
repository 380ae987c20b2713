/** The state of a search by a WebAssembly kernel, in its memory: see assembly/hits.ts. */

import { FREE_START, type LinearMemory, SCAN_BYTES } from '../memory';
import { HitList, type HitSearch } from './hits';

/** As u32. */
const LIMIT = 0;
const WANT = 1;
const HELD = 2;
const NEXT_HIT = 3;
const HITS_END = 4;
const COUNTS = 16;

/** Kept from search to search, with the room that it has grown to. */
const list = new HitList();

export class HitState {
  readonly at = FREE_START;
  /** Room of the search's own: tables, a query, a list. */
  readonly roomAt: number;
  readonly #buffer: ArrayBuffer;
  readonly #state: Uint32Array;
  readonly #hitsAt: number;

  /** Weights are 0 to `most`. */
  constructor({ bytes }: LinearMemory, most: number, want: number, roomBytes: number) {
    this.#buffer = bytes.buffer;
    this.roomAt = (this.at + 4 * (COUNTS + most + 1) + 15) & ~15;
    this.#hitsAt = (this.roomAt + roomBytes + 15) & ~15;
    this.#state = new Uint32Array(bytes.buffer, this.at, COUNTS + most + 1).fill(0);
    this.#state[LIMIT] = most;
    this.#state[WANT] = want;
    this.#state[NEXT_HIT] = this.#hitsAt;
    this.#state[HITS_END] = FREE_START + SCAN_BYTES;
    list.count = 0;
  }

  get limit(): number {
    return this.#state[LIMIT];
  }

  get held(): number {
    return this.#state[HELD];
  }

  /** Takes the hits out of the memory, which is then free for others. */
  drain(): HitList {
    const hits = (this.#state[NEXT_HIT] - this.#hitsAt) / 4;
    const pairs = new Uint32Array(this.#buffer, this.#hitsAt, hits);
    const { limit } = this;
    for (let i = 0; i < hits; i += 2) {
      if (pairs[i + 1] <= limit) list.push(pairs[i], pairs[i + 1]);
    }
    this.#state[NEXT_HIT] = this.#hitsAt;
    return list;
  }
}

/** A search by a kernel that returns the code to go on with, when the hits are full. */
export function searchInRanges(
  state: HitState,
  look: (first: number, end: number) => number,
): HitSearch {
  return {
    get limit() {
      return state.limit;
    },
    get held() {
      return state.held;
    },
    range(first, end) {
      for (let next = look(first, end); next < end; next = look(next, end)) state.drain();
    },
    hits: () => state.drain(),
  };
}
