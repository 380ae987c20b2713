import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hammingDistance, SimHasher, shingles, words } from '../../src/index';
import { Draws, dot } from '../reference/random';
import { ownFolder, run, runInTerminal } from './run';

const folder = mkdtempSync(join(tmpdir(), 'halfspace-calibrate-'));
afterAll(() => rmSync(folder, { recursive: true }));
const at = (name: string) => join(folder, name);

const draws = new Draws('calibrate');
/** Rows 4i to 4i + 3 are near each other. */
const vectors = Array.from({ length: 40 }, () => draws.gaussians(12)).flatMap((centre) =>
  Array.from({ length: 4 }, () => Array.from(centre, (value) => value + 0.3 * draws.gaussian())),
);
beforeAll(() => {
  const jsonl = (rows: object[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join('');
  writeFileSync(
    at('vectors.jsonl'),
    jsonl(vectors.map((embedding, i) => ({ id: `v${i}`, embedding }))),
  );
  writeFileSync(at('one.jsonl'), jsonl([{ embedding: [1, 2] }, { embedding: [0, 0] }]));
});

interface Told {
  fileRows: number;
  drawn: number;
  withoutDirection: number;
  command: string;
  calibration: {
    measure: string;
    minSimilarity: number;
    nearPairs: number;
    pairs: number;
    recommended: {
      bits: number;
      maxDistance: number;
      at: { found: number; precision: number; recall: number };
    };
    distances: { pairs: number[]; near: number[]; nearest: number[] };
  };
}

/** Pairs of rows by the definition, at a width. */
function pairsOf(codes: readonly Uint8Array[], cosine: (a: number, b: number) => number) {
  return codes.flatMap((code, a) =>
    codes.slice(a + 1).map((other, i) => {
      return {
        a,
        b: a + 1 + i,
        distance: hammingDistance(code, other),
        cosine: cosine(a, a + 1 + i),
      };
    }),
  );
}

/** The words of a shell's line; quotes as `commandLine` puts them. */
function shellWords(line: string): string[] {
  const words = line.match(/(?:'[^']*'|\\'|[^\s'\\])+/g) ?? [];
  return words.map((word) => word.replace(/'([^']*)'|\\(')/g, (_, quoted, bare) => quoted ?? bare));
}

describe('calibrate', () => {
  it('tells what brute force over the same rows tells, as data', async () => {
    const args = ['calibrate', at('vectors.jsonl'), '--min-cosine', '0.85', '--json', '--quiet'];
    const { code, stdout, stderr } = await run(args);
    expect([code, stderr]).toEqual([0, '']);
    const told: Told = JSON.parse(stdout);
    const { recommended, distances } = told.calibration;
    expect([told.fileRows, told.drawn, told.withoutDirection]).toEqual([160, 160, 0]);
    const { bits, maxDistance } = recommended;
    const hasher = new SimHasher({ bits, projection: 'hadamard', dimensions: 12 });
    const cosine = (a: number, b: number) =>
      dot(vectors[a], vectors[b]) /
      Math.sqrt(dot(vectors[a], vectors[a]) * dot(vectors[b], vectors[b]));
    const pairs = pairsOf(
      vectors.map((vector) => hasher.hash(vector)),
      cosine,
    );
    const near = pairs.filter((pair) => pair.cosine >= 0.85);
    const found = pairs.filter(({ distance }) => distance <= maxDistance);
    const right = found.filter((pair) => pair.cosine >= 0.85);
    expect([told.calibration.pairs, told.calibration.nearPairs]).toEqual([
      pairs.length,
      near.length,
    ]);
    expect(recommended.at.precision).toBeCloseTo(right.length / found.length, 12);
    expect(recommended.at.recall).toBeCloseTo(right.length / near.length, 12);
    const counts = new Array(bits + 1).fill(0);
    for (const { distance } of pairs) counts[distance]++;
    expect(distances.pairs).toEqual(counts);
  });

  it('shows histograms and tables, and the command, as text', async () => {
    const { code, stdout, stderr } = await run([
      'calibrate',
      at('vectors.jsonl'),
      '--min-cosine',
      '0.85',
    ]);
    expect(code).toBe(0);
    expect(stderr).toContain('reading vectors from column "embedding"');
    const headings = ['How far rows are', 'How many bits', 'Which distance', 'Recommended'];
    for (const part of ['All 160 rows', '12,720 pairs', ...headings, '█']) {
      expect(stdout).toContain(part);
    }
    const [command] = stdout.match(/halfspace dedup .*/) ?? [];
    expect(command).toMatch(
      /--vector embedding --projection hadamard --bits \d+ --max-distance \d+ -o plan\.jsonl$/,
    );
    expect(stdout).not.toMatch(/NaN|undefined|\p{Cc}\[/u);
  });

  it('draws the same rows by the same seed, in whatever pieces they come', {
    tags: 'thorough',
  }, async () => {
    const args = ['--sample', '50', '--json', '--quiet'];
    const first = await run(['calibrate', at('vectors.jsonl'), ...args]);
    const input = readFileSync(at('vectors.jsonl'));
    const piped = await run(['calibrate', '-', '--from', 'jsonl', ...args], { input });
    const other = await run(['calibrate', at('vectors.jsonl'), '--seed', '9', ...args]);
    const told = [first, piped, other].map(({ stdout }): Told => JSON.parse(stdout));
    expect(told[0].drawn).toBe(50);
    expect(told[1].calibration).toEqual(told[0].calibration);
    expect(told[2].calibration.distances).not.toEqual(told[0].calibration.distances);
    expect(shellWords(told[1].command).slice(1, 7)).toEqual([
      'dedup',
      '-',
      '--vector',
      'embedding',
      '--from',
      'jsonl',
    ]);
  });

  it('says that there is nothing to compare where one row has a direction', async () => {
    const { code, stdout } = await run(['calibrate', at('one.jsonl')]);
    expect(code).toBe(0);
    expect(stdout).toContain('Fewer than two rows can be compared');
    expect(stdout).toContain('1 row without a direction');
  });

  it('works as its help shows', async () => {
    const { stdout } = await run(['calibrate', '--help']);
    const example = stdout.trimEnd().split('\n').at(-1) as string;
    const { code, stdout: text } = await run([...shellWords(example).slice(1), '--sample', '300']);
    expect([code, text.includes('Recommended')]).toEqual([0, true]);
  });

  it('shows progress in a terminal', async () => {
    const { code, stdout } = await runInTerminal(['calibrate', at('vectors.jsonl')]);
    expect([code, stdout.includes('Recommended')]).toEqual([0, true]);
  });
});

describe('calibrate by Jaccard similarity', () => {
  /** Families of texts whose words are partly replaced, in the order of their families. */
  const sentences = Array.from({ length: 30 }, (_, family) =>
    Array.from({ length: 60 }, () => `w${family}x${draws.integer(400)}`),
  ).flatMap((words) =>
    [0, 0.05, 0.1, 0.15].map((share) =>
      words.map((word) => (draws.uniform() < share ? `o${draws.integer(1e9)}` : word)).join(' '),
    ),
  );
  const pairsWithin = (sets: readonly ReadonlySet<unknown>[], least: number) =>
    sets.flatMap((a, i) =>
      sets.slice(i + 1).filter((b) => {
        const common = [...a].filter((one) => b.has(one)).length;
        return common / (a.size + b.size - common) >= least;
      }),
    ).length;
  const told = async (...words: string[]): Promise<Told> => {
    const { code, stdout, stderr } = await run(['calibrate', ...words, '--json', '--quiet']);
    expect([code, stderr]).toEqual([0, '']);
    return JSON.parse(stdout);
  };
  /** How many pairs the recommended options find. */
  const foundBy = async ({ command }: Told): Promise<number> => {
    const words = shellWords(command).slice(2, -2);
    const { stdout } = await run(['pairs', ...words, '--quiet']);
    return stdout.split('\n').length - 1;
  };

  it('measures texts as dedup reads them, and its command finds what it says', async () => {
    writeFileSync(at('texts.jsonl'), sentences.map((body) => JSON.stringify({ body })).join('\n'));
    for (const [options, tokens] of [
      [[], shingles(2)],
      [['--tokens', 'words'], words],
    ] as const) {
      const near = ['--text', 'body', '--min-jaccard', '0.7', ...options];
      const one = await told(at('texts.jsonl'), ...near);
      const sets = sentences.map((text) => new Set(tokens(text)));
      const { measure, minSimilarity, nearPairs, pairs, recommended } = one.calibration;
      expect([measure, minSimilarity, pairs]).toEqual(['jaccard', 0.7, (120 * 119) / 2]);
      expect(nearPairs).toBe(pairsWithin(sets, 0.7));
      expect(nearPairs).toBeGreaterThan(30);
      for (const option of [...options, '--measure jaccard']) expect(one.command).toContain(option);
      expect(await foundBy(one)).toBe(recommended.at.found);
    }
  });

  it('measures sparse vectors as sets, weights or not', async () => {
    const sets = sentences.map((text) => [...new Set(text.split(' '))]);
    const numbers = new Map(sets.flat().map((word, i) => [word, i]));
    const lines = sets.map((some) => {
      const ix = some.map((word) => numbers.get(word));
      return JSON.stringify({ ix, w: ix.map(() => 0.1 + draws.uniform()) });
    });
    writeFileSync(at('sparse.jsonl'), lines.join('\n'));
    const columns = ['--vector', 'ix,w', '--measure', 'jaccard'];
    const one = await told(at('sparse.jsonl'), ...columns);
    const least = pairsWithin(
      sets.map((some) => new Set(some)),
      0.6,
    );
    expect([one.calibration.minSimilarity, one.calibration.nearPairs]).toEqual([0.6, least]);
    expect(await foundBy(one)).toBe(one.calibration.recommended.at.found);
  });

  it('shows tables of Jaccard similarities, and no cosine', async () => {
    const { stdout } = await run(['calibrate', at('texts.jsonl'), '--min-jaccard', '0.7', '-q']);
    for (const part of [
      'compared by exact Jaccard similarity',
      'pairs at Jaccard similarity 0.7',
    ]) {
      expect(stdout).toContain(part);
    }
    expect(stdout).not.toMatch(/cosine|NaN|undefined/);
  });

  it.each([
    [['--min-jaccard', '0.7', '--min-cosine', '0.9'], 2, '--min-cosine needs codes made by'],
    [['--min-jaccard', '0.7', '--edits', '0.1'], 2, '--min-jaccard measures distances: leave one'],
    [['--min-jaccard', '0.7', '--projection', 'signs'], 2, '--min-jaccard does not go with'],
    [['--min-jaccard', '0.7', '--cosine-error', '0.1'], 2, 'give --jaccard-error'],
    [['--min-jaccard', '0'], 2, '--min-jaccard expected a number above 0 and at most 1, got 0'],
    [['--min-jaccard', '0.7', '--pairs', 'x.csv'], 2, '--min-jaccard is what calibrate compares'],
  ])('refuses %j', async (options, code, message) => {
    const outcome = await run(['calibrate', at('texts.jsonl'), ...options]);
    expect(outcome.code).toBe(code);
    expect(outcome.stderr).toContain(message);
  });
});

describe('calibrate refuses', () => {
  it.each([
    [['--min-cosine', '2'], 2, '--min-cosine expected a number above -1 and at most 1, got 2'],
    [['--cosine-error', '0'], 2, '--cosine-error expected a number in 0.001..1, got 0'],
    [['--sample', '1'], 2, '--sample expected an integer in 2..20000, got 1'],
    [['--bits', '0'], 2, '--bits expected an integer in 1..65535, got 0'],
    [['--measure', 'jaccard'], 2, 'compares sets, which are texts or sparse vectors: '],
    [['--min-jaccard', '0.5'], 2, 'has dense ones in "embedding"'],
    [['--jaccard-error', '0.1'], 2, '--jaccard-error is not of cosine: give --cosine-error'],
    [['--edits', '0.2'], 2, '--edits is of texts: vectors have no words to edit'],
    [['--vector', 'nothing'], 1, 'no column "nothing"'],
  ])('%j', async (words, code, message) => {
    const outcome = await run(['calibrate', at('vectors.jsonl'), ...words]);
    expect(outcome.code).toBe(code);
    expect(outcome.stderr).toContain(message);
    expect(outcome.stderr.trimEnd().split('\n').at(-1)).toMatch(/^halfspace: /);
  });

  it('an output that exists, unless it is forced, and leaves it as it was', async () => {
    const own = await ownFolder();
    const target = join(own, 'data.json');
    writeFileSync(target, 'mine');
    const args = ['calibrate', at('vectors.jsonl'), '-o', target];
    const refused = await run(args);
    expect([refused.code, readFileSync(target, 'utf8')]).toEqual([1, 'mine']);
    expect(refused.stderr).toContain('--force');
    expect((await run([...args, '--force'])).code).toBe(0);
    expect(JSON.parse(readFileSync(target, 'utf8')).fileRows).toBe(160);
    expect(readdirSync(own)).toEqual(['data.json']);
  });

  it('a value that is no number, and names its row', async () => {
    writeFileSync(at('bad.jsonl'), '{"v":[1,2]}\n{"v":[1e308,1e308]}\n');
    const { code, stderr } = await run(['calibrate', at('bad.jsonl')]);
    expect(code).toBe(3);
    expect(stderr).toContain('row 1: expected finite values');
    expect(existsSync(at('plan.html'))).toBe(false);
  });
});
