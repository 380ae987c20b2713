import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { indexFromArrow } from '../../src/index';
import { Draws } from '../reference/random';
import { rowsOf, run } from './run';

const folder = mkdtempSync(join(tmpdir(), 'halfspace-index-file-'));
afterAll(() => rmSync(folder, { recursive: true }));
const at = (name: string) => join(folder, name);

const DOCS = ['datasets/sample/docs.jsonl', '--text', 'body'];
const make = ['index', at('rows.jsonl'), '--vectors', 'float32', '--bits', '64', '-q'];

beforeAll(async () => {
  const draws = new Draws('index file');
  const lines = Array.from({ length: 400 }, (_, row) => {
    const vector = Array.from({ length: 8 }, () => draws.uniform() - 0.5);
    return JSON.stringify({ id: `r${row}`, year: 1900 + row, vector });
  });
  writeFileSync(at('rows.jsonl'), lines.join('\n'));
  for (const output of ['rows.hs', 'rows.arrow']) {
    expect((await run([...make, '-o', at(output)])).code).toBe(0);
  }
});

describe('an index as one file', () => {
  it.each([
    [[at('rows.jsonl'), '-k', '3']],
    [['--row-id', 'r5', '--row-id', 'r7', '-k', '4']],
    [[at('rows.jsonl'), '--max-distance', '12']],
    [['--row-id', 'r5', '-k', '3', '--by-distance']],
  ])('answers as the folder does: %j', async (words) => {
    const [own, given] = [
      await run(['search', at('rows.hs'), ...words, '-q']),
      await run(['search', at('rows.arrow'), ...words, '-q']),
    ];
    expect([given.code, given.stderr]).toEqual([0, '']);
    expect(rowsOf(given.stdout).length).toBeGreaterThan(2);
    expect(given.stdout).toBe(own.stdout);
  });

  it('is optimized too', { tags: 'thorough' }, async () => {
    const optimized = [...make, '--optimize', '--recall', '0.8', '-o', at('fast.arrow')];
    expect((await run(optimized)).code).toBe(0);
    const index = indexFromArrow(readFileSync(at('fast.arrow')));
    expect([index.count, index.report?.wanted]).toEqual([400, 0.8]);
  });

  it('of texts is searched by rows and by codes, not by texts', { tags: 'thorough' }, async () => {
    const path = at('docs.arrow');
    expect((await run(['index', ...DOCS, '-q', '-o', path])).code).toBe(0);
    expect((await run(['fingerprint', ...DOCS, '-q', '-o', at('codes.arrow')])).code).toBe(0);
    expect((await run(['index', ...DOCS, '-q', '-o', at('docs.hs')])).code).toBe(0);
    const words = ['--code', 'code', '-k', '3', '--columns', 'none', '-q'];
    const [own, given] = [
      await run(['search', at('docs.hs'), at('codes.arrow'), ...words]),
      await run(['search', path, at('codes.arrow'), ...words]),
    ];
    expect([given.code, given.stderr]).toEqual([0, '']);
    expect(given.stdout).toBe(own.stdout);
    const texts = await run(['search', path, ...DOCS]);
    expect([texts.code, texts.stdout]).toEqual([1, '']);
    expect(texts.stderr).toContain('does not say how texts become vectors');
    const other = ['--tokens', 'characters:3', '-q', '-o', at('other.arrow')];
    expect((await run(['fingerprint', ...DOCS, ...other])).code).toBe(0);
    const refused = await run(['search', path, at('other.arrow'), ...words]);
    expect([refused.code, refused.stdout]).toEqual([1, '']);
    expect(refused.stderr).toContain('expected codes of texts that were read by');
  });

  it('is refused where it was cut or changed', { tags: 'thorough' }, async () => {
    const whole = readFileSync(at('rows.arrow'));
    for (let part = 0; part < 12; part++) {
      const end =
        Math.floor((part / 12) * whole.length) + (part === 11 ? whole.length / 12 - 1 : 0);
      writeFileSync(at('cut.arrow'), whole.subarray(0, Math.floor(end)));
      const cut = await run(['search', at('cut.arrow'), '--row-id', 'r5']);
      expect([part, cut.code, cut.stdout]).toEqual([part, 3, '']);
    }
    for (let part = 1; part < 6; part++) {
      const changed = Buffer.from(whole);
      changed[Math.floor((part / 6) * whole.length)] ^= 4;
      if (changed.equals(whole)) continue;
      writeFileSync(at('changed.arrow'), changed);
      const { code } = await run(['search', at('changed.arrow'), '--row-id', 'r5']);
      expect([part, code]).toEqual([part, 3]);
    }
  });

  it('is written whole or not at all, and not over what exists', { tags: 'thorough' }, async () => {
    const before = readFileSync(at('rows.arrow'));
    const again = await run([...make, '-o', at('rows.arrow')]);
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('--force')]);
    expect(readFileSync(at('rows.arrow')).equals(before)).toBe(true);
    expect((await run([...make, '--force', '-o', at('rows.arrow')])).code).toBe(0);
    expect(readFileSync(at('rows.arrow')).equals(before)).toBe(true);
    for (const words of [
      ['-o', at('m.arrow'), '--memory', '1G'],
      ['-o', '-'],
    ]) {
      const { code, stdout } = await run([...make, ...words]);
      expect([code, stdout]).toEqual([2, '']);
    }
    const stdin = await run(['search', '-', '--row-id', 'r5'], { input: '' });
    expect([stdin.code, stdin.stderr]).toEqual([2, expect.stringContaining('not from stdin')]);
    const memory = await run(['search', at('rows.arrow'), '--row-id', 'r5', '--memory', '1G']);
    expect(memory.code).toBe(2);
  });
});
