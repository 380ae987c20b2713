// A measurement in a fresh process, for memory that earlier work has not touched.

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

/** Runs `script` with a request and gives what it answers. */
export function inChild(script, request) {
  const words = ['--expose-gc', script, JSON.stringify(request)];
  const options = { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] };
  return JSON.parse(execFileSync(process.execPath, words, options));
}

/** In the child: the request. Undefined in a script that was started by hand. */
export function request() {
  return process.argv[2] === undefined ? undefined : JSON.parse(process.argv[2]);
}

export function answer(result) {
  process.stdout.write(JSON.stringify(result));
}

/** Bytes of this process that are in memory, after collecting garbage. */
export function resident() {
  for (let i = 0; i < 3; i++) globalThis.gc();
  return process.memoryUsage.rss();
}

/** Forgets the peak of this process up to now; only Linux can. */
export function resetPeak() {
  if (process.platform === 'linux') writeFileSync('/proc/self/clear_refs', '5');
}

/** Most bytes that were in memory since then; elsewhere since the start, an upper bound. */
export function peak() {
  if (process.platform !== 'linux') return process.resourceUsage().maxRSS * 1024;
  return 1024 * Number(/VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]);
}
