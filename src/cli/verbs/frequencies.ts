/**
 * `halfspace frequencies`: in how many texts each word is, as a table that `--frequencies` takes.
 * Parts of a corpus can be counted apart, from streams too; `--merge` adds up their tables, and
 * the result is the same for every division into parts.
 */

import { type FrequencyTable, frequenciesToArrow } from '../../node';
import type { Call } from '../call';
import { chooseSource, openInput } from '../input/open-input';
import { countFrequencies, readFrequencies } from '../input/texts';
import { counted } from '../output/figures';
import { openBytes } from '../output/rows';

/** Writes one table to -o. Memory grows with the distinct words, not with the texts. */
export async function run(call: Call): Promise<0> {
  const path = call.text('output');
  if (path === undefined) call.misuse('an output is missing: -o table.arrow');
  const inputs = call.has('merge') ? call.args : [call.onlyInput()];
  if (inputs.length === 0) call.misuse('--merge takes tables, none is given');
  const output = await openBytes(call, path, inputs);
  const table = await (call.has('merge') ? merged(call) : ofTexts(call));
  await output.write([frequenciesToArrow(table)]);
  await output.close();
  call.say(`${counted(table.size, 'word')} of ${counted(table.documents, 'text')} in ${path}`);
  return 0;
}

async function ofTexts(call: Call): Promise<FrequencyTable> {
  const reader = await openInput(call, call.onlyInput());
  const { columns } = chooseSource(call, reader, ['text']);
  return countFrequencies(call, reader, columns[0]);
}

/** Adds up the tables that are named. Fails at one that was made by other tokens. */
async function merged(call: Call): Promise<FrequencyTable> {
  const [first, ...others] = call.args;
  const table = await readFrequencies(call, first);
  for (const path of others) {
    const other = await readFrequencies(call, path);
    if (other.tokens !== table.tokens) {
      call.fail(`${path} has tokens '${other.tokens}', ${first} has '${table.tokens}'`);
    }
    table.merge(other);
  }
  return table;
}
