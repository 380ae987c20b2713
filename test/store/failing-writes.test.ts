import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, statfsSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { indexToArrow, SimHashIndex } from '../../src/index';
import { IndexFolder, openIndex, saveIndex } from '../../src/store/index-folder';
import { Draws } from '../reference/random';
import { codesFor, temporaryFolder } from './collection';

/** A disk that is full, a folder that is locked; `npm run faults` has each call fail in turn. */

const root = await temporaryFolder();

/** Needs rights that a test may not have: it says so, and is seen as skipped. */
function attempt(command: string, ...args: string[]): boolean {
  try {
    execFileSync(command, args, { stdio: 'pipe' });
    return true;
  } catch (error) {
    console.warn(`skipped: ${command} ${args.join(' ')}: ${(error as Error).message}`);
    return false;
  }
}

describe('a disk that is full', () => {
  it('leaves the index as it was, and takes it again when there is room', async (context) => {
    const disk = join(root, 'disk');
    mkdirSync(disk);
    if (!attempt('mount', '-t', 'tmpfs', '-o', 'size=512k', 'tmpfs', disk)) return context.skip();
    try {
      const folder = join(disk, 'docs.hs');
      const index = new SimHashIndex({ bits: 400 });
      await index.addAll(codesFor(1000, 1, 400));
      await saveIndex(index, folder);
      const before = indexToArrow(index);
      const filler = join(disk, 'filler');
      writeFileSync(filler, new Uint8Array(300_000));
      const names = readdirSync(folder);
      await index.addAll(codesFor(3000, 2, 400));
      await expect(saveIndex(index, folder)).rejects.toThrow(/ENOSPC/);
      expect(readdirSync(folder)).toEqual(names);
      expect(indexToArrow(await openIndex(folder))).toEqual(before);
      await rm(filler);
      await saveIndex(index, folder);
      expect(indexToArrow(await openIndex(folder))).toEqual(indexToArrow(index));
    } finally {
      execFileSync('umount', [disk]);
    }
  });
});

describe('a disk that fills while a folder is changed without an index in memory', {
  tags: 'thorough',
}, () => {
  it('leaves the index as it was, and no file of the change', async (context) => {
    const disk = join(root, 'small-disk');
    mkdirSync(disk);
    if (!attempt('mount', '-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', disk)) return context.skip();
    try {
      const folder = join(disk, 'docs.hs');
      const dimensions = 16;
      const rows = (seed: number, count: number) => {
        return { values: new Draws(seed).gaussians(count * dimensions), dimensions };
      };
      const many = async function* () {
        for (let i = 0; i < 20; i++) yield { vectors: rows(i, 3000) };
      };
      const options = { bits: 64, dimensions, vectors: 'float32', memory: '8MB' } as const;
      await expect(IndexFolder.build(folder, many(), options)).rejects.toThrow(
        /ENOSPC|the disk has/,
      );
      expect(existsSync(folder) ? readdirSync(folder) : []).toEqual([]);
      await IndexFolder.build(folder, [{ vectors: rows(1, 3000) }], options);
      const opened = await IndexFolder.open(folder);
      await opened.remove([1, 2, 3]);
      const names = readdirSync(folder).sort();
      const before = indexToArrow(await openIndex(folder));
      const { bavail, bsize } = statfsSync(disk);
      writeFileSync(join(disk, 'filler'), new Uint8Array(bavail * bsize - 200_000));
      await expect(opened.append(rows(2, 20_000))).rejects.toThrow(/ENOSPC|the disk has/);
      await expect(opened.compact()).rejects.toThrow(/ENOSPC|the disk has/);
      const optimized = opened.optimize({ partitions: 4, queries: 20, memory: '8MB' });
      await expect(optimized).rejects.toThrow(/ENOSPC|the disk has/);
      expect(readdirSync(folder).sort()).toEqual(names);
      expect(indexToArrow(await openIndex(folder))).toEqual(before);
      expect((await IndexFolder.verify(folder)).problems).toEqual([]);
    } finally {
      execFileSync('umount', [disk]);
    }
  });
});

describe('a folder that cannot be written to', () => {
  it('is read, and says so when it is saved to', async (context) => {
    const folder = join(root, 'locked.hs');
    const index = new SimHashIndex({ bits: 40 });
    await index.addAll(codesFor(30, 1));
    await saveIndex(index, folder);
    const before = indexToArrow(index);
    // Even the superuser may not write to an immutable folder.
    const isRoot = process.getuid?.() === 0;
    const lock = isRoot ? ['chattr', '+i'] : ['chmod', '555'];
    const unlock = isRoot ? ['chattr', '-i'] : ['chmod', '755'];
    if (!attempt(lock[0], lock[1], folder)) return context.skip();
    try {
      await expect((await IndexFolder.open(folder)).remove([3])).rejects.toThrow(/EPERM|EACCES/);
      expect(indexToArrow(await openIndex(folder))).toEqual(before);
      expect((await IndexFolder.verify(folder)).problems).toEqual([]);
    } finally {
      execFileSync(unlock[0], [unlock[1], folder]);
    }
    expect(await (await IndexFolder.open(folder)).remove([3])).toBe(1);
  });

  it('is not made below a file, or where no folder is', async () => {
    const index = new SimHashIndex({ bits: 8 });
    const file = join(root, 'a file');
    writeFileSync(file, 'x');
    await expect(saveIndex(index, join(file, 'docs.hs'))).rejects.toThrow(/ENOTDIR/);
    await expect(saveIndex(index, join(root, 'not', 'there'))).rejects.toThrow(/ENOENT/);
  });
});
