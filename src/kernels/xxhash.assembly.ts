// xxHash64 (Yann Collet, https://xxhash.com) in two forms: of one 8-byte dimension, split so that
// the part without the seed is computed once for all pattern words, and of any run of bytes, for
// checksums and words. Integer arithmetic, so every engine gives equal hashes. Bytes may start at
// any address, and none behind the last is read.

const PRIME_1: u64 = 0x9e3779b185ebca87;
const PRIME_2: u64 = 0xc2b2ae3d27d4eb4f;
const PRIME_3: u64 = 0x165667b19e3779f9;
const PRIME_4: u64 = 0x85ebca77c2b2ae63;
const PRIME_5: u64 = 0x27d4eb2f165667c5;

/** The part of a dimension's hash that does not depend on the seed. */
@inline
export function keyOf(dimension: u64): u64 {
  return rotl<u64>(dimension * PRIME_2, 31) * PRIME_1;
}

/** xxHash64 of the 8 little-endian bytes of the dimension that `key` was made of by `keyOf`. */
@inline
export function hashOfKey(key: u64, seed: u64): u64 {
  return avalanche(rotl<u64>((seed + PRIME_5 + 8) ^ key, 27) * PRIME_1 + PRIME_4);
}

/** The last step, after which every bit depends on all bits. */
@inline
function avalanche(hash: u64): u64 {
  hash = (hash ^ (hash >> 33)) * PRIME_2;
  hash = (hash ^ (hash >> 29)) * PRIME_3;
  return hash ^ (hash >> 32);
}

/** The step for 8 bytes of input. */
@inline
function round(lane: u64, input: u64): u64 {
  return rotl<u64>(lane + input * PRIME_2, 31) * PRIME_1;
}

/** Merges one of four lanes into the hash. */
@inline
function merge(hash: u64, lane: u64): u64 {
  return (hash ^ round(0, lane)) * PRIME_1 + PRIME_4;
}

/** xxHash64 of `count` bytes. */
export function hashBytes(bytes: usize, count: usize, seed: u64): u64 {
  if (count < 32) return hashRest(seed + PRIME_5 + <u64>count, bytes, bytes + count);
  const b = seed + PRIME_2;
  return hashLanes(bytes, count, count, 0, b + PRIME_1, b, seed, seed - PRIME_1);
}

/**
 * xxHash64 of `total` bytes, 32 or more, of which the last `count` are hashed now: those before, a
 * multiple of 32, are in the four lanes at `lanes`. These then have as many more as are a multiple
 * of 32.
 */
export function hashMore(lanes: usize, bytes: usize, count: usize, total: u64): u64 {
  const c = load<u64>(lanes, 16);
  const d = load<u64>(lanes, 24);
  return hashLanes(bytes, count, total, lanes, load<u64>(lanes), load<u64>(lanes, 8), c, d);
}

/** Four lanes of 8 bytes, which are stored at `lanes` unless that is 0; then what they leave. */
function hashLanes(
  bytes: usize, count: usize, total: u64, lanes: usize, a: u64, b: u64, c: u64, d: u64,
): u64 {
  const end = bytes + count;
  for (; bytes + 32 <= end; bytes += 32) {
    a = round(a, load<u64>(bytes));
    b = round(b, load<u64>(bytes, 8));
    c = round(c, load<u64>(bytes, 16));
    d = round(d, load<u64>(bytes, 24));
  }
  if (lanes != 0) {
    store<u64>(lanes, a);
    store<u64>(lanes, b, 8);
    store<u64>(lanes, c, 16);
    store<u64>(lanes, d, 24);
  }
  let hash = rotl<u64>(a, 1) + rotl<u64>(b, 7) + rotl<u64>(c, 12) + rotl<u64>(d, 18);
  hash = merge(merge(merge(merge(hash, a), b), c), d);
  return hashRest(hash + total, bytes, end);
}

/** Hashes the up to 31 bytes that the lanes did not take. */
function hashRest(hash: u64, bytes: usize, end: usize): u64 {
  for (; bytes + 8 <= end; bytes += 8) {
    hash = rotl<u64>(hash ^ round(0, load<u64>(bytes)), 27) * PRIME_1 + PRIME_4;
  }
  if (bytes + 4 <= end) {
    hash = rotl<u64>(hash ^ (<u64>load<u32>(bytes) * PRIME_1), 23) * PRIME_2 + PRIME_3;
    bytes += 4;
  }
  for (; bytes < end; bytes++) {
    hash = rotl<u64>(hash ^ (<u64>load<u8>(bytes) * PRIME_5), 11) * PRIME_1;
  }
  return avalanche(hash);
}

/** Appends a code point as UTF-8, 1 to 4 bytes; returns the next free address. */
@inline
export function spellPoint(point: u32, to: usize): usize {
  if (point < 0x80) {
    store<u8>(to, point);
    return to + 1;
  }
  if (point < 0x800) {
    store<u8>(to, 0xc0 | (point >> 6));
    store<u8>(to, 0x80 | (point & 0x3f), 1);
    return to + 2;
  }
  if (point >= 0x1_0000) {
    store<u8>(to++, 0xf0 | (point >> 18));
    store<u8>(to, 0x80 | ((point >> 12) & 0x3f));
  } else store<u8>(to, 0xe0 | (point >> 12));
  store<u8>(to, 0x80 | ((point >> 6) & 0x3f), 1);
  store<u8>(to, 0x80 | (point & 0x3f), 2);
  return to + 3;
}

/**
 * Writes xxHash64 of the UTF-8 of `count` words to `hashes`, 8 bytes each. Word i has the UTF-16
 * code units `starts[i]` to `starts[i + 1] - 1` (u32) at `units`; half a surrogate pair counts as
 * U+FFFD. `bytes` has room for 3 bytes for each unit of the longest word.
 */
export function hashWords(
  units: usize, starts: usize, count: u32, bytes: usize, hashes: usize,
): void {
  for (const last = hashes + (<usize>count << 3); hashes < last; hashes += 8, starts += 4) {
    const end = units + (<usize>load<u32>(starts, 4) << 1);
    let to = bytes;
    for (let at = units + (<usize>load<u32>(starts) << 1); at < end; at += 2) {
      let point = <u32>load<u16>(at);
      if ((point & 0xf800) == 0xd800) {
        const next: u32 = at + 2 < end ? <u32>load<u16>(at, 2) : 0;
        if (point < 0xdc00 && (next & 0xfc00) == 0xdc00) {
          point = 0x1_0000 + ((point & 0x3ff) << 10) + (next & 0x3ff);
          at += 2;
        } else point = 0xfffd;
      }
      to = spellPoint(point, to);
    }
    store<u64>(hashes, hashBytes(bytes, to - bytes, 0));
  }
}
