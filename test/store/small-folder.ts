/** A small index in a folder that has a file of each kind but those of hashes, and its answers as text. */

import { Codes, indexToArrow, SimHashIndex, TextHasher } from '../../src/index';
import { MIN_HASHED_ROWS } from '../../src/store/id-hashes';
import { IndexFolder, openIndex, saveIndex } from '../../src/store/index-folder';
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

/** An index of so many rows that their ids are found by hashes. */
export async function writeHashedFolder(folder: string): Promise<void> {
  const index = new SimHashIndex({ bits: 8 });
  const codes = Codes.from(new Draws(6).bytes(HASHED_ROWS), { bits: 8 });
  await index.addAll(
    codes,
    Array.from({ length: HASHED_ROWS }, (_, row) => `row ${row}`),
  );
  await saveIndex(index, folder);
}

const HASHED_ROWS = MIN_HASHED_ROWS + 1;

/** What readers of files of a kind answer, as text: each of them is one that users call. */
export function readersOf(kind: string): ((folder: string) => Promise<string>)[] {
  if (kind === 'hashes') return [foundByHash];
  if (kind === 'columns' || kind === 'frequencies' || kind === 'manifest.json') {
    return [(folder) => answersOf(folder, kind)];
  }
  return [(folder) => answersOf(folder, kind), storedAnswers];
}

/** What is read from files of a kind by an index that is loaded. */
async function answersOf(folder: string, kind: string): Promise<string> {
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

/** All searches of an index whose rows stay in their files, and all that it tells of them. */
async function storedAnswers(folder: string): Promise<string> {
  const stored = await openIndex(folder, { memory: '1MB' });
  try {
    const queries = [
      [1, 2, 3],
      [-3, 1, 0],
    ] as number[][];
    const found: unknown[] = [];
    for (const query of queries) {
      for (const how of [{}, { probes: 3 }, { rank: 'hamming' }] as const) {
        const { rows, ids, distances, similarities } = await stored.search(query, {
          k: 20,
          ...how,
        });
        found.push([...rows], [...ids], [...(distances ?? [])], [...similarities]);
      }
      const { rows, ids } = await stored.within(query, { maxDistance: 3 });
      found.push([...rows], [...ids]);
    }
    for (const id of ['row 0', 'row 6', 'row 3', 'late 2']) {
      const row = await stored.get(id);
      found.push([row?.row, [...(row?.code ?? [])], [...((row?.vector as Float32Array) ?? [])]]);
    }
    return JSON.stringify(found);
  } finally {
    await stored.close();
  }
}

/** The rows of some ids, which a stored index finds by their hashes. */
async function foundByHash(folder: string): Promise<string> {
  const stored = await openIndex(folder, { memory: '64MB' });
  try {
    const ids = ['row 0', 'row 17', 'row 4000', 'no row'];
    const rows = await Promise.all(ids.map((id) => stored.get(id)));
    return JSON.stringify(rows.map((one) => one?.row ?? null));
  } finally {
    await stored.close();
  }
}
