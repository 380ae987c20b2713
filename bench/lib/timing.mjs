// Rivals take turns: a round runs each once, so that noise of the machine falls on all alike. The results
// are the median and the middle 80 % of the samples.

const WARM_UP_MS = 100;

/** Where results go, so that no engine can leave out the work that made them. */
export let sink;

/** A contestant's run: the milliseconds of one call of `work`, which gets the number of the call. */
export function timed(work) {
  return (call) => {
    const start = performance.now();
    sink = work(call);
    return performance.now() - start;
  };
}

/**
 * Runs contestants `{ name, run }` in turns and adds `ms`, `low` and `high` to each. `run` gives its
 * milliseconds or a promise of them. Each warms up until its engine has compiled it well; in a turn of
 * three calls, or of `calls`, the first, with cold caches, does not count. Those with `isSlow` have
 * five calls in all.
 */
export async function race(contestants, rounds = 12) {
  const samples = contestants.map(() => []);
  let call = 0;
  for (const { run, isSlow } of contestants) {
    const start = performance.now();
    while (!isSlow && performance.now() - start < WARM_UP_MS) await run(call++);
  }
  for (let round = 0; round < rounds; round++) {
    for (const [i, { run, isSlow, calls = 3 }] of contestants.entries()) {
      if (isSlow && round >= 5) continue;
      for (let j = 0; j < (isSlow ? 1 : calls); j++) {
        const ms = await run(call++);
        if (isSlow || j > 0) samples[i].push(ms);
      }
    }
  }
  return contestants.map((one, i) => ({ ...one, ...summary(samples[i]) }));
}

/** Median of three calls of `work` alone, after one that does not count. */
export function timeOf(work) {
  const run = timed(work);
  run(0);
  return summary([run(1), run(2), run(3)]).ms;
}

export function summary(samples) {
  const sorted = [...samples].sort((a, b) => a - b);
  const at = (share) => sorted[Math.round(share * (sorted.length - 1))];
  return { ms: at(0.5), low: at(0.1), high: at(0.9) };
}

/** How many items, an even number up to `most`, `work(count)` does in about 30 ms. */
export function pace(work, most) {
  const targetMs = 30;
  for (let count = 2; ; count *= 4) {
    work(Math.min(count, most));
    const start = performance.now();
    sink = work(Math.min(count, most));
    const ms = performance.now() - start;
    if (count >= most) return { count: most, isSlow: false };
    if (ms < targetMs / 8) continue;
    const paced = Math.max(2, 2 * Math.round((count * targetMs) / ms / 2));
    return { count: Math.min(most, paced), isSlow: ms > 5 * targetMs };
  }
}
