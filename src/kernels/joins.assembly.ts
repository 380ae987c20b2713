// Pairs of near codes; joins.ts states the contract of each exported function. A code is
// `words` 64-bit words, padded by zeros; an entry is the number of a code and its bucket, a u32
// each; all arrays are aligned to 8 bytes.
//
// Fast because the codes of a bucket are copied next to each other before they are compared, and
// because the cache lines of 64 codes that are far apart are requested before the first of them is
// needed: memory then delivers them concurrently, where one read at a time would wait for each.

import { distance64 } from './hamming.assembly';

@inline
function isEqual(a: usize, b: usize, words: usize): bool {
  for (let at: usize = 0; at < words << 3; at += 8) {
    if (load<u64>(a + at) != load<u64>(b + at)) return false;
  }
  return true;
}

/** A hash under three secret words, so that an attacker cannot choose codes that collide. */
function hashOf(code: usize, words: usize, a: u64, b: u64, c: u64): u32 {
  const one = (b << 32) | a | 1;
  const other = (c << 32) | b | 1;
  let hash = (a << 32) | c;
  for (let at: usize = 0; at < words << 3; at += 8) {
    hash = (hash ^ load<u64>(code + at)) * one;
    hash = (hash ^ (hash >> 32)) * other;
  }
  return <u32>(hash ^ (hash >> 32));
}

/**
 * See `keysInto` of joins.ts. A part is three u32: the byte of its word, and the shifts left
 * and right.
 */
export function keysInto(
  codes: usize, words: usize, first: u32, end: u32, parts: usize, partCount: u32, hashShift: u32,
  lowBits: u32, entries: usize, counts: usize,
): void {
  const stride = words << 3;
  const partsEnd = parts + <usize>partCount * 12;
  for (let row = first; row < end; row++) {
    const code = codes + <usize>row * stride;
    let bucket: u32 = 0;
    for (let part = parts; part < partsEnd; part += 12) {
      const right = load<u32>(part, 8);
      const value = (load<u32>(code + load<u32>(part)) << load<u32>(part, 4)) >> right;
      bucket = rotl<u32>(bucket, 32 - right) ^ value;
    }
    if (hashShift > 0) bucket = ((bucket ^ (bucket >> 15)) * 0x9e37_79b1) >> hashShift;
    store<u64>(entries + (<usize>row << 3), <u64>row | (<u64>bucket << 32));
    const count = counts + (<usize>(bucket >> lowBits) << 2);
    store<u32>(count, load<u32>(count) + 1);
  }
}

/** See `scatter` of joins.ts. */
export function scatter(
  from: usize, first: u32, end: u32, to: usize, shift: u32, offsets: usize,
): void {
  const last = from + (<usize>end << 3);
  for (let at = from + (<usize>first << 3); at < last; at += 8) {
    const entry = load<u64>(at);
    const place = offsets + (<usize>(<u32>(entry >> 32) >> shift) << 2);
    const next = load<u32>(place);
    store<u32>(place, next + 1);
    store<u64>(to + (<usize>next << 3), entry);
  }
}

/** See `sortLow` of joins.ts; `counts` has room for all values of the lower digit. */
export function sortLow(
  from: usize, first: u32, end: u32, to: usize, bits: u32, counts: usize,
): void {
  const mask: u32 = (1 << bits) - 1;
  const stop = from + (<usize>end << 3);
  let start = from + (<usize>first << 3);
  // A counting sort of the entries of each value of the higher digit, `start` to `last`.
  while (start < stop) {
    const high = load<u32>(start, 4) >> bits;
    memory.fill(counts, 0, (<usize>mask + 1) << 2);
    let last = start;
    while (last < stop && load<u32>(last, 4) >> bits == high) {
      const count = counts + (<usize>(load<u32>(last, 4) & mask) << 2);
      store<u32>(count, load<u32>(count) + 1);
      last += 8;
    }
    let sum = <u32>((start - from) >> 3);
    for (let low: u32 = 0; low <= mask; low++) {
      const count = counts + (<usize>low << 2);
      const before = sum;
      sum += load<u32>(count);
      store<u32>(count, before);
    }
    for (let at = start; at < last; at += 8) {
      const entry = load<u64>(at);
      const place = counts + (<usize>(<u32>(entry >> 32) & mask) << 2);
      const next = load<u32>(place);
      store<u32>(place, next + 1);
      store<u64>(to + (<usize>next << 3), entry);
    }
    start = last;
  }
}

/** Codes, or cells of a table, whose cache lines are requested together. */
const AHEAD: u32 = 128;

/**
 * See `distinctInto` of joins.ts; `a`, `b` and `c` are the secret. A cell of the table has the
 * number of a distinct code plus 1, and the lowest bits of its hash above; 0 where it is free.
 */
export function distinctInto(
  codes: usize, words: usize, first: u32, end: u32, found: u32, a: u32, b: u32, c: u32,
  cells: usize, cellCount: u32, numbers: usize, sink: usize,
): u32 {
  const stride = words << 3;
  const cellsEnd = cells + (<usize>cellCount << 2);
  for (let row = first; row < end; row++) {
    if ((row - first) % AHEAD == 0) {
      // Hashes lie where the numbers will. Reading all cells at once starts to load them, in a loop
      // so short that many reads are on their way together.
      const hashes = numbers + (<usize>row << 2);
      const some = min(AHEAD, end - row);
      for (let i: u32 = 0; i < some; i++) {
        const hash = hashOf(codes + <usize>(row + i) * stride, words, a, b, c);
        store<u32>(hashes + (<usize>i << 2), hash);
      }
      let sum: u32 = 0;
      for (let i: u32 = 0; i < some; i++) {
        sum += load<u32>(cellOf(load<u32>(hashes + (<usize>i << 2)), cells, cellCount));
      }
      store<u32>(sink, sum);
    }
    const code = codes + <usize>row * stride;
    const hash = load<u32>(numbers + (<usize>row << 2));
    let number = found;
    let cell = cellOf(hash, cells, cellCount);
    for (let known = load<u32>(cell); known != 0; known = load<u32>(cell)) {
      number = (known & NUMBER) - 1;
      const isLike = known >> NUMBER_BITS == (hash & TAG);
      if (isLike && isEqual(codes + <usize>number * stride, code, words)) break;
      number = found;
      cell += 4;
      if (cell == cellsEnd) cell = cells;
    }
    store<u32>(numbers + (<usize>row << 2), number);
    if (number < found) continue;
    // `found` is never above `row`, so no code is overwritten before it is read.
    if (found != row) memory.copy(codes + <usize>found * stride, code, stride);
    found++;
    store<u32>(cell, (hash << NUMBER_BITS) | found);
  }
  return found;
}

/** Bits of a cell that are a number: more codes do not fit a memory. */
const NUMBER_BITS: u32 = 28;
const NUMBER: u32 = (1 << NUMBER_BITS) - 1;
const TAG: u32 = 15;

/** Where the search for a hash begins. */
@inline
function cellOf(hash: u32, cells: usize, cellCount: u32): usize {
  return cells + (<usize>((<u64>hash * cellCount) >> 32) << 2);
}

/** True where two codes agree in the first mask, and in none of the `rejects` that follow. */
function isFirst(a: usize, b: usize, words: usize, masks: usize, rejects: u32): bool {
  const stride = words << 3;
  for (let at: usize = 0; at < stride; at += 8) {
    if ((load<u64>(a + at) ^ load<u64>(b + at)) & load<u64>(masks + at)) return false;
  }
  for (let i: u32 = 0; i < rejects; i++) {
    masks += stride;
    let differing: u64 = 0;
    for (let at: usize = 0; at < stride; at += 8) {
      differing |= (load<u64>(a + at) ^ load<u64>(b + at)) & load<u64>(masks + at);
    }
    if (differing == 0) return false;
  }
  return true;
}

/** The first code from `b` on, of one word, within the distance `most` of `word`, or `last`. */
export function nearOf1(word: u64, b: usize, last: usize, most: u32): usize {
  for (; b < last; b += 8) if (<u32>popcnt<u64>(word ^ load<u64>(b)) <= most) break;
  return b;
}

/** The same for codes of several words, not inlined, so that the loop of `joinRuns` stays short. */
export function nearOf(a: usize, b: usize, last: usize, stride: usize, most: u32): usize {
  const word = load<u64>(a);
  for (; b < last; b += stride) {
    let sum = <u32>popcnt<u64>(word ^ load<u64>(b));
    for (let at: usize = 8; at < stride && sum <= most; at += 8) {
      sum += <u32>popcnt<u64>(load<u64>(a + at) ^ load<u64>(b + at));
    }
    if (sum <= most) break;
  }
  return b;
}

/** Reads a word of the code of each entry, which starts to load its cache line; returns the sum. */
export function touch(list: usize, count: u32, codes: usize, stride: usize): u64 {
  let sum: u64 = 0;
  for (const end = list + (<usize>count << 3); list < end; list += 8) {
    sum += load<u64>(codes + <usize>load<u32>(list) * stride);
  }
  return sum;
}

/** Copies the codes of entries `first` to `count - 1` of a run: that of entry i to position i. */
@inline
function copyCodes(
  list: usize, first: u32, count: u32, codes: usize, stride: usize, to: usize,
): void {
  for (let i: u32 = first; i < count; i++) {
    const code = codes + <usize>load<u32>(list + (<usize>i << 3)) * stride;
    const copy = to + <usize>i * stride;
    for (let at: usize = 0; at < stride; at += 8) store<u64>(copy + at, load<u64>(code + at));
  }
}

// Byte offsets in the state of `joinRuns`, a u32 each: the position in the run to continue from,
// the end of the hits, the end of a run that is too long, the comparisons left (i32), and a sum of
// `touch`, which is stored so that the compiler does not drop its reads.
const PLACE: usize = 0;
const HITS: usize = 4;
const LONG: usize = 8;
const LEFT: usize = 12;
const SINK: usize = 16;

/**
 * See `runs` of joins.ts: `first` to `end` is what is left of the entries. Returns the entry
 * to continue from; `state` has the rest.
 */
export function joinRuns(
  entries: usize, first: u32, end: u32, codes: usize, words: usize, most: u32, masks: usize,
  rejects: u32, fromCode: u32, toCode: u32, longest: u32, gather: usize, hits: usize,
  hitsEnd: usize, state: usize,
): u32 {
  const stride = words << 3;
  let left = load<i32>(state, LEFT);
  let place = load<u32>(state, PLACE);
  let touched = first;
  store<u32>(state, 0, LONG);
  while (first < end && left > 0) {
    const list = entries + (<usize>first << 3);
    if (first >= touched) {
      touched = min(first + AHEAD, end);
      store<u64>(state, touch(list, touched - first, codes, stride), SINK);
    }
    const bucket = load<u32>(list, 4);
    let count: u32 = 1;
    while (first + count < end && load<u32>(list + (<usize>count << 3), 4) == bucket) count++;
    if (count > longest) {
      store<u32>(state, first + count, LONG);
      break;
    }
    if (count > 1) {
      copyCodes(list, place, count, codes, stride, gather);
      const last = gather + <usize>count * stride;
      for (; place + 1 < count; place++) {
        const number = load<u32>(list + (<usize>place << 3));
        if (number < fromCode) continue;
        if (number >= toCode) break;
        if (hits + <usize>(count - place) * 12 > hitsEnd) {
          store<u32>(state, place, PLACE);
          store<u32>(state, <u32>hits, HITS);
          return first;
        }
        const a = gather + <usize>place * stride;
        let b = a + stride;
        while (true) {
          b = words == 1 ? nearOf1(load<u64>(a), b, last, most) : nearOf(a, b, last, stride, most);
          if (b == last) break;
          if (isFirst(a, b, words, masks, rejects)) {
            store<u32>(hits, number);
            store<u32>(hits, load<u32>(list + ((b - gather) / stride << 3)), 4);
            store<u32>(hits, distance64(a, b, stride), 8);
            hits += 12;
          }
          b += stride;
        }
      }
      left -= (count * (count - 1)) >> 1;
    }
    left--;
    place = 0;
    first += count;
  }
  store<u32>(state, 0, PLACE);
  store<u32>(state, <u32>hits, HITS);
  store<i32>(state, left, LEFT);
  return first;
}
