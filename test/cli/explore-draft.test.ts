import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SimHashIndex } from '../../src/index';
import { saveIndex } from '../../src/node';
import { Draws } from '../reference/random';
import { hasChromium, layoutShift, openAddress, overflow, watched } from './explore/browser';
import { ask, explore } from './explore/serve';
import { ownFolder } from './run';

const ROWS = 2500;

interface Map {
  rows: string;
  x: string;
  y: string;
  clusters: { name: string; size: number }[];
  isDraft: boolean;
}

/** A folder with an index of clustered rows. */
async function indexFolder(rows: number): Promise<string> {
  const cwd = await ownFolder();
  const draws = new Draws('draft map');
  const centres = Array.from({ length: 8 }, () => draws.gaussians(16));
  const index = new SimHashIndex<string>({ bits: 128, dimensions: 16, vectors: 'float32' });
  for (let i = 0; i < rows; i++) {
    const centre = centres[i % 8];
    index.add(
      draws.gaussians(16).map((value, j) => centre[j] + 0.4 * value),
      `row ${i}`,
    );
  }
  await saveIndex(index, join(cwd, 'some.hs'));
  return cwd;
}

const uint16Of = (text: string) =>
  new Uint16Array(new Uint8Array(Buffer.from(text, 'base64')).buffer);

describe('a draft of the map', () => {
  it('is answered until there is a map, of the same rows, and never of few rows', async () => {
    const cwd = await indexFolder(ROWS);
    let served = await explore(['some.hs', '-q'], cwd);
    const first = await ask<Map>(served, 'map', { mayBeDraft: true });
    expect([first.isDraft, first.clusters]).toEqual([true, [{ name: 'all rows', size: ROWS }]]);
    const made = await ask<Map>(served, 'map', { mayBeDraft: false });
    expect([made.isDraft, made.clusters.length > 3]).toEqual([false, true]);
    expect([made.rows === first.rows, made.x === first.x]).toEqual([true, false]);
    expect(await ask(served, 'map', { mayBeDraft: true })).toEqual(made);
    served.child.kill('SIGINT');
    await served.stopped;
    served = await explore(['some.hs', '-q'], cwd); // the map is stored
    expect(await ask(served, 'map', { mayBeDraft: true })).toEqual(made);
    const other = await explore(['some.hs', '--clusters', '5', '-q'], cwd);
    expect(await ask(other, 'map', { mayBeDraft: true })).toEqual(first);
    const few = await explore(['some.hs', '-q'], await indexFolder(200));
    expect((await ask<Map>(few, 'map', { mayBeDraft: true })).isDraft).toBe(false);
  });

  it.skipIf(!hasChromium)(
    'is shown, and gives way to the map with what was found',
    { tags: 'thorough' },
    async () => {
      const served = await explore(['some.hs', '-q'], await indexFolder(ROWS));
      const { page } = await openAddress('about:blank');
      let release = () => {};
      const isSeen = new Promise<void>((resolve) => {
        release = resolve;
      });
      await page.route('**/ask/map', async (route) => {
        if (route.request().postDataJSON().mayBeDraft === false) await isSeen;
        await route.continue();
      });
      const { problems, requests } = await watched(page, served.address);
      await page.waitForSelector('.draft [role=status]:has-text("A draft: ")');
      expect(await page.locator('.legend').count()).toBe(0);
      await page.fill('#query', 'row 5');
      await page.keyboard.press('Enter');
      await page.waitForSelector('.found b:text("row 5")');
      const hits = await page.locator('.hits li').allTextContents();
      await page.click('button[aria-label="Zoom in"]');
      await page.waitForTimeout(400); // the view is at rest
      const at = () => new URLSearchParams(new URL(page.url()).hash.slice(1)).get('at');
      expect(at()).toBe(null); // places of a draft are no link
      release();
      await page.waitForSelector('.legend');
      expect(await page.locator('.draft').count()).toBe(0);
      expect(await page.locator('.hits li').allTextContents()).toEqual(hits);
      await page.waitForFunction(() => location.hash.includes('at='));
      const [x, y, zoom] = (at() ?? '').split(',').map(Number);
      const map = await ask<Map>(served, 'map', { mayBeDraft: false });
      expect(x).toBeCloseTo(uint16Of(map.x)[5] / 65_536, 3);
      expect(y).toBeCloseTo(uint16Of(map.y)[5] / 65_536, 3);
      expect(zoom).toBeCloseTo(2.2 * 1.6, 2);
      expect([await layoutShift(page), await overflow(page)]).toEqual([0, 0]);
      expect([requests, problems]).toEqual([[], []]);
    },
  );

  it.skipIf(!hasChromium)(
    'and the map are whole where another view was open',
    { tags: 'thorough' },
    async () => {
      const served = await explore(['some.hs', '-q'], await indexFolder(ROWS));
      const { page } = await openAddress('about:blank');
      const made = page.waitForResponse(
        (response) => response.request().postDataJSON()?.mayBeDraft === false,
      );
      await watched(page, `${served.address}#view=review`);
      await made;
      await page.click('nav >> text=Map');
      await page.waitForSelector('.legend');
      await page.waitForFunction(() => location.hash.includes('at='));
      const at = new URLSearchParams(new URL(page.url()).hash.slice(1)).get('at') ?? '';
      const [x, y, zoom] = at.split(',').map(Number);
      const { width, height } = await page
        .locator('.map')
        .evaluate((map) => map.getBoundingClientRect());
      // The legend covers 240 pixels at the right; the map fills 92 % of the rest.
      expect(x).toBeCloseTo(0.5 + 120 / (0.92 * Math.min(width - 240, height)), 3);
      expect([y, zoom]).toEqual([0.5, 1]);
    },
  );
});
