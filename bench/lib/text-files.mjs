// Columns of the data sets' Arrow files as strings.

import { existsSync, readFileSync } from 'node:fs';
import { tableFromIPC } from 'apache-arrow';

/** Whether a data set is built; if not, says how to build it. */
export function isThere(set) {
  if (existsSync(fileOf(set))) return true;
  const what = `${set} left out: first \`node datasets/${set}/build.mjs\``;
  console.log(`\n**${what}**`);
  console.error(`!!! ${what}`);
  return false;
}

export function textsOf(set, column) {
  return Array.from(tableFromIPC(readFileSync(fileOf(set))).getChild(column));
}

function fileOf(set) {
  return new URL(`../../datasets/${set}/${set}.arrow`, import.meta.url);
}
