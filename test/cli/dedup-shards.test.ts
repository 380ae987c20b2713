import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import { createRows, RowBatch } from '../../src/node';
import { rowsOf, run, runLines } from './run';

/** Near-duplicate texts in several files, of several formats, and in groups of rows. */

const folder = mkdtempSync(join(tmpdir(), 'halfspace-shards-'));
afterAll(() => rmSync(folder, { recursive: true }));
const at = (name: string) => join(folder, name);

const words = 'when the sun is low a long shadow of each tree lies over the field and the river';
const textAt = (i: number) => `${words.replaceAll('e', `e${i}`)} ${words.replaceAll('o', `o${i}`)}`;
interface Doc {
  id: string;
  lang: string | null;
  body: string;
}
const doc = (id: string, text: number, lang: string | null = 'en'): Doc => {
  return { id, lang, body: textAt(text) };
};
const write = (name: string, docs: readonly Doc[]) => {
  const lines = docs.map((one) => `${JSON.stringify(one)}\n`).join('');
  writeFileSync(at(name), name.endsWith('.gz') ? gzipSync(lines) : lines);
};
const planOf = (name: string) =>
  rowsOf<{ row: number; id: string; action: string; duplicate_of: number }>(
    readFileSync(at(name), 'utf8'),
  );
const dropped = (name: string) => planOf(name).flatMap((l) => (l.action === 'drop' ? [l.id] : []));

describe('several inputs', () => {
  const [a, c] = [
    [doc('a0', 0), doc('a1', 1)],
    [doc('c0', 1), doc('c1', 3)],
  ];
  write('a.jsonl', a);
  mkdirSync(at('data'));
  write('data/c.jsonl.gz', c);
  const b = [doc('b0', 2), doc('b1', 0)];

  it('are planned as one, of any formats, and applied to one file', async () => {
    const writer = await createRows(at('b.parquet'));
    const columnOf = (name: keyof Doc) => b.map((one) => one[name]);
    await writer.write(
      RowBatch.of({ body: columnOf('body'), id: columnOf('id'), lang: columnOf('lang') }),
    );
    await writer.close();
    const inputs = [at('a.jsonl'), at('b.parquet'), at('data/*.jsonl.gz')];
    const options = ['--text', 'body', '-o', at('plan.jsonl')];
    const made = await run(['dedup', ...inputs, ...options]);
    expect([made.code, made.stderr]).toEqual([0, expect.stringContaining('6 rows: 4 to keep')]);
    const listed = planOf('plan.jsonl').map(({ id }) => id);
    expect(listed.sort()).toEqual(['a0', 'a1', 'b1', 'c0']);
    expect(dropped('plan.jsonl')).toEqual(['b1', 'c0']);
    expect(made.stderr).toContain('2 to drop (33.3 %), in 2 groups of two or more');
    const applied = await run([
      ...['dedup', ...inputs, '--apply', at('plan.jsonl'), '-o', at('kept.jsonl')],
    ]);
    expect([applied.code, applied.stderr]).toEqual([0, expect.stringContaining('4 kept')]);
    const kept = rowsOf<Doc>(readFileSync(at('kept.jsonl'), 'utf8'));
    expect(kept).toEqual([...a, b[0], c[1]]);
  });

  it('may have files without a byte, which have no rows', async () => {
    mkdirSync(at('parts'));
    write('parts/p0.jsonl', []);
    write('parts/p1.jsonl', a);
    write('parts/p2.jsonl', [doc('p0', 0)]);
    writeFileSync(at('parts/p3.jsonl.gz'), gzipSync(''));
    const made = await run(['dedup', at('parts'), '--text', 'body', '-o', at('parts.jsonl')]);
    expect([made.code, dropped('parts.jsonl')]).toEqual([0, ['p0']]);
    const apply = ['--apply', at('parts.jsonl'), '-o', at('parts-kept.jsonl')];
    expect(await run(['dedup', at('parts'), ...apply])).toMatchObject({ code: 0 });
    expect(readFileSync(at('parts-kept.jsonl'), 'utf8')).toBe(
      readFileSync(at('parts/p1.jsonl'), 'utf8'),
    );
    const { code, stderr } = await run(['dedup', at('parts/p0.jsonl'), '--text', 'body']);
    expect([code, stderr]).toEqual([3, expect.stringContaining('p0.jsonl: empty')]);
  });

  it('may be more than a process may have open', async () => {
    mkdirSync(at('small'));
    for (let i = 0; i < 400; i++) write(`small/s${i}.jsonl`, [doc(`s${i}`, i)]);
    const lines = 'ulimit -n 100; halfspace dedup small --text body -o small.jsonl';
    const { code, stderr } = await runLines(lines, folder);
    expect([code, stderr]).toEqual([0, expect.stringContaining('400 rows: ')]);
  });

  it('refuses a file given twice, and takes ids that are in two files', async () => {
    const twice = await run(['dedup', at('a.jsonl'), at('a.jsonl'), '--text', 'body']);
    expect([twice.code, twice.stderr]).toEqual([3, expect.stringContaining('given twice')]);
    write('again.jsonl', [doc('z', 5), doc('a1', 6)]);
    const inputs = ['dedup', at('a.jsonl'), at('again.jsonl'), '--text', 'body'];
    const made = await run(inputs);
    expect([made.code, made.stderr]).toEqual([0, expect.stringContaining('4 rows')]);
    const stdin = await run(['dedup', '-', at('a.jsonl'), '--text', 'body'], { input: '' });
    expect([stdin.code, stdin.stderr]).toEqual([2, expect.stringContaining('stdin is read alone')]);
  });
});

describe('files that were changed since the plan was made', () => {
  const shards = ['s0.jsonl', 's1.jsonl', 's2.jsonl.gz'];
  const docs = [
    [doc('p0', 0), doc('p1', 1)],
    [doc('q0', 2), doc('q1', 3)],
    [doc('r0', 4), doc('r1', 0)],
  ];
  const inputs = shards.map(at);
  const restore = () => {
    for (const [i, name] of shards.entries()) write(name, docs[i]);
  };
  const apply = (plan: string, files = inputs) =>
    run(['dedup', ...files, '--apply', at(plan), '-o', at('kept-shards.jsonl'), '--force']);

  it.each(['jsonl', 'csv', 'arrow'])('are refused, plan as %s', async (format) => {
    restore();
    const plan = `marks.${format}`;
    const made = await run(['dedup', ...inputs, '--text', 'body', '-o', at(plan)]);
    expect(made.code).toBe(0);
    // As many rows, of the same ids.
    write('s1.jsonl', [docs[1][0], doc('q1', 6)]);
    const changed = await apply(plan);
    const sentence = `s0.jsonl and 2 others: changed since ${at(plan)} was made: make the plan again`;
    expect([changed.code, changed.stderr]).toEqual([3, expect.stringContaining(sentence)]);
    expect(existsSync(at('kept-shards.jsonl'))).toBe(false);
    restore();
    const reversed = await apply(plan, [...inputs].reverse());
    expect(reversed.code).toBe(3);
    expect(reversed.stderr).toContain('and 2 others: changed since');
    const fewer = await apply(plan, inputs.slice(0, 2));
    expect(fewer.code).toBe(3);
    const applied = await apply(plan);
    expect([applied.code, applied.stderr]).toEqual([0, expect.stringContaining('5 kept')]);
    rmSync(at('kept-shards.jsonl'));
  });

  it('are refused too where the plan has no line of them, or lines were deleted', async () => {
    restore();
    await run(['dedup', ...inputs, '--text', 'body', '-o', at('few.jsonl')]);
    const lines = readFileSync(at('few.jsonl'), 'utf8').trim().split('\n');
    expect(planOf('few.jsonl').map(({ id }) => id)).toEqual(['p0', 'r1']);
    writeFileSync(at('few.jsonl'), `${lines[1]}\n`);
    write('s1.jsonl', [docs[1][0], doc('q1', 6)]);
    const changed = await apply('few.jsonl');
    expect(changed.code).toBe(3);
    expect(changed.stderr).toContain('s0.jsonl and 2 others: changed since');
  });

  it('are not known to plans of before, which have no checksums of them', async () => {
    restore();
    const old = readFileSync(at('few.jsonl'), 'utf8').replace(/"source":"[^"]+",?/, '');
    writeFileSync(at('old.jsonl'), old.replace(',}', '}'));
    const applied = await apply('old.jsonl');
    expect([applied.code, applied.stderr]).toEqual([0, expect.stringContaining('5 kept')]);
  });
});

describe('rows of one value', () => {
  const docs = [
    ...[doc('e0', 0), doc('d0', 0, 'de'), doc('e1', 0), doc('e2', 0), doc('d1', 0, 'de')],
    ...[doc('none', 0, null)],
  ];
  write('langs.jsonl', docs);
  const args = ['dedup', at('langs.jsonl'), '--text', 'body', '-o', at('langs-plan.jsonl')];

  it('--within compares rows of the same language only', async () => {
    expect((await run([...args, '--within', 'lang'])).code).toBe(0);
    expect(dropped('langs-plan.jsonl').sort()).toEqual(['d1', 'e1', 'e2']);
  });

  it('--keep-at-most keeps several of a group', async () => {
    const options = ['--within', 'lang', '--keep-at-most', '2', '--keep', 'last', '--force'];
    expect((await run([...args, ...options])).code).toBe(0);
    expect(dropped('langs-plan.jsonl')).toEqual(['e0']);
  });

  it('are equal in shards of which one has integers, and where they are lists', async () => {
    const yearOf = (years: readonly number[]) =>
      years.map((year, i) => `${JSON.stringify({ ...doc(`y${i}`, 0), year })}\n`).join('');
    writeFileSync(at('distinct.jsonl'), yearOf([2000, 2001]));
    writeFileSync(at('repeated.jsonl'), yearOf([2000, 2000, 2001, 2001]));
    const options = ['--text', 'body', '-o', at('years-plan.jsonl'), '--within'];
    const years = ['dedup', at('distinct.jsonl'), at('repeated.jsonl')];
    expect((await run([...years, ...options, 'year'])).code).toBe(0);
    expect(planOf('years-plan.jsonl').map(({ duplicate_of }) => duplicate_of)).toEqual([
      ...[0, 0, 0, 1, 1, 1],
    ]);
    const kinds = [[1, 2], [3], [1, 2], null];
    const lists = kinds.map((kind) => `${JSON.stringify({ body: textAt(0), kind })}\n`);
    writeFileSync(at('kinds.jsonl'), lists.join(''));
    expect((await run(['dedup', at('kinds.jsonl'), ...options, 'kind', '--force'])).code).toBe(0);
    expect(planOf('years-plan.jsonl').map(({ row }) => row)).toEqual([0, 2]);
  });

  it('are refused with a plan that grows', async () => {
    const both = await run([...args, '--within', 'lang', '--extend', at('langs-plan.jsonl')]);
    expect([both.code, both.stderr]).toEqual([
      2,
      expect.stringContaining('--extend does not go with --within'),
    ]);
  });
});

it('--target-rows keeps so many rows, the nearest ones going first', {
  tags: 'thorough',
}, async () => {
  const edited = (id: string, words: number): Doc => {
    const [body, other] = [textAt(0).split(' '), textAt(7).split(' ')];
    return { ...doc(id, 0), body: [...other.slice(0, words), ...body.slice(words)].join(' ') };
  };
  write('sizes.jsonl', [doc('a', 0), edited('b', 4), doc('c', 0), edited('d', 1), doc('e', 9)]);
  const args = ['dedup', at('sizes.jsonl'), '--text', 'body', '-o', at('sizes-plan.jsonl')];
  const planned = (...more: string[]) => run([...args, '--force', ...more]);
  const all = await planned();
  expect([all.code, dropped('sizes-plan.jsonl').sort()]).toEqual([0, ['b', 'c', 'd']]);
  expect((await planned('--target-rows', '3')).code).toBe(0);
  expect(dropped('sizes-plan.jsonl').sort()).toEqual(['c', 'd']);
  expect((await planned('--target-rows', '4')).code).toBe(0);
  expect(dropped('sizes-plan.jsonl')).toEqual(['c']);
  const one = await planned('--target-rows', '1');
  expect(dropped('sizes-plan.jsonl').sort()).toEqual(['b', 'c', 'd']);
  expect(one.stderr).toContain('2 rows stay, although all duplicates go: a larger --max-distance');
  expect((await planned('--target-rows', '9')).code).toBe(0);
  expect(dropped('sizes-plan.jsonl')).toEqual([]);
});

it('a plan of one line for more rows than the input can have takes no memory for them', async () => {
  const line = { row: 0, group: 0, action: 'keep', duplicate_of: 0, distance: 0, check: 0 };
  writeFileSync(at('hostile.jsonl'), `${JSON.stringify({ ...line, rows: 2 ** 26 })}\n`);
  const applied = await run([
    ...['dedup', at('langs.jsonl'), '--apply', at('hostile.jsonl'), '-o', at('out.jsonl')],
  ]);
  expect(applied.code).toBe(3);
  expect(applied.stderr).toContain('1 lines say that they are of 67108864 rows');
});
