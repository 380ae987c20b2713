import { readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { FolderFiles } from '../../src/folder/folder-files';
import { GenerationWriter } from '../../src/folder/generations';
import { SegmentWriter } from '../../src/folder/segment-writer';
import {
  Codes,
  codesFromArrow,
  codesToArrow,
  type FolderFile,
  IndexFolder,
  openIndexUrl,
  openRows,
  SimHashIndex,
  saveIndex,
  sparseFromArrow,
} from '../../src/node';
import { BlockReader } from '../../src/stored/block-reader';
import { contentNamed } from '../../src/stored/content';
import { fileChecksum, parseManifest } from '../../src/stored/manifest';
import { rowsOfBlock } from '../../src/table/sealed/segment-pieces';
import {
  readVectors,
  type SegmentLayout,
  type SegmentRows,
} from '../../src/table/sealed/segment-tables';
import { temporaryFolder } from '../folder/collection';
import { partitioned } from '../folder/partitioned';
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

type Change = (rows: SegmentRows) => SegmentRows;

/** A folder whose blocks were changed before they were written, with checksums that are right. */
async function changedBlocks(change: Change, layout: Partial<SegmentLayout>): Promise<string> {
  const place = join(await temporaryFolder(), 'places.hs');
  const draws = new Draws('in two places');
  const index = new SimHashIndex({ bits: 24, dimensions: 4, vectors: 'int8' });
  const ids = Array.from({ length: 60 }, (_, i) => `id ${i}`);
  index.addAll({ values: draws.gaussians(4 * 60), dimensions: 4 }, ids);
  partitioned(index, { recall: 0.1, k: 2, queries: 4, partitions: 4 });
  await saveIndex(index, place);
  const manifest = parseManifest(readFileSync(join(place, 'manifest.json')), place, 1);
  const files = new FolderFiles(place);
  const content = await contentNamed(files, manifest, { path: place });
  const [segment] = content.segments;
  const { table, vectors } = segment;
  const reader = new BlockReader(content);
  const writer = new GenerationWriter(place, manifest);
  const wanted = {
    header: { ...content.header, report: null },
    layout: { ...table.layout, ...layout },
  };
  const range = { firstRow: 0, nextRow: 60, count: 60 };
  const written = await SegmentWriter.open(writer, wanted, range);
  for (let block = 0; block < table.count; block++) {
    const [{ rows }] = await reader.blocks([{ segment, block }]);
    const span = { at: table.vectorsAt[block], length: table.vectorsBytes[block] };
    const [body] = await reader.ranges([{ file: vectors as FolderFile, range: span }]);
    const given = rowsOfBlock(table.layout, rows, readVectors(table, block, body));
    await written.add(change(given));
  }
  await files.close();
  const centroids = manifest.files.filter(({ kind }) => kind === 'centroids');
  const { rows, index: header, text, columns } = manifest;
  const all = [...(await written.end()), ...centroids];
  await writer.commit({ rows, index: header, text, columns, files: all });
  return place;
}

const firstIsZero: Change = (given) => {
  return { ...given, rows: given.rows.map((row, i) => (i === 0 ? 0 : row)) };
};
const withoutIds: Change = (given) => ({ ...given, ids: null });

it.each([
  ['a row is in two places', firstIsZero, {}, /row 0\b/, null],
  ['rows lack their ids', withoutIds, { id: null }, /ids are of kind/, /row \d+ is in two places/],
] as const)('refuses what searches find where %s', async (_, change, layout, problem, error) => {
  const place = await changedBlocks(change, layout);
  const { problems } = await IndexFolder.verify(place);
  expect(problems.map(({ message }) => message).join()).toMatch(problem);
  const files = bytesIn(place);
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
  for (const one of errors) expect(one).toMatch(/^FormatError: .*: damaged: /);
  if (error !== null) expect(errors.join()).toMatch(error);
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
