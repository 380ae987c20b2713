import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Draws } from '../reference/random';
import { type Outcome, run } from './run';

/** `dedup --apply` to a folder of shards, killed and resumed. */

const folder = mkdtempSync(join(tmpdir(), 'halfspace-killed-'));
afterAll(() => rmSync(folder, { recursive: true }));
const at = (...names: string[]) => join(folder, ...names);

const SHARDS = 12;
const PROGRESS = '.halfspace-dedup.jsonl';
const nameOf = (i: number) => `part-${String(i).padStart(2, '0')}.jsonl${i % 2 ? '.gz' : ''}`;

const filesIn = (path: string) =>
  Object.fromEntries(readdirSync(path).map((name) => [name, readFileSync(join(path, name))]));
const apply = (...options: string[]) => [
  ...['dedup', at('data'), '--apply', at('plan.jsonl'), '-o', at('kept')],
  ...options,
];

beforeAll(async () => {
  mkdirSync(at('data'));
  const draws = new Draws('shards');
  const wordOf = () => `w${draws.integer(20_000)}`;
  const earlier: string[] = [];
  for (let i = 0; i < SHARDS; i++) {
    const lines = Array.from({ length: 1500 }, (_, row) => {
      const text = Array.from({ length: 60 }, wordOf).join(' ');
      const body = row % 3 === 2 ? draws.pick(earlier) : text;
      earlier.push(body);
      return `${JSON.stringify({ id: `${i}/${row}`, body })}\n`;
    });
    const bytes = lines.join('');
    writeFileSync(at('data', nameOf(i)), i % 2 ? gzipSync(bytes) : bytes);
  }
  const made = await run(['dedup', at('data'), '--text', 'body', '-o', at('plan.jsonl')]);
  expect(made.code).toBe(0);
  expect((await run(apply())).code).toBe(0);
});

/** Runs until two more shards are there, then kills. */
function runAndKill(options: readonly string[]): Promise<Outcome> {
  const count = () => (existsSync(at('kept')) ? readdirSync(at('kept')) : []);
  const shown = () => count().filter((name) => !name.startsWith('.')).length;
  const before = shown();
  return run(apply(...options), {
    meanwhile: (child) => {
      const look = setInterval(() => shown() >= before + 2 && child.kill('SIGKILL'), 1);
      child.on('close', () => clearInterval(look));
    },
  });
}

it('goes on where it was killed, and ends with the same bytes', { tags: 'full' }, async () => {
  const whole = filesIn(at('kept'));
  expect(Object.keys(whole)).toHaveLength(SHARDS);
  rmSync(at('kept'), { recursive: true });
  let kills = 0;
  const inodes = new Map<string, number>();
  for (let code: number | null = null; code !== 0; ) {
    const outcome = await runAndKill(kills === 0 ? [] : ['--resume']);
    code = outcome.code;
    if (code !== 0) expect([code, outcome.stderr]).toEqual([null, expect.anything()]);
    kills += Number(code === null && existsSync(at('kept', PROGRESS)));
    // All but the last one, which may not have been entered, are written once.
    const written = readdirSync(at('kept')).filter((name) => !name.startsWith('.'));
    for (const name of written.sort()) {
      const { ino } = statSync(at('kept', name));
      if (inodes.has(name)) expect(inodes.get(name)).toBe(ino);
    }
    for (const name of written.slice(0, -1)) inodes.set(name, statSync(at('kept', name)).ino);
  }
  expect(kills).toBeGreaterThan(1);
  expect(filesIn(at('kept'))).toEqual(whole);
});

it('refuses by name what was changed between the runs', { tags: 'full' }, async () => {
  rmSync(at('kept'), { recursive: true, force: true });
  expect((await runAndKill([])).code).toBe(null);
  const before = filesIn(at('kept'));
  const again = await run(apply());
  expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('resume (--resume)')]);
  const last = at('data', nameOf(SHARDS - 2));
  const content = readFileSync(last, 'utf8');
  writeFileSync(last, content.replace(/w\d+/, 'other'));
  const changed = await run(apply('--resume'));
  expect([changed.code, changed.stderr]).toEqual([3, expect.stringContaining(`${last}: changed`)]);
  writeFileSync(last, content);
  const plan = readFileSync(at('plan.jsonl'), 'utf8');
  writeFileSync(at('plan.jsonl'), plan.replace('"drop"', '"keep"'));
  const other = await run(apply('--resume'));
  expect([other.code, other.stderr]).toEqual([1, expect.stringContaining('by another plan')]);
  writeFileSync(at('plan.jsonl'), plan);
  for (const [name, bytes] of Object.entries(before)) {
    expect(readFileSync(at('kept', name))).toEqual(bytes);
  }
  expect((await run(apply('--resume'))).code).toBe(0);
  const planless = await run(['dedup', at('data'), '--text', 'body', '--resume']);
  expect([planless.code, planless.stderr]).toEqual([2, expect.stringContaining('--apply PLAN')]);
});
