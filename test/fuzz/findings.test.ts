import { cpSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import {
  Codes,
  codesFromArrow,
  codesToArrow,
  IndexFolder,
  openIndexUrl,
  openRows,
  sparseFromArrow,
} from '../../src/node';
import {
  fileChecksum,
  type Manifest,
  manifestText,
  parseManifest,
} from '../../src/stored/manifest';
import { temporaryFolder } from '../folder/collection';
import { Draws } from '../reference/random';
import { bytesIn } from '../stored/files';
import { checkRefusal } from './check';

/** Files that a reader once failed at: memory that no file justifies, errors of the engine. */

const folder = new URL('../fixtures/findings/', import.meta.url);
const golden = new URL('../fixtures/folders/rows.hs/', import.meta.url);
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

/** A folder whose second segment has rows of the first one, ten of them. */
async function rowsInTwoPlaces(): Promise<string> {
  const root = await temporaryFolder();
  const draws = new Draws('two places');
  const build = async (name: string, firstRow: number, count: number) => {
    const vectors = Array.from({ length: count }, () => draws.gaussians(4));
    const ids = vectors.map((_, i) => `${name} ${i}`);
    const options = { bits: 24, dimensions: 4, vectors: 'int8', memory: '64MB', firstRow } as const;
    await IndexFolder.build(join(root, name), [{ vectors, ids }], options);
    const bytes = readFileSync(join(root, name, 'manifest-000001.json'));
    return parseManifest(bytes, name, 1);
  };
  const [one, other] = [await build('one', 0, 40), await build('other', 30, 20)];
  const own = other.files.map((file) => {
    cpSync(join(root, 'other', file.name), join(root, 'one', file.name));
    return file.kind === 'rows' ? { ...file, firstRow: 40, nextRow: 60 } : file;
  });
  const { checksum: _, ...rest } = one;
  const index: Manifest['index'] = { ...one.index, nextRow: 60 };
  const text = manifestText({ ...rest, rows: 60, index, files: [...one.files, ...own] });
  for (const name of ['manifest-000001.json', 'manifest.json']) {
    rmSync(join(root, 'one', name));
    await writeFile(join(root, 'one', name), text);
  }
  return join(root, 'one');
}

it('refuses what searches find where a row is in two places', async () => {
  const files = bytesIn(await rowsInTwoPlaces());
  const draws = new Draws('two places');
  const errors: string[] = [];
  for (const memory of ['64MB', '200KB']) {
    const index = await openIndexUrl(files, { memory });
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
  for (const error of errors) expect(error).toMatch(/^FormatError: .*: damaged: /);
  expect(errors.join()).toMatch(/row \d+ is in two places/);
});

it.each([null, {}, { name: 'a' }, 'a'])('refuses a manifest with a column %o', (column) => {
  const name = 'manifest-000003.json';
  const json = JSON.parse(readFileSync(new URL(name, golden), 'utf8'));
  const { checksum: _, ...rest } = { ...json, columns: [column] };
  const head = `${JSON.stringify(rest, null, 1).slice(0, -2)},\n`;
  const text = `${head} "checksum": "${fileChecksum(Buffer.from(head))}"\n}\n`;
  expect(() => parseManifest(Buffer.from(text), name, 3)).toThrow(
    `${name}: cannot be read as a manifest: "columns" expected names, types and uses`,
  );
});

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
