import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { GroupAnswer, Held, ReviewAnswer } from '../../src/explore/messages';
import { HeldReview } from '../../src/explore/page/source';
import { readPlan } from '../../src/node';
import { hasChromium, openAddress } from './explore/browser';
import { ask, explore } from './explore/serve';
import { rowsOf, run } from './run';

/** `dedup -o plan.html`: a plan is reviewed in a browser, saved, and applied. */

let folder: string;
const at = (name: string) => join(folder, name);
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'halfspace-plan-page-'));
});
afterAll(() => rm(folder, { recursive: true }));

const words = (first: number, count: number) =>
  Array.from({ length: count }, (_, i) => `word${first + i}`).join(' ');
const bodies = [
  words(0, 60),
  `${words(0, 59)} </script><b>other`, // near the first, and hostile
  words(100, 50),
  `${words(100, 50)} more`,
  words(100, 50),
  words(900, 50),
];

describe.skipIf(!hasChromium)('the page of a plan', () => {
  it('shows the groups, takes decisions by keys, and saves a plan that is applied', async () => {
    const lines = bodies.map((body, i) => JSON.stringify({ id: `d${i}`, body }));
    writeFileSync(at('docs.jsonl'), `${lines.join('\n')}\n`);
    const made = await run(['dedup', at('docs.jsonl'), '--text', 'body', '-o', at('plan.html')]);
    expect(made.code).toBe(0);
    expect(made.stderr).toContain('save plan.jsonl');
    const { page, requests, problems } = await openAddress(pathToFileURL(at('plan.html')).href);
    await page.waitForSelector('.member');
    expect(await page.textContent('.status')).toMatch(/0 of 2 groups.*3 of 6 rows/s);
    // The widest group comes first; its second row is chosen, and S keeps it too.
    const group = page.locator('.member h2');
    expect(await group.allTextContents()).toEqual(['d0', 'd1']);
    expect(await page.locator('.member ins').allTextContents()).toContain('</script><b>other');
    await page.keyboard.press('s');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => document.querySelector('h2')?.textContent === 'd2');
    // K keeps the chosen one only: of equal rows the others go to the nearest kept one.
    await page.keyboard.press('k');
    await page.waitForFunction(() =>
      document.querySelector('.status')?.textContent?.includes('2 of 6'),
    );
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      page.getByText('Save the plan').click(),
    ]);
    expect(saved.suggestedFilename()).toBe('plan.jsonl');
    await saved.saveAs(at('plan.jsonl'));
    expect([requests, problems]).toEqual([[], []]);
    const plan = await readPlan(at('plan.jsonl'));
    expect([...plan.kept].slice(0, 2)).toEqual([1, 1]);
    const third = [...plan.kept].slice(2, 5);
    expect(third.filter((one) => one === 1)).toHaveLength(1);
    const kept = 2 + third.indexOf(1);
    expect([...plan.duplicateOf].slice(2, 5)).toEqual([kept, kept, kept]);
    expect(plan.count).toBe(6);
    const applied = await run([
      ...['dedup', at('docs.jsonl'), '--apply', at('plan.jsonl'), '-o', at('kept.jsonl')],
    ]);
    expect(applied.code).toBe(0);
    const ids = rowsOf<{ id: string }>(readFileSync(at('kept.jsonl'), 'utf8')).map(({ id }) => id);
    expect(ids).toEqual(['d0', 'd1', `d${kept}`, 'd5']);
  });
});

it('a page decides as the server does: a dropped row duplicates the nearest kept one', async () => {
  const first = words(0, 60).split(' ');
  const second = first.map((word, i) => ([3, 40].includes(i) ? 'other' : word));
  const third = second.map((word, i) => (i === 20 ? 'third' : word));
  const texts = [first, second, third, third].map((one) => one.join(' '));
  const lines = texts.map((body, i) => JSON.stringify({ id: `d${i}`, body }));
  writeFileSync(at('near.jsonl'), `${lines.join('\n')}\n`);
  const input = ['near.jsonl', '--text', 'body', '-q'];
  expect((await run(['dedup', ...input, '-o', 'near.HTML'], { cwd: folder })).code).toBe(0);
  const json = /id="held">(.*?)<\/script>/s.exec(readFileSync(at('near.HTML'), 'utf8'))?.[1];
  const { plan, about } = JSON.parse(json ?? '') as Held;
  if (plan === null) throw new Error('the page holds a plan');
  vi.stubGlobal('window', new EventTarget());
  const page = new HeldReview(plan, about.bits);
  vi.unstubAllGlobals();
  const served = await explore(input, folder);
  const { groups } = await ask<ReviewAnswer>(served, 'plan', { near: 0.6 });
  expect(groups.map(({ size }) => size)).toEqual([4]);
  let before = { kept: [0], isReviewed: false };
  // Rows 2 and 3 were near row 0, and are nearer to row 1 as soon as that is kept.
  for (const kept of [[1, 0], [3, 2], [1, 2, 3], [0]]) {
    const decision = { group: groups[0].group, before, after: { kept, isReviewed: true } };
    const ofPage = page.decide(decision);
    const ofServer = await ask<GroupAnswer>(served, 'decide', decision);
    writeFileSync(at('near-page.jsonl'), page.text());
    const [own, theirs] = await Promise.all(
      ['near-page.jsonl', 'near-plan.jsonl'].map((name) => readPlan(at(name))),
    );
    // Where a row goes with another one than before, the page does not know their similarity.
    expect({ ...own, jaccards: null }).toEqual({ ...theirs, jaccards: null });
    expect(ofPage.widest).toBe(ofServer.widest);
    before = { kept, isReviewed: true };
  }
});
