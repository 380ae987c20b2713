import { constants } from 'node:buffer';
import { closeSync, ftruncateSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openIndex } from '../../src/folder/index-folder';
import { planSegments, type Range } from '../../src/folder/segments';
import { readExactly } from '../../src/formats/file-io';
import {
  type FolderFile,
  fileName,
  type Manifest,
  manifestName,
  manifestText,
  type Segment,
} from '../../src/stored/manifest';
import { RowSet } from '../../src/stored/row-set';
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

/** The files of a segment that planning does not look at. */
const OTHER_FILES = {
  ...{ vectors: null, copies: null, places: null },
  ...{ blocks: {} as FolderFile, hashes: {} as FolderFile, buckets: {} as FolderFile },
};

/** A folder whose manifest claims one file of so many rows and bytes. */
async function claiming(name: string, { rows, bytes }: { rows: number; bytes: number }) {
  const folder = join(root, name);
  await mkdir(folder);
  const file = fileName({ kind: 'rows', generation: 1, part: 0, token: '00112233aabb' });
  const manifest: Omit<Manifest, 'checksum'> = {
    ...{ generation: 1, previous: null, rows, text: null, columns: [] },
    index: {
      ...{ bits: 256, projection: 'signs', seed: '0', zero: 'error', vectors: 'none', mean: null },
      ...{ isForeign: true, ids: 'row', nextRow: rows, report: null },
    },
    files: [
      {
        ...{ name: file, kind: 'rows', rows, bytes, checksum: '0123456789abcdef' },
        ...{ firstRow: 0, nextRow: rows },
      },
      ...(['blocks', 'hashes', 'buckets'] as const).map((kind, i) => ({
        name: fileName({ kind, generation: 1, part: 1 + i, token: '00112233aabb' }),
        ...{ kind, rows: 1, bytes: 100, checksum: '0123456789abcdef' },
      })),
    ],
  };
  writeFileSync(join(folder, manifestName(1)), manifestText(manifest));
  return { folder, path: join(folder, file) };
}

describe('a file above 2 GiB', { tags: 'full' }, () => {
  it('is read in pieces', async () => {
    const path = join(root, 'large');
    const byteLength = 2 * GIB + 4096;
    sparseFile(path, byteLength);
    const bytes = await readExactly(path, byteLength);
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
      await expect(readExactly(path, byteLength)).rejects.toThrow(
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

  it('more rows than its bytes can hold is refused', async () => {
    const { folder } = await claiming('dense.hs', { rows: 1000, bytes: 31_999 });
    await expect(openIndex(folder)).rejects.toThrow(/cannot hold 1000 rows in 31999 bytes/);
  });
});

describe('the files of a large index', () => {
  const planned = (segments: readonly Segment[], live: Uint32Array, rowsPerFile: number) =>
    planSegments({ segments, live, nextRow: (live.at(-1) ?? -1) + 1, rowsPerFile }).parts;

  it('have so many rows each, whatever there is', () => {
    const live = Uint32Array.from({ length: 1000 }, (_, i) => 4_000_000_000 + 3 * i);
    const parts = planned([], live, 300) as Range[];
    const counts = parts.map(({ firstRow, nextRow }) => {
      return live.filter((row) => row >= firstRow && row < nextRow).length;
    });
    expect(counts).toEqual([300, 300, 300, 100]);
  });

  it('stay when they are full, however much is added', () => {
    const live = Uint32Array.from({ length: 900 }, (_, row) => row);
    const full = [0, 300].map((firstRow) => ({
      rows: { rows: 300, firstRow, nextRow: firstRow + 300 } as Segment['rows'],
      columns: null,
      ...OTHER_FILES,
    }));
    expect(planned(full, live, 300)).toEqual([...full, { firstRow: 600, nextRow: 900 }]);
  });

  it('are few after any number of appends, and each row was written few times', () => {
    let segments: Segment[] = [];
    let [written, most] = [0, 0];
    const appends = 1000;
    for (let count = 1; count <= appends; count++) {
      const live = Uint32Array.from({ length: count }, (_, row) => row);
      segments = planned(segments, live, 1e6).map((part) => {
        if ('rows' in part) return part;
        const rows = part.nextRow - part.firstRow;
        written += rows;
        return {
          rows: { ...part, rows } as Segment['rows'],
          columns: null,
          ...OTHER_FILES,
        };
      });
      most = Math.max(most, segments.length);
    }
    expect(most).toBeLessThanOrEqual(10); // the binary digits of 1000
    expect(written).toBeLessThanOrEqual(10 * appends);
  });
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
    rows.addRange(first, end);
    for (let row = first; row < end; row++) plain.add(row);
  }
  rows.add(7);
  plain.add(7);
  expect([...rows.within(0, 2000)]).toEqual([...plain].sort((a, b) => a - b));
  expect([...rows.within(5, 9)]).toEqual([7, 8]);
  expect([rows.has(4_000_000_000), rows.has(7)]).toEqual([false, true]);
});
