// The Tang poems of the npm package's two editions.

import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** A quatrain of five is the shortest regular poem; what is shorter is mostly fragments. */
const LEAST_CHARACTERS = 20;

/** By edition, then volume and place; `characters` are code points without marks and spaces. */
export function readPoems() {
  const require = createRequire(import.meta.url);
  const dist = join(dirname(require.resolve('chinese-poetry/package.json')), 'dist');
  const received = entries(join(dist, 'quantangshi'), /^poet\.tang\.(\d+)\.json$/);
  const imperial = entries(join(dist, 'yudingquantangshi', 'json'), /^(\d+)\.json$/);
  return [
    ...received.map((poem) => poemOf('quantangshi', poem.id, poem)),
    ...imperial.map((poem) => poemOf('yudingquantangshi', `${poem.volume} ${poem['no#']}`, poem)),
  ].filter(({ characters }) => characters.length >= LEAST_CHARACTERS);
}

/** All entries of the files whose names match, by the number in the name. */
function entries(folder, pattern) {
  const numbered = readdirSync(folder).flatMap((name) => {
    const match = pattern.exec(name);
    return match === null ? [] : [{ name, number: Number(match[1]) }];
  });
  return numbered
    .sort((a, b) => a.number - b.number)
    .flatMap(({ name }) => JSON.parse(readFileSync(join(folder, name), 'utf8')));
}

function poemOf(edition, id, { title, author, paragraphs }) {
  const text = paragraphs.join('\n');
  const letters = text.normalize('NFKC').match(/[\p{L}\p{N}]/gu) ?? [];
  const characters = Uint32Array.from(letters, (letter) => letter.codePointAt(0));
  return { edition, id, title, author, text, characters };
}
