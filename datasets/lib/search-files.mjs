// The Arrow files of a set to search: rows, held-out queries, and the nearest rows of each query.
// Columns come straight from typed arrays, in record batches of at most 65,536 rows.

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
  Uint8,
  Uint32,
  Utf8,
} from 'apache-arrow';
import { nearest } from './truth.mjs';

const BATCH_ROWS = 65_536;
/** Neighbours of a query in `truth.arrow`. */
const NEAREST = 100;

/**
 * `train.arrow`, `queries.arrow` and `truth.arrow` as bytes by name. `train` and `queries` are
 * `{ labels, values, dimensions }`, with texts or a Uint8Array as labels; `column` is the name of
 * the labels' column, `metadata` has texts by name.
 */
export async function searchFiles({ name, train, queries, column, metadata }) {
  return {
    'train.arrow': vectorsFile(train, column, metadata),
    'queries.arrow': vectorsFile(queries, column, metadata),
    'truth.arrow': await truthFile({ name, train, queries, column, metadata }),
  };
}

/** Labels and their vectors. */
export function vectorsFile({ labels, values, dimensions }, column, metadata) {
  const columns = { [column]: labelsOf(labels), vector: lists(new Float32(), values, dimensions) };
  return file(labels.length, columns, metadata);
}

/** Queries, the rows of their nearest vectors, and the cosines of these. */
export async function truthFile({ name, train, queries, column, metadata }) {
  const { labels } = queries;
  const neighbors = await nearest(train, queries, NEAREST, printTenths(name));
  const rows = Uint32Array.from(neighbors.flatMap((one) => [...one.rows]));
  const cosines = Float64Array.from(neighbors.flatMap((one) => [...one.cosines]));
  const columns = {
    [column]: labelsOf(labels),
    rows: lists(new Uint32(), rows, NEAREST),
    cosines: lists(new Float64(), cosines, NEAREST),
  };
  return file(labels.length, columns, metadata);
}

/** Prints each tenth of the work once, on stderr. */
function printTenths(name) {
  let printed = -1;
  return (done, total) => {
    const tenths = Math.floor((10 * done) / total);
    if (tenths > printed) console.error(`${name}: exact cosines of ${10 * tenths} % of the rows`);
    printed = tenths;
  };
}

/** The bytes of a file; a column is a function that gives the data of a range of rows. */
function file(count, columns, metadata) {
  const names = Object.keys(columns);
  const rangeData = (from, to) => names.map((name) => columns[name](from, to));
  const types = rangeData(0, 0).map(({ type }) => type);
  const fields = names.map((name, i) => new Field(name, types[i], false));
  const schema = new Schema(fields, new Map(Object.entries(metadata)));
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

function labelsOf(labels) {
  if (Array.isArray(labels)) return (from, to) => texts(labels.slice(from, to));
  return (from, to) =>
    makeData({
      type: new Uint8(),
      length: to - from,
      nullCount: 0,
      data: labels.subarray(from, to),
    });
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
