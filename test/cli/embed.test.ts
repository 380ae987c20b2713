import { existsSync, realpathSync } from 'node:fs';
import { mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { tableFromIPC } from 'apache-arrow';
import { beforeAll, describe, expect, it } from 'vitest';
import type { FindAnswer } from '../../src/explore/messages';
import { IndexFolder, openRows } from '../../src/node';
import { vectorOf } from '../reference/transformers.mjs';
import { ask, explore } from './explore/serve';
import { ownFolder, root, rowsOf, run, runChild, runLines } from './run';

const HOOK = new URL('../reference/transformers-hook.mjs', import.meta.url).href;
const fileOf = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** The environment in which the command finds the package that runs models in this module. */
const found = (module: string) => ({
  NODE_OPTIONS: `--import=${HOOK}`,
  HALFSPACE_TEST_PEER: pathToFileURL(module).href,
});
const STANDS_FOR_IT = found(fileOf('../reference/transformers.mjs'));
beforeAll(async () => {
  process.env.HALFSPACE_TEST_PEER = STANDS_FOR_IT.HALFSPACE_TEST_PEER;
  await import(HOOK);
});
const hasPackage = existsSync(join(root, 'node_modules/@huggingface/transformers'));

const DOCS = [
  { id: 'a', body: 'cats and dogs', year: 2001 },
  { id: 'b', body: 'zzz', year: 2002 },
  { id: 'c', body: null, year: 2003 },
  { id: 'd', body: ' \n', year: 2004 },
  { id: 'e', body: 'dogs and cats', year: null },
];

/** A folder with docs.jsonl, and what runs the command in it. */
async function started(docs: readonly object[] = DOCS) {
  const cwd = await ownFolder();
  const lines = docs.map((doc) => `${JSON.stringify(doc)}\n`);
  await writeFile(join(cwd, 'docs.jsonl'), lines.join(''));
  const halfspace = (line: string, input = '') => run(line.split(' '), { cwd, input });
  const sound = async (line: string) => {
    const { code, stdout, stderr } = await halfspace(line);
    expect([code, stderr]).toEqual([0, expect.any(String)]);
    return stdout;
  };
  return { cwd, halfspace, sound };
}

const EMBED = 'embed docs.jsonl --text body --model org/small -o docs.arrow';

describe('embed', () => {
  it('writes vectors next to the other columns, and which model made them', async () => {
    const { cwd, sound } = await started();
    await sound(EMBED);
    const file = join(cwd, 'docs.arrow');
    const reader = await openRows(file);
    const model = { model: 'org/small', revision: 'main', pooling: 'mean' };
    expect(reader.model).toEqual(model);
    await reader.close();
    expect(reader.columns.map(({ name }) => name)).toEqual(['id', 'body', 'year', 'vector']);
    const table = tableFromIPC(await readFile(file));
    const header = JSON.parse(table.schema.metadata.get('halfspace') ?? '');
    expect(header).toEqual({ version: 1, kind: 'vectors', model });
    expect([...(table.getChild('id') ?? [])]).toEqual(DOCS.map(({ id }) => id));
    const vectors = Array.from(table.getChild('vector') ?? [], (vector) => vector && [...vector]);
    const vectorFor = (text: string | null) => (text?.trim() ? vectorOf(text, 'mean') : null);
    expect(vectors).toEqual(DOCS.map(({ body }) => vectorFor(body)));
  });

  it('carries the columns that are named, from a pipe to a pipe', async () => {
    const { halfspace } = await started();
    const input = DOCS.map((doc) => `${JSON.stringify(doc)}\n`).join('');
    const line = 'embed - --from jsonl --model org/small --columns id --pooling cls';
    const { code, stdout, stderr } = await halfspace(line, input);
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(/2 rows without text.*\n.*only Arrow/),
    ]);
    const rows = rowsOf<{ id: string; vector: number[] }>(stdout);
    expect(Object.keys(rows[0])).toEqual(['id', 'vector']);
    expect(rows[0].vector.map(Math.fround)).toEqual(vectorOf('cats and dogs', 'cls'));
  });

  it('has columns where there are no rows', async () => {
    const { cwd, sound } = await started();
    await writeFile(join(cwd, 'none.csv'), 'id,body\n');
    await sound('embed none.csv --text body --types body=text --model org/small -o none.arrow');
    const reader = await openRows(join(cwd, 'none.arrow'));
    await reader.close();
    expect(reader.columns.map(({ name }) => name)).toEqual(['id', 'body', 'vector']);
  });

  it('keeps a folder as a whole path', async () => {
    const { cwd, sound, halfspace } = await started();
    await mkdir(join(cwd, 'models/small'), { recursive: true });
    await sound(EMBED.replace('org/small', 'models/small'));
    const reader = await openRows(join(cwd, 'docs.arrow'));
    await reader.close();
    expect(reader.model).toEqual({ model: join(cwd, 'models/small'), pooling: 'mean' });
    const line = 'embed docs.jsonl --text body --model models/small --revision v2';
    expect(await halfspace(line)).toMatchObject({ code: 2 });
  });

  it('leaves nothing where it is stopped', { tags: 'thorough' }, async () => {
    const many = Array.from({ length: 3000 }, (_, id) => ({ id, body: `text ${id}` }));
    const { cwd } = await started(many);
    const before = await readdir(cwd);
    const { code } = await runChild(EMBED.split(' '), {
      cwd,
      env: { ...STANDS_FOR_IT, HALFSPACE_TEST_SLOW: '1' },
      meanwhile: (child) => {
        child.stderr?.once('data', () => setTimeout(400).then(() => child.kill('SIGINT')));
      },
    });
    expect(code).toBe(130);
    expect(await readdir(cwd)).toEqual(before);
  });

  it('goes on where it was stopped, as far as texts and model are the same', {
    tags: 'thorough',
  }, async () => {
    const docs = Array.from({ length: 1300 }, (_, id) => ({ id, body: id % 7 ? `t ${id}` : '' }));
    const { cwd, sound, halfspace } = await started(docs);
    await sound(EMBED);
    const [part, whole] = [join(cwd, 'docs.arrow.part'), join(cwd, 'docs.arrow')];
    const expected = await readFile(whole);
    expect(existsSync(part)).toBe(false);
    // A batch of 512 rows, of which every seventh has no text.
    const batchTexts = 512 - 74;
    const batchBytes = 8 + 4 * 27 * batchTexts;
    await runChild([...EMBED.split(' '), '--force'], {
      cwd,
      env: { ...STANDS_FOR_IT, HALFSPACE_TEST_SLOW: '1' },
      meanwhile: async (child) => {
        const isEnough = async () => existsSync(part) && (await readFile(part)).length > batchBytes;
        while (!(await isEnough())) await setTimeout(20);
        child.kill('SIGKILL');
      },
    });
    const stopped = await readFile(part);
    expect((await stat(part)).mode & 0o77).toBe(0); // nobody else reads vectors of private texts
    const again = async (content: Uint8Array, line = EMBED) => {
      await writeFile(part, content);
      const { code, stderr } = await halfspace(`${line} --force`);
      expect([code, existsSync(part)]).toEqual([0, false]);
      return Number(/going on behind ([\d,]+)/.exec(stderr)?.[1]?.replace(',', '') ?? 0);
    };
    expect(stopped.length).toBeGreaterThan(batchBytes);
    expect(await again(stopped)).toBeGreaterThan(batchTexts);
    expect(await readFile(whole)).toEqual(expected);
    expect(await again(stopped.subarray(0, stopped.length - 1))).toBe(batchTexts);
    expect(await readFile(whole)).toEqual(expected);
    const changed = Uint8Array.from(stopped);
    changed[batchBytes + 1000] ^= 1;
    expect(await again(changed)).toBe(batchTexts);
    expect(await readFile(whole)).toEqual(expected);
    expect(await again(stopped, EMBED.replace('org/small', 'org/other'))).toBe(0);
  });

  it.each([
    ['embed docs.jsonl --text body -o x.arrow', 2, '--model NAME or FOLDER'],
    ['embed docs.jsonl --text year --model m -o x.arrow', 2, 'holds no texts'],
    ['embed docs.jsonl --text body --model org/nowhere -o x.arrow', 1, 'no such model'],
    ['embed docs.jsonl --text body --model org/offline/m -o x.arrow', 1, 'give "pooling"'],
  ])('%s fails with code %i', async (line, expected, message) => {
    const { cwd, halfspace } = await started();
    const { code, stderr } = await halfspace(line);
    expect([code, stderr]).toEqual([expected, expect.stringContaining(message)]);
    expect(await readdir(cwd)).toEqual(['docs.jsonl']);
  });

  it.skipIf(hasPackage)('says in a sentence what to install', async () => {
    const { cwd } = await started();
    const { code, stderr } = await runChild([...EMBED.split(' '), '-q'], { cwd });
    const sentence =
      'embed() needs a package that is not installed: npm install @huggingface/transformers';
    expect([code, stderr]).toEqual([1, `halfspace: ${sentence}\n`]);
  });
});

describe('an index of such a file', () => {
  it('embeds the text of a query', async () => {
    const { cwd, sound } = await started();
    await sound(EMBED);
    await sound('index docs.arrow --vectors float32 -o docs.hs');
    const text = { model: 'org/small', revision: 'main', pooling: 'mean' };
    expect((await IndexFolder.open(join(cwd, 'docs.hs'))).text).toEqual(text);
    await sound('index docs.hs --compact');
    const query = 'search docs.hs --query zebra -k 5 --columns year';
    const [nearest, ...others] = rowsOf(await sound(query));
    const [zebra, zzz] = ['zebra', 'zzz'].map((one) => vectorOf(one, 'mean'));
    const cosine = zebra.reduce((sum, value, i) => sum + value * zzz[i], 0);
    expect(nearest).toMatchObject({ id: 'b', year: 2002, cosine: expect.closeTo(cosine, 6) });
    expect(others.map(({ id }) => id).sort()).toEqual(['a', 'e']);
    expect(rowsOf(await sound(`${query} --memory 64M`))).toEqual([nearest, ...others]);
  });

  it('keeps the model within --memory, and refuses shards of several', async () => {
    const { cwd, sound, halfspace } = await started();
    await mkdir(join(cwd, 'shards'));
    for (const [name, model] of [
      ['1', 'org/small'],
      ['2', 'org/small'],
      ['3', 'org/other'],
    ]) {
      await sound(`embed docs.jsonl --text body --model ${model} -o shards/${name}.arrow`);
    }
    await sound('index shards/1.arrow --memory 64M -o one.hs');
    expect((await IndexFolder.open(join(cwd, 'one.hs'))).text).toMatchObject({
      model: 'org/small',
    });
    const { code, stderr } = await halfspace('index shards --id none -o all.hs');
    expect([code, stderr]).toEqual([3, expect.stringContaining('3.arrow: another model than')]);
  });

  it('refuses vectors of another model, and texts that are not embedded', async () => {
    const { sound, halfspace } = await started();
    await sound(EMBED);
    await sound('index docs.arrow -o docs.hs');
    await sound(EMBED.replace('org/small', 'copies/small').replace('docs.arrow', 'copy.arrow'));
    await sound('search docs.hs copy.arrow -k 1');
    await sound(EMBED.replace('org/small', 'org/large').replace('docs.arrow', 'other.arrow'));
    for (const line of ['search docs.hs other.arrow', 'index other.arrow --append -o docs.hs']) {
      const { code, stderr } = await halfspace(line);
      const message = /other.arrow has vectors of large \(mean\), .* those of small \(mean\)/;
      expect([code, stderr]).toEqual([1, expect.stringMatching(message)]);
    }
    const { code, stderr } = await halfspace('search docs.hs docs.jsonl --text body');
    expect([code, stderr]).toEqual([1, expect.stringContaining('halfspace embed docs.jsonl')]);
  });

  it('answers texts on the page', { tags: 'thorough' }, async () => {
    const { cwd, sound } = await started();
    await sound(EMBED);
    await sound('index docs.arrow --vectors float32 --columns year -o docs.hs');
    for (const words of [
      ['docs.hs', '-q'],
      ['docs.arrow', '-q'],
    ]) {
      const served = await explore(words, cwd, STANDS_FOR_IT);
      const asked = { query: 'zebra', filter: 'year > 2000' };
      const { cards, near, compared } = await ask<FindAnswer>(served, 'find', asked);
      expect(near).toBe(null);
      expect(cards.map(({ id }) => id).slice(0, 2)).toEqual(['b', 'a']);
      expect(compared).toMatch(/^exact cosine/);
    }
  });
});

describe('a real model', () => {
  const transformers = 'bench/node_modules/@huggingface/transformers/dist/transformers.node.mjs';
  const [module, model] = [transformers, 'datasets/minilm/model'].map((path) => join(root, path));
  const isThere = existsSync(module) && existsSync(model);

  it('finds by meaning what shares no word with the query', { tags: 'full' }, async ({ skip }) => {
    skip(!isThere, 'npm ci --prefix bench && python3 datasets/minilm/build.py');
    const cwd = await ownFolder();
    await symlink(join(root, 'datasets'), join(cwd, 'datasets'));
    const lines = `
      halfspace embed datasets/sample/docs.jsonl --text body --model ${model} -o docs.arrow
      halfspace index docs.arrow --vectors float32 -o docs.hs
      halfspace search docs.hs --query "a warm drink" -k 3`;
    const { code, stdout, stderr } = await runLines(lines, cwd, found(realpathSync(module)));
    expect([code, stderr]).toEqual([0, expect.stringContaining('40 vectors of 384 dimensions')]);
    expect(rowsOf(stdout).map(({ id }) => id)).toEqual(
      [1, 2, 3].map(() => expect.stringMatching(/^tea/)),
    );
  });
});

it('the example of --help works', { tags: 'thorough' }, async () => {
  const { stdout } = await run(['embed', '--help']);
  const [, example] = /\nExample:\n((?: {2}.*\n)+)/.exec(stdout) ?? [];
  const cwd = await ownFolder();
  await symlink(join(root, 'datasets'), join(cwd, 'datasets'));
  const outcome = await runLines(example ?? 'false', cwd, STANDS_FOR_IT);
  expect([outcome.code, outcome.stderr]).toEqual([0, expect.any(String)]);
});
