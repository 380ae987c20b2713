// An Arrow file of one record batch, without nulls, from plain arrays.

import {
  Field,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  Table,
  tableToIPC,
  vectorFromArray,
} from 'apache-arrow';

/** The bytes of a file; `columns` has `{ type, values }` by name, `metadata` texts by name. */
export function arrowFile(columns, metadata) {
  const names = Object.keys(columns);
  const children = names.map((name) => {
    const [data] = vectorFromArray(columns[name].values, columns[name].type).data;
    if (data.nullCount > 0) throw new Error(`column "${name}" has nulls`);
    return data;
  });
  const fields = names.map((name) => new Field(name, columns[name].type, false));
  const schema = new Schema(fields, new Map(Object.entries(metadata)));
  const type = new Struct(fields);
  const data = makeData({ type, length: children[0].length, nullCount: 0, children });
  return tableToIPC(new Table(schema, [new RecordBatch(schema, data)]), 'file');
}
