import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeEach, expect, it } from 'vitest';
import { type ApplyOptions, applyPlan } from '../../src/formats/apply-plan';
import { createRows } from '../../src/formats/create-rows';
import type { DedupPlan } from '../../src/near/plan';
import { RowBatch } from '../../src/table/row-batch';

/** A plan that is applied to shards: what is reported of them, and what a failure leaves. */

const folder = mkdtempSync(join(tmpdir(), 'halfspace-shards-'));
afterAll(() => rmSync(folder, { recursive: true }));
const at = (...names: string[]) => join(folder, ...names);

const ROWS = 60;
const SHARDS = ['a.jsonl', 'b/c.jsonl.gz', 'd.csv', 'e.parquet', 'f.jsonl'];
const kept = Uint8Array.from({ length: ROWS }, (_, row) => Number(row % 3 !== 1));
const duplicateOf = Uint32Array.from(kept, (one, row) => row - (1 - one));
const plan: DedupPlan = {
  ...{ count: ROWS, kept, duplicateOf, groups: duplicateOf, cosines: null, jaccards: null },
  ...{ distances: new Uint16Array(ROWS), checks: new Uint32Array(ROWS) },
};

async function writeSource(): Promise<void> {
  mkdirSync(at('in/b'), { recursive: true });
  const ids = (i: number) => Array.from({ length: 12 }, (_, row) => `${12 * i + row}`);
  const jsonl = (i: number) =>
    ids(i)
      .map((id) => `{"id": "${id}",  "text": "text ${id}"}\n`)
      .join('');
  writeFileSync(at('in/a.jsonl'), jsonl(0));
  writeFileSync(at('in/b/c.jsonl.gz'), gzipSync(jsonl(1)));
  writeFileSync(
    at('in/d.csv'),
    `id,text\n${ids(2)
      .map((id) => `${id},"text ${id}"\n`)
      .join('')}`,
  );
  const writer = await createRows(at('in/e.parquet'), { force: true });
  await writer.write(RowBatch.of({ id: ids(3), text: ids(3).map((id) => `text ${id}`) }));
  await writer.close();
  writeFileSync(at('in/f.jsonl'), jsonl(4));
}

/** All files of a folder, hidden ones too, by name. */
function filesIn(path: string): Record<string, string> {
  const names = readdirSync(path, { recursive: true, encoding: 'utf8' }).sort();
  const files = names.filter((name) => statSync(join(path, name)).isFile());
  return Object.fromEntries(files.map((name) => [name, readFileSync(join(path, name), 'hex')]));
}

const apply = (options: ApplyOptions = {}, own = plan) =>
  applyPlan(own, at('in'), at('out'), options);

beforeEach(async () => {
  for (const name of ['in', 'out']) rmSync(at(name), { recursive: true, force: true });
  await writeSource();
});

it.each([1, 2, 3, 4])(
  'a run that is stopped after %i shards leaves none of them',
  async (count) => {
    const stop = new AbortController();
    const seen: number[] = [];
    const onProgress = (done: number) => {
      seen.push(done);
      if (seen.length === count) stop.abort(new Error('stopped'));
    };
    await expect(apply({ signal: stop.signal, onProgress })).rejects.toThrow('stopped');
    expect(seen).toEqual([12, 24, 36, 48].slice(0, count));
    expect(filesIn(at('out'))).toEqual({});
    await apply({ force: false });
    expect(Object.keys(filesIn(at('out')))).toEqual([...SHARDS].sort());
  },
);

it('an output that is there is replaced only by force, and by name', async () => {
  mkdirSync(at('out'), { recursive: true });
  writeFileSync(at('out/d.csv'), 'own\n');
  await expect(apply({ force: false })).rejects.toThrow(
    `the output ${at('out/d.csv')} exists; force (--force) replaces it`,
  );
  expect(Object.keys(filesIn(at('out')))).toEqual(['d.csv']);
  expect(readFileSync(at('out/d.csv'), 'utf8')).toBe('own\n');
  await apply({ force: true });
  expect(readFileSync(at('out/d.csv'), 'utf8')).toMatch(/^id,text\n24,"text 24"\n/);
});

it('counts of lines that were left out are of all shards', async () => {
  appendFileSync(at('in/a.jsonl'), 'broken\n');
  appendFileSync(at('in/f.jsonl'), 'broken too\n');
  const applied = await apply({ onError: 'skip' });
  expect(applied.skipped).toBe(2);
  expect(applied.skippedLines.map(({ reason }) => reason.split(', ').at(-1))).toEqual([
    at('in/a.jsonl'),
    at('in/f.jsonl'),
  ]);
});

it('a run that fails at its first output leaves nothing', async () => {
  mkdirSync(dirname(at('out/a.jsonl/x')), { recursive: true });
  await expect(apply()).rejects.toThrow('a.jsonl is a folder');
  expect(readdirSync(at('out'))).toEqual(['a.jsonl']);
  rmSync(at('out'), { recursive: true });
  await apply();
  expect(Object.keys(filesIn(at('out')))).toEqual([...SHARDS].sort());
});
