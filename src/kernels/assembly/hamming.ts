// Distances in bits between one query and a run of codes, counted 64 bits or 16 bytes at a time.
// A hit is a row below `limit`: its number and distance are appended, in order of row. No branch
// depends on the data but the one taken for a hit. Codes may start at any byte; reads stay within.

/** The last `count` (1..7) bytes before `end`; one load where `whole` says that 8 bytes exist. */
@inline
function tail(end: usize, count: usize, whole: bool): u64 {
  if (whole) return load<u64>(end - 8) >> ((8 - count) << 3);
  let word: u64 = 0;
  for (let i = end - count; i < end; i++) word = (word << 8) | <u64>load<u8>(i);
  return word;
}

@inline
function tailDistance(code: usize, query: usize, at: usize, bytes: usize): i32 {
  if (at == bytes) return 0;
  const whole = bytes >= 8;
  const count = bytes - at;
  return <i32>popcnt<u64>(tail(code + bytes, count, whole) ^ tail(query + bytes, count, whole));
}

@inline
function words(code: usize, query: usize, offset: usize): i32 {
  return <i32>popcnt<u64>(load<u64>(code + offset) ^ load<u64>(query + offset));
}

/** Distance by 64-bit population counts, any width. */
@inline
function distance64(code: usize, query: usize, bytes: usize): i32 {
  let distance = 0;
  let at: usize = 0;
  for (; at + 32 <= bytes; at += 32) {
    distance +=
      words(code, query, at) +
      words(code, query, at + 8) +
      (words(code, query, at + 16) + words(code, query, at + 24));
  }
  for (; at + 8 <= bytes; at += 8) distance += words(code, query, at);
  return distance + tailDistance(code, query, at, bytes);
}

@inline
function lanes(code: usize, query: usize, at: usize): v128 {
  return i8x16.popcnt(v128.xor(v128.load(code + at), v128.load(query + at)));
}

@inline
function addLanes(sum: v128): i32 {
  const pairs = i32x4.extadd_pairwise_i16x8_u(sum);
  const halves = i32x4.add(pairs, i8x16.shuffle(pairs, pairs, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
  return i32x4.extract_lane(halves, 0) + i32x4.extract_lane(halves, 1);
}

/** Distance by byte-wise population counts, any width. */
@inline
function distance8(code: usize, query: usize, bytes: usize): i32 {
  let sum = i16x8.splat(0); // a lane gains at most 16 a step: 512 steps stay below 2^16
  let at: usize = 0;
  for (; at + 32 <= bytes; at += 32) {
    sum = i16x8.add(
      sum,
      i16x8.extadd_pairwise_i8x16_u(i8x16.add(lanes(code, query, at), lanes(code, query, at + 16))),
    );
  }
  if (at + 16 <= bytes) {
    sum = i16x8.add(sum, i16x8.extadd_pairwise_i8x16_u(lanes(code, query, at)));
    at += 16;
  }
  let distance = addLanes(sum);
  if (at + 8 <= bytes) {
    distance += words(code, query, at);
    at += 8;
  }
  return distance + tailDistance(code, query, at, bytes);
}

/** Distances of `count` codes as u16, by 64-bit counts. */
export function distances64(codes: usize, count: i32, bytes: usize, query: usize, out: usize): void {
  const end = out + (<usize>count << 1);
  for (; out < end; out += 2, codes += bytes) store<u16>(out, distance64(codes, query, bytes));
}

/** Distances of `count` codes as u16, by byte counts. */
export function distances8(codes: usize, count: i32, bytes: usize, query: usize, out: usize): void {
  const end = out + (<usize>count << 1);
  for (; out < end; out += 2, codes += bytes) store<u16>(out, distance8(codes, query, bytes));
}

/** Hits as pairs of u32 (row, distance). Returns where the next one would go. */
@inline
function hit(hits: usize, row: i32, distance: i32): usize {
  store<u32>(hits, row);
  store<u32>(hits, distance, 4);
  return hits + 8;
}

/** Hits among `count` codes by 64-bit counts; the usual widths have a loop with the query held. */
export function hits64(codes: usize, row: i32, count: i32, bytes: usize, query: usize, limit: i32, hits: usize): usize {
  const end = row + count;
  if (bytes == 8) {
    const q0 = load<u64>(query);
    for (; row < end; row++, codes += 8) {
      const distance = <i32>popcnt<u64>(load<u64>(codes) ^ q0);
      if (distance < limit) hits = hit(hits, row, distance);
    }
  } else if (bytes == 16) {
    const q0 = load<u64>(query);
    const q1 = load<u64>(query, 8);
    for (; row < end; row++, codes += 16) {
      const distance = <i32>(popcnt<u64>(load<u64>(codes) ^ q0) + popcnt<u64>(load<u64>(codes, 8) ^ q1));
      if (distance < limit) hits = hit(hits, row, distance);
    }
  } else if (bytes == 32) {
    const q0 = load<u64>(query);
    const q1 = load<u64>(query, 8);
    const q2 = load<u64>(query, 16);
    const q3 = load<u64>(query, 24);
    for (; row < end; row++, codes += 32) {
      const distance = <i32>(
        (popcnt<u64>(load<u64>(codes) ^ q0) +
          popcnt<u64>(load<u64>(codes, 8) ^ q1) +
          (popcnt<u64>(load<u64>(codes, 16) ^ q2) + popcnt<u64>(load<u64>(codes, 24) ^ q3)))
      );
      if (distance < limit) hits = hit(hits, row, distance);
    }
  } else {
    for (; row < end; row++, codes += bytes) {
      const distance = distance64(codes, query, bytes);
      if (distance < limit) hits = hit(hits, row, distance);
    }
  }
  return hits;
}

/** Hits among `count` codes by byte counts. */
export function hits8(codes: usize, row: i32, count: i32, bytes: usize, query: usize, limit: i32, hits: usize): usize {
  const end = row + count;
  if (bytes == 32) {
    const q0 = v128.load(query);
    const q1 = v128.load(query, 16);
    for (; row < end; row++, codes += 32) {
      const counts = i8x16.add(
        i8x16.popcnt(v128.xor(v128.load(codes), q0)),
        i8x16.popcnt(v128.xor(v128.load(codes, 16), q1)),
      );
      const distance = addLanes(i16x8.extadd_pairwise_i8x16_u(counts));
      if (distance < limit) hits = hit(hits, row, distance);
    }
  } else {
    for (; row < end; row++, codes += bytes) {
      const distance = distance8(codes, query, bytes);
      if (distance < limit) hits = hit(hits, row, distance);
    }
  }
  return hits;
}
