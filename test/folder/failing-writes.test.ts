import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import * as files from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { IndexFolder, openIndex } from '../../src/folder/index-folder';
import { saveIndex } from '../../src/folder/save-index';
import { indexToArrow, SimHashIndex } from '../../src/index';
import { codesFor, temporaryFolder } from './collection';

/**
 * Every call to the file system fails in turn; then a disk that is full, a folder that is locked.
 */

const faults = vi.hoisted(() => {
  const calls = ['open', 'link', 'rename', 'rm', 'readdir', 'mkdir', 'stat', 'readFile'] as const;
  const onFiles: readonly unknown[] = ['writeFile', 'sync', 'close', 'read', 'stat'];
  /** How many calls there were, and the number of the one that fails; -1 for none. */
  const state = { count: 0, failing: -1 };
  const mayFail = (name: unknown) => {
    if (state.count++ !== state.failing) return;
    throw Object.assign(new Error(`ENOSPC: no space left on device, ${name}`), { code: 'ENOSPC' });
  };
  /** A file whose calls fail as well. */
  const wrapped = (handle: files.FileHandle) =>
    new Proxy(handle, {
      get(target, name) {
        const value = Reflect.get(target, name) as unknown;
        if (typeof value !== 'function') return value;
        return async (...args: unknown[]) => {
          if (name === 'close') await value.apply(target, args); // lest handles leak
          if (onFiles.includes(name)) mayFail(name);
          return name === 'close' ? undefined : value.apply(target, args);
        };
      },
    });
  return { calls, state, mayFail, wrapped };
});

vi.mock('node:fs/promises', async (original) => {
  const real = await original<typeof import('node:fs/promises')>();
  const mocked: Record<string, unknown> = { ...real };
  for (const name of faults.calls) {
    mocked[name] = async (...args: unknown[]) => {
      faults.mayFail(name);
      const result = await (real[name] as (...given: unknown[]) => Promise<unknown>)(...args);
      return name === 'open' ? faults.wrapped(result as files.FileHandle) : result;
    };
  }
  return mocked;
});

afterEach(() => {
  faults.state.failing = -1;
});

const root = await temporaryFolder();

it('leaves the old index or the new one, whichever call fails', async () => {
  let failed = 0;
  let fine = 0;
  // Each round: a first save, then one of changes, with the call of that number failing.
  for (let round = 0; fine < 3; round++) {
    const folder = join(root, `round ${round}.hs`);
    const index = new SimHashIndex({ bits: 40 });
    index.addAll(codesFor(30, 1));
    const states = [null as Uint8Array | null];
    for (const change of [() => 0, () => index.addAll(codesFor(5, 2)), () => index.remove(7)]) {
      change();
      states.push(indexToArrow(index));
      Object.assign(faults.state, { count: 0, failing: round });
      const error = await saveIndex(index, folder).then(
        () => null,
        (cause: unknown) => cause as Error,
      );
      faults.state.failing = -1;
      if (faults.state.count <= round) fine++;
      if (error !== null) {
        failed++;
        expect(error.message).toMatch(/ENOSPC/);
      }
      const isThere = readdirSync(root).includes(`round ${round}.hs`);
      const names = isThere ? readdirSync(folder) : [];
      const isIndex = names.some((name) => /^manifest-\d+\.json$/.test(name));
      const now = isIndex ? indexToArrow(await openIndex(folder)) : null;
      const expected = error === null ? [states.at(-1)] : [states.at(-2), states.at(-1)];
      expect([round, expected.some((one) => isEqual(one ?? null, now))]).toEqual([round, true]);
      if (error !== null) break;
    }
  }
  expect(failed).toBeGreaterThan(10);
});

function isEqual(a: Uint8Array | null, b: Uint8Array | null): boolean {
  return a === b || (a !== null && b !== null && Buffer.compare(a, b) === 0);
}

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
      index.addAll(codesFor(1000, 1, 400));
      await saveIndex(index, folder);
      const before = indexToArrow(index);
      const filler = join(disk, 'filler');
      writeFileSync(filler, new Uint8Array(300_000));
      const names = readdirSync(folder);
      index.addAll(codesFor(3000, 2, 400));
      await expect(saveIndex(index, folder)).rejects.toThrow(/ENOSPC/);
      expect(readdirSync(folder)).toEqual(names);
      expect(indexToArrow(await openIndex(folder))).toEqual(before);
      await files.rm(filler);
      await saveIndex(index, folder);
      expect(indexToArrow(await openIndex(folder))).toEqual(indexToArrow(index));
    } finally {
      execFileSync('umount', [disk]);
    }
  });
});

describe('a folder that cannot be written to', () => {
  it('is read, and says so when it is saved to', async (context) => {
    const folder = join(root, 'locked.hs');
    const index = new SimHashIndex({ bits: 40 });
    index.addAll(codesFor(30, 1));
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
