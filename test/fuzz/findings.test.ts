import { readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import {
  Codes,
  codesFromArrow,
  codesToArrow,
  IndexFolder,
  openRows,
  SimHashIndex,
  saveIndex,
} from '../../src/node';
import { manifestText, parseManifest } from '../../src/store/manifest';
import { openStored } from '../../src/store/stored-index';
import { sparseFromArrow } from '../reference/arrow';
import { Draws } from '../reference/random';
import { temporaryFolder } from '../store/collection';
import { BytesPlace } from '../store/files';
import { type Change, rewritten } from '../store/rewritten';
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

/** A folder whose first block was changed before it was written, with checksums that are right. */
async function changedBlocks(change: Change): Promise<string> {
  const place = join(await temporaryFolder(), 'places.hs');
  const draws = new Draws('in two places');
  const index = new SimHashIndex({ bits: 24, dimensions: 4, vectors: 'int8' });
  const ids = Array.from({ length: 60 }, (_, i) => `id ${i}`);
  await index.addAll({ values: draws.gaussians(4 * 60), dimensions: 4 }, ids);
  await index.optimize({ recall: 0.1, k: 2, queries: 4, partitions: 4 });
  await saveIndex(index, place);
  await rewritten(place, change);
  return place;
}

const firstIsZero: Change = { rows: (rows) => rows.fill(0, 0, 1) };
const withoutIds: Change = { withoutIds: true };
const firstIsNothing: Change = { vectors: (vectors) => vectors.fill(0, 0, 4) };

it.each([
  ['a row is in two places', firstIsZero, /row 0\b/, null],
  ['a row with a code has no vector', firstIsNothing, /row 0 of block \d+ has a code/, null],
  ['rows lack their ids', withoutIds, /ids are of kind/, /ids are of kind|lack/],
] as const)('refuses what searches find where %s', async (_, change, problem, error) => {
  const place = await changedBlocks(change);
  const { problems } = await IndexFolder.verify(place);
  expect(problems.map(({ message }) => message).join()).toMatch(problem);
  const files = BytesPlace.of(place);
  const draws = new Draws('two places');
  const errors: string[] = [];
  for (const memory of ['64MB', '200KB']) {
    const opening = openStored(files, { memory });
    const index = await opening.catch((cause: unknown) => {
      errors.push(String(cause));
      return null;
    });
    if (index === null) continue;
    for (let i = 0; i < 50; i++) {
      const code = draws.bytes(3);
      const found = [index.search(code, { k: 3 }), index.within(code, { maxDistance: 3 })];
      found.push(index.search(draws.gaussians(4), { k: 5, probes: 2 }));
      for (const result of await Promise.allSettled(found)) {
        if (result.status === 'rejected') errors.push(String(result.reason));
      }
    }
    await index.close();
  }
  for (const one of errors) expect(one).toMatch(/^FormatError: .*: damaged: /);
  if (error !== null) expect(errors.join()).toMatch(error);
});

it.each([null, {}, { name: 'a' }, 'a'])('refuses a manifest with a column %o', async (column) => {
  const folder = join(await temporaryFolder(), 'columns.hs');
  await saveIndex(new SimHashIndex({ bits: 8 }), folder);
  const name = 'manifest-000001.json';
  const json = JSON.parse(readFileSync(join(folder, name), 'utf8'));
  const { format: _, version: __, checksum: ___, ...rest } = json;
  const text = manifestText({ ...rest, columns: [column] });
  expect(() => parseManifest(Buffer.from(text), name, 1)).toThrow(
    `${name}: cannot be read as a manifest: "columns" expected names, types and uses`,
  );
});

// An array of one text is that text where a pattern is looked for in it, but no part of a path.
it.each(['name', 'checksum'])(
  'refuses a manifest with a file whose %s is an array',
  async (key) => {
    const folder = join(await temporaryFolder(), 'arrays.hs');
    const index = new SimHashIndex({ bits: 8 });
    index.add([1, 2]);
    await saveIndex(index, folder);
    const name = 'manifest-000001.json';
    const json = JSON.parse(readFileSync(join(folder, name), 'utf8'));
    const { format: _, version: __, checksum: ___, ...rest } = json;
    const { rows } = rest.segments[0].files;
    rows[key] = [rows[key]];
    expect(() => parseManifest(Buffer.from(manifestText(rest)), name, 1)).toThrow(
      `${name}: cannot be read as a manifest: "${key}" expected a string`,
    );
  },
);

// Without its header a file is one of another maker, without batches one of no rows.
it('refuses a file whose footer has lost its header and its batches', async () => {
  const bytes = codesToArrow(Codes.from(new Draws('codes').bytes(40), { bits: 8 }));
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  text.write('g\0\0\0', text.lastIndexOf('halfspace'));
  const one = Buffer.from([1, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0]); // of a batch, at 8
  text[text.lastIndexOf(one)] = 0;
  const words = 'codes.arrow: cannot be read as Arrow: damaged: the footer names no batch';
  expect(() => codesFromArrow(bytes, { file: 'codes.arrow' })).toThrow(words);
  const path = join(await temporaryFolder(), 'codes.arrow');
  await writeFile(path, bytes);
  await expect(openRows(path)).rejects.toThrow('the footer names no batch, and the file has one');
});

it('refuses a file whose schema and batches have lost the keys of their metadata', () => {
  const bytes = codesToArrow(Codes.from(new Draws('codes').bytes(40), { bits: 8 }));
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = text.indexOf('halfspace'); at >= 0; at = text.indexOf('halfspace')) text[at] = 103;
  expect(() => codesFromArrow(bytes)).toThrow('the schema has lost its "halfspace" metadata');
});
