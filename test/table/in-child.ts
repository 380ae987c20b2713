/**
 * Runs a file of this folder in a separate Node process, where a hang can be ended, memory is small
 * and nothing else is measured. The file and all that it imports become one bundle first.
 */

import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { bundleInto } from '../reference/bundle';

export interface ChildOptions {
  nodeOptions?: readonly string[];
  args?: readonly string[];
  /** After so long the process is killed. */
  timeoutMs: number;
}

export interface ChildEnd {
  /** All that it printed until its end. */
  stdout: string;
  /** How it died; null when it came to its end. */
  death: string | null;
  /** What it wrote last to the file that the environment calls NOTE: what it was at. */
  note: string;
}

/** Hands `use` a function that runs the bundle of the file called `name`, as often as it likes. */
export async function withChild<T>(
  name: string,
  use: (run: (options: ChildOptions) => Promise<ChildEnd>) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'halfspace-child-'));
  try {
    await bundleInto(folder, new URL(name, import.meta.url));
    return await use((options) => runBundle(folder, options));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function runBundle(folder: string, options: ChildOptions): Promise<ChildEnd> {
  const { nodeOptions = [], args = [], timeoutMs } = options;
  const notePath = join(folder, 'note');
  const words = [...nodeOptions, join(folder, 'child.mjs'), ...args];
  const settings = { timeout: timeoutMs, killSignal: 'SIGKILL', maxBuffer: 64 << 20 } as const;
  const env = { ...process.env, NOTE: notePath };
  let stdout = '';
  let death: string | null = null;
  try {
    ({ stdout } = await promisify(execFile)(process.execPath, words, { ...settings, env }));
  } catch (error) {
    const end = error as { killed?: boolean; code?: number; stdout: string; stderr: string };
    stdout = end.stdout;
    const message = end.stderr.split('\n').find((line) => /error/i.test(line)) ?? end.stderr;
    death = end.killed ? `was at work after ${timeoutMs} ms` : `died, ${end.code}: ${message}`;
  }
  const note = await readFile(notePath, 'utf8').catch(() => '');
  return { stdout, death, note: note.trim() };
}

/** The JSON that the child printed. A child that died is an error, with what it was at. */
export async function runInChild<T>(name: string, options: ChildOptions): Promise<T> {
  const { stdout, death, note } = await withChild(name, (run) => run(options));
  if (death !== null) throw new Error(`${name} ${death}; it was at: ${note}`);
  return JSON.parse(stdout);
}
