// Hamming distances of many queries (8 to 128) from the same 128 codes, a "tile", bit by bit.
//
// A slice is a register with one bit of each code of the tile: slice j holds bit j. Three slices
// make a group. For each of the 8 values of three bits, the number of bits in which the codes
// differ from it (0..3) is computed once for all queries, as two planes: registers with the low and
// the high bit of the number for each code. A query adds the planes of its values by carry-save
// adders, which gives all 128 distances in binary, a register a digit. All are compared with the
// query's limit at once, and a distance is counted only for hits. This takes about 11 operations a
// code of 256 bits, where counting words takes 20. All arithmetic is of integers, so the hits are
// those of the scalar kernel.

import { distance64 } from './hamming.assembly';

/** Codes of a tile: each is one bit of a v128. */
const TILE: usize = 128;

/**
 * One of four rounds that transpose 16 rows of 16 bytes: interleaves the bytes of rows i and i + 8.
 */
function interleave(from: usize, to: usize): void {
  for (const end = from + 128; from < end; from += 16, to += 32) {
    const a = v128.load(from);
    const b = v128.load(from, 128);
    const low = i8x16.shuffle(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const high = i8x16.shuffle(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    v128.store(to, low);
    v128.store(to, high, 16);
  }
}

/**
 * Writes slice j of a tile of codes to `slices` + 16 j, transposing 16 codes by 16 bytes at a time.
 * `room` has 512 bytes. Reads up to 15 bytes behind the last code.
 *
 * After four rounds of `interleave`, register c has byte c of 16 codes. `bitmask` takes the top bit
 * of each of these bytes, 16 bits of one slice; adding a register to itself brings up the next bit.
 */
export function slicesInto(codes: usize, bytes: usize, slices: usize, room: usize): void {
  for (let part: usize = 0; part < TILE / 8; part += 2, codes += bytes << 4) {
    for (let first: usize = 0; first < bytes; first += 16) {
      for (let row: usize = 0; row < 16; row++) {
        v128.store(room + (row << 4), v128.load(codes + row * bytes + first));
      }
      interleave(room, room + 256);
      interleave(room + 256, room);
      interleave(room, room + 256);
      interleave(room + 256, room);
      const end = min(bytes - first, 16) << 4;
      for (let column: usize = 0; column < end; column += 16) {
        let lanes = v128.load(room + column);
        const slice = slices + (first << 7) + (column << 3) + part;
        for (let bit: usize = 128; bit > 0; lanes = i8x16.add(lanes, lanes)) {
          bit -= 16;
          store<u16>(slice + bit, i8x16.bitmask(lanes));
        }
      }
    }
  }
}

/**
 * Stores the planes of a pattern, and of the opposite pattern, whose count is 3 less this count:
 * the same two digits with all bits inverted.
 */
@inline
function storePair(planes: usize, pattern: usize, low: v128, high: v128): void {
  v128.store(planes + (pattern << 5), low);
  v128.store(planes + (pattern << 5), high, 16);
  v128.store(planes + ((7 - pattern) << 5), v128.not(low));
  v128.store(planes + ((7 - pattern) << 5), v128.not(high), 16);
}

/**
 * Writes the planes of a tile: those of a group's value v at `planes` + 256 group + 32 v, the low
 * plane first. `slices` has space for 3 slices a group and 512 bytes more.
 */
export function planesInto(
  codes: usize, bytes: usize, groups: i32, slices: usize, planes: usize,
): void {
  const end = slices + <usize>groups * 48;
  memory.fill(slices + (bytes << 7), 0, end - slices - (bytes << 7));
  slicesInto(codes, bytes, slices, end);
  for (; slices < end; slices += 48, planes += 256) {
    const x = v128.load(slices);
    const y = v128.load(slices, 16);
    const z = v128.load(slices, 32);
    const xy = v128.xor(x, y);
    const low = v128.xor(xy, z);
    const notLow = v128.not(low);
    const both = v128.and(x, y);
    // The high plane is set where two of three bits differ from the query's.
    storePair(planes, 0, low, v128.or(both, v128.and(xy, z)));
    storePair(planes, 1, notLow, v128.or(v128.andnot(y, x), v128.andnot(z, xy)));
    storePair(planes, 2, notLow, v128.or(v128.andnot(x, y), v128.andnot(z, xy)));
    storePair(planes, 4, notLow, v128.or(both, v128.andnot(xy, z)));
  }
}

/** The carries of full adders: for each bit position, set where at least two of three bits are. */
@inline
export function carryOf(a: v128, b: v128, c: v128): v128 {
  return v128.or(v128.and(a, b), v128.and(v128.xor(a, b), c));
}

/** The sums of full adders without the carries: set where an odd number of three bits are. */
@inline
export function sumOf(a: v128, b: v128, c: v128): v128 {
  return v128.xor(v128.xor(a, b), c);
}

/** The address of a query's planes of a group, less 256 for each group: callers add this offset. */
@inline
function pairOf(planes: usize, choices: usize, group: usize): usize {
  return planes + <usize>load<u8>(choices + group);
}

/**
 * The codes of a tile that are nearer than `limit`, one bit each. Adds 8 groups (16 planes) at a
 * time, for which a tree of carry-save adders needs the fewest operations. The digits 1 to 16 of
 * the sums stay in registers, higher ones in memory from `rest` to `restEnd`.
 */
function below(
  planes: usize, choices: usize, groups: i32, limit: i32, rest: usize, restEnd: usize,
): v128 {
  let ones = i64x2.splat(0);
  let twos = ones;
  let fours = ones;
  let eights = ones;
  let sixteens = ones;
  for (let at = rest; at < restEnd; at += 16) v128.store(at, ones);
  // Each line is a full adder: its carries, which have twice the weight, then its sums.
  for (const end = choices + groups; choices < end; choices += 8, planes += 2048) {
    const p0 = pairOf(planes, choices, 0);
    const p1 = pairOf(planes, choices, 1);
    const p2 = pairOf(planes, choices, 2);
    const p3 = pairOf(planes, choices, 3);
    const p4 = pairOf(planes, choices, 4);
    const p5 = pairOf(planes, choices, 5);
    const p6 = pairOf(planes, choices, 6);
    const p7 = pairOf(planes, choices, 7);
    let a = v128.load(p0, 0), b = v128.load(p1, 256);
    const t0 = carryOf(ones, a, b); ones = sumOf(ones, a, b);
    a = v128.load(p2, 512); b = v128.load(p3, 768);
    const t1 = carryOf(ones, a, b); ones = sumOf(ones, a, b);
    let f0 = carryOf(twos, t0, t1); twos = sumOf(twos, t0, t1);
    a = v128.load(p0, 16); b = v128.load(p1, 272);
    let f1 = carryOf(twos, a, b); twos = sumOf(twos, a, b);
    const e0 = carryOf(fours, f0, f1); fours = sumOf(fours, f0, f1);
    a = v128.load(p2, 528); b = v128.load(p3, 784);
    f0 = carryOf(twos, a, b); twos = sumOf(twos, a, b);
    a = v128.load(p4, 1024); b = v128.load(p5, 1280);
    const t2 = carryOf(ones, a, b); ones = sumOf(ones, a, b);
    a = v128.load(p6, 1536); b = v128.load(p7, 1792);
    const t3 = carryOf(ones, a, b); ones = sumOf(ones, a, b);
    f1 = carryOf(twos, t2, t3); twos = sumOf(twos, t2, t3);
    const e1 = carryOf(fours, f0, f1); fours = sumOf(fours, f0, f1);
    a = v128.load(p4, 1040); b = v128.load(p5, 1296);
    f0 = carryOf(twos, a, b); twos = sumOf(twos, a, b);
    a = v128.load(p6, 1552); b = v128.load(p7, 1808);
    f1 = carryOf(twos, a, b); twos = sumOf(twos, a, b);
    const e2 = carryOf(fours, f0, f1); fours = sumOf(fours, f0, f1);
    const x0 = carryOf(eights, e0, e1); eights = sumOf(eights, e0, e1);
    const x1 = v128.and(eights, e2); eights = v128.xor(eights, e2);
    let carry = carryOf(sixteens, x0, x1); sixteens = sumOf(sixteens, x0, x1);
    for (let at = rest; at < restEnd; at += 16) {
      const plane = v128.load(at);
      v128.store(at, v128.xor(plane, carry));
      carry = v128.and(plane, carry);
    }
  }
  let less = lessBy(i64x2.splat(0), ones, limit);
  less = lessBy(less, twos, limit >> 1);
  less = lessBy(less, fours, limit >> 2);
  less = lessBy(less, eights, limit >> 3);
  less = lessBy(less, sixteens, limit >> 4);
  limit >>= 5;
  for (let at = rest; at < restEnd; at += 16, limit >>= 1) {
    less = lessBy(less, v128.load(at), limit);
  }
  return less;
}

/**
 * One step of the comparison "sum < limit"; callers go from the lowest digit up. Where the digit
 * differs from the limit's, it decides; elsewhere the lower digits do. Reads bit 0 of `limit`.
 */
@inline
export function lessBy(less: v128, plane: v128, limit: i32): v128 {
  const isSet = i32x4.splat(-(limit & 1));
  return v128.bitselect(isSet, less, v128.xor(plane, isSet));
}

/**
 * Writes the hits of `count` queries in one tile to `hits` as triples of u32 (query, row,
 * distance), rows of a query ascending, and returns their end; `row` is that of the tile's first
 * code. `choices` has `groups` bytes a query: 32 times its value in each group; `groups` is a
 * multiple of 8. `rest` to `restEnd` is scratch space for the digits from 32 on, at least 16 bytes.
 */
export function hitsOfTile(
  codes: usize, row: u32, bytes: usize, queries: usize, limits: usize, count: i32, choices: usize,
  groups: i32, planes: usize, rest: usize, restEnd: usize, hits: usize,
): usize {
  for (let query = 0; query < count; query++, limits += 4, choices += groups, queries += bytes) {
    const less = below(planes, choices, groups, load<i32>(limits), rest, restEnd);
    if (!v128.any_true(less)) continue;
    v128.store(rest, less);
    for (let i: usize = 0; i < TILE; i++) {
      if (((load<u8>(rest + (i >> 3)) >> <u8>(i & 7)) & 1) == 0) continue;
      store<u32>(hits, query);
      store<u32>(hits, row + <u32>i, 4);
      store<u32>(hits, distance64(codes + i * bytes, queries, bytes), 8);
      hits += 12;
    }
  }
  return hits;
}
