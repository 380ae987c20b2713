/** Index folders of every kind, and the searches that all places of an index must answer alike. */

import { join } from 'node:path';
import {
  type DenseMatrix,
  type Filter,
  type IdList,
  IndexFolder,
  type SearchOptions,
  type SearchResult,
  SimHashIndex,
  type SimHashIndexOptions,
  type SparseVector,
  saveIndex,
} from '../../src/node';
import { Draws } from '../reference/random';
import { partitioned } from './collection';

export const DIMENSIONS = 24;
const COUNT = 2000;

/** Vectors in clusters, some of them equal. */
export function clustered(seed: number, count: number): Float32Array {
  const draws = new Draws(seed);
  const middles = draws.gaussians(40 * DIMENSIONS);
  const values = new Float32Array(count * DIMENSIONS);
  for (let row = 0; row < count; row++) {
    const from = DIMENSIONS * draws.integer(40);
    const noise = draws.gaussians(DIMENSIONS);
    for (let i = 0; i < DIMENSIONS; i++) {
      values[row * DIMENSIONS + i] = middles[from + i] + 0.4 * noise[i];
    }
    if (row % 10 !== 9) continue;
    const earlier = DIMENSIONS * draws.integer(row);
    values.copyWithin(row * DIMENSIONS, earlier, earlier + DIMENSIONS);
  }
  return values;
}

export interface Kind {
  readonly name: string;
  readonly options: SimHashIndexOptions;
  readonly ids: (first: number, count: number) => IdList | undefined;
  readonly isPartitioned: boolean;
  /** Whether rows are in second partitions too. */
  readonly copies?: boolean;
}

const strings = (first: number, count: number) =>
  Array.from({ length: count }, (_, i) => `row ${first + i} é`);
const numbers = (first: number, count: number) =>
  Array.from({ length: count }, (_, i) => 7 * (first + i) + 1);
const bigints = (first: number, count: number) =>
  BigInt64Array.from({ length: count }, (_, i) => BigInt(first + i) * 2n ** 33n);
const dense = { bits: 64, dimensions: DIMENSIONS, zero: 'null' } as const;

export const KINDS: readonly Kind[] = [
  {
    ...{ name: 'float32, texts as ids', options: { ...dense, vectors: 'float32' } },
    ...{ ids: strings, isPartitioned: true },
  },
  {
    ...{ name: 'int8, rows as ids', options: { ...dense, bits: 256, vectors: 'int8' } },
    ...{ ids: () => undefined, isPartitioned: true },
  },
  {
    ...{ name: 'int8, copies, texts as ids', options: { ...dense, vectors: 'int8' } },
    ...{ ids: strings, isPartitioned: true, copies: true },
  },
  {
    ...{
      name: 'float32, copies, rows as ids',
      options: { ...dense, bits: 128, vectors: 'float32' },
    },
    ...{ ids: () => undefined, isPartitioned: true, copies: true },
  },
  {
    ...{ name: 'few bits', options: { ...dense, bits: 9, vectors: 'float32' } },
    ...{ ids: numbers, isPartitioned: false },
  },
  {
    ...{ name: 'sparse', options: { bits: 64, zero: 'null', vectors: 'sparse' } },
    ...{ ids: strings, isPartitioned: false },
  },
  {
    ...{ name: 'no vectors', options: { ...dense } },
    ...{ ids: bigints, isPartitioned: true },
  },
  {
    ...{ name: 'not optimized', options: { ...dense, bits: 40, vectors: 'int8' } },
    ...{ ids: numbers, isPartitioned: false },
  },
];

/** Rows as an index of this kind takes them: sparse ones lack small values. */
export function shaped({ options }: Kind, values: Float32Array): DenseMatrix | SparseVector[] {
  if (options.vectors !== 'sparse') return { values, dimensions: DIMENSIONS };
  return Array.from({ length: values.length / DIMENSIONS }, (_, row) => {
    const own = values.subarray(row * DIMENSIONS, (row + 1) * DIMENSIONS);
    const indices = [...own.keys()].filter((i) => Math.abs(own[i]) > 0.7);
    return { indices, values: indices.map((i) => own[i]) };
  });
}

/** A folder with three segments and removed rows; some rows have no code. */
export async function writeFolder(root: string, kind: Kind): Promise<string> {
  const folder = join(root, `${kind.name.replaceAll(/\W/g, '-')}.hs`);
  const index = new SimHashIndex(kind.options);
  const rowsOf = (seed: number, count: number) => {
    const values = clustered(seed, count);
    values.fill(0, 5 * DIMENSIONS, 6 * DIMENSIONS);
    return shaped(kind, values);
  };
  await index.addAll(rowsOf(1, COUNT), kind.ids(0, COUNT));
  if (kind.isPartitioned) {
    const { copies = false } = kind;
    await partitioned(index, { recall: 0.9, k: 5, queries: 40, partitions: 40, copies });
  }
  await saveIndex(index, folder);
  const opened = await IndexFolder.open(folder);
  await opened.append(rowsOf(1, 400), kind.ids(COUNT, 400)); // equal to rows that are there
  await opened.append(rowsOf(2, 300), kind.ids(COUNT + 400, 300));
  const all = kind.ids(0, COUNT + 700) ?? Uint32Array.from({ length: COUNT + 700 }, (_, i) => i);
  await opened.remove(Array.from(all as unknown as ArrayLike<never>).filter((_, i) => i % 7 === 3));
  return folder;
}

type Asked = SearchOptions & { filter?: Filter };

/** Options of searches by vector. */
export function searchesOf(kind: Kind): Asked[] {
  const few = Array.from({ length: 60 }, (_, i) => 40 * i + 1);
  const many = Uint32Array.from({ length: 2000 }, (_, i) => i + (i % 3));
  const own: Asked[] = [{}, { k: 1 }, { k: 40 }, { filter: (_, row) => row % 5 === 1 }];
  own.push({ filter: few }, { filter: many }, { filter: new Set(few), k: 100 });
  const all: Asked[] = [...own];
  for (const one of own) {
    all.push({ ...one, rank: 'hamming' });
    if (kind.isPartitioned) {
      all.push({ ...one, probes: 3, oversample: 2 }, { ...one, probes: 12 });
      all.push({ ...one, probes: 60, oversample: 30 });
    }
  }
  return all;
}

/** What a search found, without times. */
export function found(result: SearchResult) {
  const { rows, ids, distances, similarities, rank } = result;
  const own = distances && [...distances];
  return { rows: [...rows], ids: [...ids], distances: own, similarities: [...similarities], rank };
}
