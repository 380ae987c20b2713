import {
  appendFileSync,
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
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { type ApplyOptions, applyPlan } from '../../src/formats/apply-plan';
import { createRows } from '../../src/formats/create-rows';
import type { DedupPlan } from '../../src/groups/plan';
import { RowBatch } from '../../src/table/row-batch';

/** A plan that is applied to shards, stopped, and applied again. */

const folder = mkdtempSync(join(tmpdir(), 'halfspace-resume-'));
afterAll(() => rmSync(folder, { recursive: true }));
const at = (...names: string[]) => join(folder, ...names);

const ROWS = 60;
const SHARDS = ['a.jsonl', 'b/c.jsonl.gz', 'd.csv', 'e.parquet', 'f.jsonl'];
const PROGRESS = '.halfspace-dedup.jsonl';
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

/** Stops after so many shards. */
async function stopAfter(count: number, options: ApplyOptions = {}): Promise<void> {
  const stop = new AbortController();
  const onProgress = (done: number) => done === 12 * count && stop.abort(new Error('stopped'));
  const stopped = apply({ ...options, signal: stop.signal, onProgress });
  await expect(stopped).rejects.toThrow('stopped');
}

const inodeOf = (name: string) => statSync(at('out', name)).ino;

beforeEach(async () => {
  for (const name of ['in', 'out']) rmSync(at(name), { recursive: true, force: true });
  await writeSource();
});

it.each([1, 2, 3, 4])('what %i shards were written of is gone on with', async (count) => {
  await apply();
  const whole = filesIn(at('out'));
  expect(Object.keys(whole)).toEqual([...SHARDS].sort());
  rmSync(at('out'), { recursive: true });
  await stopAfter(count);
  const written = SHARDS.slice(0, count);
  expect(Object.keys(filesIn(at('out')))).toEqual([PROGRESS, ...written].sort());
  const before = written.map(inodeOf);
  // A process that is killed leaves what it was writing.
  writeFileSync(at('out', `.${SHARDS[count]}.0123456789ab.tmp`.replace(/^\.b\//, 'b/.')), 'half');
  const seen: number[] = [];
  await apply({ resume: true, force: false, onProgress: (done) => seen.push(done) });
  expect(seen).toEqual([12, 24, 36, 48, 60]);
  expect(written.map(inodeOf)).toEqual(before);
  expect(filesIn(at('out'))).toEqual(whole);
});

it('an output that is missing, or was not entered yet, is written again', async () => {
  await apply();
  const whole = filesIn(at('out'));
  await stopAfter(3, { force: true });
  rmSync(at('out/b/c.jsonl.gz'));
  const progress = readFileSync(at('out', PROGRESS), 'utf8');
  writeFileSync(at('out', PROGRESS), progress.slice(0, -5));
  const [first, third] = ['a.jsonl', 'd.csv'].map(inodeOf);
  await stopAfter(4, { resume: true });
  expect([inodeOf('a.jsonl') === first, inodeOf('d.csv') === third]).toEqual([true, false]);
  await apply({ resume: true });
  expect(filesIn(at('out'))).toEqual(whole);
});

it('counts of lines that were left out are of all shards', async () => {
  appendFileSync(at('in/a.jsonl'), 'broken\n');
  appendFileSync(at('in/f.jsonl'), 'broken too\n');
  await stopAfter(2, { onError: 'skip' });
  const applied = await apply({ onError: 'skip', resume: true });
  expect(applied.skipped).toBe(2);
  expect(applied.skippedLines.map(({ reason }) => reason.split(', ').at(-1))).toEqual([
    at('in/a.jsonl'),
    at('in/f.jsonl'),
  ]);
});

it('a shard that cannot be opened is left out where lines may be', async () => {
  writeFileSync(at('in/b/c.jsonl.gz'), readFileSync(at('in/b/c.jsonl.gz')).subarray(0, 30));
  const count = ROWS - 12;
  const rows = (values: Uint32Array) => values.slice(0, count);
  const own: DedupPlan = {
    ...{ ...plan, count, kept: kept.slice(0, count), distances: new Uint16Array(count) },
    ...{
      groups: rows(duplicateOf),
      duplicateOf: rows(duplicateOf),
      checks: new Uint32Array(count),
    },
  };
  await expect(apply({}, own)).rejects.toThrow('its gzip is damaged');
  const stop = new AbortController();
  const onProgress = (done: number) => done === 24 && stop.abort(new Error('stopped'));
  const options: ApplyOptions = { onError: 'skip' };
  await expect(apply({ ...options, signal: stop.signal, onProgress }, own)).rejects.toThrow('stop');
  const { skipped, skippedLines } = await apply({ ...options, resume: true }, own);
  const reason = `cannot be opened, ${at('in/b/c.jsonl.gz')}`;
  expect([skipped, skippedLines]).toEqual([1, [{ line: 0, reason }]]);
  const names = SHARDS.filter((name) => name !== 'b/c.jsonl.gz');
  expect(Object.keys(filesIn(at('out')))).toEqual(names.sort());
  const lines = readFileSync(at('in/f.jsonl'), 'utf8').split('\n').slice(0, -1);
  const stays = lines.filter((_, i) => kept[36 + i] === 1);
  expect(readFileSync(at('out/f.jsonl'), 'utf8')).toBe(`${stays.join('\n')}\n`);
});

describe('refuses', () => {
  const resumed = (options: ApplyOptions = {}, own = plan) =>
    expect(apply({ resume: true, ...options }, own)).rejects;
  const files = () => filesIn(at('out'));

  it('another plan, other options, other shards', async () => {
    await stopAfter(2);
    const before = files();
    const other = { ...plan, kept: plan.kept.slice() };
    other.kept[59] = 1 - other.kept[59];
    await resumed({}, other).toThrow(`${at('out')}: the stopped run was by another plan`);
    await resumed({ onError: 'skip' }).toThrow('by another plan or other options');
    const ids = { column: 'id', values: Array.from({ length: ROWS }, (_, row) => `${row}`) };
    await resumed({ ids }).toThrow('by another plan or other options');
    writeFileSync(at('in/g.jsonl'), '{"id": "60", "text": "text 60"}\n');
    await resumed().toThrow('the stopped run had other shards, or in another order: g.jsonl');
    expect(files()).toEqual(before);
    rmSync(at('in/g.jsonl'));
    // As the folder is spelled does not matter.
    await applyPlan(plan, at('in', '..', 'in'), at('in', '..', 'out'), { resume: true });
    expect(existsSync(at('out', PROGRESS))).toBe(false);
  });

  it.each([0, 4])('a shard that was changed, by name: %i', async (i) => {
    await stopAfter(2);
    const before = files();
    const text = readFileSync(at('in', SHARDS[i]), 'utf8').replace('text 1', 'TEXT 1');
    writeFileSync(at('in', SHARDS[i]), text.replace('text 50', 'TEXT 50'));
    await resumed().toThrow(`${at('in', SHARDS[i])}: changed since the stopped run began`);
    expect(files()).toEqual(before);
  });

  it('an output that was changed, by name', async () => {
    await stopAfter(2);
    appendFileSync(at('out/a.jsonl'), '{}\n');
    await resumed().toThrow(`${at('out/a.jsonl')}: changed since the run that is resumed wrote it`);
    rmSync(at('out/a.jsonl'));
    await apply({ resume: true });
  });

  it('what a run has left, unless it is asked to go on or to replace it', async () => {
    await stopAfter(1);
    await expect(apply({ force: false })).rejects.toThrow(
      `${at('out')} has outputs of a run that was stopped: resume (--resume) goes on with it`,
    );
    // From here on the run is that of the other plan.
    const all = { ...plan, kept: new Uint8Array(ROWS).fill(1) };
    const stop = new AbortController();
    const onProgress = () => stop.abort(new Error('stopped'));
    await expect(apply({ signal: stop.signal, onProgress }, all)).rejects.toThrow('stopped');
    await resumed().toThrow('by another plan');
    await apply({ resume: true }, all);
    expect(readFileSync(at('out/a.jsonl'))).toEqual(readFileSync(at('in/a.jsonl')));
    expect(readFileSync(at('out/f.jsonl'))).toEqual(readFileSync(at('in/f.jsonl')));
    await resumed({ force: false }).toThrow(`the output ${at('out/a.jsonl')} exists; force`);
  });

  it('a damaged progress file, and one file as output', async () => {
    await stopAfter(2);
    const bytes = readFileSync(at('out', PROGRESS));
    for (let i = 0; i < bytes.length; i += 11) {
      const damaged = Uint8Array.from(bytes);
      damaged[i] ^= 4;
      writeFileSync(at('out', PROGRESS), damaged);
      await resumed().toThrow(at('out', PROGRESS));
    }
    writeFileSync(at('out', PROGRESS), '');
    await resumed().toThrow(`${at('out', PROGRESS)}: `);
    const one = applyPlan(plan, at('in'), at('one.jsonl'), { resume: true });
    await expect(one).rejects.toThrow('"resume" (--resume) is for shards');
  });
});

it('a run that fails before its first output leaves nothing to go on with', async () => {
  mkdirSync(dirname(at('out/a.jsonl/x')), { recursive: true });
  await expect(apply()).rejects.toThrow('a.jsonl is a folder');
  expect(readdirSync(at('out'))).toEqual(['a.jsonl']);
  rmSync(at('out'), { recursive: true });
  await apply({ resume: true });
  expect(Object.keys(filesIn(at('out')))).toEqual([...SHARDS].sort());
});
