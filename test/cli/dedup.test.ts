import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import seedrandom from 'seedrandom';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  Codes,
  type DedupPlan,
  dedup,
  hammingDistance,
  SimHashIndex,
  TextHasher,
} from '../../src/index';
import { readPlan, saveIndex } from '../../src/node';
import { readCodes, writeCodes } from '../reference/arrow';
import { rowsOf, run, runInTerminal } from './run';

const folder = mkdtempSync(join(tmpdir(), 'halfspace-dedup-'));
afterAll(() => rmSync(folder, { recursive: true }));
const at = (name: string) => join(folder, name);

interface PlanLine {
  row: number;
  id?: string | number;
  group: number;
  action: 'keep' | 'drop';
  duplicate_of: number;
  rows: number;
  source?: string;
  distance: number;
  check: number;
}
const planOf = (path: string) => rowsOf<PlanLine>(readFileSync(path, 'utf8'));
/** Rows that a plan keeps: also those without a line, which have no near one. */
const keptOf = (path: string) => {
  const lines = planOf(path);
  const dropped = lines.filter(({ action }) => action === 'drop').map(({ row }) => row);
  return Array.from({ length: lines[0].rows }, (_, row) => row).filter(
    (row) => !dropped.includes(row),
  );
};

/** Texts of which row 40 + i is row i with one of its 60 words changed. */
const random = seedrandom.alea('texts');
const anyWord = () => `w${Math.floor(random() * 2000)}`;
const originals = Array.from({ length: 40 }, () => Array.from({ length: 60 }, anyWord));
const copies = originals
  .slice(0, 25)
  .map((words, i) => words.map((word, at) => (at === 2 * i ? 'other' : word)));
const texts = [...originals, ...copies].map((words) => words.join(' '));
/** Records as no program would write them all: blanks, orders of keys. */
const records = texts.map((body, i) => {
  const id = `d${i}`;
  return i % 3 === 0 ? `{"body": "${body}",  "id":"${id}" }` : JSON.stringify({ id, n: i, body });
});

beforeAll(() => writeFileSync(at('docs.jsonl'), `${records.join('\n')}\n`));

describe('the whole job', () => {
  it('plans, and then writes the kept records as they were, byte for byte', async () => {
    const before = readFileSync(at('docs.jsonl'));
    const args = ['dedup', at('docs.jsonl'), '--text', 'body', '-o', at('plan.jsonl')];
    const planned = await run(args);
    expect([planned.code, planned.stdout]).toEqual([0, '']);
    const plan = planOf(at('plan.jsonl')).sort((a, b) => a.row - b.row);
    const listed = [...copies.map((_, i) => i), ...copies.map((_, i) => 40 + i)];
    expect(plan.map(({ row }) => row)).toEqual(listed);
    expect(plan.map(({ id }) => id)).toEqual(listed.map((row) => `d${row}`));
    const dropped = plan.filter(({ action }) => action === 'drop');
    expect(dropped.map(({ row }) => row)).toEqual(copies.map((_, i) => 40 + i));
    const hasher = new TextHasher({ bits: 256, tokens: 'shingles:2', projection: 'minwise' });
    for (const { row, group, duplicate_of, distance } of dropped) {
      expect([group, duplicate_of]).toEqual([row - 40, row - 40]);
      const [one, other] = [row, row - 40].map((each) => hasher.hash(texts[each]));
      expect(distance).toBe(hammingDistance(one, other));
    }
    const applied = await run([
      ...['dedup', at('docs.jsonl'), '--apply', at('plan.jsonl'), '-o', at('kept.jsonl')],
    ]);
    expect([applied.code, applied.stdout]).toEqual([0, '']);
    expect(applied.stderr).toContain('65 rows: 40 kept');
    expect(readFileSync(at('kept.jsonl'), 'utf8')).toBe(`${records.slice(0, 40).join('\n')}\n`);
    expect(readFileSync(at('docs.jsonl'))).toEqual(before);
  });

  it('says how much would go', async () => {
    const { stderr } = await run([
      ...['dedup', at('docs.jsonl'), '--text', 'body', '-o', at('review.jsonl')],
    ]);
    expect(stderr).toContain('65 rows: 40 to keep, 25 to drop (38.5 %), in 25 groups');
    expect(stderr).toContain('Nothing is changed: read');
  });

  it('is equal to the byte for every number of threads', async () => {
    const made = async (threads: string) => {
      const out = at(`by-${threads}.jsonl`);
      const args = [at('docs.jsonl'), '--text', 'body', '--threads', threads, '-o', out];
      expect((await run(['dedup', ...args])).code).toBe(0);
      return readFileSync(out, 'utf8');
    };
    expect(planOf(at('plan.jsonl')).length).toBeGreaterThan(0);
    const plan = readFileSync(at('plan.jsonl'), 'utf8');
    expect([await made('1'), await made('2')]).toEqual([plan, plan]);
  });

  it('does what the person decided: a line turned to keep is kept', async () => {
    const lines = readFileSync(at('plan.jsonl'), 'utf8').split('\n');
    const at40 = lines.findIndex((line) => line.startsWith('{"row":40,'));
    lines[at40] = lines[at40].replace('"drop"', '"keep"');
    writeFileSync(at('edited.jsonl'), lines.join('\n'));
    const args = ['--apply', at('edited.jsonl'), '-o', at('kept-41.jsonl')];
    expect((await run(['dedup', at('docs.jsonl'), ...args])).code).toBe(0);
    expect(readFileSync(at('kept-41.jsonl'), 'utf8')).toBe(`${records.slice(0, 41).join('\n')}\n`);
  });

  it('gives people the groups, the most doubtful first, and applies what they leave', async () => {
    const args = ['dedup', at('docs.jsonl'), '--text', 'body', '-o', at('short.csv')];
    expect((await run(args)).code).toBe(0);
    const [heading, ...lines] = readFileSync(at('short.csv'), 'utf8').trimEnd().split('\n');
    expect(heading).toBe(
      'row,id,group,action,duplicate_of,distance,jaccard,text,check,rows,source',
    );
    expect(lines).toHaveLength(50);
    const cells = lines.map((line) => line.split(','));
    const dropped = cells.filter(([, , , action]) => action === 'drop');
    const doubts = dropped.map(([, , , , , , jaccard]) => Number(jaccard));
    expect(doubts).toEqual([...doubts].sort((a, b) => a - b));
    for (const [row, id, , , , , , text, , count] of cells) {
      expect([id, count]).toEqual([`d${row}`, '65']);
      expect(text.length).toBe(160);
      expect(texts[Number(row)].startsWith(text.slice(0, -1))).toBe(true);
    }
    // The person keeps the first copy by deleting its line.
    const gone = Number(dropped[0][0]);
    const left = lines.filter((line) => !line.startsWith(`${gone},`));
    writeFileSync(at('short.csv'), [heading, ...left].join('\n'));
    const applied = await run([
      ...['dedup', at('docs.jsonl'), '--apply', at('short.csv'), '-o', at('short-kept.jsonl')],
    ]);
    expect(applied.stderr).toContain('65 rows: 41 kept');
    const kept = records.filter((_, row) => row < 40 || row === gone);
    expect(readFileSync(at('short-kept.jsonl'), 'utf8')).toBe(`${kept.join('\n')}\n`);
  });

  it('a plan of rows without near ones is applied too', async () => {
    writeFileSync(at('apart.jsonl'), records.slice(0, 9).join('\n'));
    const args = ['dedup', at('apart.jsonl'), '--text', 'body', '-o', at('apart.csv')];
    expect((await run(args)).code).toBe(0);
    expect(readFileSync(at('apart.csv'), 'utf8').trimEnd().split('\n')).toHaveLength(2);
    const applied = await run([
      ...['dedup', at('apart.jsonl'), '--apply', at('apart.csv'), '-o', at('apart-kept.jsonl')],
    ]);
    expect(applied.stderr).toContain('9 rows: 9 kept');
  });

  it('shows only the review on a terminal, and changes nothing', async () => {
    const { code, stdout } = await runInTerminal(['dedup', at('docs.jsonl'), '--text', 'body']);
    expect(code).toBe(0);
    expect(stdout).toContain('25 to drop (38.5 %)');
    expect(stdout).toContain('-o plan.jsonl writes the plan');
    expect(stdout).not.toContain('"action"');
  });
});

describe('other files', () => {
  const csv = ['name,text', ...texts.slice(0, 3).map((text, i) => `"n ${i}", ${text} `)];
  const copy = `"quoted ""name""","${texts[0]}"`;

  it('keeps the records of a CSV file byte for byte, its heading and line ends too', async () => {
    writeFileSync(at('docs.csv'), `${[...csv, copy].join('\r\n')}\r\n`);
    const args = ['dedup', at('docs.csv'), '--text', 'text', '-o', at('csv-plan.csv')];
    expect((await run(args)).code).toBe(0);
    const apply = ['--apply', at('csv-plan.csv'), '-o', at('kept.csv')];
    expect((await run(['dedup', at('docs.csv'), ...apply])).code).toBe(0);
    expect(readFileSync(at('kept.csv'), 'utf8')).toBe(`${csv.join('\r\n')}\r\n`);
  });

  it('keeps lines of plain text', async () => {
    const lines = [texts[0], `  ${texts[1]}`, texts[2], `${texts[0]} `];
    writeFileSync(at('docs.txt'), `${lines.join('\n')}\n`);
    expect((await run(['dedup', at('docs.txt'), '-o', at('txt-plan.arrow')])).code).toBe(0);
    const apply = ['--apply', at('txt-plan.arrow'), '-o', at('kept.txt')];
    expect((await run(['dedup', at('docs.txt'), ...apply])).code).toBe(0);
    expect(readFileSync(at('kept.txt'), 'utf8')).toBe(`${lines.slice(0, 3).join('\n')}\n`);
  });

  it('plans codes as the library does, in each format, and keeps all columns', async () => {
    const codes = Codes.from(Uint8Array.of(0, 1, 255, 254, 3, 0), { bits: 8 });
    const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
    await writeCodes(at('codes.arrow'), codes, { ids });
    const expected = await dedup(codes, { maxDistance: 1 });
    for (const format of ['csv', 'jsonl', 'arrow']) {
      const plan = at(`codes-plan.${format}`);
      const args = ['dedup', at('codes.arrow'), '--max-distance', '1', '-o', plan];
      expect((await run(args)).code).toBe(0);
      const { checks, listed, ...made } = plain(await readPlan(plan));
      expect(made).toEqual({ ...plain(expected), checks: undefined });
      // Arrow has a line for each row, the others those of groups.
      expect(listed === undefined).toBe(format === 'arrow');
      const out = at(`kept-${format}.arrow`);
      const done = await run(['dedup', at('codes.arrow'), '--apply', plan, '-o', out]);
      expect([done.code, done.stderr]).toEqual([0, expect.any(String)]);
      const kept = ids.filter((_, row) => expected.kept[row] === 1);
      expect((await readCodes(out)).ids).toEqual(kept);
    }
  });

  it('plans the rows of an index, and names the ids to remove', async () => {
    const index = new SimHashIndex({ bits: 64, dimensions: 2 });
    await index.addAll(
      [
        [1, 0],
        [0, 1],
        [1, 0],
      ] as number[][],
      ['x', 'y', 'z'],
    );
    await saveIndex(index, at('index.hs'));
    const args = ['dedup', at('index.hs'), '--max-distance', '0', '-o', at('index-plan.jsonl')];
    const { code, stderr } = await run(args);
    expect(code).toBe(0);
    const lines = planOf(at('index-plan.jsonl')).map(({ id, action }) => [id, action]);
    expect(lines).toEqual([
      ['x', 'keep'],
      ['z', 'drop'],
    ]);
    expect(stderr).toContain('which ids to remove');
    // Without near rows the only line names a row that is still there.
    index.remove('x');
    await saveIndex(index, at('index.hs'));
    expect((await run([...args, '--force'])).code).toBe(0);
    expect(planOf(at('index-plan.jsonl'))).toMatchObject([{ row: 1, id: 'y', action: 'keep' }]);
  });

  const plain = (plan: DedupPlan) =>
    Object.fromEntries(
      Object.entries(plan).map(([name, value]) => [
        name,
        ArrayBuffer.isView(value) ? Array.from(value as Uint32Array) : value,
      ]),
    );
});

describe('which rows are one group', () => {
  // Row 0 is between 1 and 2, which are two bits apart; 3 is one bit beyond 2.
  const codes = Codes.from(Uint8Array.of(0b0000, 0b0001, 0b0010, 0b0110), { bits: 8 });

  it.each([
    ['star', [1, 2]],
    ['components', [1, 2, 3]],
  ])('%s', async (grouping, dropped) => {
    await writeCodes(at('chain.arrow'), codes);
    const plan = at(`${grouping}.jsonl`);
    const args = ['--max-distance', '1', '--grouping', grouping, '-o', plan];
    expect((await run(['dedup', at('chain.arrow'), ...args])).code).toBe(0);
    const gone = planOf(plan).filter(({ action }) => action === 'drop');
    expect(gone.map(({ row }) => row).sort()).toEqual(dropped);
  });
});

describe('which row is kept', () => {
  // Rows 0 to 2 are nearly the same, 3 and 4 are equal, 5 is alone.
  const same = originals[0];
  const rows = [
    { text: same.slice(0, 59).join(' '), stars: 3, day: '2026-02-01' },
    { text: [...same, 'more', 'words'].join(' '), stars: 1, day: '2026-03-01' },
    { text: same.join(' '), stars: 5, day: '2026-01-01' },
    { text: originals[1].join(' '), stars: null, day: '2026-01-02' },
    { text: originals[1].join(' '), stars: 2, day: null },
    { text: originals[2].join(' '), stars: 0, day: '2026-01-01' },
  ];

  it.each([
    ['first', [0, 3, 5]],
    ['last', [2, 4, 5]],
    ['longest', [1, 3, 5]],
    ['longest:day', [0, 3, 5]],
    ['highest:stars', [2, 4, 5]],
    ['lowest:stars', [1, 4, 5]],
    ['lowest:day', [2, 3, 5]],
    ['highest:day', [1, 3, 5]],
  ])('--keep %s', async (keep, kept) => {
    writeFileSync(at('keep.jsonl'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
    const plan = at(`keep-${keep.replace(':', '-')}.jsonl`);
    const args = ['--text', 'text', '--grouping', 'components', '--keep', keep, '-o', plan];
    expect((await run(['dedup', at('keep.jsonl'), ...args])).code).toBe(0);
    expect(keptOf(plan)).toEqual(kept);
  });
});

describe('--extend', () => {
  it('leaves what was decided and joins the new rows to it', async () => {
    const grown = [...records, JSON.stringify({ id: 'new', body: texts[64].replace('w', 'v') })];
    grown.push(JSON.stringify({ id: 'alone', body: 'nothing like any of the others at all' }));
    writeFileSync(at('grown.jsonl'), `${grown.join('\n')}\n`);
    const args = ['--text', 'body', '--keep', 'last', '--extend', at('plan.jsonl')];
    const out = ['-o', at('extended.jsonl')];
    expect((await run(['dedup', at('grown.jsonl'), ...args, ...out])).code).toBe(0);
    const linesOf = (name: string) => planOf(at(name)).sort((a, b) => a.row - b.row);
    const [before, after] = [linesOf('plan.jsonl'), linesOf('extended.jsonl')];
    expect(after.slice(0, 50)).toEqual(
      before.map((line) => ({ ...line, rows: 67, source: after[0].source })),
    );
    expect(after.slice(50)).toMatchObject([
      { id: 'new', group: 24, action: 'drop', duplicate_of: 24 },
    ]);
  });

  it('refuses a file that begins with other rows', async () => {
    writeFileSync(at('turned.jsonl'), `${[...records].reverse().join('\n')}\n`);
    const args = ['--text', 'body', '--extend', at('plan.jsonl'), '-o', at('never.jsonl')];
    const { code, stderr } = await run(['dedup', at('turned.jsonl'), ...args]);
    expect(code).toBe(3);
    const what = `not the rows of ${at('plan.jsonl')} with new ones behind`;
    const row = 'row 0 is not the one that the plan was made for';
    expect(stderr).toContain(`${at('turned.jsonl')}: ${what}: ${row}`);
    expect(() => statSync(at('never.jsonl'))).toThrow('ENOENT');
  });
});

describe('files as they are', () => {
  it('columns that are not needed may hold anything', async () => {
    const late = records.map((record, i) => {
      const more = i < 60 ? { year: i } : { year: 'n/a', extra: [i] };
      return `${JSON.stringify({ ...JSON.parse(record), ...more })}\n`;
    });
    // Types are learnt from the first lines, so there must be more than are looked at.
    const filler = Array.from({ length: 6000 }, (_, i) => {
      return `${JSON.stringify({ id: `f${i}`, body: `filler ${i} of ${i * i}`, year: i })}\n`;
    });
    const lines = [...filler, ...late];
    writeFileSync(at('late.jsonl'), lines.join(''));
    const args = ['--text', 'body', '--max-distance', '3', '-o', at('late-plan.jsonl'), '-q'];
    expect(await run(['dedup', at('late.jsonl'), ...args])).toMatchObject({ code: 0, stderr: '' });
    const apply = ['--apply', at('late-plan.jsonl'), '-o', at('late-kept.jsonl'), '-q'];
    expect(await run(['dedup', at('late.jsonl'), ...apply])).toMatchObject({ code: 0, stderr: '' });
    const kept = keptOf(at('late-plan.jsonl'));
    expect(readFileSync(at('late-kept.jsonl'), 'utf8')).toBe(kept.map((i) => lines[i]).join(''));
  });

  it('a folder of texts goes by the names of its files, and is written as JSONL', async () => {
    mkdirSync(at('texts'));
    for (const [name, text] of [
      ['a.txt', texts[0]],
      ['b.txt', texts[1]],
      ['c.txt', texts[0]],
    ]) {
      writeFileSync(at(`texts/${name}`), text);
    }
    const plan = at('texts-plan.jsonl');
    expect((await run(['dedup', at('texts'), '-o', plan])).code).toBe(0);
    const apply = ['--apply', plan, '-o', at('texts-kept.jsonl')];
    expect((await run(['dedup', at('texts'), ...apply])).code).toBe(0);
    const names = readFileSync(at('texts-kept.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).file);
    expect(names).toEqual(['a.txt', 'b.txt']);
    writeFileSync(at('texts/c.txt'), 'a text that the plan never saw');
    const { code, stderr } = await run(['dedup', at('texts'), ...apply, '--force']);
    expect([code, stderr]).toEqual([3, expect.stringContaining('texts: changed since ')]);
    const written = readFileSync(at('texts-kept.jsonl'), 'utf8');
    expect(written.trim().split('\n')).toHaveLength(2);
  });

  it('the plan of stdin is for a file of the same bytes', async () => {
    const input = readFileSync(at('docs.jsonl'));
    const plan = at('piped-plan.jsonl');
    expect((await run(['dedup', '-', '--text', 'body', '-o', plan], { input })).code).toBe(0);
    const apply = ['--apply', plan, '-o', at('piped-kept.jsonl')];
    expect((await run(['dedup', at('docs.jsonl'), ...apply])).code).toBe(0);
    writeFileSync(at('edited.jsonl'), `${input}`.replace('"body":"', '"body":"never seen, '));
    const { code, stderr } = await run(['dedup', at('edited.jsonl'), ...apply, '--force']);
    expect([code, stderr]).toEqual([3, expect.stringContaining('edited.jsonl: changed since ')]);
  });
});

describe('refusals', () => {
  /** The plan as programs of before wrote it, without checksums of the file. */
  const unmarked = () => {
    const lines = readFileSync(at('plan.jsonl'), 'utf8');
    writeFileSync(at('unmarked.jsonl'), lines.replaceAll(/,"source":"[^"]+"/g, ''));
    return at('unmarked.jsonl');
  };

  it('of the plan of another file', async () => {
    writeFileSync(at('shorter.jsonl'), `${records.slice(0, -1).join('\n')}\n`);
    const args = ['--apply', unmarked(), '-o', at('never.jsonl')];
    const { code, stderr } = await run(['dedup', at('shorter.jsonl'), ...args]);
    expect(code).toBe(3);
    expect(stderr).toMatch(/65 rows.*64/);
    const known = ['--apply', at('plan.jsonl'), '-o', at('never.jsonl')];
    const told = await run(['dedup', at('shorter.jsonl'), ...known]);
    expect(told.stderr).toContain(`shorter.jsonl: changed since ${at('plan.jsonl')} was made`);
    expect(() => statSync(at('never.jsonl'))).toThrow('ENOENT');
  });

  it('of a file whose rows have other ids', async () => {
    const [first, second, ...rest] = records;
    writeFileSync(at('swapped.jsonl'), `${[second, first, ...rest].join('\n')}\n`);
    const args = ['--apply', unmarked(), '-o', at('never.jsonl')];
    const { code, stderr } = await run(['dedup', at('swapped.jsonl'), ...args]);
    expect(code).toBe(3);
    expect(stderr).toMatch(/row 0: its "id" is \S+, the plan was made for \S+/);
    expect(() => statSync(at('never.jsonl'))).toThrow('ENOENT');
  });

  it('of the plan as the output', async () => {
    const before = readFileSync(at('plan.jsonl'), 'utf8');
    const args = ['--apply', at('plan.jsonl'), '--force', '-o', at('plan.jsonl')];
    expect((await run(['dedup', at('docs.jsonl'), ...args])).code).toBe(1);
    expect(readFileSync(at('plan.jsonl'), 'utf8')).toBe(before);
  });

  it('of a plan within the folder of texts that it is for', async () => {
    mkdirSync(at('within'));
    writeFileSync(at('within/a.txt'), 'one text');
    writeFileSync(at('within/b.txt'), 'one text');
    const plan = at('within/plan.jsonl');
    const { code, stderr } = await run(['dedup', at('within'), '-o', plan]);
    expect([code, stderr]).toEqual([2, expect.stringContaining('would be one of the files of')]);
    expect(existsSync(plan)).toBe(false);
  });

  it('of the input as the output', async () => {
    const args = ['--apply', at('plan.jsonl'), '--force', '-o', at('docs.jsonl')];
    const { code } = await run(['dedup', at('docs.jsonl'), ...args]);
    expect(code).toBe(1);
    expect(readFileSync(at('docs.jsonl'), 'utf8')).toBe(`${records.join('\n')}\n`);
  });

  it.each([
    ['a rule that is none', ['--keep', 'best'], 2, /--keep expected first, last, .*got "best"/],
    ['a rule without a column', ['--keep', 'lowest'], 2, /--keep lowest:COLUMN/],
    ['a column that is not there', ['--keep', 'lowest:x'], 2, /no column "x"/],
    ['a grouping that is none', ['--grouping', 'ring'], 2, /star, components/],
    ['a plan that --apply would not read', ['-o', 'plan.parquet'], 2, /\.jsonl, \.csv or \.arrow/],
    ['a plan that is not there', ['--apply', 'no.csv', '-o', 'out.jsonl'], 1, /no\.csv/],
    ['a plan without an output', ['--apply', 'no.csv'], 2, /-o OUT is missing/],
  ])('of %s', async (_, args, code, message) => {
    const result = await run(['dedup', at('docs.jsonl'), '--text', 'body', ...args], {
      cwd: folder,
    });
    expect([result.code, result.stdout]).toEqual([code, '']);
    expect(result.stderr).toMatch(message);
  });

  it('of no input', async () => {
    const { code, stderr } = await run(['dedup']);
    expect(code).toBe(2);
    expect(stderr).toContain('an input is missing');
  });
});

describe('text that many texts share', () => {
  const fixed = Array.from({ length: 8 }, () => Array.from({ length: 20 }, anyWord).join(' '));
  const forms = Array.from({ length: 30 }, () =>
    fixed.map((part) => `${part} ${anyWord()} ${anyWord()} ${anyWord()}`).join(' '),
  );
  const letters = [...forms, `${forms[3]} again`, ...texts];
  const lines = (path: string) =>
    rowsOf<PlanLine & { jaccard: number; rest: number; common: number }>(
      readFileSync(path, 'utf8'),
    );
  beforeAll(() => {
    const rows = letters.map((text) => JSON.stringify({ text }));
    writeFileSync(at('letters.jsonl'), `${rows.join('\n')}\n`);
    writeFileSync(at('form.txt'), fixed.join('\n'));
  });

  it.each([[[]], [['--common', 'form.txt']]])('makes none near, by %j', async (options) => {
    const words = ['dedup', 'letters.jsonl', ...options, '--force', '-o', 'plan.jsonl'];
    const { code, stderr } = await run(words, { cwd: folder });
    expect([code, stderr]).toEqual([0, expect.stringContaining('Common text makes no rows near')]);
    expect(stderr).toMatch(/it is half or more of 31 rows/);
    const plan = lines(at('plan.jsonl'));
    const ofForms = plan.filter(({ row }) => row < 31);
    expect(ofForms.map(({ row, action }) => [row, action])).toEqual([
      [3, 'keep'],
      [30, 'drop'],
    ]);
    expect(ofForms[1].rest).toBeGreaterThan(0.9);
    expect(ofForms[1].common).toBeGreaterThan(0.5);
    expect(plan.filter(({ action }) => action === 'drop').length).toBe(26);
    const apply = ['dedup', 'letters.jsonl', '--apply', 'plan.jsonl', '-o', 'apart.jsonl'];
    expect((await run([...apply, '--force'], { cwd: folder })).code).toBe(0);
    expect(rowsOf(readFileSync(at('apart.jsonl'), 'utf8')).length).toBe(letters.length - 26);
  });

  it('is said to count again where such a plan is extended', async () => {
    const plan = ['dedup', 'letters.jsonl', '--force', '-o', 'plan.jsonl'];
    expect((await run(plan, { cwd: folder })).code).toBe(0);
    const more = [...letters, forms[5].replace(/\S+ \S+$/, 'of mine')].map((text) => ({ text }));
    writeFileSync(at('more.jsonl'), more.map((row) => `${JSON.stringify(row)}\n`).join(''));
    const extend = ['dedup', 'more.jsonl', '--extend', 'plan.jsonl', '--force', '-o', 'new.jsonl'];
    const { code, stderr } = await run(extend, { cwd: folder });
    expect([code, stderr]).toEqual([0, expect.stringContaining('--extend compares whole texts')]);
  });

  it('makes them near by --common none', async () => {
    const words = ['dedup', 'letters.jsonl', '--common', 'none', '--force', '-o', 'plan.jsonl'];
    const { code, stderr } = await run(words, { cwd: folder });
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('Common text')]);
    const dropped = lines(at('plan.jsonl')).filter(({ action }) => action === 'drop');
    expect(dropped.length).toBe(30 + 25);
  });

  it.each([
    [['--common', 'f.txt', '--extend', 'p.jsonl'], 2, 'does not go with --extend: what is common'],
    [['--common', 'f.txt', '--apply', 'p.jsonl', '-o', 'k.jsonl'], 2, 'does not go with --apply'],
    [['--apply', 'p.jsonl', '-o', '-'], 2, '--apply writes a file, not stdout'],
    [['--common', 'f.txt'], 1, 'f.txt: no such file or folder'],
    [['--common', 'f.txt', '--max-distance', '9'], 2, '--common does not go with --max-distance'],
    [['--common', 'f.txt', '--tf-idf'], 2, '--common needs texts in a file, compared as sets'],
  ])('refuses %j', async (words, code, message) => {
    const { code: found, stderr } = await run(['dedup', 'letters.jsonl', ...words], {
      cwd: folder,
    });
    expect([found, stderr]).toEqual([code, expect.stringContaining(message)]);
  });
});
