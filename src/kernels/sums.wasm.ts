/**
 * The WebAssembly kernel of sums, see sums.assembly.ts and hadamard.assembly.ts. Rows are copied to
 * the scratch memory in blocks: up to 16 vectors share each pattern word while it is in the cache,
 * and a long vector is added in runs of entries. Patterns are kept for one run only, so that memory
 * does not grow with the number of dimensions (except for 'hadamard').
 */

import { FREE_START, type LinearMemory, scratch } from './memory';
import {
  ALL_ZERO,
  type DenseRows,
  GAUSSIAN_TABLE,
  HADAMARD_ROUNDS,
  hadamardSize,
  NOT_FINITE,
  type Rule,
  type SparseRows,
  type SumsKernel,
} from './sums';

/** Entries of a run: their keys, values and patterns, 8 bytes each, fit the second-level cache. */
const RUN_ENTRIES = 8192;
/** Vectors that share a pattern word; fewer where their sums would take more bytes than this. */
const BLOCK_VECTORS = 16;
const BLOCK_SUM_BYTES = 1 << 19;
/** Short sparse rows of one call of the kernel. */
const BLOCK_ROWS = 256;

export const wasmSums: SumsKernel = {
  name: 'wasm',

  denseSumsInto(rule, rows, row, sums) {
    const vector = rows.values.subarray(row * rows.width, (row + 1) * rows.width);
    const one: DenseRows = { count: 1, width: rows.width, values: vector };
    if (rule.projection === 'hadamard') hadamard(rule, one, { sums });
    else dense(rule, one, { sums });
  },

  sparseSumsInto(rule, rows, row, sums) {
    sparse(rule, { ...rows, count: 1, offsets: rows.offsets.subarray(row, row + 2) }, { sums });
  },

  denseCodesInto(rule, rows, codes, flags) {
    if (rule.projection === 'hadamard') hadamard(rule, rows, { codes, flags });
    else dense(rule, rows, { codes, flags });
  },

  sparseCodesInto(rule, rows, codes, flags) {
    if (rule.projection === 'signs') sparseSignCodes(rule, rows, codes, flags);
    else sparse(rule, rows, { codes, flags });
  },
};

/** The results to write: the sums of the only row, or codes and flags of all rows. */
type Wanted = { sums: Float64Array } | { codes: Uint8Array; flags: Uint8Array };

/** Assigns areas of the scratch memory one after another, aligned to 16 bytes. */
class Layout {
  #end = FREE_START;

  /** The address of the next area. */
  area(byteLength: number): number {
    const start = this.#end;
    this.#end += (byteLength + 15) & ~15;
    return start;
  }

  /** The scratch memory with all areas, after which none may be added. */
  memory(): LinearMemory {
    return scratch(this.#end - FREE_START);
  }
}

/** 64-bit words of a code, each of which has 64 sums of 8 bytes. */
function wordsOf(bits: number): number {
  return Math.ceil(bits / 64);
}

/** Areas for a run of `entries` entries of `vectors` vectors; not for projection 'hadamard'. */
function areasFor(rule: Rule, entries: number, vectors: number, layout = new Layout()) {
  const sumBytes = wordsOf(rule.bits) * 512;
  return {
    sumBytes,
    keys: layout.area(entries * 8),
    values: layout.area(vectors * entries * 8),
    narrow: layout.area(vectors * entries * 4),
    patterns: layout.area(entries * (rule.projection === 'gaussian' ? 64 : 8)),
    table: layout.area(GAUSSIAN_TABLE.byteLength),
    sums: layout.area(vectors * sumBytes),
    codes: layout.area(vectors * sumBytes), // at most 64 bytes a word: room for any code
    memory: layout.memory(),
  };
}
type Areas = ReturnType<typeof areasFor>;

/**
 * Adds a run of entries, whose keys and values are at these addresses, to the sums of `vectors`
 * vectors.
 */
function addRun(
  rule: Rule,
  areas: Areas,
  keys: number,
  values: number,
  entries: number,
  vectors: number,
): void {
  const { kernels, bytes } = areas.memory;
  const words = wordsOf(rule.bits);
  const { patterns, table, sums } = areas;
  const entriesOf = [keys, entries, values, vectors, entries * 8, words, rule.seed] as const;
  if (rule.projection === 'gaussian') {
    new Float64Array(bytes.buffer, table, GAUSSIAN_TABLE.length).set(GAUSSIAN_TABLE);
    kernels.addHashedGaussians(...entriesOf, table, patterns, sums);
  } else {
    kernels.addHashedSigns(...entriesOf, patterns, sums);
  }
}

/** Writes the results of `vectors` rows from row `first` on; their sums must be complete. */
function deliver(rule: Rule, areas: Areas, first: number, vectors: number, wanted: Wanted): void {
  const { kernels, bytes } = areas.memory;
  if ('sums' in wanted) {
    wanted.sums.set(new Float64Array(bytes.buffer, areas.sums, rule.bits));
    return;
  }
  const bytesPerCode = Math.ceil(rule.bits / 8);
  for (let i = 0; i < vectors; i++) {
    const code = areas.codes + i * bytesPerCode;
    wanted.flags[first + i] = kernels.signsInto(areas.sums + i * areas.sumBytes, rule.bits, code);
  }
  const end = areas.codes + vectors * bytesPerCode;
  wanted.codes.set(bytes.subarray(areas.codes, end), first * bytesPerCode);
}

/** Dense rows by hashed patterns: a block of vectors and a run of dimensions at a time. */
function dense(rule: Rule, rows: DenseRows, wanted: Wanted): void {
  const { count, width, values } = rows;
  const entries = Math.min(width, RUN_ENTRIES);
  const most = Math.max(1, Math.floor(BLOCK_SUM_BYTES / (wordsOf(rule.bits) * 512)));
  const block = Math.min(BLOCK_VECTORS, most, count);
  const areas = areasFor(rule, entries, block);
  const { kernels, bytes } = areas.memory;
  const isNarrow = values instanceof Float32Array;
  const input = isNarrow
    ? new Float32Array(bytes.buffer, areas.narrow)
    : new Float64Array(bytes.buffer, areas.values);
  for (let first = 0; first < count; first += block) {
    const vectors = Math.min(block, count - first);
    bytes.fill(0, areas.sums, areas.sums + vectors * areas.sumBytes);
    for (let start = 0; start < width; start += entries) {
      const run = Math.min(entries, width - start);
      for (let i = 0; i < vectors; i++) {
        const at = (first + i) * width + start;
        input.set(values.subarray(at, at + run), i * run);
      }
      if (isNarrow) kernels.widenInto(areas.narrow, vectors * run, areas.values);
      kernels.keysOfRange(BigInt(start), run, areas.keys);
      addRun(rule, areas, areas.keys, areas.values, run, vectors);
    }
    deliver(rule, areas, first, vectors, wanted);
  }
}

/** Copies entries `from` to `to - 1`: their values, and unless patterns are given their keys. */
function stageEntries(rule: Rule, rows: SparseRows, areas: Areas, from: number, to: number): void {
  const { kernels, bytes } = areas.memory;
  new Float64Array(bytes.buffer, areas.values, to - from).set(rows.values.subarray(from, to));
  if (rule.projection === 'given') return;
  const some = rows.dimensions.subarray(from, to);
  if (some instanceof Uint32Array) {
    new Uint32Array(bytes.buffer, areas.narrow, some.length).set(some);
    kernels.keysOf32(areas.narrow, some.length, areas.keys);
  } else {
    new BigUint64Array(bytes.buffer, areas.keys, some.length).set(some);
    kernels.keysInPlace(areas.keys, some.length);
  }
}

/** Sparse rows of any length by any projection but 'hadamard': a row at a time, in runs. */
function sparse(rule: Rule, rows: SparseRows, wanted: Wanted): void {
  const { count, offsets } = rows;
  const areas = areasFor(rule, RUN_ENTRIES, 1);
  let from = 0; // entries `from` to `to - 1` are in the areas
  let to = 0;
  for (let row = 0; row < count; row++) {
    const end = offsets[row + 1];
    areas.memory.bytes.fill(0, areas.sums, areas.sums + areas.sumBytes);
    for (let start = offsets[row]; start < end; ) {
      // Copies entries unless the rest of the row, or a full run of it, is there already. Entries
      // of later rows are copied along, so that short rows share a copy.
      if (start < from || Math.min(end, start + RUN_ENTRIES) > to) {
        from = start;
        to = Math.min(start + RUN_ENTRIES, offsets[count]);
        stageEntries(rule, rows, areas, from, to);
      }
      const run = Math.min(end, to) - start;
      const values = areas.values + 8 * (start - from);
      if (rule.projection === 'given') addGivenRun(rule, areas, rows, start, values, run);
      else addRun(rule, areas, areas.keys + 8 * (start - from), values, run, 1);
      start += run;
    }
    deliver(rule, areas, row, 1, wanted);
  }
}

/** Sign codes: one call for up to BLOCK_ROWS short rows; a row longer than a run by itself. */
function sparseSignCodes(rule: Rule, rows: SparseRows, codes: Uint8Array, flags: Uint8Array): void {
  const { count, offsets } = rows;
  const bytesPerCode = Math.ceil(rule.bits / 8);
  for (let first = 0; first < count; ) {
    let end = first + 1;
    const most = Math.min(count, first + BLOCK_ROWS);
    while (end < most && offsets[end + 1] - offsets[first] <= RUN_ENTRIES) end++;
    const some = { ...rows, count: end - first, offsets: offsets.subarray(first, end + 1) };
    const out = codes.subarray(first * bytesPerCode, end * bytesPerCode);
    const seen = flags.subarray(first, end);
    if (offsets[end] - offsets[first] > RUN_ENTRIES)
      sparse(rule, some, { codes: out, flags: seen });
    else shortRows(rule, some, out, seen);
    first = end;
  }
}

/** Sign codes of rows that together have at most RUN_ENTRIES entries, in one call of the kernel. */
function shortRows(rule: Rule, rows: SparseRows, codes: Uint8Array, flags: Uint8Array): void {
  const { count, offsets } = rows;
  const layout = new Layout();
  const offsetsAt = layout.area((count + 1) * 4);
  const codesAt = layout.area(codes.length);
  const flagsAt = layout.area(count);
  const areas = areasFor(rule, RUN_ENTRIES, 1, layout);
  const { kernels, bytes } = areas.memory;
  stageEntries(rule, rows, areas, offsets[0], offsets[count]);
  new Uint32Array(bytes.buffer, offsetsAt, count + 1).set(offsets);
  const { keys, values, patterns, sums } = areas;
  kernels.hashRows(
    offsetsAt,
    count,
    keys,
    values,
    rule.bits,
    rule.seed,
    patterns,
    sums,
    codesAt,
    flagsAt,
  );
  codes.set(bytes.subarray(codesAt, codesAt + codes.length));
  flags.set(bytes.subarray(flagsAt, flagsAt + count));
}

/** Adds a run of `run` entries from entry `start` on by given patterns, a word at a time. */
function addGivenRun(
  rule: Rule,
  areas: Areas,
  rows: SparseRows,
  start: number,
  values: number,
  run: number,
): void {
  const patterns = rows.patterns as BigUint64Array<ArrayBuffer>;
  const area = new BigUint64Array(areas.memory.bytes.buffer, areas.patterns, run);
  for (let word = 0; word < wordsOf(rule.bits); word++) {
    const at = word * rows.dimensions.length + start;
    area.set(patterns.subarray(at, at + run));
    areas.memory.kernels.addSigns(areas.patterns, values, run, areas.sums + word * 512);
  }
}

/** Dense rows by the Walsh-Hadamard transform: one of each vector for each `size` bits. */
function hadamard(rule: Rule, rows: DenseRows, wanted: Wanted): void {
  const { count, width, values } = rows;
  const size = hadamardSize(width);
  const blocks = Math.ceil(rule.bits / size);
  const bytesPerCode = Math.ceil(rule.bits / 8);
  const vectors = Math.min(count, width > RUN_ENTRIES ? 2 : BLOCK_VECTORS);
  const stride = width * values.BYTES_PER_ELEMENT;
  const layout = new Layout();
  const flips = layout.area(HADAMARD_ROUNDS * size * 8);
  const inputAt = layout.area(vectors * stride);
  const sumsAt = layout.area(size * 8);
  const codesAt = layout.area(vectors * bytesPerCode);
  const { kernels, bytes } = layout.memory();
  const isNarrow = values instanceof Float32Array;
  const input = isNarrow
    ? new Float32Array(bytes.buffer, inputAt, vectors * width)
    : new Float64Array(bytes.buffer, inputAt, vectors * width);
  for (let first = 0; first < count; first += vectors) {
    const here = Math.min(vectors, count - first);
    input.set(values.subarray(first * width, (first + here) * width));
    const flags = new Uint8Array(here).fill(ALL_ZERO);
    for (let block = 0; block < blocks; block++) {
      const bits = Math.min(size, rule.bits - block * size);
      for (let round = 0; round < HADAMARD_ROUNDS; round++) {
        const seed = BigInt.asUintN(64, rule.seed + BigInt(HADAMARD_ROUNDS * block + round));
        kernels.flipsInto(size, seed, flips + round * size * 8);
      }
      for (let i = 0; i < here; i++) {
        const row = inputAt + i * stride;
        kernels.hadamardInto(isNarrow, row, width, size, HADAMARD_ROUNDS, flips, sumsAt);
        if ('sums' in wanted) {
          wanted.sums.set(new Float64Array(bytes.buffer, sumsAt, bits), block * size);
          continue;
        }
        const code = codesAt + i * bytesPerCode + (block * size) / 8;
        flags[i] = flagsOfBoth(flags[i], kernels.signsInto(sumsAt, bits, code));
      }
    }
    if ('sums' in wanted) return;
    wanted.flags.set(flags, first);
    wanted.codes.set(bytes.subarray(codesAt, codesAt + here * bytesPerCode), first * bytesPerCode);
  }
}

/** The flags of a code from those of two of its parts: not finite if one is, zero if both are. */
function flagsOfBoth(a: number, b: number): number {
  return ((a | b) & NOT_FINITE) | (a & b & ALL_ZERO);
}
