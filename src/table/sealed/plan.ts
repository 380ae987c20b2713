/**
 * A dedup plan in and out of Arrow: a line a row, which people may edit with whatever program, so
 * that integers of any width and strings of any kind are read back.
 */

import {
  type Data,
  type DataType,
  Field,
  Float64,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  Type,
  Uint16,
  Uint32,
} from 'apache-arrow';
import { arrowBytes } from '../arrow/bytes';
import {
  type ArrowBatches,
  type ArrowSource,
  asFormatError,
  chunksOf,
  openArrow,
  pickField,
} from '../arrow/source';
import { type Ids, idColumn, readIds } from '../columns/ids';

/** The columns of a plan, a value a row. */
export interface PlanColumns {
  readonly rows: Uint32Array;
  readonly groups: Uint32Array;
  readonly actions: readonly string[];
  readonly keepers: Uint32Array;
  readonly distances: Uint16Array;
  readonly cosines: Float64Array | null;
  readonly checks: Uint32Array;
}

const BATCH_ROWS = 65_536;

export function planToArrow(plan: PlanColumns, ids: Ids | null): Uint8Array {
  const { length } = plan.rows;
  const actions = idColumn(plan.actions);
  const named = ids === null ? null : idColumn(ids);
  const numbers = (name: string, type: DataType, all: Uint32Array | Uint16Array | Float64Array) => {
    return [new Field(name, type, false), all] as const;
  };
  const columns = [
    numbers('row', new Uint32(), plan.rows),
    numbers('group', new Uint32(), plan.groups),
    numbers('duplicate_of', new Uint32(), plan.keepers),
    numbers('distance', new Uint16(), plan.distances),
    ...(plan.cosines === null ? [] : [numbers('cosine', new Float64(), plan.cosines)]),
    numbers('check', new Uint32(), plan.checks),
  ];
  const fields = columns.map(([field]) => field);
  fields.splice(2, 0, new Field('action', actions.type, false));
  if (named !== null) fields.splice(1, 0, new Field('id', named.type, false));
  const schema = new Schema(fields);
  const batches: RecordBatch[] = [];
  for (let first = 0; first === 0 || first < length; first += BATCH_ROWS) {
    const end = Math.min(length, first + BATCH_ROWS);
    const children = columns.map(([{ type }, all]) => {
      const data = all.slice(first, end) as Uint32Array;
      return makeData({ type: type as Uint32, length: end - first, nullCount: 0, data }) as Data;
    });
    children.splice(2, 0, actions.slice(first, end));
    if (named !== null) children.splice(1, 0, named.slice(first, end));
    const data = makeData({ type: new Struct(fields), length: end - first, children });
    batches.push(new RecordBatch(schema, data));
  }
  return arrowBytes('file', schema, batches);
}

/** The columns of a plan; what is not needed to apply it may be gone. */
export function planFromArrow(source: ArrowSource, file?: string): PlanColumns {
  const opened = openArrow(source, file);
  return asFormatError(file, () => {
    const actions = column(opened, 'action');
    if (!Array.isArray(actions)) throw new Error('column "action" expected strings');
    const rows = integers(opened, 'row');
    return {
      ...{ rows, actions, groups: integers(opened, 'group') },
      keepers: integers(opened, 'duplicate_of'),
      distances: Uint16Array.from(integers(opened, 'distance')),
      cosines: floats(opened, 'cosine'),
      checks: integers(opened, 'check'),
    };
  });
}

function column(opened: ArrowBatches, name: string): Ids {
  const options = { column: name, usual: [] };
  const field = pickField(opened, 'column of a plan', () => true, options);
  return readIds(opened, field) as Ids;
}

function integers(opened: ArrowBatches, name: string): Uint32Array {
  const values = column(opened, name);
  return Uint32Array.from({ length: values.length }, (_, row) => {
    const value = Number(values[row]);
    const most = name === 'distance' ? 0xffff : 0xffff_ffff;
    if (Number.isInteger(value) && value >= 0 && value <= most) return value;
    throw new Error(
      `row ${row}: "${name}" expected an integer in 0..4294967295, got ${values[row]}`,
    );
  });
}

function floats(opened: ArrowBatches, name: string): Float64Array | null {
  const field = opened.schema.fields.find((one) => one.name === name);
  if (field === undefined || field.type.typeId !== Type.Float) return null;
  const values = new Float64Array(opened.count);
  for (const { data, firstRow } of chunksOf(opened, name)) {
    if (!(data.values instanceof Float32Array || data.values instanceof Float64Array)) return null;
    values.set(data.values.subarray(0, data.length), firstRow);
  }
  return values;
}
