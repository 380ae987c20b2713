import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LongWork } from '../../src/base/long-work';
import {
  checkWanted,
  EvaluationSource,
  MemoryEvaluable,
  settled,
  shuffled,
} from '../../src/index/optimize';
import { queryOf } from '../../src/index/query';
import { coreOf } from '../../src/index/simhash-index';
import { IndexFolder, openIndex, SimHashIndex, saveIndex } from '../../src/node';
import { evaluatedPart } from '../../src/store/evaluated-parts';
import type { MergeOptions } from '../../src/store/merge-folders';
import { dot } from '../reference/random';
import { quickIf } from '../reference/tags';
import { temporaryFolder } from './collection';
import { clustered, DIMENSIONS } from './kinds';

/** Parts of an index that answer the same queries, next to the index that they become. */

const root = await temporaryFolder();
const COUNT = 4000;
const EVALUATIONS = 80;
const values = clustered(7, COUNT);
values.copyWithin(1000 * DIMENSIONS, 0, 200 * DIMENSIONS); // equal rows
const vectorOf = (i: number) => values.subarray(i * DIMENSIONS, (i + 1) * DIMENSIONS);
const idOf = (i: number) => `row ${i}`;
/** Rows that train nothing. */
const isEvaluated = (i: number) => i % (COUNT / EVALUATIONS) === 5;
const evaluations = Array.from({ length: COUNT }, (_, i) => i).filter(isEvaluated);
const K = 10;

async function modelOf(name: string, vectors: 'float32' | 'int8', copies: boolean) {
  const index = new SimHashIndex<string>({ bits: 64, dimensions: DIMENSIONS, vectors });
  for (let i = 0; i < COUNT; i += 2) if (!isEvaluated(i)) index.add(vectorOf(i), idOf(i));
  await index.optimize({ recall: 0.9, k: K, queries: 60, partitions: 64, copies });
  const path = join(root, name);
  await saveIndex(index as unknown as SimHashIndex, path);
  return path;
}

const rows = { vectors: evaluations.map(vectorOf), ids: evaluations.map(idOf) };

type EvaluatedMerge = NonNullable<MergeOptions['evaluated']>;

/** One index of so many parts, with a recall that they measured together. */
async function mergedOf(name: string, like: string, parts: number, recall: number) {
  const paths: string[] = [];
  for (let part = 0; part < parts; part++) {
    const first = Math.floor((part * COUNT) / parts);
    const end = Math.floor(((part + 1) * COUNT) / parts);
    const path = join(root, `${name}-${part}.hs`);
    const batch = values.subarray(first * DIMENSIONS, end * DIMENSIONS);
    const ids = Array.from({ length: end - first }, (_, i) => idOf(first + i));
    const batches = [{ vectors: { values: batch, dimensions: DIMENSIONS }, ids }];
    await IndexFolder.build(path, batches, { memory: '4MB', like, firstRow: first });
    const table = await evaluatedPart(path, rows, { k: K, memory: 2 ** 24 });
    writeFileSync(join(path, 'answers'), table);
    paths.push(path);
  }
  const evaluated = { file: 'answers', rows, optimize: { recall, k: K }, isPart: false };
  const folder = join(root, `${name}.hs`);
  const { report } = await IndexFolder.merge(folder, paths, { evaluated });
  return { folder, report, inTwoSteps: () => mergedTwice(name, paths, evaluated) };
}

/** The report of a merge of merges of three parts each. */
async function mergedTwice(name: string, paths: string[], evaluated: EvaluatedMerge) {
  const merged: string[] = [];
  for (let i = 0; i < paths.length; i += 3) {
    const path = join(root, `${name}-merged-${i}.hs`);
    const asPart = { ...evaluated, isPart: true };
    const { report } = await IndexFolder.merge(path, paths.slice(i, i + 3), { evaluated: asPart });
    expect(report?.queries).not.toBe(EVALUATIONS / 2);
    merged.push(path);
  }
  return (await IndexFolder.merge(join(root, `${name}-twice.hs`), merged, { evaluated })).report;
}

/** What the same queries choose and measure with all rows at hand. */
async function measuredOf(folder: string, recall: number) {
  const core = coreOf((await openIndex(folder)) as never);
  const index = Object.assign(new MemoryEvaluable(core, core.rows), { canScan: false });
  const source = new EvaluationSource(
    { source: 'rows', truth: 'cosine', isTrained: false },
    shuffled([...evaluations.keys()], 0),
    EVALUATIONS,
    (numbers, work) => {
      const queryAt = (i: number) => queryOf(core, vectorOf(evaluations[i])) as never;
      const asked = Array.from(numbers, (i) => ({
        query: queryAt(i),
        own: new Set([evaluations[i]]),
      }));
      return index.evaluated(asked, K, work);
    },
  );
  const wanted = checkWanted(core, { recall, k: K });
  return settled(index, source, wanted, new LongWork({}));
}

/** The recall of searches for the queries that choose, or for those that measure, by brute force. */
async function recallOf(folder: string, [first, end] = [EVALUATIONS / 2, EVALUATIONS]) {
  const index = await openIndex(folder);
  // One candidate more than what was chosen, since the own row is one.
  const oversample = (K * (index.report?.oversample as number) + 0.9) / (K + 1);
  const cosine = (a: Float32Array, b: Float32Array) => dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
  let sum = 0;
  const asked = shuffled([...evaluations.keys()], 0).subarray(first, end);
  for (const i of asked) {
    const own = evaluations[i];
    const cosines = Float64Array.from({ length: COUNT }, (_, row) =>
      row === own ? -1 : cosine(vectorOf(own), vectorOf(row)),
    );
    const least = cosines.slice().sort().at(-K) as number;
    const found = [...index.search(vectorOf(own), { k: K + 1, oversample }).rows].filter(
      (row) => row !== own,
    );
    const near = found.slice(0, K).filter((row) => cosines[row] >= least - 1e-12);
    sum += near.length / K / asked.length;
  }
  return sum;
}

describe.each([
  ['float32', false, 1, 0.9],
  ['float32', true, 3, 0.95],
  ['float32', false, 7, 0.98],
  ['int8', false, 2, 0.95],
] as const)('parts that answer evaluation queries: %s, copies %s, %i of them', (...given) => {
  const [vectors, copies, parts, recall] = given;

  it('measure as one index', quickIf(parts === 1), async () => {
    const name = `${vectors}-${copies}-${parts}`;
    const like = await modelOf(`${name}-like.hs`, vectors, copies);
    const { folder, report, inTwoSteps } = await mergedOf(name, like, parts, recall);
    const wanted = await measuredOf(folder, recall);
    expect(report?.queries).toBe(EVALUATIONS / 2);
    if (parts > 1) expect(await inTwoSteps()).toEqual(report);
    if (vectors === 'float32') {
      expect(report?.recall).toBeCloseTo(await recallOf(folder), 10);
      expect(await recallOf(folder, [0, EVALUATIONS / 2])).toBeGreaterThanOrEqual(recall);
    }
    if (vectors === 'float32' && !copies) {
      expect(report).toEqual(wanted);
      return;
    }
    // Digits that rounding lost are drawn at random, by how many are lost in a part; and of a row
    // with copies an index in memory counts the nearer one, a part each one by what it scores.
    expect(Math.abs((report?.recall as number) - wanted.recall)).toBeLessThan(0.02);
    const off = (name: 'probes' | 'oversample') =>
      Math.abs((report?.[name] as number) - wanted[name]);
    expect(off('probes')).toBeLessThanOrEqual(1);
    expect(off('oversample')).toBeLessThanOrEqual(1);
  });
});
