import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  createRows,
  hammingDistance,
  openIndex,
  openRows,
  RowBatch,
  type SimHashIndex,
  TextHasher,
} from '../../src/node';
import { readVectors } from '../reference/arrow';
import { ownFolder, root, rowsOf, run, runInTerminal } from './run';

const NOUNS = join(root, 'datasets/nouns/nouns.arrow');
const DOCS = join(root, 'datasets/sample/docs.jsonl');

interface Found {
  readonly query: number | string;
  readonly rank: number;
  readonly id: string;
  readonly distance: number;
  readonly cosine: number;
  readonly [column: string]: unknown;
}

let cwd: string;
let nouns: SimHashIndex;
let words: string[];
let vectors: Float32Array | Float64Array;

beforeAll(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'halfspace-search-'));
  await run(['index', NOUNS, '--id', 'word', '--vectors', 'float32', '-o', 'nouns.hs', '-q'], {
    cwd,
  });
  await run(['index', DOCS, '-o', 'docs.hs', '--tf-idf', '-q'], { cwd });
  nouns = await openIndex(join(cwd, 'nouns.hs'));
  const read = await readVectors(NOUNS, { id: 'word' });
  words = read.ids as string[];
  vectors = read.vectors.values;
});

afterAll(() => rm(cwd, { recursive: true, force: true }));

async function search(...args: string[]): Promise<Found[]> {
  const { code, stdout, stderr } = await run(['search', ...args], { cwd });
  expect([code, stderr]).toEqual([0, '']);
  return rowsOf<Found>(stdout);
}

/** All rows by distance, then row: counted one by one. */
function byDistance(code: Uint8Array, own: string): { id: string; distance: number }[] {
  return words
    .map((id, row) => ({
      ...{ id, row },
      distance: hammingDistance(nouns.get(id)?.code as Uint8Array, code),
    }))
    .filter(({ id }) => id !== own)
    .sort((a, b) => a.distance - b.distance || a.row - b.row);
}

function cosine(a: number, b: number): number {
  const [x, y] = [a, b].map((row) => vectors.subarray(100 * row, 100 * row + 100));
  let [dot, xx, yy] = [0, 0, 0];
  for (let i = 0; i < 100; i++) {
    dot += x[i] * y[i];
    xx += x[i] ** 2;
    yy += y[i] ** 2;
  }
  return dot / Math.sqrt(xx * yy);
}

describe('search by row', () => {
  it('by distance finds what a count of all bits finds', async () => {
    const found = await search('nouns.hs', '--row-id', 'dolphin', '--by-distance', '-k', '25');
    const expected = byDistance(nouns.get('dolphin')?.code as Uint8Array, 'dolphin').slice(0, 25);
    expect(found.map(({ id, distance }) => ({ id, distance }))).toEqual(
      expected.map(({ id, distance }) => ({ id, distance })),
    );
    expect(found.map(({ rank }) => rank)).toEqual(Array.from({ length: 25 }, (_, i) => i + 1));
    expect(new Set(found.map(({ query }) => query))).toEqual(new Set(['dolphin']));
  });

  it('by default ranks by the true cosine, best first, without the row itself', async () => {
    const found = await search('nouns.hs', '--row-id', 'dolphin', '--row-id', 'sparrow');
    expect(found).toHaveLength(20);
    for (const query of ['dolphin', 'sparrow']) {
      const own = found.filter((one) => one.query === query);
      expect(own.map(({ id }) => id)).not.toContain(query);
      own.forEach(({ id, cosine: told }) => {
        expect(told).toBeCloseTo(cosine(words.indexOf(query), words.indexOf(id)), 5);
      });
      const cosines = own.map((one) => one.cosine);
      expect(cosines).toEqual([...cosines].sort((a, b) => b - a));
    }
  });

  it('writes Arrow where only one of several queries has an id beyond 63 bits', async () => {
    const ids = ['1', '2', String(2n ** 64n - 1n)];
    const csv = ids.map((id, i) => `${id},"[1,${i}]"`);
    await writeFile(join(cwd, 'small.csv'), ['id,v', ...csv.slice(0, 2), ''].join('\n'));
    const output = await createRows(join(cwd, 'ids.arrow'));
    const v = { values: Float32Array.of(1, 0, 1, 1, 1, 2), dimensions: 2 };
    await output.write(RowBatch.of({ id: BigUint64Array.from(ids, BigInt), v }));
    await output.close();
    const index = (file: string) => ['index', file, '--vector', 'v', '--id', 'id', '-o', 'big.hs'];
    const refused = await run([...index('ids.arrow'), '-q'], { cwd });
    expect(refused).toMatchObject({ code: 3 });
    expect(refused.stderr).toContain('from -2^63 to 2^63 - 1, or a text, got 18446744073709551615');
    expect(await run([...index('small.csv'), '-q'], { cwd })).toMatchObject({ code: 0 });
    const asked = ['search', 'big.hs', 'ids.arrow', '--vector', 'v', '--id', 'id', '-k', '1', '-q'];
    const arrow = await run([...asked, '-o', 'big.arrow'], { cwd });
    expect(arrow).toMatchObject({ code: 0, stderr: '' });
    const found = [];
    for await (const batch of await openRows(join(cwd, 'big.arrow'))) {
      found.push(...batch.values('query'));
    }
    expect(found).toEqual([1n, 2n, 2n ** 64n - 1n]);
  });

  it('within a distance finds all, and with -k the nearest of them', {
    tags: 'thorough',
  }, async () => {
    const all = byDistance(nouns.get('dolphin')?.code as Uint8Array, 'dolphin');
    const within = all.filter(({ distance }) => distance <= 80).map(({ id }) => id);
    const found = await search('nouns.hs', '--row-id', 'dolphin', '--max-distance', '80');
    expect(within.length).toBeGreaterThan(5);
    expect(found.map(({ id }) => id)).toEqual(within);
    const few = await search('nouns.hs', '--row-id', 'dolphin', '--max-distance', '80', '-k', '3');
    expect(few).toEqual(found.slice(0, 3));
  });

  it('says nothing of rows that are not there', async () => {
    const { code, stderr } = await run(['search', 'nouns.hs', '--row-id', 'dolhpin'], { cwd });
    expect([code, stderr]).toEqual([1, 'halfspace: the index has no row of the id dolhpin\n']);
  });
});

describe('search with a filter', () => {
  const of = (filter: string, ...more: string[]) =>
    search(
      ...['nouns.hs', '--row-id', 'dolphin', '--by-distance', '-k', '40', '--filter', filter],
      ...['--columns', 'category', ...more],
    );

  it('finds the nearest of the rows that meet it', async () => {
    const all = await search(
      ...['nouns.hs', '--row-id', 'dolphin', '--by-distance', '-k', '17823'],
      ...['--columns', 'category'],
    );
    const plants = all.filter(({ category }) => category === 'plant').slice(0, 40);
    const found = await of("category = 'plant'");
    expect(found.map(({ id }) => id)).toEqual(plants.map(({ id }) => id));
    const others = all.filter(({ category }) => category !== 'animal').slice(0, 40);
    expect((await of('category != animal')).map(({ id }) => id)).toEqual(
      others.map(({ id }) => id),
    );
    const some = all.filter(({ category }) => ['plant', 'food'].includes(category as string));
    expect((await of('category in (plant, food)')).map(({ id }) => id)).toEqual(
      some.slice(0, 40).map(({ id }) => id),
    );
  });

  it('takes texts by their form, and what or joins', { tags: 'thorough' }, async () => {
    const all = await search(
      ...['nouns.hs', '--row-id', 'dolphin', '--by-distance', '-k', '17823'],
      ...['--columns', 'category'],
    );
    const isMet = (category: string) => category === 'food' || /^.l.*t$/.test(category);
    const some = all.filter(({ category }) => isMet(category as string));
    const found = await of("category like '_l%t' or (category = food)");
    expect(found.map(({ id }) => id)).toEqual(some.slice(0, 40).map(({ id }) => id));
  });

  it('that no row meets finds nothing', async () => {
    expect(await of("category = 'plant' and category = 'food'")).toEqual([]);
  });

  it.each<[string, number, string]>([
    ['kind = 1', 2, 'no column "kind", there are category'],
    ['category ~ 1', 2, '--filter expected one of = != < <= > >= in like is, got "~"'],
  ])('%s is refused', async (filter, expected, message) => {
    const { code, stderr } = await run(
      ['search', 'nouns.hs', '--row-id', 'dolphin', '--filter', filter],
      { cwd },
    );
    expect(code).toBe(expected);
    expect(stderr).toContain(message);
  });
});

describe('search by vectors', () => {
  it('of a file finds what each vector is, by the ids of the file', async () => {
    const rows = [5, 500, 5000];
    const lines = rows.map((row) => {
      const vector = Array.from(vectors.subarray(100 * row, 100 * row + 100));
      return JSON.stringify({ name: `query of ${words[row]}`, vector });
    });
    const folder = await ownFolder();
    await writeFile(join(folder, 'queries.jsonl'), lines.join('\n'));
    const found = await search(
      ...['nouns.hs', join(folder, 'queries.jsonl'), '--id', 'name', '-k', '1', '-q'],
    );
    expect(found.map(({ query, id }) => [query, id])).toEqual(
      rows.map((row) => [`query of ${words[row]}`, words[row]]),
    );
    for (const one of found) expect(one.cosine).toBeCloseTo(1, 6);
  });

  it('of stdin are numbered', async () => {
    const line = (row: number) =>
      JSON.stringify({ vector: Array.from(vectors.subarray(100 * row, 100 * row + 100)) });
    const { code, stdout } = await run(
      ['search', 'nouns.hs', '-', '--from', 'jsonl', '-k', '1', '-q'],
      { cwd, input: `${line(7)}\n${line(8)}\n` },
    );
    expect(code).toBe(0);
    expect(rowsOf<Found>(stdout).map(({ query, id }) => [query, id])).toEqual([
      [0, words[7]],
      [1, words[8]],
    ]);
  });

  it('of another width are refused', async () => {
    const { code, stderr } = await run(['search', 'nouns.hs', '-', '--from', 'jsonl', '-q'], {
      ...{ cwd, input: '{"vector":[1,2,3]}\n' },
    });
    expect([code, stderr]).toEqual([
      ...[3, 'halfspace: stdin: row 0: expected a vector of 100 values, got 3\n'],
    ]);
  });
});

describe('search by text', () => {
  it('reads the text as the index was made', async () => {
    const bodies = rowsOf<{ id: string; body: string }>(await readFile(DOCS, 'utf8'));
    const frequencies = new TextHasher().fit(bodies.map(({ body }) => body));
    const hasher = new TextHasher({ bits: 256, frequencies });
    const query = 'green tea and the second cup';
    const own = hasher.hash(query);
    const expected = bodies
      .map(({ id, body }, row) => ({ id, row, distance: hammingDistance(hasher.hash(body), own) }))
      .sort((a, b) => a.distance - b.distance || a.row - b.row);
    const found = await search('docs.hs', '--query', query, '--by-distance', '-k', '5');
    expect(found.map(({ id, distance }) => [id, distance])).toEqual(
      expected.slice(0, 5).map(({ id, distance }) => [id, distance]),
    );
    expect(
      found
        .slice(0, 2)
        .map(({ id }) => id)
        .sort(),
    ).toEqual(['tea-1', 'tea-2']);
  });

  it('filters JSON as numbers if all of it are numbers, else as texts', async () => {
    const lines = [9, 10, null, 200].map((size, row) => {
      const mixed = [1, 'one', null, '1'][row];
      return JSON.stringify({ id: `r${row}`, body: `word ${row}`, size, mixed });
    });
    // The first 5,000 lines decide the types: of nulls alone a column becomes JSON.
    const first = JSON.stringify({ id: 'ID', body: 'word', size: null, mixed: 'one' });
    const many = Array.from({ length: 5000 }, (_, i) => first.replace('ID', `n${i}`));
    many[7] = many[7].replace('"mixed":"one"', '"mixed":3');
    await writeFile(join(cwd, 'late.jsonl'), `${[...many, ...lines].join('\n')}\n`);
    const made = await run(
      ['index', 'late.jsonl', '-o', 'late.hs', '-q', '--columns', 'size,mixed'],
      { cwd },
    );
    expect(made.stderr).toBe('');
    const found = async (filter: string) =>
      (await search('late.hs', '--query', 'word', '-k', '9', '--filter', filter))
        .map(({ id }) => id)
        .sort();
    expect(await found('size > 9')).toEqual(['r1', 'r3']);
    expect(await found('size <= 9.5')).toEqual(['r0']);
    expect(await found("mixed = 'one' and size = 10")).toEqual(['r1']);
    expect(await found("mixed = '1'")).toEqual(['r0', 'r3']);
  });

  it('loses no column that is called like one of the result, in any order', async () => {
    const lines = ['k', 'l'].map((key) =>
      JSON.stringify({ key, id: 'own', row_id: 'other', vector: [1, 2] }),
    );
    await writeFile(join(cwd, 'named.jsonl'), `${lines.join('\n')}\n`);
    const words = ['--id', 'key', '--vector', 'vector', '--columns', 'id,row_id'];
    const made = await run(['index', 'named.jsonl', '-o', 'named.hs', '-q', ...words], { cwd });
    expect(made.stderr).toBe('');
    for (const columns of ['id,row_id', 'row_id,id']) {
      const [first] = await search('named.hs', '--row-id', 'k', '--columns', columns);
      expect(first).toMatchObject({ id: 'l', row_row_id: 'own', row_id: 'other' });
    }
  });

  it('shows the columns that are asked for', async () => {
    const [first] = await search('docs.hs', '--query', 'sourdough starter', '--columns', 'title');
    expect(first).toMatchObject({ id: 'bread-3', title: 'Keeping a sourdough alive' });
    expect(Object.keys(first)).toEqual(['query', 'rank', 'id', 'estimatedCosine', 'title']);
  });

  it('has a distance where rows are ranked by it, and these columns without a row too', async () => {
    const words = ['docs.hs', '--query', 'tea', '--columns', 'none'];
    for (const [rank, more] of [
      [['--by-distance'], ['distance']],
      [[], []],
    ] as const) {
      const columns = ['query', 'rank', 'id', ...more, 'estimatedCosine'].join(',');
      for (const filter of ["title = 'Keeping a sourdough alive'", "title = 'none'"]) {
        const csv = [...rank, '--filter', filter, '--to', 'csv'];
        const { stdout } = await run(['search', ...words, ...csv], { cwd });
        expect(stdout.split('\n')[0]).toBe(columns);
        expect(stdout.split('\n')).toHaveLength(filter.includes('none') ? 2 : 3);
      }
    }
  });

  /** The files of a folder that this process has open, which Linux lists. */
  const filesOpenIn = (path: string) => {
    const list = '/proc/self/fd';
    const files = existsSync(list) ? readdirSync(list) : [];
    const targets = files.map((file) => {
      try {
        return readlinkSync(join(list, file));
      } catch {
        return ''; // closed meanwhile, as that of the list itself
      }
    });
    return targets.filter((target) => target.startsWith(path));
  };

  it('refuses queries of another kind than the vectors', async () => {
    const own = await ownFolder();
    const sparse = [{ id: 'a', indices: [0, 7], values: [1, 0.5] }];
    await writeFile(join(own, 'sparse.jsonl'), sparse.map((row) => JSON.stringify(row)).join('\n'));
    await writeFile(join(own, 'dense.jsonl'), '{"id":"q","vector":[1,0,0.5,0]}\n');
    const vector = ['--vector', 'indices,values'];
    const made = ['index', 'sparse.jsonl', ...vector, '--vectors', 'sparse', '-o', 'in.hs', '-q'];
    await run(made, { cwd: own });
    for (const more of [[], ['--memory', '64MB']]) {
      const dense = await run(['search', 'in.hs', 'dense.jsonl', '-q', ...more], { cwd: own });
      expect([dense.code, dense.stdout]).toEqual([3, '']);
      expect(dense.stderr).toContain('takes sparse vectors, got dense ones');
      expect(filesOpenIn(own)).toEqual([]);
      const same = ['search', 'in.hs', 'sparse.jsonl', ...vector, '-q', ...more];
      const [exact] = rowsOf<{ cosine: number }>((await run(same, { cwd: own })).stdout);
      expect(exact.cosine).toBeCloseTo(1, 12);
    }
  });

  it('shows the texts of an index of texts, which are carried unless told otherwise', {
    tags: 'thorough',
  }, async () => {
    const rows = rowsOf<{ id: string; body: string }>(await readFile(DOCS, 'utf8'));
    const body = rows.find(({ id }) => id === 'bread-3')?.body;
    const query = ['search', 'docs.hs', '--query', 'sourdough starter', '-k', '1'];
    const [first] = await search(...query.slice(1));
    expect(first).toMatchObject({ id: 'bread-3', body });
    const told = ['query', 'rank', 'id', 'estimatedCosine'];
    expect(Object.keys(first)).toEqual([...told, 'body']);
    const folder = await ownFolder();
    for (const format of ['arrow', 'arrows', 'parquet', 'csv', 'jsonl']) {
      const out = join(folder, `out.${format}`);
      for (const [words, columns] of [
        [[], [...told, 'body']],
        [['--columns', 'none'], told],
      ] as const) {
        const made = await run([...query, ...words, '-o', out, '--force'], { cwd });
        expect([made.code, made.stderr]).toEqual([0, '']);
        const reader = await openRows(out);
        expect(reader.columns.map(({ name }) => name)).toEqual(columns);
        for await (const batch of reader) {
          if (words.length === 0) expect(batch.texts('body')).toEqual([body]);
        }
      }
    }
    const people = await runInTerminal([...query, '--columns', 'none'], { cwd });
    expect(people.stdout).toContain('bread-3');
    expect(people.stdout).not.toContain('body');
  });

  it('shows the texts of rows that stay in their folder, and those of a file of queries', async () => {
    const rows = rowsOf<{ id: string; body: string }>(await readFile(DOCS, 'utf8'));
    const input = rows.map(({ body }) => `${body}\n`).join('');
    const words = ['search', 'docs.hs', '-', '--from', 'text', '-k', '1', '-q'];
    for (const memory of [[], ['--memory', '16M']]) {
      const { stdout } = await run([...words, ...memory], { cwd, input });
      const found = rowsOf<Found>(stdout);
      expect(found).toHaveLength(rows.length);
      for (const { id, body } of found) expect(body).toBe(rows.find((row) => row.id === id)?.body);
    }
  });

  it('takes the lines of stdin', async () => {
    const { stdout, code } = await run(
      ['search', 'docs.hs', '-', '--from', 'text', '-k', '1', '-q'],
      { cwd, input: 'sourdough starter\nclove hitch and bowline\n' },
    );
    expect(code).toBe(0);
    expect(rowsOf<Found>(stdout).map(({ id }) => id)).toEqual(['bread-3', 'sea-3']);
  });

  it.each([
    [['docs.hs', '--query', '...'], 1, '--query has no words that count'],
    [['docs.hs', '--query', 'tea', '--tokens', 'words'], 2, 'unknown option --tokens'],
    [['nouns.hs', '--query', 'tea'], 1, 'was not made of texts'],
    [['docs.hs'], 2, 'say what to search for'],
    [['docs.hs', '--query', 'tea', '--row-id', 'tea-1'], 2, 'say what to search for'],
    [[], 2, 'an index folder is missing'],
    [['docs.hs', '--query', 'tea', '-k', '0'], 2, '-k expected an integer from 1 on, got 0'],
    [['docs.hs', '--query', 'tea', '--columns', 'author'], 2, 'no column "author"'],
    [['.', '--query', 'tea'], 1, 'is no index folder'],
  ])('%j is refused', async (args, expected, message) => {
    const { code, stdout, stderr } = await run(['search', ...args], { cwd });
    expect([code, stdout]).toEqual([expected, '']);
    expect(stderr).toContain(message);
  });
});

describe('--memory', () => {
  it('answers as the index in memory does', {
    tags: 'thorough',
  }, async () => {
    const queries = join(cwd, 'few.jsonl');
    const few = Array.from(words.slice(0, 3), (id, i) => ({
      ...{ id, vector: Array.from(vectors.subarray(100 * i, 100 * (i + 1))) },
    }));
    await writeFile(queries, few.map((row) => JSON.stringify(row)).join('\n'));
    for (const args of [
      ['nouns.hs', '--row-id', 'guitar', '--row-id', 'harmonica', '-k', '5'],
      ['nouns.hs', queries, '-k', '4', '--vector', 'vector'],
      ['nouns.hs', queries, '--max-distance', '12', '--vector', 'vector'],
      ['docs.hs', '--query', 'green tea', '-k', '3', '--columns', 'title'],
    ]) {
      expect(await search(...args, '--memory', '32M')).toEqual(await search(...args));
    }
  });

  it('refuses a limit that is no size, or too small', async () => {
    const small = await run(['search', 'nouns.hs', '--row-id', 'tea', '--memory', '10'], { cwd });
    expect([small.code, small.stderr]).toEqual([
      2,
      expect.stringContaining('--memory expected more than'),
    ]);
    const none = await run(['search', 'nouns.hs', '--row-id', 'tea', '--memory', 'much'], { cwd });
    expect([none.code, none.stderr]).toEqual([
      2,
      expect.stringContaining('--memory expected a size as 800M or 4G, got "much"'),
    ]);
  });
});
