import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import {
  FormatError,
  IndexFolder,
  openIndex,
  openIndexUrl,
  SimHashIndex,
  saveIndex,
} from '../../src/node';
import { HttpPlace } from '../../src/store/http-place';
import { temporaryFolder } from './collection';
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
  await index.addAll(rowsOf(0, 200));
  await saveIndex(index, folder);
  publish();
  host = await startHost(served);
});

afterEach(async () => {
  await host.close();
  rmSync(folder, { recursive: true });
});

/** Publishes an index of 3,000 rows in partitions in place of the other one. */
async function publishPartitions(): Promise<SimHashIndex> {
  const index = new SimHashIndex({ bits: 64, dimensions: DIMENSIONS, vectors: 'float32' });
  await index.addAll(rowsOf(0, 3000));
  await index.optimize({ partitions: 64, queries: 60, k: 5, recall: 0.9 });
  await saveIndex(index, folder, { replace: true });
  publish();
  return index;
}

const opened = () => openIndexUrl(host.url, { memory: '8MB' });

it('goes on with its generation while the files are there, and then says that there is another', async () => {
  const index = await opened();
  const before = await index.search(query, { k: 5, rank: 'hamming' });
  for (let i = 0; i < 3; i++) {
    await (await IndexFolder.open(folder)).remove([before.ids[i]]);
    await (await IndexFolder.open(folder)).compact();
  }
  const old = new Map(served);
  publish();
  const [copy, now] = [new Map(served), await opened()];
  for (const [name, bytes] of old) if (name !== 'manifest.json') served.set(name, bytes);
  expect((await index.search(query, { k: 5, rank: 'hamming' })).ids).toEqual(before.ids);
  served.clear();
  for (const [name, bytes] of copy) served.set(name, bytes);
  await expect(index.search(query, { k: 5, rank: 'hamming' })).rejects.toThrow(
    /it is missing.*generation \d+ was saved since: open the index again/,
  );
  const after = await now.search(query, { k: 2, rank: 'hamming' });
  expect(after.ids).toEqual(before.ids.slice(3));
  await index.close();
  await now.close();
});

it('waits for the host twice in a search: for its partitions, then for vectors', async () => {
  const index = await publishPartitions();
  const stored = await opened();
  const reads = vi.spyOn(HttpPlace.prototype, 'read');
  const { ids } = await stored.search(query, { probes: 40 });
  const kinds = reads.mock.calls.map(([{ name }]) => name.split('-')[0]);
  reads.mockRestore();
  expect(kinds).toEqual(['rows', 'vectors']);
  expect(ids).toEqual(index.search(query, { probes: 40 }).ids);
  await stored.close();
});

it('answers as a sound host would where each request fails once, in another way', async () => {
  await publishPartitions();
  const index = await opened();
  const wanted = await index.search(query, { k: 20 });
  const byDistance = await index.search(query, { k: 20, rank: 'hamming' });
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
  expect((await again.search(query, { k: 20, rank: 'hamming' })).ids).toEqual(byDistance.ids);
  expect((await again.get(wanted.ids[0]))?.row).toBe(wanted.rows[0]);
  expect(seen.size).toBeGreaterThan(4);
  await again.close();
});

it('rejects together all searches that wait for a host which does not answer', async () => {
  await publishPartitions();
  const index = await openIndexUrl(host.url, { memory: '1MB', timeoutMs: 100 });
  host.behave = () => true;
  const searches = Array.from({ length: 8 }, () => index.search(query));
  const reasons = await Promise.all(searches.map((one) => one.catch((error) => error)));
  expect(reasons[0].message).toMatch(/the host took more than 0.1 s/);
  expect(new Set(reasons).size).toBe(1);
  await index.close();
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
  const error = await index.search(query, { rank: 'hamming' }).catch((one) => one);
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

it('has one row for an id as a number and as a bigint, wherever the index is', async () => {
  const all = await temporaryFolder();
  for (const ids of [BigInt64Array.of(5n, 77_777n, 2n ** 60n), [5, 77_777, 12]]) {
    const folder = join(all, typeof ids[0]);
    const index = new SimHashIndex<number | bigint>({ bits: 64, dimensions: 2 });
    await index.addAll(
      [1, 2, 3].map((x) => [x, 1]),
      ids as number[],
    );
    await saveIndex(index as SimHashIndex, folder);
    const host = await startHost(folder);
    const far = await openIndexUrl<number | bigint>(host.url, { memory: '4MB' });
    const near = await openIndex(folder, { memory: '4MB' });
    for (const place of [index, near, far]) {
      for (const id of [77_777, 77_777n]) expect((await place.get(id))?.row).toBe(1);
      expect(await place.get(77_778n)).toBeUndefined();
    }
    await far.close();
    await near.close();
    await host.close();
  }
});
