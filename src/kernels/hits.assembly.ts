// The state of a search whose limit falls: all kernels that search for the `want` lightest codes
// read and update it, whatever a weight is. Hits are counted by weight; the limit is the smallest
// weight that at least `want` of the codes seen do not exceed. Hits that were appended while the
// limit was higher stay in memory, and the caller drops them.
//
// Layout, as u32 at these byte offsets: 0 the limit (inclusive), 4 `want`, 8 the number of hits
// within the limit, 12 the address of the next hit, 16 the end of the space for hits, from 64 on
// the number of hits of each weight. hits.ts writes it.

// Byte offsets of the state, see above.
const COUNTS: usize = 64;
export const NEXT: usize = 12;
export const END: usize = 16;
/** Bytes of a hit: code and weight, as u32. */
export const HIT: usize = 8;

/**
 * Appends a hit, whose weight must be within the limit, at `at`, and lowers the limit while at
 * least `want` hits remain within it. The caller advances the address of the next hit.
 */
export function take(state: usize, at: usize, code: u32, weight: u32): void {
  store<u32>(at, code);
  store<u32>(at, weight, 4);
  const want = load<u32>(state, 4);
  const counts = state + COUNTS;
  let limit = load<u32>(state);
  const place = counts + (weight << 2);
  store<u32>(place, load<u32>(place) + 1);
  let held = load<u32>(state, 8) + 1;
  while (limit > 0 && held - load<u32>(counts + (limit << 2)) >= want) {
    held -= load<u32>(counts + (limit << 2));
    limit--;
  }
  store<u32>(state, limit);
  store<u32>(state, held, 8);
}

/**
 * Sorts the hits within the limit, which begin at `hits`, by a counting sort: writes their codes to
 * `out`, by weight and then as they were seen, and their weights behind the codes. Returns their
 * number. Overwrites the counts of weights, so the search must have ended.
 */
export function sortHits(state: usize, hits: usize, out: usize): u32 {
  const counts = state + COUNTS;
  const limit = load<u32>(state);
  let before: u32 = 0;
  for (let weight: usize = 0; weight <= limit; weight++) {
    const here = load<u32>(counts + (weight << 2));
    store<u32>(counts + (weight << 2), before);
    before += here;
  }
  const weights = out + (<usize>before << 2);
  for (const end = <usize>load<u32>(state, NEXT); hits < end; hits += HIT) {
    const weight = load<u32>(hits, 4);
    if (weight > limit) continue;
    const count = counts + (<usize>weight << 2);
    const place = <usize>load<u32>(count);
    store<u32>(count, <u32>place + 1);
    store<u32>(out + (place << 2), load<u32>(hits));
    store<u32>(weights + (place << 2), weight);
  }
  return before;
}
