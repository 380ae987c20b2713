import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { FolderFiles } from '../../src/folder/folder-files';
import { GenerationWriter, newestManifest } from '../../src/folder/generations';
import { IndexFolder, openIndex } from '../../src/folder/index-folder';
import { saveIndex } from '../../src/folder/save-index';
import { SegmentWriter } from '../../src/folder/segment-writer';
import { SimHashIndex } from '../../src/index/simhash-index';
import { BlockReader } from '../../src/stored/block-reader';
import { contentNamed } from '../../src/stored/content';
import type { FolderFile, Manifest } from '../../src/stored/manifest';
import { rowsOfBlock } from '../../src/table/sealed/segment-pieces';
import { readVectors, type SegmentRows } from '../../src/table/sealed/segment-tables';
import { Draws } from '../reference/random';
import { bundled } from './child';
import { temporaryFolder } from './collection';
import { partitioned } from './partitioned';
import type { Reading } from './verify.child';

const root = await temporaryFolder();

describe('a check that is stopped', () => {
  it('is no damage, wherever it was', async () => {
    const folder = join(root, 'some.hs');
    await small(folder);
    for (const share of [0, 0.5, 0.9]) {
      const stop = new AbortController();
      const onProgress = (done: number, total: number) => done >= share * total && stop.abort();
      const call = { signal: stop.signal, onProgress: onProgress as never };
      await expect(IndexFolder.verify(folder, call)).rejects.toThrow(/abort/i);
    }
    expect((await IndexFolder.verify(folder)).problems).toEqual([]);
  });

  it('says how far it is, up to the end', async () => {
    const folder = join(root, 'progress.hs');
    await small(folder);
    const said: [number, number][] = [];
    await IndexFolder.verify(folder, { onProgress: (...one) => said.push(one) });
    expect(said.length).toBeGreaterThan(10);
    const [, total] = said[0];
    said.forEach(([done, all], i) => {
      expect([all, done >= (said[i - 1]?.[0] ?? 0)]).toEqual([total, true]);
      expect(done < total).toBe(i < said.length - 1);
    });
    expect(said.at(-1)).toEqual([total, total]);
  });
});

/**
 * When more than half of the rows of a segment are gone it is written again without them. Rows of
 * later segments still named one of them as the first with their code; `verify` then counted that
 * code twice, and a repair threw the newest generation away.
 */
describe('a folder of equal codes whose first rows were removed', () => {
  it('is sound, and a repair keeps its rows', async () => {
    const folder = join(root, 'first-removed.hs');
    const index = new SimHashIndex<string>({ bits: 64 });
    const vector = [1, 2, 3];
    index.addAll([vector, vector, vector], ['r0', 'r1', 'r2']);
    await saveIndex(index, folder);
    await (await IndexFolder.open(folder)).append([vector], ['r5']);
    await (await IndexFolder.open(folder)).remove(['r0', 'r1']);
    const sound = { generation: 3, rows: 2, problems: [] };
    expect(await IndexFolder.verify(folder)).toEqual(sound);
    expect(await IndexFolder.repair(folder)).toEqual(sound);
    const found = await (await openIndex(folder)).search(vector, { k: 9 });
    expect(found.ids).toEqual(['r2', 'r5']);
  });

  it('stays sound through random changes', async () => {
    const draws = new Draws(20261125);
    for (let sequence = 0; sequence < 12; sequence++) {
      const folder = join(root, `changes-${sequence}.hs`);
      const ids = new Set<string>();
      let next = 0;
      const rows = () => {
        const own = Array.from({ length: 1 + draws.integer(6) }, () => `id ${next++}`);
        for (const id of own) ids.add(id);
        return { own, vectors: own.map(() => [1, draws.integer(2), 1]) };
      };
      const index = new SimHashIndex<string>({ bits: 64 });
      const { own, vectors } = rows();
      index.addAll(vectors, own);
      await saveIndex(index, folder);
      for (let step = 0; step < 10; step++) {
        const opened = await IndexFolder.open(folder);
        if (draws.integer(2) === 0) {
          const more = rows();
          await opened.append(more.vectors, more.own);
        } else {
          const gone = [...ids].filter(() => draws.integer(2) === 0);
          for (const id of gone) ids.delete(id);
          await opened.remove(gone);
        }
        const { problems, rows: count } = await IndexFolder.verify(folder);
        expect([sequence, step, problems, count]).toEqual([sequence, step, [], ids.size]);
      }
      const { ids: found } = await (await openIndex(folder)).search([1, 1, 1], { k: 100 });
      expect(new Set(found)).toEqual(ids);
    }
  });
});

describe('a folder that another process changes', () => {
  it('is sound at every moment', { timeout: 60_000 }, async () => {
    const folder = join(root, 'busy.hs');
    const index = new SimHashIndex({ bits: 64 });
    index.addAll([[1, 2, 3]], ['first']);
    await saveIndex(index, folder);
    const start = await bundled('append.child.ts');
    const child = start([folder, '40']);
    const found: unknown[] = [];
    let checks = 0;
    let isOver = false;
    child.end.then(() => {
      isOver = true;
    });
    for (; !isOver; checks++) found.push(...(await IndexFolder.verify(folder)).problems);
    expect([await child.end, child.output.stderr, found]).toEqual([0, '', []]);
    expect(checks).toBeGreaterThan(3);
    expect((await IndexFolder.verify(folder)).rows).toBe(41);
  });
});

describe('a folder of more than memory may hold', () => {
  it('is read whole, and stays where it is', { tags: 'thorough', timeout: 60_000 }, async () => {
    const folder = join(root, 'large.hs');
    const [count, dimensions] = [40_000, 512];
    const index = new SimHashIndex({
      ...{ bits: 2048, projection: 'hadamard', dimensions, vectors: 'float32' },
    });
    const values = new Float32Array(count * dimensions);
    const draws = new Draws(3);
    for (let i = 0; i < values.length; i++) values[i] = draws.integer(1000) - 500;
    index.addAll({ values, dimensions });
    await saveIndex(index, folder);
    const start = await bundled('verify.child.ts');
    const child = start([folder], ['--expose-gc']);
    expect([await child.end, child.output.stderr]).toEqual([0, '']);
    const { rows, problems, bytes, peakBytes }: Reading = JSON.parse(child.output.stdout);
    expect([rows, problems]).toEqual([count, []]);
    expect(bytes).toBeGreaterThan(count * dimensions * 4);
    expect(peakBytes).toBeLessThan(0.8 * bytes); // an index in memory takes 1.5 times as much
  });
});

/** Files that are as they were written, and say what cannot be. */
describe('a folder that was written wrongly', () => {
  it('is sound where nothing was changed', async () => {
    expect(await problemsOf('same', (block) => block)).toEqual([]);
  });

  it.each<[string, RegExp, (block: SegmentRows) => void]>([
    [
      'an id that is there twice',
      /^row \d+: its id is there twice$/,
      ({ ids }) => {
        (ids as string[])[0] = 'row 7';
      },
    ],
    [
      'a code marked as another',
      /its code is not that of row \d+, which "first" names$/,
      ({ rows, firsts }) => {
        if (firsts !== null && firsts !== undefined && rows.length > 1) firsts[1] = rows[0];
      },
    ],
    [
      'a row with the code of a later one',
      /its code cannot be that of row/,
      ({ firsts }) => {
        firsts?.fill(90);
      },
    ],
    [
      'vectors of other rows',
      /^the vectors of block 0 are not those/,
      ({ vectors }) => {
        vectors?.reverse();
      },
    ],
    [
      'scales that are no numbers',
      /its vector or scale is not finite/,
      ({ scales }) => {
        scales?.fill(Number.NaN);
      },
    ],
    [
      'a row that is there twice',
      /row \d+ is there twice|is not where it can be/,
      ({ rows }) => {
        rows.fill(3);
      },
    ],
  ])('has %s', async (what, message, change) => {
    const problems = await problemsOf(what.replaceAll(' ', '-'), (block) => {
      change(block);
      return block;
    });
    expect(problems.join('\n')).toMatch(new RegExp(message, 'm'));
    expect(problems).toHaveLength(1);
  });

  it('has the hashes of other rows', async () => {
    const [one, other] = [join(root, 'one.hs'), join(root, 'other.hs')];
    await small(one);
    await small(other, 'other ');
    const hashes = (await newestManifest(other))?.files.filter(({ kind }) => kind !== 'rows');
    await again(one, async (manifest, writer) => {
      const files: FolderFile[] = [];
      for (const file of manifest.files) {
        const own = hashes?.find(({ kind }) => kind === file.kind) as FolderFile;
        if (file.kind !== 'hashes' && file.kind !== 'buckets') files.push(file);
        else files.push(await writer.add(file.kind, await bytesOf(other, own), own.rows));
      }
      return files;
    });
    const { problems } = await IndexFolder.verify(one);
    expect(problems.map(({ message }) => message)).toEqual([
      expect.stringMatching(/its hashes of ids are not those of the rows, or out of order$/),
    ]);
  });
});

/** An index of 100 rows in some partitions, some with equal codes. */
async function small(folder: string, name = 'row ') {
  const index = new SimHashIndex({ bits: 64, dimensions: 8, vectors: 'int8' });
  const values = new Draws(8).gaussians(800);
  for (let row = 10; row < 100; row += 10) values.copyWithin(8 * row, 8 * (row - 3), 8 * row - 16);
  index.addAll(
    { values, dimensions: 8 },
    Array.from({ length: 100 }, (_, i) => `${name}${i}`),
  );
  partitioned(index, { recall: 0.5, k: 2, queries: 4, partitions: 4 });
  await saveIndex(index, folder);
}

async function bytesOf(folder: string, file: FolderFile): Promise<Uint8Array> {
  const files = new FolderFiles(folder);
  const [bytes] = await files.read(file, [{ at: 0, length: file.bytes }]);
  await files.close();
  return bytes;
}

/** Makes a generation of other files. */
async function again(
  folder: string,
  make: (manifest: Manifest, writer: GenerationWriter) => Promise<FolderFile[]>,
): Promise<void> {
  const manifest = (await newestManifest(folder)) as Manifest;
  const writer = new GenerationWriter(folder, manifest);
  const { rows, index, text, columns } = manifest;
  await writer.commit({ rows, index, text, columns, files: await make(manifest, writer) });
}

/** What is wrong with a folder whose first block was changed before it was written. */
async function problemsOf(name: string, change: (block: SegmentRows) => SegmentRows) {
  const folder = join(root, `${name}.hs`);
  await small(folder);
  await again(folder, async (manifest, writer) => {
    const files = new FolderFiles(folder);
    const content = await contentNamed(files, manifest, { path: folder });
    const reader = new BlockReader(content);
    const [segment] = content.segments;
    const { table, rows, vectors } = segment;
    const { report: _, ...header } = content.header;
    const place = { firstRow: 0, nextRow: 100, count: rows.rows };
    const wanted = { header: { ...header, report: null }, layout: table.layout };
    const segments = await SegmentWriter.open(writer, wanted, place);
    for (let block = 0; block < table.count; block++) {
      const [own] = await reader.blocks([{ segment, block }]);
      const range = { at: table.vectorsAt[block], length: table.vectorsBytes[block] };
      const [body] = await reader.ranges([{ file: vectors as FolderFile, range }]);
      const given = rowsOfBlock(table.layout, own.rows, readVectors(table, block, body));
      await segments.add(block === 0 ? change(given) : given);
    }
    await files.close();
    return [
      ...(await segments.end()),
      ...manifest.files.filter(({ kind }) => kind === 'centroids'),
    ];
  });
  const { problems } = await IndexFolder.verify(folder);
  return problems.map(({ message }) => message.replace(/^.*\.arrow: /, ''));
}
