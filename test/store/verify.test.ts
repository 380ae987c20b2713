import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SimHashIndex } from '../../src/index/simhash-index';
import { checksum } from '../../src/kernels/xxhash';
import {
  type BlockTable,
  blocksFromArrow,
  blocksToArrow,
  vectorCheck,
} from '../../src/store/blocks';
import { GenerationWriter, newestManifest } from '../../src/store/generations';
import { IndexFolder, openIndex, saveIndex } from '../../src/store/index-folder';
import type { FolderFile, Manifest } from '../../src/store/manifest';
import { mergeFolders } from '../../src/store/merge-folders';
import { Draws } from '../reference/random';
import { bundled } from './child';
import { temporaryFolder } from './collection';
import { type Change, rewritten } from './rewritten';
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
 * code twice.
 */
describe('a folder of equal codes whose first rows were removed', () => {
  it('is sound', async () => {
    const folder = join(root, 'first-removed.hs');
    const index = new SimHashIndex<string>({ bits: 64 });
    const vector = [1, 2, 3];
    await index.addAll([vector, vector, vector], ['r0', 'r1', 'r2']);
    await saveIndex(index, folder);
    await (await IndexFolder.open(folder)).append([vector], ['r5']);
    await (await IndexFolder.open(folder)).remove(['r0', 'r1']);
    const sound = { generation: 3, rows: 2, problems: [] };
    expect(await IndexFolder.verify(folder)).toEqual(sound);
    const found = await (await openIndex(folder)).search(vector, { k: 9 });
    expect(found.ids).toEqual(['r2', 'r5']);
  });

  it('stays sound through random changes', { tags: 'thorough' }, async () => {
    const draws = new Draws(20261125);
    for (let sequence = 0; sequence < 3; sequence++) {
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
      await index.addAll(vectors, own);
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
  it('is sound at every moment', { timeout: 60_000, tags: 'thorough' }, async () => {
    const folder = join(root, 'busy.hs');
    const index = new SimHashIndex({ bits: 64 });
    await index.addAll([[1, 2, 3]], ['first']);
    await saveIndex(index, folder);
    const start = await bundled('append.child.ts');
    const child = start([folder, '15']);
    const found: unknown[] = [];
    let checks = 0;
    let isOver = false;
    child.end.then(() => {
      isOver = true;
    });
    for (; !isOver; checks++) found.push(...(await IndexFolder.verify(folder)).problems);
    expect([await child.end, child.output.stderr, found]).toEqual([0, '', []]);
    expect(checks).toBeGreaterThan(3);
    expect((await IndexFolder.verify(folder)).rows).toBe(16);
  });
});

describe('a folder of more than memory may hold', () => {
  it('is read whole, and stays where it is', { tags: 'full', timeout: 60_000 }, async () => {
    const folder = join(root, 'large.hs');
    const [count, dimensions] = [40_000, 512];
    const index = new SimHashIndex({
      ...{ bits: 2048, projection: 'hadamard', dimensions, vectors: 'float32' },
    });
    const values = new Float32Array(count * dimensions);
    const draws = new Draws(3);
    for (let i = 0; i < values.length; i++) values[i] = draws.integer(1000) - 500;
    await index.addAll({ values, dimensions });
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
    expect(await problemsOf('same', {})).toEqual([]);
  });

  it.each<[string, RegExp, Change]>([
    [
      'an id that is there twice',
      /two rows have the id row 7$/,
      { ids: (ids) => ids.fill('row 7', 0, 1) },
    ],
    [
      'vectors of other rows',
      /^block 0: the checksums of its vectors are of others$/,
      { vectors: (vectors) => vectors.reverse() },
    ],
    [
      'scales that are no numbers',
      /^block 0: scale NaN, coarse -1$/,
      { residuals: (residuals) => residuals.fill(255) },
    ],
    [
      'a row that is there twice',
      /row \d+ is there twice|is not where it can be/,
      { rows: (rows) => rows.fill(3) },
    ],
    [
      'a row that the segment cannot have',
      /damaged: row 60000 is not where it can be$/,
      { rows: (rows) => rows.fill(60_000) },
    ],
    [
      'copies of other rows',
      /its copies are not those of the rows$/,
      { copies: (positions) => positions.fill(1) },
    ],
  ])('has %s', async (what, message, change) => {
    const problems = await problemsOf(what.replaceAll(' ', '-'), change);
    expect(problems.join('\n')).toMatch(new RegExp(message, 'm'));
    expect(problems).toHaveLength(1);
  });

  it('has rows with codes whose vectors are zeros', async () => {
    const folder = join(root, 'zeros.hs');
    await small(folder);
    const check = vectorCheck([new Int8Array(8)]);
    await rewritten(folder, {
      vectors: (vectors) => vectors.fill(0),
      checks: (checks) => checks.fill(check),
    });
    const opened = await openIndex(folder, { memory: '8MB' });
    await expect(opened.search(new Array(8).fill(1), { k: 3 })).rejects.toThrow(
      /vectors-.*\.arrow: damaged: vector \d+ of block \d+ is that of a row with a code, and 0$/,
    );
    await opened.close();
  });

  it('has a block that is too short for its rows', async () => {
    const one = join(root, 'short.hs');
    await small(one);
    const manifest = (await newestManifest(one)) as Manifest;
    const writer = new GenerationWriter(one, manifest);
    const [segment] = manifest.segments;
    const own = tableIn(one, segment.files.blocks);
    const rows = readFileSync(join(one, segment.files.rows?.name ?? ''));
    const [first, ...others] = writtenOf(own.blocks);
    const { at, length } = first.bodies.rows;
    const short = { at, length: length >> 1 };
    const checked = checksum(rows.subarray(at, at + short.length));
    const changed = {
      ...first,
      bodies: { ...first.bodies, rows: { ...short, checksum: checked } },
    };
    const bytes = blocksToArrow(own.blocks.layout, [changed, ...others], writtenOf(own.buckets));
    const blocks = await writer.add('blocks', bytes);
    const { generation: _, previous: __, checksum: ___, ...content } = manifest;
    await writer.commit({
      ...content,
      segments: [{ ...segment, files: { ...segment.files, blocks } }],
    });
    await expect(openIndex(one, { memory: '8MB' })).rejects.toThrow(/block 0 is too short$/);
  });

  it('has the hashes of other rows', async () => {
    const [one, other] = [join(root, 'one.hs'), join(root, 'other.hs')];
    await small(one);
    await small(other, 'other ');
    const foreign = (await newestManifest(other))?.segments[0].files;
    const manifest = (await newestManifest(one)) as Manifest;
    const writer = new GenerationWriter(one, manifest);
    const [segment] = manifest.segments;
    const hashes = await writer.take(foreign?.hashes as FolderFile, other);
    const [own, theirs] = [tableIn(one, segment.files.blocks), tableIn(other, foreign?.blocks)];
    const bytes = blocksToArrow(
      own.blocks.layout,
      writtenOf(own.blocks),
      writtenOf(theirs.buckets),
    );
    const blocks = await writer.add('blocks', bytes);
    const { generation: _, previous: __, checksum: ___, ...content } = manifest;
    const files = { ...segment.files, hashes, blocks };
    await writer.commit({ ...content, segments: [{ ...segment, files }] });
    const { problems } = await IndexFolder.verify(one);
    expect(problems.map(({ message }) => message)).toEqual([
      expect.stringMatching(/its hashes of ids are not those of the rows, or out of order$/),
    ]);
  });
});

const tableIn = (folder: string, file: FolderFile | undefined) =>
  blocksFromArrow(readFileSync(join(folder, file?.name ?? '')), '');

/** The blocks of a table as they are written. */
const writtenOf = (table: BlockTable) =>
  Array.from(table.partitions, (partition, i) => ({
    partition,
    rows: table.rows[i],
    copies: table.copies[i],
    bodies: Object.fromEntries(
      Object.entries(table.bodies).map(([kind, { at, bytes, checksums }]) => {
        return [kind, { at: at[i], length: bytes[i], checksum: checksums[i] }];
      }),
    ),
  }));

/** Folders that were written once, by the name of their rows. */
const written = new Map<string, Promise<string>>();

/** An index of some rows in partitions, with hashes of their ids. */
async function small(folder: string, name = 'row ') {
  const made = written.get(name) ?? write(join(root, `${name}.hs`), name);
  written.set(name, made);
  cpSync(await made, folder, { recursive: true });
}

async function write(folder: string, name: string): Promise<string> {
  const count = 4200; // with hashes of ids, which fewer rows do not have
  const index = new SimHashIndex({ bits: 64, dimensions: 8, vectors: 'int8' });
  const values = new Draws(8).gaussians(8 * count);
  for (let row = 10; row < 100; row += 10) values.copyWithin(8 * row, 8 * (row - 3), 8 * row - 16);
  await index.addAll(
    { values, dimensions: 8 },
    Array.from({ length: count }, (_, i) => `${name}${i}`),
  );
  await index.optimize({ recall: 0.5, k: 2, queries: 4, partitions: 4, copies: true });
  await saveIndex(index, folder);
  return folder;
}

/** What is wrong with a folder whose first block was changed before it was written. */
async function problemsOf(name: string, change: Change) {
  const folder = join(root, `${name}.hs`);
  await small(folder);
  await rewritten(folder, change);
  const { problems } = await IndexFolder.verify(folder);
  return problems.map(({ message }) => message.replace(/^.*\.arrow: /, ''));
}

// 7 of one segment and 7n of another were no equal ids.
it('one id in columns of 32 and of 64 bits is there twice', async () => {
  const [a, b, all] = ['a', 'b', 'all'].map((name) => join(root, `${name} twice.hs`));
  const made = { bits: 64, dimensions: 2, vectors: 'float32', memory: '1MB' } as const;
  const rows = (ids: number[]) => [{ vectors: ids.map((id) => [id, 1]), ids }];
  await IndexFolder.build(a, rows([3, 7]), made);
  await IndexFolder.build(b, rows([7, 2 ** 40]), { memory: '1MB', like: a, firstRow: 2 });
  for (const part of [a, b])
    cpSync(part, all, { recursive: true, filter: (path) => !/json$/.test(path) });
  await mergeFolders(all, [a, b], { manifestsOnly: true, replace: true });
  const { problems } = await IndexFolder.verify(all);
  expect(problems.map(({ message }) => message)).toEqual([
    expect.stringContaining('two rows have the id 7'),
  ]);
});
