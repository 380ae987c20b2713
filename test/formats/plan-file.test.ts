import { linkSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  Dictionary,
  Field,
  Int32,
  List,
  makeData,
  Struct,
  Table,
  tableFromIPC,
  Utf8,
  Vector,
  vectorFromArray,
} from 'apache-arrow';
import { afterAll, describe, expect, it } from 'vitest';
import { FormatError } from '../../src/base/format-error';
import { applyPlan } from '../../src/formats/apply-plan';
import { readPlan, writePairs, writePlan } from '../../src/formats/plan-file';
import { dedup } from '../../src/groups/dedup';
import { pairs } from '../../src/join/pairs';
import { RowBatch } from '../../src/table/row-batch';
import { codesFromArrow, codesToArrow } from '../../src/table/sealed/codes';
import { collection } from '../groups/collections';

/** Plans as files of their own, read back, edited and applied; the source is only read. */

const folder = mkdtempSync(join(tmpdir(), 'halfspace-plan-'));
afterAll(() => rmSync(folder, { recursive: true }));
const path = (name: string) => join(folder, name);

const codes = collection('clustered', 300, 64, 1);
const ids = Array.from({ length: 300 }, (_, row) => `doc-${row}`);
const source = path('codes.arrow');
writeFileSync(source, codesToArrow(codes, { ids }));
const plan = dedup(codes, { maxDistance: 3 });
const keptIds = ids.filter((_, row) => plan.kept[row] === 1);

describe.each(['plan.arrow', 'plan.csv', 'plan.jsonl'])('%s', (name) => {
  it('is written, read and applied', async () => {
    await writePlan(path(name), plan, { ids });
    const read = await readPlan(path(name));
    expect(read).toEqual(plan);
    const before = readFileSync(source);
    await applyPlan(read, source, path(`kept-by-${name}.arrow`));
    expect(readFileSync(source)).toEqual(before);
    const bytes = new Uint8Array(readFileSync(path(`kept-by-${name}.arrow`)));
    const kept = codesFromArrow(bytes); // sealed anew, and checked
    expect(kept.ids).toEqual(keptIds);
    expect(Buffer.from(kept.codes.at(1))).toEqual(Buffer.from(codes.at(ids.indexOf(keptIds[1]))));
  });
});

describe('applying', () => {
  it('refuses other rows, and writes nothing', async () => {
    const other = path('other.arrow');
    const changed = collection('clustered', 300, 64, 1);
    changed.at(5)[0] ^= 1;
    writeFileSync(other, codesToArrow(changed));
    const files = readdirSync(folder);
    await expect(applyPlan(plan, other, path('out.arrow'))).rejects.toThrow(FormatError);
    await expect(applyPlan(plan, other, path('out.arrow'))).rejects.toThrow(
      'row 5 is not the one that the plan was made for',
    );
    writeFileSync(other, codesToArrow(collection('uniform', 3, 64, 1)));
    await expect(applyPlan(plan, other, path('out.arrow'))).rejects.toThrow(
      'the plan is for 300 rows, the source has 3',
    );
    expect(readdirSync(folder)).toEqual(files);
  });

  it('refuses an output that is the input, by whatever name', async () => {
    linkSync(source, path('link.arrow'));
    const before = readFileSync(source);
    for (const output of [source, join(folder, '.', 'codes.arrow'), path('link.arrow')]) {
      await expect(applyPlan(plan, source, output)).rejects.toThrow('is the input');
    }
    expect(readFileSync(source)).toEqual(before);
  });

  it('refuses a plan of an unknown kind, or none', async () => {
    await expect(writePlan(path('plan.txt'), plan)).rejects.toThrow(
      '"path" expected a name that ends in .arrow, .csv, .jsonl',
    );
    writeFileSync(path('broken.arrow'), 'no plan');
    await expect(readPlan(path('broken.arrow'))).rejects.toThrow(FormatError);
    await expect(readPlan(source)).rejects.toThrow('no column "action"');
  });
});

describe('rows kept of a file', () => {
  const fixtures = new URL('../fixtures/arrow/', import.meta.url);
  const names = readdirSync(fixtures).filter((name) =>
    /^(pyarrow|polars|duckdb).*\.arrow$/.test(name),
  );

  /** The rows for which `kept` is 1, batch by batch. */
  const keepRows = (table: Table, kept: Uint8Array) => {
    let firstRow = 0;
    const batches = table.batches.map((batch) => {
      const rows = Array.from({ length: batch.numRows }, (_, row) => row);
      const some = rows.filter((row) => kept[firstRow + row] === 1);
      firstRow += batch.numRows;
      return RowBatch.fromArrow(batch).select(some).toArrow();
    });
    return new Table(batches);
  };

  it.each(names)('%s: all columns, equal values', (name) => {
    const bytes = new Uint8Array(readFileSync(new URL(name, fixtures)));
    const table = tableFromIPC(bytes);
    const kept = Uint8Array.from({ length: table.numRows }, (_, row) => Number(row % 3 !== 1));
    const text = (_: string, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value);
    const lines = (of: typeof table) => Array.from(of, (row) => JSON.stringify(row, text));
    const expected = lines(table).filter((_, row) => kept[row] === 1);
    expect(lines(keepRows(table, kept))).toEqual(expected);
  });

  it('with dictionaries in lists and structs', () => {
    const colours = new Dictionary(new Utf8(), new Int32());
    const word = vectorFromArray(['red', 'blue', 'red', 'green'], colours);
    const [{ type }] = word.data;
    const struct = makeData({
      ...{ type: new Struct([new Field('c', type, true)]), length: 4, nullCount: 0 },
      children: [word.data[0]],
    });
    const list = makeData({
      ...{ type: new List(new Field('item', type, true)), length: 4, nullCount: 0 },
      ...{ valueOffsets: Int32Array.of(0, 1, 2, 3, 4), child: word.data[0] },
    });
    const table = new Table({ s: new Vector([struct]), l: new Vector([list]), w: word });
    const kept = keepRows(table, Uint8Array.of(1, 0, 0, 1));
    expect(Array.from(kept, (row) => JSON.stringify(row))).toEqual([
      '{"s":{"c":"red"},"l":["red"],"w":"red"}',
      '{"s":{"c":"green"},"l":["green"],"w":"green"}',
    ]);
  });
});

it('pairs go to a file, and nothing else is left', async () => {
  await writePairs(path('pairs.arrows'), pairs(codes, { maxDistance: 4 }));
  const table = tableFromIPC(readFileSync(path('pairs.arrows')));
  let count = 0;
  for (const { a } of pairs(codes, { maxDistance: 4 })) count += a.length;
  expect(table.numRows).toBe(count);
  expect(readdirSync(folder).filter((name) => name.endsWith('.tmp'))).toEqual([]);
});
