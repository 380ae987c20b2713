/**
 * `halfspace info`: what an index folder or a file holds, from what it says of itself; its rows are
 * not read.
 */

import type { Call } from '../call';
import {
  bytesOf,
  columnWords,
  isIndexFolder,
  openFolder,
  sizeWords,
  textWords,
} from '../input/index-folder';
import { openInput } from '../input/rows';
import { bytesText, grouped, printable } from '../output/figures';

/** What is told: a title, and lines of a name and a value. */
type Fact = readonly [name: string, value: string];

export async function run(call: Call): Promise<0 | 1> {
  const path = call.onlyInput();
  const isIndex = path !== '-' && (await isIndexFolder(path));
  const { json, facts } = isIndex ? await indexFacts(call, path) : await fileFacts(call, path);
  await call.print(call.isJson ? `${JSON.stringify(json, plain)}\n` : listed(facts));
  return 0;
}

async function indexFacts(call: Call, path: string) {
  const folder = await openFolder(call, path);
  const { generation, rowCount, options, report, text, files, columnInfo } = folder;
  const bytes = bytesOf(folder);
  const { bits, projection, seed, dimensions, vectors } = options;
  const { mean, ...told } = options;
  const json = {
    ...{ kind: 'index', path, generation, rows: rowCount, bytes },
    ...{ options: { ...told, isCentred: mean !== undefined }, text, columns: columnInfo, files },
    report,
  };
  const facts: Fact[] = [
    ['index', path],
    ['rows', grouped(rowCount)],
    ['bits', String(bits)],
    ...optional('projection', projection),
    ...optional('seed', seed),
    ...optional('dimensions', dimensions),
    ['vectors', vectors ?? 'none'],
    ...optional('texts', textWords(folder) ?? undefined),
    ['columns', columnWords(folder)],
    ['generation', String(generation)],
    ['size', sizeWords(folder)],
    ['recall', report === null ? 'not measured: --optimize does' : recallFact(report)],
  ];
  return { json, facts };
}

interface Measured {
  readonly k: number;
  readonly recall: number;
  readonly interval: readonly [number, number];
  readonly queries: number;
  readonly rank: string;
  readonly method: string;
  readonly rowsAdded: number;
  readonly rowsRemoved: number;
}

function recallFact(report: Measured): string {
  const [low, high] = report.interval.map((one) => one.toFixed(3));
  const since = [
    ...(report.rowsAdded > 0 ? [`${grouped(report.rowsAdded)} rows added since`] : []),
    ...(report.rowsRemoved > 0 ? [`${grouped(report.rowsRemoved)} removed since`] : []),
  ];
  const measured = `${report.recall.toFixed(3)} at ${report.k} (${low}–${high})`;
  const how = `on ${grouped(report.queries)} rows, rank ${report.rank}, method ${report.method}`;
  return [`${measured}, ${how}`, ...since].join(', ');
}

async function fileFacts(call: Call, path: string) {
  const { file, format, rowCount, byteCount, columns } = await openInput(call, path);
  const json = { kind: 'file', path: file, format, rows: rowCount, bytes: byteCount, columns };
  const facts: Fact[] = [
    ['file', file],
    ['format', format],
    ['rows', rowCount === null ? 'not told by the file' : grouped(rowCount)],
    ...(byteCount === null ? [] : [['size', bytesText(byteCount)] as const]),
    ...columns.map(({ name, type, fits }): Fact => {
      return ['column', `${name}: ${type}${fits.length > 0 ? `, fits ${fits.join(', ')}` : ''}`];
    }),
  ];
  return { json, facts };
}

function optional(name: string, value: unknown): Fact[] {
  return value === undefined ? [] : [[name, String(value)]];
}

function listed(facts: readonly Fact[]): string {
  const width = Math.max(...facts.map(([name]) => name.length));
  return facts.map(([name, value]) => `${name.padEnd(width)}  ${printable(value)}\n`).join('');
}

function plain(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}
