/**
 * Readers of every kind of file: fixtures and files of our own, changed. Sealed files must read as
 * before or be refused. The others have no checksum: they must read alike whole and in pieces, in
 * any size of batches, or be refused alike.
 */

import { readdirSync, readFileSync } from 'node:fs';
import {
  Codes,
  codesFromArrow,
  codesToArrow,
  frequenciesFromArrow,
  frequenciesToArrow,
  SimHashIndex as Index,
  indexFromArrow,
  indexToArrow,
  openRows,
  type RowFormat,
  type SimHashIndex,
  TextHasher,
} from '../../src/node';
import { sparseFromArrow, vectorsFromArrow } from '../reference/arrow';
import { Draws } from '../reference/random';
import { checkEqual, checkRefusal, textOf } from './check';
import { inPieces, mutated, TEXTS } from './mutate';

export const fixtures = new URL(process.env.FIXTURES ?? '../fixtures/', import.meta.url);
/** What files are called in errors. */
export const FILE = 'folder/input';
/** Larger fixtures would make few inputs a second. */
const MAX_SEED_BYTES = 20_000;

export function seedsFrom(folder: string, pattern: RegExp): Uint8Array[] {
  const url = new URL(`${folder}/`, fixtures);
  const names = readdirSync(url).filter((name) => pattern.test(name));
  return names
    .map((name) => Uint8Array.from(readFileSync(new URL(name, url))))
    .filter(({ length }) => length < MAX_SEED_BYTES);
}

/** What made a reader fail before, kept as files of that reader's name. */
function findings(name: string): Uint8Array[] {
  return seedsFrom('findings', new RegExp(`^${name}-`));
}

const NUMBER_WORDS = ['1', '-0', '1e5', '.5', '9007199254740993', '1e999', '-1e-400', 'NaN', '٣'];
const CSV_WORDS = [
  ...['"', '""', ',', ';', '\t', '|', '\n', '\r', '\r\n', '\n\n', '"\n"', '","', '\ufeff', '""""'],
  ...['[1,2]', '[]', '{"indices":[1],"values":[2]}', 'null', 'true', 'id', 'vector', 'text'],
  ...NUMBER_WORDS,
  ...TEXTS,
];
const JSON_WORDS = [
  ...['{', '}', '[', ']', '{"a":1}\n', '{}\n', ':', ',', '"', 'null', 'true', '[[', '"a":', '\n'],
  ...['"__proto__":{"x":1},', '"constructor":1,', '[1,2,3]', '[1,"2"]', '{"indices":[1,2],'],
  ...['"\\ud800"', '"\\u0000int:5"', '\\', '"indices":[],"values":[]', '[1e400]'],
  ...NUMBER_WORDS,
  ...TEXTS,
];
const NPY_WORDS = [
  "'<f4'",
  "'>f8'",
  "'|S5'",
  "'<constructor'",
  '(3,)',
  '(3, 2)',
  '(-1, 2)',
  'True',
];
const texts = (...lines: string[]) => lines.map((line) => new TextEncoder().encode(line));

const SEEDS: Record<string, { seeds: () => Uint8Array[]; words?: readonly string[] }> = {
  csv: {
    seeds: () => [
      ...seedsFrom('formats', /\.[ct]sv$/),
      ...texts(
        'id,text,n\n1,"a ""b""\nc",2.5\n2,,\n',
        'a;b\r\n"x;y";-3\r\n',
        'vector\n"[1,2]"\n"[3,4]"\n',
        'one\n',
        '\ufeffa\tb\n1\t2\n',
      ),
    ],
    words: CSV_WORDS,
  },
  jsonl: {
    seeds: () => [
      ...seedsFrom('formats', /\.jsonl$/),
      ...texts(
        '{"id":1,"v":[1,2],"t":"a"}\n{"id":2,"v":[3,4],"t":null}\n',
        '{"s":{"indices":[1,5],"values":[0.5,2]}}\n{"s":{"indices":[],"values":[]}}\n',
        '{"a":true}\r\n\r\n{"b":{"c":[1,{"d":"e"}]}}',
      ),
    ],
    words: JSON_WORDS,
  },
  npy: { seeds: () => seedsFrom('formats', /\.npy$/), words: NPY_WORDS },
  parquet: { seeds: () => seedsFrom('formats', /\.parquet$/) },
  arrow: {
    seeds: () => [...seedsFrom('formats', /\.(arrow|feather)$/), ...seedsFrom('arrow', /\.arrow$/)],
  },
  arrows: {
    seeds: () => [...seedsFrom('formats', /\.arrows$/), ...seedsFrom('arrow', /\.arrows$/)],
  },
  text: {
    seeds: () => texts('a line\nanother\r\n\r\nlast', '', '\ufeffbom\n', '\xff\n'),
    words: TEXTS,
  },
};

export type Run = (draws: Draws) => void | Promise<void>;
export type MakeTarget = () => Run;

/** All rows of bytes that came as a stream, or the error, as text. */
async function rowsAs(format: RowFormat, source: AsyncIterable<Uint8Array>): Promise<string> {
  try {
    const reader = await openRows(source, { format, file: FILE });
    const columns = new Map(reader.columns.map(({ name }) => [name, [] as unknown[]]));
    let count = 0;
    for await (const batch of reader) {
      count += batch.count;
      for (const [name, values] of columns) for (const one of batch.values(name)) values.push(one);
    }
    return textOf([count, reader.columns, columns]);
  } catch (error) {
    checkRefusal(error, FILE, `openRows of ${format}`);
    return `refused: ${(error as Error).message}`;
  }
}

async function* whole(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** Formats that are read from front to back, and so may depend on how the bytes come. */
const STREAMED = ['csv', 'jsonl', 'arrows', 'text'];

function rows(format: RowFormat): MakeTarget {
  return () => {
    const { seeds, words } = SEEDS[format];
    const corpus = [...seeds(), ...findings(format)];
    return async (draws) => {
      const bytes = mutated(draws, draws.pick(corpus), corpus, words);
      const first = await rowsAs(format, whole(bytes.slice()));
      if (!STREAMED.includes(format) || draws.integer(2) === 0) return;
      const second = await rowsAs(format, inPieces(draws, bytes));
      checkEqual(second, first, `${format} in pieces`);
    };
  };
}

type Read = (bytes: Uint8Array) => unknown;

/** Sealed bytes: changed ones read as before, or are refused by the name of the file. */
function sealed(name: string, makeSeeds: () => Uint8Array[], read: Read): MakeTarget {
  return () => {
    const corpus = makeSeeds();
    const answers = corpus.map((bytes) => textOf(read(bytes)));
    return (draws) => {
      const at = draws.integer(corpus.length);
      const bytes = mutated(draws, corpus[at], corpus.slice(at, at + 1));
      try {
        checkEqual(textOf(read(bytes)), answers[at], `a damaged ${name}`);
      } catch (error) {
        checkRefusal(error, FILE, name);
      }
    };
  };
}

/** Bytes without a checksum: read twice alike, or refused. */
function unsealed(name: string, makeSeeds: () => Uint8Array[], read: Read): MakeTarget {
  return () => {
    const corpus = [...makeSeeds(), ...findings(name)];
    return (draws) => {
      const bytes = mutated(draws, draws.pick(corpus), corpus);
      const before = bytes.slice();
      try {
        const answer = textOf(read(bytes));
        if (draws.integer(4) === 0) checkEqual(textOf(read(bytes)), answer, `${name}, read twice`);
      } catch (error) {
        checkRefusal(error, FILE, name);
      }
      checkEqual(bytes, before, `the input of ${name}`);
    };
  };
}

function readCodes(bytes: Uint8Array): unknown {
  const { codes, ids } = codesFromArrow(bytes, { file: FILE });
  return [codes.bits, codes.count, codes.origin, codes.bytes, codes.validity, ids];
}

async function makeSmallIndexes(): Promise<SimHashIndex[]> {
  const draws = new Draws('small indexes');
  const vectors = (count: number, dimensions: number) =>
    Array.from({ length: count }, () => [...draws.gaussians(dimensions)]);
  const dense = new Index<string>({ bits: 24, dimensions: 4, vectors: 'int8' });
  await dense.addAll(
    vectors(60, 4),
    Array.from({ length: 60 }, (_, i) => `id ${i}`),
  );
  await dense.optimize({ partitions: 4, queries: 10, k: 3, recall: 0.6, copies: true });
  for (const id of ['id 3', 'id 9']) dense.remove(id);
  const float = new Index<number>({ bits: 9, dimensions: 3, vectors: 'float32', zero: 'null' });
  await float.addAll([...vectors(7, 3), [0, 0, 0]], [9, 8, 7, 6, 5, 4, 3, 2]);
  const sparse = new Index({ bits: 16, vectors: 'sparse' });
  for (let i = 0; i < 9; i++) sparse.add({ indices: [i, i + 7, 1000], values: [1, 2, -i - 1] });
  sparse.remove(4);
  const codes = new Index<bigint>({ bits: 5, dimensions: 2 });
  await codes.addAll(
    vectors(12, 2),
    Array.from({ length: 12 }, (_, i) => 2n ** 60n + BigInt(i)),
  );
  return [dense, float, sparse, codes];
}

/** Small indexes with every kind of column that an index file can have. */
export const SMALL_INDEXES: readonly SimHashIndex[] = await makeSmallIndexes();

const indexFiles = () => SMALL_INDEXES.map((index) => indexToArrow(index));
const readIndex: Read = (bytes) => indexToArrow(indexFromArrow(bytes, { file: FILE }));

function codeFiles(): Uint8Array[] {
  const codes = Codes.from(new Draws('codes').bytes(40), { bits: 8 });
  const ids = Array.from({ length: 40 }, (_, i) => `${i}`);
  return [...seedsFrom('golden', /\.arrow$/), codesToArrow(codes), codesToArrow(codes, { ids })];
}

function frequencyFiles(): Uint8Array[] {
  return [frequenciesToArrow(new TextHasher().fit(['a b c', 'b c', 'c']))];
}

export const READERS: Record<string, MakeTarget> = {
  ...Object.fromEntries(Object.keys(SEEDS).map((format) => [format, rows(format as RowFormat)])),
  codes: sealed('codes', codeFiles, readCodes),
  index: sealed('index', indexFiles, readIndex),
  frequencies: sealed('frequencies', frequencyFiles, (bytes) =>
    frequenciesToArrow(frequenciesFromArrow(bytes, { file: FILE })),
  ),
  'foreign-codes': unsealed(
    'foreign-codes',
    () => seedsFrom('arrow', /-codes-.*arrows?$/),
    readCodes,
  ),
  'foreign-vectors': unsealed(
    'foreign-vectors',
    () => seedsFrom('arrow', /-vectors-.*arrows?$/),
    (bytes) => vectorsFromArrow(bytes, { file: FILE }),
  ),
  'foreign-sparse': unsealed(
    'foreign-sparse',
    () => seedsFrom('arrow', /-sparse-.*arrows?$/),
    (bytes) => sparseFromArrow(bytes, { file: FILE, column: 'vector' }),
  ),
};
