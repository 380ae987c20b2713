import { type ChildProcess, spawn } from 'node:child_process';
import { onTestFinished } from 'vitest';
import { command } from '../run';

/** A server of the built command. */
export interface Served {
  readonly address: string;
  readonly child: ChildProcess;
  readonly stopped: Promise<number | null>;
}

/** Starts `halfspace explore`; it ends with the test, unless it is ended before. */
export async function explore(
  words: readonly string[],
  cwd: string,
  more: Record<string, string> = {},
): Promise<Served> {
  const env = { ...process.env, ...more };
  const child = spawn(process.execPath, [command, 'explore', ...words], { cwd, env });
  const stopped = new Promise<number | null>((resolve) => child.on('close', resolve));
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await stopped;
  });
  let [out, errors] = ['', ''];
  child.stderr.on('data', (part) => {
    errors += part;
  });
  const address = await new Promise<string>((resolve, reject) => {
    child.stdout.on('data', (part) => {
      out += part;
      if (out.includes('\n')) resolve(out.trim());
    });
    child.on('close', () => reject(new Error(errors)));
  });
  return { address, child, stopped };
}

/** Asks a server as its page does. */
export async function ask<T>({ address }: Served, question: string, asked: unknown): Promise<T> {
  const { status, answer } = await post(address, question, asked);
  if (status === 200) return answer as T;
  throw new Error(`${status}: ${(answer as { error: string }).error}`);
}

/** One question, with the headers of a browser unless others are given. */
export async function post(
  address: string,
  question: string,
  asked: unknown,
  headers: Record<string, string> = {},
): Promise<{ status: number; answer: unknown }> {
  const { origin } = new URL(address);
  const response = await fetch(`${address}ask/${question}`, {
    method: 'POST',
    headers: { Origin: origin, 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(asked),
  });
  const text = await response.text();
  return { status: response.status, answer: text.startsWith('refused') ? text : JSON.parse(text) };
}
