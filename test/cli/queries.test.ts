import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { shareAt } from '../../src/base/random';
import { IndexFolder, openIndex, scanVectors } from '../../src/node';
import { Draws } from '../reference/random';
import { ownFolder, type RunOptions, run } from './run';

const DIMENSIONS = 12;
const draws = new Draws('queries of the command');
const middles = Array.from({ length: 30 }, () => draws.gaussians(DIMENSIONS));

/** Vectors about middles; those of another spread are other questions than rows are. */
const drawn = (count: number, spread: number) =>
  Array.from({ length: count }, () => {
    const middle = middles[draws.integer(30)];
    return Array.from(middle, (value) => Math.fround(value + spread * draws.gaussian()));
  });

const rows = drawn(5000, 0.4);
const queries = drawn(120, 1.5);
/** In the order in which they choose or measure, by the seed 0. */
const inTurn = [...queries.keys()]
  .sort((a, b) => shareAt(0, a) - shareAt(0, b))
  .map((i) => queries[i]);
const lines = (all: readonly object[]) => all.map((one) => JSON.stringify(one)).join('\n');

/** A file of NumPy: float32 in rows. */
function npy(all: readonly (readonly number[])[]): Buffer {
  const shape = `(${all.length}, ${all[0].length})`;
  const text = `{'descr': '<f4', 'fortran_order': False, 'shape': ${shape}, }`;
  const header = text.padEnd(118 - 1, ' ');
  const head = Buffer.from(`\x93NUMPY\x01\x00\x76\x00${header}\n`, 'latin1');
  return Buffer.concat([head, Buffer.from(Float32Array.from(all.flat()).buffer)]);
}

/** A folder with rows, and queries in two formats. */
async function files() {
  const cwd = await ownFolder();
  const other = [1, 2, 3];
  const named = rows.map((own, i) => ({ word: `w${i}`, own, other }));
  await writeFile(join(cwd, 'in.jsonl'), lines(named));
  await writeFile(join(cwd, 'q.jsonl'), lines(queries.map((own) => ({ own, other }))));
  await writeFile(join(cwd, 'q.npy'), npy(queries));
  const command = (...words: string[]) => run(['index', ...words], { cwd });
  const made = () => command('in.jsonl', '--vector', 'own', '-o', 'made.hs', '-q');
  return { cwd, command, made };
}

/** By brute force: the share of the true 10 nearest that searches of an index find. */
async function recallOf(folder: string, asked: readonly (readonly number[])[]): Promise<number> {
  const index = await openIndex(folder);
  const values = Float32Array.from(rows.flat());
  let found = 0;
  for (const query of asked) {
    const truth = new Set(scanVectors({ values, dimensions: DIMENSIONS }, query, { k: 10 }).rows);
    for (const row of index.search(query).rows) found += Number(truth.has(row));
  }
  return found / (10 * asked.length);
}

describe('index --optimize --queries', () => {
  it('chooses by half of the queries, measures by the others', {
    tags: 'thorough',
  }, async () => {
    const { cwd, command } = await files();
    const own = ['--vector', 'own', '--id', 'word', '--bits', '64', '--vectors', 'float32'];
    expect((await command('in.jsonl', ...own, '-o', 'out.hs')).code).toBe(0);
    const wanted = ['--optimize', '--recall', '0.9', '--queries', 'q.jsonl', '--vector', 'own'];
    const { code, stderr } = await command('out.hs', ...wanted);
    expect([code, stderr]).toEqual([0, expect.stringContaining('5,000 rows')]);
    const folder = join(cwd, 'out.hs');
    const { report } = await IndexFolder.open(folder);
    expect(report).toMatchObject({ source: 'queries', queries: 60, method: 'partitions' });
    expect(report?.recall).toBeCloseTo(await recallOf(folder, inTurn.slice(60)), 9);
    const percent = (share = 0) => `${(100 * share).toFixed(1)} %`;
    const interval = '\\(95 %: [\\d.]+ % to [\\d.]+ %';
    expect(stderr).toMatch(
      new RegExp(
        `^finds ${percent(report?.recall)} of the true 10 nearest by exact cosine ${interval}, ` +
          `60 of the 120 queries of q.jsonl, the others chose the setting\\); `,
        'm',
      ),
    );
    const { stdout } = await run(['info', 'out.hs'], { cwd });
    expect(stdout).toMatch(/recall .*, 60 queries\)/);
  });

  it('does the same by files of other formats and from stdin', {
    tags: 'thorough',
  }, async () => {
    const { cwd, command } = await files();
    const optimized = async (words: string[], options?: RunOptions) => {
      const own = ['--vector', 'own', '--vectors', 'float32', '-o', 'a.hs', '--force', '-q'];
      await command('in.jsonl', ...own);
      const all = ['index', 'a.hs', '--optimize', '--recall', '0.9', '--queries', ...words];
      const { code, stderr } = await run(all, { cwd, ...options });
      expect([code, stderr]).toEqual([0, expect.any(String)]);
      const { report } = await IndexFolder.open(join(cwd, 'a.hs'));
      return report;
    };
    const expected = await optimized(['q.jsonl', '--vector', 'own']);
    expect(expected).toMatchObject({ source: 'queries', queries: 60 });
    expect(await optimized(['q.npy'])).toEqual(expected);
    const input = lines(queries.map((vector) => ({ vector })));
    expect(await optimized(['-', '--from', 'jsonl'], { input })).toEqual(expected);
    const unnamed = ['index', 'a.hs', '--optimize', '--queries', 'q.jsonl', '--vector', 'none'];
    const { code, stderr } = await run(unnamed, { cwd });
    expect([code, stderr]).toEqual([2, expect.stringContaining('q.jsonl: no column "none"')]);
  });

  it('counts vectors of zeros, which have no direction, and searches for none of them', async () => {
    const cwd = await ownFolder();
    const zeros = Array(DIMENSIONS).fill(0);
    const asked = [...queries.slice(0, 50), zeros].map((own) => ({ own }));
    await writeFile(join(cwd, 'in.jsonl'), lines(rows.slice(0, 300).map((own) => ({ own }))));
    await writeFile(join(cwd, 'q.jsonl'), lines(asked));
    await run(['index', 'in.jsonl', '--vectors', 'float32', '-o', 'v.hs'], { cwd });
    const found = await run(['index', 'v.hs', '--optimize', '--queries', 'q.jsonl'], { cwd });
    expect(found.stderr).toMatch(/25 of the 50 queries of q\.jsonl, the others chose/);
    const { stdout, stderr } = await run(['search', 'v.hs', 'q.jsonl', '-k', '1'], { cwd });
    expect(stdout.trim().split('\n')).toHaveLength(50);
    for (const said of [found.stderr, stderr]) {
      expect(said).toContain('q.jsonl: 1 row with no direction: null codes, which match nothing');
    }
  });

  it('reads texts as those of the rows, by the same frequencies', async () => {
    const cwd = await ownFolder();
    const text = () => Array.from({ length: 12 }, () => `w${draws.integer(90)}`).join(' ');
    const bodies = (count: number) => Array.from({ length: count }, () => ({ body: text() }));
    await writeFile(join(cwd, 'in.jsonl'), lines(bodies(300)));
    await writeFile(join(cwd, 'q.jsonl'), lines([...bodies(50), { body: '' }]));
    const words = ['--text', 'body', '--tf-idf', '--vectors', 'sparse', '-o', 'docs.hs'];
    expect((await run(['index', 'in.jsonl', ...words], { cwd })).code).toBe(0);
    const again = ['index', 'docs.hs', '--optimize', '--queries', 'q.jsonl'];
    const { code, stderr } = await run(again, { cwd });
    expect([code, stderr]).toEqual([0, expect.stringContaining('q.jsonl: 1 row with no words')]);
    expect(stderr).toMatch(/25 of the 50 queries of q\.jsonl, the others chose/);
  });

  it('says how few queries measured, and refuses a single one', async () => {
    const { command, cwd, made } = await files();
    await made();
    for (const [count, exitCode, words] of [
      [10, 0, '5 of the 10 queries of few.jsonl, the others chose the setting'],
      [1, 2, '--queries expected at least two that are not null (half of them choose'],
    ] as const) {
      await writeFile(
        join(cwd, 'few.jsonl'),
        lines(queries.slice(0, count).map((own) => ({ own }))),
      );
      const { code, stderr } = await command('made.hs', '--optimize', '--queries', 'few.jsonl');
      expect([code, stderr]).toEqual([exitCode, expect.stringContaining(words)]);
    }
  });

  it('names the file and the row of a bad query, and changes nothing', {
    tags: 'thorough',
  }, async () => {
    const { command, cwd, made } = await files();
    await made();
    const withNaN = queries.map((one, i) => (i === 7 ? one.map(() => Number.NaN) : one));
    await writeFile(join(cwd, 'nan.npy'), npy(withNaN));
    await writeFile(join(cwd, 'narrow.npy'), npy(queries.map((one) => one.slice(1))));
    const nulls = queries.map((own, i) => ({ own: i < 3 ? null : i === 7 ? own.slice(1) : own }));
    await writeFile(join(cwd, 'nulls.jsonl'), lines(nulls));
    await writeFile(join(cwd, 'none.jsonl'), lines(nulls.slice(0, 3)));
    await writeFile(join(cwd, 'words.jsonl'), lines([{ name: 'a b' }]));
    const finite = 'nan.npy: row 7: expected finite values, got NaN at dimension 0';
    const narrow = 'narrow.npy: row 0: expected a vector of 12 values, got 11';
    for (const [file, message] of [
      ['nan.npy', finite],
      ['narrow.npy', narrow],
      ['nulls.jsonl', 'nulls.jsonl: '],
      ['none.jsonl', 'none.jsonl'],
      ['words.jsonl', 'words.jsonl: no column of vectors or codes'],
      ['missing.jsonl', 'missing.jsonl: no such file or folder'],
    ]) {
      const { code, stderr } = await command('made.hs', '--optimize', '--queries', file);
      expect([file, code !== 0, stderr]).toEqual([
        ...[file, true, expect.stringContaining(message)],
      ]);
    }
    expect((await IndexFolder.open(join(cwd, 'made.hs'))).generation).toBe(1);
    const search = await run(['search', 'made.hs', 'nan.npy'], { cwd });
    expect([search.code, search.stderr]).toEqual([3, expect.stringContaining(finite)]);
  });

  it('is refused where it contradicts itself', async () => {
    const { command, made } = await files();
    await made();
    for (const [words, message] of [
      [['made.hs', '--compact', '--queries', 'q.npy'], '--queries is for --optimize'],
      [['made.hs', '--optimize', '--memory', '1G', '--queries', 'q.npy'], 'does not go with --mem'],
      [['in.jsonl', '-o', 'x.hs', '--optimize', '--queries', 'q.npy'], 'index that is there'],
    ] as const) {
      const { code, stderr } = await command(...words);
      expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
    }
  });
});
