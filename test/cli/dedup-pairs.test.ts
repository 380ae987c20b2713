import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writeCodes } from '../../src/node';
import { collection } from '../near/collections';
import { Draws } from '../reference/random';
import { rowsOf, run } from './run';

const folder = mkdtempSync(join(tmpdir(), 'halfspace-dedup-pairs-'));
afterAll(() => rmSync(folder, { recursive: true }));
const at = (name: string) => join(folder, name);

/** Ids that CSV marks, that look like numbers, and plain ones; none are in the order of rows. */
const COUNT = 300;
const idOf = (row: number) => (row % 3 === 0 ? `=${row}` : row % 3 === 1 ? `00${row}` : `n${row}`);
const near = ['--max-distance', '4', '-q'];
const rows = () => at('codes.arrow');

interface PairLine {
  a: number;
  b: number;
  id_a: string;
  id_b: string;
}
interface PlanLine {
  row: number;
  group: number;
}
let all: PairLine[] = [];

beforeAll(async () => {
  const codes = collection('clustered', COUNT, 64, 21);
  codes.at(7).set(codes.at(3)); // equal codes, which a star takes where the first of them goes
  codes.at(90).set(codes.at(3));
  await writeCodes(rows(), codes, { ids: Array.from({ length: COUNT }, (_, row) => idOf(row)) });
  for (const name of ['pairs.arrow', 'pairs.arrows', 'pairs.csv', 'pairs.jsonl', 'pairs.parquet']) {
    expect((await run(['pairs', rows(), ...near, '-o', at(name)])).code).toBe(0);
  }
  all = rowsOf<PairLine>(readFileSync(at('pairs.jsonl'), 'utf8'));
  expect(all.length).toBeGreaterThan(COUNT);
});

/** The plan of the rows themselves, and the one by pairs; bytes of JSON lines. */
async function plans(words: readonly string[], pairs: string): Promise<[string, string]> {
  const more = ['-q', ...words];
  const own = await run(['dedup', rows(), ...near, ...more]);
  const given = await run(['dedup', rows(), '--pairs', pairs, ...more]);
  expect([own.code, own.stderr, given.code, given.stderr]).toEqual([0, '', 0, '']);
  return [own.stdout, given.stdout];
}

/** Writes pairs as JSON lines, and plans by them. */
async function planBy(pairs: readonly object[], words: readonly string[] = []) {
  writeFileSync(at('own.jsonl'), pairs.map((pair) => `${JSON.stringify(pair)}\n`).join(''));
  return run(['dedup', rows(), '--pairs', at('own.jsonl'), ...words]);
}

describe('a plan by pairs from a file', () => {
  it.each([
    ...['star', 'components'].map((how) => ['--grouping', how]),
    ['--keep', 'last'],
    ['--keep', 'random:5', '--keep-at-most', '2'],
  ])('is that of the rows themselves, byte for byte: %s %s', async (...words) => {
    const [own, given] = await plans(words, at('pairs.arrow'));
    expect(given).toBe(own);
    const lines = rowsOf<PlanLine>(own);
    expect(new Set(lines.map(({ group }) => group)).size).toBeLessThan(COUNT - 20);
  });

  it.each(['arrows', 'csv', 'jsonl', 'parquet'])('is the same by .%s', async (format) => {
    const [own, given] = await plans([], at(`pairs.${format}`));
    expect(given).toBe(own);
  });

  it('is the same by a stream of pairs, of which --columns chose some', {
    tags: 'thorough',
  }, async () => {
    for (const columns of ['a,b', 'id_a,id_b']) {
      const args = ['pairs', rows(), ...near, '--columns', columns, '-o', at(`${columns}.arrows`)];
      expect((await run(args)).code).toBe(0);
      const input = readFileSync(at(`${columns}.arrows`));
      const given = await run(['dedup', rows(), '--pairs', '-', '-q'], { input });
      expect([given.code, given.stdout]).toEqual([0, (await plans([], at('pairs.csv')))[0]]);
    }
  });

  it('does not depend on the order of the pairs and their rows, nor on repeated ones', {
    tags: 'thorough',
  }, async () => {
    const draws = new Draws('shuffled');
    const shuffled = [...all, ...all.slice(0, 200)]
      .map((pair) => ({ pair, key: draws.uniform() }))
      .sort((one, other) => one.key - other.key)
      .map(({ pair: { id_a, id_b }, key }) => {
        return Math.floor(1000 * key) % 2 === 0 ? { id_a, id_b } : { id_a: id_b, id_b: id_a };
      });
    for (const grouping of ['star', 'components']) {
      const words = ['--grouping', grouping, '-q'];
      const given = await planBy(shuffled, words);
      expect(given.stdout).toBe((await plans(words, at('pairs.jsonl')))[0]);
    }
  });

  it('has the components that joining sets by hand gives', {
    tags: 'thorough',
  }, async () => {
    const setOf = Array.from({ length: COUNT }, (_, row) => new Set([row]));
    for (const { a, b } of all) {
      if (setOf[a] === setOf[b]) continue;
      for (const row of setOf[b]) setOf[a].add(row);
      for (const row of setOf[b]) setOf[row] = setOf[a];
    }
    const names = setOf.map((rows) => Math.min(...rows));
    for (const name of ['all.arrow', 'all.csv']) {
      expect((await run(['pairs', rows(), ...near, '-o', at(name)])).code).toBe(0);
      const [own, given] = await plans(['--grouping', 'components'], at(name));
      expect(given).toBe(own);
      const found = Array.from(names, (_, row) => row);
      for (const { row, group } of rowsOf<PlanLine>(given)) found[row] = group;
      expect(found).toEqual(names);
    }
  });

  it('keeps all rows where there are no pairs', async () => {
    await writeCodes(at('apart.arrow'), collection('uniform', COUNT, 64, 1));
    const none = ['pairs', at('apart.arrow'), '--max-distance', '0'];
    expect((await run([...none, '-q', '-o', at('none.arrow')])).code).toBe(0);
    const given = await run(['dedup', rows(), '--pairs', at('none.arrow')]);
    expect([given.code, rowsOf(given.stdout).length]).toEqual([0, 1]);
    expect(given.stderr).toContain('300 rows: 300 to keep, 0 to drop');
  });

  it('is that of texts and of an index, but for exact similarities', {
    tags: 'thorough',
  }, async () => {
    const index = ['index', 'datasets/sample/docs.jsonl', '--text', 'body', '-q'];
    expect((await run([...index, '-o', at('docs.hs')])).code).toBe(0);
    for (const [source, ...words] of [
      ['datasets/sample/docs.jsonl', '--text', 'body'],
      [at('docs.hs'), '--max-distance', '60'],
    ]) {
      const options = [...words, '-q'];
      const found = await run(['pairs', source, ...options, '--to', 'arrows', '-o', at('docs.p')]);
      expect([found.code, found.stderr]).toEqual([0, '']);
      const own = await run(['dedup', source, ...options, '--force']);
      const input = readFileSync(at('docs.p'));
      const same = words[0] === '--text' ? words : [];
      const pairs = ['--pairs', '-', ...same, '-q'];
      const given = await run(['dedup', source, ...pairs], { input });
      expect([given.code, given.stderr]).toEqual([0, '']);
      const linesOf = (text: string) =>
        rowsOf<PlanLine & { jaccard?: number }>(text).sort((a, b) => a.row - b.row);
      const plan = linesOf(own.stdout);
      expect(linesOf(given.stdout)).toEqual(plan.map(({ jaccard, ...line }) => line));
      expect(new Set(plan.map(({ group }) => group)).size).toBeLessThan(plan.length);
      rmSync(at('docs.p'));
    }
  });

  it('goes on to be applied', async () => {
    mkdirSync(at('applied'));
    const [plan, kept] = [at('applied/plan.arrow'), at('applied/kept.arrow')];
    const args = ['dedup', rows(), '--pairs', at('pairs.csv'), '-o', plan];
    expect((await run(args)).code).toBe(0);
    const applied = await run(['dedup', rows(), '--apply', plan, '-o', kept]);
    expect([applied.code, applied.stderr]).toEqual([0, expect.stringContaining('300 rows: ')]);
  });
});

describe('what is no pair of the rows', () => {
  it.each<[string, object, string]>([
    ['an unknown id', { id_a: 'n2', id_b: 'n1000' }, 'codes.arrow has the id "n1000"'],
    ['no id', { id_a: 'n2', id_b: null }, 'codes.arrow has the id "null"'],
    ['a row with itself', { id_a: 'n2', id_b: 'n2' }, '"b" expected another row than that of "a"'],
    ['a row beyond', { a: 1, b: 300 }, '"b" expected a row in 0..299, got 300'],
    ['a row that is none', { a: 1.5, b: 3 }, '"a" expected a row in 0..299, got 1.5'],
    ['no row', { a: null, b: 3 }, '"a" expected a row in 0..299, got null'],
    ['another id', { a: 1, b: 2, id_a: '001', id_b: 'n5' }, 'the id of row 2 is "n2", not "n5"'],
  ])('is refused with its row: %s', async (_, pair, message) => {
    const keys = Object.keys(pair) as (keyof PairLine)[];
    const first = Object.fromEntries(keys.map((key) => [key, all[0][key]]));
    const { code, stdout, stderr } = await planBy([first, pair]);
    expect([code, stdout]).toEqual([3, '']);
    expect(stderr).toContain('own.jsonl: row 1: ');
    expect(stderr).toContain(message);
  });

  it('is refused where the row has no code', async () => {
    writeFileSync(at('docs.jsonl'), '{"id":"x","text":"a few words"}\n{"id":"y","text":""}\n');
    writeFileSync(at('own.jsonl'), '{"id_a":"x","id_b":"y"}\n');
    const { code, stderr } = await run(['dedup', at('docs.jsonl'), '--pairs', at('own.jsonl')]);
    expect([code, stderr]).toEqual([3, expect.stringContaining('row 0: "b" expected a row of 2')]);
  });

  it('needs the columns of rows or ids', async () => {
    const { code, stderr } = await planBy([{ left: 1, right: 2 }]);
    expect([code, stderr]).toEqual([
      3,
      expect.stringContaining('expected the columns a and b (rows) or id_a and id_b (their ids)'),
    ]);
    writeFileSync(at('noid.csv'), 'text\none two three\n');
    writeFileSync(at('own.jsonl'), '{"id_a":"x","id_b":"y"}\n');
    const noId = await run(['dedup', at('noid.csv'), '--pairs', at('own.jsonl')]);
    expect([noId.code, noId.stderr]).toEqual([1, expect.stringContaining('noid.csv has no ids')]);
    writeFileSync(at('twice.csv'), 'id,text\nx,one two three\nx,one two\n');
    const twice = await run(['dedup', at('twice.csv'), '--pairs', at('own.jsonl')]);
    expect([twice.code, twice.stderr]).toEqual([3, expect.stringContaining('have the id "x"')]);
  });

  it('is noticed where the file was cut or changed', { tags: 'thorough' }, async () => {
    const whole = readFileSync(at('pairs.arrows'));
    for (const end of [0.3, 0.9, 1 - 9 / whole.length]) {
      const input = whole.subarray(0, Math.floor(end * whole.length));
      writeFileSync(at('cut.arrows'), input);
      for (const [file, given] of [
        [at('cut.arrows'), {}],
        ['-', { input }],
      ] as const) {
        const { code, stdout } = await run(['dedup', rows(), '--pairs', file], given);
        expect([end, file, code, stdout]).toEqual([end, file, 3, '']);
      }
    }
    const changed = Buffer.from(readFileSync(at('pairs.arrow')));
    changed[Math.floor(changed.length / 2)] ^= 1;
    writeFileSync(at('changed.arrow'), changed);
    const { code, stdout } = await run(['dedup', rows(), '--pairs', at('changed.arrow')]);
    expect([code, stdout]).toEqual([3, '']);
  });

  it('goes with no other option that says what is near', async () => {
    for (const words of [
      ['--max-distance', '3'],
      ['--within', 'id'],
      ['--against', 'old'],
    ]) {
      const args = ['dedup', rows(), '--pairs', at('pairs.csv'), ...words];
      const { code, stderr } = await run(args);
      expect([code, stderr]).toEqual([
        2,
        expect.stringContaining(`${words[0]} does not go with --pairs`),
      ]);
    }
    const both = await run(['dedup', '-', '--from', 'arrows', '--pairs', '-'], { input: '' });
    expect([both.code, both.stderr]).toEqual([2, expect.stringContaining('not both')]);
    const over = ['--pairs', at('pairs.csv'), '-o', at('pairs.csv'), '--force'];
    const { code, stderr } = await run(['dedup', rows(), ...over]);
    expect([code, stderr]).toEqual([1, expect.stringContaining('input')]);
  });
});
