/** `halfspace report`: a page about an index, which stands alone. */

import type { Call } from '../call';
import type { ReportOptions } from '../report/index-report';
import type { Verb } from '../verb';

export const verb: Verb = {
  name: 'report',
  summary: 'a page about an index',
  usage: 'DIR -o report.html',
  options: [
    {
      ...{ name: 'output', short: 'o', value: 'OUT' },
      help: 'Write the page (.html) or its data (.json) to this file',
    },
    { name: 'force', help: 'Replace an output that exists' },
    {
      ...{ name: 'sample', value: 'N', kind: 'integer', initial: '2000' },
      help: 'Compare and show N rows, drawn at random by the seed',
    },
    {
      ...{ name: 'min-cosine', value: 'C', kind: 'number', initial: '0.9' },
      help: 'Rows at a cosine of C or more are nearly the same',
    },
    {
      ...{ name: 'max-distance', value: 'N', kind: 'integer' },
      help: 'Group rows within N bits, in place of what the sample says of --min-cosine',
    },
    {
      ...{ name: 'clusters', value: 'N', kind: 'integer', initial: '8' },
      help: 'Clusters of the map',
    },
    { name: 'text', value: 'COLUMN', kind: 'text', help: 'The carried column that names rows' },
    { name: 'seed', value: 'N', kind: 'integer', initial: '0', help: 'Seed of what is drawn' },
    { name: 'no-times', help: 'Time nothing: the same index gives the same page' },
  ],
  example:
    'halfspace index datasets/sample/docs.jsonl -o docs.hs && ' +
    'halfspace report docs.hs -o report.html',

  async run(call) {
    const path = call.onlyInput();
    const target = targetOf(call);
    const [{ PageFile }, { openFolder }, { folderFacts }, { indexPage }, data] = await Promise.all([
      import('../report/write-page'),
      import('../input/index-folder'),
      import('../report/folder-facts'),
      import('../report/index-page'),
      import('../report/index-data'),
    ]);
    const file = await PageFile.checked(call, target, []);
    const folder = await openFolder(call, path);
    const options = optionsOf(call, folder.options.bits as number);
    const facts = await folderFacts(call, folder);
    const isData = target.endsWith('.json');
    if (facts.problems.length > 0) {
      const nameless = { idOf: String, areIdsNumbers: true, column: null, textOf: () => null };
      await file.write(isData ? data.indexData(facts, null) : indexPage(facts, null, nameless));
      call.say(`wrote ${target}: the index is damaged, so nothing was measured`);
      return 1;
    }
    const [{ indexReport }, { rowNames }] = await Promise.all([
      import('../report/index-report'),
      import('../report/carried-texts'),
    ]);
    const index = await call.long('opening', (work) => folder.index(work));
    const names = await rowNames(call, folder, index);
    const report = await indexReport(call, index, options);
    await file.write(isData ? data.indexData(facts, report) : indexPage(facts, report, names));
    call.say(`wrote ${target}`);
    return 0;
  },
};

function targetOf(call: Call): string {
  const target = call.text('output');
  if (target === undefined) call.misuse('an output is missing: -o report.html');
  if (!/\.(html?|json)$/i.test(target)) {
    call.misuse(`-o expected a name that ends in .html or .json, got ${target}`);
  }
  return target;
}

function optionsOf(call: Call, bits: number): ReportOptions {
  const integer = (name: string, least: number, most: number) => {
    const value = call.integer(name);
    if (value !== undefined && !(value >= least && value <= most)) {
      call.misuse(`--${name} expected an integer in ${least}..${most}, got ${value}`);
    }
    return value;
  };
  const minCosine = call.number('min-cosine') as number;
  if (!(minCosine > -1 && minCosine <= 1)) {
    call.misuse(`--min-cosine expected a number above -1 and at most 1, got ${minCosine}`);
  }
  const maxDistance = integer('max-distance', 0, bits);
  return {
    sample: integer('sample', 2, 20_000) as number,
    seed: integer('seed', 0, 2 ** 32 - 1) as number,
    clusters: integer('clusters', 1, 64) as number,
    minCosine,
    ...(maxDistance !== undefined && { maxDistance }),
    isTimed: !call.flag('no-times'),
  };
}
