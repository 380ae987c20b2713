import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { appendFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import { createRows } from '../../src/formats/create-rows';
import { openRows } from '../../src/formats/open-rows';
import { applyPlan } from '../../src/formats/plan-file';
import { dedup } from '../../src/near/dedup';
import { RowBatch } from '../../src/table/row-batch';
import { TextHasher } from '../../src/text/text-hasher';

const folder = mkdtempSync(join(tmpdir(), 'halfspace-shards-'));
afterAll(() => rmSync(folder, { recursive: true }));
const at = (...names: string[]) => join(folder, ...names);

function write(name: string, content: string | Uint8Array): string {
  mkdirSync(dirname(at(name)), { recursive: true });
  writeFileSync(at(name), content);
  return at(name);
}

const linesOf = (from: number, to: number) =>
  Array.from(
    { length: to - from },
    (_, i) => `{"id": ${from + i}, "text": "text ${(from + i) % 7}"}`,
  );
/** Without a newline at its end, as many programs leave it. */
const jsonl = (from: number, to: number) => linesOf(from, to).join('\n');

/** A ZSTD frame of one raw block, by RFC 8878: magic, header (one segment, 2-byte size), block. */
function zstdOf(text: string): Uint8Array {
  const bytes = Buffer.from(text);
  const size = Buffer.alloc(2);
  size.writeUInt16LE(bytes.length - 256);
  const block = 1 | (0 << 1) | (bytes.length << 3);
  const header = [block & 255, (block >> 8) & 255, block >> 16];
  return Buffer.concat([
    Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x60]),
    size,
    Buffer.from(header),
    bytes,
  ]);
}

async function idsOf(source: string | readonly string[], options = {}): Promise<number[]> {
  const ids: number[] = [];
  for await (const batch of await openRows(source, { batchRows: 7, ...options })) {
    expect(batch.firstRow).toBe(ids.length);
    ids.push(...batch.values('id').map(Number));
  }
  return ids;
}

const ascending = (count: number) => Array.from({ length: count }, (_, i) => i);

write('data/a.jsonl', jsonl(0, 10));
write('data/b.jsonl.gz', gzipSync(jsonl(10, 25)));
/** A frame to skip, with the bytes of the next: pzstd writes one before each. */
const SKIPPED = Buffer.from([0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 0, 0, 0, 0]);
write('data/c.jsonl.zst', Buffer.concat([SKIPPED, zstdOf(jsonl(25, 40))]));
write('data/deep/d.jsonl', jsonl(40, 44));
write('data/_SUCCESS', '');
write('data/_skip.jsonl', jsonl(44, 50));
write('data/_delta_log/00.jsonl', jsonl(50, 60));
write('data/.hidden/e.jsonl', jsonl(60, 70));

describe('several files are read as one', () => {
  it('a folder of shards, whatever their compression, in the order of their names', async () => {
    expect(await idsOf(at('data'))).toEqual(ascending(44));
  });

  it('a pattern, and a list of files, patterns and folders', async () => {
    expect(await idsOf(at('data/*.jsonl'))).toEqual(ascending(10));
    expect(await idsOf(at('data/**/*.jsonl'))).toEqual([...ascending(10), 40, 41, 42, 43]);
    expect(await idsOf(at('data/?.jsonl*'))).toEqual(ascending(40));
    expect(await idsOf(at('data/_*.jsonl'))).toEqual([44, 45, 46, 47, 48, 49]);
    const list = [at('data/c.jsonl.zst'), at('data/*.jsonl')];
    expect(await idsOf(list)).toEqual([...ascending(40).slice(25), ...ascending(10)]);
    await expect(openRows(at('data/*.csv'))).rejects.toThrow('no file matches the pattern');
  });

  it('one compressed file, also under another name, and as a stream', async () => {
    expect(await idsOf(at('data/b.jsonl.gz'))).toEqual(ascending(25).slice(10));
    const plain = write(
      'gzip-without-a-name',
      gzipSync(gzipSync(jsonl(0, 3)).length > 0 ? jsonl(0, 3) : ''),
    );
    expect(await idsOf(plain)).toEqual([0, 1, 2]);
    const stream = (async function* () {
      yield* [gzipSync(jsonl(0, 5)).subarray(0, 1), gzipSync(jsonl(0, 5)).subarray(1)];
    })();
    expect(await idsOf(stream as never, { format: 'jsonl' })).toEqual(ascending(5));
  });

  it('the columns have the order and types of the first shard, as writers need them', async () => {
    write('orders/1.csv', 'id,text,size\n0,none,3\n1,one,3\n');
    write('orders/2.csv', 'size,id,text\n4,2,20\n');
    write('orders/3.jsonl', '{"text": "three", "size": 5, "id": 3}');
    for (const format of ['csv', 'jsonl', 'parquet', 'arrow']) {
      const output = await createRows(at(`orders.${format}`));
      for await (const batch of await openRows(at('orders'))) {
        expect(batch.columns.map(({ name }) => name)).toEqual(['id', 'text', 'size']);
        await output.write(batch);
      }
      await output.close();
      const rows: unknown[] = [];
      for await (const batch of await openRows(at(`orders.${format}`))) {
        const [ids, sizes] = [batch.values('id'), batch.values('size')];
        rows.push(
          ...batch.texts('text').map((text, i) => [Number(ids[i]), text, Number(sizes[i])]),
        );
      }
      expect(rows, format).toEqual([
        [0, 'none', 3],
        [1, 'one', 3],
        [2, '20', 4],
        [3, 'three', 5],
      ]);
    }
  });

  it('a folder of texts stays one of texts', async () => {
    write('texts/one.txt', 'a text');
    write('texts/two.md', 'another');
    const reader = await openRows(at('texts'));
    expect(reader.columns.map(({ name }) => name)).toEqual(['file', 'text']);
    await reader.close();
  });
});

describe('what is wrong is named', () => {
  it.each([
    ['the same file twice', [at('data/a.jsonl'), at('data/*.jsonl')], /a\.jsonl: the same file as/],
    [
      'shards among other files',
      at('mixed'),
      /mixed: a folder of rows that has other files too, as notes\.txt/,
    ],
    [
      'shards of other columns',
      at('columns'),
      /2\.jsonl: its columns are \["other"\], those of the first/,
    ],
    [
      'a shard that is cut',
      at('cut'),
      /2\.jsonl\.gz: its gzip cannot be unpacked: unexpected end of file/,
    ],
    ['a ZSTD file that is cut', at('cut-zstd'), /1\.jsonl\.zst: its zstd cannot be unpacked/],
  ])('%s', async (_, source, message) => {
    write('mixed/1.jsonl', jsonl(0, 2));
    write('mixed/notes.txt', 'notes');
    write('columns/1.jsonl', jsonl(0, 2));
    write('columns/2.jsonl', '{"other": 1}');
    write('cut/1.jsonl', jsonl(0, 2));
    write('cut/2.jsonl.gz', gzipSync(jsonl(2, 400)).subarray(0, 200));
    write('cut-zstd/1.jsonl.zst', zstdOf(jsonl(0, 15)).subarray(0, 300));
    await expect(idsOf(source)).rejects.toThrow(message);
  });

  it('a ZSTD bomb makes no more than its ratio allows', async () => {
    // 3,000 run-length blocks of 128 KiB in 12 KB: 384 MiB.
    const block = Buffer.from([
      (1 << 1) | ((131072 << 3) & 255),
      ((131072 << 3) >> 8) & 255,
      (131072 << 3) >> 16,
      65,
    ]);
    const start = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58]);
    const last = Buffer.from([1, 0, 0]);
    write('bomb/1.jsonl.zst', Buffer.concat([start, ...Array(3000).fill(block), last]));
    await expect(idsOf(at('bomb'))).rejects.toThrow(/its zstd cannot be unpacked/);
  });
});

it('outputs whose name ends in .gz are compressed, and ZSTD is refused', async () => {
  const output = await createRows(at('out.jsonl.gz'));
  for (let i = 0; i < 3; i++) await output.write(RowBatch.of({ id: [i], text: ['a'.repeat(1e5)] }));
  await output.close();
  const bytes = readFileSync(at('out.jsonl.gz'));
  expect(bytes.length).toBeLessThan(5000);
  const lines = gunzipSync(bytes).toString().trim().split('\n');
  expect(lines.map((line) => JSON.parse(line).id)).toEqual([0, 1, 2]);
  expect(await idsOf(at('out.jsonl.gz'))).toEqual([0, 1, 2]);
  await expect(createRows(at('out.jsonl.zst'))).rejects.toThrow('name it .gz');
});

describe('a plan for shards', () => {
  const planOf = async (count: number, different: number) => {
    const texts = ascending(count).map((id) => `text ${id % different}`);
    return dedup(await new TextHasher({ bits: 64 }).hashAll(texts), { maxDistance: 0 });
  };

  it('makes one file, with the records of JSONL as they were', async () => {
    write('in/a.jsonl', jsonl(0, 20));
    write('in/b/c.jsonl.gz', gzipSync(jsonl(20, 40)));
    const seen: number[] = [];
    const onProgress = (done: number) => seen.push(done);
    await applyPlan(await planOf(40, 23), at('in'), at('one.jsonl'), { onProgress });
    expect(readFileSync(at('one.jsonl'), 'utf8').split('\n')).toEqual(linesOf(0, 23).concat(''));
    expect(seen.at(-1)).toBe(40);
    const zipped = at('one.jsonl.gz');
    await applyPlan(await planOf(40, 23), at('in/**/*.jsonl*'), zipped);
    expect(gunzipSync(readFileSync(zipped)).toString().split('\n').length).toBe(24);
  });

  it('encodes those of several formats, or of ZSTD, alike', async () => {
    write('several/a.jsonl.zst', zstdOf(jsonl(0, 20)));
    write(
      'several/b.csv',
      `id,text\n${ascending(5)
        .map((i) => `${20 + i},"text ${i}"\n`)
        .join('')}`,
    );
    await applyPlan(await planOf(25, 22), at('several'), at('several.jsonl'));
    expect(await idsOf(at('several.jsonl'))).toEqual(ascending(22));
  });

  it('names the shard and line of what is damaged, and leaves nothing, as when stopped', async () => {
    write('broken/a.jsonl', jsonl(0, 10));
    write('broken/b.jsonl', `${jsonl(10, 20)}\nbroken\n`);
    const plan = await planOf(20, 20);
    const none = at('none.jsonl');
    await expect(applyPlan(plan, at('broken'), none)).rejects.toThrow(/b\.jsonl: line 11: /);
    write('broken/b.jsonl', jsonl(10, 20));
    const stop = new AbortController();
    const onProgress = () => stop.abort(new Error('stopped'));
    const stopped = applyPlan(plan, at('broken'), none, { signal: stop.signal, onProgress });
    await expect(stopped).rejects.toThrow('stopped');
    expect(readdirSync(folder).filter((name) => name.includes('none'))).toEqual([]);
  });

  it('is refused before anything is written where the shards have other rows', async () => {
    write('less/a.jsonl', jsonl(0, 20));
    const plan = await dedup(await new TextHasher({ bits: 64 }).hashAll(['a', 'b']), {
      maxDistance: 0,
    });
    await expect(applyPlan(plan, at('less'), at('never'))).rejects.toThrow(
      'the plan is for 2 rows, the source has 20',
    );
    expect(readdirSync(folder)).not.toContain('never');
  });
});

it('has the rows of a pipe, whose size is 0', async () => {
  const pipe = at('pipe.jsonl');
  execFileSync('mkfifo', [pipe]);
  const file = write('beside.jsonl', jsonl(3, 5));
  const writing = appendFile(pipe, `${jsonl(0, 3)}\n`);
  expect(await idsOf([pipe, file])).toEqual([0, 1, 2, 3, 4]);
  await writing;
});
