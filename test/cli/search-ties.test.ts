/** `search --ties id`: answers that do not depend on the order in which an index got its rows. */

import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { countDifferentBits } from '../reference/brute-force';
import { Draws } from '../reference/random';
import { quickIf } from '../reference/tags';
import { rowsOf, run } from './run';

/** Few distinct vectors, so that most rows tie; ids whose order by UTF-16 is another. */
const ROWS = 600;
const VECTORS = 25;
const ENDS = ['', '\uffee', '😀'];

interface Row {
  readonly id: string;
  readonly vector: readonly number[];
  readonly year: number;
}

interface Found {
  readonly query: string;
  readonly rank: number;
  readonly id: string;
  readonly distance: number;
  readonly cosine?: number;
  readonly estimatedCosine?: number;
}

let cwd: string;
let rows: Row[];
let codes: Map<string, Uint8Array>;

const jsonl = (of: readonly object[]) => of.map((row) => `${JSON.stringify(row)}\n`).join('');

beforeAll(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'halfspace-ties-'));
  const draws = new Draws('ties');
  const vectors = Array.from({ length: VECTORS }, () =>
    Array.from({ length: 8 }, () => draws.uniform() - 0.5),
  );
  const order = draws.shuffled(Array.from({ length: ROWS }, (_, i) => i));
  rows = order.map((i) => {
    const id = `${draws.pick(['a', 'b', 'c'])}${draws.pick(ENDS)}${i}`;
    return { id, vector: vectors[i % VECTORS], year: 1900 + (i % 7) };
  });
  for (const [name, of] of [
    ['one', rows],
    ['other', [...rows].reverse()],
  ] as const) {
    writeFileSync(join(cwd, `${name}.jsonl`), jsonl(of));
    const made = ['index', `${name}.jsonl`, '--vectors', 'float32', '--bits', '32', '-q', '-o'];
    for (const output of [`${name}.hs`, `${name}.arrow`]) {
      expect(await run([...made, output], { cwd })).toMatchObject({ code: 0 });
    }
  }
  const made = await run(['fingerprint', 'one.jsonl', '--bits', '32', '-q', '-o', 'codes.arrow'], {
    cwd,
  });
  expect(made.code).toBe(0);
  const words = ['fingerprint', 'one.jsonl', '--bits', '32', '-q', '--to', 'jsonl'];
  const hashed = rowsOf<{ id: string; code: string }>((await run(words, { cwd })).stdout);
  codes = new Map(hashed.map(({ id, code }) => [id, Buffer.from(code, 'hex')]));
  writeFileSync(join(cwd, 'queries.jsonl'), jsonl(rows.slice(0, 12)));
});

afterAll(() => rm(cwd, { recursive: true, force: true }));

async function search(place: string, ...args: string[]): Promise<Found[]> {
  const [index, ...memory] = place.split(' ');
  const words = ['search', index, 'queries.jsonl', ...memory, '-q', ...args];
  const { code, stdout, stderr } = await run(words, { cwd });
  expect([code, stderr]).toEqual([0, '']);
  return rowsOf<Found>(stdout);
}

const byUtf8 = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));

function cosine(a: readonly number[], b: readonly number[]): number {
  const dot = (x: readonly number[], y: readonly number[]) =>
    x.reduce((sum, value, i) => sum + value * y[i], 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}

/** Rows, least weight first, ties by id, each counted by itself. */
function nearest(weightOf: (row: Row) => number, of: readonly Row[] = rows): string[] {
  const weights = new Map(of.map((row) => [row.id, weightOf(row)]));
  return [...weights].sort(([a, x], [b, y]) => x - y || byUtf8(a, b)).map(([id]) => id);
}

const distanceTo = (query: Row) => (row: Row) =>
  countDifferentBits(codes.get(query.id) as Uint8Array, codes.get(row.id) as Uint8Array);
/** Equal vectors tie, others differ by more than rounding. */
const angleTo = (query: Row) => (row: Row) => -Math.round(cosine(query.vector, row.vector) * 1e6);

/** The ids found, by query. */
function idsOf(found: readonly Found[]): string[][] {
  return rows.slice(0, 12).map(({ id }) => {
    return found.filter(({ query }) => query === id).map((one) => one.id);
  });
}

describe('search --ties id', () => {
  // An index in memory, and what differs most from it, are quick.
  const places = ['one.hs', 'other.hs', 'other.arrow', 'other.hs --memory 64M'].map((place) => ({
    place,
    options: quickIf(place === 'one.hs' || place.includes('--memory')),
  }));

  for (const { place, options } of places) {
    it(`finds by distance what a count of bits finds: ${place}`, options, async () => {
      for (const k of [1, 10, 30, 2 * ROWS]) {
        const words = ['--ties', 'id', '--rank', 'hamming', '-k', `${k}`];
        const found = await search(place, ...words);
        const expected = rows.slice(0, 12).map((query) => nearest(distanceTo(query)));
        expect(idsOf(found)).toEqual(expected.map((ids) => ids.slice(0, k)));
      }
    });

    const alone = quickIf(place === 'one.hs');
    it(`finds by cosine what cosines of all rows say: ${place}`, alone, async () => {
      for (const k of [7, 24, 100]) {
        const found = await search(place, '--ties', 'id', '-k', `${k}`);
        const expected = rows.slice(0, 12).map((query) => nearest(angleTo(query)));
        expect(idsOf(found)).toEqual(expected.map((ids) => ids.slice(0, k)));
        const own = rows.slice(0, 12).flatMap(({ id }) => found.filter((one) => one.query === id));
        expect(own.map(({ rank }) => rank)).toEqual(own.map((_, i) => (i % k) + 1));
      }
    });
  }

  it('holds within a distance, with a filter, for codes, and by estimates', {
    tags: 'thorough',
  }, async () => {
    for (const index of ['one.hs', 'other.hs']) {
      const within = await search(index, '--ties', 'id', '--max-distance', '9', '-k', '40');
      expect(idsOf(within)).toEqual(
        rows.slice(0, 12).map((query) => {
          const near = rows.filter((row) => distanceTo(query)(row) <= 9);
          return nearest(distanceTo(query), near).slice(0, 40);
        }),
      );
      const some = rows.filter(({ year }) => year >= 1904);
      const words = ['--filter', 'year >= 1904', '--rank', 'hamming', '-k', '5'];
      expect(idsOf(await search(index, '--ties', 'id', ...words))).toEqual(
        rows.slice(0, 12).map((query) => nearest(distanceTo(query), some).slice(0, 5)),
      );
      const ofCodes = ['search', index, 'codes.arrow', '--code', 'code', '-k', '5', '-q'];
      const { stdout } = await run([...ofCodes, '--ties', 'id'], { cwd });
      expect(idsOf(rowsOf<Found>(stdout))).toEqual(
        rows.slice(0, 12).map((query) => nearest(distanceTo(query)).slice(0, 5)),
      );
    }
    const estimated = ['--rank', 'estimate', '-k', '9'];
    const one = await search('one.hs', '--ties', 'id', ...estimated);
    expect(await search('other.hs', '--ties', 'id', ...estimated)).toEqual(one);
    expect(idsOf(await search('other.hs', ...estimated))).not.toEqual(idsOf(one));
  });

  it('changes no distance and no cosine; without it ties go by row', {
    tags: 'thorough',
  }, async () => {
    for (const words of [[], ['--rank', 'hamming'], ['--max-distance', '4']]) {
      const plain = await search('one.hs', ...words);
      const byId = await search('one.hs', '--ties', 'id', ...words);
      const figures = (found: readonly Found[]) => found.map(({ id, ...others }) => others);
      expect(figures(byId)).toEqual(figures(plain));
      expect(idsOf(byId)).not.toEqual(idsOf(plain));
      expect(await search('one.hs', '--ties', 'row', ...words)).toEqual(plain);
    }
  });

  it('holds for rows of the index, which do not find themselves, and with --explain', async () => {
    const [query] = rows;
    const words = ['search', 'other.hs', '--row-id', query.id, '-k', '20', '--ties', 'id'];
    const found = await run(words, { cwd });
    const others = rows.filter(({ id }) => id !== query.id);
    const expected = nearest(angleTo(query), others).slice(0, 20);
    expect(rowsOf<Found>(found.stdout).map(({ id }) => id)).toEqual(expected);
    const explained = await run([...words, '--explain'], { cwd });
    expect(explained.stdout).toBe(found.stdout);
    expect(explained.stderr).toContain(`query ${query.id}: method scan`);
  });

  it('is refused with --recall, which is measured for k rows', async () => {
    const words = ['search', 'one.hs', 'queries.jsonl', '--ties', 'id', '--recall', '0.9'];
    const { code, stderr } = await run(words, { cwd });
    expect([code, stderr]).toEqual([2, expect.stringContaining('leave out one')]);
  });
});
