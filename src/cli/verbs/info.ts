/**
 * `halfspace info`: what an index folder or a file holds. Reads the manifest of a folder and the
 * header of a file, or its first rows where the format has no header; never all rows.
 */

import type { IndexFolder } from '../../node';
import type { Call } from '../call';
import { openInput } from '../input/open-input';
import { isIndexFolder, openFolder } from '../input/saved-index';
import { bytesText, counted, grouped, printable } from '../output/figures';
import { recallWords } from '../output/recall-words';
import { aligned, jsonOf } from '../output/table';

/** A line for people: what it is, and its value; without a value the line is left out. */
type Fact = readonly [name: string, value: unknown];

/** Prints lines of a name and a value, or JSON. */
export async function run(call: Call): Promise<0> {
  const path = call.onlyInput();
  const isIndex = path !== '-' && (await isIndexFolder(path));
  const { json, facts } = isIndex ? await indexFacts(call, path) : await fileFacts(call, path);
  await call.print(call.isJson ? `${JSON.stringify(json, jsonOf)}\n` : listed(facts));
  return 0;
}

/** What the manifest of an index folder says, as JSON and as facts for people. */
async function indexFacts(call: Call, path: string) {
  const folder = await openFolder(call, path);
  const { generation, rowCount, options, report, text, files, columnInfo } = folder;
  // The mean has a number for each dimension; JSON says only whether there is one.
  const { mean, ...plainOptions } = options;
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const json = {
    kind: 'index',
    path,
    generation,
    rows: rowCount,
    bytes,
    options: { ...plainOptions, isCentred: mean !== undefined },
    text,
    columns: columnInfo,
    files,
    report,
  };
  const texts = Object.entries(text ?? {}).map(([name, value]) => `${name} ${value}`);
  const facts: Fact[] = [
    ['index', path],
    ['rows', grouped(rowCount)],
    ['bits', options.bits],
    ['projection', options.projection],
    ['seed', options.seed ?? 0],
    ['dimensions', options.dimensions],
    ['vectors', options.vectors ?? 'none'],
    ['texts', text && texts.join(', ')],
    ['columns', columnInfo.map(({ name, type }) => `${name} (${type})`).join(', ') || 'none'],
    ['generation', generation],
    ['size', `${bytesText(bytes)} in ${counted(files.length, 'file')}`],
    ['recall', report === null ? 'not measured: --optimize does' : recallFact(report)],
    ...(report?.warnings.map((warning): Fact => ['warning', warning]) ?? []),
  ];
  return { json, facts };
}

/** What `optimize` measured, by which search, and how many rows came and went since then. */
function recallFact(report: NonNullable<IndexFolder['report']>): string {
  const { rank, method, copies, rowsAdded, rowsRemoved, stale } = report;
  return [
    recallWords(report),
    `rank ${rank}, method ${method}`,
    ...(copies ? ['each row in two of them'] : []),
    ...(rowsAdded > 0 ? [`${grouped(rowsAdded)} rows added since`] : []),
    ...(rowsRemoved > 0 ? [`${grouped(rowsRemoved)} removed since`] : []),
    ...(stale ? ['stale: --optimize measures again'] : []),
  ].join(', ');
}

/** What the header of a file says, or its first rows; `fits` is what a column can be read as. */
async function fileFacts(call: Call, path: string) {
  const { file, format, rowCount, byteCount, columns } = await openInput(call, path);
  const json = { kind: 'file', path: file, format, rows: rowCount, bytes: byteCount, columns };
  const facts: Fact[] = [
    ['file', file],
    ['format', format],
    ['rows', rowCount === null ? 'unknown before all are read' : grouped(rowCount)],
    ['size', byteCount === null ? null : bytesText(byteCount)],
    ...columns.map(({ name, type, fits }): Fact => {
      return ['column', `${name}: ${type}${fits.length > 0 ? `, fits ${fits.join(', ')}` : ''}`];
    }),
  ];
  return { json, facts };
}

/** A line for each fact: its name and its value, without characters that a terminal obeys. */
function listed(facts: readonly Fact[]): string {
  const there = facts.filter(([, value]) => value !== undefined && value !== null);
  const lines = there.map(([name, value]) => [name, String(value)]);
  return `${printable(aligned(lines, { isRight: () => false }))}\n`;
}
