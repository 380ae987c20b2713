// Hamming distances between one query and a run of codes, `bytes` bytes each, one after another.
// Contract: codes may start at any address, and no byte behind the last code is read; distances
// are exact integers; hits come in order of row, the same whichever way bits are counted.
//
// Bits are counted by 64-bit population counts (fast on x86), or by byte-wise ones of 16 bytes at a
// time (fast on arm64); kernels.ts chooses. Widths of 8, 16 and 32 bytes have loops that
// keep the query in registers. The only branch that depends on the data is the one for a hit, which
// is rare.

/** Distance of the last 1..7 bytes: by one load if `whole`, that is if the code has 8 or more. */
@inline
function tailDistance(code: usize, query: usize, count: usize, whole: bool): u64 {
  if (whole) return popcnt<u64>(lastOfWord(code, count) ^ lastOfWord(query, count));
  let sum: u64 = 0;
  for (let i: usize = 0; i < count; i++) {
    sum += popcnt<u32>(load<u8>(code + i) ^ load<u8>(query + i));
  }
  return sum;
}

/** The `count` bytes from `at` on, by a load of the 8 bytes that end with them. */
@inline
function lastOfWord(at: usize, count: usize): u64 {
  return load<u64>(at + count - 8) >> ((8 - count) << 3);
}

/** Distance of the 8 bytes at `offset` of both codes. */
@inline
function words(code: usize, query: usize, offset: usize): u64 {
  return popcnt<u64>(load<u64>(code + offset) ^ load<u64>(query + offset));
}

/** Distance by 64-bit population counts, any width. */
@inline
function distanceInline(code: usize, query: usize, bytes: usize): i32 {
  const last = code + bytes;
  let sum: u64 = 0;
  for (; code + 32 <= last; code += 32, query += 32) {
    sum +=
      words(code, query, 0) +
      words(code, query, 8) +
      (words(code, query, 16) + words(code, query, 24));
  }
  for (; code + 8 <= last; code += 8, query += 8) sum += words(code, query, 0);
  if (code < last) sum += tailDistance(code, query, last - code, bytes >= 8);
  return <i32>sum;
}

/** `distanceInline` as a function, for use outside of hot loops. */
export function distance64(code: usize, query: usize, bytes: usize): i32 {
  return distanceInline(code, query, bytes);
}

/** The number of differing bits in each of 16 bytes, 0 to 8. */
@inline
function lanes(code: usize, query: usize, at: usize): v128 {
  return i8x16.popcnt(v128.xor(v128.load(code + at), v128.load(query + at)));
}

/** The sum of eight 16-bit lanes. */
@inline
function addLanes(sum: v128): i32 {
  const quads = i32x4.extadd_pairwise_i16x8_u(sum);
  const halves = i64x2.extract_lane(quads, 0) + i64x2.extract_lane(quads, 1);
  return <i32>halves + <i32>(halves >> 32);
}

/** Distance by byte-wise population counts, any width. */
@inline
function distance8(code: usize, query: usize, bytes: usize): i32 {
  const last = code + bytes;
  let sum = i16x8.splat(0); // a lane gains at most 32 a step: the widest code stays below 2^16
  for (; code + 32 <= last; code += 32, query += 32) {
    sum = i16x8.add(
      sum,
      i16x8.extadd_pairwise_i8x16_u(i8x16.add(lanes(code, query, 0), lanes(code, query, 16))),
    );
  }
  if (code + 16 <= last) {
    sum = i16x8.add(sum, i16x8.extadd_pairwise_i8x16_u(lanes(code, query, 0)));
    code += 16;
    query += 16;
  }
  let distance = addLanes(sum);
  if (code + 8 <= last) {
    distance += <i32>words(code, query, 0);
    code += 8;
    query += 8;
  }
  if (code < last) distance += <i32>tailDistance(code, query, last - code, bytes >= 8);
  return distance;
}

// For each width a function returns the address of the next code below the limit, or `end`. It uses
// so few variables that no register is spilled in its loop; its caller stores the hits, which are
// few. These functions are exported only because the compiler inlines others, and then spills
// registers, which costs a quarter of the speed.

@inline
function distance1(code: usize, q0: u64): i32 {
  return <i32>popcnt<u64>(load<u64>(code) ^ q0);
}

/** Codes of 8 bytes, four at a time; the up to three at the end one by one. */
export function next1(code: usize, end: usize, limit: i32, q0: u64): usize {
  for (; code + 24 < end; code += 32) {
    if (distance1(code, q0) < limit) return code;
    if (distance1(code + 8, q0) < limit) return code + 8;
    if (distance1(code + 16, q0) < limit) return code + 16;
    if (distance1(code + 24, q0) < limit) return code + 24;
  }
  while (code < end && distance1(code, q0) >= limit) code += 8;
  return code;
}

@inline
function distance2(code: usize, q0: u64, q1: u64): i32 {
  return <i32>(popcnt<u64>(load<u64>(code) ^ q0) + popcnt<u64>(load<u64>(code, 8) ^ q1));
}

/** Codes of 16 bytes, two at a time. */
export function next2(code: usize, end: usize, limit: i32, q0: u64, q1: u64): usize {
  for (; code + 16 < end; code += 32) {
    if (distance2(code, q0, q1) < limit) return code;
    if (distance2(code + 16, q0, q1) < limit) return code + 16;
  }
  return code < end && distance2(code, q0, q1) >= limit ? code + 16 : code;
}

@inline
function distance4(code: usize, q0: u64, q1: u64, q2: u64, q3: u64): i32 {
  return <i32>(
    (popcnt<u64>(load<u64>(code) ^ q0) +
      popcnt<u64>(load<u64>(code, 8) ^ q1) +
      (popcnt<u64>(load<u64>(code, 16) ^ q2) + popcnt<u64>(load<u64>(code, 24) ^ q3)))
  );
}

/** Codes of 32 bytes, two at a time. */
export function next4(
  code: usize, end: usize, limit: i32, q0: u64, q1: u64, q2: u64, q3: u64,
): usize {
  for (; code + 32 < end; code += 64) {
    if (distance4(code, q0, q1, q2, q3) < limit) return code;
    if (distance4(code + 32, q0, q1, q2, q3) < limit) return code + 32;
  }
  return code < end && distance4(code, q0, q1, q2, q3) >= limit ? code + 32 : code;
}

/** Codes of any width. */
export function nextAny(code: usize, end: usize, limit: i32, query: usize, bytes: usize): usize {
  while (code < end && distanceInline(code, query, bytes) >= limit) code += bytes;
  return code;
}

@inline
function distance32(code: usize, q0: v128, q1: v128): i32 {
  const low = i8x16.popcnt(v128.xor(v128.load(code), q0));
  const high = i8x16.popcnt(v128.xor(v128.load(code, 16), q1));
  return addLanes(i16x8.extadd_pairwise_i8x16_u(i8x16.add(low, high)));
}

/** Codes of 32 bytes by byte-wise counts: at most 16 a byte of both halves, so none overflows. */
function next32(code: usize, end: usize, limit: i32, query: usize): usize {
  const q0 = v128.load(query);
  const q1 = v128.load(query, 16);
  while (code < end && distance32(code, q0, q1) >= limit) code += 32;
  return code;
}

/** Codes of any width by byte-wise counts. */
function nextAny8(code: usize, end: usize, limit: i32, query: usize, bytes: usize): usize {
  while (code < end && distance8(code, query, bytes) >= limit) code += bytes;
  return code;
}

/** The first code from `code` on whose distance is below the limit, or `end`: by 64-bit counts. */
@inline
function next64(code: usize, end: usize, limit: i32, bytes: usize, query: usize): usize {
  if (bytes == 32) {
    const q0 = load<u64>(query);
    const q1 = load<u64>(query, 8);
    return next4(code, end, limit, q0, q1, load<u64>(query, 16), load<u64>(query, 24));
  }
  if (bytes == 16) return next2(code, end, limit, load<u64>(query), load<u64>(query, 8));
  if (bytes == 8) return next1(code, end, limit, load<u64>(query));
  return nextAny(code, end, limit, query, bytes);
}

/** The same by byte-wise counts. */
@inline
function next8(code: usize, end: usize, limit: i32, bytes: usize, query: usize): usize {
  if (bytes == 32) return next32(code, end, limit, query);
  return nextAny8(code, end, limit, query, bytes);
}

@inline
function next(is64: bool, code: usize, end: usize, limit: i32, bytes: usize, query: usize): usize {
  if (is64) return next64(code, end, limit, bytes, query);
  return next8(code, end, limit, bytes, query);
}

/**
 * Writes the hits among `count` codes, those with a distance below `limit`, to `hits` as pairs of
 * u32 (row, distance) in order of row; `row` is that of the first code. `is64` chooses how bits are
 * counted. Returns the end of the pairs; there must be room for `count` of them.
 */
export function hitsBelow(
  is64: bool, codes: usize, row: u32, count: i32, bytes: usize, query: usize, limit: i32,
  hits: usize,
): usize {
  const end = codes + <usize>count * bytes;
  for (let code = codes; code < end; code += bytes) {
    code = next(is64, code, end, limit, bytes, query);
    if (code >= end) break;
    store<u32>(hits, row + <u32>((code - codes) / bytes));
    store<u32>(hits, distance64(code, query, bytes), 4);
    hits += 8;
  }
  return hits;
}
