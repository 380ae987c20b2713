import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { afterAll, describe, expect, it } from 'vitest';
import type { FindAnswer, Hit, MapAnswer } from '../../src/explore/messages';
import { PlanFile } from '../../src/explore/server/review';
import { dedup, SimHashIndex } from '../../src/index';
import { openRows, readPlan, saveIndex, writePlan } from '../../src/node';
import { Draws } from '../reference/random';
import {
  closeBrowser,
  expectAccessible,
  hasChromium,
  layoutShift,
  openAddress,
  overflow,
  watched,
} from './explore/browser';
import { ask, explore, post, type Served } from './explore/serve';
import { command, ownFolder, rowsOf, run } from './run';

const FULL = { tags: 'full' } as const;
const THOROUGH = { tags: 'thorough' } as const;
const HOSTILE = '"><img src=x onerror=alert(1)><script>alert(2)</script>';
const RIGHT_TO_LEFT = '\u202eתפריט قائمة\u202c';
const GROUPS = 24;
const MEGABYTE = 'unbroken'.repeat(2 ** 17);

/** A JSONL file: groups of two or three texts that differ in a word, and some that stand alone. */
async function docs(): Promise<string> {
  const folder = await ownFolder();
  const draws = new Draws('explore');
  const lines: string[] = [];
  const add = (id: string, body: string, topic: string) => {
    lines.push(JSON.stringify({ id, body, topic, size: body.length }));
  };
  for (let group = 0; group < GROUPS; group++) {
    const words = Array.from({ length: 60 }, () => `w${group % 4}x${draws.integer(400)}`);
    add(`g${group}a`, words.join(' '), `topic ${group % 4}`);
    add(`g${group}b`, changed(words, 9, 'otherwise'), `topic ${group % 4}`);
    if (group % 3 === 0) add(`g${group}c`, changed(words, 30, 'again'), 'third');
  }
  add(HOSTILE, `${HOSTILE} ${HOSTILE} twice`, HOSTILE);
  add(`${HOSTILE} copy`, `${HOSTILE} ${HOSTILE} twice`, RIGHT_TO_LEFT);
  add(RIGHT_TO_LEFT, `${RIGHT_TO_LEFT} ${'word '.repeat(40)}`, 'right to left');
  add('long', MEGABYTE, 'long');
  writeFileSync(join(folder, 'docs.jsonl'), `${lines.join('\n')}\n`);
  return folder;
}

/** A text with another word in one place. */
function changed(words: readonly string[], at: number, word: string): string {
  return words.map((own, i) => (i === at ? word : own)).join(' ');
}

const WORDS = ['docs.jsonl', '--text', 'body', '-q'];

/** Makes the plan that `explore` looks for. */
async function planned(cwd: string): Promise<void> {
  expect((await run(['dedup', ...WORDS, '-o', 'docs-plan.jsonl'], { cwd })).code).toBe(0);
}

/** Texts of the list that reach over the edge of its panel. */
function overlapping(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll('.list li *')].flatMap((one) => {
      const [own, cell] = [one, one.closest('.panel') as Element].map((element) =>
        element.getBoundingClientRect(),
      );
      const reaches = Math.max(own.right, own.left + one.scrollWidth) > cell.right + 1;
      return reaches ? [one.textContent ?? ''] : [];
    }),
  );
}

interface Review {
  file: string;
  dropped: number;
  groups: { group: number; size: number; dropped: number; lowest: number; isReviewed: boolean }[];
}
interface Group {
  group: number;
  isReviewed: boolean;
  members: { row: number; id: string; isKept: boolean; duplicateOf: number; distance: number }[];
}

const keptOf = ({ members }: Group) => members.filter(({ isKept }) => isKept).map(({ row }) => row);

/** Decides about a group as it is now. */
async function decide(served: Served, group: number, kept: (now: Group) => number[]) {
  const now = await ask<Group>(served, 'group', { group });
  const before = { kept: keptOf(now), isReviewed: now.isReviewed };
  const after = { kept: kept(now), isReviewed: true };
  return ask<Group>(served, 'decide', { group, before, after });
}

describe('the server', () => {
  it('refuses what has not the token, or is for another host or from another origin', async () => {
    const { address } = await explore(WORDS, await docs());
    const { origin, port } = new URL(address);
    const statusOf = (path: string, headers: Record<string, string>) =>
      new Promise<number | undefined>((resolve, reject) => {
        const asked = request({ port, host: '127.0.0.1', path, headers }, (response) => {
          response.resume();
          resolve(response.statusCode);
        });
        asked.on('error', reject).end();
      });
    const own = new URL(address).pathname;
    expect(await statusOf(own, {})).toBe(200);
    expect(await statusOf(own, { Host: `localhost:${port}` })).toBe(200);
    for (const path of ['/', '/favicon.ico', '/explorer.js', `${own.slice(0, -2)}/`, `/x${own}`]) {
      expect([path, await statusOf(path, {})]).toEqual([path, 403]);
    }
    const others: Record<string, string>[] = [
      { Host: 'evil.example' }, // what DNS rebinding sends
      { Host: `evil.example:${port}` },
      { Host: '127.0.0.1' },
      { Origin: 'https://evil.example' },
      { Origin: 'null' },
      { 'Sec-Fetch-Site': 'cross-site' },
      { 'Sec-Fetch-Site': 'same-site' },
    ];
    for (const headers of others) {
      expect([headers, await statusOf(own, headers)]).toEqual([headers, 403]);
    }
    expect((await post(address, 'about', null, { Origin: 'http://evil.example' })).status).toBe(
      403,
    );
    expect((await post(`${origin}/wrong/`, 'about', null)).status).toBe(403);
    const form = await post(address, 'about', null, { 'Content-Type': 'text/plain' });
    expect(form.status).toBe(400);
    expect(await statusOf(`${own}../package.json`, {})).toBe(404);
    expect(await statusOf(`${own}constructor`, {})).toBe(404);
  });

  it('forbids the page all but itself, and answers wrong questions with what is wrong', {
    tags: 'thorough',
  }, async () => {
    const cwd = await docs();
    await planned(cwd);
    const served = await explore(WORDS, cwd);
    const response = await fetch(served.address);
    const policy = response.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
    expect(policy).not.toMatch(/unsafe|\*|http/);
    expect(response.headers.get('referrer-policy')).toBe('no-referrer');
    await ask(served, 'about', null);
    for (const [question, asked, message] of [
      ['constructor', {}, '"question" expected'],
      ['find', { query: '', filter: 3 }, '"filter" expected a string'],
      ['find', { query: '', filter: 'nothing = 3' }, 'no column "nothing"'],
      ['find', { query: '', filter: '__proto__ = 3' }, 'no column "__proto__"'],
      ['find', { filter: '' }, '"query" expected a string'],
      ['find', { query: '', filter: '', row: 1e9 }, '"row" expected a row that is there'],
      ['find', { query: '?!', filter: '' }, 'the query has no words that count'],
      ['cards', { rows: [-1] }, '"row" expected a row that is there'],
      ['group', { group: -1 }, '"group" expected a group of the plan'],
      ['decide', { group: 0 }, '"before" expected'],
    ] as const) {
      const { status, answer } = await post(served.address, question, asked);
      expect([question, status, answer]).toEqual([
        question,
        400,
        { error: expect.stringContaining(message) },
      ]);
    }
  });

  it('stops by Ctrl-C, and refuses what it cannot open', async () => {
    const cwd = await docs();
    const served = await explore(WORDS, cwd);
    await ask(served, 'about', null);
    served.child.kill('SIGINT');
    expect(await served.stopped).toBe(130);
    writeFileSync(join(cwd, 'twice.csv'), 'id,body\na,one text\nb,another\na,a third\n');
    for (const [words, code, message] of [
      [['twice.csv', '--text', 'body'], 3, 'row 2: column "id" expected an id that is not there'],
      [['nothing.jsonl'], 1, 'no such file or folder'],
      [['-'], 2, 'not stdin'],
      [['docs.jsonl', '--port', '70000'], 2, '--port expected'],
      [['docs.jsonl', '--text', 'bodi'], 2, 'no column "bodi"'],
    ] as const) {
      const outcome = await run(['explore', ...words], { cwd });
      expect(outcome).toEqual({ code, stdout: '', stderr: expect.stringContaining(message) });
    }
    expect(readdirSync(cwd)).toEqual(['docs.jsonl', 'twice.csv']);
  });
});

it('a search for a text finds the nearest of all texts by exact cosine', async () => {
  // Candidates were the rows nearest by codes, of which the best row by cosine was not always one.
  const cwd = await ownFolder();
  const draws = new Draws('texts to search');
  const word = () => `w${Math.floor(3000 * draws.uniform() ** 3)}`;
  const texts = Array.from({ length: 3000 }, () => Array.from({ length: 40 }, word));
  const lines = texts.map((words, id) => JSON.stringify({ id, number: id, body: words.join(' ') }));
  writeFileSync(join(cwd, 'docs.jsonl'), `${lines.join('\n')}\n`);
  const served = await explore(WORDS, cwd);
  // TF-IDF with logarithmic counts and smoothed idf, in plain loops.
  const idf = new Map<string, number>();
  for (const words of texts) {
    for (const one of new Set(words)) idf.set(one, (idf.get(one) ?? 0) + 1);
  }
  for (const [one, count] of idf) idf.set(one, 1 + Math.log((1 + texts.length) / (1 + count)));
  const weightsOf = (words: readonly string[]) => {
    const weights = new Map<string, number>();
    for (const one of words) weights.set(one, (weights.get(one) ?? 0) + 1);
    for (const [one, n] of weights) weights.set(one, (1 + Math.log(n)) * (idf.get(one) ?? 0));
    return weights;
  };
  const lengthOf = (weights: ReadonlyMap<string, number>) => Math.hypot(...weights.values());
  const vectors = texts.map(weightsOf);
  const lengths = vectors.map(lengthOf);
  for (let i = 0; i < 20; i++) {
    const query = Array.from({ length: 5 }, word);
    const asked = weightsOf(query);
    const length = lengthOf(asked);
    const cosines = vectors.map((own, row) => {
      let sum = 0;
      for (const [one, weight] of asked) sum += weight * (own.get(one) ?? 0);
      return sum / (lengths[row] * length);
    });
    const best = [...cosines].sort((a, b) => b - a).slice(0, 25);
    const { cards, compared } = await ask<FindAnswer>(served, 'find', {
      ...{ query: query.join(' '), filter: '' },
    });
    const hits = cards as readonly Hit[];
    expect(compared).toBe('exact cosine of all 3,000 rows');
    hits.forEach(({ row, similarity }, rank) => {
      expect(similarity).toBeCloseTo(cosines[row], 6);
      expect(similarity).toBeCloseTo(best[rank], 6);
    });
    expect(hits.length).toBe(25);
  }
  const few = { query: texts[7].join(' '), filter: 'number < 50' };
  const { cards, compared } = await ask<FindAnswer>(served, 'find', few);
  expect([cards[0].row, compared]).toEqual([7, 'exact cosine of all 50 rows']);
  expect(cards.every(({ row }) => row < 50)).toBe(true);
});

describe('the map', () => {
  it('of texts has texts of a topic together, and names clusters by words of their topics', async () => {
    // Two thirds of the words of each text are common ones. Codes of all words left half of the
    // nearest rows on the map to other topics.
    const cwd = await ownFolder();
    const draws = new Draws('topics');
    const topicOf = (row: number) => row % 10;
    const lines = Array.from({ length: 300 }, (_, id) => {
      const words = Array.from({ length: 60 }, (_, i) =>
        i % 3 === 0 ? `t${topicOf(id)}w${draws.integer(60)}` : `common${draws.integer(90)}`,
      );
      return JSON.stringify({ id, body: words.join(' ') });
    });
    writeFileSync(join(cwd, 'docs.jsonl'), `${lines.join('\n')}\n`);
    const served = await explore(WORDS, cwd);
    const map = await ask<MapAnswer>(served, 'map', null);
    const { x, y } = map;
    let own = 0;
    for (const row of x.keys()) {
      const away = (other: number) => (x[row] - x[other]) ** 2 + (y[row] - y[other]) ** 2;
      const others = [...x.keys()].filter((other) => other !== row);
      const near = others.sort((a, b) => away(a) - away(b)).slice(0, 10);
      own += near.filter((other) => topicOf(other) === topicOf(row)).length;
    }
    expect([x.length, own / 3000]).toEqual([300, expect.closeTo(1, 1)]);
    for (const { name } of map.clusters) expect(name).toMatch(/^t\dw\d+ · /);
  });

  it('of rows with numbers as ids names clusters by a column of texts', async () => {
    const cwd = await ownFolder();
    const draws = new Draws('numbers as ids');
    const lines = Array.from({ length: 60 }, (_, id) =>
      JSON.stringify({ id, vector: [...draws.gaussians(8)], word: `word${'abcdefghij'[id % 10]}` }),
    );
    writeFileSync(join(cwd, 'rows.jsonl'), `${lines.join('\n')}\n`);
    const served = await explore(['rows.jsonl', '-q'], cwd);
    const { clusters } = await ask<MapAnswer>(served, 'map', null);
    for (const { name } of clusters) expect(name).toMatch(/^word[a-j](, word[a-j])*$/);
  });
});

it('a search finds ids with spaces at their ends, and ids without in spite of spaces', async () => {
  const cwd = await ownFolder();
  const ids = [' sp 0 ', 'sp 0', 'sp 1'];
  const lines = ids.map((id) => `${JSON.stringify({ id, body: `words of ${id}` })}\n`);
  writeFileSync(join(cwd, 'docs.jsonl'), lines.join(''));
  const served = await explore(WORDS, cwd);
  for (const [query, id] of [...ids.map((id) => [id, id]), [' sp 1 ', 'sp 1']]) {
    const { near } = await ask<FindAnswer>(served, 'find', { query, filter: '' });
    expect(near?.id).toBe(id);
  }
});

it('groups come in the order of the plan, by similarity', async () => {
  const cwd = await docs();
  await planned(cwd);
  const lines = rowsOf<{ group: number; action: string; jaccard: number }>(
    readFileSync(join(cwd, 'docs-plan.jsonl'), 'utf8'),
  );
  const { groups } = await ask<Review>(await explore(WORDS, cwd), 'review', null);
  expect(groups.map(({ group }) => group)).toEqual([...new Set(lines.map(({ group }) => group))]);
  for (const { group, lowest, ...line } of groups) {
    const dropped = lines.filter((line) => line.group === group && line.action === 'drop');
    expect(line.dropped).toBe(dropped.length);
    expect(lowest).toBe(Math.min(...dropped.map(({ jaccard }) => jaccard)));
  }
});

describe('decisions', () => {
  it('are in the file when they are answered, and there again after a start', FULL, async () => {
    const cwd = await docs();
    const source = readFileSync(join(cwd, 'docs.jsonl'));
    let served = await explore(WORDS, cwd);
    await expect(ask(served, 'review', null)).rejects.toThrow(
      'there is no plan docs-plan.jsonl: make it by halfspace dedup -o docs-plan.jsonl',
    );
    await planned(cwd);
    // As of a plan of texts with common text: what rows share without it is said of their old pairs.
    const file = join(cwd, 'docs-plan.jsonl');
    const withRests = rowsOf(readFileSync(file, 'utf8')).map((row) => ({ ...row, rest: 0.5 }));
    writeFileSync(file, withRests.map((row) => `${JSON.stringify(row)}\n`).join(''));
    const made = await ask<Review>(served, 'review', null);
    expect(made.groups).toHaveLength(GROUPS + 1);
    const three = made.groups.find(({ size }) => size === 3) as Review['groups'][0];
    const all = await decide(served, three.group, ({ members }) => members.map(({ row }) => row));
    expect(all.members.every(({ isKept }) => isKept)).toBe(true);
    const [first, second, third] = all.members.map(({ row }) => row);
    const split = await decide(served, three.group, () => [second]);
    expect(keptOf(split)).toEqual([second]);
    const plan = await readPlan(join(cwd, 'docs-plan.jsonl'));
    expect([first, second, third].map((row) => plan.kept[row])).toEqual([0, 1, 0]);
    expect([first, third].map((row) => plan.duplicateOf[row])).toEqual([second, second]);
    // The distance is the one that a plan made by the command has between such rows.
    const lines = rowsOf(readFileSync(join(cwd, 'docs-plan.jsonl'), 'utf8'));
    const line = lines.find(({ row }) => row === first);
    expect(line).toMatchObject({
      id: all.members[0].id,
      action: 'drop',
      reviewed: true,
      rest: null,
    });
    const others = lines.filter(({ action, group }) => action === 'drop' && group !== three.group);
    expect(new Set(others.map(({ rest }) => rest))).toEqual(new Set([0.5]));
    served.child.kill('SIGINT');
    await served.stopped;
    served = await explore(WORDS, cwd);
    const again = await ask<Review>(served, 'review', null);
    expect(again.groups.filter(({ isReviewed }) => isReviewed)).toHaveLength(1);
    expect(keptOf(await ask<Group>(served, 'group', { group: three.group }))).toEqual([second]);
    const words = ['docs.jsonl', '--apply', 'docs-plan.jsonl', '-o', 'kept.jsonl', '-q'];
    expect((await run(['dedup', ...words], { cwd })).code).toBe(0);
    expect(readFileSync(join(cwd, 'kept.jsonl'), 'utf8')).toContain(`"${all.members[1].id}"`);
    expect(readFileSync(join(cwd, 'docs.jsonl'))).toEqual(source);
  });

  it(
    'go on with a plan of the command, in every format, and refuse one of other rows',
    FULL,
    async () => {
      const cwd = await docs();
      const cosine = ['--min-cosine', '0.9'];
      for (const [name, asked] of [
        ['plan.jsonl', []], // of sets, since no option says otherwise
        ['plan.csv', cosine],
        ['plan.arrow', cosine],
      ] as const) {
        const made = await run(['dedup', ...WORDS, ...asked, '-o', name], { cwd });
        expect(made.code).toBe(0);
        const before = await readPlan(join(cwd, name));
        const served = await explore([...WORDS, '--plan', name], cwd);
        const { groups } = await ask<Review>(served, 'review', null);
        const [{ group }] = groups;
        await decide(served, group, ({ members }) => members.map(({ row }) => row));
        const after = await readPlan(join(cwd, name));
        expect(after.groups).toEqual(before.groups);
        expect(after.kept.filter((kept, row) => kept !== before.kept[row]).length).toBeGreaterThan(
          0,
        );
        const marks: unknown[] = [];
        for await (const batch of await openRows(join(cwd, name)))
          marks.push(...batch.values('reviewed'));
        expect(marks.filter((mark) => mark === true || mark === 'true').length).toBeGreaterThan(1);
      }
      const other = await explore([...WORDS, '--bits', '64', '--plan', 'plan.csv'], cwd);
      await expect(ask(other, 'review', null)).rejects.toThrow(
        'plan.csv is not a plan for these rows',
      );
    },
  );

  it('have the checksum of the files of their rows, as those of dedup', FULL, async () => {
    const cwd = await docs();
    const lines = rowsOf(readFileSync(join(cwd, 'docs.jsonl'), 'utf8')).map((row) =>
      JSON.stringify(row),
    );
    mkdirSync(join(cwd, 'two'));
    for (const [i, name] of ['a.jsonl', 'b.jsonl'].entries()) {
      const half = lines.slice((i * lines.length) >> 1, ((i + 1) * lines.length) >> 1);
      writeFileSync(join(cwd, 'two', name), `${half.join('\n')}\n`);
    }
    const words = ['two', '--text', 'body', '-q'];
    const marksIn = (name: string) =>
      new Map(
        rowsOf<{ row: number; source: string }>(readFileSync(join(cwd, name), 'utf8')).map(
          ({ row, source }) => [row, source],
        ),
      );
    const made = await run(['dedup', ...words, '-o', 'theirs.jsonl'], { cwd });
    expect(made.code).toBe(0);
    copyFileSync(join(cwd, 'theirs.jsonl'), join(cwd, 'two-plan.jsonl'));
    const served = await explore(words, cwd);
    const { groups } = await ask<Review>(served, 'review', null);
    const theirs = [...marksIn('theirs.jsonl')];
    expect(new Set(marksIn('theirs.jsonl').values()).size).toBe(1);
    await decide(served, groups[0].group, keptOf);
    expect([...marksIn('two-plan.jsonl')]).toEqual(expect.arrayContaining(theirs));
    // A text that is not compared: codes are what they were.
    const changed = readFileSync(join(cwd, 'two/b.jsonl'), 'utf8').replace('"third"', '"fourth"');
    writeFileSync(join(cwd, 'two/b.jsonl'), changed);
    const apply = ['dedup', 'two', '--apply', 'two-plan.jsonl', '-o', 'kept', '-q'];
    const told = /two: changed since two-plan\.jsonl was made/;
    expect((await run(apply, { cwd })).stderr).toMatch(told);
    const again = await explore(words, cwd);
    await expect(ask(again, 'review', null)).rejects.toThrow(told);
  });

  it('let a dropped row duplicate the nearest kept one', async () => {
    const cwd = await ownFolder();
    const first = Array.from({ length: 60 }, (_, i) => `word${i}`);
    const second = changed(first, 3, 'other');
    const third = changed(second.split(' '), 20, 'third');
    const lines = [first.join(' '), second, third, third].map((body) => JSON.stringify({ body }));
    writeFileSync(join(cwd, 'docs.jsonl'), `${lines.join('\n')}\n`);
    await planned(cwd);
    const served = await explore(WORDS, cwd);
    const { groups } = await ask<Review>(served, 'review', null);
    expect(groups.map(({ size }) => size)).toEqual([4]);
    for (const [kept, nearest] of [
      [
        [1, 0],
        [0, 1, 1, 1],
      ],
      [
        [3, 2],
        [2, 2, 2, 3],
      ], // of equally near ones the first
      [
        [1, 2, 3],
        [1, 1, 2, 3],
      ],
      [[0], [0, 0, 0, 0]],
    ]) {
      await decide(served, groups[0].group, () => kept);
      const plan = await readPlan(join(cwd, 'docs-plan.jsonl'));
      expect([...plan.duplicateOf]).toEqual(nearest);
    }
  });

  it('go on with a plan of an index that has removed rows', { tags: 'thorough' }, async () => {
    const cwd = await ownFolder();
    const draws = new Draws('removed');
    const index = new SimHashIndex<string>({ bits: 64, dimensions: 8, vectors: 'float32' });
    for (let i = 0; i < 40; i++) {
      const vector = draws.gaussians(8);
      index.add(vector, `row ${i}`);
      index.add(vector, `copy ${i}`);
    }
    for (const id of ['row 0', 'copy 7', 'copy 39']) index.remove(id); // the first and the last too
    await saveIndex(index, join(cwd, 'some.hs'));
    const words = ['dedup', 'some.hs', '--max-distance', '2', '-q'];
    expect((await run([...words, '-o', 'some-plan.jsonl'], { cwd })).code).toBe(0);
    const before = rowsOf<{ id: string }>(readFileSync(join(cwd, 'some-plan.jsonl'), 'utf8'));
    expect(before).toHaveLength(74);
    const served = await explore(['some.hs', '-q'], cwd);
    const { groups, rows } = await ask<Review & { rows: number }>(served, 'review', null);
    expect([rows, groups.length]).toEqual([77, 37]);
    await decide(served, groups[3].group, ({ members }) => members.map(({ row }) => row));
    const plan = await readPlan(join(cwd, 'some-plan.jsonl'));
    const own = [...plan.kept.keys()].filter((row) => plan.groups[row] === groups[3].group);
    expect(own.map((row) => plan.kept[row])).toEqual([1, 1]);
    const again = await explore(['some.hs', '-q'], cwd);
    const reviewed = (await ask<Review>(again, 'review', null)).groups.filter((g) => g.isReviewed);
    expect(reviewed.map(({ dropped }) => dropped)).toEqual([0]);
  });

  it('go on with a plan of few lines, of as many rows as there are', THOROUGH, async () => {
    const path = join(await ownFolder(), 'few-plan.jsonl');
    const rows = 2 ** 22 + 1000;
    const shared = { group: 7, distance: 0, check: 1, rows };
    const lines = [
      { row: 7, action: 'keep', duplicate_of: 7, ...shared },
      { row: rows - 1, action: 'drop', duplicate_of: 7, ...shared },
    ];
    writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    const plan = await new PlanFile(path, '', null).read(rows);
    expect([plan?.count, plan?.kept[rows - 1], plan?.kept[8]]).toEqual([rows, 0, 1]);
    await expect(new PlanFile(path, '', null).read(1000)).rejects.toThrow('can have at most 1000');
  });

  it('of 200,000 rows are whole whenever the server is killed', {
    ...FULL,
    timeout: 240_000,
  }, async () => {
    const cwd = await ownFolder();
    const count = 200_000;
    const draws = new Draws('many rows');
    const values = draws.gaussians(4 * (count / 2));
    // Row 2i and row 2i + 1 are equal.
    const doubled = Float32Array.from({ length: 4 * count }, (_, at) => {
      return values[4 * Math.floor(at / 8) + (at % 4)];
    });
    const index = new SimHashIndex({ bits: 64, dimensions: 4, seed: 3 });
    await index.addAll({ values: doubled, dimensions: 4 });
    const codes = Array.from({ length: count }, (_, row) => row);
    const pairs = codes.map((row) => row - (row % 2));
    const plan = {
      ...{ count, groups: Uint32Array.from(pairs), duplicateOf: Uint32Array.from(pairs) },
      kept: Uint8Array.from(codes, (row) => 1 - (row % 2)),
      ...{ distances: new Uint16Array(count), similarities: null, measure: null },
      checks: (await dedup(index, { maxDistance: 0 })).checks,
    };
    await saveIndex(index, join(cwd, 'many.hs'));
    const path = join(cwd, 'many-plan.jsonl');
    await writePlan(path, plan);
    const kept = plan.kept.slice();
    for (let round = 0; round < 3; round++) {
      const served = await explore(['many.hs', '-q'], cwd);
      await ask<Review>(served, 'review', null);
      const first = 20 * round;
      for (const row of [0, 2, 4].map((i) => first + i)) {
        await decide(served, row, () => [row + 1]);
        kept.set([0, 1], row);
      }
      // A decision is on its way when the server is killed, after less or more of its save.
      const last = first + 10;
      const late = decide(served, last, () => [last + 1]).catch(() => null);
      setTimeout(() => served.child.kill('SIGKILL'), 5 + 40 * round);
      const answered = (await late) !== null;
      await served.stopped;
      const after = await readPlan(path);
      const changed = codes.filter((row) => kept[row] !== after.kept[row]);
      expect([[], [last, last + 1]]).toContainEqual(changed);
      if (answered) expect(changed).toHaveLength(2);
      kept.set(after.kept);
    }
  });

  it('of two pages, or of a page and an editor, never overwrite each other', {
    tags: 'thorough',
  }, async () => {
    const cwd = await docs();
    await planned(cwd);
    const served = await explore(WORDS, cwd);
    const { groups } = await ask<Review>(served, 'review', null);
    const group = await ask<Group>(served, 'group', { group: groups[0].group });
    const rows = group.members.map(({ row }) => row);
    const before = { kept: keptOf(group), isReviewed: false };
    const asked = { group: group.group, before, after: { kept: rows, isReviewed: true } };
    expect((await post(served.address, 'decide', asked)).status).toBe(200);
    const late = await post(served.address, 'decide', asked);
    expect([late.status, late.answer]).toEqual([
      409,
      { error: 'this group was decided elsewhere meanwhile: shown as it is now' },
    ]);
    const path = join(cwd, 'docs-plan.jsonl');
    const edited = readFileSync(path, 'utf8').replace('"drop"', '"keep"');
    writeFileSync(path, edited);
    await expect(decide(served, groups[1].group, keptOf)).rejects.toThrow(
      '409: docs-plan.jsonl was changed by another program',
    );
    expect(readFileSync(path, 'utf8')).toBe(edited);
  });

  it('leave an old plan or a new one, whenever the server is killed', {
    ...FULL,
    timeout: 240_000, // it starts five servers
  }, async () => {
    const cwd = await docs();
    const path = join(cwd, 'docs-plan.jsonl');
    await planned(cwd);
    let served = await explore(WORDS, cwd);
    const { groups } = await ask<Review>(served, 'review', null);
    for (let round = 0; round < 4; round++) {
      const answered: number[] = [];
      const deciding = (async () => {
        for (const { group } of groups) {
          await decide(served, group, ({ members }) => members.map(({ row }) => row));
          answered.push(group);
          if (answered.length === 2 + round) setTimeout(() => served.child.kill('SIGKILL'), round);
        }
      })();
      await expect(
        deciding.then(() => served.stopped.then(() => Promise.reject())),
      ).rejects.not.toBe(0);
      await served.stopped;
      const plan = await readPlan(path); // whole
      for (const group of answered) {
        const own = plan.kept.filter((_, row) => plan.groups[row] === group);
        expect(own.every((kept) => kept === 1)).toBe(true);
      }
      served = await explore(WORDS, cwd);
      await ask(served, 'review', null);
    }
  });
});

it('the page has less than 400 KB, all that it needs', () => {
  const files = ['explorer.js', 'explorer-style.css'].map((name) => join(dirname(command), name));
  const bytes = files.reduce((sum, file) => sum + gzipSync(readFileSync(file)).length, 0);
  expect(bytes).toBeLessThan(400 * 1024);
  expect(bytes).toBeGreaterThan(10_000);
});

describe.skipIf(!hasChromium)('the page', () => {
  afterAll(closeBrowser);

  const open = async (words: readonly string[] = WORDS, cwd?: string) => {
    const folder = cwd ?? (await docs());
    if (words === WORDS) await planned(folder);
    const served = await explore(words, folder);
    const opened = await openAddress(served.address);
    await opened.page.waitForSelector('.legend');
    return { ...opened, served, cwd: folder };
  };
  const status = (page: Page) => page.locator('.found [role=status]').textContent();
  /** Waits for a list shorter than that of a search; while the server is asked, none is shown. */
  const filtered = (page: Page) =>
    page.waitForFunction(() => {
      const { length } = document.querySelectorAll('.list li');
      return length > 0 && length < 20;
    });

  /** The colours of the pixels of the map, and those of its clusters. */
  const coloursOf = async (page: Page) => {
    const drawn = await page.evaluate(async () => {
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      const canvas = document.querySelector('.map canvas') as HTMLCanvasElement;
      const { data } = (canvas.getContext('2d') as CanvasRenderingContext2D).getImageData(
        ...([0, 0, canvas.width, canvas.height] as const),
      );
      const colours = new Set<string>();
      for (let at = 0; at < data.length; at += 4) {
        colours.add(`rgb(${data[at]}, ${data[at + 1]}, ${data[at + 2]})`);
      }
      return [...colours];
    });
    const wanted = await page
      .locator('.legend li i')
      .evaluateAll((all) => all.map((dot) => getComputedStyle(dot).backgroundColor));
    return { drawn, wanted };
  };

  it('searches, filters, and draws around rows', { tags: 'thorough' }, async () => {
    const { page, requests, problems } = await open();
    expect(await status(page)).toBe(`${GROUPS * 2 + 8 + 4} rows`);
    expect(await layoutShift(page)).toBeLessThan(0.01);
    expect(await overlapping(page)).toEqual([]);
    await page.fill('#query', 'otherwise w1x17');
    await page.keyboard.press('Enter');
    await page.waitForSelector('.list li');
    // The query is compared by words, whatever the rows are compared by.
    expect(await page.locator('.found .note').textContent()).toContain('exact cosine of all 60');
    await page.fill('#query', 'g3a');
    await page.keyboard.press('Enter');
    await page.waitForSelector('.found b:text("g3a")');
    const nearest = page.locator('.list li').first();
    expect(['g3b', 'g3c']).toContain(
      (await nearest.locator('button').first().textContent())?.trim(),
    );
    expect(await nearest.textContent()).toMatch(/\d+ of 256 bits/);
    await page.fill('#filter', "topic = 'topic 1' and size > 100");
    await page.keyboard.press('Enter');
    await filtered(page);
    for (const text of await page.locator('.list li').allTextContents()) {
      expect(text).toContain('topic: topic 1');
    }
    await page.click('text=Show all');
    await page.click('text=Lasso');
    const box = (await page.locator('.map').boundingBox()) as { x: number; y: number };
    await page.mouse.move(box.x + 4, box.y + 4);
    await page.mouse.down();
    for (const [x, y] of [
      [870, 4],
      [870, 740],
      [4, 740],
      [4, 8],
    ]) {
      await page.mouse.move(box.x + x, box.y + y, { steps: 3 });
    }
    await page.mouse.up();
    await page.waitForSelector('h2:has-text("in the lasso")');
    // A text of one word that no other text has lies on the map too; all rows are around.
    expect(await status(page)).toMatch(/^60 rows in the lasso/);
    const dots = page.locator('.legend li i');
    const colours = await dots.evaluateAll((all) =>
      all.map((dot) => getComputedStyle(dot).backgroundColor),
    );
    expect(new Set(colours).size).toBe(await dots.count()); // none serves two clusters
    expect([requests, problems]).toEqual([[], []]);
  });

  it('never shows a count of another question than the one that failed', THOROUGH, async () => {
    const { page } = await open();
    const filter = async (text: string) => {
      await page.fill('#filter', text);
      await page.locator('#filter').press('Enter');
    };
    const search = async (query: string) => {
      await page.fill('#query', query);
      await page.locator('#query').press('Enter');
    };
    await search('?!');
    await page.waitForSelector('[role=alert]:has-text("no words that count")');
    expect(await page.locator('.panel [role=status]').count()).toBe(0);
    await page.fill('#query', '');
    await filter("topic = 'topic 1'");
    await page.waitForSelector('.found [role=status]');
    expect(await status(page)).toBe('12 rows match');
    expect(await page.locator('.list li').count()).toBe(12);
    // It left "12 rows match" for another filter, which is wrong.
    await filter('nothing = 3');
    await page.waitForSelector('[role=alert]:has-text("no column")');
    expect(await page.locator('.panel [role=status]').count()).toBe(0);
    await filter('');
    await page.waitForSelector('.found [role=status]');
    // What is typed and not yet applied is not said to match either: it said "60 rows match".
    await page.fill('#filter', 'size < 0');
    expect(await status(page)).toBe('60 rows');
  });

  it('fades the points of rows that were not searched, and no others', THOROUGH, async () => {
    const { page } = await open();
    const strong = async () => {
      const { drawn, wanted } = await coloursOf(page);
      return wanted.filter((colour) => drawn.includes(colour)).length;
    };
    const all = await page.locator('.legend li').count();
    expect(await strong()).toBe(all);
    await page.locator('.legend button').first().click();
    expect(await strong()).toBe(1);
    // All rows are searched: those of other clusters stayed pale.
    await page.fill('#query', 'g3a');
    await page.locator('#query').press('Enter');
    await page.waitForSelector('.found b:text("g3a")');
    expect(await strong()).toBe(all);
    // Those that do not meet the new filter stayed strong.
    await page.fill('#filter', "topic = 'topic 1'");
    await page.locator('#filter').press('Enter');
    await filtered(page);
    expect(await strong()).toBeLessThan(all);
  });

  it('suggests ids as one types', THOROUGH, async () => {
    const { page, problems } = await open();
    await page.locator('#query').pressSequentially('G3');
    const suggested = page.locator('#query').locator('..').locator('option');
    // Those of the first letter may come before.
    await page.waitForFunction(() => document.querySelectorAll('#ids option').length === 3);
    expect(
      await suggested.evaluateAll((all) => all.map((one) => one.getAttribute('value'))),
    ).toEqual(['g3a', 'g3b', 'g3c']);
    await page.fill('#query', 'g3c');
    await page.keyboard.press('Enter');
    await page.waitForSelector('.found b:text("g3c")');
    await expectAccessible(page);
    expect(problems).toEqual([]);
  });

  it('shows how far the first search for a text is', THOROUGH, async () => {
    const { page } = await open();
    let answer: (() => void) | undefined;
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route(/ask.find/, async (route) => {
      await answered;
      await route.continue();
    });
    const status = { label: 'reading words', share: 0.4 };
    await page.route(/ask.status/, (route) => route.fulfill({ json: status }));
    await page.fill('#query', 'w1x17');
    await page.keyboard.press('Enter');
    await page.waitForSelector('.panel :text("reading words …")');
    const bar = page.locator('.panel progress');
    await expect.poll(() => bar.evaluate((one: HTMLProgressElement) => one.value)).toBe(0.4);
    answer?.();
    await page.waitForSelector('.list .similarity');
  });

  it('shows what differs far down in long texts, which keys reach', THOROUGH, async () => {
    const cwd = await ownFolder();
    const draws = new Draws('long texts');
    const sentence = () =>
      `${Array.from({ length: 8 }, () => `w${draws.integer(9000)}`).join(' ')}.\n`;
    const text = Array.from({ length: 4000 }, sentence).join('');
    const texts = [`old ${text} the end`, `new ${text} an end`];
    const lines = texts.map((body, i) => JSON.stringify({ id: `d${i}`, body }));
    writeFileSync(join(cwd, 'docs.jsonl'), `${lines.join('\n')}\n`);
    const { page, problems } = await open(WORDS, cwd);
    await page.click('nav >> text=Review');
    await page.waitForSelector('.member.dropped');
    const marked = async (selector: string) =>
      (await page.locator(selector).allTextContents()).map((text) => text.trim());
    expect(await marked('.kept mark')).toEqual(['old', 'the']);
    expect(await marked('.dropped del')).toEqual(['old', 'the']);
    expect(await marked('.dropped ins')).toEqual(['new', 'an']);
    const scrolled = () => page.locator('.members').evaluate(({ scrollTop }) => scrollTop);
    await page.keyboard.press('PageDown');
    await expect.poll(scrolled).toBeGreaterThan(100);
    await page.keyboard.press('End');
    await page.waitForFunction(() => {
      const last = [...document.querySelectorAll('mark, del, ins')].filter((one) =>
        /the|an/.test(one.textContent ?? ''),
      );
      return (
        last.length === 3 && last.every((one) => one.getBoundingClientRect().bottom <= innerHeight)
      );
    });
    await expectAccessible(page);
    expect(problems).toEqual([]);
  });

  it('reviews ten groups by keys, and finds them after it is loaded again', THOROUGH, async () => {
    const { page, problems, cwd } = await open();
    await page.click('nav >> text=Review');
    await page.waitForSelector('.member');
    const done = () => page.locator('.status b').textContent();
    const kept: string[] = [];
    for (let group = 0; group < 10; group++) {
      await page.waitForSelector(`.status b:text-matches("^${group} of ")`);
      await page.waitForSelector('.queue [aria-current] .tick[aria-label=open]');
      const second = page.locator('.member').nth(1);
      if (group % 2 === 0) {
        await page.keyboard.press('k'); // the second row of the group in place of the first
        await second.locator('button[aria-pressed=true]').waitFor();
        kept.push((await second.locator('h2').textContent()) ?? '');
      } else if (group === 3) {
        await page.keyboard.press('a');
        await second.locator('button[aria-pressed=true]').waitFor();
        await page.keyboard.press('u');
        await second.locator('button[aria-pressed=false]').waitFor();
      }
      await page.keyboard.press('Enter');
    }
    await page.waitForSelector('.status b:text-matches("^10 of 25 groups reviewed")');
    await page.reload();
    await page.waitForSelector('.member');
    expect(await done()).toBe('10 of 25 groups reviewed');
    // Where one has been is still there after a look elsewhere, in a low window too.
    await page.setViewportSize({ width: 1280, height: 420 });
    await page.click('nav >> text=Map');
    await page.click('nav >> text=Review');
    await page.waitForFunction(() => {
      const [queue, current] = ['.queue', '.queue [aria-current]'].map((selector) =>
        document.querySelector(selector)?.getBoundingClientRect(),
      );
      return queue && current && current.top >= queue.top && current.bottom <= queue.bottom;
    });
    const plan = await readPlan(join(cwd, 'docs-plan.jsonl'));
    const ids = rowsOf<{ id: string }>(readFileSync(join(cwd, 'docs.jsonl'), 'utf8')).map(
      ({ id }) => id,
    );
    for (const id of kept) expect([id, plan.kept[ids.indexOf(id)]]).toEqual([id, 1]);
    expect(problems).toEqual([]);
  });

  it('keeps one row of a group by Y, and all of them by N', THOROUGH, async () => {
    const { page, problems, cwd } = await open();
    await page.click('nav >> text=Review');
    const keys = ['y', 'n', 'y', 'n'];
    for (const [i, key] of keys.entries()) {
      await page.waitForSelector(`.status b:text-matches("^${i} of ")`);
      await page.waitForSelector('.queue [aria-current] .tick[aria-label=open]');
      await page.keyboard.press(key);
    }
    await page.waitForSelector('.status b:text-matches("^4 of ")');
    expect(problems).toEqual([]);
    const plan = await readPlan(join(cwd, 'docs-plan.jsonl'));
    const reviewed = new Map<number, number[]>();
    plan.reviewed?.forEach((one, row) => {
      if (one !== 1) return;
      reviewed.set(plan.groups[row], [...(reviewed.get(plan.groups[row]) ?? []), plan.kept[row]]);
    });
    const rests = [...reviewed.values()].map((kept) => kept.slice(1));
    expect(rests.map((kept) => new Set(kept).size)).toEqual([1, 1, 1, 1]);
    expect(rests.map(([kept]) => kept).sort()).toEqual([0, 0, 1, 1]);
  });

  it(
    'has the colours of its clusters on the map, also where it was drawn unseen',
    THOROUGH,
    async () => {
      const served = await explore(WORDS, await docs());
      const { page } = await openAddress(`${served.address}#review`);
      await page.waitForResponse(/ask.map/);
      await page.click('nav >> text=Map');
      await page.waitForSelector('.legend li');
      const { drawn, wanted } = await coloursOf(page);
      expect(drawn).toEqual(expect.arrayContaining([...wanted, 'rgb(246, 247, 248)']));
    },
  );

  it(
    'takes Enter for the group, not for the button that was clicked before',
    THOROUGH,
    async () => {
      const { page } = await open();
      await page.click('nav >> text=Review');
      await page.waitForSelector('.member');
      await page.click('nav >> text=Map');
      await page.click('nav >> text=Review');
      await page.waitForFunction(() => document.activeElement?.matches('.members'));
      await page.keyboard.press('Enter'); // it opened the view again
      await page.waitForSelector('.status b:text-matches("^1 of ")');
      await page.locator('.member .action').first().click();
      await page.waitForFunction(() => document.activeElement?.matches('.members'));
      await page.keyboard.press('Enter'); // it turned the action back
      await page.waitForSelector('.status b:text-matches("^2 of ")');
      await expectAccessible(page);
      expect(await page.locator('.member').count()).toBeGreaterThan(1);
    },
  );

  it('shows what a second page decided, in place of its own', FULL, async () => {
    const { page, served } = await open();
    await page.click('nav >> text=Review');
    await page.waitForSelector('.member');
    const second = await page.context().newPage();
    await watched(second, `${served.address}#review`);
    await second.waitForSelector('.member');
    await second.keyboard.press('a');
    await second.waitForFunction(() => !document.querySelector('.member.dropped'));
    await page.keyboard.press('k');
    await page.waitForSelector('[role=alert]:has-text("decided elsewhere")');
    await page.waitForFunction(() => !document.querySelector('.member.dropped'));
    expect(await page.locator('.queue [aria-current] .tick').textContent()).toBe('○');
  });

  it('shows hostile ids and texts as text', FULL, async () => {
    const { page, requests, problems } = await open();
    await page.fill('#query', 'script alert twice');
    await page.keyboard.press('Enter');
    await page.waitForSelector('.list li');
    expect(await page.locator('.list li').first().textContent()).toContain('<script>alert(2)');
    await page.click('nav >> text=Review');
    await page.waitForSelector('.member');
    for (const button of await page.locator('.queue button').all()) await button.click();
    await page.waitForSelector('.member h2:has-text("<img src=x")');
    expect(await page.locator('img').count()).toBe(0);
    expect(await page.locator('script').count()).toBe(1);
    expect(await overflow(page)).toBe(0);
    expect([requests, problems]).toEqual([[], []]);
  });

  it(
    'can be read by other means, light, dark and in a narrow window, and nothing sticks out',
    FULL,
    async () => {
      const { page } = await open();
      await page.click('nav >> text=Review');
      await page.waitForSelector('.member');
      expect(await layoutShift(page)).toBeLessThan(0.02);
      for (const [width, height, colorScheme] of [
        [1280, 800, 'light'],
        [1280, 800, 'dark'],
        [390, 844, 'light'],
      ] as const) {
        await page.setViewportSize({ width, height });
        await page.emulateMedia({ colorScheme });
        for (const view of ['Map', 'Review']) {
          await page.click(`nav >> text=${view}`);
          await expectAccessible(page);
          expect([view, width, await overflow(page)]).toEqual([view, width, 0]);
        }
      }
    },
  );

  it('is not given to another token, or another name of this machine', FULL, async () => {
    const served = await explore(WORDS, await docs());
    const { origin, port, pathname } = new URL(served.address);
    // The names of a site of others lead to this machine: DNS rebinding.
    const args = ['--host-resolver-rules=MAP evil.example 127.0.0.1'];
    const { page } = await openAddress(`${origin}/wrong-token/`, { args });
    const shown = async (address: string) => {
      const response = await page.goto(address);
      return [response?.status(), (await page.locator('body').textContent())?.slice(0, 8)];
    };
    expect(await shown(`${origin}/wrong-token/`)).toEqual([403, 'refused:']);
    expect(await shown(`http://evil.example:${port}${pathname}`)).toEqual([403, 'refused:']);
    // A page of others in the same browser asks.
    const asked = await page.evaluate(async (address) => {
      const body = {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: 'null',
      };
      return fetch(`${address}ask/about`, body).then(
        (response) => response.status,
        () => 'blocked',
      );
    }, served.address);
    expect(asked).toBe('blocked');
    expect((await shown(served.address))[0]).toBe(200);
  });

  it(
    'says so when the server is killed in the middle of a save; the plan is whole',
    FULL,
    async () => {
      const { page, served, cwd } = await open();
      await page.click('nav >> text=Review');
      await page.waitForSelector('.member');
      const before = await readPlan(join(cwd, 'docs-plan.jsonl'));
      const asked = page.waitForRequest(/ask.decide/);
      await page.keyboard.press('k');
      await asked;
      served.child.kill('SIGKILL');
      await served.stopped;
      await page.keyboard.press('Enter');
      await page.waitForSelector('[role=alert]:has-text("is halfspace explore still running?")');
      const after = await readPlan(join(cwd, 'docs-plan.jsonl'));
      const changed = [...after.kept.keys()].filter((row) => after.kept[row] !== before.kept[row]);
      expect([0, 2]).toContain(changed.length);
    },
  );
});
