// Reads texts as sets, in two passes over one memory: from letters or ASCII to the xxHash64 of each
// word, and from hashes to the number of each shingle. sets.ts states the rules, which are exact
// integer arithmetic. Nothing is allocated. Addresses are multiples of 4; nothing is read behind
// the last letter or hash.

import { hashBytes, spellPoint } from './xxhash.assembly';

/** Added to a letter of a script written without spaces. */
const DENSE: u32 = 0x1_0000;

/**
 * Writes the hash of each word of `count` letters to `hashes`, at most one a letter, and returns
 * their number. `bytes` has room for the UTF-8 of one word: 3 bytes a letter.
 */
export function wordHashesInto(letters: usize, count: u32, bytes: usize, hashes: usize): u32 {
  const end = letters + (<usize>count << 2);
  const first = hashes;
  while (letters < end) {
    let letter = load<u32>(letters);
    if (letter >= DENSE) {
      // A run of letters without spaces: each pair of neighbours is a word, or the only letter.
      let before = letter & 0xffff;
      const start = letters;
      for (letters += 4; letters < end; letters += 4) {
        letter = load<u32>(letters);
        if (letter < DENSE) break;
        const middle = spellPoint(before, bytes);
        before = letter & 0xffff;
        store<u64>(hashes, hashBytes(bytes, spellPoint(before, middle) - bytes, 0));
        hashes += 8;
      }
      if (letters == start + 4) {
        store<u64>(hashes, hashBytes(bytes, spellPoint(before, bytes) - bytes, 0));
        hashes += 8;
      }
      continue;
    }
    if (letter == 0) {
      letters += 4;
      continue;
    }
    let to = bytes;
    while (letter != 0 && letter < DENSE) {
      to = spellPoint(letter, to);
      letters += 4;
      if (letters == end) break;
      letter = load<u32>(letters);
    }
    store<u64>(hashes, hashBytes(bytes, to - bytes, 0));
    hashes += 8;
  }
  return <u32>(hashes - first) >> 3;
}

/**
 * The same for `count` bytes of ASCII, in which a word is a run of letters and digits, with capital
 * letters made small. Words are hashed where they lie; reads up to 15 bytes behind the last.
 */
export function asciiHashesInto(bytes: usize, count: u32, hashes: usize): u32 {
  const end = bytes + count;
  const first = hashes;
  const caseBit = i8x16.splat(0x20);
  let start: usize = 0; // of a word that goes on
  for (let at = bytes; at < end; at += 16) {
    const block = v128.load(at);
    const small = v128.or(block, caseBit);
    const isLetter = i8x16.lt_u(i8x16.sub(small, i8x16.splat(0x61)), i8x16.splat(26));
    const isDigit = i8x16.lt_u(i8x16.sub(block, i8x16.splat(0x30)), i8x16.splat(10));
    v128.store(at, v128.or(block, v128.and(isLetter, caseBit)));
    let isWord = <u32>i8x16.bitmask(v128.or(isLetter, isDigit));
    if (end - at < 16) isWord &= (1 << <u32>(end - at)) - 1;
    // A bit for each byte that is of a word where the byte before is not, or the other way.
    let edges = (isWord ^ ((isWord << 1) | u32(start != 0))) & 0xffff;
    for (; edges != 0; edges &= edges - 1) {
      const edge = at + ctz<u32>(edges);
      if (start == 0) start = edge;
      else {
        store<u64>(hashes, hashBytes(start, edge - start, 0));
        hashes += 8;
        start = 0;
      }
    }
  }
  if (start != 0) {
    store<u64>(hashes, hashBytes(start, end - start, 0));
    hashes += 8;
  }
  return <u32>(hashes - first) >> 3;
}

const LOW: u32 = 0x9e37_79b1;
const HIGH: u32 = 0x85eb_ca77;

/**
 * Writes the number of each run of `width` of the `count` hashes, which are `width` or more. Rolls
 * from one number to the next: adds the hash that enters, and subtracts the one that leaves times
 * the base to the power of `width`.
 */
export function shinglesInto(hashes: usize, count: u32, width: u32, members: usize): void {
  let low: u32 = 0;
  let high: u32 = 0;
  let lowOut: u32 = 1;
  let highOut: u32 = 1;
  for (let i: u32 = 0; i < width; i++) {
    low = low * LOW + load<u32>(hashes + (<usize>i << 3));
    high = high * HIGH + load<u32>(hashes + (<usize>i << 3), 4);
    lowOut *= LOW;
    highOut *= HIGH;
  }
  store<u32>(members, low);
  store<u32>(members, high, 4);
  const last = hashes + (<usize>(count - width) << 3);
  const ahead = <usize>width << 3;
  for (; hashes < last; hashes += 8) {
    members += 8;
    low = low * LOW + load<u32>(hashes + ahead) - lowOut * load<u32>(hashes);
    high = high * HIGH + load<u32>(hashes + ahead, 4) - highOut * load<u32>(hashes, 4);
    store<u32>(members, low);
    store<u32>(members, high, 4);
  }
}
