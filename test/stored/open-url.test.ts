import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  FormatError,
  IndexFolder,
  openIndex,
  openIndexUrl,
  SimHashIndex,
  saveIndex,
} from '../../src/node';
import { bodiesOf } from '../../src/table/arrow/messages';
import { partitioned } from '../folder/partitioned';
import { Draws } from '../reference/random';
import { bytesIn } from './files';
import { found, type Kind, searchesOf } from './places';
import { startHost, type WebHost } from './web-host';

/** An index on a web host whose files change while it is open. */

const DIMENSIONS = 8;
const query = Float32Array.from({ length: DIMENSIONS }, (_, i) => Math.sin(i));
const rowsOf = (first: number, count: number) => ({
  values: Float32Array.from({ length: count * DIMENSIONS }, (_, i) => Math.sin(first + i ** 2)),
  dimensions: DIMENSIONS,
});

let folder = '';
let host: WebHost;
const served = new Map<string, Uint8Array>();

/** Copies the folder to the host, and deletes what the folder has no more. */
function publish(): void {
  served.clear();
  for (const name of readdirSync(folder)) served.set(name, readFileSync(join(folder, name)));
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'halfspace-url-'));
  const index = new SimHashIndex({ bits: 64, dimensions: DIMENSIONS, vectors: 'float32' });
  index.addAll(rowsOf(0, 200));
  await saveIndex(index, folder);
  publish();
  host = await startHost(served);
});

afterEach(async () => {
  await host.close();
  rmSync(folder, { recursive: true });
});

const opened = () => openIndexUrl(host.url, { memory: '8MB' });

it('goes on with its generation while the files are there, and then says that there is another', async () => {
  const index = await opened();
  const before = await index.search(query, { k: 5, method: 'scan' });
  for (let i = 0; i < 3; i++) {
    await (await IndexFolder.open(folder)).remove([before.ids[i]]);
    await (await IndexFolder.open(folder)).compact();
  }
  const old = new Map(served);
  publish();
  const [copy, now] = [new Map(served), await opened()];
  for (const [name, bytes] of old) if (name !== 'manifest.json') served.set(name, bytes);
  expect((await index.search(query, { k: 5, method: 'scan' })).ids).toEqual(before.ids);
  served.clear();
  for (const [name, bytes] of copy) served.set(name, bytes);
  await expect(index.search(query, { k: 5, method: 'scan' })).rejects.toThrow(
    /it is missing.*generation \d+ was published since: open the index again/,
  );
  const after = await now.search(query, { k: 2, method: 'scan' });
  expect(after.ids).toEqual(before.ids.slice(3));
  await index.close();
  await now.close();
});

it('answers as a sound host would where each request fails once, in another way', async () => {
  const index = await opened();
  const wanted = await index.search(query, { k: 20 });
  await index.close();
  const seen = new Set<string>();
  const ways: ((response: ServerResponse, request: IncomingMessage) => unknown)[] = [
    (response) => response.writeHead(500).end(),
    (response) => response.writeHead(429, { 'retry-after': '0' }).end('later'),
    (_, request) => request.socket.destroy(),
    (response, request) => {
      response.writeHead(206, { 'content-length': 4000 });
      response.write(new Uint8Array(9), () => request.socket.destroy());
    },
    (response) => response.writeHead(503).end('<html>'),
  ];
  host.behave = ({ name, range }, response, request) => {
    if (seen.has(`${name} ${range}`)) return false;
    ways[seen.size % ways.length](response, request);
    seen.add(`${name} ${range}`);
    return true;
  };
  const again = await opened();
  expect((await again.search(query, { k: 20 })).ids).toEqual(wanted.ids);
  expect((await again.get(wanted.ids[0]))?.row).toBe(wanted.rows[0]);
  expect(seen.size).toBeGreaterThan(4);
  await again.close();
});

it('answers none of its searches where a manifest of later and files of before are mixed', async () => {
  const old = new Map(served);
  await (await IndexFolder.open(folder)).append(rowsOf(900, 3));
  publish();
  // A cache has the old bytes under each new name of the same kind.
  for (const name of served.keys()) {
    const kind = name.split('-')[0];
    const before = [...old.keys()].find((one) => one.startsWith(`${kind}-`));
    if (name !== 'manifest.json' && before) served.set(name, old.get(before) as Uint8Array);
  }
  const answer = opened().then((index) => index.search(query));
  const error = await answer.catch((one) => one);
  expect(error).toBeInstanceOf(FormatError);
  expect(error.message).toMatch(/\.arrow: (damaged|cut short)/);
});

it('never takes bytes of another file for those of its own, as a cache may send them', async () => {
  const index = await opened();
  const [rows = ''] = [...served.keys()].filter((name) => name.startsWith('rows-'));
  const bytes = (served.get(rows) as Uint8Array).slice();
  for (let at = 0; at < bytes.length; at += 64) bytes[at] ^= 1;
  served.set(rows, bytes);
  const error = await index.search(query, { method: 'scan' }).catch((one) => one);
  expect(error).toBeInstanceOf(FormatError);
  expect(error.message).toMatch(`${host.url}${rows}: damaged: block 0 fails its checksum`);
  await index.close();
});

it('is refused where there is none, or half of one, and by wrong options', async () => {
  const [blocks = ''] = [...served.keys()].filter((name) => name.startsWith('blocks-'));
  served.delete(blocks);
  await expect(opened()).rejects.toThrow(`${host.url}${blocks}: it is missing`);
  served.delete('manifest.json');
  await expect(opened()).rejects.toThrow(/no index: it has no manifest/);
  await expect(openIndexUrl('docs.hs', { memory: 1 })).rejects.toThrow(RangeError);
  await expect(openIndexUrl(host.url, {} as never)).rejects.toThrow(TypeError);
  const unknown = { memory: '8MB', cache: 1 } as never;
  await expect(openIndexUrl(host.url, unknown)).rejects.toThrow(/has no option "cache"/);
  const signal = AbortSignal.abort(new Error('enough'));
  await expect(openIndexUrl(host.url, { memory: '8MB', signal })).rejects.toThrow('enough');
});

describe('an index without equal codes', () => {
  const width = 24;
  const rows = (seed: number, count: number) => {
    return { values: new Draws(seed).gaussians(count * width), dimensions: width };
  };
  const asked = rows(7, 3);
  const at = (i: number) => asked.values.subarray(i * width, (i + 1) * width);
  let files: Map<string, Uint8Array>;
  let memory: SimHashIndex;
  let other: WebHost;

  /** Three segments and removed rows. */
  beforeEach(async () => {
    const own = join(folder, 'own.hs');
    const index = new SimHashIndex({ bits: 256, dimensions: width, vectors: 'int8' });
    index.addAll(rows(1, 4000));
    partitioned(index, { recall: 0.9, k: 5, queries: 40, partitions: 40 });
    await saveIndex(index, own);
    const saved = await IndexFolder.open(own);
    await saved.append(rows(2, 200));
    await saved.append(rows(3, 60));
    await saved.remove(Array.from({ length: 600 }, (_, i) => 7 * i));
    memory = await openIndex(own);
    files = bytesIn(own);
    other = await startHost(files);
    return () => other.close();
  });

  it('is searched without the codes of partitions, with equal results', {
    tags: 'thorough',
  }, async () => {
    const near = await openIndexUrl(new Map(files), { memory: '8MB' });
    const far = await openIndexUrl(other.url, { memory: '8MB' });
    for (const one of [near, far]) await one.search(at(0), { k: 1, probes: 30, oversample: 1 });
    expect(far.figures.bytesRead).toBeLessThan(0.9 * near.figures.bytesRead);
    const small = await openIndexUrl(other.url, { memory: '250KB' });
    const kind = { isPartitioned: true } as Kind;
    for (const options of searchesOf(kind)) {
      for (let i = 0; i < 2; i++) {
        const wanted = found(memory.search(at(i), options));
        for (const one of [far, small]) {
          expect({ options, ...found(await one.search(at(i), options)) }).toEqual({
            ...{ options, ...wanted },
          });
        }
      }
    }
    const together = memory.searchAll(asked, { k: 7 }).map(found);
    for (const one of [far, small]) {
      expect((await one.searchAll(asked, { k: 7 })).map(found)).toEqual(together);
      // By estimate the codes of the same partitions are needed while others search without.
      const both = [one.search(at(2), { k: 9 }), one.search(at(2), { k: 9, rank: 'estimate' })];
      expect((await Promise.all(both)).map(found)).toEqual([
        found(memory.search(at(2), { k: 9 })),
        found(memory.search(at(2), { k: 9, rank: 'estimate' })),
      ]);
    }
    for (const one of [near, far, small]) await one.close();
  });

  it('notices codes that are damaged', async () => {
    // Of each block the codes are its last bytes.
    for (const [name, before] of files) {
      if (!name.startsWith('rows-')) continue;
      const bytes = before.slice();
      for (const { at, length } of bodiesOf(bytes)) bytes[at + length - 1] ^= 1;
      files.set(name, bytes);
    }
    const index = await openIndexUrl(other.url, { memory: '8MB' });
    const error = await index.search(at(0)).catch((one) => one);
    expect(error).toBeInstanceOf(FormatError);
    expect(error.message).toMatch(/rows-.*: damaged: the codes of block \d+ fail their checksum/);
    await index.close();
  });
});
