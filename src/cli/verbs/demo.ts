/**
 * `halfspace demo`: the sample of the package in a new folder, its duplicates found and dropped,
 * one search, and the page. Each command is printed before it runs, so that it can be repeated.
 */

import { existsSync } from 'node:fs';
import { copyFile, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Call, RunVerb } from '../call';
import { commandLine } from '../output/figures';

const SAMPLE = 'datasets/sample/docs.jsonl';
const COMMANDS = [
  ['dedup', 'docs.jsonl', '--text', 'body', '-o', 'plan.jsonl'],
  ['dedup', 'docs.jsonl', '--apply', 'plan.jsonl', '-o', 'kept.jsonl'],
  ['index', 'kept.jsonl', '--text', 'body', '--tf-idf', '--vectors', 'sparse', '-o', 'docs.hs'],
  ['search', 'docs.hs', '--query', 'green tea', '-k', '3', '--columns', 'title'],
];
const EXPLORE = ['explore', 'docs.jsonl', '--text', 'body'];

/** On a terminal the page is served until Ctrl-C; else it is written as a file. */
export async function run(call: Call, runVerb: RunVerb): Promise<0> {
  if (call.args.length > 0) call.misuse('demo takes no input');
  const folder = await mkdtemp(join(tmpdir(), 'halfspace-demo-'));
  await copyFile(sampleFile(call), join(folder, 'docs.jsonl'));
  process.chdir(folder);
  await call.print(`$ cd ${folder}\n`);
  const page = call.isTerminal ? ['--plan', 'plan.jsonl'] : ['-o', 'page.html'];
  for (const words of [...COMMANDS, [...EXPLORE, ...page]]) {
    await call.print(`\n$ ${commandLine(['halfspace', ...words])}\n`);
    await runVerb(words);
  }
  return 0;
}

/** The sample, in the folder of the package that holds this file. */
function sampleFile(call: Call): string {
  for (let folder = new URL('.', import.meta.url); ; folder = new URL('..', folder)) {
    const file = fileURLToPath(new URL(SAMPLE, folder));
    if (existsSync(file)) return file;
    if (folder.pathname === new URL('..', folder).pathname) call.fail('this package has no sample');
  }
}
