import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { angleBetween, Draws } from '../reference/random';
import { rowsOf, run, runInTerminal } from './run';

const folder = mkdtempSync(join(tmpdir(), 'halfspace-calibrate-'));
afterAll(() => rmSync(folder, { recursive: true }));
const at = (name: string) => join(folder, name);

const draws = new Draws('calibrate');
const word = () => `w${draws.integer(3000)}`;
/** Texts of 40 words; 60 more of them are filled into a template of 30 words. */
const template = Array.from({ length: 30 }, word);
const texts = [
  ...Array.from({ length: 200 }, () => Array.from({ length: 40 }, word)),
  ...Array.from({ length: 60 }, () => [...template, ...Array.from({ length: 4 }, word)]),
].map((words) => words.join(' '));
texts.push(texts[7]);
/** Rows 2i and 2i + 1 are near; their cosine is about .9. */
const vectors = Array.from({ length: 60 }, () => draws.gaussians(16)).flatMap((centre) =>
  Array.from({ length: 2 }, () => Array.from(centre, (value) => value + 0.3 * draws.gaussian())),
);

beforeAll(() => {
  const jsonl = (rows: object[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join('');
  writeFileSync(at("it's texts.jsonl"), jsonl(texts.map((body, i) => ({ id: `t${i}`, body }))));
  writeFileSync(at('vectors.jsonl'), jsonl(vectors.map((v, i) => ({ id: `v${i}`, v }))));
  const labels = Array.from({ length: 59 }, (_, i) => [
    `v${2 * i},v${2 * i + 1},true`,
    `v${2 * i},v${2 * i + 2},false`,
  ]);
  writeFileSync(at('truth.csv'), `a,b,same\n${labels.flat().join('\n')}\n`);
});

interface Line {
  threshold: number;
  found: number;
  wrong: number;
  groups: number;
  dropped: number;
}

interface Told {
  rows: number;
  repeated: number;
  same: number;
  different: number;
  lines: Line[];
  recommended: number;
  command: string;
}

const told = async (...words: string[]): Promise<Told> => {
  const { code, stdout, stderr } = await run(['calibrate', ...words, '--json', '--quiet'], {
    cwd: folder,
  });
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout);
};

/** Runs the command that was recommended, as a shell takes it; returns the rows of its plan. */
async function planBy({ command }: Told) {
  const script = `for word in ${command}; do printf '%s\\0' "$word"; done`;
  const [program, ...words] = execFileSync('sh', ['-c', script])
    .toString()
    .split('\0')
    .slice(0, -1);
  expect(program).toBe('halfspace');
  expect((await run([...words, '--force'], { cwd: folder })).code).toBe(0);
  return rowsOf<{ group: string | number; action: string }>(readFileSync(at('plan.jsonl'), 'utf8'));
}

describe('calibrate of texts', () => {
  it('finds planted copies, and few of those with twice the edits', async () => {
    const found = await told("it's texts.jsonl");
    expect([found.rows, found.repeated]).toEqual([261, 1]);
    expect([found.same, found.different]).toEqual([261, 261]);
    const [first] = found.lines;
    expect(first.threshold).toBe(0.6);
    expect(first.wrong).toBeLessThan(10);
    expect(first.found).toBeGreaterThan(240);
  });

  it('recommends a threshold that makes the groups of its line', async () => {
    const found = await told("it's texts.jsonl", '--id', 'id');
    const { lines, recommended } = found;
    const plan = await planBy(found);
    const line = lines.find(({ threshold }) => threshold === recommended);
    expect(plan.filter(({ action }) => action === 'drop').length).toBe(line?.dropped);
    expect(new Set(plan.map(({ group }) => group)).size).toBe(line?.groups);
  });

  describe('that fill in a template', () => {
    // Filled in inside; as whole texts all of them are near.
    const forms = Array.from({ length: 40 }, () =>
      [...template, ...Array.from({ length: 4 }, word), ...template.slice().reverse()].join(' '),
    );
    const copies = forms.slice(0, 5).map((text) => `${text} again`);
    beforeAll(() => {
      const rows = [...forms, ...copies, ...texts.slice(0, 50)];
      const lines = rows.map((text, i) => JSON.stringify({ id: `r${i}`, text }));
      writeFileSync(at('forms.jsonl'), `${lines.join('\n')}\n`);
      const different = forms.slice(1).map((_, i) => `r0,r${i + 1},false`);
      const same = copies.map((_, i) => `r${i},r${40 + i},true`);
      writeFileSync(at('forms.csv'), ['a,b,same', ...different, ...same, ''].join('\n'));
    });

    it.each([
      [[], 5],
      [['--common', 'none'], 44],
    ])('drops by %j what dedup does', async (more, n) => {
      const found = await told('forms.jsonl', ...more);
      const dropped = (await planBy(found)).filter(({ action }) => action === 'drop').length;
      const line = found.lines.find(({ threshold }) => threshold === found.recommended);
      expect(line?.dropped).toBe(dropped);
      expect(found.lines[0].dropped).toBe(n);
    });

    it('takes no pair of them as near, but for copies', async () => {
      const usual = ['forms.jsonl', '--pairs', 'forms.csv'];
      const [apart] = (await told(...usual)).lines;
      expect([apart.found, apart.wrong]).toEqual([5, 0]);
      const [whole] = (await told(...usual, '--common', 'none')).lines;
      expect([whole.found, whole.wrong]).toEqual([5, 39]);
    });
  });

  it('recommends a command whose names no verb takes for options, nor plan for texts', async () => {
    mkdirSync(at('-more'));
    const lines = texts.map((text) => JSON.stringify({ '-text': text }));
    writeFileSync(at('-more/plan.jsonl'), `${lines.join('\n')}\n`);
    const words = ['--text=-text', '--json', '--', '-more/plan.jsonl'];
    const { stdout } = await run(['calibrate', ...words], { cwd: folder });
    const found: Told = JSON.parse(stdout);
    expect(found.command).toMatch(/^halfspace dedup \.\/-more\/plan\.jsonl --text=-text /);
    expect(found.command).toMatch(/ -o duplicates\.jsonl$/);
    expect((await run(found.command.split(' ').slice(1), { cwd: folder })).code).toBe(0);
  });

  it('starts where it is told, and never recommends less than .6', async () => {
    const usual = await told("it's texts.jsonl");
    const lower = await told("it's texts.jsonl", '--min-jaccard', '0.2');
    expect([usual.lines[0].threshold, lower.lines[0].threshold]).toEqual([0.6, 0.2]);
    expect(lower.lines[0].wrong).toBeGreaterThan(usual.lines[0].wrong);
    expect(lower.recommended).toBeGreaterThanOrEqual(0.6);
  });

  it('says as text what was counted', async () => {
    const { lines, same, recommended } = await told("it's texts.jsonl");
    const { stdout } = await run(['calibrate', "it's texts.jsonl"], { cwd: folder });
    const shown = stdout.split('\n').map((line) => line.trim().replaceAll(/ {2,}/g, '|'));
    for (const { threshold, found, wrong, groups, dropped } of lines) {
      const counts = [`${found} of ${same}`, `${wrong} of ${same}`, groups, dropped].join('|');
      const mark = threshold === recommended ? '|recommended' : '';
      expect(shown).toContain(`${threshold.toFixed(2)}|${counts}${mark}`);
    }
    expect(stdout).toContain(
      'Found: planted copies of texts with 1 %, 2 %, 5 %, 10 % of the words',
    );
    expect(stdout.replaceAll('\n', ' ')).toContain(
      'As in dedup, the text of templates, or of --common, makes no rows near.',
    );
    const cosines = await run(['calibrate', "it's texts.jsonl", '--tf-idf'], { cwd: folder });
    expect(cosines.stdout.replaceAll('\n', ' ')).toContain(
      'rows that fill in one template differently, which planted copies do not judge',
    );
    expect(stdout).toContain(
      `Recommended: halfspace dedup 'it'\\''s texts.jsonl' --min-jaccard ${recommended} -o plan.jsonl\n`,
    );
    expect(stdout).not.toMatch(/NaN|undefined|\p{Cc}\[/u);
    expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThan(150);
  });

  it('by TF-IDF has cosines, and recommends none below the default of dedup', async () => {
    const found = await told(
      "it's texts.jsonl",
      '--tf-idf',
      '--tokens',
      'words',
      '--min-cosine',
      '0.7',
    );
    expect(found.lines[0].threshold).toBe(0.7);
    expect(found.recommended).toBeGreaterThan(0.88);
    const { recommended, lines } = found;
    const line = lines.find(({ threshold }) => threshold === recommended);
    const plan = await planBy(found);
    expect(plan.filter(({ action }) => action === 'drop').length).toBe(line?.dropped);
  });

  it('says that texts are too short to plant copies in, and keeps the default', async () => {
    writeFileSync(at('short.jsonl'), '{"text":"one two"}\n{"text":"three four"}\n');
    const { code, stdout } = await run(['calibrate', at('short.jsonl')]);
    expect([code, stdout.includes('No text has the 10 words')]).toEqual([0, true]);
    expect(stdout.replaceAll('\n', ' ')).toContain('the lowest from the default of dedup on');
    const higher = await run(['calibrate', at('short.jsonl'), '--min-jaccard', '0.8']);
    expect(higher.stdout).toContain('--min-jaccard 0.8');
    expect(higher.stdout).not.toContain('is the default');
    const { same, recommended } = await told('short.jsonl');
    expect([same, recommended]).toEqual([0, 0.6]);
  });

  it('shows progress in a terminal', async () => {
    const { code, stdout } = await runInTerminal(['calibrate', at("it's texts.jsonl")]);
    expect([code, stdout.includes('Recommended')]).toEqual([0, true]);
  });
});

describe('calibrate by labelled pairs', () => {
  it('of vectors counts what brute force counts', async () => {
    const found_ = await told('vectors.jsonl', '--pairs', 'truth.csv', '--min-cosine', '0.7');
    const { lines, same, different, recommended } = found_;
    expect([same, different]).toEqual([59, 59]);
    const cosine = (a: number, b: number) => Math.cos(angleBetween(vectors[a], vectors[b]));
    for (const { threshold, found, wrong } of lines) {
      const count = (step: number) =>
        Array.from({ length: 59 }, (_, i) => cosine(2 * i, 2 * i + step)).filter(
          (one) => one >= threshold - 1e-9,
        ).length;
      expect([found, wrong]).toEqual([count(1), count(2)]);
    }
    expect(recommended).toBeLessThan(0.9);
    const plan = await planBy(found_);
    const line = lines.find(({ threshold }) => threshold === recommended);
    expect(plan.filter(({ action }) => action === 'drop').length).toBe(line?.dropped);
  });

  it('says that the lowest threshold of the table is the best', async () => {
    const shown = async (...words: string[]) => {
      const given = ['calibrate', 'vectors.jsonl', '--pairs', 'truth.csv', ...words];
      return (await run(given, { cwd: folder })).stdout.replaceAll('\n', ' ');
    };
    // Cosines of the same are about .9, of others about 0.
    const sentence = 'It is the lowest: a lower one may be better.';
    expect(await shown()).toContain(sentence);
    expect(await shown('--min-cosine', '0.5')).not.toContain(sentence);
  });

  it('names a threshold below the default of dedup where that is better', async () => {
    // Texts that are the same share 44 of 74 pairs of words, .59.
    const same = Array.from({ length: 40 }, (_, i) => {
      const words = Array.from({ length: 60 }, (_, at) => `half${i}x${at}`);
      return [words, [...words.slice(0, 45), ...words.slice(45).map((one) => `other${one}`)]];
    });
    const lines = same.flat().map((words) => `${JSON.stringify({ text: words.join(' ') })}\n`);
    writeFileSync(at('half.jsonl'), lines.join(''));
    const pairs = same.map(
      (_, i) => `${2 * i},${2 * i + 1},true\n${2 * i},${(2 * i + 2) % 80},false`,
    );
    writeFileSync(at('half.csv'), `a,b,same\n${pairs.join('\n')}\n`);
    const words = ['half.jsonl', '--pairs', 'half.csv', '--min-jaccard', '0.4'];
    expect((await told(...words)).recommended).toBeGreaterThanOrEqual(0.6);
    const { stdout } = await run(['calibrate', ...words], { cwd: folder });
    const shown = stdout.replaceAll('\n', ' ');
    expect(shown).toContain('from the default of dedup on, 0.6.');
    expect(shown).toMatch(/0\.5\d misses or takes wrongly 0 in place of 40, but look/);
  });

  it('takes ids of CSV as they are written: 1.10 is not 1.1', async () => {
    const ids = (name: string) => `1.${Number(name) + 1}`;
    const lines = vectors.map((v, i) => `${JSON.stringify({ id: ids(`${i}`), v })}\n`);
    writeFileSync(at('numbered.jsonl'), lines.join(''));
    const truth = readFileSync(at('truth.csv'), 'utf8');
    writeFileSync(
      at('numbered.csv'),
      truth.replaceAll(/v(\d+)/g, (_, row) => ids(row)),
    );
    const options = ['--min-cosine', '0.7'];
    const [named, numbered] = [
      await told('vectors.jsonl', '--pairs', 'truth.csv', ...options),
      await told('numbered.jsonl', '--pairs', 'numbered.csv', ...options),
    ];
    expect(numbered.lines).toEqual(named.lines);
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
    const found = await told('own.jsonl', '--pairs', 'own-truth.jsonl');
    expect(found.lines[0]).toMatchObject({ found: 98, wrong: 0, groups: 100 });
    expect(found.recommended).toBeGreaterThan(0.9);
  });

  it('of sparse vectors compares sets by --min-jaccard', async () => {
    const rows = texts.slice(0, 60).map((text, i) => {
      const ix = [...new Set(text.split(' ').map((word) => Number(word.slice(1))))];
      return { id: i, ix, w: ix.map(() => 1) };
    });
    const near = rows.map(({ id, ix, w }) => ({ id: id + 60, ix: ix.slice(3), w: w.slice(3) }));
    const lines = [...rows, ...near].map((row) => `${JSON.stringify(row)}\n`);
    writeFileSync(at('sparse.jsonl'), lines.join(''));
    const labels = rows.map(({ id }) => `${id},${id + 60},true`);
    writeFileSync(at('sparse.csv'), `a,b,same\n${labels.join('\n')}\n`);
    const found = await told(
      ...['sparse.jsonl', '--vector', 'ix,w', '--pairs', 'sparse.csv', '--min-jaccard', '0.6'],
    );
    expect(found.lines[0]).toMatchObject({ found: 60, groups: 60 });
    expect(found.recommended).toBeGreaterThanOrEqual(0.9);
  });

  it.each([
    ['v0,v1\n', 'expected three columns, two ids, and whether they are the same'],
    ['v0,v0,true\n', 'row 0: expected two ids, and whether they are the same'],
    ['v0,v1,true\nv0,v2,maybe\n', '(true, false, 1 or 0), got ["v0","v2","maybe"]'],
    ['v0,v1,true\nv1,v0,false\n', 'row 1: "v1" and "v0" are both the same and not the same'],
    ['v0,nobody,true\n', 'no row of vectors.jsonl has the id "nobody"; --id chooses its column'],
    ['v0,v1,false\nv0,v2,false\n', 'expected one pair or more that is the same, all are false'],
  ])('refuses %j', async (lines, message) => {
    const head = lines.startsWith('v0,v1\n') ? 'a,b' : 'a,b,same';
    writeFileSync(at('bad.csv'), `${head}\n${lines}`);
    const outcome = await run(['calibrate', 'vectors.jsonl', '--pairs', 'bad.csv'], {
      cwd: folder,
    });
    expect(outcome.stderr).toContain(message);
    expect(outcome.code).toBe(3);
  });

  it('refuses labels without a header, whose first pair would be lost', async () => {
    writeFileSync(at('headless.csv'), 'v0,v1,true\nv2,v3,true\n');
    const words = ['calibrate', 'vectors.jsonl', '--pairs', 'headless.csv'];
    const outcome = await run(words, { cwd: folder });
    expect(outcome.stderr).toContain('expected a header, which names the columns, as a,b,same');
    expect(outcome.stderr).toContain('the first line is a pair: v0, v1, true');
    expect(outcome.code).toBe(3);
  });

  it.each([
    ['{"id":1,"v":[1,2]}\n{"id":2,"v":[1,3]}\n{"id":1,"v":[1,2]}\n', 'rows 0 and 2 of'],
    [
      '{"id":1,"v":[1,2]}\n{"id":2,"v":[0,0]}\n',
      'all pairs that are the same have a null or empty row',
    ],
  ])('refuses labels of the rows %j', async (rows, message) => {
    writeFileSync(at('few.jsonl'), rows);
    writeFileSync(at('few.csv'), 'a,b,same\n1,2,true\n');
    const outcome = await run(['calibrate', at('few.jsonl'), '--pairs', at('few.csv')]);
    expect(outcome.stderr).toContain(message);
    expect(outcome.code).toBe(3);
  });
});

it('leaves out known pairs with a row that has no direction, and says so', async () => {
  const rows = [[1, 2], [1, 2.01], [0, 0], null].map((v, id) => JSON.stringify({ id, v }));
  writeFileSync(at('some.jsonl'), `${rows.join('\n')}\n`);
  writeFileSync(at('some.csv'), 'a,b,same\n0,1,true\n0,2,true\n3,1,false\n');
  const { code, stderr, stdout } = await run([
    ...['calibrate', at('some.jsonl'), '--pairs', at('some.csv'), '--json'],
  ]);
  expect(stderr).toContain('some.csv: 2 pairs with a null or empty row: left out');
  expect([code, JSON.parse(stdout)]).toMatchObject([0, { same: 1, different: 0 }]);
});

it.each([
  [['vectors.jsonl'], 'vectors have no words to edit: give --pairs FILE'],
  [['vectors.jsonl', '--pairs', 'truth.csv', '--min-jaccard', '0.7'], 'these are dense'],
  [["it's texts.jsonl", '--min-jaccard', '0.7', '--min-cosine', '0.9'], '--min-cosine needs codes'],
  [["it's texts.jsonl", '--min-jaccard', '0'], '--min-jaccard expected a number above 0'],
  [["it's texts.jsonl", '--bits', '64'], 'unknown option --bits'],
  [['-', '--from', 'jsonl'], 'calibrate reads its input twice: name a file, not -'],
])('calibrate refuses %j', async (words, message) => {
  const outcome = await run(['calibrate', ...words], { cwd: folder, input: '' });
  expect(outcome.stderr).toContain(message);
  expect(outcome.code).toBe(2);
});

it('calibrate refuses an index, and a column that is not there', async () => {
  const index = ['index', 'vectors.jsonl', '-o', 'vectors.hs', '--quiet'];
  expect((await run(index, { cwd: folder })).code).toBe(0);
  const refused = await run(['calibrate', 'vectors.hs', '--pairs', 'truth.csv'], { cwd: folder });
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('not from an index')]);
  const missing = await run(['calibrate', 'vectors.jsonl', '--vector', 'x'], { cwd: folder });
  expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining('no column "x"')]);
});
