import { cpSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  Codes,
  FormatError,
  IndexFolder,
  openIndex,
  RowBatch,
  SimHashIndex,
  saveIndex,
} from '../../src/node';
import { FolderPlace } from '../../src/store/folder-place';
import { openStored, type StoredIndex } from '../../src/store/stored-index';
import { Draws } from '../reference/random';
import { temporaryFolder } from './collection';
import { bodiesOf, fileOf, newestIn } from './files';
import { clustered, DIMENSIONS, found, KINDS, writeFolder } from './kinds';

const root = await temporaryFolder();
const [kind] = KINDS;
let sound = '';
const query = clustered(9, 1);

beforeAll(async () => {
  sound = await writeFolder(root, kind);
});

let copies = 0;
/** A copy of the folder that may be harmed. */
function copy(): string {
  const folder = join(root, `copy-${copies++}.hs`);
  cpSync(sound, folder, { recursive: true });
  return folder;
}

/** An index with a carried column. */
async function carrying(): Promise<string> {
  const folder = join(root, `carrying-${copies++}.hs`);
  const index = new SimHashIndex<string>({ bits: 64, dimensions: DIMENSIONS, vectors: 'int8' });
  const ids = Array.from({ length: 5000 }, (_, i) => `row ${i} é`);
  await index.addAll({ values: clustered(1, 5000), dimensions: DIMENSIONS }, ids);
  await saveIndex(index, folder, { columns: RowBatch.of({ size: ids.map((_, i) => i) }) });
  return folder;
}

function change(path: string, at: number): void {
  const bytes = readFileSync(path);
  bytes[at] ^= 4;
  writeFileSync(path, bytes);
}

describe('a file that is damaged', () => {
  it('is named with its block, where a search reads the block', async () => {
    const folder = copy();
    const path = fileOf(folder, 'rows');
    const index = await openIndex(folder, { memory: '64MB' });
    const { at, length } = bodiesOf(readFileSync(path))[3];
    change(path, at + length - 1);
    const error = await index.search(query, { k: 9, rank: 'hamming' }).catch((one) => one);
    expect(error).toBeInstanceOf(FormatError);
    expect(error.message).toMatch(/damaged: block \d+ fails its checksum/);
    expect(error.message).toContain(path);
    await index.close();
  });

  it('is named with block and vector, where a search reads the vector', async () => {
    const folder = copy();
    const path = fileOf(folder, 'vectors');
    const bytes = readFileSync(path);
    bytes.fill(0x3f, 2000, bytes.length - 2000);
    writeFileSync(path, bytes);
    const index = await openIndex(folder, { memory: '64MB' });
    const error = await index.search(query).catch((one) => one);
    expect(error).toBeInstanceOf(FormatError);
    expect(error.message).toMatch(/damaged: vector \d+ of block \d+ fails its checksum/);
    expect(error.message).toContain(path);
    // The index goes on with what is sound.
    expect((await index.search(query, { rank: 'hamming' })).rows).toHaveLength(10);
    await index.close();
  });

  it('is named where it was cut under an open index', async () => {
    const folder = copy();
    const path = fileOf(folder, 'rows');
    const index = await openIndex(folder, { memory: '64MB' });
    await index.search(query);
    truncateSync(path, 3000);
    await expect(index.search(query, { rank: 'hamming' })).rejects.toThrow(
      `${path}: cut short while it was open`,
    );
    await index.close();
  });

  /** What reads a file of some kind, of an index that carries the column "size". */
  const reads = {
    rows: (index: StoredIndex) => index.search(query, { rank: 'hamming' }),
    vectors: (index: StoredIndex) => index.search(query),
    hashes: (index: StoredIndex) => index.get('row 8 é'),
    columns: (index: StoredIndex) => index.columns(['size'], { rows: [8] }),
  };
  it.each(Object.keys(reads) as (keyof typeof reads)[])(
    'is named where it was cut or changed under an open index: %s',
    async (kind) => {
      for (const isCut of [true, false]) {
        const folder = await carrying();
        const path = fileOf(folder, kind);
        const index = await openIndex(folder, { memory: '64MB' });
        const bytes = readFileSync(path);
        if (isCut) truncateSync(path, 20);
        else writeFileSync(path, bytes.fill(0x55, 8));
        const error = await reads[kind](index).catch((one) => one);
        expect(error).toBeInstanceOf(FormatError);
        expect(error.message).toContain(path);
        if (!isCut && kind !== 'columns') {
          expect(error.message).toMatch(/(block|bucket) \d+ .*fails its checksum/);
        }
        await index.close();
      }
    },
  );

  it.each(['blocks', 'space', 'removed', 'manifest'])('is named at open: %s', async (name) => {
    const folder = copy();
    const path = name === 'manifest' ? newestIn(folder) : fileOf(folder, name);
    change(path, Math.floor(readFileSync(path).length / 2));
    const error = await openIndex(folder, { memory: '64MB' }).catch((one) => one);
    expect(error).toBeInstanceOf(FormatError);
    expect(error.message).toContain(path);
  });
});

it('shows its opening as progress', async () => {
  const seen: number[][] = [];
  const onProgress = (...at: number[]) => seen.push(at);
  await (await openIndex(sound, { memory: '64MB', onProgress })).close();
  expect(seen).toEqual([[1, 1]]);
});

it('refuses a limit below what it must hold, and what is no number of bytes', async () => {
  await expect(openIndex(sound, { memory: 1000 })).rejects.toThrow(
    /"memory" expected more than \d+: centroids and the places of rows, got 1000/,
  );
  await expect(openIndex(sound, { memory: 'much' })).rejects.toThrow(/"memory" expected a number/);
  await expect(openIndex(sound, { memory: 0 })).rejects.toThrow(/"memory"/);
  await expect(openIndex(sound, { memory: true as never })).rejects.toThrow(TypeError);
});

it('refuses a limit that a partition does not fit, and takes vectors as they fit', async () => {
  const large = await openIndex(sound, { memory: '64MB' });
  const { fixed } = large.figures;
  await large.close();
  const index = await openIndex(sound, { memory: fixed + 1000 });
  await expect(index.search(query)).rejects.toThrow(
    /^"memory" is too small: a partition takes [1-9]\d* bytes/,
  );
  await index.close();
  const small = await openIndex(sound, { memory: fixed + 40_000 });
  const whole = await openIndex(sound);
  const narrow = { k: 9, probes: 60, oversample: 2 };
  expect(found(await small.search(query, narrow))).toEqual(found(whole.search(query, narrow)));
  // More vectors than fit are ranked some at a time.
  const many = { ...narrow, k: 900 };
  expect(found(await small.search(query, many))).toEqual(found(whole.search(query, many)));
  const filter = (_: unknown, row: number) => row % 3 === 0;
  const some = { ...narrow, k: 90, filter };
  expect(found(await small.search(query, some))).toEqual(found(whole.search(query, some)));
  await small.close();
});

it('goes on while the folder is saved twice more', async () => {
  const folder = copy();
  const index = await openIndex(folder, { memory: '64MB' });
  const wanted = found((await openIndex(folder)).search(query));
  await index.search(query);
  for (let i = 0; i < 3; i++) {
    await (await IndexFolder.open(folder)).append([Array.from(query)], [`new ${i}`]);
  }
  expect(found(await index.search(query))).toEqual(wanted);
  await index.close();
});

it('answers searches that are asked for at once, each as if alone', async () => {
  const memory = await openIndex(sound);
  const index = await openIndex(sound, { memory: '1MB' });
  const queries = Array.from({ length: 20 }, (_, i) => clustered(20 + i, 1));
  const answers = await Promise.all(queries.map((one) => index.search(one, { k: 5 })));
  expect(answers.map(found)).toEqual(queries.map((one) => found(memory.search(one, { k: 5 }))));
  await index.close();
});

it('is stopped by its signal, and answers the next search', async () => {
  const index = await openIndex(sound, { memory: '64MB' });
  const signal = AbortSignal.abort(new Error('enough'));
  await expect(index.search(query, { signal })).rejects.toThrow('enough');
  await expect(index.search(query, { k: 3, wrong: 1 } as never)).rejects.toThrow(/wrong/);
  expect((await index.search(query, { k: 3 })).rows).toHaveLength(3);
  await index.close();
});

it('stops all searches that have one signal, and listens to it no longer than they run', async () => {
  const index = await openIndex(sound, { memory: '64MB' });
  const stopping = new AbortController();
  const listening = new Set<unknown>();
  let most = 0;
  const { signal } = stopping;
  const [add, remove] = [signal.addEventListener, signal.removeEventListener];
  signal.addEventListener = (...args: Parameters<typeof add>) => {
    most = Math.max(most, listening.add(args[1]).size);
    add.apply(signal, args);
  };
  signal.removeEventListener = (...args: Parameters<typeof remove>) => {
    listening.delete(args[1]);
    remove.apply(signal, args);
  };
  const all = () => Array.from({ length: 30 }, () => index.search(query, { signal }));
  const answers = await Promise.all(all());
  expect(new Set(answers.map(({ rows }) => rows.join())).size).toBe(1);
  expect(listening.size).toBe(0);
  expect(most).toBeLessThan(5); // with 11 Node warns of a leak
  const stopped = all();
  stopping.abort(new Error('enough'));
  for (const one of await Promise.allSettled(stopped)) {
    expect(one).toMatchObject({ status: 'rejected', reason: { message: 'enough' } });
  }
  expect(listening.size).toBe(0);
  await index.close();
});

it('opens an empty index', async () => {
  const folder = join(root, 'empty.hs');
  await saveIndex(new SimHashIndex({ bits: 64, dimensions: DIMENSIONS }), folder);
  const index = await openIndex(folder, { memory: '1MB' });
  expect([index.count, (await index.search(query)).rows.length]).toEqual([0, 0]);
  expect(await index.get(1)).toBe(undefined);
  await index.close();
});

it('tells what it did where that is asked for', async () => {
  const index = await openIndex(sound, { memory: '64MB' });
  const probes = index.report?.probes as number;
  const { explain } = await index.search(query, { explain: true, probes });
  expect(explain).toMatchObject({ method: 'partitions', probes });
  const { reads, bytesRead } = index.figures;
  expect(reads).toBeGreaterThan(probes);
  expect(bytesRead).toBeGreaterThan(0);
  await index.close();
});

it('opens the newest generation where another is saved while it opens', async () => {
  const folder = copy();
  const files = new FolderPlace(folder);
  const { manifest } = files;
  let saves = 0;
  files.manifest = async () => {
    const found = await manifest.call(files);
    // Three saves delete the files of the generation whose manifest was read.
    for (; saves < 3; saves++) {
      await (await IndexFolder.open(folder)).append([Array.from(query)], [`save ${saves}`]);
      await (await IndexFolder.open(folder)).compact();
    }
    return found;
  };
  const index = await openStored(files, { memory: '64MB' });
  expect(found(await index.search(query))).toEqual(found((await openIndex(folder)).search(query)));
  await index.close();
});

// Searches were once joined whatever block each of them wanted: one that began while another was
// further on compared the blocks of that other, and missed the rows of the first ones.
it('finds all rows by a scan that begins while another one reads', async () => {
  const bits = 16_384;
  const bytesPerCode = bits / 8;
  const bytes = new Uint8Array(6000 * bytesPerCode);
  const draws = new Draws(5);
  for (let i = 0; i < bytes.length; i++) bytes[i] = draws.integer(256);
  const folder = join(root, 'wide.hs');
  const index = new SimHashIndex({ bits });
  await index.addAll(Codes.from(bytes, { bits }));
  await saveIndex(index, folder);
  const stored = await openIndex(folder, { memory: '64MB' });
  const query = bytes.slice(0, bytesPerCode);
  const before = stored.figures.reads;
  const first = stored.search(bytes.slice(-bytesPerCode), { k: 5 });
  while (stored.figures.reads === before) await new Promise((resolve) => setImmediate(resolve));
  const found = await stored.search(query, { k: 5 });
  expect(found.rows).toEqual(index.search(query, { k: 5 }).rows);
  expect((await first).rows[0]).toBe(5999);
  await stored.close();
});

it('scans of several groups of blocks that meet, begin again and are stopped read their own rows', async () => {
  const bits = 8192;
  const draws = new Draws(3);
  const codes = Codes.allocate(9000, { bits });
  for (let i = 0; i < codes.bytes.length; i++) codes.bytes[i] = draws.integer(256);
  const index = new SimHashIndex<string>({ bits });
  await index.addAll(
    codes,
    Array.from({ length: codes.count }, (_, i) => `row ${i}`),
  );
  const folder = join(root, 'scanned.hs');
  await saveIndex(index as SimHashIndex, folder);
  const stored = await openIndex(folder, { memory: '64MB' });
  const rows = [0, 4500, 8999, 20];
  for (let round = 0; round < 6; round++) {
    const stop = new AbortController();
    const stopped = stored.search(codes.at(7), { k: 3, signal: stop.signal }).catch(() => null);
    const some = rows.map((row) => stored.search(codes.at(row), { k: 3 }));
    setTimeout(() => stop.abort(), round);
    for (const [i, one] of (await Promise.all(some)).entries()) {
      expect(one.ids).toEqual(index.search(codes.at(rows[i]), { k: 3 }).ids);
    }
    await stopped;
  }
  // A block was read once for each row that was found in it.
  const before = stored.figures.bytesRead;
  const near = { maxDistance: 4000 };
  const { ids } = await stored.within(codes.at(7), near);
  expect(ids).toEqual(index.within(codes.at(7), near).ids);
  expect(ids.length).toBeGreaterThan(100);
  expect(stored.figures.bytesRead - before).toBeLessThan(3 * codes.bytes.length);
  await stored.close();
});
