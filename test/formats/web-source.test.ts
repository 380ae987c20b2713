import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FormatError } from '../../src/base/check';
import { createRows } from '../../src/formats/create-rows';
import { type OpenRowsOptions, openRows } from '../../src/formats/open-rows';
import { RowBatch } from '../../src/table/row-batch';
import { startHost, type WebHost } from '../store/web-host';

/** Files that other programs wrote. */
const fixtures = fileURLToPath(new URL('../fixtures/formats/', import.meta.url));
const expected: Record<string, { types?: OpenRowsOptions['types'] }> = JSON.parse(
  readFileSync(`${fixtures}expected.json`, 'utf8'),
);

/** All columns with their values. */
async function tableOf(source: string | readonly string[], options?: OpenRowsOptions) {
  const table: Record<string, unknown[]> = {};
  for await (const batch of await openRows(source, options)) {
    for (const { name } of batch.columns) {
      table[name] = [...(table[name] ?? []), ...batch.values(name)];
    }
  }
  return table;
}

const ROWS = 40_000;
const lines = Array.from({ length: ROWS }, (_, i) => `{"n":${i},"body":"text of row ${i * 7}"}\n`);
const jsonl = Buffer.from(lines.join(''));

/** Fails unless all rows came, each once. */
function expectAll({ n }: Record<string, unknown[]>, rows = ROWS): void {
  expect(n.length).toBe(rows);
  expect(n.findIndex((value, i) => Number(value) !== i)).toBe(-1);
}

let host: WebHost;
const served = new Map<string, Uint8Array>();
const urlOf = (name: string) => host.url + name;
const ranges = () => host.asked.map(({ range }) => range);

beforeEach(async () => {
  served.clear();
  served.set('docs.jsonl', jsonl);
  host = await startHost(served, { etag: '"1"' });
});
afterEach(() => host.close());

/** Rows in Parquet, or in Arrow, of several row groups or batches. */
async function columnar(name: string, counts: readonly number[]): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  const stream = new Writable({
    write(chunk, _, done) {
      chunks.push(Buffer.from(chunk));
      done();
    },
  });
  const format = name.endsWith('.parquet') ? 'parquet' : 'arrow';
  const writer = await createRows(stream, { format });
  for (const [i, count] of counts.entries()) {
    const first = counts.slice(0, i).reduce((sum, one) => sum + one, 0);
    const n = Int32Array.from({ length: count }, (_, row) => first + row);
    const text = Array.from(n, (i) => `text of row ${i * 7919}, which is long enough to matter`);
    await writer.write(RowBatch.of({ n, text }));
  }
  await writer.close();
  return Buffer.concat(chunks);
}

describe.each(Object.keys(expected))('%s', (name) => {
  it('has the rows of the file, also where the host ignores ranges', async () => {
    const { types } = expected[name];
    const bytes = readFileSync(fixtures + name);
    served.set(name, bytes);
    const rows = await tableOf(fixtures + name, { types });
    expect(await tableOf(urlOf(name), { types })).toEqual(rows);
    host.behave = (_, response) => Boolean(response.writeHead(200).end(bytes));
    expect(await tableOf(urlOf(name), { types })).toEqual(rows);
  });
});

describe('what is asked for', () => {
  it('is one stream of lines, packed or not', async () => {
    served.set('docs.jsonl.gz', gzipSync(jsonl));
    for (const name of served.keys()) {
      host.asked.length = 0;
      expectAll(await tableOf(urlOf(name)));
      expect(ranges()).toEqual(['bytes=0-']);
    }
  });

  it('is of Parquet its end, and of each row group the columns that are wanted', async () => {
    const bytes = await columnar('rows.parquet', [66_000, 66_000, 100]);
    served.set('rows.parquet', bytes);
    const table = await tableOf(urlOf('rows.parquet'), { columns: ['n'] });
    expect(Object.keys(table)).toEqual(['n']);
    expectAll(table, 132_100);
    const [first, tail, ...groups] = ranges();
    expect(first).toBe('bytes=0-');
    expect(tail).toBe(`bytes=${bytes.length - 2 ** 16}-${bytes.length - 1}`);
    expect(groups.length).toBe(3);
    const asked = groups.map((range) => (range ?? '').match(/\d+/g)?.map(Number) as number[]);
    const sum = asked.reduce((all, [from, last]) => all + last + 1 - from, 0);
    expect(sum).toBeLessThan(bytes.length / 3);
  });

  it('is of Arrow its end, all heads at once, and each batch', async () => {
    served.set('rows.arrow', await columnar('rows.arrow', [8000, 8000, 24_000]));
    host.behave = () => new Promise((resolve) => setTimeout(() => resolve(false), 20));
    expectAll(await tableOf(urlOf('rows.arrow')));
    expect(host.asked.length).toBe(2 + 3 + 3);
    expect(host.parallel).toBeGreaterThan(1);
  });

  it('ends when the rows are left', async () => {
    for await (const _ of await openRows(urlOf('docs.jsonl'), { batchRows: 10 })) break;
    const reader = await openRows(urlOf('docs.jsonl'));
    await reader.close();
    expect(host.asked.length).toBe(2);
  });
});

describe('a name', () => {
  it('is the address without what it asks for, and shows the format', async () => {
    served.set('a b.tsv', Buffer.from('x\ty\n1\t2\n'));
    const reader = await openRows(`${host.url}a%20b.tsv?token=secret#top`);
    expect([reader.file, reader.format]).toEqual([`${host.url}a%20b.tsv`, 'csv']);
    expect(reader.columns.map(({ name }) => name)).toEqual(['x', 'y']);
    await reader.close();
    const error = await openRows(`${host.url}none.csv?token=secret`).catch((one) => one);
    expect(error.message).toBe(`${host.url}none.csv: the host does not have it, it answered 404`);
  });

  it('is that of the shard that a row is in', async () => {
    served.set('one.csv', Buffer.from('x\n1\n')).set('two.csv', Buffer.from('x\n2\n'));
    const urls = [urlOf('one.csv'), urlOf('two.csv')];
    const reader = await openRows(urls);
    const files: (string | undefined)[] = [];
    for await (const { file } of reader) files.push(file);
    expect(files).toEqual(urls);
    await expect(openRows([urls[0], urls[0]])).rejects.toThrow(/the same file as .*, given twice/);
  });

  it.each([
    ['https://h/data/*.parquet', 'the address of one file: a host does not list its files'],
    ['hf://datasets/o/n/**/x.csv', 'the address of one file: a host does not list its files'],
    ['hf://datasets/o/n', 'https://HOST/PATH or hf://datasets/OWNER/NAME[@REVISION]/PATH'],
    ['hf://o/n/model.bin', 'https://HOST/PATH or hf://datasets/OWNER/NAME[@REVISION]/PATH'],
    ['https://', 'https://HOST/PATH or hf://datasets/OWNER/NAME[@REVISION]/PATH'],
    ['http://me:secret@h/x.csv', 'an address without a name and password'],
  ])('%s is refused', async (address, words) => {
    const got = address.replace('me:secret@', '');
    const error = await openRows(address).catch((one) => one);
    expect(error).toEqual(new RangeError(`"source" expected ${words}, got "${got}"`));
  });
});

describe('Hugging Face', () => {
  const before = { ...process.env };
  let authorizations: (string | undefined)[];
  beforeEach(() => {
    process.env.HF_ENDPOINT = host.url;
    process.env.HF_TOKEN = 'hf_secret';
    authorizations = [];
    host.behave = (_, __, { headers }) => authorizations.push(headers.authorization) === 0;
  });
  afterEach(() => {
    for (const name of ['HF_ENDPOINT', 'HF_TOKEN']) {
      delete process.env[name];
      if (before[name] !== undefined) process.env[name] = before[name];
    }
  });

  it.each([
    ['o/n/a b/docs.jsonl', 'o/n/resolve/main/a b/docs.jsonl'],
    ['o/n@v1.0/docs.jsonl', 'o/n/resolve/v1.0/docs.jsonl'],
    ['o/n@refs/convert/parquet/x/docs.jsonl', 'o/n/resolve/refs/convert/parquet/x/docs.jsonl'],
    ['o/n@refs%2Fpr%2F12/docs.jsonl', 'o/n/resolve/refs/pr/12/docs.jsonl'],
    ['o/n@~parquet/docs.jsonl', 'o/n/resolve/refs/convert/parquet/docs.jsonl'],
  ])('hf://datasets/%s', async (path, asked) => {
    served.set(`datasets/${asked}`, jsonl);
    const reader = await openRows(`hf://datasets/${path}`);
    expect([reader.file, reader.format]).toEqual([`hf://datasets/${path}`, 'jsonl']);
    await reader.close();
    expect(authorizations).toEqual(['Bearer hf_secret']);
  });

  it('gets the token, and no host that it names does', async () => {
    const other = await startHost(served);
    const others: (string | undefined)[] = [];
    other.behave = (_, __, { headers }) => others.push(headers.authorization) === 0;
    host.behave = (_, response, { headers }) => {
      authorizations.push(headers.authorization);
      return Boolean(response.writeHead(302, { location: `${other.url}docs.jsonl` }).end());
    };
    expectAll(await tableOf('hf://datasets/o/n/docs.jsonl'));
    expect([authorizations, others]).toEqual([['Bearer hf_secret'], [undefined]]);
    await other.close();
  });

  it('is sent no token by an address that is no hf://', async () => {
    expectAll(await tableOf(urlOf('docs.jsonl')));
    expect(authorizations).toEqual([undefined]);
  });

  it.each([401, 403])('that answers %i wants a token', async (status) => {
    host.behave = (_, response) => Boolean(response.writeHead(status).end());
    await expect(openRows('hf://datasets/o/n/docs.jsonl')).rejects.toThrow(
      /^hf:.*docs.jsonl: the host answered 40\d \w+: there is no such data set, or HF_TOKEN must/,
    );
  });
});

/** Answers the ranges of a file, with other headers where they are given. */
function ranged(
  response: ServerResponse,
  range: string | null,
  other: { bytes?: Uint8Array; size?: number; from?: number; etag?: string } = {},
): boolean {
  const { bytes = jsonl as Uint8Array, from = 0, etag = '"1"' } = other;
  const { size = bytes.length } = other;
  const [first, last = bytes.length - 1] = (range ?? '').match(/\d+/g)?.map(Number) ?? [0];
  const body = bytes.subarray(first, last + 1);
  const said = `bytes ${first + from}-${first + from + body.length - 1}/${size}`;
  response.setHeader('etag', etag);
  return Boolean(response.writeHead(206, { 'content-range': said }).end(body));
}

describe('a host that fails for a while', () => {
  it('is asked again, for what is behind the bytes that came', { tags: 'thorough' }, async () => {
    host.behave = ({ count }, response, { socket }) => {
      if (count === 1) return Boolean(response.writeHead(503).end());
      if (count > 4) return false;
      const from = count === 2 ? 0 : Number(/\d+/.exec(host.asked[count - 1].range ?? '')?.[0]);
      const said = `bytes ${from}-${jsonl.length - 1}/${jsonl.length}`;
      response.writeHead(206, { 'content-range': said });
      response.write(jsonl.subarray(from, from + 300_000), () => {
        setTimeout(() => socket.destroy(), 20);
      });
      return true;
    };
    expectAll(await tableOf(urlOf('docs.jsonl')));
    expect(host.asked.length).toBe(5);
    expect(ranges().slice(0, 2)).toEqual(['bytes=0-', 'bytes=0-']);
    const last = Number(/\d+/.exec(ranges()[4] ?? '')?.[0]);
    expect(last).toBeGreaterThan(0);
  });

  it('is not asked again within a stream without ranges', async () => {
    host.behave = (_, response, { socket }) => {
      response.writeHead(200, { 'content-length': jsonl.length });
      response.write(jsonl.subarray(0, 300_000), () => setTimeout(() => socket.destroy(), 20));
      return true;
    };
    await expect(tableOf(urlOf('docs.jsonl'))).rejects.toThrow(/docs.jsonl: the answer broke off/);
    expect(host.asked.length).toBe(1);
  });

  it('may send a part of what is left, and the rest when it is asked', async () => {
    host.behave = ({ range }, response) => {
      const from = Number(/\d+/.exec(range ?? '')?.[0]);
      return ranged(response, `bytes=${from}-${Math.min(from + 400_000, jsonl.length) - 1}`);
    };
    expectAll(await tableOf(urlOf('docs.jsonl')));
    expect(host.asked.length).toBe(Math.ceil(jsonl.length / 400_000));
  });
});

describe('a host that cannot be used', () => {
  it.each([
    [401, Error, /docs.jsonl: the host answered 401 Unauthorized$/],
    [403, Error, /docs.jsonl: the host answered 403 Forbidden$/],
    [404, FormatError, /docs.jsonl: the host does not have it, it answered 404$/],
    [410, FormatError, /docs.jsonl: the host does not have it, it answered 410$/],
    [204, Error, /docs.jsonl: the host answered 204 No Content$/],
  ] as const)('is not asked again after %i', async (status, type, words) => {
    host.behave = (_, response) => Boolean(response.writeHead(status).end());
    const error = await openRows(urlOf('docs.jsonl')).catch((one) => one);
    expect(error).toBeInstanceOf(type);
    expect(error.message).toMatch(words);
    expect(host.asked.length).toBe(1);
  });

  it('names addresses without end', async () => {
    host.behave = (_, response) => Boolean(response.writeHead(302, { location: '' }).end());
    await expect(openRows(urlOf('docs.jsonl'))).rejects.toThrow(/names another address 5 times/);
  });

  it('sends another range', async () => {
    host.behave = ({ range }, response) => ranged(response, range, { from: 10 });
    await expect(openRows(urlOf('docs.jsonl'))).rejects.toThrow(
      /bytes 0 to the end were asked for, the host answered "bytes 10-/,
    );
  });

  it('says that a file is longer or shorter than it is', async () => {
    const { length } = jsonl;
    host.behave = ({ range }, response) => {
      if (Number(/\d+/.exec(range ?? '')?.[0]) < length) {
        return ranged(response, range, { size: length + 10 });
      }
      const said = { 'content-range': `bytes */${length + 10}` };
      return Boolean(response.writeHead(416, said).end());
    };
    await expect(tableOf(urlOf('docs.jsonl'))).rejects.toThrow(/docs.jsonl: cut short/);
    host.behave = ({ range }, response) => ranged(response, range, { size: length - 10 });
    await expect(tableOf(urlOf('docs.jsonl'))).rejects.toThrow(/more than \d+ bytes came/);
  });

  it('has an empty file', async () => {
    served.set('none.jsonl', new Uint8Array(0));
    await expect(openRows(urlOf('none.jsonl'))).rejects.toThrow(/none.jsonl: empty/);
  });

  it('packs what it sends: the rows come all the same', async () => {
    const packed = gzipSync(jsonl);
    host.behave = (_, response) => {
      const headers = { 'content-encoding': 'gzip', 'content-length': packed.length };
      const said = { 'content-range': `bytes 0-${packed.length - 1}/${packed.length}` };
      return Boolean(response.writeHead(206, { ...headers, ...said }).end(packed));
    };
    const reader = await openRows(urlOf('docs.jsonl'));
    expect(reader.byteCount).toBe(null);
    await reader.close();
    expectAll(await tableOf(urlOf('docs.jsonl')));
  });
});

describe('a file that changes while it is read', () => {
  it.each([
    ['its mark', { etag: '"2"' }],
    ['its size', { size: 1 }],
  ])('by %s is an error, of ranges', async (_, other) => {
    const bytes = await columnar('rows.parquet', [66_000, 66_000, 100]);
    served.set('rows.parquet', bytes);
    host.behave = ({ range, count }, response) =>
      ranged(response, range, { bytes, ...(count > 3 && other) });
    const error = await tableOf(urlOf('rows.parquet')).catch((one) => one);
    expect(error).toBeInstanceOf(FormatError);
    expect(error.message).toBe(`${urlOf('rows.parquet')}: changed while it was read: start again`);
  });

  it('is an error, of a stream that goes on', async () => {
    host.behave = ({ range, count }, response) => {
      const from = Number(/\d+/.exec(range ?? '')?.[0]);
      return ranged(response, `bytes=${from}-${from + 400_000 - 1}`, {
        etag: count > 1 ? 'W/"2"' : '"1"',
      });
    };
    await expect(tableOf(urlOf('docs.jsonl'))).rejects.toThrow(/changed while it was read/);
  });
});
