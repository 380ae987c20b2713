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

// The four lanes of 8 bytes by which the bytes of a call are hashed.
let lane0: u64 = 0;
let lane1: u64 = 0;
let lane2: u64 = 0;
let lane3: u64 = 0;

/** xxHash64 of `count` bytes. */
export function hashBytes(bytes: usize, count: usize, seed: u64): u64 {
  if (count < 32) return hashRest(seed + PRIME_5 + <u64>count, bytes, bytes + count);
  lane0 = seed + PRIME_1 + PRIME_2;
  lane1 = seed + PRIME_2;
  lane2 = seed;
  lane3 = seed - PRIME_1;
  return hashLanes(bytes, count, <u64>count);
}

/**
 * xxHash64 of `total` bytes, of which the last `count` are hashed now: those before, a multiple of
 * 32, are in the four lanes at `lanes`. These then have as many more as are a multiple of 32.
 */
export function hashPart(lanes: usize, bytes: usize, count: usize, total: u64): u64 {
  lane0 = load<u64>(lanes);
  lane1 = load<u64>(lanes, 8);
  lane2 = load<u64>(lanes, 16);
  lane3 = load<u64>(lanes, 24);
  const hash = hashLanes(bytes, count, total);
  store<u64>(lanes, lane0);
  store<u64>(lanes, lane1, 8);
  store<u64>(lanes, lane2, 16);
  store<u64>(lanes, lane3, 24);
  return hash;
}

function hashLanes(bytes: usize, count: usize, total: u64): u64 {
  const end = bytes + count;
  let a = lane0;
  let b = lane1;
  let c = lane2;
  let d = lane3;
  for (; bytes + 32 <= end; bytes += 32) {
    a = round(a, load<u64>(bytes));
    b = round(b, load<u64>(bytes, 8));
    c = round(c, load<u64>(bytes, 16));
    d = round(d, load<u64>(bytes, 24));
  }
  lane0 = a;
  lane1 = b;
  lane2 = c;
  lane3 = d;
  let hash = c + PRIME_5; // without a whole stripe, `c` is the seed
  if (total >= 32) {
    hash = rotl<u64>(a, 1) + rotl<u64>(b, 7) + rotl<u64>(c, 12) + rotl<u64>(d, 18);
    hash = merge(merge(merge(merge(hash, a), b), c), d);
  }
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
