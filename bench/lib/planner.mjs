// The planner of an index at work: told apart are the run in which it learns and builds its tables,
// and what comes after.

/** Searches by tables after which the planner has settled. */
const SERVED = 300;

/**
 * Asks until tables have served for a while, or `most` times, or for as long as `mostMs`. `ask`
 * gets the number of the call and gives an explained result. Tables are built within a search, by
 * far the longest.
 */
export function settle(index, ask, most, mostMs = Number.POSITIVE_INFINITY) {
  let served = 0;
  let calls = 0;
  let longest = 0;
  const start = performance.now();
  while (served < SERVED && calls < most && performance.now() - start < mostMs) {
    const before = performance.now();
    if (ask(calls++).explain.method === 'bands') served++;
    longest = Math.max(longest, performance.now() - before);
  }
  const ms = performance.now() - start;
  const { bands } = index.bytes;
  return { calls, ms, buildMs: bands > 0 ? longest : 0, bands };
}
