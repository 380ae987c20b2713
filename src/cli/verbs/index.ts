/**
 * An index folder: made of an input, appended to, rows removed, optimized, compacted. Each of these
 * is one generation of the folder: it is there whole, or the folder is as it was.
 */

import type { SimHashIndex } from '../../node';
import type { Call } from '../call';
import { appendRows } from '../input/append-rows';
import { buildIndex } from '../input/build-index';
import { idNamed, isIndexFolder, openFolder } from '../input/index-folder';
import { counted } from '../output/figures';
import { HASHING_OPTIONS } from '../shared-options';
import type { Verb } from '../verb';

/** What is done to a folder that is there. */
const CHANGES = ['remove', 'optimize', 'compact'] as const;

export const verb: Verb = {
  name: 'index',
  summary: 'an index folder: make it, append to it, remove, optimize',
  usage: 'IN -o DIR [--append] | DIR --remove IDS | DIR --optimize | DIR --compact',
  options: [
    { name: 'output', short: 'o', value: 'DIR', help: 'The index folder' },
    { name: 'append', help: 'Append the rows to the index that is there' },
    {
      ...{ name: 'remove', value: 'IDS', kind: 'list' },
      help: 'Remove rows by their ids; @FILE has one a line',
    },
    { name: 'optimize', help: 'Make searches fast at a recall that is measured' },
    { name: 'recall', value: 'SHARE', kind: 'number', help: 'Of the true neighbours [0.95]' },
    { name: 'k', short: 'k', value: 'N', kind: 'integer', help: 'Optimize for N neighbours [10]' },
    { name: 'compact', help: 'Write the folder anew without what was removed' },
    {
      ...{ name: 'vectors', value: 'WHAT', choices: ['none', 'float32', 'int8', 'sparse'] },
      help: 'Vectors to hold beside the codes, to rank by exact cosine; texts: sparse [none]',
    },
    {
      ...{ name: 'columns', value: 'NAMES', kind: 'list' },
      help: 'Carry these columns along, or none (all plain ones but the one that becomes codes)',
    },
    { name: 'force', help: 'Replace an index that exists' },
    { name: 'json', help: 'JSON for machines' },
    ...HASHING_OPTIONS,
  ],
  example:
    'halfspace index datasets/sample/docs.jsonl --text body --tf-idf --vectors sparse -o docs.hs',

  async run(call) {
    const input = call.onlyInput();
    const output = call.text('output');
    for (const name of ['recall', 'k']) {
      if (call.has(name) && !call.flag('optimize')) call.misuse(`--${name} is for --optimize`);
    }
    if (output === undefined) {
      if (!CHANGES.some((name) => call.has(name)) || call.flag('append')) {
        call.misuse('say where to with -o DIR, or what to do: --remove IDS, --optimize, --compact');
      }
      await changeFolder(call, input);
      return tell(call, input);
    }
    if (call.has('remove') || call.has('compact')) {
      call.misuse('--remove and --compact are for an index that is there: halfspace index DIR …');
    }
    if (call.flag('append')) {
      await appendRows(call, input, output);
      if (call.flag('optimize')) await optimizeFolder(call, output);
    } else {
      await makeFolder(call, input, output);
    }
    return tell(call, output);
  },
};

async function makeFolder(call: Call, input: string, folder: string): Promise<void> {
  if (!call.flag('force') && (await isIndexFolder(folder))) {
    call.fail(`${folder} holds an index: --append adds to it, --force replaces it`);
  }
  const { saveIndex } = await import('../../node');
  const { source, index, columns } = await buildIndex(call, input);
  if (call.flag('optimize')) await optimize(call, index);
  await call.long(`writing ${folder}`, ({ onProgress, signal }) =>
    saveIndex(index, folder, {
      ...(columns !== null && { columns }),
      ...(source.text !== null && { text: source.text }),
      ...(source.frequencies !== null && { frequencies: source.frequencies }),
      ...{ replace: call.flag('force'), onProgress, signal },
    }),
  );
}

async function changeFolder(call: Call, folder: string): Promise<void> {
  await openFolder(call, folder);
  if (call.has('remove')) await removeRows(call, folder);
  if (call.flag('optimize')) await optimizeFolder(call, folder);
  if (call.flag('compact')) {
    const { IndexFolder } = await import('../../node');
    const opened = await IndexFolder.open(folder);
    await call.long(`compacting ${folder}`, (long) => opened.compact(long));
  }
}

async function removeRows(call: Call, folder: string): Promise<void> {
  const { IndexFolder, openIndex } = await import('../../node');
  const index = await openIndex(folder, { signal: call.signal });
  const names = await namesOf(call);
  const ids = names.map((name) => idNamed(index, name));
  const missing = names.filter((_, i) => ids[i] === undefined);
  if (missing.length > 0) {
    const some = missing.slice(0, 5).join(', ');
    const rest = missing.length > 5 ? ` and ${missing.length - 5} more` : '';
    call.fail(`${folder} has no rows of the ids ${some}${rest}; nothing was removed`);
  }
  await (await IndexFolder.open(folder)).remove([...new Set(ids)] as never);
}

/** The ids that `--remove` names, those of files one a line. */
async function namesOf(call: Call): Promise<string[]> {
  const { readFile } = await import('node:fs/promises');
  const names: string[] = [];
  for (const name of call.list('remove')) {
    if (!name.startsWith('@')) names.push(name);
    else {
      const lines = (await readFile(name.slice(1), 'utf8')).split(/\r?\n/);
      for (const line of lines) if (line !== '') names.push(line);
    }
  }
  return names;
}

async function optimizeFolder(call: Call, folder: string): Promise<void> {
  const { openIndex, saveIndex } = await import('../../node');
  const index = await openIndex(folder, { signal: call.signal });
  await optimize(call, index);
  await call.long(`writing ${folder}`, (long) => saveIndex(index, folder, long));
}

async function optimize(call: Call, index: SimHashIndex): Promise<void> {
  const recall = call.number('recall') ?? 0.95;
  if (!(recall > 0 && recall <= 1)) {
    call.misuse(`--recall expected a share above 0 and at most 1, got ${recall}`);
  }
  const report = await call.long('optimizing', (long) =>
    index.optimizeAsync({ recall, k: call.integer('k') ?? 10, ...long }),
  );
  const [low, high] = report.interval.map((one) => one.toFixed(3));
  const reached = report.reached ? '' : `, below the wanted ${recall}`;
  call.say(
    `recall@${report.k} ${report.recall.toFixed(3)} (${low}–${high})${reached}, ` +
      `${Math.round(report.queriesPerSecond)} queries/s by ${report.method}`,
  );
}

async function tell(call: Call, path: string): Promise<0> {
  const folder = await openFolder(call, path);
  const { bits, projection } = folder.options;
  if (call.isJson) {
    const { generation, rowCount, report } = folder;
    await call.print(`${JSON.stringify({ folder: path, generation, rows: rowCount, report })}\n`);
  } else {
    const how = projection === undefined ? '' : ` (${projection})`;
    const what = `${counted(folder.rowCount, 'row')}, ${bits} bits${how}`;
    call.say(`${path}: ${what}, generation ${folder.generation}`);
  }
  return 0;
}
