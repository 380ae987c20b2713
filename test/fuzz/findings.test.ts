import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { openRows, sparseFromArrow } from '../../src/node';
import { checkRefusal } from './check';

/** Files that a reader once failed at: memory that no file justifies, errors of the engine. */

const folder = new URL('../fixtures/findings/', import.meta.url);
const names = readdirSync(folder);
const MAX_VALUES = 1000;

it.each(names)('reads or refuses %s', async (name) => {
  const bytes = Uint8Array.from(readFileSync(new URL(name, folder)));
  const file = name;
  const source = (async function* () {
    yield bytes;
  })();
  let count = 0;
  try {
    for await (const batch of await openRows(source, { format: 'arrow', file })) {
      for (const column of batch.columns) count += batch.values(column.name).flat().length;
    }
  } catch (error) {
    checkRefusal(error, file, 'openRows');
  }
  try {
    sparseFromArrow(bytes, { file, column: 'vector' });
  } catch (error) {
    checkRefusal(error, file, 'sparseFromArrow');
  }
  expect(count).toBeLessThan(MAX_VALUES);
});
