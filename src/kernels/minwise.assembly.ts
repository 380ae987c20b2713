// The one-bit minwise code of a set, from its members. sets.ts states the rules, which are exact
// integer arithmetic. Fast because nothing is allocated or looked up, and because repeated members
// need not be found: they do not change a least value. Addresses are multiples of 4; nothing is
// read behind the last member.

const GOLDEN: u32 = 0x9e37_79b9;

/** The finalizer of MurmurHash3. */
@inline
function mixed(x: u32): u32 {
  x = (x ^ (x >> 16)) * 0x85eb_ca6b;
  x = (x ^ (x >> 13)) * 0xc2b2_ae35;
  return x ^ (x >> 16);
}

/**
 * Writes the code of at least one member to `code`: ceil(bits / 8) bytes, rounded up to a multiple
 * of 4. Overwrites the members by their hashes. Writes to `draws` for each bit the round of its
 * min-hash, from 1, and its value, a u32 each.
 */
export function minwiseInto(
  members: usize,
  count: u32,
  bits: u32,
  seedLow: u32,
  seedHigh: u32,
  draws: usize,
  code: usize,
): void {
  const end = members + (<usize>count << 3);
  // Replaces each member by its two hashes, which all rounds use, the second before the first.
  for (let at = members; at < end; at += 8) {
    const low = mixed(load<u32>(at) ^ seedLow);
    const high = mixed((load<u32>(at, 4) ^ seedHigh) + low);
    store<u32>(at, high);
    store<u32>(at, mixed(low ^ high), 4);
  }
  memory.fill(draws, 0, <usize>bits << 3);
  let missing = bits;
  // From round `bits` on, all members draw bit `round - bits`, so that the loop ends.
  for (let round: u32 = 0; missing > 0; round++) {
    const step = round * GOLDEN;
    const now = round + 1;
    for (let at = members; at < end; at += 8) {
      const draw = mixed(load<u32>(at) + step);
      const bit = round < bits ? <u32>((<u64>draw * bits) >> 32) : round - bits;
      const place = draws + (<usize>bit << 3);
      const known = load<u32>(place);
      if (known != now && known != 0) continue;
      const value = mixed(load<u32>(at, 4) ^ draw);
      if (known == 0) {
        store<u32>(place, now);
        store<u32>(place, value, 4);
        missing--;
      } else if (value < load<u32>(place, 4)) store<u32>(place, value, 4);
    }
  }
  for (let bit: u32 = 0; bit < bits; bit += 32) {
    let word: u32 = 0;
    const rest = min<u32>(32, bits - bit);
    for (let i: u32 = 0; i < rest; i++) {
      word |= (load<u32>(draws + (<usize>(bit + i) << 3), 4) & 1) << i;
    }
    store<u32>(code + (bit >> 3), word);
  }
}
