import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Field, Float64, List, Table, tableToIPC, Vector, vectorFromArray } from 'apache-arrow';
import { describe, expect, it } from 'vitest';

import { frequenciesToArrow, SimHasher, TextHasher } from '../../src/node';
import { readCodes } from '../reference/arrow';
import { ownFolder, root, rowsOf, run } from './run';

const NOUNS = 'datasets/nouns/nouns.arrow';
const DOCS = 'datasets/sample/docs.jsonl';
const docs = async () =>
  rowsOf<{ id: string; title: string; body: string }>(await readFile(join(root, DOCS), 'utf8'));

async function fingerprint(...args: string[]) {
  const folder = await ownFolder();
  const out = join(folder, 'codes.arrow');
  const outcome = await run(['fingerprint', ...args, '-o', out]);
  return { ...outcome, out };
}

const VECTORS = Array.from({ length: 50 }, (_, row) =>
  Array.from({ length: 6 }, (_, i) => ((row * 37 + i * 101) % 23) - 11),
);

// For the Spark package: --keys is no option of the manual.
it('puts keys behind the codes of texts, of which alike ones share one', async () => {
  const words = Array.from({ length: 80 }, (_, i) => `w${(i * i) % 83}`);
  const folder = await ownFolder();
  const texts = join(folder, 'texts.jsonl');
  const lines = [words, [...words.slice(0, 78), 'other', 'end'], words.map((one) => `${one}x`)];
  const rows = [...lines.map((one) => ({ text: one.join(' ') })), { text: null }];
  await writeFile(texts, rows.map((row) => JSON.stringify(row)).join('\n'));
  const how = ['--projection', 'minwise', '--tokens', 'shingles:2', '--bits', '128'];
  const codesOf = async (...more: string[]) =>
    (await readCodes((await fingerprint(texts, ...how, ...more)).out)).codes;
  const [plain, keyed] = await Promise.all([codesOf(), codesOf('--keys', '0.7')]);
  expect([plain.bits, keyed.bits, keyed.isNull(3)]).toEqual([128, 128 + 32 * 26, true]);
  const keysOf = (row: number) => new Uint32Array(keyed.at(row).slice(16).buffer);
  const shared = (a: number, b: number) =>
    keysOf(a).filter((key, i) => key === keysOf(b)[i]).length;
  expect(keyed.at(1).slice(0, 16)).toEqual(plain.at(1).slice());
  expect([shared(0, 1) > 10, shared(0, 2)]).toEqual([true, 0]);
});

// Both inputs have several batches, so that one is decoded while another is hashed.
it('writes the same bytes with any number of threads, of vectors and of texts', {
  tags: 'thorough',
}, async () => {
  const folder = await ownFolder();
  const texts = join(folder, 'texts.jsonl');
  const lines = Array.from({ length: 20_000 }, (_, i) =>
    JSON.stringify({
      text: Array.from({ length: 60 }, (_, j) => `w${(i * j * j) % 997}`).join(' '),
    }),
  );
  await writeFile(texts, lines.join('\n'));
  for (const input of [NOUNS, texts]) {
    const [one, ...others] = await Promise.all(
      ['1', '2', '3', '5'].map(async (threads) => {
        const { code, out } = await fingerprint(input, '--threads', threads);
        expect(code).toBe(0);
        return readFile(out);
      }),
    );
    for (const other of others) expect(one.equals(other)).toBe(true);
  }
  expect((await fingerprint(texts, '--threads', '0')).code).toBe(2);
});

describe('fingerprint of vectors', () => {
  it('gives the codes that the library gives, and carries the other columns', async () => {
    const folder = await ownFolder();
    const lines = VECTORS.map((vector, i) => JSON.stringify({ id: `row-${i}`, vector, n: i }));
    await writeFile(join(folder, 'in.jsonl'), lines.join('\n'));
    const { code, stderr, out } = await fingerprint(
      ...[join(folder, 'in.jsonl'), '--bits', '100', '--seed', '7', '--projection', 'gaussian'],
    );
    expect(code).toBe(0);
    expect(stderr).toContain('reading vectors of "vector"; --vector chooses another');
    const hasher = new SimHasher({ bits: 100, seed: 7, projection: 'gaussian', dimensions: 6 });
    const { codes, ids } = await readCodes(out);
    expect(codes.bits).toBe(100);
    expect(Buffer.from(codes.bytes)).toEqual(Buffer.from((await hasher.hashAll(VECTORS)).bytes));
    expect(ids).toEqual(VECTORS.map((_, i) => `row-${i}`));
    const columns = JSON.parse((await run(['info', out, '--json'])).stdout).columns;
    expect(columns.map(({ name }: { name: string }) => name)).toEqual(['id', 'n', 'code']);
  });

  it('takes 256 bits and hadamard where nothing is said', async () => {
    const { code, out } = await fingerprint(NOUNS);
    expect(code).toBe(0);
    const { codes } = await readCodes(out);
    expect([codes.bits, codes.count]).toEqual([256, 17_824]);
    expect(codes.origin).toEqual({ projection: 'hadamard', seed: '0', dimensions: 100 });
  });

  it('says that rows go by their numbers where their ids are no ids', async () => {
    const input = '{"id":1.5,"vector":[0,1]}\n{"id":2,"vector":[1,2]}\n';
    const { code, stderr } = await run(['fingerprint', '-', '--from', 'jsonl'], { input });
    expect(stderr).toContain('column "id" is Float64, and ids are integers or strings: rows go by');
    expect(code).toBe(0);
  });

  it('gives null codes to vectors without direction, and says how many', async () => {
    const input = '{"vector":[0,0]}\n{"vector":[1,2]}\n{"vector":[0,0]}\n';
    const { stdout, stderr } = await run(['fingerprint', '-', '--from', 'jsonl'], { input });
    expect(rowsOf(stdout).map(({ code }) => code === null)).toEqual([true, false, true]);
    expect(stderr).toContain('2 rows with no direction: null codes, which match nothing');
  });

  it('reads sparse vectors of two columns', async () => {
    const folder = await ownFolder();
    const rows = [
      { indices: [3, 17, 90210], values: [1.5, 0.2, 4] },
      { indices: [17], values: [-1] },
    ];
    await writeFile(join(folder, 'in.jsonl'), rows.map((row) => JSON.stringify(row)).join('\n'));
    const { code, out } = await fingerprint(
      ...[join(folder, 'in.jsonl'), '--vector', 'indices,values', '--bits', '64'],
    );
    expect(code).toBe(0);
    const expected = await new SimHasher({ bits: 64 }).hashAll(rows);
    expect(Buffer.from((await readCodes(out)).codes.bytes)).toEqual(Buffer.from(expected.bytes));
  });

  it('reads vectors of a CSV column, and columns as --types tells', async () => {
    const folder = await ownFolder();
    const lines = VECTORS.map((vector, i) => `${i},"[${vector.join(', ')}]"`);
    await writeFile(join(folder, 'in.csv'), ['isbn,vector', ...lines].join('\n'));
    const input = [join(folder, 'in.csv'), '--vector', 'vector', '--id', 'isbn'];
    const { code, out } = await fingerprint(...input, '--types', 'isbn=text', '--bits', '64');
    expect(code).toBe(0);
    const { codes, ids } = await readCodes(out, { id: 'isbn' });
    const hasher = new SimHasher({ bits: 64, projection: 'hadamard', dimensions: 6 });
    expect(Buffer.from(codes.bytes)).toEqual(Buffer.from((await hasher.hashAll(VECTORS)).bytes));
    expect(ids).toEqual(VECTORS.map((_, i) => `${i}`));
    const wrong = await fingerprint(...input, '--types', 'isbn=date');
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toContain('--types expected COLUMN=text, number, integer or vector');
    await writeFile(join(folder, 'numbers.csv'), 'isbn,other\n7,a\n8,b\n');
    const numbers = await fingerprint(join(folder, 'numbers.csv'), '--text', 'isbn');
    expect(numbers.code).toBe(2);
    expect(numbers.stderr).toContain('which holds no texts: say --types isbn=text');
  });

  it('keeps only the columns that are asked for', async () => {
    const { stdout } = await run(
      ['fingerprint', '-', '--from', 'jsonl', '--columns', 'b', '--bits', '8'],
      { input: '{"a":1,"b":2,"vector":[1,2]}\n' },
    );
    expect(Object.keys(rowsOf(stdout)[0])).toEqual(['b', 'code']);
  });
});

describe('fingerprint of texts', () => {
  it('carries a column that is called code by another name', async () => {
    const input = '{"id":"a","code":"X1","body":"the quick brown fox"}\n';
    const words = ['fingerprint', '-', '--from', 'jsonl', '--text', 'body', '--bits', '8', '-q'];
    // It was lost: the codes took its place.
    const { stdout } = await run(words, { input });
    expect(rowsOf(stdout)).toMatchObject([{ id: 'a', row_code: 'X1' }]);
    // The other name may be taken too: that column was lost then.
    const both = input.replace('}', ',"row_code":"R1"}');
    const { stdout: all } = await run([...words, '--columns', 'code,row_code'], { input: both });
    expect(rowsOf(all)).toMatchObject([{ row_row_code: 'X1', row_code: 'R1' }]);
    const { stdout: bare } = await run([...words, '--columns', 'id'], { input });
    expect(Object.keys(rowsOf(bare)[0])).toEqual(['id', 'code']);
  });

  it('gives the codes that the library gives, and does not carry the texts', async () => {
    const { code, stderr, out } = await fingerprint(DOCS);
    expect(code).toBe(0);
    expect(stderr).toContain('reading texts of "body"; --text chooses another');
    const hasher = new TextHasher({ bits: 256 });
    const { codes, ids } = await readCodes(out);
    const all = await docs();
    expect(ids).toEqual(all.map(({ id }) => id));
    all.forEach(({ body }, row) => {
      expect(Buffer.from(codes.at(row))).toEqual(Buffer.from(hasher.hash(body)));
    });
    const { columns } = JSON.parse((await run(['info', out, '--json'])).stdout);
    expect(columns.map(({ name }: { name: string }) => name)).toEqual(['id', 'title', 'code']);
  });

  it('splits and weighs as it is told, and by frequencies in two readings', async () => {
    const { code, stderr, out } = await fingerprint(
      ...[DOCS, '--tokens', 'shingles:2', '--counting', 'log', '--tf-idf'],
      ...['--bits', '64', '--projection', 'direct'],
    );
    expect(code).toBe(0);
    expect(stderr).toContain('reading the texts twice');
    const bodies = (await docs()).map(({ body }) => body);
    const tokens = 'shingles:2';
    const frequencies = new TextHasher({ tokens }).fit(bodies);
    const hasher = new TextHasher({
      ...{ tokens, frequencies, counting: 'log' },
      ...{ bits: 64, projection: 'direct' },
    });
    const { codes } = await readCodes(out);
    bodies.forEach((body, row) => {
      expect(Buffer.from(codes.at(row))).toEqual(Buffer.from(hasher.hash(body)));
    });
  });

  it('takes a table of frequencies that was made before, also for stdin', async () => {
    const folder = await ownFolder();
    const bodies = (await docs()).map(({ body }) => body);
    const frequencies = new TextHasher().fit(bodies);
    const table = join(folder, 'table.arrow');
    await writeFile(table, frequenciesToArrow(frequencies));
    const input = `${bodies.slice(0, 5).join('\n')}\n`;
    const { code } = await run(
      ['fingerprint', '-', '--from', 'text', '--frequencies', table, '-o', 'codes.arrow'],
      { input, cwd: folder },
    );
    expect(code).toBe(0);
    const { codes } = await readCodes(join(folder, 'codes.arrow'));
    const hasher = new TextHasher({ bits: 256, frequencies });
    for (let row = 0; row < 5; row++) {
      expect(Buffer.from(codes.at(row))).toEqual(Buffer.from(hasher.hash(bodies[row])));
    }
  });

  it('refuses to read stdin twice', async () => {
    const { code, stderr } = await run(['fingerprint', '-', '--from', 'text', '--tf-idf'], {
      input: 'a text\n',
    });
    expect(code).toBe(2);
    expect(stderr).toContain('stdin comes once: write it to a file');
  });

  it('gives null codes to texts without words', async () => {
    const input = 'some words\n...\n';
    const { stdout, stderr } = await run(['fingerprint', '-', '--from', 'text'], { input });
    expect(rowsOf(stdout).map(({ code }) => code === null)).toEqual([false, true]);
    expect(stderr).toContain('1 row with no words: null codes, which match nothing');
  });
});

describe('the input of fingerprint', () => {
  const stdin = (input: string, ...args: string[]) =>
    run(['fingerprint', '-', '--from', 'jsonl', ...args], { input });

  it('is asked for when there are several candidates', async () => {
    const { code, stderr } = await stdin('{"one":"a b","two":"c d"}\n');
    expect([code, stderr]).toEqual([
      2,
      'halfspace: stdin has texts in one, two: choose by --text COLUMN\n',
    ]);
  });

  it.each([
    [['--text', 'tow'], 2, 'no column "tow", there are one, n'],
    [['--text', 'n'], 2, 'column "n" is'],
    [['--vector', 'one'], 2, 'column "one" is'],
    [['--text', 'one', '--vector', 'n'], 2, 'give one of --vector, --text'],
    [['--text', 'one', '--id', 'name'], 2, 'no column "name"'],
    [['--text', 'one', '--tokens', 'letters'], 2, "--tokens expected 'words', 'characters:N'"],
    [['--text', 'one', '--seed', '-1'], 2, '--seed expected an integer'],
    [['--text', 'one', '--projection', 'hadamard'], 2, 'hadamard is for dense vectors'],
    [['--text', 'one', '--bits', '0'], 2, '--bits expected an integer in 1..65535, got 0'],
    [['--text', 'one', 'another'], 2, 'expected one input, got also another'],
  ])('is refused with %j', async (args, expected, message) => {
    const { code, stdout, stderr } = await stdin('{"one":"a b","n":1}\n', ...args);
    expect([code, stdout]).toEqual([expected, '']);
    expect(stderr).toContain(message);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
  });

  it('names the line of a row that cannot be read', async () => {
    const input = '{"vector":[1,2]}\n{"vector":[1,\n{"vector":[3,4]}\n';
    const stopped = await stdin(input);
    expect(stopped.code).toBe(3);
    expect(stopped.stderr).toMatch(/^halfspace: stdin: .*line 2/m);
  });

  it('learns the width from the first vector, before which batches have nulls alone', async () => {
    const path = join(await ownFolder(), 'rows.arrows');
    const kind = new List(new Field('item', new Float64()));
    const batches = [[null, null], [null, [1, 2]], [[3, 4]]].map((rows) =>
      vectorFromArray(rows, kind),
    );
    const vector = new Vector(batches.flatMap(({ data }) => data));
    await writeFile(path, tableToIPC(new Table({ vector }), 'stream'));
    const { stdout } = await run(['fingerprint', path]);
    const isNull = rowsOf<{ code: string | null }>(stdout).map(({ code }) => code === null);
    expect(isNull).toEqual([true, true, true, false, false]);
    const { code } = await run(['index', path, '-o', join(await ownFolder(), 'rows.hs')]);
    expect(code).toBe(0);
  });

  it('names the row of a vector of another width, or that is not finite', async () => {
    const folder = await ownFolder();
    const lines = Array.from({ length: 9000 }, () => '{"vector":[1,2]}');
    await writeFile(join(folder, 'wide.jsonl'), `${lines.join('\n')}\n{"vector":[1,2,3]}\n`);
    const wide = await run(['fingerprint', 'wide.jsonl'], { cwd: folder });
    expect(wide.code).toBe(3);
    expect(wide.stderr).toMatch(/^halfspace: wide\.jsonl: .*(row 9000|line 9001)/m);
    await writeFile(join(folder, 'huge.csv'), 'vector\n"[1,2]"\n"[1,1e999]"\n');
    const huge = await run(['fingerprint', 'huge.csv', '--vector', 'vector'], { cwd: folder });
    expect(huge.code).toBe(3);
    expect(huge.stderr).toMatch(/huge\.csv/);
  });

  it('is missing, empty, or nowhere', async () => {
    const none = await run(['fingerprint']);
    expect([none.code, none.stderr]).toEqual([
      2,
      'halfspace: an input is missing: a file, or - for stdin\n',
    ]);
    const folder = await ownFolder();
    await writeFile(join(folder, 'empty.arrow'), '');
    const empty = await run(['fingerprint', 'empty.arrow'], { cwd: folder });
    expect(empty.code).toBe(3);
    expect(empty.stderr).toContain('empty.arrow');
    const nowhere = await run(['fingerprint', 'nowhere.arrow'], { cwd: folder });
    expect([nowhere.code, nowhere.stderr]).toEqual([
      1,
      'halfspace: nowhere.arrow: no such file or folder\n',
    ]);
  });
});
