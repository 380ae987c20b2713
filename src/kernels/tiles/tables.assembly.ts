// Hamming distances of thousands of queries from the same tile of 128 codes, for comparing all
// codes of one collection with each other. As in slices.assembly.ts, slice j holds bit j of each
// code; here seven slices make a group, and a table has for each of the 128 values of seven bits
// the number of bits in which the codes differ from it (0..7), as three planes. A query adds its
// entries by carry-save adders: about 7 operations a code of 256 bits. Where the tables of all
// groups would not fit the cache, they are made in parts, and the sums of the queries stay in
// memory between the parts.
//
// Codes are `stride` bytes, a multiple of 8, padded by zeros; tiles are read whole.

import { distance64 } from '../hamming/hamming.assembly';
import { carryOf, lessBy, sumOf } from '../hamming/slices.assembly';

/** Bytes of an entry: three planes, the lowest digit first. */
const ENTRY: usize = 48;
const TABLE: usize = 128 * ENTRY;
const GROUP_BITS: usize = 7;

/** Flags of a part of the tables: sums begin with the first, and are compared after the last. */
const FIRST: i32 = 1;
const LAST: i32 = 2;

/**
 * Writes an entry for each value of the `bits` slices, in order: the number of bits in which each
 * code differs from it. `bits` is at most 7, so that three digits suffice.
 */
export function countsInto(slices: usize, bits: usize, out: usize): void {
  for (let pattern: usize = 0; pattern < (<usize>1) << bits; pattern++, out += 48) {
    let ones = i64x2.splat(0);
    let twos = ones;
    let fours = ones;
    for (let bit: usize = 0; bit < bits; bit++) {
      const wanted = i64x2.splat(-(<i64>((pattern >> bit) & 1)));
      const slice = v128.xor(v128.load(slices + (bit << 4)), wanted);
      const carry = v128.and(ones, slice);
      ones = v128.xor(ones, slice);
      fours = v128.or(fours, v128.and(twos, carry));
      twos = v128.xor(twos, carry);
    }
    v128.store(out, ones);
    v128.store(out, twos, 16);
    v128.store(out, fours, 32);
  }
}

/** Writes 8 entries of seven bits: each of the 8 of three bits, plus one entry of four bits. */
export function entriesInto(three: usize, four: usize, out: usize): void {
  const a = v128.load(four);
  const b = v128.load(four, 16);
  const c = v128.load(four, 32);
  for (const end = three + 8 * 48; three < end; three += 48, out += ENTRY) {
    const x = v128.load(three);
    const y = v128.load(three, 16);
    const carry = v128.and(a, x);
    v128.store(out, v128.xor(a, x));
    v128.store(out, sumOf(b, y, carry), 16);
    v128.store(out, v128.or(c, carryOf(b, y, carry)), 32);
  }
}

/**
 * Writes the tables of `groups` groups of slices, one after another. Each is made of entries of its
 * lower three and upper four bits, for which `room` has 1,152 bytes.
 */
export function tablesInto(slices: usize, groups: i32, room: usize, tables: usize): void {
  const fours = room + 8 * 48;
  for (const end = tables + <usize>groups * TABLE; tables < end; slices += GROUP_BITS << 4) {
    countsInto(slices, 3, room);
    countsInto(slices + 48, 4, fours);
    for (let four = fours; four < fours + 16 * 48; four += 48, tables += 8 * ENTRY) {
      entriesInto(room, four, tables);
    }
  }
}

/**
 * Writes for each code the offset of its entry in each group's table, a u16 a group. Groups behind
 * `bits` have the value 0, as the padding of the codes has.
 */
export function choicesInto(
  codes: usize, stride: usize, count: i32, bits: usize, groups: i32, choices: usize,
): void {
  for (const end = codes + <usize>count * stride; codes < end; codes += stride) {
    const endChoice = choices + (<usize>groups << 1);
    for (let bit: usize = 0; choices < endChoice; bit += GROUP_BITS, choices += 2) {
      let pattern: u64 = 0;
      if (bit < bits) {
        const word = codes + ((bit >> 6) << 3);
        const shift = bit & 63;
        pattern = load<u64>(word) >> shift;
        if (shift > 57 && ((bit | 63) + 1) < bits) pattern |= load<u64>(word, 8) << (64 - shift);
      }
      store<u16>(choices, <u16>((pattern & 127) * ENTRY));
    }
  }
}

/** The address of a query's entry of a group, less TABLE a group: callers add this offset. */
@inline
function entryOf(tables: usize, choices: usize, group: usize): usize {
  return tables + <usize>load<u16>(choices + (group << 1));
}

/** Sets the sums of a query, digits from `sums` to `sumsEnd`, to its entry of one group. */
export function startSums(entry: usize, sums: usize, sumsEnd: usize): void {
  v128.store(sums, v128.load(entry));
  v128.store(sums, v128.load(entry, 16), 16);
  v128.store(sums, v128.load(entry, 32), 32);
  for (let at = sums + 48; at < sumsEnd; at += 16) v128.store(at, i64x2.splat(0));
}

/**
 * Adds a query's entries of the groups from `choices` to `end`, a multiple of four, to its sums of
 * at least six digits. The lowest six stay in registers. Each line is a full adder: its carries,
 * then its sums.
 */
export function addEntries(
  tables: usize, choices: usize, end: usize, sums: usize, sumsEnd: usize,
): void {
  let ones = v128.load(sums);
  let twos = v128.load(sums, 16);
  let fours = v128.load(sums, 32);
  let eights = v128.load(sums, 48);
  let sixteens = v128.load(sums, 64);
  let thirtyTwos = v128.load(sums, 80);
  for (; choices < end; choices += 8, tables += 4 * TABLE) {
    const p0 = entryOf(tables, choices, 0);
    const p1 = entryOf(tables, choices, 1);
    const p2 = entryOf(tables, choices, 2);
    const p3 = entryOf(tables, choices, 3);
    let a = v128.load(p0, 0), b = v128.load(p1, TABLE);
    const t0 = carryOf(ones, a, b); ones = sumOf(ones, a, b);
    a = v128.load(p2, 2 * TABLE); b = v128.load(p3, 3 * TABLE);
    const t1 = carryOf(ones, a, b); ones = sumOf(ones, a, b);
    const f0 = carryOf(twos, t0, t1); twos = sumOf(twos, t0, t1);
    a = v128.load(p0, 16); b = v128.load(p1, TABLE + 16);
    const f1 = carryOf(twos, a, b); twos = sumOf(twos, a, b);
    a = v128.load(p2, 2 * TABLE + 16); b = v128.load(p3, 3 * TABLE + 16);
    const f2 = carryOf(twos, a, b); twos = sumOf(twos, a, b);
    const e0 = carryOf(fours, f0, f1); fours = sumOf(fours, f0, f1);
    a = v128.load(p0, 32); b = v128.load(p1, TABLE + 32);
    const e1 = carryOf(fours, a, b); fours = sumOf(fours, a, b);
    a = v128.load(p2, 2 * TABLE + 32); b = v128.load(p3, 3 * TABLE + 32);
    const e2 = carryOf(fours, a, b); fours = sumOf(fours, a, b);
    const e3 = v128.and(fours, f2);
    fours = v128.xor(fours, f2);
    const x0 = carryOf(eights, e0, e1); eights = sumOf(eights, e0, e1);
    const x1 = carryOf(eights, e2, e3); eights = sumOf(eights, e2, e3);
    let carry = carryOf(sixteens, x0, x1); sixteens = sumOf(sixteens, x0, x1);
    const next = v128.and(thirtyTwos, carry);
    thirtyTwos = v128.xor(thirtyTwos, carry);
    carry = next;
    for (let at = sums + 96; at < sumsEnd; at += 16) {
      const plane = v128.load(at);
      v128.store(at, v128.xor(plane, carry));
      carry = v128.and(plane, carry);
    }
  }
  v128.store(sums, ones);
  v128.store(sums, twos, 16);
  v128.store(sums, fours, 32);
  v128.store(sums, eights, 48);
  v128.store(sums, sixteens, 64);
  v128.store(sums, thirtyTwos, 80);
}

/** The codes whose sums are below the limit, one bit each. */
export function below(sums: usize, sumsEnd: usize, limit: i32): v128 {
  let less = i64x2.splat(0);
  for (; sums < sumsEnd; sums += 16, limit >>= 1) {
    less = lessBy(less, v128.load(sums), limit);
  }
  return less;
}

/**
 * Appends the hits among 64 codes from `row` on, one bit each in `lanes`, with their distances from
 * code `query`, counted now; returns their end.
 */
export function storeHits(
  lanes: u64, codes: usize, stride: usize, row: u32, query: u32, hits: usize,
): usize {
  const code = codes + <usize>query * stride;
  for (; lanes != 0; lanes &= lanes - 1, hits += 12) {
    const other = row + <u32>ctz(lanes);
    store<u32>(hits, query);
    store<u32>(hits, other, 4);
    store<u32>(hits, distance64(codes + <usize>other * stride, code, stride), 8);
  }
  return hits;
}

/** A word whose lowest `count` bits are set: none for 0 or less, all for 64 or more. */
@inline
function lowest(count: i32): u64 {
  return count >= 64 ? ~(<u64>0) : count <= 0 ? 0 : ((<u64>1) << count) - 1;
}

/**
 * Adds the entries of one part of the tables to the sums of queries `firstQuery` to `endQuery - 1`,
 * which are `sumsStride` bytes apart. After the last part writes their hits, triples of u32 (query,
 * row, distance): rows `firstRow` to `endRow - 1` of the tile that are nearer than the larger of
 * the query's limit and `least`. `choices` points at the first query's choice of this part's first
 * group. Returns the end of the hits.
 */
export function hitsOfTables(
  codes: usize, stride: usize, firstRow: u32, endRow: u32, firstQuery: u32, endQuery: u32,
  choices: usize, choiceBytes: usize, tables: usize, groups: usize, sums: usize, sumsEnd: usize,
  sumsStride: usize, parts: i32, limits: usize, least: i32, hits: usize,
): usize {
  const first: usize = parts & FIRST ? 1 : 0;
  const rows = <i32>(endRow - firstRow);
  const lowLanes = lowest(rows);
  const highLanes = lowest(rows - 64);
  for (let query = firstQuery; query < endQuery; query++, choices += choiceBytes) {
    if (first) startSums(entryOf(tables, choices, 0), sums, sumsEnd);
    const from = choices + (first << 1);
    addEntries(tables + first * TABLE, from, choices + (groups << 1), sums, sumsEnd);
    if (parts & LAST) {
      const limit = max(least, load<i32>(limits + (<usize>query << 2)));
      const less = below(sums, sumsEnd, limit);
      if (v128.any_true(less)) {
        const low = <u64>i64x2.extract_lane(less, 0) & lowLanes;
        const high = <u64>i64x2.extract_lane(less, 1) & highLanes;
        hits = storeHits(low, codes, stride, firstRow, query, hits);
        hits = storeHits(high, codes, stride, firstRow + 64, query, hits);
      }
    }
    sums += sumsStride;
    sumsEnd += sumsStride;
  }
  return hits;
}
