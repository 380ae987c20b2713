import { mkdtempSync, rmSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { FormatError } from '../../src/index';
import { FolderPlace } from '../../src/store/folder-place';
import { rangesIn } from './files';

let folder = '';
let files: FolderPlace;
const file = { name: 'rows.arrow', bytes: 1000 };
const content = Uint8Array.from({ length: 1000 }, (_, i) => i * 7);

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'halfspace-files-'));
  files = new FolderPlace(folder);
  writeFileSync(join(folder, file.name), content);
});

afterEach(async () => {
  await files.close();
  rmSync(folder, { recursive: true });
});

it('reads ranges in the order that they are asked for, also empty and overlapping ones', async () => {
  const wanted = [990, 0, 500, 3, 1000, 400].map((at, i) => ({
    at,
    length: [10, 1, 0, 700, 0, 9][i],
  }));
  const read = await rangesIn(files, file, wanted);
  expect(read).toEqual(wanted.map(({ at, length }) => content.slice(at, at + length)));
});

it('reads on where the name was deleted', async () => {
  await rangesIn(files, file, [{ at: 0, length: 1 }]);
  unlinkSync(join(folder, file.name));
  expect(await rangesIn(files, file, [{ at: 5, length: 2 }])).toEqual([content.slice(5, 7)]);
});

it('names a file that is missing, of another size, or cut while it is open', async () => {
  const path = join(folder, file.name);
  const refused = async (wanted: typeof file, words: RegExp) => {
    const error = await rangesIn(files, wanted, [{ at: 990, length: 10 }]).catch((one) => one);
    expect(error).toBeInstanceOf(FormatError);
    expect(error.message).toContain(join(folder, wanted.name));
    expect(error.message).toMatch(words);
  };
  await refused({ name: 'other.arrow', bytes: 1 }, /missing/);
  await refused({ ...file, bytes: 1001 }, /cut short: 1000 bytes, the manifest says 1001/);
  await refused({ ...file, bytes: 999 }, /damaged: 1000 bytes/);
  await rangesIn(files, file, [{ at: 0, length: 1000 }]);
  truncateSync(path, 995);
  await refused(file, /cut short while it was open/);
});

it('ends the reads that run before its files are closed', async () => {
  const large = { name: 'large.arrow', bytes: 2 ** 22 };
  const bytes = Uint8Array.from({ length: large.bytes }, (_, i) => i % 251);
  writeFileSync(join(folder, large.name), bytes);
  await rangesIn(files, large, [{ at: 0, length: 1 }]);
  // Too far apart to be read by one call.
  const wanted = Array.from({ length: 60 }, (_, i) => ({ at: 69_000 * i, length: 5 }));
  const reads = Array.from({ length: 4 }, () => rangesIn(files, large, wanted));
  await files.close();
  for (const read of await Promise.all(reads)) {
    expect(read).toEqual(wanted.map(({ at, length }) => bytes.slice(at, at + length)));
  }
  await expect(rangesIn(files, large, wanted)).rejects.toThrow('it is closed');
});

it('reads many ranges at once', async () => {
  const large = { name: 'large.arrow', bytes: 2 ** 22 };
  const bytes = Uint8Array.from({ length: large.bytes }, (_, i) => i % 251);
  writeFileSync(join(folder, large.name), bytes);
  const wanted = Array.from({ length: 60 }, (_, i) => ({
    at: 69_000 * (59 - i),
    length: 1 + 80 * i,
  }));
  const expected = wanted.map(({ at, length }) => bytes.slice(at, at + length));
  const reads = Array.from({ length: 4 }, () => rangesIn(files, large, wanted));
  for (const read of await Promise.all(reads)) expect(read).toEqual(expected);
  truncateSync(join(folder, large.name), 4_000_000);
  const error = await rangesIn(files, large, wanted).catch((one) => one);
  expect(error).toBeInstanceOf(FormatError);
  expect(error.message).toContain('large.arrow: cut short while it was open: it ends before byte');
  const signal = AbortSignal.abort(new Error('enough'));
  await expect(rangesIn(files, large, wanted, signal)).rejects.toThrow('enough');
});

it('reads more ranges that are near each other than one call takes', async () => {
  const large = { name: 'large.arrow', bytes: 2 ** 22 };
  const bytes = Uint8Array.from({ length: large.bytes }, (_, i) => i % 251);
  writeFileSync(join(folder, large.name), bytes);
  const wanted = Array.from({ length: 3000 }, (_, i) => ({ at: 900 * i, length: 1 + (i % 900) }));
  const expected = wanted.map(({ at, length }) => bytes.slice(at, at + length));
  // What was read before is waited for.
  for (let round = 0; round < 2; round++)
    expect(await rangesIn(files, large, wanted)).toEqual(expected);
  truncateSync(join(folder, large.name), 900 * 1500);
  await expect(rangesIn(files, large, wanted)).rejects.toThrow('cut short while it was open');
  const whole = wanted.slice(0, 1499);
  expect(await rangesIn(files, large, whole)).toEqual(expected.slice(0, 1499));
});

it('stops by its signal', async () => {
  const signal = AbortSignal.abort(new Error('enough'));
  await expect(rangesIn(files, file, [{ at: 0, length: 1 }], signal)).rejects.toThrow('enough');
});

it('has no manifest in a folder without one', async () => {
  expect(await files.manifest()).toBe(null);
});
