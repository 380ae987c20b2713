// What a program that runs the command as its child relies on: streams that are sealed, an input that
// ends as it should, exit codes, rows that are bad.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  DateDay,
  Field,
  FixedSizeList,
  Float32,
  Int32,
  List,
  RecordBatchReader,
  Schema,
  Table,
  tableFromIPC,
  tableToIPC,
  Utf8,
  type Vector,
  vectorFromArray,
} from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { ascending } from '../../src/base/arrays';
import { openIndex } from '../../src/node';
import { quickIf } from '../reference/tags';
import { ownFolder, root, rowsOf, run } from './run';

const NOUNS = 'datasets/nouns/nouns.arrow';
const DOCS = join(root, 'datasets/sample/docs.jsonl');

/** The bytes of an Arrow stream that the command writes. */
async function streamOf(...args: string[]): Promise<Buffer> {
  const folder = await ownFolder();
  const { code, stderr } = await run([...args, '-q', '-o', join(folder, 'out.arrows')]);
  expect([code, stderr]).toEqual([0, '']);
  return readFileSync(join(folder, 'out.arrows'));
}

/** Where the last message of a stream begins, before its end mark: found by its length. */
function startOfLastBatch(stream: Buffer): number {
  let [at, last] = [0, 0];
  const reader = RecordBatchReader.from(stream).open();
  const batches = [...reader].length;
  for (let message = 0; message <= batches; message++) {
    last = at;
    const length = stream.readInt32LE(at + 4);
    at = stream.indexOf(Buffer.from([255, 255, 255, 255]), at + 8 + length);
  }
  return last;
}

describe('a stream that the command writes', () => {
  const verbs = [
    ['fingerprint', DOCS, '--text', 'body'],
    ['pairs', DOCS, '--text', 'body', '--max-distance', '90'],
  ];

  it.each(verbs)('of %s is refused where its last batch is missing', async (...args) => {
    const stream = await streamOf(...args);
    expect(tableFromIPC(stream).numRows).toBeGreaterThan(5);
    const folder = await ownFolder();
    const cut = Buffer.concat([
      stream.subarray(0, startOfLastBatch(stream)),
      Buffer.from([255, 255, 255, 255, 0, 0, 0, 0]),
    ]);
    writeFileSync(join(folder, 'cut.arrows'), cut);
    expect(tableFromIPC(cut).numRows).toBe(0); // as other readers see it: whole, and empty
    const { code, stderr } = await run(['verify', join(folder, 'cut.arrows')]);
    expect(code).toBe(3);
    expect(stderr).toMatch(/cut short/);
  });

  it('of a search is sealed too', async () => {
    const folder = await ownFolder();
    const index = join(folder, 'docs.hs');
    expect((await run(['index', DOCS, '--text', 'body', '-q', '-o', index])).code).toBe(0);
    const stream = await streamOf('search', index, DOCS, '--text', 'body', '-k', '3');
    const { schema, batches } = tableFromIPC(stream);
    expect(schema.metadata.get('halfspace')).toBe('{"version":1,"kind":"matches"}');
    const seals = batches.map((batch) => JSON.parse(batch.metadata.get('halfspace') as string));
    expect(seals.at(-1)).toMatchObject({ end: true });
    const rows = seals.reduce((sum, seal) => sum + seal.rows, 0);
    expect(rows).toBe(batches.reduce((sum, batch) => sum + batch.numRows, 0));
  });
});

describe('a stream without rows', () => {
  it('keeps its columns through fingerprint and pairs', async () => {
    const rows = tableFromIPC(
      await streamOf('fingerprint', DOCS, '--text', 'body', '--bits', '64'),
    );
    const fields = rows.schema.fields.filter(({ name }) => name !== 'code');
    const empty = tableToIPC(new Table(new Schema(fields)), 'stream');
    const args = [
      'fingerprint',
      '-',
      '--from',
      'arrows',
      '--to',
      'arrows',
      '-q',
      '--text',
      'title',
    ];
    const folder = await ownFolder();
    const codes = join(folder, 'codes.arrows');
    const made = await run([...args, '-o', codes], { input: empty });
    expect([made.code, made.stderr]).toEqual([0, '']);
    const names = (file: string) =>
      tableFromIPC(readFileSync(file)).schema.fields.map(({ name }) => name);
    expect(names(codes)).toEqual(['id', 'code']);
    const found = join(folder, 'pairs.arrows');
    expect((await run(['pairs', codes, '--max-distance', '3', '-q', '-o', found])).code).toBe(0);
    expect(names(found)).toEqual(['a', 'b', 'id_a', 'id_b', 'distance', 'estimatedCosine']);
  });
});

describe('an index of a stream without rows', () => {
  it.each([[], ['--memory', '64M']])(
    'is one, to which rows are appended: %j',
    async (...memory) => {
      const folder = await ownFolder();
      const index = join(folder, 'docs.hs');
      const columns = {
        id: vectorFromArray(['a'], new Utf8()),
        body: vectorFromArray(['green tea']),
      };
      const rows = new Table(columns);
      const fields = rows.schema.fields.filter(({ name }) => name !== 'code');
      const empty = tableToIPC(new Table(new Schema(fields)), 'stream');
      const words = ['index', '-', '--from', 'arrows', '--text', 'body', '-q', '-o', index];
      expect(await run([...words, ...memory], { input: empty })).toMatchObject({
        code: 0,
        stderr: '',
      });
      const search = ['search', index, '--query', 'tea', '-q'];
      expect(await run(search)).toMatchObject({ code: 0, stdout: '', stderr: '' });
      const appended = await run([...words, '--append'], { input: tableToIPC(rows, 'stream') });
      expect(appended).toMatchObject({ code: 0, stderr: '' });
      expect(rowsOf((await run(search)).stdout)).toMatchObject([{ id: 'a' }]);
    },
  );
});

it.each([
  [new List(new Field('item', new Float32())), 1, 'has no vector that says how wide all are'],
  [new FixedSizeList(4, new Field('item', new Float32())), 0, ''],
])('an index of no vectors must know how wide they are: %s', async (type, code, said) => {
  const empty = tableToIPC(new Table(new Schema([new Field('vector', type)])), 'stream');
  const output = join(await ownFolder(), 'rows.hs');
  const made = ['index', '-', '--from', 'arrows', '--vector', 'vector', '-q', '-o', output];
  expect(await run(made, { input: empty })).toMatchObject({
    code,
    stderr: expect.stringContaining(said),
  });
  if (code === 0) expect((await openIndex(output)).dimensions).toBe(4);
});

describe('a stream without rows, into every verb that writes rows', () => {
  const COUNT = 40;
  const ascendingRows = Array.from(ascending(COUNT));
  const numbers = (name: string, of: readonly (readonly number[])[]) =>
    [name, vectorFromArray(of, new List(new Field('item', new Float32())))] as const;
  const texts = ascendingRows.map((row) => `tea ${row % 7} of the long green garden ${row % 3}`);
  const columns = {
    vector: numbers(
      'vector',
      ascendingRows.map((row) => [Math.sin(row % 7), Math.cos(row % 7), (row % 3) - 1, 0.5]),
    ),
    text: ['body', vectorFromArray(texts, new Utf8())],
    sparse: [
      'indices',
      vectorFromArray(
        ascendingRows.map((row) => [1, 2 + (row % 5)]),
        new List(new Field('item', new Int32())),
      ),
    ],
  } as const;
  const tableOf = (kind: keyof typeof columns) => {
    const [name, column] = columns[kind];
    const values = numbers(
      'values',
      ascendingRows.map((row) => [1, 2 + (row % 3)]),
    );
    return new Table({
      id: vectorFromArray(BigInt64Array.from(ascendingRows, (row) => 2n ** 40n + BigInt(row))),
      [name]: column,
      ...(kind === 'sparse' && { values: values[1] }),
      year: vectorFromArray(Int32Array.from(ascendingRows)),
      day: vectorFromArray(
        ascendingRows.map((row) => new Date(row * 864e5)),
        new DateDay(),
      ),
      name: vectorFromArray(
        ascendingRows.map((row) => (row % 2 ? `n${row}` : null)),
        new Utf8(),
      ),
    });
  };
  const reading = {
    vector: ['--vector', 'vector'],
    text: ['--text', 'body'],
    sparse: ['--vector', 'indices,values'],
  };
  const kinds = ['vector', 'text', 'sparse'] as const;
  const shown = ['--columns', 'year,day,name'];
  const search = ['search', 'INDEX', ...shown];
  const calls = [
    ['fingerprint'],
    ['pairs', '--max-distance', '3'],
    ['dedup', '--max-distance', '3'],
    ['cluster', '--clusters', '3'],
    ['cluster', '--density'],
    [...search, '-k', '3'],
    [...search, '--max-distance', '0'],
    [...search, '-k', '3', '--memory', '64M'],
  ];

  it.each(kinds)('keeps the columns that rows of a %s give', { tags: 'full' }, async (kind) => {
    const folder = await ownFolder();
    const index = join(folder, 'rows.hs');
    const table = tableOf(kind);
    const whole = tableToIPC(table, 'stream');
    const made = ['index', '-', '--from', 'arrows', ...reading[kind], ...shown, '-q', '-o', index];
    expect(await run(made, { input: whole })).toMatchObject({ code: 0, stderr: '' });
    const empty = new Table(new Schema(table.schema.fields));
    for (const [verb, ...words] of calls) {
      const [first, ...others] =
        words[0] === 'INDEX' ? [index, '-', ...words.slice(1)] : ['-', ...words];
      const types: string[][] = [];
      for (const input of [whole, tableToIPC(empty, 'stream')]) {
        const output = join(folder, `out-${types.length}.arrow`);
        const args = [first, ...others, '--from', 'arrows', ...reading[kind], '-q'];
        const { code, stderr } = await run([verb, ...args, '--force', '-o', output], { input });
        expect([verb, words, code, stderr]).toEqual([verb, words, 0, '']);
        const found = tableFromIPC(readFileSync(output));
        types.push(found.schema.fields.map(({ name, type }) => `${name} ${type}`));
        expect([verb, words, found.numRows > 0]).toEqual([verb, words, input === whole]);
      }
      expect([verb, words, types[1]]).toEqual([verb, words, types[0]]);
      const carried = ['year Int32', 'day Date32<DAY>', 'name Utf8'];
      if (verb === 'search') expect(types[0].slice(-3)).toEqual(carried);
    }
  });
});

describe('queries without neighbours', () => {
  const words = ['--max-distance', '0', '-q', '--columns', 'category', '--to', 'arrows'];
  const typesOf = (file: string) =>
    tableFromIPC(readFileSync(file)).schema.fields.map(({ name, type }) => `${name} ${type}`);

  for (const [kind, type] of [
    ['words', 'Utf8'],
    ['numbers', 'Int64'],
  ]) {
    const title = `have the columns of others, and may come before them: ${kind} as ids`;
    it(title, quickIf(kind === 'numbers'), async () => {
      const folder = await ownFolder();
      const at = (name: string) => join(folder, name);
      const nouns = tableFromIPC(await streamOf('fingerprint', NOUNS, '--bits', '64'));
      const { word, category, code } = Object.fromEntries(
        nouns.schema.fields.map(({ name }) => [name, nouns.getChild(name) as Vector]),
      );
      const rows = ascending(nouns.numRows);
      const numbers = BigInt64Array.from(rows, (row) => 2n ** 40n + BigInt(row));
      const id = kind === 'words' ? word : vectorFromArray(numbers);
      const table = new Table({ id, category, code });
      // The rows that are found are behind the first batch that the command reads.
      writeFileSync(at('last.arrow'), tableToIPC(table.slice(nouns.numRows - 200), 'file'));
      const index = ['index', at('last.arrow'), '--code', 'code', '-q', '-o', at('last.hs')];
      expect(await run(index)).toMatchObject({ code: 0, stderr: '' });
      for (const [name, asked] of [
        ['all', table],
        ['some', table.slice(0, 100)],
        ['none', table.slice(0, 0)],
      ] as const) {
        const args = ['search', at('last.hs'), '-', '--from', 'arrows', '--code', 'code', ...words];
        const input = tableToIPC(asked, 'stream');
        const found = await run([...args, '-o', at(`${name}.arrows`)], { input });
        expect([found.code, found.stderr]).toEqual([0, '']);
      }
      expect(tableFromIPC(readFileSync(at('all.arrows'))).numRows).toBeGreaterThan(199);
      const all = typesOf(at('all.arrows'));
      expect([all[0], all[2]]).toEqual([`query ${type}`, `id ${type}`]);
      for (const name of ['some', 'none']) {
        expect(tableFromIPC(readFileSync(at(`${name}.arrows`))).numRows).toBe(0);
        expect(typesOf(at(`${name}.arrows`))).toEqual(all);
      }
    });
  }
});

it('an Arrow stream on stdin is refused without its end mark: its writer died', async () => {
  const args = ['fingerprint', '-', '--from', 'arrows', '--code', 'code', '-q', '--to', 'csv'];
  const stream = await streamOf('fingerprint', NOUNS, '--bits', '64');
  // Without seals, as other programs write.
  const bare = Buffer.from(
    stream.toString('latin1').replaceAll('halfspace', 'otherpart').replaceAll('"row":', '"raw":'),
    'latin1',
  );
  const whole = await run(args, { input: bare });
  expect([whole.code, whole.stderr]).toEqual([0, '']);
  const cut = await run(args, { input: bare.subarray(0, -8) });
  expect([cut.code, cut.stderr]).toEqual([
    3,
    expect.stringMatching(/stdin: .*without its end mark/),
  ]);
});

it('64-bit integers are codes where --bits says so', async () => {
  const input = '{"id":1,"code":5}\n{"id":2,"code":4}\n';
  const args = ['-', '--from', 'jsonl', '--max-distance', '1'];
  expect((await run(['pairs', ...args], { input })).code).toBe(3);
  const { code, stdout } = await run(['pairs', ...args, '--bits', '64', '-q'], { input });
  expect([code, rowsOf(stdout)]).toMatchObject([0, [{ a: 0, b: 1, distance: 1 }]]);
});

it('a bad row ends the work by the exit code of bad data', async () => {
  const lines = ['[1,2,3]', '[1,1e999,3]', '[1,2]'];
  const input = lines.map((vector, id) => `{"id":${id},"vector":${vector}}\n`).join('');
  const args = ['fingerprint', '-', '--from', 'jsonl', '--bits', '32'];
  const { code, stdout, stderr } = await run(args, { input });
  expect([code, stdout]).toEqual([3, '']);
  expect(stderr).toMatch(/stdin: row [12]: /);
});
