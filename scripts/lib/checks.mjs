// Checks that run one after the other: each prints a line, the first that fails ends the run, and the
// last line of a script counts them.

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export const root = fileURLToPath(new URL('../..', import.meta.url));
const LIMIT_MS = 30 * 60_000; // on a machine with much other work too

let passed = 0;

/** Runs one check; what it returns is printed next to its name, and the seconds of a long one. */
export async function check(name, work) {
  const start = performance.now();
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no end after ${LIMIT_MS / 1000} s`)), LIMIT_MS);
  });
  try {
    const note = await Promise.race([work(), late]);
    const seconds = Math.round((performance.now() - start) / 1000);
    console.log(`✓ ${name}${note ? `: ${note}` : ''}${seconds > 1 ? ` (${seconds} s)` : ''}`);
    passed++;
  } catch (error) {
    console.log(`✗ ${name}\n${error.message}`);
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** Runs a program and returns its output; its whole output is the error when it fails. */
export async function run(program, parameters, { cwd = root, env = {} } = {}) {
  const options = { cwd, env: { ...process.env, ...env }, maxBuffer: 1 << 26, timeout: LIMIT_MS };
  try {
    return (await promisify(execFile)(program, parameters, options)).stdout;
  } catch (error) {
    const { stdout = '', stderr = '', message } = error;
    throw new Error(`${program} ${parameters.join(' ')}: ${stdout}${stderr || message}`);
  }
}

/** Runs all checks, tidies up and counts. */
export async function runChecks(main, tidy) {
  let failed = 0;
  try {
    await main();
  } catch (error) {
    failed = 1;
    process.exitCode = 1;
    if (process.env.DEBUG) console.error(error);
  } finally {
    await tidy();
  }
  console.log(`${passed} passed, ${failed} failed`);
}
