// The state of a search whose limit falls as better codes are seen: whatever is weighed, a hit is
// counted by its weight, and the limit is the least that as many as are wanted are within.

// As u32: the limit (inclusive), how many are wanted, how many hits are within the limit, where the
// next hit goes, where hits end; at ROOM two registers; from COUNTS on hits counted by weight.

/** Room for two registers, in the state. */
export const ROOM: usize = 32;
const COUNTS: usize = 64;
export const NEXT: usize = 12;
export const END: usize = 16;
/** Bytes of a hit: code and weight, as u32. */
export const HIT: usize = 8;

/** Appends a hit at `at` and counts it; lowers the limit while enough hits are below it. */
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
