/**
 * The WebAssembly kernel of sums, see sums.assembly.ts and hadamard.assembly.ts. Rows are copied to
 * the scratch memory in blocks: up to 16 vectors share each pattern word while it is in the cache,
 * and a long vector is added in runs of entries. Patterns are kept for one run only.
 */

import type { Range } from '../base/arrays';
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

/** Projections as numbers, for the kernel. */
const PROJECTIONS = ['signs', 'gaussian', 'given'];

export const wasmSums: SumsKernel = {
  name: 'wasm',

  sumsInto: (rule, rows, sums) => computed(rule, rows, { sums }),

  codesInto: (rule, rows, codes, flags) => computed(rule, rows, { codes, flags }),
};

/** The results to write: the sums of the only row, or codes and flags of all rows. */
type Wanted = { sums: Float64Array } | { codes: Uint8Array; flags: Uint8Array };

function computed(rule: Rule, rows: DenseRows | SparseRows, wanted: Wanted): void {
  if (!('width' in rows)) sparse(rule, rows, wanted);
  else if (rule.projection === 'hadamard') hadamard(rule, rows, wanted);
  else dense(rule, rows, wanted);
}

/** Assigns areas of the scratch memory one after another, aligned to 16 bytes. */
class Layout {
  #end = FREE_START;
  /** The address of the table that Gaussians need, 0 without them. */
  table = 0;

  /** The address of the next area. */
  area(byteLength: number): number {
    const start = this.#end;
    this.#end += (byteLength + 15) & ~15;
    return start;
  }

  /** The address of an area for the patterns of a run of entries. */
  patterns({ projection }: Rule, entries: number): number {
    const isGaussian = projection === 'gaussian';
    if (isGaussian) this.table = this.area(GAUSSIAN_TABLE.byteLength);
    return this.area(Math.min(entries, RUN_ENTRIES) * (isGaussian ? 64 : 8));
  }

  /** The scratch memory with all areas, after which none may be added. */
  memory(): LinearMemory {
    const memory = scratch(this.#end - FREE_START);
    const { table } = this;
    if (table > 0) new Float64Array(memory.bytes.buffer, table, 256).set(GAUSSIAN_TABLE);
    return memory;
  }
}

/** 64-bit words of a code, each of which has 64 sums of 8 bytes. */
function wordsOf(bits: number): number {
  return Math.ceil(bits / 64);
}

/** Dense rows by hashed patterns: a block of vectors and a run of dimensions at a time. */
function dense(rule: Rule, rows: DenseRows, wanted: Wanted): void {
  const { count, width, values } = rows;
  const { bits, seed } = rule;
  const words = wordsOf(bits);
  const bytesPerCode = Math.ceil(bits / 8);
  const most = Math.max(1, Math.floor(BLOCK_SUM_BYTES / (words * 512)));
  const block = Math.min(BLOCK_VECTORS, most, count);
  const entries = Math.min(width, RUN_ENTRIES);
  const layout = new Layout();
  const [keys, valuesAt] = [layout.area(entries * 8), layout.area(block * entries * 8)];
  const [sums, codes] = [layout.area(block * words * 512), layout.area(block * bytesPerCode)];
  const patterns = layout.patterns(rule, entries);
  const { kernels, bytes } = layout.memory();
  const input = new Float64Array(bytes.buffer, valuesAt, block * entries);
  for (let first = 0; first < count; first += block) {
    const vectors = Math.min(block, count - first);
    bytes.fill(0, sums, sums + vectors * words * 512);
    for (let start = 0; start < width; start += entries) {
      const run = Math.min(entries, width - start);
      for (let i = 0; i < vectors; i++) {
        const at = (first + i) * width + start;
        input.set(values.subarray(at, at + run), i * run);
      }
      const dimensions = new Uint32Array(bytes.buffer, keys + 4 * run, run);
      for (let i = 0; i < run; i++) dimensions[i] = start + i;
      kernels.keysInto(false, keys, run);
      const given = [keys, run, valuesAt, vectors, run * 8, words, seed] as const;
      const projection = PROJECTIONS.indexOf(rule.projection);
      kernels.addHashed(projection, ...given, layout.table, patterns, sums);
    }
    if ('sums' in wanted) {
      wanted.sums.set(new Float64Array(bytes.buffer, sums, bits));
      return;
    }
    for (let i = 0; i < vectors; i++) {
      const code = codes + i * bytesPerCode;
      wanted.flags[first + i] = kernels.signsInto(sums + i * words * 512, bits, code);
    }
    wanted.codes.set(bytes.subarray(codes, codes + vectors * bytesPerCode), first * bytesPerCode);
  }
}

/** Sparse rows, but not by 'hadamard': many short ones, or a run of a long one, in a call. */
function sparse(rule: Rule, rows: SparseRows, wanted: Wanted): void {
  const { count, offsets } = rows;
  for (let first = 0, end = 0; first < count; first = end) {
    const most = Math.min(count, first + BLOCK_ROWS);
    end = first + 1;
    while (end < most && offsets[end + 1] - offsets[first] <= RUN_ENTRIES) end++;
    const last = offsets[end];
    for (let from = offsets[first]; ; from += RUN_ENTRIES) {
      const isWhole = last - from <= RUN_ENTRIES && from === offsets[first];
      const to = Math.min(last, from + RUN_ENTRIES);
      const own = isWhole ? offsets.subarray(first, end + 1) : Uint32Array.of(from, to);
      someRows(rule, rows, { first, end }, own, wanted);
      if (to === last) break;
    }
  }
}

/**
 * The results of rows `first` to `end - 1` with the entries at these offsets, in one call of the
 * kernel: of a row whose first entries are not among them the call before has added these.
 */
function someRows(
  rule: Rule,
  rows: SparseRows,
  { first, end }: Range,
  own: Uint32Array,
  wanted: Wanted,
): void {
  const { bits, seed } = rule;
  const [from, to] = [own[0], own[end - first]];
  const isRest = from > rows.offsets[first];
  const bytesPerCode = Math.ceil(bits / 8);
  const words = wordsOf(bits);
  const layout = new Layout();
  const sums = layout.area(words * 512); // first, so that they stay where they are
  const keys = layout.area((to - from) * 8 * (rows.patterns === undefined ? 1 : words));
  const [values, offsets] = [layout.area((to - from) * 8), layout.area(own.byteLength)];
  const codes = layout.area((end - first) * bytesPerCode);
  const flags = layout.area(end - first);
  const patterns = layout.patterns(rule, to - from);
  const { kernels, bytes } = layout.memory();
  const { buffer } = bytes;
  new Uint32Array(buffer, offsets, own.length).set(own);
  new Float64Array(buffer, values, to - from).set(rows.values.subarray(from, to));
  if (rows.patterns === undefined) {
    const some = rows.dimensions.subarray(from, to);
    const isWide = some instanceof BigUint64Array;
    if (isWide) new BigUint64Array(buffer, keys, some.length).set(some);
    else new Uint32Array(buffer, keys + 4 * some.length, some.length).set(some);
    kernels.keysInto(isWide, keys, some.length);
  } else {
    const given = new BigUint64Array(buffer, keys, words * (to - from));
    for (let word = 0; word < words; word++) {
      const at = word * rows.dimensions.length;
      given.set(rows.patterns.subarray(at + from, at + to), word * (to - from));
    }
  }
  const projection = PROJECTIONS.indexOf(rule.projection);
  const given = [offsets, end - first, keys, values, bits, seed, layout.table, patterns] as const;
  kernels.hashRows(projection, ...given, isRest, sums, codes, flags);
  if ('sums' in wanted) wanted.sums.set(new Float64Array(buffer, sums, bits));
  else {
    wanted.codes.set(
      bytes.subarray(codes, codes + (end - first) * bytesPerCode),
      first * bytesPerCode,
    );
    wanted.flags.set(bytes.subarray(flags, flags + end - first), first);
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
