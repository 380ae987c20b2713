import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { Readable, Writable } from 'node:stream';
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
}

export interface ChildOptions extends RunOptions {
  /** Called with the running process, to send it signals or close its pipes. */
  readonly meanwhile?: (child: ChildProcess) => void;
  /** After which the process is killed. */
  readonly limitMilliseconds?: number;
}

const LIMIT_MILLISECONDS = 50_000;
/** Bytes that a pipe gives at once. */
const PIPE_BYTES = 2 ** 16;

type Built = typeof import('../../src/cli/command');

/** The last run; runs share the folder and the environment of this process, so each waits for it. */
let last: Promise<unknown> = Promise.resolve();

/** Runs the built command in this process, as with pipes. */
export function run(args: readonly string[], options: RunOptions = {}): Promise<Outcome> {
  const outcome = last.then(() => runHere(args, options));
  last = outcome.catch(() => undefined);
  return outcome;
}

async function runHere(
  args: readonly string[],
  { input = '', cwd = root, env = {} }: RunOptions,
): Promise<Outcome> {
  const { Command }: Built = await import(join(dirname(command), 'command.js'));
  const [stdout, stderr] = [new Collected(), new Collected()];
  const bytes = Buffer.from(input as string);
  const pieces = Array.from({ length: Math.ceil(bytes.length / PIPE_BYTES) }, (_, i) =>
    bytes.subarray(i * PIPE_BYTES, (i + 1) * PIPE_BYTES),
  );
  const stdin = Readable.from(pieces, { objectMode: false });
  const { signal } = new AbortController();
  const [folder, before] = [process.cwd(), { ...process.env }];
  try {
    process.chdir(cwd);
    Object.assign(process.env, env);
    const code = await new Command(args, { stdin, stdout, stderr, signal }).run();
    return { code, stdout: stdout.text, stderr: stderr.text };
  } finally {
    process.chdir(folder);
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
    Object.assign(process.env, before);
  }
}

/** Takes what is written; the memory of chunks may change afterwards, so they are copied. */
class Collected extends Writable {
  readonly #chunks: Buffer[] = [];

  override _write(chunk: Uint8Array, _: string, done: () => void): void {
    this.#chunks.push(Buffer.from(chunk));
    done();
  }

  get text(): string {
    return Buffer.concat(this.#chunks).toString('utf8');
  }
}

/** Runs the built command as a process of its own with pipes: for signals, pipes and its end. */
export function runChild(args: readonly string[], options: ChildOptions = {}): Promise<Outcome> {
  return outcomeOf(process.execPath, [command, ...args], options);
}

export interface TerminalOptions extends ChildOptions {
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
  { input, cwd = root, env = {}, meanwhile, limitMilliseconds = LIMIT_MILLISECONDS }: ChildOptions,
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
export async function runLines(
  lines: string,
  cwd: string,
  more: Record<string, string> = {},
): Promise<Outcome> {
  const bin = await ownFolder();
  const starter = `#!/bin/sh\nexec '${process.execPath}' '${command}' "$@"\n`;
  await writeFile(join(bin, 'halfspace'), starter, { mode: 0o755 });
  const env = { ...more, PATH: `${bin}${delimiter}${process.env.PATH}` };
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
