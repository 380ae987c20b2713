/**
 * `halfspace index`: an index folder made of an input, appended to, rows removed, optimized,
 * compacted. Each of these is one generation of the folder: it is there whole, or the folder is as
 * it was. Also an index as one Arrow file, and for tasks of the Spark package parts of an index
 * (`--like` a trained one, from `--first-row` on), which `--merge` makes one.
 */

import { readFile, rmdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  Codes,
  type Id,
  IndexFolder,
  indexToArrow,
  type OptimizeOptions,
  type RecallReport,
  type SimHasherOptions,
  saveIndex,
} from '../../node';
import { type EvaluationRows, evaluatedPart } from '../../store/evaluated-parts';
import { isIndexFolder } from '../../store/generations';
import type { Call } from '../call';
import {
  appendRows,
  type BuiltIndex,
  buildFolder,
  buildIndex,
  type FileQueries,
  needDense,
  readQueries,
} from '../input/new-index';
import {
  idNamed,
  idsNamed,
  likenessOf,
  openFolder,
  refuseOtherSettings,
} from '../input/saved-index';
import { counted, percent, recallWords } from '../output/figures';
import { openBytes } from '../output/rows';

/** The file of a part with what its rows answer to --evaluate. */
const EVALUATED = 'evaluated.arrow';
/** Names of a new index that is one file; others are folders. */
const FILE = /\.(arrow|feather|ipc)$/i;

/**
 * Makes or changes one folder; what contradicts itself is refused before rows are read. Fails
 * where searches do not reach the --recall that is wanted, once the index is saved.
 */
export async function run(call: Call): Promise<0> {
  const output = call.text('output');
  if (call.has('merge')) return mergeFolders(call, output);
  const input = call.onlyInput();
  checkOptions(call, output);
  if (output === undefined) return showIndex(call, input, await changeFolder(call, input));
  if (FILE.test(output)) return makeFile(call, input, output);
  if (!call.has('append')) return showIndex(call, output, await makeFolder(call, input, output));
  await appendRows(call, input, output);
  const report = call.has('optimize') ? await optimizeFolder(call, output) : null;
  return showIndex(call, output, report);
}

/** Refuses what the declarations of options do not. */
function checkOptions(call: Call, output: string | undefined): void {
  if (output === '-') call.misuse('an index goes to a folder or a file, not to stdout');
  const isFile = output !== undefined && FILE.test(output);
  const ofFolder = ['memory', 'append', 'columns'].find((name) => isFile && call.has(name));
  if (ofFolder) call.misuse(`--${ofFolder} is for an index folder, not one file`);
  const isNew = output !== undefined && !call.has('append');
  if (call.has('memory') && !call.has('optimize') && !isNew) {
    call.misuse(
      '--memory is for a new index, halfspace index IN -o DIR --memory 2G, or --optimize',
    );
  }
  const isChange = ['remove', 'optimize', 'compact'].some((name) => call.has(name));
  if (output === undefined && (call.has('append') || !isChange)) {
    call.misuse('say where to with -o DIR, or what to do: --remove IDS, --optimize, --compact');
  }
  if (call.has('evaluate') && !(call.has('like') && call.has('memory'))) {
    call.misuse('--evaluate is for a part of an index: give --like and --memory too');
  }
}

async function refuseOther(call: Call, folder: string): Promise<void> {
  if (call.has('force') || !(await isIndexFolder(folder))) return;
  call.fail(`${folder} holds an index: --append adds to it, --force replaces it`);
}

/** A new index; an old one is replaced with --force only, and when the new one is whole. */
async function makeFolder(call: Call, input: string, folder: string) {
  await refuseOther(call, folder);
  const wasThere = await stat(folder).then(Boolean, () => false);
  try {
    return await (call.has('memory') ? buildWithin : buildLoaded)(call, input, folder);
  } catch (error) {
    // Only a folder without anything in it is removed.
    if (!wasThere) await rmdir(folder).catch(() => undefined);
    throw error;
  }
}

/** Builds in the folder, within --memory; a part of an index (--like) answers --evaluate. */
async function buildWithin(call: Call, input: string, folder: string) {
  const like = call.text('like');
  const optimize = call.has('optimize') ? wantedOf(call) : undefined;
  await buildFolder(call, input, folder, { optimize, like });
  const opened = await IndexFolder.open(folder);
  if (call.has('evaluate')) {
    const rows = await evaluationRows(call, opened);
    const { k = 10 } = wantedOf(call);
    const table = await call.long(`evaluating ${folder}`, (long) =>
      evaluatedPart(folder, rows, { k, memory: call.number('memory') as number, ...long }),
    );
    await writeFile(join(folder, EVALUATED), table);
  }
  if (opened.report !== null) sayReport(call, opened.report, null);
  return opened.report;
}

async function buildLoaded(call: Call, input: string, folder: string) {
  const built = await buildIndex(call, input);
  const { source, index, columns } = built;
  const report = await optimizeNew(call, built);
  const saved = { columns, ...source.textTerms };
  await call.long(`writing ${folder}`, (long) =>
    saveIndex(index, folder, { ...saved, replace: call.has('force'), ...long }),
  );
  return report;
}

/** A new index as one Arrow file, without carried columns and the settings of texts. */
async function makeFile(call: Call, input: string, file: string): Promise<0> {
  const write = await openBytes(call, file, [input]);
  const built = await buildIndex(call, input);
  const { index } = built;
  const report = await optimizeNew(call, built);
  await write(indexToArrow(index));
  call.say(`${file}: ${indexWords(index.count, index.hasher)}`);
  return checkRecall(call, report);
}

async function evaluationRows(call: Call, folder: IndexFolder): Promise<EvaluationRows> {
  const { queries, ids } = await readQueries(call, 'evaluate', await likenessOf(folder));
  if (queries instanceof Codes) call.fail('--evaluate expected vectors, got codes');
  return { vectors: queries, ids };
}

/** One index of folders that were built --like one folder. */
async function mergeFolders(call: Call, output: string | undefined): Promise<0> {
  if (call.args.length === 0 || output === undefined) {
    call.misuse('say which folders to merge, and where to: index A B --merge -o DIR');
  }
  if (call.has('optimize') && !call.has('evaluate')) {
    call.misuse(
      '--merge --optimize counts what parts found (--evaluate); else merge first, then optimize: ' +
        `halfspace index ${output} --optimize`,
    );
  }
  await refuseOther(call, output);
  const evaluated = call.has('evaluate')
    ? {
        file: EVALUATED,
        rows: await evaluationRows(call, await openFolder(call, call.args[0])),
        optimize: wantedOf(call),
        isPart: !call.has('optimize'),
      }
    : undefined;
  const { report } = await call.long(`merging ${output}`, (long) =>
    IndexFolder.merge(output, call.args, {
      replace: call.has('force'),
      manifestsOnly: call.has('manifests-only'),
      evaluated,
      ...long,
    }),
  );
  const measured = report?.stale ? null : report;
  if (measured !== null) sayReport(call, measured, null);
  return showIndex(call, output, measured);
}

/** Each change is a generation; a later one that fails leaves the earlier ones. */
async function changeFolder(call: Call, folder: string): Promise<RecallReport | null> {
  refuseOtherSettings(call, await openFolder(call, folder));
  if (call.has('remove')) await removeRows(call, folder);
  const report = call.has('optimize') ? await optimizeFolder(call, folder) : null;
  if (call.has('compact')) {
    const opened = await IndexFolder.open(folder);
    await call.long(`compacting ${folder}`, (long) => opened.compact(long));
  }
  return report;
}

/** Removes all rows that --remove names, or none where one of them is not there. */
async function removeRows(call: Call, folder: string): Promise<void> {
  const named = (await Promise.all(call.list('remove').map(namedIds))).flat();
  const opened = await IndexFolder.open(folder);
  const known = new Set(await opened.idsAmong(named.flatMap(({ text }) => idsNamed(text))));
  const missing = named.filter(({ text }) => idNamed(known, text) === undefined);
  if (missing.length > 0) {
    const some = missing.slice(0, 5).map(({ shown }) => shown);
    const rest = missing.length > 5 ? ` and ${missing.length - 5} more` : '';
    call.fail(`${folder} has no rows of the ids ${some.join(', ')}${rest}; nothing was removed`);
  }
  await opened.remove(new Set(named.map(({ text }) => idNamed(known, text) as Id)));
}

/** The ids of a word of --remove as texts, and what an error calls them; of @FILE one a line. */
async function namedIds(word: string): Promise<{ text: string; shown: string }[]> {
  if (!word.startsWith('@')) return [{ text: word, shown: word }];
  const file = word.slice(1);
  const lines = (await readFile(file, 'utf8')).split(/\r?\n/);
  // The line is not shown: the file may not be the one that was meant, and hold secrets.
  const all = lines.map((text, i) => ({ text, shown: `in line ${i + 1} of ${file}` }));
  return all.filter(({ text }) => text !== '');
}

/** Optimizes for the queries of --queries, which are read like the rows, or for held-out rows. */
async function optimizeFolder(call: Call, folder: string): Promise<RecallReport> {
  const opened = await IndexFolder.open(folder);
  const memory = call.number('memory');
  if (memory !== undefined) needDense(call, opened.options.vectors);
  const own = call.has('queries')
    ? await readQueries(call, 'queries', await likenessOf(opened))
    : null;
  const wanted = { ...wantedOf(call), queries: own?.queries, memory };
  const work = () => call.long('optimizing', (long) => opened.optimize({ ...wanted, ...long }));
  const report = await (own === null ? work() : own.named(work));
  sayReport(call, report, own);
  return report;
}

async function optimizeNew(call: Call, { index }: BuiltIndex): Promise<RecallReport | null> {
  if (!call.has('optimize')) return null;
  const wanted = wantedOf(call);
  const report = await call.long('optimizing', (long) => index.optimize({ ...wanted, ...long }));
  sayReport(call, report, null);
  return report;
}

/** What --optimize must reach; with so many --partitions in a task of Spark. */
function wantedOf(call: Call): OptimizeOptions {
  const [recall = 0.95, k = 10] = [call.number('recall'), call.number('k')];
  return { recall, k, partitions: call.number('partitions') };
}

/** Says what searches find, and how; of the queries of a file also which of them chose. */
function sayReport(call: Call, report: RecallReport, own: FileQueries | null): void {
  call.say(`finds ${recallWords(report, own)}; by ${report.method}`);
  for (const warning of report.warnings) call.say(warning);
  if (report.truth === 'distance') {
    call.say('this says nothing of the nearest by cosine: an index that holds vectors does');
  }
  // With --recall this ends the verb, once the index is saved.
  if (!report.reached && !call.has('recall')) call.say(missedWords(report));
}

function missedWords({ recall, wanted, truth, method }: RecallReport): string {
  const [found, lower] = [percent(recall), 'take more --bits, or a lower --recall'];
  const advice =
    truth === 'cosine' && method === 'scan'
      ? lower
      : `hold vectors (--vectors int8, of texts sparse), ${lower}`;
  return `searches find ${found}, below the wanted ${percent(wanted)}: ${advice}`;
}

function checkRecall(call: Call, report: RecallReport | null): 0 {
  if (report === null || report.reached || !call.has('recall')) return 0;
  return call.fail(missedWords(report));
}

/** Says what the folder is now, and fails where it does not find what is wanted. */
async function showIndex(call: Call, path: string, report: RecallReport | null): Promise<0> {
  const folder = await openFolder(call, path);
  const what = indexWords(folder.rowCount, folder.options);
  call.say(`${path}: ${what}, generation ${folder.generation}`);
  return checkRecall(call, report);
}

function indexWords(rows: number, { bits, projection }: SimHasherOptions): string {
  const how = projection === undefined ? '' : ` (${projection})`;
  return `${counted(rows, 'row')}, ${bits} bits${how}`;
}
