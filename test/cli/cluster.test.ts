import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import seedrandom from 'seedrandom';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SimHasher, SimHashIndex } from '../../src/index';
import { saveIndex } from '../../src/node';
import { writeCodes } from '../reference/arrow';
import { rowsOf, run, runInTerminal } from './run';

interface Line {
  row: number;
  id?: string;
  cluster: number;
  label: string | null;
}

const folder = mkdtempSync(join(tmpdir(), 'halfspace-cluster-'));
afterAll(() => rmSync(folder, { recursive: true }));
const at = (name: string) => join(folder, name);

/** Three directions, 40 rows about each, and rows of no direction among them. */
const KINDS = 3;
const DIMENSIONS = 16;
const random = seedrandom.alea('clusters');
const directions = Array.from({ length: KINDS }, () =>
  Array.from({ length: DIMENSIONS }, () => 2 * random() - 1),
);
const vectors = Array.from({ length: 40 * KINDS }, (_, row) =>
  directions[row % KINDS].map((value) => Math.fround(value + 0.3 * (random() - 0.5))),
);
const ids = vectors.map((_, row) => `v${row}`);
const hasher = new SimHasher({
  bits: 256,
  dimensions: DIMENSIONS,
  projection: 'hadamard',
  seed: 0,
});
const codes = await hasher.hashAll(vectors);

const topics = ['fruit apple pear plum fig', 'metal iron zinc tin lead', 'bird owl crow wren jay'];
const texts = Array.from({ length: 60 }, (_, row) => {
  const words = topics[row % KINDS].split(' ');
  return Array.from({ length: 12 }, () => words[Math.floor(random() * words.length)]).join(' ');
});

const unit = (vector: ArrayLike<number>) => {
  const length = Math.sqrt(Array.from(vector).reduce((sum, value) => sum + value * value, 0));
  return Array.from(vector, (value) => value / length);
};
const dot = (a: readonly number[], b: readonly number[]) =>
  a.reduce((sum, value, i) => sum + value * b[i], 0);

/** Checks every line against the rows themselves, `points` being what was clustered. */
function check(lines: readonly Line[], points: readonly ArrayLike<number>[]): void {
  expect(lines.map(({ row }) => row)).toEqual(points.map((_, row) => row));
  const units = points.map(unit);
  for (let kind = 0; kind < KINDS; kind++) {
    const members = lines.filter(({ row }) => row % KINDS === kind);
    expect(new Set(members.map((line) => line.cluster)).size).toBe(1);
    const rows = members.map(({ row }) => row);
    const sum = rows.reduce(
      (all, row) => all.map((value, i) => value + units[row][i]),
      new Array<number>(units[0].length).fill(0),
    );
    // Of the largest mean cosine to all: of the largest to their sum.
    const best = rows.reduce((one, row) =>
      dot(units[row], sum) > dot(units[one], sum) ? row : one,
    );
    // A cluster is called by the row that is most like all of its rows.
    for (const { label } of members) expect(label).toBe(ids[best]);
  }
  expect(new Set(lines.map((line) => line.cluster)).size).toBe(KINDS);
}

beforeAll(async () => {
  writeFileSync(
    at('vectors.jsonl'),
    vectors.map((vector, row) => `${JSON.stringify({ id: ids[row], vector })}\n`).join(''),
  );
  writeFileSync(at('texts.txt'), `${texts.join('\n')}\n`);
  await writeCodes(at('codes.arrow'), codes, { ids });
});

describe('halfspace cluster', () => {
  it('gives each row its cluster, called by its medoid, by vectors', async () => {
    const args = ['cluster', at('vectors.jsonl'), '--clusters', '3', '-o', at('out.jsonl')];
    const { code, stdout, stderr } = await run(args);
    expect([code, stdout]).toEqual([0, '']);
    const lines = rowsOf<Line>(readFileSync(at('out.jsonl'), 'utf8'));
    check(lines, vectors);
    for (const line of lines) expect(line.id).toBe(ids[line.row]);
    expect(stderr).toContain('120 rows in 3 clusters');
    for (const { label } of lines) expect(stderr).toMatch(new RegExp(` ${label}\\b`));
  });

  it('goes by codes, which is what there is of codes', async () => {
    const { code, stdout } = await run(['cluster', at('codes.arrow'), '--clusters', '3']);
    expect(code).toBe(0);
    const bits = vectors.map((_, row) =>
      Array.from({ length: 256 }, (_, j) => ((codes.at(row)[j >> 3] >> (j & 7)) & 1 ? 1 : -1)),
    );
    check(rowsOf<Line>(stdout), bits);
  });

  it('clusters the rows of an index', async () => {
    const index = new SimHashIndex({
      ...{ bits: 256, dimensions: DIMENSIONS, projection: 'hadamard', vectors: 'float32' },
    });
    await index.addAll(vectors, ids);
    await saveIndex(index, at('index.hs'));
    const { code, stdout } = await run(['cluster', at('index.hs'), '--clusters', '3']);
    expect(code).toBe(0);
    check(rowsOf<Line>(stdout), vectors);
    // The seed is that of k-means, not of the codes.
    const other = await run(['cluster', at('index.hs'), '--clusters', '3', '--seed', '4']);
    expect(other.code).toBe(0);
    check(rowsOf<Line>(other.stdout), vectors);
  });

  it('names clusters of texts by words that set them apart, not by what all share', async () => {
    const head =
      'Licensed to the authors under the terms of this licence, see /opt/docs/all/README.';
    const subjects = ['harbour anchor captain whale', 'butter oven flour recipe'];
    const lines = Array.from({ length: 40 }, (_, i) => {
      const words = subjects[i % 2].split(' ');
      const own = `${words[i % 4]} ${words[(i >> 2) % 4]} ${words[(i >> 1) % 4]} `;
      return JSON.stringify({ text: `${head} ${own.repeat(6)}` });
    });
    writeFileSync(at('subjects.jsonl'), `${lines.join('\n')}\n`);
    const args = ['cluster', at('subjects.jsonl'), '--clusters', '2'];
    const { code, stdout, stderr } = await run([...args, '--tf-idf']);
    expect(code).toBe(0);
    for (const { row, label } of rowsOf<{ row: number; label: string }>(stdout)) {
      const words = label.split(' ');
      expect(words).toHaveLength(3);
      for (const word of words) expect(subjects[row % 2].split(' ')).toContain(word);
    }
    expect(stderr).toMatch(/cluster +rows +mean cosine +label/);
  });

  it('finds crowded places by density, and leaves the others in none', async () => {
    const alone = Array.from({ length: 6 }, () => Array.from({ length: 64 }, () => random() - 0.5));
    const wide = [
      ...vectors.map((vector) => [...vector, ...new Array<number>(48).fill(0)]),
      ...alone,
    ];
    writeFileSync(
      at('wide.jsonl'),
      wide.map((vector) => `${JSON.stringify({ vector })}\n`).join(''),
    );
    const args = ['--density', '--min-cluster-size', '10', '--min-samples', '4'];
    const { code, stdout, stderr } = await run(['cluster', at('wide.jsonl'), ...args]);
    expect(code).toBe(0);
    const lines = rowsOf<Line>(stdout);
    expect(lines.slice(0, 120).map((line) => line.cluster)).toEqual(
      vectors.map((_, row) => row % KINDS),
    );
    // A row that is no farther from a cluster than clusters from each other may be in one.
    const none = lines.slice(120).filter((line) => line.cluster === -1);
    expect(none.length).toBeGreaterThan(3);
    for (const line of none) {
      expect(line.label).toBe(null);
    }
    expect(stderr).toContain(`126 rows in 3 clusters, ${none.length} in none`);
  });

  it('shows the clusters only on a terminal', async () => {
    const { code, stdout } = await runInTerminal([
      ...['cluster', at('vectors.jsonl'), '--clusters', '3'],
    ]);
    expect(code).toBe(0);
    expect(stdout).toContain('120 rows in 3 clusters');
    expect(stdout).toMatch(/cluster +rows +mean cosine +label/);
    expect(stdout.split('\n').length).toBeLessThan(20);
  });

  it.each([
    ['neither clusters nor density', [], 2, /give --clusters N, or --density/],
    ['both', ['--clusters', '3', '--density'], 2, /give --clusters N, or --density/],
    [
      'options of the other',
      ['--clusters', '3', '--min-cluster-size', '4'],
      2,
      /--min-cluster-size is for --density/,
    ],
    ['more clusters than rows', ['--clusters', '121'], 2, /at most 120/],
  ])('refuses %s', async (_, args, code, message) => {
    const result = await run(['cluster', at('codes.arrow'), ...args]);
    expect([result.code, result.stdout]).toEqual([code, '']);
    expect(result.stderr).toMatch(message);
  });
});
