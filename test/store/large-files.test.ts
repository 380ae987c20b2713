// @module-tag thorough

import { constants } from 'node:buffer';
import { closeSync, ftruncateSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readWhole } from '../../src/formats/file-io';
import { Codes, SimHashIndex } from '../../src/index';
import { RowSet } from '../../src/store/content';
import { newestManifest } from '../../src/store/generations';
import { IndexFolder, openIndex, saveIndex } from '../../src/store/index-folder';
import {
  type Manifest,
  manifestName,
  manifestText,
  type SegmentFiles,
} from '../../src/store/manifest';
import { temporaryFolder } from './collection';

/** Sizes that no test can fill: sparse files, and manifests that claim them. */

const root = await temporaryFolder();
const GIB = 2 ** 30;

function sparseFile(path: string, byteLength: number): void {
  const file = openSync(path, 'w');
  ftruncateSync(file, byteLength);
  writeSync(file, Buffer.from('the end'), 0, 7, byteLength - 7);
  closeSync(file);
}

/** A folder whose manifest claims one file of so many rows and bytes. */
async function claiming(name: string, { rows, bytes }: { rows: number; bytes: number }) {
  const folder = join(root, name);
  await mkdir(folder);
  const file = (kind: 'rows' | 'blocks', part: number, bytes: number) => ({
    name: `${kind}-000001-${part}-00112233aabb.arrow`,
    kind,
    bytes,
    checksum: '0123456789abcdef',
  });
  const own = file('rows', 0, bytes);
  const manifest: Omit<Manifest, 'checksum'> = {
    ...{ generation: 1, previous: null, rows, text: null, columns: [] },
    index: {
      ...{ bits: 256, projection: 'signs', seed: '0', zero: 'error', vectors: 'none' },
      ...{ isForeign: true, ids: 'row', nextRow: rows, report: null, copies: false, zeros: null },
    },
    segments: [
      {
        ...{ firstRow: 0, endRow: rows, count: rows },
        files: { rows: own, blocks: file('blocks', 1, 100) },
      },
    ],
    files: {},
  };
  writeFileSync(join(folder, manifestName(1)), manifestText(manifest));
  return { folder, path: join(folder, own.name) };
}

describe('a file above 2 GiB', { tags: 'full' }, () => {
  it('is read in pieces', async () => {
    const path = join(root, 'large');
    const byteLength = 2 * GIB + 4096;
    sparseFile(path, byteLength);
    const bytes = await readWhole(path);
    expect(bytes.length).toBe(byteLength);
    expect(Buffer.from(bytes.subarray(-9)).toString('latin1')).toBe('\0\0the end');
    rmSync(path);
  });

  // Node 22 and later have no limit that a file could exceed.
  it.runIf(constants.MAX_LENGTH < 2 ** 40)(
    'is refused beyond what the engine holds in one piece, before memory is taken',
    async () => {
      const path = join(root, 'larger');
      const byteLength = constants.MAX_LENGTH + 8;
      sparseFile(path, byteLength);
      const before = process.memoryUsage().arrayBuffers;
      await expect(readWhole(path)).rejects.toThrow(
        `larger: ${byteLength} bytes, this engine holds at most ${constants.MAX_LENGTH} in one piece`,
      );
      expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(GIB);
      rmSync(path);
    },
  );
});

describe('an index that claims', () => {
  it('more bytes than its file has is refused before memory is taken', async () => {
    const { folder, path } = await claiming('short.hs', { rows: 1000, bytes: 3 * GIB });
    writeFileSync(path, 'ARROW1');
    const before = process.memoryUsage().arrayBuffers;
    await expect(openIndex(folder)).rejects.toThrow(
      `${path}: cut short: 6 bytes, the manifest says ${3 * GIB}`,
    );
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(GIB);
  });
});

it('files of any number of appends are few, and each row was written few times', async () => {
  const folder = join(root, 'appends.hs');
  await saveIndex(new SimHashIndex({ bits: 8 }), folder);
  const opened = await IndexFolder.open(folder);
  let [written, most] = [0, 0];
  let before = new Set<string>();
  const appends = 100;
  for (let count = 1; count <= appends; count++) {
    await opened.append(Codes.from(Uint8Array.of(count), { bits: 8 }));
    const { segments } = (await newestManifest(folder)) as Manifest;
    const nameOf = ({ files }: SegmentFiles) => files.rows?.name ?? '';
    for (const one of segments) written += before.has(nameOf(one)) ? 0 : one.count;
    before = new Set(segments.map(nameOf));
    most = Math.max(most, segments.length);
  }
  expect(opened.rowCount).toBe(appends);
  expect(most).toBeLessThanOrEqual(7); // the binary digits of 100
  expect(written).toBeLessThanOrEqual(7 * appends);
});

it('a set of rows is what a set is', () => {
  const rows = new RowSet();
  const plain = new Set<number>();
  for (const [first, end] of [
    [3, 5],
    [8, 40],
    [41, 41],
    [70, 71],
    [64, 66],
    [1000, 1003],
  ]) {
    for (let row = first; row < end; row++) {
      rows.add(row);
      plain.add(row);
    }
  }
  rows.add(7);
  plain.add(7);
  expect([...rows.within(0, 2000)]).toEqual([...plain].sort((a, b) => a - b));
  expect([...rows.within(5, 9)]).toEqual([7, 8]);
  expect([rows.has(4_000_000_000), rows.has(7)]).toEqual([false, true]);
});
