// The noun half of WordNet: which categories the senses of a noun have.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

// The lexicographer files 03 to 28, in order (lexnames(5WN), without "noun.").
const FIRST_FILE = 3;
export const CATEGORIES = [
  'Tops',
  'act',
  'animal',
  'artifact',
  'attribute',
  'body',
  'cognition',
  'communication',
  'event',
  'feeling',
  'food',
  'group',
  'location',
  'motive',
  'object',
  'person',
  'phenomenon',
  'plant',
  'possession',
  'process',
  'quantity',
  'relation',
  'shape',
  'state',
  'substance',
  'time',
];

/** The lines of a database file, without the licence at its head, which is indented. */
function* entries(directory, file) {
  for (const line of readFileSync(join(directory, file), 'utf8').split('\n')) {
    if (line !== '' && !line.startsWith(' ')) yield line.trimEnd().split(' ');
  }
}

/** Map of each noun, in lower case, to the set of its senses' category numbers. */
export function readNouns(directory) {
  const categoryAt = new Map();
  for (const [offset, file] of entries(directory, 'data.noun')) {
    categoryAt.set(offset, Number(file) - FIRST_FILE);
  }

  const nouns = new Map();
  for (const [noun, , senses, ...rest] of entries(directory, 'index.noun')) {
    // The offsets of the senses stand last, behind a varying number of fields.
    const offsets = rest.slice(-Number(senses));
    nouns.set(noun, new Set(offsets.map((offset) => categoryAt.get(offset))));
  }
  return nouns;
}
