// The two files as bytes: the poems of both editions, and the pairs of poems that are nearly equal.

import { Uint16, Uint32, Utf8 } from 'apache-arrow';

import { arrowFile } from '../lib/arrow-file.mjs';
import { readPoems } from './editions.mjs';
import { nearEqualPairs } from './edits.mjs';

const METADATA = {
  source: 'chinese-poetry, by npm chinese-poetry 2.0.1',
  licence: 'MIT',
};

export function makeFiles() {
  console.error('poems: reading the editions');
  const poems = readPoems();
  console.error(`poems: comparing ${poems.length} poems, half a minute`);
  const pairs = nearEqualPairs(poems.map(({ characters }) => characters));
  const tell = (what, some) => {
    const equal = some.filter(({ edits }) => edits === 0).length;
    console.log(`pairs ${what}: ${equal} equal, ${some.length - equal} near`);
  };
  const isAcross = ({ a, b }) => poems[a].edition !== poems[b].edition;
  tell('across the editions', pairs.filter(isAcross));
  tell(
    'within one',
    pairs.filter((pair) => !isAcross(pair)),
  );

  const texts = (key) => ({ type: new Utf8(), values: poems.map((poem) => poem[key]) });
  const numbers = (type, key) => ({ type, values: pairs.map((pair) => pair[key]) });
  return {
    'poems.arrow': arrowFile(
      {
        ...{ id: texts('id'), edition: texts('edition') },
        ...{ title: texts('title'), author: texts('author'), text: texts('text') },
      },
      METADATA,
    ),
    'pairs.arrow': arrowFile(
      {
        ...{ a: numbers(new Uint32(), 'a'), b: numbers(new Uint32(), 'b') },
        edits: numbers(new Uint16(), 'edits'),
      },
      METADATA,
    ),
  };
}
