import { existsSync, readFileSync } from 'node:fs';

const STATUS = '/proc/self/status';

/**
 * Most bytes of memory that this process held. On Linux `maxRSS` also counts what the parent held
 * when it started the process: 400 MB of a test's worker are no memory of its child.
 */
export function peakMemory(): number {
  if (!existsSync(STATUS)) return 1024 * process.resourceUsage().maxRSS;
  return 1024 * Number(/VmHWM:\s*(\d+) kB/.exec(readFileSync(STATUS, 'utf8'))?.[1]);
}
