import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readPlan } from '../../src/node';
import { hasChromium, openAddress } from './explore/browser';
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
