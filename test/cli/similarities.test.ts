import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { IndexFolder } from '../../src/node';
import { splitterOf } from '../../src/text/tokens';
import { readCodes } from '../reference/arrow';
import { Draws } from '../reference/random';
import { ownFolder, run } from './run';

/** Texts, half of them copies of an earlier one in which some words are replaced. */
function textsOf(count: number): string[] {
  const draws = new Draws('texts of the command');
  const texts: string[][] = [];
  for (let i = 0; i < count; i++) {
    const from = i > 4 && i % 2 === 0 ? draws.pick(texts) : null;
    const word = () => `w${draws.integer(900)}`;
    const words = from ?? Array.from({ length: 60 }, word);
    texts.push(words.map((one) => (from && draws.uniform() < 0.04 ? word() : one)));
  }
  return texts.map((words) => words.join(' '));
}

const texts = textsOf(120);
const sets = texts.map((text) => new Set(splitterOf('shingles:2').split(text)));
const jaccardOf = (a: number, b: number) => {
  const common = [...sets[a]].filter((token) => sets[b].has(token)).length;
  return common / (sets[a].size + sets[b].size - common);
};

async function written(): Promise<{ folder: string; file: string }> {
  const folder = await ownFolder();
  const file = join(folder, 'texts.jsonl');
  await writeFile(file, texts.map((text, id) => JSON.stringify({ id, text })).join('\n'));
  return { folder, file };
}

it('pairs --min-jaccard are the true pairs of the sets of tokens, with their similarity', async () => {
  const { file } = await written();
  const { code, stdout, stderr } = await run([
    'pairs',
    file,
    '--text',
    'text',
    '--min-jaccard',
    '.7',
  ]);
  expect(code).toBe(0);
  const truth = texts.flatMap((_, a) =>
    texts.flatMap((_, b) => (a < b && jaccardOf(a, b) >= 0.7 ? [{ a, b }] : [])),
  );
  expect(truth.length).toBeGreaterThan(20);
  const found = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  for (const { a, b, jaccard } of found) expect(jaccard).toBeCloseTo(jaccardOf(a, b), 12);
  expect(found.every(({ jaccard }) => jaccard >= 0.7)).toBe(true);
  // Of pairs at the edge one in a thousand may be missed, of others fewer.
  expect(found.length / truth.length).toBeGreaterThan(0.99);
  expect(stderr).toMatch(/compared exactly: (> )?99\.9 % of the pairs at 0\.7 are found/);
});

it('pairs of the texts of two files are exact too', async () => {
  const { folder } = await written();
  const half = texts.length / 2;
  const files = [0, half].map((first) => ({ first, file: join(folder, `from-${first}.jsonl`) }));
  for (const { first, file } of files) {
    const own = texts.slice(first, first + half).map((text) => JSON.stringify({ text }));
    await writeFile(file, own.join('\n'));
  }
  const two = ['pairs', ...files.map(({ file }) => file), '--text', 'text'];
  const { code, stdout, stderr } = await run([...two, '--min-jaccard', '.6']);
  expect(code).toBe(0);
  const truth: string[] = [];
  for (let a = 0; a < half; a++) {
    for (let b = 0; b < half; b++) {
      const jaccard = jaccardOf(a, half + b);
      if (jaccard >= 0.6) truth.push(JSON.stringify({ a, b, jaccard: jaccard.toFixed(9) }));
    }
  }
  expect(truth.length).toBeGreaterThan(20);
  const found = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
    .map(({ a, b, jaccard }) => JSON.stringify({ a, b, jaccard: jaccard.toFixed(9) }));
  expect(truth).toEqual(expect.arrayContaining(found));
  expect(found.length / truth.length).toBeGreaterThan(0.97);
  expect(stderr).toMatch(/compared exactly: 99(\.\d+)? % of the pairs at 0\.6 are found/);
  const byCosine = await run([...two, '--min-cosine', '.75']);
  expect(byCosine.stderr).toContain('compared exactly');
  for (const line of byCosine.stdout.trim().split('\n')) {
    expect(JSON.parse(line).cosine).toBeGreaterThanOrEqual(0.75);
  }
});

it('a plan by --min-jaccard or --min-cosine has no row below it, and applies', async () => {
  const { folder, file } = await written();
  for (const [option, column] of [
    ['--min-jaccard', 'jaccard'],
    ['--min-cosine', 'cosine'],
  ]) {
    const plan = join(folder, `${column}.jsonl`);
    const words = ['dedup', file, '--text', 'text', option, '0.75'];
    expect((await run([...words, '-o', plan])).code).toBe(0);
    const rows = (await readFile(plan, 'utf8'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(rows.every((row) => row[column] >= 0.75)).toBe(true);
    const dropped = rows.filter(({ action }) => action === 'drop');
    expect(dropped.length).toBeGreaterThan(20);
    if (column === 'jaccard') {
      for (const { row, duplicate_of, jaccard } of dropped) {
        expect(jaccard).toBeCloseTo(jaccardOf(row, duplicate_of), 6);
      }
    }
    const kept = join(folder, `${column}-kept.jsonl`);
    expect((await run(['dedup', file, '--apply', plan, '-o', kept])).code).toBe(0);
    const left = (await readFile(kept, 'utf8')).trim().split('\n').length;
    expect(left).toBe(texts.length - dropped.length);
  }
});

it('similarities of stdin are estimated, and said to be', async () => {
  const input = texts.map((text) => JSON.stringify({ text })).join('\n');
  const words = ['pairs', '-', '--from', 'jsonl', '--min-jaccard', '0.7'];
  const { stdout, stderr } = await run(words, { input });
  expect(stderr).toContain('Jaccard similarity 0.7 or more is taken as within 38 of 256 bits');
  const first = JSON.parse(stdout.split('\n')[0]);
  expect(first).toHaveProperty('estimatedJaccard');
});

it('an index of sets is searched by Jaccard similarity', { tags: 'thorough' }, async () => {
  const { folder, file } = await written();
  const index = join(folder, 'sets.hs');
  const made = ['index', file, '--text', 'text', '--projection', 'minwise', '-o', index];
  expect((await run([...made, '--vectors', 'sparse', '--tokens', 'shingles:2'])).code).toBe(0);
  const { stdout } = await run([
    'search',
    index,
    '--row-id',
    '6',
    '--columns',
    'none',
    '-k',
    '1',
    '--to',
    'csv',
  ]);
  expect(stdout).toMatch(/^query,rank,id,distance,estimatedJaccard\n6,1,\d+,\d+,0\.\d+\n$/);
  const exact = await run(['pairs', index, '--min-jaccard', '0.9']);
  for (const line of exact.stdout.trim().split('\n')) {
    const { a, b, jaccard } = JSON.parse(line);
    expect(jaccard).toBeCloseTo(jaccardOf(a, b), 12);
  }
  for (const [words, message] of [
    [['pairs', index, '--min-cosine', '0.5'], '--min-cosine needs codes made for cosine'],
    [
      ['index', file, '--append', '--projection', 'signs', '-o', index],
      'was made with --projection minwise, not signs',
    ],
    [['index', index, '--optimize'], 'needs no optimize()'],
  ] as const) {
    const { code, stderr } = await run(words);
    expect(code).toBeGreaterThan(0);
    expect(stderr).toContain(message);
  }
});

it('shards are planned and applied as one file', {
  tags: 'thorough',
}, async () => {
  const { folder, file } = await written();
  const lines = (await readFile(file, 'utf8')).split('\n');
  const shards = join(folder, 'shards');
  await mkdir(shards);
  await writeFile(join(shards, '1.jsonl'), lines.slice(0, 50).join('\n'));
  await writeFile(join(shards, '2.jsonl.gz'), gzipSync(lines.slice(50).join('\n')));
  const [one, many] = [join(folder, 'one.jsonl'), join(folder, 'many.jsonl')];
  // Plans of other files, with the same rows.
  const rowsOf = async (plan: string) =>
    (await readFile(plan, 'utf8')).replaceAll(/,"source":"[\da-f-]+"/g, '');
  expect((await run(['dedup', file, '--text', 'text', '-o', one])).code).toBe(0);
  for (const input of [shards, `${shards}/*.jsonl*`]) {
    const { code } = await run([...['dedup', input, '--text', 'text', '-o', many, '--force']]);
    expect(code).toBe(0);
    expect(await rowsOf(many)).toBe(await rowsOf(one));
  }
  const ofShards = join(folder, 'of-shards.jsonl');
  expect((await run(['dedup', shards, '--apply', many, '-o', ofShards])).code).toBe(0);
  const kept = join(folder, 'kept.jsonl');
  expect((await run(['dedup', file, '--apply', one, '-o', kept])).code).toBe(0);
  const whole = await run(['fingerprint', kept, '--text', 'text', '-o', '-', '--to', 'jsonl']);
  const parts = await run(['fingerprint', ofShards, '--text', 'text', '--to', 'jsonl']);
  expect(parts.stdout).toBe(whole.stdout);
  const within = await run(['dedup', shards, '--text', 'text', '-o', join(shards, 'plan.jsonl')]);
  expect([within.code, within.stderr]).toEqual([2, expect.stringContaining('would be one of')]);
});

it('an index of texts as sets has the codes of fingerprint, and finds a text by its words', {
  tags: 'thorough',
}, async () => {
  const folder = await ownFolder();
  const at = (name: string) => join(folder, name);
  const bodies = ['to be or not to be that is the question', 'a cup of green tea is on the table'];
  await writeFile(at('t.jsonl'), bodies.map((body) => JSON.stringify({ body })).join('\n'));
  const asked = ['--text', 'body', '--projection', 'minwise'];
  await run(['index', at('t.jsonl'), ...asked, '-o', at('t.hs')]);
  await run(['fingerprint', at('t.jsonl'), ...asked, '-o', at('t.arrow')]);
  const { codes } = await readCodes(at('t.arrow'));
  const index = await (await IndexFolder.open(at('t.hs'))).index();
  expect(index.get(1)?.code).toEqual(codes.at(1));
  const found = await run(['search', at('t.hs'), '--query', bodies[1], '--to', 'jsonl']);
  expect(JSON.parse(found.stdout.split('\n')[0])).toMatchObject({ id: 1, distance: 0 });
  const all = await run(['search', at('t.hs'), at('t.jsonl'), '--text', 'body', '--to', 'jsonl']);
  const firsts = all.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(firsts.filter(({ distance }) => distance === 0)).toHaveLength(2);
});

// By planes of ±1 rows of few entries were farther apart than their cosine says: some were all missed.
it.each([
  ['texts of two words', 'pairs', 'text', (words: string[]) => words.join(' ')],
  ['rows of two entries', 'dedup', 'k,w', null],
] as const)('--min-cosine finds near %s', async (_, verb, columns, textOf) => {
  const file = join(await ownFolder(), 'short.jsonl');
  const lines = Array.from({ length: 800 }, (_, i) => {
    const pair = i >> 1;
    const own = i % 2 === 0 ? [`a${pair}x`, `b${pair}x`, `c${pair}x`] : [`b${pair}x`, `c${pair}x`];
    const k = own.map((word) => Number.parseInt(word.slice(1), 10) + 1000 * 'abc'.indexOf(word[0]));
    const row = textOf === null ? { k, w: k.map(() => 1) } : { text: textOf(own) };
    return JSON.stringify({ id: i, ...row });
  });
  await writeFile(file, lines.join('\n'));
  const option = textOf === null ? '--vector' : '--text';
  const more = textOf === null ? [] : ['--tf-idf', '--tokens', 'words', '--from', 'jsonl'];
  // Two of three: a cosine of sqrt(2 / 3) = .816; of words, where the third counts more, .785.
  const least = textOf === null ? '.8' : '.75';
  const { code, stdout } = await run([
    ...[verb, file, option, columns, '--min-cosine', least, '--to', 'jsonl', ...more],
  ]);
  expect(code).toBe(0);
  const found = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const near = verb === 'pairs' ? found : found.filter(({ action }) => action === 'drop');
  expect(near.length).toBeGreaterThan(0.98 * 400);
  expect(near.length).toBeLessThanOrEqual(400);
});
