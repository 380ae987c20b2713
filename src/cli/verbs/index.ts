/**
 * `halfspace index`: an index folder made of an input, appended to, rows removed, optimized,
 * compacted. Each of these is one generation of the folder: it is there whole, or the folder is as
 * it was. Also an index as one Arrow file, for stdout and for programs that move single files.
 */

import { readFile, stat } from 'node:fs/promises';
import { idsInFolder } from '../../folder/ids-in-folder';
import {
  type DenseMatrix,
  type Id,
  IndexFolder,
  indexToArrow,
  type LongCall,
  type OptimizeOptions,
  type RecallReport,
  type SimHasherOptions,
  SimHashIndex,
  saveIndex,
} from '../../node';
import type { Call } from '../call';
import {
  idNamed,
  idsNamed,
  isIndexFolder,
  openFolder,
  partsOf,
  wordParts,
} from '../input/index-folder';
import { type FileQueries, readQueries } from '../input/queries';
import {
  appendRows,
  type BuiltIndex,
  buildFolder,
  buildIndex,
  needDense,
  rowsLike,
} from '../input/rows-to-index';
import { counted, grouped, percent } from '../output/figures';
import { byRowsWords, recallWords } from '../output/recall-words';
import { openBytes } from '../output/rows';

/** What changes a folder that is there. */
const CHANGES = ['remove', 'optimize', 'compact'] as const;

/** Names of a new index that is one file; others are folders. */
const FILE = /^-$|\.(arrow|feather|ipc)$/i;

/** Makes or changes one folder; what contradicts itself is refused before rows are read. */
export async function run(call: Call): Promise<0 | 1> {
  const output = call.text('output');
  if (call.has('merge')) return mergeFolders(call, output);
  const input = call.onlyInput();
  if (call.has('replace') && !call.has('append')) call.misuse('--replace is for --append');
  if (call.has('memory') && !call.has('optimize') && (output === undefined || call.has('append'))) {
    call.misuse(
      '--memory is for a new index, halfspace index IN -o DIR --memory 2G, or --optimize',
    );
  }
  if (!call.has('memory') || output === undefined || call.has('append')) {
    call.refuse(['like', 'first-row'], (name) => `--${name} is for a new index with --memory`);
  }
  checkWanted(call);
  await checkQueries(call, input);
  if (output === undefined) {
    if (!CHANGES.some((name) => call.has(name)) || call.has('append')) {
      call.misuse('say where to with -o DIR, or what to do: --remove IDS, --optimize, --compact');
    }
    await changeFolder(call, input);
    return showIndex(call, input);
  }
  if (call.has('remove') || call.has('compact')) {
    call.misuse('--remove and --compact are for an index that is there: halfspace index DIR …');
  }
  if (call.has('append')) {
    await appendRows(call, input, output);
    if (call.has('optimize')) await optimizeFolder(call, output);
  } else if (FILE.test(output)) {
    return makeFile(call, input, output);
  } else {
    await makeFolder(call, input, output);
  }
  return showIndex(call, output);
}

function checkWanted(call: Call): void {
  if (call.has('optimize')) return;
  const names = ['recall', 'k', 'queries', 'partitions'];
  call.refuse(names, (name) => `--${name} is for --optimize`);
}

/** Refuses queries that cannot be read, or not be used, before the rows are read. */
async function checkQueries(call: Call, input: string): Promise<void> {
  const file = call.text('queries');
  if (file === undefined) return;
  if (call.has('memory')) {
    call.misuse(
      '--queries does not go with --memory, where rows are the queries: leave one of them out',
    );
  }
  if (file !== '-')
    await stat(file); // no such file: the system's own error
  else if (input === '-') call.misuse('stdin has the input or the queries, not both');
}

/** What does not go with a merge, whose rows and partitions are there. */
const NOT_MERGED = [...['append', 'remove', 'compact', 'queries', 'partitions', 'first-row']];

/** Folders that were built apart become one, and all rows are measured. */
async function mergeFolders(call: Call, output: string | undefined): Promise<0> {
  if (call.args.length === 0 || output === undefined) {
    call.misuse('say which folders to merge, and where to: halfspace index A B --merge -o DIR');
  }
  call.refuse(NOT_MERGED, (name) => `--${name} is not for --merge`);
  checkWanted(call);
  await refuseOther(call, output);
  const [like, memory] = [call.text('like'), call.number('memory')];
  const options = {
    ...{ replace: call.has('force'), manifestsOnly: call.has('manifests-only') },
    ...(call.has('optimize') && { optimize: wantedOf(call) }),
    ...(like !== undefined && { like }),
    ...(memory !== undefined && { memory }),
  };
  const { report } = await call.long(`merging ${output}`, (long) =>
    IndexFolder.merge(output, call.args, { ...options, ...long }),
  );
  if (report !== null && !report.stale) sayReport(call, report, null);
  return showIndex(call, output);
}

/** Fails where an index is there that no --force replaces. */
async function refuseOther(call: Call, folder: string): Promise<void> {
  if (call.has('force') || !(await isIndexFolder(folder))) return;
  call.fail(`${folder} holds an index: --append adds to it, --force replaces it`);
}

/** A new index; an old one is replaced with --force only, and when the new one is whole. */
async function makeFolder(call: Call, input: string, folder: string): Promise<void> {
  await refuseOther(call, folder);
  if (call.has('memory')) {
    const optimize = call.has('optimize') ? wantedOf(call) : null;
    await buildFolder(call, input, { folder, optimize });
    const report = (await IndexFolder.open(folder)).report;
    if (report !== null) sayReport(call, report, null);
    return;
  }
  const built = await buildIndex(call, input);
  const { source, index, columns } = built;
  if (call.has('optimize')) await optimize(call, built);
  const { settings: text, frequencies } = source.choice.text ?? {};
  const replace = call.has('force');
  await call.long(`writing ${folder}`, (long) =>
    saveIndex(index, folder, {
      ...{ columns, text, frequencies: frequencies ?? undefined, replace, ...long },
    }),
  );
}

/** A new index as one Arrow file, with carried columns and without the settings of texts. */
async function makeFile(call: Call, input: string, file: string): Promise<0> {
  if (call.has('memory')) call.misuse('--memory is for an index folder, not for one file');
  if (call.isJson && file === '-') call.misuse('--json and the index cannot both go to stdout');
  const output = await openBytes(call, file, [input]);
  const built = await buildIndex(call, input);
  const { index, columns } = built;
  if (call.has('optimize')) await optimize(call, built);
  await output.write([indexToArrow(index, { columns })]);
  await output.close();
  const { count: rows, report } = index;
  if (call.isJson) await call.print(`${JSON.stringify({ file, rows, report })}\n`);
  else call.say(`${file === '-' ? 'stdout' : file}: ${indexWords(rows, index.hasher)}`);
  return 0;
}

/** Each change is a generation; a later one that fails leaves the earlier ones. */
async function changeFolder(call: Call, folder: string): Promise<void> {
  await openFolder(call, folder);
  if (call.has('remove')) await removeRows(call, folder);
  if (call.has('optimize')) await optimizeFolder(call, folder);
  if (call.has('compact')) {
    const opened = await IndexFolder.open(folder);
    await call.long(`compacting ${folder}`, (long) => opened.compact(long));
  }
}

/** Removes all rows that --remove names, or none where one of them is not there. */
async function removeRows(call: Call, folder: string): Promise<void> {
  const words = call.list('remove');
  const isFile = (part: string) => part.startsWith('@');
  const files = new Map<string, string[]>();
  for (const part of words.flatMap(wordParts).filter(isFile)) {
    files.set(part, (await readFile(part.slice(1), 'utf8')).split(/\r?\n/));
  }
  const texts = [...words, ...words.flatMap(wordParts), ...[...files.values()].flat()];
  const opened = await IndexFolder.open(folder);
  const known = await idsInFolder(folder, [...new Set(texts)].flatMap(idsNamed));
  const ids = new Set<Id>();
  const missing: string[] = [];
  const take = (text: string, shown: string) => {
    const id = idNamed(known, text);
    if (id === undefined) missing.push(shown);
    else ids.add(id);
  };
  for (const part of words.flatMap((word) => partsOf(call, known, word))) {
    if (!isFile(part)) {
      take(part, part);
      continue;
    }
    files.get(part)?.forEach((line, i) => {
      // The line is not shown: the file may not be the one that was meant, and hold secrets.
      if (line !== '') take(line, `in line ${i + 1} of ${part.slice(1)}`);
    });
  }
  if (missing.length > 0) {
    const some = missing.slice(0, 5).join(', ');
    const rest = missing.length > 5 ? ` and ${missing.length - 5} more` : '';
    call.fail(`${folder} has no rows of the ids ${some}${rest}; nothing was removed`);
  }
  await opened.remove(ids);
}

async function optimizeFolder(call: Call, folder: string): Promise<void> {
  const opened = await IndexFolder.open(folder);
  const memory = call.number('memory');
  if (memory !== undefined) needDense(call, opened.options.vectors);
  const asked = call.has('queries') ? await readQueries(call, opened, call.has('append')) : null;
  const report = await measuredBy(call, asked, (options) =>
    opened.optimize({ ...options, ...(memory !== undefined && { memory }) }),
  );
  sayReport(call, report, asked);
}

/** Optimizes by the queries of a file, or by held-out rows. */
function measuredBy(
  call: Call,
  asked: FileQueries | null,
  optimize: (options: OptimizeOptions & LongCall) => Promise<RecallReport>,
): Promise<RecallReport> {
  const wanted = { ...wantedOf(call), ...(asked !== null && { queries: asked.queries }) };
  const work = () => call.long('optimizing', (long) => optimize({ ...wanted, ...long }));
  return asked === null ? work() : asked.named(work);
}

/**
 * Chooses a setting of a new index and says what it finds. Where the vectors of an index are given
 * that holds codes alone, a recall that codes cannot reach is refused.
 */
async function optimize(call: Call, built: BuiltIndex): Promise<void> {
  const { index, vectors: given } = built;
  const { recall } = wantedOf(call);
  const asked = call.has('queries') ? await readQueries(call, rowsLike(built), true) : null;
  const measure = (of: SimHashIndex, vectors?: DenseMatrix) =>
    measuredBy(call, asked, (options) =>
      of.optimizeAsync({ ...options, ...(vectors !== undefined && { vectors }) }),
    );
  const report = await measure(index, given);
  if (given !== undefined && !report.reached) {
    const held = new SimHashIndex({ ...index.hasher.options, vectors: 'int8', zero: 'null' });
    await call.long('adding vectors', (long) => held.addAllAsync(given, undefined, long));
    call.fail(
      `a search by codes of ${index.bits} bits alone finds ${recallWords(report)}, and ` +
        `${percent(recall)} are wanted: hold vectors with --vectors int8, which finds ` +
        `${recallWords(await measure(held))}, take more --bits or a lower --recall`,
    );
  }
  sayReport(call, report, asked);
}

function wantedOf(call: Call): OptimizeOptions & { recall: number } {
  const [recall = 0.95, k = 10] = [call.number('recall'), call.number('k')];
  const partitions = call.number('partitions');
  return { recall, k, ...(partitions !== undefined && { partitions }) };
}

/** Says what searches find, and how fast; of the queries of a file also which of them chose. */
function sayReport(call: Call, report: RecallReport, asked: FileQueries | null): void {
  const byRows = byRowsWords(report);
  const finds = `finds ${recallWords(report, asked)}${byRows === null ? '' : `, ${byRows}`}`;
  const missed = report.reached ? '' : `, below the wanted ${percent(report.wanted)}`;
  const speed = `${grouped(Math.round(report.queriesPerSecond))} queries/s by ${report.method}`;
  call.say(`${finds}${missed}; ${speed}`);
  for (const warning of report.warnings) call.say(warning);
  if (report.truth === 'distance') {
    call.say('this says nothing of the nearest by cosine: an index that holds vectors does');
  }
}

/** What the folder is now. */
async function showIndex(call: Call, path: string): Promise<0> {
  const folder = await openFolder(call, path);
  if (call.isJson) {
    const { generation, rowCount, report } = folder;
    await call.print(`${JSON.stringify({ folder: path, generation, rows: rowCount, report })}\n`);
  } else {
    const what = indexWords(folder.rowCount, folder.options);
    call.say(`${path}: ${what}, generation ${folder.generation}`);
  }
  return 0;
}

function indexWords(rows: number, { bits, projection }: SimHasherOptions): string {
  const how = projection === undefined ? '' : ` (${projection})`;
  return `${counted(rows, 'row')}, ${bits} bits${how}`;
}
