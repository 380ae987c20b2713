import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Codes, dedup, TextHasher } from '../../src/node';
import { Draws } from '../reference/random';
import { rowsOf, run } from './run';

/** New rows against those of an index, without the old texts. */

const folder = mkdtempSync(join(tmpdir(), 'halfspace-against-'));
afterAll(() => rmSync(folder, { recursive: true }));
const at = (name: string) => join(folder, name);

const OLD = 60;
const COUNT = 120;
const WITHIN = 40;
const draws = new Draws(11);
const words = () => Array.from({ length: 60 }, () => `w${draws.integer(5000)}`);
const first = Array.from({ length: 40 }, words);
/** Versions of forty texts, with 0, 2, 4 … words changed. */
const texts = Array.from({ length: COUNT }, (_, row) => {
  const own = [...first[draws.integer(40)]];
  for (let i = draws.integer(5); i > 0; i--) own[draws.integer(60)] = `x${row}${i}`;
  return own.join(' ');
});
const lines = (from: number, end: number) =>
  texts
    .slice(from, end)
    .map((text, i) => `${JSON.stringify({ id: `d${from + i}`, text })}\n`)
    .join('');
const against = (...more: string[]) =>
  run(['dedup', at('new.jsonl'), '--text', 'text', '--against', at('old.hs'), ...more]);

interface Line {
  readonly id: string;
  readonly action: string;
  readonly near_to: string | null;
  readonly distance: number;
}

let codes: Codes;
beforeAll(async () => {
  writeFileSync(at('old.jsonl'), lines(0, OLD));
  writeFileSync(at('new.jsonl'), lines(OLD, COUNT));
  const made = await run([
    ...['index', at('old.jsonl'), '--projection', 'minwise', '--text', 'text'],
    ...['--tokens', 'shingles:2', '-o', at('old.hs')],
  ]);
  expect(made.code === 0 ? 0 : made.stderr).toBe(0);
  rmSync(at('old.jsonl'));
  codes = await new TextHasher({
    ...{ bits: 256, tokens: 'shingles:2', projection: 'minwise' },
  }).hashAll(texts);
});

describe('new rows against an index', () => {
  it('go for the nearest old row, or for each other as in a plan without old ones', async () => {
    const { code, stdout, stderr } = await against('--max-distance', String(WITHIN));
    expect([code, stderr]).toEqual([0, expect.stringContaining('60 new rows: ')]);
    const plan = rowsOf<Line>(stdout);
    const isNear = (row: number, other: number) => codes.distance(row, other) <= WITHIN;
    let [known, alone] = [0, 0];
    for (let row = OLD; row < COUNT; row++) {
      const line = plan.find(({ id }) => id === `d${row}`);
      const others = Array.from({ length: OLD }, (_, other) => other).filter((other) =>
        isNear(row, other),
      );
      if (others.length === 0) {
        const isNearNew = texts.some((_, i) => i >= OLD && i < row && isNear(row, i));
        if (!isNearNew) expect(line?.action ?? 'keep').toBe('keep');
        expect(line?.near_to ?? null).toBeNull();
        alone++;
        continue;
      }
      const least = Math.min(...others.map((other) => codes.distance(row, other)));
      const nearest = others.find((other) => codes.distance(row, other) === least);
      expect([line?.action, line?.near_to, line?.distance]).toEqual(['drop', `d${nearest}`, least]);
      known++;
    }
    expect([known > 20, alone > 3]).toEqual([true, true]);
  });

  it('of the default nearness are those of the library at the distance that it is taken as', async () => {
    const { code, stdout, stderr } = await against();
    expect(code).toBe(0);
    const [, within] = /taken as within (\d+) of 256 bits/.exec(stderr) ?? [];
    const all = await dedup(codes, { maxDistance: Number(within) });
    const dropped = rowsOf<{ action: string }>(stdout).filter(({ action }) => action === 'drop');
    expect(dropped.length).toBeGreaterThanOrEqual(all.kept.slice(OLD).filter((one) => !one).length);
  });

  it.each([
    [['--bits', '64'], 'was made with --bits 256, not 64'],
    [['--tokens', 'words'], 'was made with --tokens shingles:2, not words'],
    [['--extend', 'p.csv'], '--against does not go with --extend'],
    [['--against', 'new.jsonl'], '--against is given twice'],
    [['--min-cosine', '0.9'], 'needs codes made for cosine: these are for Jaccard similarity'],
  ])('are refused with %j', async (options, sentence) => {
    const { code, stderr } = await against(...options);
    expect(code).toBeGreaterThan(0);
    expect(stderr).toContain(sentence);
  });

  it('need an index', async () => {
    const words = ['dedup', at('new.jsonl'), '--against', at('new.jsonl')];
    const { code, stderr } = await run(words);
    expect([code, stderr]).toEqual([2, expect.stringContaining('make one by halfspace index')]);
  });
});
