import { copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  createRows,
  IndexFolder,
  openIndex,
  RowBatch,
  SimHashIndex,
  type SparseVector,
  TextHasher,
} from '../../src/node';
import { readVectors } from '../reference/arrow';
import { Draws } from '../reference/random';
import { startHost } from '../store/web-host';
import { ownFolder, root, rowsOf, run } from './run';

const NOUNS = 'datasets/nouns/nouns.arrow';
const DOCS = join(root, 'datasets/sample/docs.jsonl');
const docs = async () => rowsOf<{ id: string; body: string }>(await readFile(DOCS, 'utf8'));

/** Runs `halfspace index` in a folder of its own. */
async function indexed(...args: string[]) {
  const cwd = await ownFolder();
  const outcome = await run(['index', ...args], { cwd });
  return { ...outcome, cwd, change: (...more: string[]) => run(['index', ...more], { cwd }) };
}

/** A folder with the manifest of an index alone. */
async function manifestOf(cwd: string, index: string, folder: string): Promise<void> {
  await mkdir(join(cwd, folder));
  const name = 'manifest-000001.json';
  await copyFile(join(cwd, index, name), join(cwd, folder, name));
}

type Weights = Map<bigint, number>;

function weightsOf({ indices, values }: SparseVector): Weights {
  return new Map(Array.from(indices, (index, i) => [BigInt(index), values[i]]));
}

function cosineOf(a: Weights, b: Weights): number {
  const dot = (x: Weights, y: Weights) =>
    [...x].reduce((sum, [index, value]) => sum + value * (y.get(index) ?? 0), 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}

describe('index', () => {
  it('holds the rows, ids and vectors of the input, and carries its plain columns', async () => {
    const { code, stdout, stderr, cwd } = await indexed(
      ...[
        join(root, NOUNS),
        '--id',
        'word',
        '--vectors',
        'float32',
        '--bits',
        '128',
        '-o',
        'nouns.hs',
      ],
    );
    expect([code, stdout]).toEqual([0, '']);
    expect(stderr).toContain('nouns.hs: 17,824 rows, 128 bits (hadamard), generation 1');
    const folder = await IndexFolder.open(join(cwd, 'nouns.hs'));
    expect(folder.columnInfo.map(({ name }) => name)).toEqual(['category']);
    const index = await openIndex(join(cwd, 'nouns.hs'));
    const { vectors } = await readVectors(join(root, NOUNS));
    const own = new SimHashIndex({
      ...{ bits: 128, projection: 'hadamard', dimensions: 100, vectors: 'float32' },
    });
    await own.addAll(vectors);
    expect(index.count).toBe(17_824);
    for (const [row, word] of [
      [0, index.idOf(0)],
      [17_823, index.idOf(17_823)],
    ] as const) {
      const [found, expected] = [index.get(word as string), own.get(row)];
      expect(found?.code).toEqual(expected?.code);
      expect(found?.vector).toEqual(expected?.vector);
    }
    const { columns } = JSON.parse((await run(['info', NOUNS, '--json'])).stdout);
    expect(columns.map(({ name }: { name: string }) => name)).toContain('word');
  });

  it('of texts keeps how they were read', async () => {
    const { code, cwd } = await indexed(
      ...[DOCS, '--tokens', 'characters:4', '--tf-idf', '--bits', '64', '-o', 'docs.hs'],
    );
    expect(code).toBe(0);
    const folder = await IndexFolder.open(join(cwd, 'docs.hs'));
    expect(folder.text).toMatchObject({ tokens: 'characters:4', counting: 'raw' });
    expect((await folder.frequencies())?.documents).toBe(40);
  });

  it('is made whole or not at all', async () => {
    const input = '{"id":"a","vector":[1,2]}\n{"id":"a","vector":[3,4]}\n';
    const cwd = await ownFolder();
    await writeFile(join(cwd, 'in.jsonl'), input);
    const { code, stderr } = await run(['index', 'in.jsonl', '-o', 'out.hs'], { cwd });
    expect(code).toBe(3);
    expect(stderr).toBe(
      'reading vectors of "vector"; --vector chooses another\n' +
        'halfspace: in.jsonl: row 1: column "id" expected an id that is not there yet, got "a"\n',
    );
    expect(await readdir(cwd)).toEqual(['in.jsonl']);
  });

  it('names the row of the input that is wrong, in whichever batch it is', async () => {
    const cwd = await ownFolder();
    const lines = Array.from({ length: 9000 }, (_, row) => {
      return JSON.stringify({ id: `id ${row === 8500 ? 3 : row}`, vector: [row, 1] });
    });
    await writeFile(join(cwd, 'in.jsonl'), lines.join('\n'));
    await writeFile(join(cwd, 'one.jsonl'), '{"id":"one","vector":[1,2]}\n');
    await run(['index', 'one.jsonl', '-o', 'one.hs', '-q'], { cwd });
    for (const words of [
      ['-o', 'out.hs', '--memory', '1GB'],
      ['-o', 'one.hs', '--append'],
    ]) {
      const { code, stderr } = await run(['index', 'in.jsonl', '-q', ...words], { cwd });
      expect(code).toBe(3);
      expect(stderr).toContain('in.jsonl: row 8500: column "id" expected an id that is not there');
    }
  });

  it('does not take the place of another, unless --force is given', async () => {
    const { change } = await indexed(DOCS, '-o', 'docs.hs', '--bits', '64');
    const again = await change(DOCS, '-o', 'docs.hs', '--bits', '128');
    expect([again.code, again.stderr]).toEqual([
      1,
      'halfspace: docs.hs holds an index: --append adds to it, --force replaces it\n',
    ]);
    const forced = await change(DOCS, '-o', 'docs.hs', '--bits', '128', '--force', '-q');
    expect(forced).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  it('does not take the place of what is no index', async () => {
    const cwd = await ownFolder();
    await writeFile(join(cwd, 'precious.txt'), 'precious');
    const { code } = await run(['index', DOCS, '-o', '.', '--force'], { cwd });
    expect(code).toBe(1);
    expect(await readdir(cwd)).toEqual(['precious.txt']);
  });

  it.each([
    [DOCS, 'int8', '--vectors int8 is for dense vectors: --vectors sparse or none'],
    [join(root, NOUNS), 'sparse', '--vectors sparse is for texts and sparse vectors: leave it out'],
  ])('keeps vectors of the kind that there is: %s, %s', async (input, keep, message) => {
    const { code, stderr } = await indexed(input, '--vectors', keep, '-o', 'docs.hs');
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });

  it('keeps the sparse vectors of texts, and searches rank by their exact cosine', async () => {
    const { cwd } = await indexed(DOCS, '--vectors', 'sparse', '-o', 'docs.hs', '-q');
    const search = ['search', 'docs.hs', '--query', 'a kettle of boiling water', '-k', '3'];
    const found = rowsOf<{ id: string; cosine: number }>((await run(search, { cwd })).stdout);
    const hasher = new TextHasher({ bits: 256 });
    const query = weightsOf(hasher.vectorize('a kettle of boiling water'));
    const expected = (await docs())
      .map(({ id, body }) => ({ id, cosine: cosineOf(query, weightsOf(hasher.vectorize(body))) }))
      .sort((a, b) => b.cosine - a.cosine);
    expect(found.map(({ id }) => id)).toEqual(expected.slice(0, 3).map(({ id }) => id));
    for (const [i, { cosine }] of found.entries()) {
      expect(cosine).toBeCloseTo(expected[i].cosine, 6);
    }
  });
});

it('says how many rows have no code, in memory, within a limit and appended', async () => {
  const input = '{"v":[0,0]}\n{"v":[1,2]}\n{"v":null}\n';
  const cwd = await ownFolder();
  for (const words of [
    ['-o', 'a.hs'],
    ['-o', 'b.hs', '--memory', '64M'],
    ['-o', 'a.hs', '--append'],
  ]) {
    const args = ['index', '-', '--from', 'jsonl', '--vector', 'v', ...words];
    const { code, stderr } = await run(args, { cwd, input });
    expect(stderr).toContain('stdin: 2 rows with no direction: null codes, which match nothing');
    expect(code).toBe(0);
  }
  expect((await IndexFolder.open(join(cwd, 'a.hs'))).rowCount).toBe(6);
});

describe('index --append', () => {
  // In 0.1 the folder never opened again: its two empty columns were written as one.
  it('of a text without words leaves a folder that opens, and finds the rows of before', async () => {
    const { cwd, change } = await indexed(
      ...[
        DOCS,
        '--text',
        'body',
        '--columns',
        'none',
        '--vectors',
        'sparse',
        '-o',
        'docs.hs',
        '-q',
      ],
    );
    await writeFile(join(cwd, 'none.jsonl'), '{"id":"n","body":"..."}\n');
    expect((await change('none.jsonl', '-o', 'docs.hs', '--append', '-q')).code).toBe(0);
    const index = await openIndex(join(cwd, 'docs.hs'));
    expect(index.get('n')?.code).toBeNull();
    const [{ id }] = await docs();
    expect(index.search(index.get(id)?.code as Uint8Array, { k: 1 }).ids).toEqual([id]);
  });

  // In 0.1 every list became null, whenever batches were joined or files written again.
  it('keeps carried lists as they were', { tags: 'thorough' }, async () => {
    const { cwd, change } = await indexed(
      ...[join(root, NOUNS), '--id', 'word', '--text', 'word', '--columns', 'vector'],
      ...['-o', 'nouns.hs', '-q'],
    );
    const { vectors } = await readVectors(join(root, NOUNS));
    const carried = async () => {
      const folder = await IndexFolder.open(join(cwd, 'nouns.hs'));
      return (await folder.columns(['vector']))?.values('vector') as number[][];
    };
    const before = await carried();
    expect(before.length * before[0].length).toBe(vectors.values.length);
    expect(before.flat()).toEqual(Array.from(vectors.values));
    expect((await change('nouns.hs', '--remove', 'guitar', '-q')).code).toBe(0);
    expect((await carried()).length).toBe(before.length - 1);
    expect((await change('nouns.hs', '--compact', '-q')).code).toBe(0);
    expect((await carried()).flat()).toHaveLength(vectors.values.length - 100);
  });

  it.each(['none', 'sparse'])(
    'comes to what one index of all rows is, vectors %s',
    async (keep) => {
      const cwd = await ownFolder();
      const lines = (await readFile(DOCS, 'utf8')).trimEnd().split('\n');
      await writeFile(join(cwd, 'a.jsonl'), lines.slice(0, 25).join('\n'));
      await writeFile(join(cwd, 'b.jsonl'), lines.slice(25).join('\n'));
      const all = (...args: string[]) => run(['index', ...args, '-q'], { cwd });
      const text = ['--tokens', 'shingles:2', '--bits', '64', '--vectors', keep];
      expect((await all('a.jsonl', '-o', 'parts.hs', ...text)).code).toBe(0);
      expect(await all('b.jsonl', '-o', 'parts.hs', '--append')).toEqual({
        ...{ code: 0, stdout: '', stderr: '' },
      });
      expect((await all(DOCS, '-o', 'whole.hs', ...text)).code).toBe(0);
      const [parts, whole] = await Promise.all(
        ['parts.hs', 'whole.hs'].map((name) => openIndex(join(cwd, name))),
      );
      expect(parts.count).toBe(40);
      for (const { id } of await docs()) expect(parts.get(id)).toEqual(whole.get(id));
      const titles = (await (await IndexFolder.open(join(cwd, 'parts.hs'))).columns())?.values(
        'title',
      );
      expect(titles).toEqual(lines.map((line) => JSON.parse(line).title));
    },
  );

  it('weighs texts by the frequencies that the folder has', async () => {
    const cwd = await ownFolder();
    const lines = (await readFile(DOCS, 'utf8')).trimEnd().split('\n');
    await writeFile(join(cwd, 'a.jsonl'), lines.slice(0, 25).join('\n'));
    await writeFile(join(cwd, 'b.jsonl'), lines.slice(25).join('\n'));
    await run(['index', 'a.jsonl', '--tf-idf', '-o', 'docs.hs', '-q'], { cwd });
    expect((await run(['index', 'b.jsonl', '-o', 'docs.hs', '--append', '-q'], { cwd })).code).toBe(
      0,
    );
    const bodies = (await docs()).map(({ body }) => body);
    const frequencies = new TextHasher().fit(bodies.slice(0, 25));
    const hasher = new TextHasher({ bits: 256, frequencies });
    const index = await openIndex(join(cwd, 'docs.hs'));
    for (const { id, body } of await docs()) expect(index.get(id)?.code).toEqual(hasher.hash(body));
  });

  it('keeps vectors where the folder does', async () => {
    const cwd = await ownFolder();
    await writeFile(join(cwd, 'a.jsonl'), '{"id":1,"vector":[1,2,3]}\n{"id":2,"vector":[3,1,2]}\n');
    await writeFile(join(cwd, 'b.jsonl'), '{"id":3,"vector":[-1,2,-3]}\n');
    await run(['index', 'a.jsonl', '--vectors', 'float32', '-o', 'v.hs', '-q'], { cwd });
    expect((await run(['index', 'b.jsonl', '-o', 'v.hs', '--append', '-q'], { cwd })).code).toBe(0);
    const index = await openIndex(join(cwd, 'v.hs'));
    const id = [3, 3n].find((one) => index.has(one)) as number;
    expect(index.get(id)?.vector).toEqual(Float32Array.of(-1, 2, -3));
  });

  it('takes carried columns in any order', async () => {
    const cwd = await ownFolder();
    await writeFile(join(cwd, 'a.jsonl'), '{"id":"a","text":"green tea","by":"x","in":"y"}\n');
    const output = await createRows(join(cwd, 'b.arrow'));
    await output.write(RowBatch.of({ in: ['q'], id: ['b'], by: ['p'], text: ['black tea'] }));
    await output.close();
    await run(['index', 'a.jsonl', '--text', 'text', '-o', 'i.hs', '-q'], { cwd });
    const args = ['index', 'b.arrow', '--text', 'text', '-o', 'i.hs', '--append', '-q'];
    expect(await run(args, { cwd })).toMatchObject({ code: 0, stderr: '' });
    const columns = await (await IndexFolder.open(join(cwd, 'i.hs'))).columns();
    expect(['text', 'by', 'in'].map((name) => columns?.values(name))).toEqual([
      ['green tea', 'black tea'],
      ['x', 'p'],
      ['y', 'q'],
    ]);
  });

  it('takes digits of CSV as texts where the folder has texts, ids too', async () => {
    const cwd = await ownFolder();
    await writeFile(join(cwd, 'a.csv'), 'id,text,part\na,green tea,x\n');
    await writeFile(join(cwd, 'b.csv'), 'id,text,part\n007,black tea,1\n12,100,20\n');
    await run(['index', 'a.csv', '--text', 'text', '-o', 'i.hs', '-q'], { cwd });
    const appended = await run(['index', 'b.csv', '-o', 'i.hs', '--append', '-q'], { cwd });
    expect(appended).toMatchObject({ code: 0, stderr: '' });
    const columns = await (await IndexFolder.open(join(cwd, 'i.hs'))).columns();
    expect(columns?.values('part')).toEqual(['x', '1', '20']);
    expect((await openIndex(join(cwd, 'i.hs'))).get('12')?.row).toBe(2);
  });

  it('takes integers as the folder has them, whatever they look like in the input', {
    tags: 'thorough',
  }, async () => {
    const line = (id: number, year: number | null, n: number) =>
      `${JSON.stringify({ id, vector: [id, 1, 2], year, n })}\n`;
    for (const [first, second] of [
      ['apart', 'alike'],
      ['alike', 'apart'],
    ]) {
      const cwd = await ownFolder();
      // All different, and so integers to a reader; or not, and so numbers.
      await writeFile(join(cwd, 'apart.jsonl'), line(1, 1990, 7) + line(2, null, 8));
      await writeFile(join(cwd, 'alike.jsonl'), line(3, 1995, 5) + line(4, 1995, 5));
      const index = (...args: string[]) => run(['index', ...args, '-o', 'v.hs', '-q'], { cwd });
      expect((await index(`${first}.jsonl`)).code).toBe(0);
      expect(await index(`${second}.jsonl`, '--append')).toMatchObject({ code: 0, stderr: '' });
      const columns = await (await IndexFolder.open(join(cwd, 'v.hs'))).columns();
      const years = columns?.values('year').map((year) => (year === null ? null : Number(year)));
      const expected = { apart: [1990, null], alike: [1995, 1995] };
      expect(years).toEqual([...expected[first as 'apart'], ...expected[second as 'alike']]);
      await writeFile(join(cwd, 'halves.jsonl'), line(5, 1999, 1.5));
      const { code, stderr } = await index('halves.jsonl', '--append');
      if (first === 'apart') expect(stderr).toContain('line 1: column "n" expected an integer');
      expect(code).toBe(first === 'apart' ? 3 : 0);
    }
  });

  it('refuses other settings than those of the folder', async () => {
    const { change } = await indexed(DOCS, '-o', 'docs.hs', '--bits', '64', '-q');
    for (const [option, value, own] of [
      ['--bits', '128', '64'],
      ['--tokens', 'characters:3', 'words'],
      ['--projection', 'gaussian', 'signs'],
    ]) {
      const { code, stderr } = await change(DOCS, '-o', 'docs.hs', '--append', option, value);
      expect(code).toBe(1);
      expect(stderr).toContain(
        `docs.hs was made with ${option} ${own}, not ${value}: leave out ${option}\n`,
      );
    }
    // A change of the folder alone ignored them.
    const held = await change('docs.hs', '--optimize', '--vectors', 'sparse');
    expect(held.code).toBe(1);
    expect(held.stderr).toContain('docs.hs was made with --vectors none, not sparse');
  });

  it('carries columns of single values of any kind', async () => {
    const { cwd } = await indexed(DOCS, '-o', 'docs.hs', '-q');
    const row = { id: 'a', text: 'b c', isNew: true, year: 1999, tags: ['x'], of: { x: 1 } };
    await writeFile(join(cwd, 'kinds.jsonl'), `${JSON.stringify(row)}\n`);
    await run(['index', 'kinds.jsonl', '--text', 'text', '-o', 'kinds.hs', '-q'], { cwd });
    const { columnInfo } = await IndexFolder.open(join(cwd, 'kinds.hs'));
    expect(columnInfo.map(({ name }) => name)).toEqual(['text', 'isNew', 'year']);
    const found = await run(['search', 'kinds.hs', '--query', 'b', '--filter', 'isNew = true'], {
      cwd,
    });
    expect(rowsOf<{ id: string }>(found.stdout)).toMatchObject([{ id: 'a' }]);
  });

  it('refuses ids that are there, and rows without the carried columns', async () => {
    const { change, cwd } = await indexed(DOCS, '-o', 'docs.hs', '-q');
    const again = await change(DOCS, '-o', 'docs.hs', '--append', '-q');
    expect(again.code).toBe(3);
    expect(again.stderr).toContain('row 0: column "id" expected an id that is not there yet');
    await writeFile(join(cwd, 'bare.jsonl'), '{"id":"new","body":"a few words"}\n');
    const bare = await change('bare.jsonl', '-o', 'docs.hs', '--append', '-q');
    expect([bare.code, bare.stderr]).toEqual([
      1,
      'halfspace: bare.jsonl: the index carries title, which this input has not; ' +
        'an index built with --columns none takes it\n',
    ]);
    expect((await openIndex(join(cwd, 'docs.hs'))).count).toBe(40);
  });
});

describe('changes to an index', () => {
  it('remove rows by their ids, on the command line and from a file', async () => {
    const { change, cwd } = await indexed(DOCS, '-o', 'docs.hs', '-q');
    await writeFile(join(cwd, 'ids.txt'), 'sea-1\nsea-2\n');
    const { code, stderr } = await change('docs.hs', '--remove', 'tea-1', '--remove', '@ids.txt');
    expect(code).toBe(0);
    expect(stderr).toBe('docs.hs: 37 rows, 256 bits (signs), generation 2\n');
    const index = await openIndex(join(cwd, 'docs.hs'));
    expect(['tea-1', 'sea-1', 'sea-2', 'tea-2'].map((id) => index.has(id))).toEqual([
      ...[false, false, false, true],
    ]);
  });

  it('take ids that have commas', async () => {
    const input = '{"id":"a,b","vector":[1,2]}\n{"id":"c","vector":[2,1]}\n';
    const cwd = await ownFolder();
    await writeFile(join(cwd, 'in.jsonl'), input);
    const change = (...args: string[]) => run(['index', ...args, '-q'], { cwd });
    expect((await change('in.jsonl', '-o', 'some.hs')).code).toBe(0);
    const found = await run(['search', 'some.hs', '--row-id', 'a,b', '-q'], { cwd });
    expect(rowsOf(found.stdout).map(({ query, id }) => [query, id])).toEqual([['a,b', 'c']]);
    expect((await change('some.hs', '--remove', 'a,b')).code).toBe(0);
    expect((await openIndex(join(cwd, 'some.hs'))).count).toBe(1);
  });

  it('do not show the lines of a file of ids that are none', async () => {
    const { change, cwd } = await indexed(DOCS, '-o', 'docs.hs', '-q');
    await writeFile(join(cwd, 'secrets.txt'), 'tea-1\nhunter2\n');
    const { code, stderr } = await change('docs.hs', '--remove', '@secrets.txt');
    expect(code).toBe(1);
    expect(stderr).toContain('no rows of the ids in line 2 of secrets.txt; nothing was removed');
    expect(stderr).not.toContain('hunter2');
  });

  it('replace rows by their ids, in one generation', async () => {
    const cwd = await ownFolder();
    const row = (id: string, vector: number[], year: number | null) =>
      `${JSON.stringify({ id, vector, year })}\n`;
    await writeFile(join(cwd, 'old.jsonl'), row('a', [1, 2], 1) + row('b', [3, 1], 2));
    await writeFile(join(cwd, 'new.jsonl'), row('b', [-3, 1], null) + row('c', [1, 1], null));
    const change = (...args: string[]) => run(['index', ...args, '-o', 'some.hs'], { cwd });
    await change('old.jsonl', '--vectors', 'float32', '-q');
    const { code, stderr } = await change('new.jsonl', '--append', '--replace');
    expect([code, stderr]).toEqual([0, expect.stringContaining('3 rows, 256 bits')]);
    expect(stderr).toContain('generation 2');
    const folder = await IndexFolder.open(join(cwd, 'some.hs'));
    const index = await folder.index();
    expect(index.get('b')?.vector).toEqual(Float32Array.of(-3, 1));
    expect(index.get('a')?.vector).toEqual(Float32Array.of(1, 2));
    // The null years are int64, as those before.
    expect((await folder.columns())?.values('year')).toEqual([1n, null, null]);
    const refused = await change('new.jsonl', '--append');
    expect([refused.code, refused.stderr]).toEqual([3, expect.stringMatching(/column "id".*b/)]);
    expect((await change('old.jsonl', '--replace')).stderr).toContain('--replace is for --append');
    const unnamed = await change('new.jsonl', '--append', '--id', 'none');
    expect([unnamed.code, unnamed.stderr]).toEqual([
      2,
      expect.stringMatching(/new\.jsonl has no ids, as the rows of the index have.*--id/),
    ]);
  });

  it('remove all or nothing', async () => {
    const { change, cwd } = await indexed(DOCS, '-o', 'docs.hs', '-q');
    const { code, stderr } = await change('docs.hs', '--remove', 'tea-1', '--remove', 'tea-9');
    expect([code, stderr]).toEqual([
      1,
      'halfspace: docs.hs has no rows of the ids tea-9; nothing was removed\n',
    ]);
    expect((await openIndex(join(cwd, 'docs.hs'))).has('tea-1')).toBe(true);
  });

  it('optimize measures a recall, and writes it in the index', async () => {
    const { change, cwd } = await indexed(DOCS, '-o', 'docs.hs', '-q');
    const words = ['docs.hs', '--optimize', '--recall', '0.8', '-k', '3'];
    expect((await change(...words)).code).toBe(0);
    const { stdout } = await run(['info', 'docs.hs', '--json'], { cwd });
    const { report, generation } = JSON.parse(stdout);
    expect(report).toMatchObject({ wanted: 0.8, k: 3 });
    expect(generation).toBe(2);
    expect((await openIndex(join(cwd, 'docs.hs'))).report).toEqual(report);
  });

  it('optimize holds dense vectors, says what is found, and fails where --recall is not reached', {
    tags: 'thorough',
  }, async () => {
    const draws = new Draws('optimized');
    const lines = Array.from({ length: 300 }, () =>
      JSON.stringify({ vector: [...draws.gaussians(8)] }),
    );
    const cwd = await ownFolder();
    await writeFile(join(cwd, 'in.jsonl'), lines.join('\n'));
    const words = ['index', 'in.jsonl', '-o', 'out.hs', '--optimize', '--bits', '64'];
    const { code, stderr } = await run(words, { cwd });
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /^finds [\d.]+ % of the true 10 nearest by exact cosine \(95 %: .*, 150 rows held out\); by scan$/m,
    );
    expect((await openIndex(join(cwd, 'out.hs'))).vectors).toBe('int8');
    // One bit a row, of which no setting finds all.
    const poor = [...words.slice(0, -1), '1', '--force', '--recall', '1'];
    const missed = await run(poor, { cwd });
    expect([missed.code, missed.stderr]).toEqual([
      1,
      expect.stringMatching(/searches find [\d.]+ %, below the wanted 100 %: take more --bits/),
    ]);
    // It is saved, and without --recall that is no failure.
    expect((await openIndex(join(cwd, 'out.hs'))).bits).toBe(1);
  });

  it('optimize with --memory without loading the index, where it holds dense vectors', {
    tags: 'thorough',
  }, async () => {
    const draws = new Draws('optimized in files');
    const lines = Array.from({ length: 4600 }, () =>
      JSON.stringify({ vector: [...draws.gaussians(8)].map((value) => Number(value.toFixed(3))) }),
    );
    const { change, cwd } = await indexed(DOCS, '-o', 'docs.hs', '-q');
    await writeFile(join(cwd, 'in.jsonl'), lines.join('\n'));
    await change('in.jsonl', '-o', 'out.hs', '--bits', '64', '--vectors', 'int8', '-q');
    const words = ['--optimize', '--recall', '0.8', '--memory', '16M'];
    const { code, stderr } = await change('out.hs', ...words);
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(/^finds [\d.]+ % of the true 10 nearest .* by partitions$/m),
    ]);
    const { stdout } = await run(['info', 'out.hs', '--json'], { cwd });
    const { report, generation } = JSON.parse(stdout);
    expect([generation, report.method, report.rows]).toEqual([2, 'partitions', 4600]);
    expect((await openIndex(join(cwd, 'out.hs'))).report).toEqual(report);
    const refused = await change('docs.hs', '--optimize', '--memory', '16M');
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringContaining('--memory with --optimize is for dense vectors'),
    ]);
  });

  it('compact leaves the same rows', async () => {
    const { change, cwd } = await indexed(DOCS, '-o', 'docs.hs', '-q');
    await change('docs.hs', '--remove', 'tea-1', '--remove', 'tea-2', '--remove', 'tea-3', '-q');
    const before = await openIndex(join(cwd, 'docs.hs'));
    expect((await change('docs.hs', '--compact', '-q')).code).toBe(0);
    const after = await openIndex(join(cwd, 'docs.hs'));
    expect(after.count).toBe(37);
    for (const { id } of await docs()) expect(after.get(id)?.code).toEqual(before.get(id)?.code);
  });

  it.each([
    [[DOCS], 'say where to with -o DIR, or what to do'],
    [['docs.hs', '--recall', '0.9'], '--recall is for --optimize'],
    [['docs.hs', '--compact', '--memory', '1G'], '--memory is for a new index'],
    [[DOCS, '-o', 'docs.hs', '--remove', 'a'], 'that is for an index that is there'],
    [
      ['docs.hs', '--optimize', '--recall', '1.5'],
      '--recall expected a number above 0 and at most 1, got 1.5',
    ],
  ])('are misused by %j', async (args, message) => {
    const { change } = await indexed(DOCS, '-o', 'docs.hs', '-q');
    const { code, stderr } = await change(...args);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });

  it('merge folders that were built like one, which is searched by segments', {
    tags: 'thorough',
  }, async () => {
    const lines = (await readFile(DOCS, 'utf8')).trim().split('\n');
    const { cwd } = await indexed(DOCS, '-o', 'model.hs', '--vectors', 'sparse', '-q');
    const like = ['--like', 'model.hs', '--memory', '64M', '-q'];
    for (const [name, own] of [
      ['a', lines.slice(20)],
      ['b', lines.slice(0, 20)],
    ] as const) {
      await writeFile(join(cwd, `${name}.jsonl`), `${own.join('\n')}\n`);
    }
    const parts = (...args: string[]) => run(['index', ...args], { cwd });
    expect((await parts('a.jsonl', ...like, '-o', 'a.hs')).code).toBe(0);
    expect((await parts('b.jsonl', ...like, '-o', 'b.hs', '--first-row', '20')).code).toBe(0);
    const merged = await parts('a.hs', 'b.hs', '--merge', '-o', 'ab.hs');
    expect([merged.code, merged.stderr]).toEqual([0, expect.stringContaining('ab.hs: 40 rows')]);
    const again = await parts('a.hs', 'b.hs', '--merge', '-o', 'ab.hs');
    expect([again.code, again.stderr]).toEqual([
      1,
      'halfspace: ab.hs holds an index: --append adds to it, --force replaces it\n',
    ]);
    expect((await run(['verify', 'ab.hs'], { cwd })).code).toBe(0);
    const search = async (folder: string, ...more: string[]) => {
      const words = ['search', folder, 'b.jsonl', '-k', '40', '-q', ...more];
      const { stdout, stderr } = await run(words, { cwd });
      return { stderr, rows: rowsOf<{ query: string; id: string; cosine: number }>(stdout) };
    };
    const wanted = (await search('model.hs')).rows;
    expect(wanted.length).toBe(20 * lines.length);
    expect((await search('ab.hs')).rows).toEqual(wanted);
    const part = (await search('ab.hs', '--memory', '64M', '--segment', '1')).rows;
    const own = lines.slice(0, 20).map((line) => JSON.parse(line).id);
    const ofPart = wanted.filter(({ id }) => own.includes(id));
    expect(part.map(({ query, id }) => [query, id])).toEqual(
      ofPart.map(({ query, id }) => [query, id]),
    );
    await manifestOf(cwd, 'ab.hs', 'far.hs');
    const host = await startHost(join(cwd, 'ab.hs'));
    const where = ['--memory', '64M', '--segment', '1', '--at', host.url];
    expect((await search('far.hs', ...where)).rows).toEqual(part);
    await host.close();
    expect((await search('ab.hs', '--segment', '0')).stderr).toContain('is for --memory');
  });

  it('merge by what all of them answer to rows that did not train the centroids', {
    tags: 'full',
  }, async () => {
    const { vectors } = await readVectors(join(root, NOUNS));
    const { values, dimensions } = vectors as { values: Float32Array; dimensions: number };
    const vectorAt = (i: number) => values.subarray(i * dimensions, (i + 1) * dimensions);
    const line = (i: number) => `${JSON.stringify({ id: i, v: [...vectorAt(i)] })}\n`;
    const cwd = await ownFolder();
    const [count, half] = [12_000, 6000];
    const numbers = Array.from({ length: count }, (_, i) => i);
    const fileOf = (name: string, rows: number[]) =>
      writeFile(join(cwd, name), rows.map(line).join(''));
    const areAsked = (i: number) => i % 60 === 1;
    await fileOf(
      'sample.jsonl',
      numbers.filter((i) => i % 2 === 0),
    );
    await fileOf('asked.jsonl', numbers.filter(areAsked));
    await fileOf('a.jsonl', numbers.slice(0, half));
    await fileOf('b.jsonl', numbers.slice(half));
    const index = (...args: string[]) => run(['index', ...args], { cwd });
    const optimize = ['--optimize', '--recall', '0.9'];
    await index('sample.jsonl', '-o', 'sample.hs', '--bits', '128', ...optimize);
    const like = ['--like', 'sample.hs', '--memory', '64M'];
    const asked = ['--evaluate', 'asked.jsonl'];
    expect((await index('a.jsonl', '-o', 'a.hs', ...like, ...asked)).code).toBe(0);
    const second = ['b.jsonl', '-o', 'b.hs', ...like, '--first-row', String(half), ...asked];
    expect((await index(...second)).code).toBe(0);
    const plain = await index('a.hs', 'b.hs', '--merge', '-o', 'plain.hs');
    expect([plain.code, plain.stderr]).toEqual([0, expect.not.stringContaining('finds')]);
    const words = ['a.hs', 'b.hs', '--merge', ...optimize, ...asked];
    const merged = await index(...words, '-o', 'ab.hs');
    expect(merged.code).toBe(0);
    expect(merged.stderr).toMatch(
      /finds 9[\d.]+ % of the true 10 nearest by exact cosine .*, 100 rows held out\); by partitions\nab.hs: 12,000 rows/,
    );
    const read = await openIndex(join(cwd, 'ab.hs'));
    expect(read.report).toMatchObject({ wanted: 0.9, stale: false, rows: count, warnings: [] });
    // The same by the manifests, while the files are elsewhere.
    await mkdir(join(cwd, 'far.hs'));
    for (const part of ['a.hs', 'b.hs']) {
      await manifestOf(cwd, part, `far-${part}`);
      await copyFile(
        join(cwd, part, 'evaluated.arrow'),
        join(cwd, `far-${part}`, 'evaluated.arrow'),
      );
      for (const name of await readdir(join(cwd, part))) {
        if (name.startsWith('space-')) {
          await copyFile(join(cwd, part, name), join(cwd, 'far.hs', name));
        }
      }
    }
    const far = ['far-a.hs', 'far-b.hs', '--manifests-only', ...words.slice(2), '-o', 'far.hs'];
    expect(await index(...far)).toMatchObject({ code: 0 });
    const { report } = await IndexFolder.open(join(cwd, 'far.hs'));
    expect(report).toEqual(read.report);
    const whole = new SimHashIndex({ bits: 128, dimensions, vectors: 'float32' });
    await whole.addAll({ values: values.subarray(0, count * dimensions), dimensions });
    let share = 0;
    for (let i = 1; i < count; i += 60) {
      const others = (rows: Uint32Array) => [...rows].filter((row) => row !== i).slice(0, 10);
      const true_ = others(whole.search(vectorAt(i), { k: 11, oversample: 200 }).rows);
      const own = others(read.search(vectorAt(i), { k: 11 }).rows);
      share += own.filter((row) => true_.includes(row)).length / 10 / (count / 60);
    }
    expect(Math.abs(share - (read.report?.recall ?? 0))).toBeLessThan(0.04);
    const wrong = await index('b.hs', 'a.hs', '--merge', ...like, '-o', 'b3.hs');
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('go with --like')]);
  });

  it.each([
    [['docs.hs', '--merge'], 'say which folders to merge, and where to'],
    [['docs.hs', '--merge', '-o', 'new.hs', '--optimize'], 'halfspace index new.hs --optimize'],
    [['a.jsonl', '-o', 'new.hs', '--evaluate', 'q'], '--evaluate is for a part of an index'],
    [['docs.hs', '--merge', '-o', 'new.hs', '--append'], '--merge does not go with --append'],
    [['docs.hs', '--merge', '-o', 'new.hs', '--recall', '0.9'], '--recall is for --optimize'],
    [[DOCS, '-o', 'new.hs', '--partitions', '5'], '--partitions is for --optimize'],
    [[DOCS, '-o', 'new.arrow', '--like', 'docs.hs'], '--like is for --memory'],
    [[DOCS, '-o', 'new.hs', '--first-row', '5'], '--first-row is for --memory'],
    [['docs.hs', '--compact', '--manifests-only'], '--manifests-only is for --merge'],
  ])('as parts are misused by %j', async (args, message) => {
    const { code, stderr } = await run(['index', ...args], { cwd: root });
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });

  it('are refused on what is no index', async () => {
    const { change, cwd } = await indexed(DOCS, '-o', 'docs.hs', '-q');
    await writeFile(join(cwd, 'file'), '');
    const nowhere = await change('nowhere', '--compact');
    expect([nowhere.code, nowhere.stderr]).toEqual([
      1,
      'halfspace: nowhere: no such file or folder\n',
    ]);
    const file = await change('file', '--compact');
    expect([file.code, file.stderr]).toEqual([
      1,
      'halfspace: file is no index folder: make one by halfspace index IN -o file\n',
    ]);
  });
});
