// The planner of an index at work: two times, that of the run in which it learns and builds its tables,
// and what comes after.

/** Searches by tables after which the planner has settled. */
const SERVED = 300;

/**
 * Asks until tables have served for a while, or `most` times, or for as long as `mostMs`. `ask`
 * gets the number of the call and gives an explained result, which reports the bands it has built.
 */
export function settle(index, ask, most, mostMs = Number.POSITIVE_INFINITY) {
  let served = 0;
  let calls = 0;
  let buildMs = 0;
  const start = performance.now();
  while (served < SERVED && calls < most && performance.now() - start < mostMs) {
    const { method, built } = ask(calls++).explain;
    if (method === 'bands') served++;
    buildMs += built?.milliseconds ?? 0;
  }
  const ms = performance.now() - start;
  const { bands } = index.bytes;
  return { calls, ms, buildMs, bands };
}
