// CPU time of the main thread alone, where Linux counts it: other programs do not lengthen it.

import { openSync, readSync } from 'node:fs';

let schedule = null;
try {
  schedule = openSync(`/proc/self/task/${process.pid}/schedstat`);
} catch {}

/** Milliseconds of CPU that this thread has had; NaN where the system does not say so. */
export function ownCpu() {
  if (schedule === null) return Number.NaN;
  const bytes = Buffer.alloc(80);
  readSync(schedule, bytes, 0, 80, 0);
  return Number.parseInt(bytes.toString('latin1'), 10) / 1e6;
}
