// @module-tag thorough

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { build } from 'tsup';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { IndexFolder, openIndex } from '../../src/node';
import { hasChromium, openAddress } from '../cli/explore/browser';
import { root } from '../docs/examples';
import { startHost, type WebHost } from './web-host';

/** Indexes in the file system of a page (OPFS), in a real browser. */

/** The library, in the page. */
declare const halfspace: typeof import('../../src/index');

const folder = mkdtempSync(join(tmpdir(), 'halfspace-directory-'));
let host: WebHost;

beforeAll(async () => {
  await build({
    ...{ entry: { library: join(root, 'src/index.ts') }, outDir: folder, config: false },
    ...{ format: ['iife'], globalName: 'halfspace', platform: 'browser', target: 'es2022' },
    ...{ noExternal: [/./], silent: true, outExtension: () => ({ js: '.js' }) },
  });
  const page = '<!doctype html><link rel="icon" href="data:,"><script src="library.js"></script>';
  const files = new Map<string, Uint8Array>([['', new TextEncoder().encode(page)]]);
  files.set('library.js', readFileSync(join(folder, 'library.js')));
  host = await startHost(files);
});
afterAll(async () => {
  await host?.close();
  rmSync(folder, { recursive: true });
});

/** Makes an index of 600 rows in the page, saves it, and returns what a search of it finds. */
function saved(page: Page) {
  return page.evaluate(async () => {
    const { saveIndexDirectory, SimHashIndex } = halfspace;
    const index = new SimHashIndex<string>({ bits: 64, dimensions: 8, vectors: 'float32' });
    const values = Float32Array.from({ length: 4800 }, (_, i) => Math.sin(i * i));
    const ids = Array.from({ length: 600 }, (_, i) => `row ${i}`);
    await index.addAll({ values, dimensions: 8 }, ids);
    index.remove('row 7');
    await index.optimize({ queries: 50 });
    const storage = await navigator.storage.getDirectory();
    await saveIndexDirectory(index, await storage.getDirectoryHandle('docs.hs', { create: true }));
    const { ids: found, similarities } = index.search([...values.subarray(80, 88)], { k: 5 });
    return { ids: found, similarities: [...similarities] };
  });
}

/** Names of the files, and the bytes of each. */
function filesIn(page: Page): Promise<[string, number[]][]> {
  return page.evaluate(async () => {
    const storage = await navigator.storage.getDirectory();
    const directory = await storage.getDirectoryHandle('docs.hs');
    const files: [string, number[]][] = [];
    for await (const name of directory.keys()) {
      const file = await (await directory.getFileHandle(name)).getFile();
      files.push([name, Array.from(new Uint8Array(await file.arrayBuffer()))]);
    }
    return files.sort();
  });
}

function write(page: Page, name: string, text: string): Promise<void> {
  const given = [name, text] as const;
  return page.evaluate(async ([name, text]) => {
    const storage = await navigator.storage.getDirectory();
    const directory = await storage.getDirectoryHandle('docs.hs', { create: true });
    const file = await directory.getFileHandle(name, { create: true });
    const stream = await file.createWritable();
    await stream.write(text);
    await stream.close();
  }, given);
}

/** Opens the index, and returns its rows, or the message of the error. */
function rowsIn(page: Page): Promise<number | string> {
  return page.evaluate(async () => {
    const storage = await navigator.storage.getDirectory();
    const opening = halfspace.openIndexDirectory(await storage.getDirectoryHandle('docs.hs'));
    return opening.then(
      ({ count }) => count,
      (error: Error) => error.message,
    );
  });
}

describe.skipIf(!hasChromium)('an index in the file system of a page', () => {
  it('is found there by the next page, in memory and in its files, and by Node', async () => {
    const { page, problems } = await openAddress(host.url);
    const first = await saved(page);
    expect(first.ids[0]).toBe('row 10');
    await page.reload();
    const next = await page.evaluate(async () => {
      const storage = await navigator.storage.getDirectory();
      const directory = await storage.getDirectoryHandle('docs.hs');
      const query = Array.from({ length: 8 }, (_, i) => Math.fround(Math.sin((80 + i) ** 2)));
      const inMemory = await halfspace.openIndexDirectory(directory);
      const stored = await halfspace.openIndexDirectory(directory, { memory: '8MB' });
      const all = [inMemory.search(query, { k: 5 }), await stored.search(query, { k: 5 })];
      return all.map(({ ids, similarities }) => ({ ids, similarities: [...similarities] }));
    });
    expect(next).toEqual([first, first]);

    const files = await filesIn(page);
    const copy = mkdtempSync(join(folder, 'copy-'));
    for (const [name, bytes] of files) writeFileSync(join(copy, name), Uint8Array.from(bytes));
    expect((await IndexFolder.verify(copy)).problems).toEqual([]);
    const index = await openIndex(copy);
    expect([index.count, index.get('row 7'), index.report?.reached]).toEqual([
      ...[599, undefined, true],
    ]);
    expect(problems).toEqual([]);
  });

  it('takes one writer at a time, and refuses one that does not know the newest save', async () => {
    const { page } = await openAddress(host.url);
    await saved(page);
    const outcomes = await page.evaluate(async () => {
      const { openIndexDirectory, saveIndexDirectory, SimHashIndex } = halfspace;
      const storage = await navigator.storage.getDirectory();
      const directory = await storage.getDirectoryHandle('docs.hs');
      const writers = [await openIndexDirectory(directory), await openIndexDirectory(directory)];
      writers[0].add([1, 2, 3, 4, 5, 6, 7, 8], 'a');
      writers[1].add([8, 7, 6, 5, 4, 3, 2, 1], 'b');
      const outcomeOf = (index: (typeof writers)[number]) =>
        saveIndexDirectory(index, directory).then(
          () => 'saved',
          (error: Error) => error.message,
        );
      // The page's locks say which of the two writes first.
      const both = (await Promise.all(writers.map(outcomeOf))).sort();
      const other = new SimHashIndex({ bits: 64 });
      const third = await outcomeOf(other);
      const count = (await openIndexDirectory(directory)).count;
      await saveIndexDirectory(other, directory, { replace: true });
      return [...both, third, count, (await openIndexDirectory(directory)).count];
    });
    expect(outcomes).toEqual([
      'docs.hs is at generation 2, this index is of generation 1: open it again',
      'saved',
      'docs.hs holds an index, "replace: true" puts this one in its place',
      600,
      0,
    ]);
    const names = (await filesIn(page)).map(([name]) => name);
    const manifests = names.filter((name) => name.startsWith('manifest'));
    expect(manifests).toEqual(['manifest-000002.json', 'manifest-000003.json']);
  });

  it('writes what changed, and carries columns and texts on', async () => {
    const { page } = await openAddress(host.url);
    await saved(page);
    const columns = await page.evaluate(async () => {
      const { openIndexDirectory, RowBatch, saveIndexDirectory } = halfspace;
      const storage = await navigator.storage.getDirectory();
      const directory = await storage.getDirectoryHandle('docs.hs');
      const sizes = Array.from({ length: 599 }, (_, i) => i);
      const index = await openIndexDirectory<string>(directory);
      const columns = RowBatch.of({ size: sizes });
      await saveIndexDirectory(index as never, directory, { columns, text: { tokens: 'words' } });
      index.remove('row 9');
      await saveIndexDirectory(index as never, directory);
      const stored = await openIndexDirectory(directory, { memory: '8MB' });
      const rows = Array.from(await stored.rows()).slice(6, 9);
      return { rows, size: (await stored.columns(['size'], { rows })).values('size') };
    });
    expect(columns).toEqual({ rows: [6, 8, 10], size: [6, 7, 9] });
    const files = new Map(await filesIn(page));
    const ofLast = [...files.keys()].filter((name) => name.includes('-000003-'));
    expect(ofLast.map((name) => name.replace(/-.*/, ''))).toEqual(['removed']);
    const copy = mkdtempSync(join(folder, 'kept-'));
    for (const [name, bytes] of files) writeFileSync(join(copy, name), Uint8Array.from(bytes));
    expect((await IndexFolder.verify(copy)).problems).toEqual([]);
    expect((await IndexFolder.open(copy)).text).toEqual({ tokens: 'words' });
  });

  it('passes over a save that did not end, and reports damage', async () => {
    const { page } = await openAddress(host.url);
    await saved(page);
    const [[, bytes]] = (await filesIn(page)).filter(([name]) => name.endsWith('.json'));
    const text = Buffer.from(bytes).toString().replace('"generation": 1', '"generation": 2');
    for (const end of [0, text.length >> 1, text.length - 1]) {
      await write(page, 'manifest-000002.json', text.slice(0, end));
      expect([end, await rowsIn(page)]).toEqual([end, 599]);
    }
    await write(page, 'rows-000002-0-aaaaaaaaaaaa.arrow', 'of a writer that is gone');
    await page.evaluate(async () => {
      const storage = await navigator.storage.getDirectory();
      const directory = await storage.getDirectoryHandle('docs.hs');
      const index = await halfspace.openIndexDirectory(directory);
      index.remove('row 8');
      await halfspace.saveIndexDirectory(index, directory);
    });
    expect(await rowsIn(page)).toBe(598);
    expect((await filesIn(page)).filter(([name]) => name.includes('aaaaaa'))).toEqual([]);
    await write(page, 'manifest-000003.json', text.replace('"generation": 2', '"generation": 3'));
    expect(await rowsIn(page)).toMatch(/manifest-000003\.json: .*fails its checksum/);
  });
});
