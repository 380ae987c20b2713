// Cores of a shared machine differ by their neighbours, by as much as 1.8 here: everything runs
// on the same one. Importing this pins the process, and so its children; BENCH_CORE says to which core.

import { execFileSync } from 'node:child_process';

const core = process.env.BENCH_CORE ?? '0';

/** What was done, for the line about the machine. */
export const pinned = pin() ? `pinned to core ${core}` : 'not pinned to a core';

function pin() {
  if (process.platform !== 'linux') return false;
  try {
    execFileSync('taskset', ['-a', '-c', '-p', core, String(process.pid)], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
