import { link, readdir, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { indexToArrow, SimHashIndex } from '../../src/index';
import { FolderPlace } from '../../src/store/folder-place';
import { GenerationWriter, newestManifest } from '../../src/store/generations';
import { IndexFolder, openIndex, saveIndex } from '../../src/store/index-folder';
import type { Manifest } from '../../src/store/manifest';
import { withPlace } from '../../src/store/place';
import { bundled } from './child';
import { codesFor, temporaryFolder } from './collection';

const root = await temporaryFolder();

it('two processes that save at once: one wins, the other is told', {
  tags: 'thorough',
  timeout: 120_000,
}, async () => {
  const folder = join(root, 'docs.hs');
  const first = new SimHashIndex({ bits: 40 });
  first.add(Uint8Array.of(9, 9, 9, 9, 9), 'first');
  await saveIndex(first, folder);
  const start = await bundled('writer.child.ts');
  const writers = ['a', 'b'].map((id) => start([folder, id]));
  const rounds = 15;
  for (let round = 1; round <= rounds; round++) {
    await Promise.all(writers.map((writer) => writer.printed(`ready ${round}\n`)));
    for (const { process } of writers) process.stdin?.write('go\n');
    const ends = [`saved ${round}\n`, `refused ${round}: `];
    const outcome = await Promise.all(
      writers.map(async ({ output, printed }) => {
        await Promise.race(ends.map(printed));
        return ends.findIndex((end) => output.stdout.includes(end));
      }),
    );
    expect([round, [...outcome].sort()]).toEqual([round, [0, 1]]);
    const index = await openIndex(folder);
    expect(index.count).toBe(round + 1);
    expect(index.has(`${'ab'[outcome.indexOf(0)]} ${round}`)).toBe(true);
    for (const { process } of writers) process.stdin?.write('next\n');
  }
  for (const writer of writers) {
    writer.process.kill('SIGKILL');
    await writer.end;
    const told = writer.output.stdout.match(/refused .*/g) ?? [];
    for (const line of told) {
      expect(line).toMatch(
        /another writer saved generation \d+ meanwhile|is at generation \d+, this/,
      );
    }
  }
});

it('a writer that slept through three generations does not take a name that is free again', async () => {
  const folder = join(root, 'late.hs');
  const index = new SimHashIndex({ bits: 40 });
  await index.addAll(codesFor(20, 1));
  await saveIndex(index, folder);
  const base = (await newestManifest(folder)) as Manifest;
  const { generation: _, previous: __, checksum: ___, ...content } = base;
  const late = new GenerationWriter(folder, base);
  for (let row = 10; row < 13; row++) {
    index.remove(row);
    await saveIndex(index, folder);
  }
  expect(await readdir(folder)).not.toContain('manifest-000002.json');
  await expect(late.commit(content)).rejects.toThrow(
    /another writer saved generation 2 meanwhile, nothing was written/,
  );
  expect(indexToArrow(await openIndex(folder))).toEqual(indexToArrow(index));
  expect(await readdir(folder)).not.toContain('manifest-000002.json');
});

it('a writer whose own files the winner has deleted says that it has lost', async () => {
  const folder = join(root, 'lost files.hs');
  const index = new SimHashIndex({ bits: 40 });
  await index.addAll(codesFor(20, 1));
  await saveIndex(index, folder);
  const late = new GenerationWriter(folder, await newestManifest(folder));
  const saving = late.run(async () => {
    const file = await late.add('columns', new Uint8Array(8));
    index.remove(3);
    await saveIndex(index, folder);
    const [place, whole] = [new FolderPlace(folder), { at: 0, length: 8, to: 0 }];
    await withPlace(place, () => place.read(file, [whole], new Uint8Array(8)));
  });
  await expect(saving).rejects.toThrow(
    /another writer saved generation 2 meanwhile, nothing was written/,
  );
});

vi.mock('node:fs/promises', async (original) => {
  const real = await original<typeof import('node:fs/promises')>();
  return { ...real, link: vi.fn(real.link) };
});

it('works where there are no hard links', async () => {
  const folder = join(root, 'no links.hs');
  vi.mocked(link).mockRejectedValue(Object.assign(new Error('no links'), { code: 'ENOTSUP' }));
  try {
    const index = new SimHashIndex({ bits: 40 });
    for (let generation = 1; generation < 5; generation++) {
      await index.addAll(codesFor(20, generation));
      await saveIndex(index, folder);
      expect(indexToArrow(await openIndex(folder))).toEqual(indexToArrow(index));
    }
    expect(vi.mocked(link)).toHaveBeenCalled();
    const names = await readdir(folder);
    expect(names.filter((name) => /^manifest/.test(name)).sort()).toEqual([
      'manifest-000003.json',
      'manifest-000004.json',
      'manifest.json',
    ]);
  } finally {
    vi.mocked(link).mockReset();
  }
});

it('saves and reads whatever the clock says', async () => {
  const folder = join(root, 'clock.hs');
  const index = new SimHashIndex({ bits: 40 });
  vi.useFakeTimers({ toFake: ['Date'] });
  try {
    for (const [step, year] of [2030, 1971, 2000, 1970].entries()) {
      vi.setSystemTime(new Date(year, 1));
      await index.addAll(codesFor(20, step));
      await saveIndex(index, folder);
      // What was just written is the oldest, then the newest by its time.
      for (const name of await readdir(folder)) {
        if (name.includes(`-00000${step + 1}`)) {
          await utimes(join(folder, name), new Date(year, 1), new Date(year, 1));
        }
      }
      expect(indexToArrow(await openIndex(folder))).toEqual(indexToArrow(index));
      expect((await IndexFolder.verify(folder)).problems).toEqual([]);
    }
  } finally {
    vi.useRealTimers();
  }
});
