import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openRows, words } from '../../src/node';
import { Draws } from '../reference/random';
import { ownFolder, rowsOf, run, runInTerminal } from './run';

interface Line {
  readonly documents: number;
  readonly words: number;
  readonly characters: number;
  readonly share: number;
  readonly id: string;
  readonly at: number;
  readonly id_2: string;
  readonly at_2: number;
  readonly id_3: string | null;
  readonly at_3: number | null;
  readonly text: string;
}

/** Words drawn from so many, so that runs of 20 never agree by chance. */
const draws = new Draws('passages');
const drawnWords = (count: number) => Array.from({ length: count }, () => `w${draws.integer(500)}`);

async function found(texts: readonly (string | null)[], ...options: string[]) {
  const cwd = await ownFolder();
  const lines = texts.map((body, i) => `${JSON.stringify({ id: `d${i}`, body })}\n`);
  writeFileSync(join(cwd, 'docs.jsonl'), lines.join(''));
  const outcome = await run(['passages', 'docs.jsonl', '--text', 'body', ...options], { cwd });
  return { cwd, ...outcome, rows: outcome.code === 0 ? rowsOf<Line>(outcome.stdout) : [] };
}

/** The documents that have a run of words, by comparing it at every place. */
function documentsWith(run: readonly string[], all: readonly (readonly string[])[]): number[] {
  const joined = ` ${run.join(' ')} `;
  return all.flatMap((own, i) => (` ${own.join(' ')} `.includes(joined) ? [i] : []));
}

/** The runs of `width` words. */
function runsOf(own: readonly string[], width: number): string[] {
  const last = own.length - width;
  return Array.from({ length: Math.max(0, last + 1) }, (_, at) =>
    own.slice(at, at + width).join(' '),
  );
}

/** The runs of `width` words that two documents or more have. */
function repeatedRuns(all: readonly (readonly string[])[], width: number): Set<string> {
  const seen = new Set<string>();
  const repeated = new Set<string>();
  for (const own of all) {
    const runs = new Set(runsOf(own, width));
    for (const run of runs) (seen.has(run) ? repeated : seen).add(run);
  }
  return repeated;
}

/** The share of all words that are in such runs. */
function shareIn(all: readonly (readonly string[])[], runs: Set<string>, width: number): number {
  const flags = all.flatMap((own) => {
    const isIn = own.map(() => false);
    runsOf(own, width).forEach((run, at) => {
      if (runs.has(run)) isIn.fill(true, at, at + width);
    });
    return isIn;
  });
  return flags.filter(Boolean).length / flags.length;
}

/** Documents of own words between passages of few kinds, some cut; some in other case and marks. */
function corpus(): string[] {
  const kinds = Array.from({ length: 6 }, (_, i) => drawnWords(30 + 25 * i));
  return Array.from({ length: 120 }, () => {
    const parts: string[][] = [drawnWords(draws.integer(60))];
    for (const kind of kinds) {
      if (draws.integer(3) > 0) continue;
      const isCut = draws.integer(6) === 0;
      parts.push(isCut ? kind.slice(draws.integer(20)) : kind, drawnWords(1 + draws.integer(50)));
    }
    const all = parts.flat().join(draws.integer(2) === 0 ? ' ' : ',\n');
    return draws.integer(3) === 0 ? all.toUpperCase() : all;
  });
}

const escapes = '\x1b[31mred \u202e\x07';

describe('halfspace passages', () => {
  it('reads any text: marks, pairs of characters, other forms, no words, null', async () => {
    const han = Array.from({ length: 50 }, (_, i) => String.fromCharCode(0x4e00 + 7 * i)).join('');
    const composed = Array.from({ length: 40 }, (_, i) => `Ångström${i}é`)
      .join(' ')
      .normalize('NFC');
    const texts = [
      `Ein Anfang: ${han}。 ${composed} ΟΔΟΣ`,
      `another one, ${composed.normalize('NFD')}, ΟΔΟΣΑ 🦊 ${han}`,
      `${composed.toUpperCase()} ﬁn`,
      ...['', null, '…', 'too short'],
    ];
    const { rows, code, stderr } = await found(texts, '--min-words', '16');
    expect([code, stderr]).toEqual([0, expect.stringContaining('7 documents, ')]);
    expect(rows.map((row) => [row.documents, row.words, row.text, row.at, row.id_2])).toEqual([
      [3, 40, composed, (texts[0] as string).indexOf(composed), 'd1'],
      [2, 49, han, 12, 'd1'],
    ]);
    expect([rows[0].at_2, rows[0].at_3, rows[1].at_2, rows[1].at_3]).toEqual([
      ...[13, 0, (texts[1] as string).indexOf(han), null],
    ]);
    const kept = await found(texts, '--min-words', '16', '--case', 'keep');
    expect(kept.rows.map(({ documents }) => documents)).toEqual([2, 2]);
  });

  it('compares what --normalize leaves, and counts places in it', async () => {
    const note = drawnWords(60).map((word) =>
      word.replaceAll(/\d/g, (digit) => 'abcdefghij'[+digit]),
    );
    const page = (date: string) =>
      `<p>${note.slice(0, 30).join(' ')} ${date} <b>${note.slice(30).join(' ')}</b>`;
    const texts = [page('1'), `x ${page('2')}`];
    expect((await found(texts, '--min-words', '45')).rows).toEqual([]);
    const { rows } = await found(texts, '--normalize', 'html,numbers', '--min-words', '45');
    expect(rows).toMatchObject([{ documents: 2, words: 60, at: 1, at_2: 3 }]);
  });

  it('reports a part of another passage only where twice as many documents have it', async () => {
    const whole = drawnWords(120);
    const texts = (parts: number) => [
      ...Array.from({ length: 3 }, () => [...drawnWords(9), ...whole, ...drawnWords(9)].join(' ')),
      ...Array.from({ length: parts }, () => [...whole.slice(0, 45), ...drawnWords(9)].join(' ')),
    ];
    const of = async (parts: number) =>
      (await found(texts(parts))).rows.map(({ documents, words }) => [documents, words]);
    expect(await of(2)).toEqual([[3, 120]]);
    expect(await of(3)).toEqual([
      [3, 120],
      [6, 45],
    ]);
  });

  it('writes every format, an empty one too, and the same bytes each time', {
    tags: 'thorough',
  }, async () => {
    const texts = corpus();
    const { cwd, rows } = await found(texts);
    const words = ['passages', 'docs.jsonl', '--text', 'body', '-q'];
    for (const format of ['csv', 'arrow', 'parquet', 'jsonl']) {
      expect((await run([...words, '-o', `p.${format}`], { cwd })).code).toBe(0);
      const texts: unknown[] = [];
      for await (const batch of await openRows(join(cwd, `p.${format}`))) {
        texts.push(...batch.values('text'));
      }
      expect(texts).toEqual(rows.map(({ text }) => text));
    }
    const twice = await Promise.all([run(words, { cwd }), run(words, { cwd })]);
    expect(twice[0].stdout).toBe(twice[1].stdout);
    const none = await found(['nothing', 'is repeated']);
    expect([none.code, none.rows]).toEqual([0, []]);
    for (const to of ['csv', 'arrow', 'parquet']) {
      const outcome = await run([...words, '--to', to], { cwd: none.cwd });
      expect([outcome.code, outcome.stderr]).toEqual([0, '']);
    }
    const arrow = await run([...words, '--limit', '3', '--json'], { cwd });
    expect(JSON.parse(arrow.stdout)).toHaveLength(3);
  });

  it('shows a table on a terminal, and nothing that it would obey', async () => {
    const note = `${escapes} ${drawnWords(60).join(' ')}`;
    const { cwd } = await found([note, `b ${note}`]);
    const { stdout } = await runInTerminal(['passages', 'docs.jsonl', '--text', 'body'], { cwd });
    expect(stdout).toMatch(/documents +words +characters/);
    expect(stdout).toContain('�');
    for (const part of ['\x1b[31m', '\u202e', '\x07']) expect(stdout).not.toContain(part);
  });

  it('refuses stdin, what memory cannot hold, and wrong words', { tags: 'thorough' }, async () => {
    const cwd = await ownFolder();
    writeFileSync(join(cwd, 'docs.jsonl'), '{"body": "a"}\nbroken\n{"body": "b"}\n');
    for (const [words, code, message] of [
      [['-', '--from', 'jsonl'], 2, 'reads a file four times: name one, not -'],
      [['docs.jsonl'], 3, 'docs.jsonl: line 2'],
      [['docs.jsonl', '--on-error', 'skip', '--max-memory', '1M'], 1, 'more than --max-memory'],
      [['docs.jsonl', '--on-error', 'skip', '--normalize', 'x'], 2, '--normalize expected'],
      [['docs.jsonl', '--min-words', '3'], 2, '--min-words expected'],
      [['docs.jsonl', '--on-error', 'skip', '--text', 'no'], 1, 'no column "no"'],
      [['none.jsonl'], 1, 'none.jsonl'],
    ] as const) {
      const outcome = await run(['passages', ...words], { cwd });
      expect([outcome.code, outcome.stderr]).toEqual([code, expect.stringContaining(message)]);
    }
    const skipped = await run(['passages', 'docs.jsonl', '--on-error', 'skip'], { cwd });
    expect(skipped.stderr.match(/skipped 1 line/g)).toHaveLength(1);
  });

  it('reports what brute force finds: documents, words, places, and no run that is not shared', async () => {
    for (const width of [16, 25]) {
      const texts = corpus();
      const all = texts.map((text) => [...words(text)]);
      const { rows, stderr } = await found(texts, '--min-words', String(width), '--limit', '1000');
      expect(rows.length).toBeGreaterThan(5);
      const reported = new Set<string>();
      for (const row of rows) {
        const own = [...words(row.text)];
        const documents = documentsWith(own, all);
        expect(row).toMatchObject({ words: own.length, documents: documents.length });
        expect(own.length).toBeGreaterThanOrEqual(width);
        expect(row.characters).toBe(row.text.length);
        expect([row.id, row.id_2, row.id_3]).toEqual(
          [0, 1, 2].map((i) => (i < documents.length ? `d${documents[i]}` : null)),
        );
        for (const [document, at] of [
          [documents[0], row.at],
          [documents[1], row.at_2],
          [documents[2], row.at_3],
        ]) {
          if (document === undefined || document === null) continue;
          const there = [...words(texts[document].slice(at as number))].slice(0, own.length);
          expect(there).toEqual(own);
        }
        const inTwo = (run: string[]) => documentsWith(run, all).length === documents.length;
        // No further word is in all of them.
        const [first] = documents;
        const from = [...words(texts[first].slice(0, row.at))].length;
        if (from > 0) expect(inTwo([all[first][from - 1], ...own])).toBe(false);
        const next = all[first][from + own.length];
        if (next !== undefined) expect(inTwo([...own, next])).toBe(false);
        for (const key of runsOf(own, width)) reported.add(key);
      }
      // A run that is long enough to be drawn in any case has a part in a passage.
      const certain = repeatedRuns(all, width + 15);
      const missed = [...certain].filter(
        (key) => !runsOf(key.split(' '), width).some((part) => reported.has(part)),
      );
      expect([certain.size > 200, missed]).toEqual([true, []]);
      const share = Number(/at least ([\d.]+) %/.exec(stderr)?.[1]) / 100;
      expect(share).toBeLessThanOrEqual(shareIn(all, repeatedRuns(all, width), width) + 0.0005);
      expect(share).toBeGreaterThan(0.8 * shareIn(all, certain, width + 15));
    }
  });
});
