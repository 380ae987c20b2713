/**
 * Calls of every public function and method: first arguments as the docs have them, then something
 * in them replaced by what a caller of JavaScript can pass. A call answers, or refuses in our words;
 * what was given is not changed, and an object that refused a call is as it was.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as api from '../../src/node';
import type { Draws } from '../reference/random';
import { check, checkEqual, checkError, textOf } from './check';
import { hostileArguments } from './mutate';
import type { MakeTarget } from './readers';

const { Codes, RowBatch, SimHasher, SimHashIndex, TextHasher } = api;

/** What can be called, with sound arguments; `self` is what must be as before after a refusal. */
interface Call {
  readonly does: (...args: never[]) => unknown;
  readonly args: readonly unknown[];
  readonly self?: () => unknown;
}

type MakeCall = (draws: Draws) => Call;

const VECTORS = [
  [1, 0, 0.5],
  [0.9, 0.1, 0.4],
  [0, 1, -1],
  [-1, 0.2, 0.3],
];
const IDS = ['a', 'b', 'c', 'd'];
const TEXT = 'A cup of green tea, 東京 tea\nand rain again.';

const floats = () => Float32Array.from(VECTORS.flat());
const matrix = () => ({ values: floats(), dimensions: 3 });
const sparse = () => ({ indices: [3, 8, 500], values: [1, 0.5, -2] });
const csr = () => ({ offsets: [0, 2, 3], indices: [1, 4, 4], values: [1, 2, 3] });
const CODES = await new SimHasher({ bits: 20 }).hashAll(VECTORS);
const { origin } = CODES;
const codes = () => Codes.from(CODES.bytes, { bits: 20, ...(origin && { origin }) });
const hasher = () => new SimHasher({ bits: 20, dimensions: 3 });
const vector = (draws: Draws): unknown =>
  draws.pick([() => [1, 2, 3], () => new Float64Array([1, 2, 3]), sparse])();
const batch = (draws: Draws): unknown =>
  draws.pick([() => VECTORS, floats, matrix, csr, () => [sparse(), sparse()]])();

/** An index of some kind with four rows. */
function index(draws: Draws): api.SimHashIndex<string> {
  const kind = draws.pick(['none', 'float32', 'int8', 'sparse'] as const);
  const options = { bits: 20, vectors: kind, ...(kind !== 'sparse' && { dimensions: 3 }) };
  const made = new SimHashIndex<string>(options);
  for (const [i, vector] of VECTORS.entries()) {
    made.add(kind === 'sparse' ? { indices: [i, 9], values: [1, 2] } : vector, IDS[i]);
  }
  return made;
}

const rowBatch = () =>
  RowBatch.of({
    ...{ id: IDS, n: [1, 2, 3, null], v: matrix(), code: codes(), text: ['x', null, '', 'ü'] },
    f: new Float32Array(4),
  });

const nearness = () => ({ maxDistance: 5 });
const grouping = (draws: Draws) => ({
  ...nearness(),
  ...{ grouping: draws.pick(['star', 'components']) },
  keep: draws.pick(['first', 'last', { highest: IDS }, { lowest: [1, 2, 3, 4] }]),
});
const planning = (draws: Draws) => ({
  ...grouping(draws),
  ...(draws.integer(2) === 0 && { targetRows: draws.integer(6) }),
});
const source = (draws: Draws) => (draws.integer(2) === 0 ? codes() : index(draws));

/** A call of a function with arguments that may depend on draws. */
function call(does: (...args: never[]) => unknown, ...args: readonly unknown[]): MakeCall {
  return (draws) => ({
    does,
    args: args.map((one) =>
      typeof one === 'function' ? (one as (d: Draws) => unknown)(draws) : one,
    ),
  });
}

/** A call of a method of what `make` makes; `state` is compared after a refusal. */
function method<T extends object>(
  make: (draws: Draws) => T,
  name: keyof T & string,
  args: readonly unknown[],
  state?: (self: T) => unknown,
): MakeCall {
  return (draws) => {
    const self = make(draws);
    const does = (...given: never[]) => (self[name] as (...all: never[]) => unknown)(...given);
    return { ...call(does, ...args)(draws), ...(state && { self: () => state(self) }) };
  };
}

const onIndex = (name: keyof api.SimHashIndex<string> & string, ...args: unknown[]) =>
  method(index, name, args, api.indexToArrow as never);
const onHasher = (name: keyof api.SimHasher & string, ...args: unknown[]) =>
  method(hasher, name, args);
const onCodes = (name: keyof api.Codes & string, ...args: unknown[]) => method(codes, name, args);
const onTexts = (name: keyof api.TextHasher & string, ...args: unknown[]) =>
  method(() => new TextHasher({ bits: 20 }), name, args);
const onBatch = (name: keyof api.RowBatch & string, ...args: unknown[]) =>
  method(rowBatch, name, args);

const hasherOptions = (draws: Draws) => ({
  ...{ bits: 33, seed: 5, dimensions: 3, zero: 'null' },
  projection: draws.pick(['signs', 'gaussian', 'hadamard']),
});
const searchOptions = (draws: Draws) => ({
  ...{ k: 3, rank: 'hamming', explain: true },
  filter: draws.pick([undefined, [0, 2], new Set([1]), (id: unknown) => id !== 'a']),
});
const frequencies = () => new TextHasher().fit(['green tea', 'black tea']);
const PLAN = await api.dedup(codes(), { maxDistance: 5 });
const plan = (): api.DedupPlan => structuredClone(PLAN);

const LIBRARY: Record<string, MakeCall> = {
  'new SimHasher': call((options) => new SimHasher(options), hasherOptions),
  'SimHasher.hash': onHasher('hash', vector),
  'SimHasher.accumulate': onHasher('accumulate', vector),
  'SimHasher.hashAll': onHasher('hashAll', batch, () => ({ onProgress: () => 0 })),
  'Codes.allocate': call(Codes.allocate as never, 3, () => ({
    bits: 9,
    validity: Uint8Array.of(5),
  })),
  'Codes.from': call(
    Codes.from as never,
    () => new Uint8Array(6),
    () => ({ bits: 9, bitOrder: 'lsb' }),
  ),
  'Codes.join': call(
    Codes.join as never,
    () => [codes(), codes()],
    () => ({ bits: 20 }),
  ),
  'Codes.withoutValidity': onCodes('withoutValidity'),
  'Codes.at': onCodes('at', 2),
  'Codes.isNull': onCodes('isNull', 2),
  'Codes.distance': onCodes('distance', 2, 1),
  hammingDistance: call(
    api.hammingDistance as never,
    () => codes().at(0),
    () => codes().at(1),
  ),
  estimateAngle: call(api.estimateAngle as never, 5, 20),
  bitsFor: call(api.bitsFor as never, () => ({ cosineError: 0.1, cosine: 0.5 })),
  distanceFor: call(api.distanceFor as never, 0.9, 64, 0.9),
  closeThreads: call(api.closeThreads as never),
  scan: call(
    api.scan as never,
    codes,
    () => codes().at(0),
    () => ({ k: 2, maxDistance: 9 }),
  ),
  scanAll: call(api.scanAll as never, codes, codes, () => ({ k: 2, maxDistance: 3 })),
  scanVectors: call(
    api.scanVectors as never,
    matrix,
    () => [1, 2, 3],
    () => ({ k: 2, minCosine: 0 }),
  ),
  scanVectorsAll: call(api.scanVectorsAll as never, matrix, matrix, () => ({ k: 2 })),
  'new SimHashIndex': call(
    (options) => new SimHashIndex(options),
    (draws: Draws) => ({ ...hasherOptions(draws), vectors: 'float32' }),
  ),
  'SimHashIndex.add': onIndex('add', vector, 'e'),
  'SimHashIndex.set': onIndex('set', vector, () => 'b'),
  'SimHashIndex.addAll': onIndex('addAll', batch, () => ['e', 'f', 'g', 'h']),
  'SimHashIndex.remove': onIndex('remove', 'b'),
  'SimHashIndex.has': onIndex('has', 'b'),
  'SimHashIndex.idOf': onIndex('idOf', 1),
  'SimHashIndex.get': onIndex('get', 'b'),
  'SimHashIndex.search': onIndex('search', vector, searchOptions),
  'SimHashIndex.searchAll': onIndex('searchAll', batch, searchOptions),
  'SimHashIndex.within': onIndex('within', vector, () => ({ maxDistance: 5, minCosine: 0.5 })),
  'SimHashIndex.withinAll': onIndex('withinAll', batch, () => ({ maxDistance: 5 })),
  'SimHashIndex.optimize': onIndex('optimize', () => ({
    recall: 0.5,
    k: 2,
    queries: 2,
    partitions: 2,
  })),
  pairs: call(api.pairs as never, source, nearness),
  'pairs of two': call(api.pairs as never, source, source, nearness),
  dedup: call(api.dedup as never, source, planning),
  'dedup, extended': call(api.dedup as never, codes, () => ({
    ...nearness(),
    extend: plan(),
    checks: new Uint32Array(8),
  })),
  cluster: call(
    api.cluster as never,
    (draws: Draws) => draws.pick([codes, matrix, index])(draws),
    () => ({ clusters: 2, seed: 1 }),
  ),
  clusterByDensity: call(api.clusterByDensity as never, source, () => ({
    ...{ minClusterSize: 2, minSamples: 1, maxDistance: 8 },
  })),
  'new TextHasher': call(
    (options) => new TextHasher(options).hash(TEXT as never),
    (draws: Draws) => ({
      ...{ bits: 20, seed: 1, counting: 'log', empty: 'null' },
      ...{
        tokens: draws.pick(['words', 'characters:3', 'shingles:2', (text: string) => [text]]),
      },
    }),
  ),
  'TextHasher.fit': onTexts('fit', () => [TEXT, 'tea']),
  'TextHasher.vectorize': onTexts('vectorize', TEXT),
  'TextHasher.members': onTexts('members', TEXT),
  'TextHasher.hash': onTexts('hash', TEXT),
  'TextHasher.hashAll': onTexts('hashAll', () => [TEXT, 'tea']),
  'TextHasher.keywords': onTexts('keywords', TEXT, 2),
  embed: call(api.embed as never, ['a', 'b'], 'org/model'),
  'new FrequencyTable': call((tokens) => new api.FrequencyTable(tokens), 'words'),
  'FrequencyTable.merge': method(frequencies, 'merge', [frequencies], api.frequenciesToArrow),
  calibrate: call(api.calibrate as never, codes, () => ({
    minCosine: 0.5,
    vectors: matrix(),
    pairs: { a: Uint32Array.of(0, 1), b: Uint32Array.of(1, 2), same: [true, false] },
  })),
  measureRecall: call(api.measureRecall as never, index, () => ({
    ...{ k: 2, sample: 2, seed: 1, search: { rank: 'hamming' } },
  })),
  codesFromArrow: call(
    api.codesFromArrow as never,
    () => api.codesToArrow(codes()),
    () => ({ column: 'code' }),
  ),
  codesToArrow: call(api.codesToArrow as never, codes, () => ({ ids: IDS })),
  rowsFromArrow: call(
    api.rowsFromArrow as never,
    () => api.indexToArrow(index({ pick: () => 'float32' } as never)),
    () => ({ columns: ['vector', 'id'] }),
  ),
  indexFromArrow: call(
    api.indexFromArrow as never,
    (draws: Draws) => api.indexToArrow(index(draws)),
    () => ({ file: 'f' }),
  ),
  indexToArrow: call(api.indexToArrow as never, index),
  frequenciesFromArrow: call(api.frequenciesFromArrow as never, () =>
    api.frequenciesToArrow(frequencies()),
  ),
  frequenciesToArrow: call(api.frequenciesToArrow as never, frequencies),
  'RowBatch.of': call(
    RowBatch.of as never,
    () => ({
      id: IDS,
      n: [1, null, 2.5, -0],
      b: [1n, 2n, 3n, null],
      m: { ...matrix(), validity: Uint8Array.of(9) },
    }),
    () => ({ firstRow: 3, file: 'x' }),
  ),
  'RowBatch.fromArrow': call(
    RowBatch.fromArrow as never,
    () => rowBatch().toArrow(),
    () => ({ file: 'x' }),
  ),
  'RowBatch.join': call(RowBatch.join as never, () => [rowBatch(), rowBatch()]),
  'RowBatch.toArrow': onBatch('toArrow'),
  ...Object.fromEntries(
    ['id', 'n', 'v', 'code', 'text', 'f'].flatMap((column) =>
      (['values', 'texts', 'ids', 'vectors', 'codes'] as const).map((name) => [
        `RowBatch.${name} of ${column}`,
        onBatch(name, column, ...(name === 'codes' ? [() => ({ bits: 20 })] : [])),
      ]),
    ),
  ),
  'RowBatch.sparse': onBatch('sparse', 'v', 'v'),
  'RowBatch.select': onBatch('select', () => [2, 0, 2]),
  'RowBatch.slice': onBatch('slice', 1, 3),
  'RowBatch.with': onBatch('with', () => ({ z: [1, 2, 3, 4] })),
};

/** All that an iterable answer or a promise holds. */
async function taken(answer: unknown): Promise<void> {
  const value = await answer;
  if (typeof value === 'string' || ArrayBuffer.isView(value) || value === null) return;
  const iterate = (value as Iterable<unknown>)?.[Symbol.iterator];
  if (typeof iterate === 'function') for (const _ of value as Iterable<unknown>);
}

async function run(name: string, make: MakeCall, draws: Draws): Promise<void> {
  const { does, args, self } = make(draws);
  const given = draws.integer(4) === 0 ? args : hostileArguments(draws, args);
  const before = textOf(args);
  const state = self && textOf(self());
  let isRefused = false;
  try {
    await taken(does(...(given as never[])));
  } catch (error) {
    isRefused = true;
    checkError(error, name);
    if (given === args) check(error instanceof api.FormatError || error instanceof Error, name);
  }
  checkEqual(textOf(args), before, `${name}: its arguments`);
  if (self && isRefused) checkEqual(textOf(self()), state, `${name}: refused, and yet changed`);
}

function target(calls: Record<string, MakeCall>): MakeTarget {
  return () => {
    const all = Object.entries(calls);
    const work = mkdtempSync(join(tmpdir(), 'halfspace-calls-'));
    process.on('exit', () => rmSync(work, { recursive: true, force: true }));
    process.chdir(work); // where files with names of chance land
    return (draws) => {
      const [name, make] = draws.pick(all);
      return run(name, make, draws);
    };
  };
}

export const CALL_NAMES = Object.keys(LIBRARY);
export const CALLS: Record<string, MakeTarget> = { calls: target(LIBRARY) };
