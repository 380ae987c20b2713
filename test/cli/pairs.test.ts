import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tableFromIPC, tableToIPC } from 'apache-arrow';
import seedrandom from 'seedrandom';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Codes, hammingDistance, SimHashIndex, TextHasher } from '../../src/index';
import { createRows, RowBatch, saveIndex } from '../../src/node';
import { writeCodes } from '../reference/arrow';
import { rowsOf, run } from './run';

interface Pair {
  a: number;
  b: number;
  id_a?: string | number;
  id_b?: string | number;
  distance: number;
  cosine?: number;
  estimatedCosine?: number;
}

const folder = mkdtempSync(join(tmpdir(), 'halfspace-pairs-'));
afterAll(() => rmSync(folder, { recursive: true }));
const at = (name: string) => join(folder, name);
const linesOf = rowsOf<Pair>;
const bare = (pairs: readonly Pair[]) => pairs.map(({ a, b, distance }) => [a, b, distance]);

/** Codes of which each third is near the one before it. */
function nearCodes(count: number, bits: number, seed: string): Codes {
  const random = seedrandom.alea(seed);
  const codes = Codes.allocate(count, { bits });
  for (let row = 0; row < count; row++) {
    const code = codes.at(row);
    if (row % 3 === 2) {
      code.set(codes.at(row - 1));
      for (let flips = row % 6; flips > 0; flips--) {
        const bit = Math.floor(random() * bits);
        code[bit >> 3] ^= 1 << (bit & 7);
      }
    } else for (let i = 0; i < code.length; i++) code[i] = Math.floor(random() * 256);
  }
  return codes;
}

function allPairs(left: Codes, right: Codes | null, most: number): number[][] {
  const found: number[][] = [];
  for (let a = 0; a < left.count; a++) {
    for (let b = right === null ? a + 1 : 0; b < (right ?? left).count; b++) {
      const distance = hammingDistance(left.at(a), (right ?? left).at(b));
      if (distance <= most) found.push([a, b, distance]);
    }
  }
  return found;
}

const cosine = (a: readonly number[], b: readonly number[]) => {
  const dot = (x: readonly number[], y: readonly number[]) =>
    x.reduce((s, v, i) => s + v * y[i], 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
};

const codes = nearCodes(600, 64, 'one');
const others = nearCodes(200, 64, 'one'); // the same rows at first, fewer of them
const ids = Array.from({ length: 600 }, (_, row) => `row-${row}`);
const random = seedrandom.alea('vectors');
const vectors = Array.from({ length: 150 }, (_, row) =>
  Array.from({ length: 12 }, (_, i) => Math.fround((row % 15) * (i % 4) + 6 * random() - 3)),
);

beforeAll(async () => {
  await writeCodes(at('codes.arrow'), codes, { ids });
  await writeCodes(at('others.arrow'), others, {
    ids: Int32Array.from({ length: 200 }, (_, row) => 1000 + row),
  });
  writeFileSync(
    at('vectors.jsonl'),
    vectors.map((vector, id) => `${JSON.stringify({ id, vector })}\n`).join(''),
  );
});

describe('halfspace pairs', () => {
  it('finds the pairs that a loop over all codes finds, with ids and estimated cosines', async () => {
    const { code, stdout } = await run(['pairs', at('codes.arrow'), '--max-distance', '5']);
    expect(code).toBe(0);
    const found = linesOf(stdout);
    expect(found.length).toBeGreaterThan(100);
    expect(bare(found)).toEqual(allPairs(codes, null, 5));
    for (const pair of found) {
      expect([pair.id_a, pair.id_b]).toEqual([`row-${pair.a}`, `row-${pair.b}`]);
      expect(pair.estimatedCosine).toBeCloseTo(Math.cos((Math.PI * pair.distance) / 64), 6);
    }
  });

  it('tells how many there are on stderr, and nothing with --quiet', async () => {
    const args = ['pairs', at('codes.arrow'), '--max-distance', '5', '-o'];
    const loud = await run([...args, at('loud.csv')]);
    expect(loud.stdout).toBe('');
    expect(loud.stderr).toContain(`${allPairs(codes, null, 5).length} pairs`);
    const quiet = await run([...args, at('quiet.csv'), '--quiet']);
    expect([quiet.code, quiet.stdout, quiet.stderr]).toEqual([0, '', '']);
    expect(readFileSync(at('quiet.csv'))).toEqual(readFileSync(at('loud.csv')));
  });

  it('writes an Arrow stream for pipes', async () => {
    const args = ['pairs', at('codes.arrow'), '--max-distance', '3', '-o', at('pairs.arrows')];
    expect((await run(args)).code).toBe(0);
    const table = tableFromIPC(readFileSync(at('pairs.arrows')));
    expect(table.schema.fields.map(({ name }) => name)).toEqual([
      ...['a', 'b', 'id_a', 'id_b', 'distance', 'estimatedCosine'],
    ]);
    const [a, b, distance] = ['a', 'b', 'distance'].map((name) => [
      ...(table.getChild(name) ?? []),
    ]);
    expect(a.map((row, i) => [row, b[i], distance[i]])).toEqual(allPairs(codes, null, 3));
  });

  it('pairs only rows of one group', async () => {
    const rows = ids.map((id, row) => ({
      id,
      code: String(row),
      group: row % 4 === 3 ? null : row % 7,
    }));
    const batch = RowBatch.of({
      id: ids,
      group: rows.map(({ group }) => group),
      code: codes,
    });
    const file = await createRows(at('grouped.arrow'));
    await file.write(batch);
    await file.close();
    const args = ['--within', 'group'];
    const found = await run(['pairs', at('grouped.arrow'), '--max-distance', '20', '-q', ...args]);
    expect(found.stderr).toBe('');
    const expected = allPairs(codes, null, 20).filter(([a, b]) => {
      const [one, other] = [rows[a].group, rows[b].group];
      return one !== null && one === other;
    });
    expect(expected.length).toBeGreaterThan(10);
    expect(rowsOf(found.stdout)).toEqual(
      expected.map(([a, b, distance]) =>
        expect.objectContaining({ a, b, id_a: ids[a], id_b: ids[b], distance }),
      ),
    );
  });

  it('pairs the rows of two files, each with its own ids', async () => {
    const both = [at('codes.arrow'), at('others.arrow')];
    const { code, stdout } = await run(['pairs', ...both, '--max-distance', '2']);
    expect(code).toBe(0);
    const found = linesOf(stdout);
    expect(bare(found)).toEqual(allPairs(codes, others, 2));
    expect(found.length).toBeGreaterThanOrEqual(200);
    for (const { a, b, id_a, id_b } of found) expect([id_a, id_b]).toEqual([`row-${a}`, 1000 + b]);
  });

  it('goes by numbers of rows with --id none, unless a column has that name', async () => {
    const idsOf = async (column: string) => {
      const input = ['x', 'y'].map((id) => `{"one":"a b","${column}":"${id}"}\n`).join('');
      const args = ['pairs', '-', '--from', 'jsonl', '--text', 'one', '--max-distance', '0'];
      const { stdout } = await run([...args, '--id', 'none'], { input });
      return linesOf(stdout).map(({ id_a, id_b }) => [id_a, id_b]);
    };
    expect(await idsOf('id')).toEqual([[undefined, undefined]]);
    expect(await idsOf('none')).toEqual([['x', 'y']]);
  });

  it('reads one of them from stdin', async () => {
    const input = tableToIPC(tableFromIPC(readFileSync(at('others.arrow'))), 'stream');
    const args = ['pairs', at('codes.arrow'), '-', '--from', 'arrows', '--max-distance', '2'];
    const { code, stdout } = await run(args, { input });
    expect(code).toBe(0);
    expect(bare(linesOf(stdout))).toEqual(allPairs(codes, others, 2));
  });

  it('goes by exact cosines where vectors are given', { tags: 'thorough' }, async () => {
    const args = ['pairs', at('vectors.jsonl'), '--min-cosine', '0.97'];
    const { code, stdout, stderr } = await run(args);
    expect([code, stderr]).toEqual([0, expect.stringMatching(/99(\.\d)? % of the pairs at 0\.97/)]);
    const found = linesOf(stdout);
    const near = vectors.flatMap((one, a) =>
      vectors.flatMap((other, b) => (b > a && cosine(one, other) >= 0.97 ? [[a, b]] : [])),
    );
    expect(near.length).toBeGreaterThan(100);
    expect(found.length).toBeGreaterThan(0.97 * near.length);
    const names = new Set(near.map(String));
    for (const { a, b, cosine: told } of found) {
      expect(names).toContain(`${a},${b}`);
      expect(told).toBeCloseTo(cosine(vectors[a], vectors[b]), 5);
    }
  });

  it('takes a cosine of codes as an estimate, and says so', async () => {
    const args = ['pairs', at('codes.arrow'), '--min-cosine', '0.95'];
    const { code, stdout, stderr } = await run(args);
    expect(code).toBe(0);
    // cos(6 π / 64) is .957, cos(7 π / 64) .941.
    expect(stderr).toContain('cosine 0.95 or more is taken as within 6 of 64 bits: an estimate');
    expect(bare(linesOf(stdout))).toEqual(allPairs(codes, null, 6));
  });

  it('pairs the rows of an index, and those of a file, hashed alike, with them', async () => {
    const index = new SimHashIndex({ bits: 96, dimensions: 12, seed: 5, vectors: 'float32' });
    const names = vectors.map((_, row) => `v${row}`);
    await index.addAll(vectors, names);
    index.remove('v3');
    await saveIndex(index, at('index.hs'));
    const alone = await run(['pairs', at('index.hs'), '--max-distance', '4']);
    expect(alone.code).toBe(0);
    const codeOf = (row: number) => index.get(names[row])?.code as Uint8Array;
    const found: unknown[] = [];
    const there = names.map((_, row) => row).filter((row) => row !== 3);
    for (const a of there) {
      for (const b of there.filter((row) => row > a)) {
        const distance = hammingDistance(codeOf(a), codeOf(b));
        if (distance <= 4) found.push([names[a], names[b], distance]);
      }
    }
    expect(found.length).toBeGreaterThan(10);
    const told = linesOf(alone.stdout).map(({ id_a, id_b, distance }) => [id_a, id_b, distance]);
    expect(told).toEqual(found);
    const both = await run(['pairs', at('index.hs'), at('vectors.jsonl'), '--max-distance', '0']);
    expect(both.code).toBe(0);
    const same = linesOf(both.stdout).filter(({ id_a, id_b }) => id_a === `v${id_b}`);
    expect(same).toHaveLength(149); // each row with itself, but for the one removed
  });

  it('compares texts by their pairs of words, and tells its default', async () => {
    const words = 'one two three four five six seven eight nine ten eleven twelve'.split(' ');
    const texts = [
      ...[words.join(' '), [...words].reverse().join(' '), words.join(' - ')],
      `${words.slice(0, 11).join(' ')} dozen`,
    ];
    writeFileSync(at('texts.jsonl'), texts.map((body) => `${JSON.stringify({ body })}\n`).join(''));
    const { code, stdout, stderr } = await run(['pairs', at('texts.jsonl'), '--text', 'body']);
    expect(code).toBe(0);
    expect(stderr).toContain(
      'near are rows at a Jaccard similarity of 0.6 or more, compared exactly',
    );
    const hasher = new TextHasher({ bits: 256, tokens: 'shingles:2', projection: 'minwise' });
    const distance = (a: number, b: number) =>
      hammingDistance(hasher.hash(texts[a]), hasher.hash(texts[b]));
    // Row 3 has 10 of the 12 pairs that either has; row 1 has its own.
    expect(linesOf(stdout)).toEqual([
      { a: 0, b: 2, distance: 0, jaccard: 1 }, // the same words
      { a: 0, b: 3, distance: distance(0, 3), jaccard: 10 / 12 },
      { a: 2, b: 3, distance: distance(0, 3), jaccard: 10 / 12 },
    ]);
  });

  it('writes an empty table with its columns where there are no pairs', async () => {
    await writeCodes(at('two.arrow'), Codes.from(Uint8Array.of(0, 255), { bits: 8 }));
    const args = ['pairs', at('two.arrow'), '--max-distance', '1', '-o', at('none.csv')];
    expect((await run(args)).code).toBe(0);
    expect(readFileSync(at('none.csv'), 'utf8').trim()).toBe('a,b,distance,estimatedCosine');
  });

  it.each([
    ['no distance for codes', [], 2, /give --max-distance N or --min-cosine C/],
    [
      'a distance beyond the bits',
      ['--max-distance', '65'],
      2,
      /--max-distance expected .* in 0\.\.64, got 65/,
    ],
    [
      'a negative distance',
      ['--max-distance=-1'],
      2,
      /--max-distance expected an integer from 0 on, got -1/,
    ],
    ['a cosine that is none', ['--min-cosine', '1.5'], 2, /number in -1\.\.1, got 1\.5/],
    ['a third input', ['x', 'y', '--max-distance', '1'], 2, /one or two inputs, got also y/],
    ['a column that is not there', ['--code', 'x', '--max-distance', '1'], 2, /no column "x"/],
  ])('refuses %s', async (_, args, code, message) => {
    const result = await run(['pairs', at('codes.arrow'), ...args]);
    expect([result.code, result.stdout]).toEqual([code, '']);
    expect(result.stderr).toMatch(message);
  });

  it('refuses an output that exists, and codes of another width', async () => {
    writeFileSync(at('there.csv'), 'mine');
    const args = ['pairs', at('codes.arrow'), '--max-distance', '1', '-o', at('there.csv')];
    const there = await run(args);
    expect(there.code).toBe(1);
    expect(there.stderr).toMatch(/there\.csv.*--force/);
    expect(readFileSync(at('there.csv'), 'utf8')).toBe('mine');
    await writeCodes(at('wide.arrow'), nearCodes(10, 128, 'wide'));
    const both = [at('codes.arrow'), at('wide.arrow')];
    const other = await run(['pairs', ...both, '--max-distance', '1']);
    expect(other.code).toBe(1);
    expect(other.stderr).toContain('codes of 64 bits, as the left ones, got 128');
  });
});
