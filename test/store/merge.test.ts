import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  type BuildOptions,
  type FrequencyTable,
  frequenciesToArrow,
  IndexFolder,
  openIndex,
  SimHashIndex,
  type SimHashIndexOptions,
  saveIndex,
  TextHasher,
} from '../../src/node';
import { segmentsOf } from '../index/spread';
import { bundled } from './child';
import { temporaryFolder } from './collection';
import { clustered, DIMENSIONS, found } from './kinds';

/** Folders that are built apart and merged, next to one index of all rows. */

const root = await temporaryFolder();
const COUNT = 1500;
const OPTIONS = { bits: 64, dimensions: DIMENSIONS, vectors: 'float32', zero: 'null' } as const;
const values = clustered(5, COUNT);
values.fill(0, 7 * DIMENSIONS, 8 * DIMENSIONS);
const vectorOf = (i: number) => values.subarray(i * DIMENSIONS, (i + 1) * DIMENSIONS);
const idOf = (i: number) => `row ${i} é`;
const memory = '4MB';

/** The rows of three parts: rows of one code are in one of them. */
const places: number[][] = [[], [], []];
const inOne = new SimHashIndex({ ...OPTIONS, vectors: 'none' });
for (let i = 0; i < COUNT; i++) {
  inOne.add(vectorOf(i));
  const code = inOne.get(i)?.code ?? new Uint8Array(8);
  places[code.reduce((rest, byte) => (256 * rest + byte) % 3, 0)].push(i);
}

function* batchesOf(own: readonly number[], name: (i: number) => string = idOf) {
  for (let first = 0; first < own.length; first += 250) {
    const some = own.slice(first, first + 250);
    const batch = Float32Array.from(some.flatMap((i) => [...vectorOf(i)]));
    yield { vectors: { values: batch, dimensions: DIMENSIONS }, ids: some.map(name) };
  }
}

function indexOf(own: readonly number[], options: SimHashIndexOptions = OPTIONS) {
  const index = new SimHashIndex<string>(options);
  for (const i of own) index.add(vectorOf(i), idOf(i));
  return index;
}

const model = join(root, 'model.hs');
{
  const index = indexOf(Array.from({ length: COUNT }, (_, i) => i).filter((i) => i % 2 === 0));
  await index.optimize({ recall: 0.9, k: 5, queries: 60, partitions: 32 });
  await saveIndex(index as unknown as SimHashIndex, model);
}

let parts = 0;
async function partOf(own: readonly number[], firstRow: number, more: Partial<BuildOptions> = {}) {
  const path = join(root, `part-${parts++}.hs`);
  await IndexFolder.build(path, batchesOf(own), { memory, like: model, firstRow, ...more });
  return path;
}

const starts = [0, places[0].length, places[0].length + places[1].length];
const three = await Promise.all(places.map((own, i) => partOf(own, starts[i])));
const all = indexOf(places.flat());
const queries = Array.from({ length: 8 }, (_, i) => vectorOf(180 * i).map((v) => v + 0.01));

const contentOf = (folder: string) =>
  Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))]));

async function expectAll(folder: string, index: SimHashIndex<string>) {
  expect((await IndexFolder.verify(folder)).problems).toEqual([]);
  const read = await openIndex(folder);
  const stored = await openIndex(folder, { memory: '16MB' });
  expect(read.count).toBe(index.count);
  for (const query of queries) {
    // An index without partitions finds by a scan what one with them finds in all of them.
    for (const options of [{ rank: 'hamming' }, { probes: 32, oversample: 100 }] as const) {
      const wanted = found(index.search(query, { k: 8, ...options }) as never);
      expect(found(read.search(query, { k: 8, ...options }))).toEqual(wanted);
      expect(found(await stored.search(query, { k: 8, ...options }))).toEqual(wanted);
    }
  }
  await stored.close();
}

describe('folders that were built apart', () => {
  it('answer as one index of all rows when they are merged', async () => {
    const folder = join(root, 'merged.hs');
    const merged = await IndexFolder.merge(folder, three);
    expect(merged.rowCount).toBe(COUNT);
    // They stay as many segments in the folder, and are one in memory.
    const manifest = JSON.parse(readFileSync(join(folder, 'manifest-000001.json'), 'utf8'));
    expect(manifest.segments.length).toBe(3);
    expect(segmentsOf(await openIndex(folder))).toBe(1);
    await expectAll(folder, all);
  });

  it('are changed afterwards as any folder is', { tags: 'thorough' }, async () => {
    const folder = join(root, 'changed.hs');
    const merged = await IndexFolder.merge(folder, three);
    const index = indexOf(places.flat());
    const removed = [3, 300, 301, 1400].map(idOf);
    for (const id of removed) index.remove(id);
    expect(await merged.remove(removed)).toBe(4);
    const more = [...batchesOf([10, 11, 600], (i) => `more ${i}`)][0];
    await merged.append(more.vectors, more.ids);
    await index.addAll(more.vectors, more.ids);
    await expectAll(folder, index);
    await merged.compact();
    await expectAll(folder, index);
    const { recall } = await merged.optimize({ recall: 0.9, k: 5, queries: 60, memory });
    expect(recall).toBeGreaterThan(0.8);
    expect((await IndexFolder.verify(folder)).problems).toEqual([]);
  });

  it('may begin behind more rows than an index of their size could have numbers', {
    tags: 'thorough',
  }, async () => {
    const folder = await partOf(places[0].slice(0, 400), 2 ** 27);
    const stored = await openIndex(folder, { memory: '16MB' });
    const index = indexOf(places[0].slice(0, 400));
    for (const query of queries) {
      const { ids, rows } = await stored.search(query, { k: 8 });
      const wanted = index.search(query, { k: 8 });
      expect(ids).toEqual(wanted.ids);
      expect([...rows]).toEqual([...wanted.rows].map((row) => row + 2 ** 27));
    }
    await stored.close();
    const opened = await IndexFolder.open(folder);
    const more = [...batchesOf([places[1][0]])][0];
    expect(await opened.append(more.vectors, more.ids)).toBe(2 ** 27 + 400);
    expect((await IndexFolder.verify(folder)).rows).toBe(401);
    const read = await openIndex(folder);
    expect([read.count, read.get(more.ids[0])?.row]).toEqual([401, 2 ** 27 + 400]);
  });

  it('are searched some segments at a time, with the files of these alone', async () => {
    const folder = join(root, 'divided.hs');
    const merged = await IndexFolder.merge(folder, three);
    const read = await openIndex(folder);
    const apart = await Promise.all(
      [0, 1, 2].map((one) => openIndex(folder, { memory: '16MB', segments: [one, one] })),
    );
    expect(apart.map(({ count }) => count)).toEqual(places.map(({ length }) => length));
    for (const query of queries) {
      for (const how of [{}, { rank: 'hamming' }] as const) {
        const wanted = read.search(query, { k: 8, ...how });
        const some = await Promise.all(apart.map((one) => one.search(query, { k: 8, ...how })));
        const order = some.flatMap(({ rows, distances, similarities }) =>
          Array.from(rows, (row, i) => ({ row, by: distances?.[i] ?? -similarities[i] })),
        );
        order.sort((a, b) => a.by - b.by || a.row - b.row);
        expect(order.slice(0, 8).map(({ row }) => row)).toEqual([...wanted.rows]);
      }
    }
    for (const one of apart) await one.close();
    const few = join(root, 'few.hs');
    mkdirSync(few);
    for (const { name, kind } of merged.files) {
      const [, second] = merged.files.filter((file) => file.kind === kind);
      if (second === undefined || second.name === name)
        copyFileSync(join(folder, name), join(few, name));
    }
    copyFileSync(join(folder, 'manifest-000001.json'), join(few, 'manifest-000001.json'));
    const second = await openIndex(few, { memory: '16MB', segments: [1, 1] });
    expect((await second.search(queries[3], { k: 8 })).ids).toHaveLength(8);
    await second.close();
    for (const segments of [[0, 3], [2, 1], [-1, 0], 'one'] as never[]) {
      await expect(openIndex(folder, { memory: '1MB', segments })).rejects.toThrow('segments');
    }
    await expect(openIndex(folder, { segments: [0, 0] } as never)).rejects.toThrow('"memory"');
  });
});

describe('a merge', () => {
  const folder = join(root, 'before.hs');
  const others = [1, 2, 3];

  it('refuses what does not belong together, names both, and changes nothing', async () => {
    await IndexFolder.build(folder, batchesOf(others), { ...OPTIONS, memory });
    const before = contentOf(folder);
    const [one, two] = three;
    const other = join(root, 'other-model.hs');
    const index = indexOf(places[1]);
    await index.optimize({ recall: 0.9, k: 5, queries: 60, partitions: 16 });
    await saveIndex(index as unknown as SimHashIndex, other);
    const own = places[1];
    const build = async (name: string, options: SimHashIndexOptions) => {
      const path = join(root, name);
      await IndexFolder.build(path, batchesOf(own), { ...options, memory, firstRow: 9000 });
      return path;
    };
    const named = async (name: string, ids: (i: number) => string, own: readonly number[]) => {
      const path = join(root, name);
      await IndexFolder.build(path, batchesOf(own, ids), { like: model, memory, firstRow: 9000 });
      return path;
    };
    const unlike = 'was not built like';
    const cases: [second: string, message: string][] = [
      [await partOf(own, 9000, { like: other }), unlike],
      [await build('bits.hs', { ...OPTIONS, bits: 128 }), unlike],
      [await build('seed.hs', { ...OPTIONS, seed: 2 }), unlike],
      [await build('int8.hs', { ...OPTIONS, vectors: 'int8' }), unlike],
      [await build('plain.hs', OPTIONS), unlike],
      [await partOf(own, 100), '"parts" expected rows from'],
      [await named('ids.hs', (i) => idOf(i === own[40] ? places[0][70] : i), own), 'have the id'],
      [join(root, 'nothing.hs'), 'no index'],
    ];
    for (const [second, message] of cases) {
      const merging = IndexFolder.merge(folder, [one, second], { replace: true });
      await expect(merging).rejects.toThrow(message);
      if (message !== 'have the id') await expect(merging).rejects.toThrow(second);
      expect(contentOf(folder)).toEqual(before);
    }
    await expect(IndexFolder.merge(folder, [one, two])).rejects.toThrow('holds an index');
    const none = '"parts" expected at least one folder, got 0';
    await expect(IndexFolder.merge(folder, [])).rejects.toThrow(none);
    await expect(IndexFolder.merge(folder, [one], { many: 1 } as never)).rejects.toThrow('"many"');
    const removed = await partOf(own, 9000);
    await (await IndexFolder.open(removed)).remove([idOf(own[0])]);
    await expect(IndexFolder.merge(folder, [one, removed], { replace: true })).rejects.toThrow(
      `${removed} has removed rows: compact it first`,
    );
    expect(contentOf(folder)).toEqual(before);
  });

  it('may be without rows, wherever their rows would begin', { tags: 'thorough' }, async () => {
    // Tasks that got no rows; one of them does not know where its rows would begin.
    const [ahead, unknown] = [await partOf([], starts[2]), await partOf([], 0)];
    const [first, both] = [indexOf(places[0]), indexOf([...places[0], ...places[1]])];
    for (const [i, order] of [
      [ahead, three[0], three[1]],
      [three[0], three[1], unknown],
      [three[0], unknown],
    ].entries()) {
      const folder = join(root, `without-rows-${i}.hs`);
      await IndexFolder.merge(folder, order);
      await expectAll(folder, i < 2 ? both : first);
    }
  });

  it('count together how many values became 0 in int8', async () => {
    const options = { ...OPTIONS, vectors: 'int8' } as const;
    const like = join(root, 'like-int8.hs');
    await saveIndex(indexOf(places[0], options) as unknown as SimHashIndex, like);
    const own = [
      await partOf(places[1], 0, { like }),
      await partOf(places[2], places[1].length, { like }),
    ];
    const [merged, whole] = [join(root, 'zeros.hs'), join(root, 'whole.hs')];
    await IndexFolder.merge(merged, own);
    await partOf([...places[1], ...places[2]], 0, { like }).then((path) => renameSync(path, whole));
    const zerosOf = (folder: string): [number, number] =>
      JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')).index.zeros;
    expect(zerosOf(merged)[0]).toBeGreaterThan(0);
    expect(zerosOf(merged)[0]).toBe(zerosOf(whole)[0]);
    expect(zerosOf(merged)[1]).toBeCloseTo(zerosOf(whole)[1], 6);
  });

  it('finds damage in a part, and names the file', async () => {
    const damaged = await partOf(places[2], starts[2]);
    const { files } = await IndexFolder.open(damaged);
    const { name } = files.find(({ kind }) => kind === 'vectors') as { name: string };
    const bytes = readFileSync(join(damaged, name));
    bytes[bytes.length >> 1] ^= 1;
    writeFileSync(join(damaged, name), bytes);
    const before = contentOf(folder);
    const merging = IndexFolder.merge(folder, [three[0], damaged], { replace: true });
    await expect(merging).rejects.toThrow('damaged');
    await expect(merging).rejects.toThrow('vectors-');
    expect(contentOf(folder)).toEqual(before);
  });

  it('leaves a folder as it was when it is killed or stopped', { tags: 'thorough' }, async () => {
    const before = contentOf(folder);
    const start = await bundled('merge.child.ts');
    const child = start([folder, ...three]);
    await child.printed('half');
    child.process.kill('SIGKILL');
    expect(await child.end).toBe(null);
    const now = contentOf(folder);
    expect(Object.keys(now).length).toBeGreaterThan(Object.keys(before).length);
    for (const [name, bytes] of Object.entries(before)) expect(now[name]).toEqual(bytes);
    expect((await openIndex(folder)).count).toBe(others.length);
    expect((await IndexFolder.verify(folder)).problems).toEqual([]);
    for (const end of [1, 3]) {
      const stop = new AbortController();
      const onProgress = (done: number) => done === end && stop.abort();
      const { signal } = stop;
      const merging = IndexFolder.merge(folder, three, { replace: true, signal, onProgress });
      await expect(merging).rejects.toThrow('abort');
      expect(contentOf(folder)).toEqual(now);
    }
    // The next merge clears away what the killed one left, but for the generation before.
    const merged = await IndexFolder.merge(folder, three, { replace: true });
    await expectAll(folder, all);
    const named = merged.files.map(({ name }) => name);
    const left = readdirSync(folder).filter((name) => !named.includes(name) && !(name in before));
    expect(left).toEqual(['manifest-000002.json']);
  });

  it('takes texts, their settings and frequencies from the folder that it is like', async () => {
    const texts = ['green tea', 'black tea', 'strong coffee', 'weak coffee'];
    const [text, frequencies] = [{ tokens: 'words' }, new TextHasher().fit(texts)];
    const hasher = new TextHasher({ frequencies });
    const rowOf = (i: number) => ({ vectors: [hasher.vectorize(texts[i])], ids: [texts[i]] });
    const options = { bits: 64, vectors: 'sparse', text, frequencies, memory } as const;
    const like = join(root, 'texts.hs');
    await IndexFolder.build(like, [rowOf(0)], options);
    const paths = texts.map((_, i) => join(root, `texts-${i}.hs`));
    for (const [i, path] of paths.entries()) {
      await IndexFolder.build(path, [rowOf(i)], { like, memory, firstRow: 10 * i });
    }
    const merged = await IndexFolder.merge(join(root, 'texts-merged.hs'), paths);
    expect(merged.text).toEqual(text);
    const table = (await merged.frequencies()) as FrequencyTable;
    expect(frequenciesToArrow(table)).toEqual(frequenciesToArrow(frequencies));
    const index = await openIndex(merged.path);
    for (const one of texts) expect(index.search(hasher.vectorize(one)).ids[0]).toBe(one);
    expect(index.search(hasher.vectorize(texts[3]), { k: 2 }).rows).toEqual(Uint32Array.of(30, 20));
    const plain = join(root, 'texts-plain.hs');
    const { text: _, ...others } = options;
    await IndexFolder.build(plain, [rowOf(1)], { ...others, firstRow: 50 });
    const merging = IndexFolder.merge(join(root, 'no-texts.hs'), [paths[0], plain]);
    await expect(merging).rejects.toThrow('was not built like');
  });
});

describe('a build like a folder', () => {
  it('takes no options, and chooses no setting', async () => {
    const building = (more: object) =>
      IndexFolder.build(join(root, 'no.hs'), batchesOf([1]), { like: model, memory, ...more });
    await expect(building({ replace: 'yes' })).rejects.toThrow('"replace" expected true or false');
    const leaveOut = (name: string) =>
      `"like" takes all options of its folder: leave out "${name}"`;
    await expect(building({ bits: 64 })).rejects.toThrow(leaveOut('bits'));
    await expect(building({ vectors: 'int8' })).rejects.toThrow(leaveOut('vectors'));
    await expect(building({ optimize: { k: 8 } })).rejects.toThrow(leaveOut('optimize'));
    await expect(building({ firstRow: -1 })).rejects.toThrow('"firstRow"');
    await expect(building({ like: join(root, 'none.hs') })).rejects.toThrow('no index');
  });
});
