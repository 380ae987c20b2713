/**
 * The residual codes of an index in parts of one memory each: a memory has at most 4 GiB, and an
 * index may have more. Every part but the last has 2 ** shift places, so that a shift and a mask
 * lead from a place to its row there. A search goes on from one memory to the next with all that it
 * holds, so that its answer does not depend on where the parts end.
 */

import { PART_BYTES } from './memory';
import { ResidualMemory } from './residual-memory';
import type { HeldRows, ResidualKernel, ResidualSearch, RowRun } from './residual-search';
import { RANGE, type ResidualTables, residualByte, residualScale, SCALE_BYTES } from './residuals';

/** Blocks of 16 rows must not be cut. */
const MIN_SHIFT = 4;
/** Kernels and lists of entries count places in 32 bits. */
const MAX_PLACES = 2 ** 32 - 1;

/** A search for the `want` rows of the largest cosines, see `ResidualKernel.search`. */
interface Asked {
  readonly tables: ResidualTables;
  readonly want: number;
  readonly gap: number;
}

/** A search that has seen so many ranges. */
interface Seen {
  readonly search: ResidualSearch;
  readonly seen: number;
}

export class ResidualParts {
  readonly bytesPerRow: number;
  readonly memories: ResidualMemory[] = [];
  readonly #shift: number;
  readonly #mask: number;

  /** `bytesPerRow` must be even. */
  constructor(bytesPerRow: number, count = 1, shift = shiftOf(bytesPerRow)) {
    this.bytesPerRow = bytesPerRow;
    this.#shift = shift;
    this.#mask = 2 ** shift - 1;
    this.reserve(count);
  }

  /** The codes of another thread, to be read, or written where there is room. */
  static over({ bytesPerRow, shift, memories }: ResidualParts['state']): ResidualParts {
    const parts = new ResidualParts(bytesPerRow, 0, shift);
    parts.memories.push(...memories.map(ResidualMemory.over));
    return parts;
  }

  /** What other threads read: views of the memories. */
  get state() {
    const memories = this.memories.map(({ state }) => state);
    return { bytesPerRow: this.bytesPerRow, shift: this.#shift, memories };
  }

  get byteLength(): number {
    return this.memories.reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  /** Grows to at least `count` places. Throws where there is no memory for so many. */
  reserve(count: number): void {
    if (count > MAX_PLACES) {
      throw new RangeError(
        `an index in memory has room for ${MAX_PLACES} residual codes, not for ${count}: ` +
          'build a folder in its place',
      );
    }
    const most = 2 ** this.#shift;
    for (let first = 0, part = 0; first < count; first += most, part++) {
      this.memories[part] ??= new ResidualMemory(this.bytesPerRow, 0, most);
      this.memories[part].reserve(Math.min(most, count - first));
    }
  }

  #memoryOf(place: number): ResidualMemory {
    return this.memories[place >>> this.#shift];
  }

  /** Writes the residual code and the scale at a place. */
  set(place: number, code: Uint8Array, scale: number): void {
    this.#memoryOf(place).set(place & this.#mask, code, scale);
  }

  /** The same of places that follow one another: their codes, one after another, and scales. */
  setRows(place: number, codes: Uint8Array, scales: Float32Array): void {
    for (const { first, end } of this.#cut(place, place + scales.length)) {
      const [from, to] = [first - place, end - place];
      const own = codes.subarray(from * this.bytesPerRow, to * this.bytesPerRow);
      this.#memoryOf(first).setRows(first & this.#mask, own, scales.subarray(from, to));
    }
  }

  setScale(place: number, scale: number): void {
    this.#memoryOf(place).setScale(place & this.#mask, scale);
  }

  /** Copies the residual code at a place to `out[at]..`; returns its scale. */
  copyInto(place: number, out: Uint8Array, at: number): number {
    const memory = this.#memoryOf(place);
    const [row, { bytes, floats, bytesPerRow }] = [place & this.#mask, memory];
    for (let i = 0; i < bytesPerRow; i++) out[at + i] = bytes[residualByte(memory, row, i)];
    return floats[residualScale(bytesPerRow, row)];
  }

  /** Looks at ranges as `ResidualKernel.search` does; returns the search, and how many it saw. */
  search(kernel: ResidualKernel, asked: Asked, ranges: Uint32Array): Seen {
    const { tables, want, gap } = asked;
    const [first] = this.memories;
    let search = kernel.search(first, tables, want, gap);
    if (this.memories.length === 1) return { search, seen: search.ranges(ranges) };
    let part = 0;
    for (let at = 0; at < ranges.length; at += RANGE) {
      const [from, code, count, product] = ranges.subarray(at, at + RANGE);
      let isSame = at > 0 && product === ranges[at - 1];
      if (count === 0) {
        // No row, but a centroid at which the search may end.
        const own = Uint32Array.of(0, code, 0, product);
        if (search.ranges(own, isSame) === 0) return { search, seen: at / RANGE };
        continue;
      }
      for (const { first, end } of this.#cut(from, from + count)) {
        const next = first >>> this.#shift;
        if (next !== part) {
          search = kernel.search(this.memories[next], tables, want, gap, search);
          part = next;
        }
        const own = Uint32Array.of(first & this.#mask, code + first - from, end - first, product);
        if (search.ranges(own, isSame) === 0) return { search, seen: at / RANGE };
        isSame = true;
      }
    }
    return { search, seen: ranges.length / RANGE };
  }

  /** See `ResidualKernel.holding`. */
  holding(kernel: ResidualKernel, queries: readonly ResidualTables[]): HeldRows {
    const held: HeldRows[] = [];
    return {
      look: (run, visits, take) => {
        for (const { first, end } of this.#cut(run.first, run.end)) {
          const [part, row] = [first >>> this.#shift, first & this.#mask];
          held[part] ??= kernel.holding(this.memories[part], queries);
          const code = run.code + first - run.first;
          held[part].look({ first: row, end: row + end - first, code }, visits, take);
        }
      },
    };
  }

  /** Places `first` to `end - 1`, cut where parts end. */
  #cut(first: number, end: number): Omit<RowRun, 'code'>[] {
    const cut: Omit<RowRun, 'code'>[] = [];
    for (let from = first; from < end; ) {
      const next = Math.min(end, 2 ** this.#shift * ((from >>> this.#shift) + 1));
      cut.push({ first: from, end: next });
      from = next;
    }
    return cut;
  }
}

/** The largest power of two of rows that takes at most PART_BYTES, as its exponent. */
function shiftOf(bytesPerRow: number): number {
  return Math.max(MIN_SHIFT, 31 - Math.clz32(PART_BYTES / (bytesPerRow + SCALE_BYTES)));
}
