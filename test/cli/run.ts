import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inject, onTestFinished } from 'vitest';

/** The root of the repository, where the examples of the help work. */
export const root = fileURLToPath(new URL('../..', import.meta.url));
export const command = inject('command');

export interface Outcome {
  /** Null where a signal ended it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly input?: string | Uint8Array;
  readonly cwd?: string;
  readonly env?: Record<string, string>;
  /** Called with the running process, to send it signals or close its pipes. */
  readonly meanwhile?: (child: ChildProcess) => void;
  /** After which the process is killed. */
  readonly limitMilliseconds?: number;
}

const LIMIT_MILLISECONDS = 50_000;

/** Runs the built command with pipes. */
export function run(args: readonly string[], options: RunOptions = {}): Promise<Outcome> {
  return outcomeOf(process.execPath, [command, ...args], options);
}

export interface TerminalOptions extends RunOptions {
  readonly columns?: number;
  /** Text after whose appearance Ctrl-C is typed. */
  readonly interruptAfter?: RegExp;
}

/** Runs the built command in a pseudo-terminal; what it shows, stderr included, is `stdout`. */
export function runInTerminal(
  args: readonly string[],
  { columns = 100, interruptAfter, ...options }: TerminalOptions = {},
): Promise<Outcome> {
  const quoted = [process.execPath, command, ...args].map(
    (word) => `'${word.replaceAll("'", "'\\''")}'`,
  );
  const line = `stty cols ${columns} rows 40; exec ${quoted.join(' ')}`;
  return outcomeOf('script', ['-qefc', line, '/dev/null'], {
    ...options,
    env: { TERM: 'xterm-256color', NO_COLOR: '', ...options.env },
    meanwhile: (child) => {
      options.meanwhile?.(child);
      if (interruptAfter === undefined) return;
      let shown = '';
      let isTyped = false;
      child.stdout?.on('data', (chunk) => {
        shown += chunk;
        if (isTyped || !interruptAfter.test(shown)) return;
        isTyped = true;
        child.stdin?.write('\x03');
      });
    },
  });
}

function outcomeOf(
  program: string,
  args: readonly string[],
  { input, cwd = root, env = {}, meanwhile, limitMilliseconds = LIMIT_MILLISECONDS }: RunOptions,
): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, env: { ...process.env, ...env } });
    const timer = setTimeout(() => child.kill('SIGKILL'), limitMilliseconds);
    const chunks: Record<'stdout' | 'stderr', Buffer[]> = { stdout: [], stderr: [] };
    child.stdout.on('data', (chunk) => chunks.stdout.push(chunk));
    child.stderr.on('data', (chunk) => chunks.stderr.push(chunk));
    child.stdin.on('error', () => undefined);
    child.on('error', reject);
    child.on('close', (code) => {
      clearTimeout(timer);
      const [stdout, stderr] = [chunks.stdout, chunks.stderr].map((all) => {
        return Buffer.concat(all).toString('utf8');
      });
      resolve({ code, stdout, stderr });
    });
    meanwhile?.(child);
    if (input !== undefined || program !== 'script') child.stdin.end(input);
  });
}

/** Runs lines of a shell in which `halfspace` is the built command; stops at one that fails. */
export async function runLines(lines: string, cwd: string): Promise<Outcome> {
  const bin = await ownFolder();
  const starter = `#!/bin/sh\nexec '${process.execPath}' '${command}' "$@"\n`;
  await writeFile(join(bin, 'halfspace'), starter, { mode: 0o755 });
  const env = { PATH: `${bin}${delimiter}${process.env.PATH}` };
  return outcomeOf('bash', ['--norc', '-euc', lines], { cwd, env });
}

/** A folder of the test's own, gone when it has ended. */
export async function ownFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'halfspace-cli-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Rows of JSONL. */
export function rowsOf<T = Record<string, unknown>>(text: string): T[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}
