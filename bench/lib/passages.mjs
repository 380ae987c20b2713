// Passages of real prose and their copies with planted edits, by the script that made datasets/edits.

import { passagesOf, planted, SHARES } from '../../datasets/edits/plant.mjs';
import { generator } from './random.mjs';
import { textsOf } from './text-files.mjs';

/** Passages of `length` words, from as many different documents as there are, and their copies. */
export function editedPassages(length, most) {
  const { below } = generator(7);
  const documents = textsOf('prose', 'text');
  const vocabulary = documents.flatMap((text) => passagesOf(text, 1)).flat();
  const originals = documents
    .flatMap((text) => passagesOf(text, length).slice(0, 1))
    .slice(0, most);
  return {
    originals: originals.map((words) => words.join(' ')),
    copies: SHARES.map((share) =>
      originals.map((words) => planted(words, { share, vocabulary, below }).join(' ')),
    ),
  };
}
