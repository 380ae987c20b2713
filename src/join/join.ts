/**
 * All pairs of codes within a distance, each once, in no order. Every table sorts the codes by some
 * of their bits and compares those that agree in all of these. A pair is reported only by the first
 * table in which it agrees, so no set of seen pairs is needed. The codes of an overfull bucket are
 * joined by their other bits.
 */

import { lowerBound, toStarts } from '../base/arrays';
import type { Steps } from '../base/steps';
import type { BitRun } from '../codes/pigeonhole';
import { ENTRY, HIT, JoinMemory } from '../kernels/joins/join-memory';
import type { JoinKernel, JoinKey, Runs } from '../kernels/joins/joins.scalar';
import { hammingKernel, joinKernel, type KernelName } from '../kernels/kernels';
import {
  chooseMethod,
  type JoinMethod,
  type JoinSample,
  joinKeyOf,
  maskOf,
  maxTables,
  runsWithout,
} from './join-layout';

/** Distinct codes, the first `count` of a memory that the join kernels read. */
export interface JoinCodes {
  readonly memory: JoinMemory;
  readonly count: number;
  readonly bits: number;
}

/** Bits in which both codes of a pair agree, and bits of which they differ in one at least. */
export interface PairBits {
  readonly agree: readonly BitRun[];
  readonly differ: readonly (readonly BitRun[])[];
}

/** All pairs. */
const ANY_BITS: PairBits = { agree: [], differ: [] };

/** Which pairs a join finds. */
export interface JoinWanted {
  readonly maxDistance: number;
  readonly bits?: PairBits | undefined;
  /** Where the lower distinct code of a pair lies, from and up to; read again from time to time. */
  readonly range: () => readonly [from: number, to: number];
  readonly kernel: KernelName | undefined;
}

/** Takes hits: two distinct codes, the lower first, and their distance. Valid during the call. */
export type TakeHits = (hits: Uint32Array, count: number) => void;

/**
 * Where a join is nested in an overfull bucket of another: the bits it may join by, those in which
 * its codes agree, and the keys of earlier tables, in which a pair must not agree entirely.
 */
interface Around {
  readonly runs: readonly BitRun[];
  readonly required: readonly BitRun[];
  readonly rejects: readonly (readonly BitRun[])[];
}

/** Rows, and comparisons, between two steps: some milliseconds. */
const STEP_ROWS = 2 ** 18;
const STEP_COMPARISONS = 2 ** 22;
const SAMPLE = 1024;
/** Queries at a time when all are compared with all. */
const QUERIES = 128;

/** The cheapest method to join these codes. */
export function methodFor(codes: JoinCodes, maxDistance: number, { agree } = ANY_BITS): JoinMethod {
  const runs = runsWithout([{ firstBit: 0, bits: codes.bits }], agree);
  return chooseMethod(sampleOf(codes), codes.count, runs, maxDistance, agree);
}

/** Passes all pairs to `take`, each once; yields how much of the work is done. */
export function* join(
  codes: JoinCodes,
  method: JoinMethod,
  wanted: JoinWanted,
  take: TakeHits,
): Steps<void> {
  const { agree, differ } = wanted.bits ?? ANY_BITS;
  const runs = runsWithout([{ firstBit: 0, bits: codes.bits }], agree);
  const around = { runs, required: agree, rejects: differ };
  yield* joinAs(codes, method, wanted, around, take);
}

/** The same for codes of which some bits are known to agree. */
function* joinAs(
  codes: JoinCodes,
  method: JoinMethod,
  wanted: JoinWanted,
  around: Around,
  take: TakeHits,
): Steps<void> {
  if (method.layout.length === 0) yield* joinAll(codes, wanted, around, take);
  else yield* joinTables(codes, method, wanted, around, take);
  yield [1, 1];
}

/** Sorts the codes by the key of each table, and compares those of equal keys. */
function* joinTables(
  codes: JoinCodes,
  { layout }: JoinMethod,
  wanted: JoinWanted,
  around: Around,
  take: TakeHits,
): Steps<void> {
  const { memory, count } = codes;
  const kernel = joinKernel(wanted.kernel);
  const total = layout.length * count;
  const budget = comparisonsOfStep(memory, wanted);
  for (const [t, table] of layout.entries()) {
    yield* sorted(codes, joinKeyOf(table, count), kernel);
    const required = [...around.required, ...table];
    const rejects = [...around.rejects, ...layout.slice(0, t)];
    [required, ...rejects].forEach((runs, i) => {
      memory.masks.set(maskOf(runs, memory.words), i * memory.words);
    });
    const state: Runs = {
      ...{ maxDistance: wanted.maxDistance, rejects: rejects.length },
      ...{ fromCode: 0, toCode: count, next: 0, place: 0, longEnd: 0, budget: 0 },
    };
    while (state.next < count) {
      [state.fromCode, state.toCode] = wanted.range();
      state.budget = budget;
      const found = kernel.runs(memory, count, state);
      if (found > 0) take(memory.hits, found);
      if (state.longEnd > 0) {
        const inside = { runs: runsWithout(around.runs, table), required, rejects };
        yield* joinLong(codes, state.next, state.longEnd, wanted, inside, take);
        state.next = state.longEnd;
      }
      yield [t * count + state.next, total];
    }
  }
}

/** Comparisons between two steps: fewer of wide codes, and in plain loops. */
function comparisonsOfStep({ words }: JoinMemory, { kernel }: Pick<JoinWanted, 'kernel'>): number {
  const slowness = joinKernel(kernel).name === 'scalar' ? 16 : 1;
  return Math.max(1024, Math.floor((2 * STEP_COMPARISONS) / words / slowness));
}

/** Sorts the memory's entries by the bucket of a key, those of a bucket by distinct code. */
function* sorted({ memory, count }: JoinCodes, key: JoinKey, kernel: JoinKernel): Steps<void> {
  const { entries, sorted: other, counts } = memory;
  counts.fill(0);
  for (let first = 0; first < count; first += STEP_ROWS) {
    kernel.keysInto(memory, first, Math.min(count, first + STEP_ROWS), key);
    yield undefined;
  }
  const { lowBits, highBits } = key;
  const low = { shift: 0, mask: 2 ** lowBits - 1 };
  const high = { shift: lowBits, mask: 2 ** highBits - 1 };
  const lows = counts.subarray(0, 2 ** lowBits);
  const highs = counts.subarray(2 ** lowBits, 2 ** lowBits + 2 ** highBits);
  for (const [from, to, digit, offsets] of [
    [entries, other, low, lows],
    [other, entries, high, highs],
  ] as const) {
    toStarts(offsets);
    for (let first = 0; first < count; first += STEP_ROWS) {
      kernel.scatter(from, first, Math.min(count, first + STEP_ROWS), to, digit, offsets);
      yield undefined;
    }
  }
}

/** A run of entries that is too long to be compared in pairs: a join over the bits left. */
function* joinLong(
  { memory, bits }: JoinCodes,
  first: number,
  end: number,
  wanted: JoinWanted,
  around: Around,
  take: TakeHits,
): Steps<void> {
  const distincts = new Uint32Array(end - first);
  const { words } = memory;
  const masks = around.rejects.length + 1 + maxTables(wanted.maxDistance);
  const inner = new JoinMemory(distincts.length, memory.bytesPerCode, masks);
  for (let i = 0; i < distincts.length; i++) {
    const distinct = memory.entries[ENTRY * (first + i)];
    distincts[i] = distinct;
    for (let w = 0; w < words; w++) inner.codes[i * words + w] = memory.codes[distinct * words + w];
    if (i % STEP_ROWS === STEP_ROWS - 1) yield undefined;
  }
  const codes = { memory: inner, count: distincts.length, bits };
  const method = chooseMethod(sampleOf(codes), codes.count, around.runs, wanted.maxDistance);
  const range = () => {
    const [from, to] = wanted.range();
    return [lowerBound(distincts, from), lowerBound(distincts, to)] as const;
  };
  const takeInner: TakeHits = (hits, count) => {
    for (let i = 0; i < HIT * count; i += HIT) {
      hits[i] = distincts[hits[i]];
      hits[i + 1] = distincts[hits[i + 1]];
    }
    take(hits, count);
  };
  const steps = joinAs(codes, method, { ...wanted, range }, around, takeInner);
  for (let step = steps.next(); !step.done; step = steps.next()) yield undefined;
}

/** Compares all codes with all, in blocks of queries. */
function* joinAll(
  { memory, count }: JoinCodes,
  { maxDistance, range, kernel }: JoinWanted,
  { required, rejects }: Around,
  take: TakeHits,
): Steps<void> {
  const { words, codes, hits } = memory;
  const bytesPerCode = 4 * words;
  const bytes = new Uint8Array(codes.buffer, codes.byteOffset, codes.byteLength);
  const scan = hammingKernel(kernel, bytesPerCode);
  const needed = maskOf(required, words);
  const masks = rejects.map((runs) => maskOf(runs, words));
  const isWanted = (a: number, b: number) =>
    differs(codes, a * words, b * words, needed) === false &&
    masks.every((mask) => differs(codes, a * words, b * words, mask));
  let found = 0;
  for (let query = range()[0]; query < Math.min(count, range()[1]); query += QUERIES) {
    const some = Math.min(QUERIES, Math.min(count, range()[1]) - query);
    const queries = bytes.slice(query * bytesPerCode, (query + some) * bytesPerCode);
    const limits = new Uint32Array(some).fill(maxDistance + 1);
    const step = Math.max(QUERIES, Math.floor(comparisonsOfStep(memory, { kernel }) / some));
    for (let first = query; first < count; first += step) {
      const rows = Math.min(step, count - first);
      scan.hitsOfMany(bytes, first, rows, queries, limits, (i, other, distance) => {
        const distinct = query + i;
        if (other <= distinct || !isWanted(distinct, other)) return;
        hits[HIT * found] = distinct;
        hits[HIT * found + 1] = other;
        hits[HIT * found + 2] = distance;
        if (HIT * ++found < hits.length) return;
        take(hits, found);
        found = 0;
      });
      if (found > 0) take(hits, found);
      found = 0;
      yield [query * count + first * some, count * count];
    }
  }
}

/** Whether two codes, whose first words are at `a` and `b`, differ in a bit of the mask. */
function differs(codes: Uint32Array, a: number, b: number, mask: Uint32Array): boolean {
  for (let w = 0; w < mask.length; w++) {
    if (((codes[a + w] ^ codes[b + w]) & mask[w]) !== 0) return true;
  }
  return false;
}

/** Codes at equal distances, by which the method is chosen. */
function sampleOf({ memory, count }: JoinCodes): JoinSample {
  const { words } = memory;
  const size = Math.min(count, SAMPLE);
  const codes = new Uint32Array(size * words);
  for (let i = 0; i < size; i++) {
    const from = Math.floor((i * count) / size) * words;
    codes.set(memory.codes.subarray(from, from + words), i * words);
  }
  return { codes, words, count: size, longestRun: memory.longestRun };
}
