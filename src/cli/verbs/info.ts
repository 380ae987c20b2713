/**
 * `halfspace info`: what an index folder or a file holds. Reads the manifest of a folder and the
 * header of a file, or its first rows where the format has no header; never all rows.
 */

import type { IndexFolder } from '../../node';
import type { Call } from '../call';
import {
  bytesOf,
  type Fact,
  factsOf,
  folderFacts,
  isIndexFolder,
  openFolder,
} from '../input/index-folder';
import { openInput } from '../input/open-input';
import { bytesText, grouped, printable } from '../output/figures';
import { costWords, recallWords } from '../output/recall-words';
import { jsonOf, lineSetter } from '../output/table';

/** Prints lines of a name and a value, or JSON. */
export async function run(call: Call): Promise<0 | 1> {
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
  const json = {
    ...{ kind: 'index', path, generation, rows: rowCount, bytes: bytesOf(folder) },
    options: { ...plainOptions, isCentred: mean !== undefined },
    ...{ text, columns: columnInfo, files, report },
  };
  const recall = report === null ? 'not measured: --optimize does' : recallFact(report);
  const cost = report && costWords(report);
  return {
    json,
    facts: [
      ...factsOf({ index: path }),
      ...folderFacts(folder),
      ...factsOf({ recall, cost }),
      ...(report?.warnings.map((warning): Fact => ['warning', warning]) ?? []),
    ],
  };
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
  const rows = rowCount === null ? 'unknown before all are read' : grouped(rowCount);
  const size = byteCount === null ? null : bytesText(byteCount);
  const facts = [
    ...factsOf({ file, format, rows, size }),
    ...columns.map(({ name, type, fits }): Fact => {
      return ['column', `${name}: ${type}${fits.length > 0 ? `, fits ${fits.join(', ')}` : ''}`];
    }),
  ];
  return { json, facts };
}

/** A line for each fact: its name and its value, without characters that a terminal obeys. */
function listed(facts: readonly Fact[]): string {
  const line = lineSetter(facts, { isRight: () => false });
  return facts.map((fact) => `${printable(line(fact))}\n`).join('');
}
