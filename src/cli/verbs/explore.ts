/**
 * `halfspace explore`: a page to look at rows, search them and review duplicates. It is served on
 * this machine until Ctrl-C, or with -o written as one file, which needs no server. Also
 * `halfspace demo`, which ends with the page.
 */

import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { copyFile, mkdtemp, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { mapRows } from '../../explore/layout/map-rows';
import { openExplored } from '../../explore/server/explored';
import { atlasFile, heldMap } from '../../explore/server/map';
import { PlanFile } from '../../explore/server/review';
import { answersOf, servedPage, singlePage, startServer } from '../../explore/server/server';
import { isAddress, localName } from '../../formats/web-source';
import type { Call, RunVerb } from '../call';
import { sourceOf } from '../output/plan';
import { openBytes } from '../output/rows';

/** Writes the page, or serves it until a signal rejects the promise with its reason. */
export async function run(call: Call): Promise<0> {
  const path = call.onlyInput();
  if (path === '-') call.misuse('explore reads a file or an index folder, not stdin');
  if (!isAddress(path)) await stat(path); // throws the system's error if the path is missing
  const output = call.text('output');
  if (output === undefined) return serve(call, path);
  if (!/\.(html?|parquet)$/i.test(output))
    call.misuse(`-o expected a name that ends in .html or .parquet, got ${output}`);
  return write(call, path, output);
}

/** The plan's file: that of --plan, else `docs-plan.jsonl` for `docs.jsonl`. */
async function planFileOf(call: Call, path: string): Promise<PlanFile> {
  const usual = `${localName(path)
    .replace(/[/\\]+$/, '')
    .replace(/\.[^./\\]+$/, '')}-plan.jsonl`;
  const plan = call.text('plan') ?? usual;
  return new PlanFile(plan, path, await sourceOf(call, path));
}

async function write(call: Call, path: string, output: string): Promise<0> {
  // Opened first: a file that cannot be written is refused before the work.
  const save = await openBytes(call, output, [path]);
  const explored = await openExplored(call, path, true);
  const placed = await mapRows(await explored.mapPoints(), call.long);
  const bytes = /\.parquet$/i.test(output)
    ? await atlasFile(explored, placed)
    : new TextEncoder().encode(
        await singlePage({ about: explored.about(), map: heldMap(explored, placed) }),
      );
  await save(bytes);
  call.say(`wrote ${output}`);
  return 0;
}

/** Prints the address once the input has been opened and hashed, so that it fails before. */
async function serve(call: Call, path: string): Promise<0> {
  const planFile = await planFileOf(call, path);
  const explored = await openExplored(call, path, !(await planFile.isOfCosines()));
  const server = await startServer({
    port: call.number('port') ?? 0,
    files: await servedPage(basename(localName(path))),
    answer: answersOf(call, explored, planFile),
  });
  call.atEnd(() => server.close());
  await call.print(`${server.address}\n`);
  call.say('Open this address in a browser of this machine. Ctrl-C stops.');
  if (!call.signal.aborted) await once(call.signal, 'abort');
  throw call.signal.reason;
}

const SAMPLE = 'datasets/sample/docs.jsonl';
/** What the demo runs, before the page. */
const COMMANDS = [
  ['dedup', 'docs.jsonl', '--text', 'body', '-o', 'plan.jsonl'],
  ['dedup', 'docs.jsonl', '--apply', 'plan.jsonl', '-o', 'kept.jsonl'],
  ['index', 'kept.jsonl', '--text', 'body', '--tf-idf', '--vectors', 'sparse', '-o', 'docs.hs'],
  ['search', 'docs.hs', '--query', 'green tea', '-k', '3', '--columns', 'title'],
];
const EXPLORE = ['explore', 'docs.jsonl', '--text', 'body'];

/**
 * `halfspace demo`: the sample of the package in a new folder, its duplicates found and dropped,
 * one search, and the page. Each command is printed before it runs, so that it can be repeated. On
 * a terminal the page is served until Ctrl-C; else it is written as a file.
 */
export async function demo(call: Call, runVerb: RunVerb): Promise<0> {
  if (call.args.length > 0) call.misuse('demo takes no input');
  const folder = await mkdtemp(join(tmpdir(), 'halfspace-demo-'));
  await copyFile(sampleFile(call), join(folder, 'docs.jsonl'));
  process.chdir(folder);
  await call.print(`$ cd ${folder}\n`);
  const page = call.isTerminal ? ['--plan', 'plan.jsonl'] : ['-o', 'page.html'];
  for (const words of [...COMMANDS, [...EXPLORE, ...page]]) {
    const line = words.map((word) => (word.includes(' ') ? `'${word}'` : word)).join(' ');
    await call.print(`\n$ halfspace ${line}\n`);
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
