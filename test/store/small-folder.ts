/** A small index in a folder that has a file of each kind, and all that it answers as text. */

import { indexToArrow, SimHashIndex, TextHasher } from '../../src/index';
import { IndexFolder, openIndex } from '../../src/store/index-folder';
import { saveIndex } from '../../src/store/save-index';
import { RowBatch } from '../../src/table/row-batch';
import { frequenciesToArrow } from '../../src/text/frequency-file';
import { Draws } from '../reference/random';
import { partitioned } from './collection';

const DIMENSIONS = 3;

const columnsFor = (ids: readonly string[]) => RowBatch.of({ title: ids.map((id) => `${id}!`) });

export async function writeSmallFolder(folder: string): Promise<void> {
  const index = new SimHashIndex({ bits: 12, dimensions: DIMENSIONS, vectors: 'int8' });
  const ids = Array.from({ length: 12 }, (_, i) => `row ${i}`);
  const values = new Draws(5).gaussians(12 * DIMENSIONS);
  values.copyWithin(6 * DIMENSIONS, 0, DIMENSIONS); // an equal code
  await index.addAll({ values, dimensions: DIMENSIONS }, ids);
  await partitioned(index, { recall: 0.5, k: 2, queries: 4, partitions: 4, copies: true });
  const frequencies = new TextHasher().fit(['a b', 'b c']);
  const text = { tokens: 'words' };
  await saveIndex(index, folder, { columns: columnsFor(ids), text, frequencies });
  const more = ['late 1', 'late 2'];
  const columns = columnsFor(more);
  await (await IndexFolder.open(folder)).append(
    [
      [1, 2, 3],
      [3, 2, 1],
    ] as number[][],
    more,
    { columns },
  );
  await (await IndexFolder.open(folder)).remove(['row 3', 'late 1']);
}

/** What is read from files of a kind, and told by them. */
export async function answersOf(folder: string, kind: string): Promise<string> {
  if (kind === 'hashes' || kind === 'buckets') return foundByHash(folder);
  const opened = await IndexFolder.open(folder);
  if (kind === 'columns') return JSON.stringify((await opened.columns())?.values('title'));
  if (kind === 'frequencies') {
    const table = await opened.frequencies();
    return table === null ? '' : Buffer.from(frequenciesToArrow(table)).toString('hex');
  }
  if (kind !== 'manifest.json')
    return Buffer.from(indexToArrow(await opened.index())).toString('hex');
  return JSON.stringify([opened.generation, opened.rowCount, opened.text, opened.files]);
}

/** The rows of all ids, which a stored index finds by their hashes. */
async function foundByHash(folder: string): Promise<string> {
  const stored = await openIndex(folder, { memory: '64MB' });
  try {
    const ids = [...Array.from({ length: 12 }, (_, i) => `row ${i}`), 'late 1', 'late 2'];
    const rows = await Promise.all(ids.map((id) => stored.get(id)));
    return JSON.stringify(rows.map((one) => one?.row ?? null));
  } finally {
    await stored.close();
  }
}
