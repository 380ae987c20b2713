/**
 * `halfspace info` and `halfspace verify`: what an index folder or a file holds, and whether it is
 * sound. `info` reads the manifest of a folder and the header of a file, or its first rows where
 * the format has no header; never all rows. `verify` checks every checksum and invariant of an
 * index, or reads every row of a file; exit code 1 reports damage of an index, 3 that of a file.
 */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { RecallReport } from '../../index/index-options';
import { FolderFacts, readFolder } from '../../store/folder-facts';
import { COPY, isIndexFolder } from '../../store/generations';
import type { Call } from '../call';
import { aligned, counted, grouped, jsonOf, printable, recallWords } from '../output/figures';

/** A line for people: what it is, and its value; without a value the line is left out. */
type Fact = readonly [name: string, value: unknown];

export async function info(call: Call): Promise<0> {
  const path = call.onlyInput();
  const isIndex = path !== '-' && (await isIndexFolder(path));
  const { json, text } = isIndex ? await indexFacts(path) : await fileFacts(call, path);
  await call.print(`${call.has('json') ? JSON.stringify(json, jsonOf) : printable(text)}\n`);
  return 0;
}

/** What the manifest of an index folder says, as JSON and as lines for people. */
async function indexFacts(path: string) {
  const opened = await readFolder(path);
  const folder = new FolderFacts(opened.path, opened.manifest);
  const { generation, rowCount: rows, options, report, text, files, columnInfo: columns } = folder;
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const own = { options, text, columns, files, report };
  const texts = Object.entries(text ?? {}).map(([name, value]) => `${name} ${value}`);
  const facts: Fact[] = [
    ['index', path],
    ['rows', grouped(rows)],
    ...['bits', 'projection', 'seed', 'dimensions', 'vectors'].map((name): Fact => {
      return [name, options[name as keyof typeof options]];
    }),
    ['texts', text && texts.join(', ')],
    ['columns', columns.map(({ name, type }) => `${name} (${type})`).join(', ') || 'none'],
    ['generation', generation],
    ['size', `${counted(bytes, 'byte')} in ${counted(files.length, 'file')}`],
    ['recall', report === null ? 'not measured: --optimize does' : recallFact(report)],
    ...(report?.warnings.map((warning): Fact => ['warning', warning]) ?? []),
  ];
  const there = facts.filter(([, value]) => value !== undefined && value !== null);
  const lines = aligned(there.map(([name, value]) => [name, String(value)]));
  return { json: { kind: 'index', path, generation, rows, bytes, ...own }, text: lines };
}

/** What `optimize` measured, by which search, and how many rows came and went since then. */
function recallFact(report: RecallReport): string {
  const { method, rowsAdded, rowsRemoved, stale } = report;
  const since = `${grouped(rowsAdded)} rows added and ${grouped(rowsRemoved)} removed since`;
  const parts = [recallWords(report), `method ${method}`];
  if (rowsAdded + rowsRemoved > 0) parts.push(since);
  if (stale) parts.push('stale: --optimize measures again');
  return parts.join(', ');
}

/** What the header of a file says, or its first rows; `fits` is what a column can be read as. */
async function fileFacts(call: Call, path: string) {
  // Loaded only here: what reads rows takes several times as long to load as a manifest.
  const { openInput } = await import('../input/open-input');
  const { file, format, rowCount, byteCount, columns } = await openInput(call, path);
  const json = { kind: 'file', path: file, format, rows: rowCount, bytes: byteCount, columns };
  const rows = rowCount === null ? '' : `, ${counted(rowCount, 'row')}`;
  const names = columns.map(({ name, type }) => `${name} (${type})`).join(', ');
  return { json, text: `${file}: ${format}${rows}, columns ${names || 'none'}` };
}

/** Prints each problem, or that there is none; resolves to 1 if one is found. */
export async function verify(call: Call): Promise<0 | 1> {
  const path = call.onlyInput();
  const { IndexFolder } = await import('../../node');
  const isIndex = path !== '-' && (await isIndexFolder(path));
  const { rows, problems } = isIndex
    ? await call.long(`verifying ${path}`, (long) => IndexFolder.verify(path, long))
    : { rows: await rowsRead(call, path), problems: [] };
  const found = problems.map(({ file, message }) => `${printable(`${file}: ${message}`)}\n`);
  if (problems.length === 0) found.push(`${path}: sound, ${counted(rows, 'row')}\n`);
  await call.print(
    call.has('json') ? `${JSON.stringify({ path, rows, problems })}\n` : found.join(''),
  );
  if (isIndex && !existsSync(join(path, COPY))) {
    call.say(`${COPY} is missing: web hosts need it, and the next change of the index writes it`);
  }
  return problems.length === 0 ? 0 : 1;
}

/** Reads all rows and columns of a file, and counts them; an error ends the verb. */
async function rowsRead(call: Call, path: string): Promise<number> {
  const { batchesOf, openInput } = await import('../input/open-input');
  let rows = 0;
  for await (const batch of batchesOf(call, await openInput(call, path))) {
    for (const { name } of batch.columns) batch.values(name);
    rows += batch.count;
  }
  return rows;
}
