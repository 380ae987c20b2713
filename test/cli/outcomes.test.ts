import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Draws } from '../reference/random';
import { rowsOf, run } from './run';

const folder = mkdtempSync(join(tmpdir(), 'halfspace-outcomes-'));
afterAll(() => rmSync(folder, { recursive: true }));
const at = (name: string) => join(folder, name);

const draws = new Draws('outcomes of the command');
/** Texts of 12 words, too short for the default where two of them are edited. */
const texts = Array.from({ length: 400 }, () =>
  Array.from({ length: 12 }, () => `w${draws.integer(300)}`).join(' '),
);
/** Rows 2i and 2i + 1 are near; their cosine is about .8. */
const vectors = Array.from({ length: 60 }, () => draws.gaussians(12)).flatMap((centre) =>
  Array.from({ length: 2 }, () => Array.from(centre, (value) => value + 0.4 * draws.gaussian())),
);

beforeAll(() => {
  const jsonl = (rows: object[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join('');
  writeFileSync(at("it's texts.jsonl"), jsonl(texts.map((body, id) => ({ id, body }))));
  writeFileSync(at('vectors.jsonl'), jsonl(vectors.map((v, i) => ({ id: `v${i}`, v }))));
  const labels = Array.from({ length: 59 }, (_, i) => [
    `v${2 * i},v${2 * i + 1},true`,
    `v${2 * i},v${2 * i + 2},false`,
  ]);
  writeFileSync(at('truth.csv'), `a,b,same\n${labels.flat().join('\n')}\n`);
});

interface Found {
  name: string;
  options: string[];
  by: string;
  threshold: number;
  held: { same: number; right: number; wrong: number; recall: number; f1: number };
}

interface Told {
  fileRows: number;
  drawn: number | null;
  settings: Found[];
  best: number;
  recommended: number;
  command: string;
}

const told = async (words: string[]): Promise<Told> => {
  const { code, stdout, stderr } = await run(['calibrate', ...words, '--json', '--quiet'], {
    cwd: folder,
  });
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout);
};

/** The words of a shell's line; quotes as `commandLine` puts them. */
function shellWords(line: string): string[] {
  const words = line.match(/(?:'[^']*'|\\'|[^\s'\\])+/g) ?? [];
  return words.map((word) => word.replace(/'([^']*)'|\\(')/g, (_, quoted, bare) => quoted ?? bare));
}

describe('calibrate of texts', () => {
  it('recommends a command that finds copies which the default misses', {
    tags: 'thorough',
  }, async () => {
    const { settings, recommended, command, fileRows, drawn } = await told([
      ...["it's texts.jsonl", '--edits', '0.2'],
    ]);
    expect([fileRows, drawn]).toEqual([400, 400]);
    expect(settings[0].name).toMatch(/^default: shingles:2/);
    expect(settings[0].threshold).toBe(0.6);
    expect(recommended).toBeGreaterThan(0);
    expect(settings[recommended].held.f1).toBeGreaterThan(settings[0].held.f1);
    // Copies of a fresh draw: two words of 12 replaced in each.
    const copies = texts.map((text) => {
      const words = text.split(' ');
      for (const place of [3, 8]) words[place] = `w${draws.integer(300)}`;
      return words.join(' ');
    });
    const rows = [...texts, ...copies].map((body) => `${JSON.stringify({ body })}\n`);
    writeFileSync(at('fresh.jsonl'), rows.join(''));
    const [program, ...words] = shellWords(command);
    expect([program, ...words.slice(0, 4)]).toEqual([
      ...['halfspace', 'dedup', "it's texts.jsonl", '--text', 'body'],
    ]);
    const recallOf = async (options: string[]) => {
      const plan = ['-o', 'plan.jsonl', '--force'];
      const args = ['dedup', 'fresh.jsonl', '--text', 'body', ...options, ...plan];
      expect((await run(args, { cwd: folder })).code).toBe(0);
      const lines = rowsOf<{ row: number; duplicate_of: number }>(
        readFileSync(at('plan.jsonl'), 'utf8'),
      );
      return lines.filter((line) => line.row === line.duplicate_of + 400).length / 400;
    };
    const usual = await recallOf([]);
    expect(await recallOf(words.slice(4, -2))).toBeGreaterThan(usual + 0.1);
  });

  it('says the same as text, with the tokens that are told', { tags: 'thorough' }, async () => {
    const args = ["it's texts.jsonl", '--tokens', 'characters:4', '--seed', '3'];
    const { settings, command } = await told(args);
    const { stdout } = await run(['calibrate', ...args], { cwd: folder });
    expect(stdout).toMatch(/Copies planted: \d+ in the half that chooses, \d+ in the other/);
    for (const { name, threshold, held } of settings) {
      expect(name).toContain('characters:4');
      const lines = stdout.split('\n').map((one) => one.trim());
      const [line] = lines.filter((one) => one.startsWith(`${name} `));
      expect(line).toContain(` ${threshold} `);
      expect(line).toContain(held.f1.toFixed(3));
    }
    expect(stdout).toContain(command);
    expect(shellWords(command)).toContain('--seed');
    expect(stdout).not.toMatch(/NaN|undefined/);
    expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThan(130);
  });

  it('says that texts are too short to plant copies in', async () => {
    writeFileSync(at('short.jsonl'), '{"text":"one two"}\n{"text":"three four"}\n');
    const { code, stdout } = await run(['calibrate', at('short.jsonl')]);
    expect([code, stdout.includes('Too few texts of 10 words or more')]).toEqual([0, true]);
    const { stdout: data } = await run(['calibrate', at('short.jsonl'), '--json']);
    expect(JSON.parse(data)).toMatchObject({ recommended: null, command: null });
  });
});

describe('calibrate by labelled pairs', () => {
  it('of vectors judges thresholds on pairs that did not choose them', async () => {
    const args = ['vectors.jsonl', '--pairs', 'truth.csv', '--min-cosine', '0.95'];
    const { settings, recommended, command, drawn } = await told(args);
    expect(drawn).toBeNull();
    const same = settings.map(({ held }) => held.same);
    expect(new Set(same)).toEqual(new Set([29]));
    expect(settings[0]).toMatchObject({ by: 'minCosine', threshold: 0.95 });
    expect(recommended).toBeGreaterThan(0);
    expect(settings[recommended].held.recall).toBeGreaterThan(0.9);
    // The command without "halfspace dedup" and its output: what is near for it.
    const near = shellWords(command).slice(2, -2);
    const done = await run(['pairs', ...near, '-o', 'near.jsonl'], { cwd: folder });
    expect(done.code).toBe(0);
    const found = rowsOf<{ a: number; b: number }>(readFileSync(at('near.jsonl'), 'utf8'));
    expect(found.filter(({ a, b }) => a % 2 === 0 && b === a + 1).length).toBeGreaterThan(54);
  });

  it('of texts, in JSONL with answers of 0 and 1, by numbers of rows', async () => {
    const own = texts.slice(0, 100).flatMap((text) => [text, text.replace(/^\S+/, 'x')]);
    writeFileSync(at('own.jsonl'), own.map((body) => `${JSON.stringify({ body })}\n`).join(''));
    const labels = Array.from({ length: 98 }, (_, i) => [
      { one: 2 * i, two: 2 * i + 1, same: 1 },
      { one: 2 * i + 1, two: 2 * i + 3, same: 0 },
    ]);
    const lines = labels.flat().map((label) => `${JSON.stringify(label)}\n`);
    writeFileSync(at('own-truth.jsonl'), lines.join(''));
    const { settings, recommended, command } = await told([
      ...['own.jsonl', '--pairs', 'own-truth.jsonl'],
    ]);
    expect(settings[0].held).toMatchObject({ same: 49, right: 49, wrong: 0 });
    expect(recommended).toBe(0);
    expect(command).toBe('halfspace dedup own.jsonl --text body -o plan.jsonl');
  });

  it('warns of few pairs, whose intervals are wide', async () => {
    const some = readFileSync(at('truth.csv'), 'utf8').split('\n').slice(0, 13);
    writeFileSync(at('few.csv'), some.join('\n'));
    const { code, stdout } = await run([
      'calibrate',
      at('vectors.jsonl'),
      '--pairs',
      at('few.csv'),
    ]);
    expect([code, stdout.includes('Only 3 pairs in one half: intervals are wide.')]).toEqual([
      ...[0, true],
    ]);
  });

  it.each([
    ['v0,v1\n', 3, 'expected three columns: an id, another id, and whether they are the same'],
    ['v0,v0,true\n', 3, 'row 0: "v0" is paired with itself'],
    ['v0,v1,true\nv0,v2,maybe\n', 3, 'row 1: expected true, false, 1 or 0 for "v0" and "v2"'],
    ['v0,v1,true\nv1,v0,false\n', 3, 'row 1: "v1" and "v0" are not the same, row 0 says otherwise'],
    ['v0,nobody,true\n', 3, '"v0" and "nobody": '],
    ['v0,v1,true\nv0,v2,false\n', 3, 'expected two groups or more of rows that are the same'],
  ])('refuses %j', async (lines, code, message) => {
    const head = lines.startsWith('v0,v1\n') ? 'a,b' : 'a,b,same';
    writeFileSync(at('bad.csv'), `${head}\n${lines}`);
    const outcome = await run(['calibrate', 'vectors.jsonl', '--pairs', 'bad.csv'], {
      cwd: folder,
    });
    expect(outcome.stderr).toContain(message);
    expect(outcome.code).toBe(code);
  });

  it('refuses an id that two rows have', async () => {
    writeFileSync(
      at('twice.jsonl'),
      '{"id":1,"v":[1,2]}\n{"id":2,"v":[1,3]}\n{"id":1,"v":[1,2]}\n',
    );
    writeFileSync(at('twice.csv'), 'a,b,same\n1,2,true\n');
    const outcome = await run(['calibrate', at('twice.jsonl'), '--pairs', at('twice.csv')]);
    expect(outcome.stderr).toContain('the id "1" of a labelled pair is of rows 0 and 2');
    expect(outcome.code).toBe(3);
  });

  it.each([
    [["it's texts.jsonl", '--bits', '64'], '--bits is what calibrate compares for texts'],
    [['vectors.jsonl', '--pairs', 'truth.csv', '--edits', '0.2'], '--edits plants copies'],
    [['vectors.jsonl', '--pairs', 'truth.csv', '--cosine-error', '0.1'], 'labels decide'],
    [['vectors.jsonl', '--pairs', 'truth.csv', '--measure', 'jaccard'], 'these are dense'],
    [['-', '--from', 'jsonl', '--pairs', 'truth.csv'], 'name one, not -'],
  ])('refuses the options %j', async (words, message) => {
    const input = readFileSync(at('vectors.jsonl'));
    const outcome = await run(['calibrate', ...words], { cwd: folder, input });
    expect([outcome.code, outcome.stderr.includes(message)]).toEqual([2, true]);
  });
});
