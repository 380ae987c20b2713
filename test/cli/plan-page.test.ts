import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { GroupAnswer, Held, ReviewAnswer } from '../../src/explore/messages';
import { HeldReview } from '../../src/explore/page/source';
import { readPlan } from '../../src/node';
import { ask, explore } from './explore/serve';
import { run } from './run';

let folder: string;
const at = (name: string) => join(folder, name);
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'halfspace-plan-page-'));
});
afterAll(() => rm(folder, { recursive: true }));

const words = (first: number, count: number) =>
  Array.from({ length: count }, (_, i) => `word${first + i}`).join(' ');
it('a page decides as the server does: a dropped row duplicates the nearest kept one', async () => {
  const first = words(0, 60).split(' ');
  const second = first.map((word, i) => ([3, 40].includes(i) ? 'other' : word));
  const third = second.map((word, i) => (i === 20 ? 'third' : word));
  const texts = [first, second, third, third].map((one) => one.join(' '));
  const lines = texts.map((body, i) => JSON.stringify({ id: `d${i}`, body }));
  writeFileSync(at('near.jsonl'), `${lines.join('\n')}\n`);
  const input = ['near.jsonl', '--text', 'body', '-q'];
  expect((await run(['dedup', ...input, '-o', 'first.jsonl'], { cwd: folder })).code).toBe(0);
  const written = ['--plan', 'first.jsonl', '-o', 'near.html'];
  expect((await run(['explore', ...input, ...written], { cwd: folder })).code).toBe(0);
  const json = /id="held">(.*?)<\/script>/s.exec(readFileSync(at('near.html'), 'utf8'))?.[1];
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
