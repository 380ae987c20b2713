/** Processes of their own that run a file of this folder; it and its imports become one bundle. */

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { bundleInto } from '../reference/bundle';

export interface Child {
  readonly process: ChildProcess;
  /** All that it printed so far. */
  readonly output: { stdout: string; stderr: string };
  /** Exit code, or null when it was killed. */
  readonly end: Promise<number | null>;
  /** Waits until it has printed a text, or its end. */
  printed(text: string): Promise<void>;
}

export type Start = (args: readonly string[], nodeOptions?: readonly string[]) => Child;

/** A function that starts the bundle of the file called `name`. */
export async function bundled(name: string): Promise<Start> {
  const folder = await mkdtemp(join(tmpdir(), 'halfspace-child-'));
  afterAll(() => rm(folder, { recursive: true, force: true }));
  await bundleInto(folder, new URL(name, import.meta.url));
  return (args, nodeOptions = []) => start([...nodeOptions, join(folder, 'child.mjs'), ...args]);
}

function start(words: readonly string[]): Child {
  const process_ = spawn(process.execPath, words, { stdio: ['pipe', 'pipe', 'pipe'] });
  const output = { stdout: '', stderr: '' };
  const waiting: (() => void)[] = [];
  const wake = () => {
    for (const one of waiting.splice(0)) one();
  };
  process_.stdout.on('data', (chunk) => {
    output.stdout += chunk;
    wake();
  });
  process_.stderr.on('data', (chunk) => {
    output.stderr += chunk;
  });
  process_.stdin.on('error', () => undefined); // it may be gone
  let isOver = false;
  const end = new Promise<number | null>((resolve) => {
    process_.on('close', (code) => {
      isOver = true;
      wake();
      resolve(code);
    });
  });
  const printed = async (text: string) => {
    while (!isOver && !output.stdout.includes(text)) {
      await new Promise<void>((resolve) => waiting.push(resolve));
    }
  };
  return { process: process_, output, end, printed };
}
